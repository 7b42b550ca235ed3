"""One input through the simulator: text, parser, decoder, core, findings, counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.faults import LabFault, MachineFault
from grader.simulator.core import bindings as core_module
from grader.simulator.core.bindings import COUNT_DISTINCT, COUNT_FOREIGN, Core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.counters import counted_values, launch_counters, line_counters
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import decode
from grader.simulator.diagnose.findings import Explainer
from grader.simulator.ptx.model import PtxError
from grader.simulator.ptx.parser import parse
from tests.fuzz.corpus import Spec

REQUESTS: Mapping[str, Any] = {
    "trace": 1 << 12,
    "trace_sync": True,
    "measures": COUNT_FOREIGN | COUNT_DISTINCT,
}
REFUSALS = (PtxError, NotSimulated, MachineFault, LabFault)
"""What hostile PTX may end in; anything else is a defect."""


def use(path: Path) -> Core:
    """Makes the simulator of this process run on the core built at `path`."""
    core = Core(path)
    core_module.core = lambda: core  # type: ignore[assignment]
    return core


def execute(
    text: str,
    spec: Spec,
    core: Core,
    *,
    threads: int = 1,
    steps: int = 4_000,
    measured: bool = False,
) -> bool:
    """Whether the input got as far as the core. Raises what is not a refusal.

    `measured` runs have all that is only done on request: a trace, and measures of the work.
    """
    try:
        module = parse(text)
        watched = ", debug" in text[:2000]  # the variant whose local variables are watched
        image = decode(module, spec.kernel, core.known, definedness=watched)
        machine = Machine(module, image)
        launch = spec.launch()
        limits = Limits(steps=steps, seconds=2.0, threads=threads)
        raw = machine.run(launch, replace(limits, **REQUESTS) if measured else limits, True)
    except REFUSALS:
        return False
    explainer = Explainer(machine.image, launch, raw, "", "kernel.cu", ())
    explainer.findings()
    values = counted_values(machine.image, raw)
    launch_counters(raw, values)
    line_counters(values, explainer.code.line_of)
    return True
