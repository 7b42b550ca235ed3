"""One input through the simulator: text, parser, decoder, core, findings, counters.

A run may be of each kind that a check makes: in the usual order or another one, with old values of
strong loads, and by proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from grader.faults import LabFault, MachineFault
from grader.simulator.core import bindings as core_module
from grader.simulator.core import run as run_module
from grader.simulator.core.bindings import COUNT_DISTINCT, COUNT_FOREIGN, Core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.counters import counted_values, launch_counters, line_counters
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import decode
from grader.simulator.diagnose.findings import Explainer
from grader.simulator.ptx.model import PtxError
from grader.simulator.ptx.parser import parse
from grader.simulator.schedules import ORDERS, strong_loads
from tests.fuzz.corpus import Spec

REQUESTS: Mapping[str, Any] = {
    "trace": 1 << 12,
    "trace_sync": True,
    "measures": COUNT_FOREIGN | COUNT_DISTINCT,
}
REFUSALS = (PtxError, NotSimulated, MachineFault, LabFault)
"""What hostile PTX may end in; anything else is a defect."""

MANY_BLOCKS = (7, 5, 1)
"""A grid with more blocks than a launch by proof watches in full."""


@dataclass(frozen=True)
class Kind:
    """The kind of a run: see Limits; one by proof has MANY_BLOCKS."""

    schedule: int = 0
    gives_old: bool = False
    proof: bool = False


USUAL = Kind()
KINDS = (USUAL, Kind(schedule=5), Kind(schedule=6, gives_old=True), Kind(proof=True))
WAYS = ((3, USUAL), *((1, kind) for kind in KINDS))
"""Threads and kinds: all that a run may be."""


def any_kind(random: Random) -> Kind:
    """The usual kind half of the time."""
    others = (
        Kind(schedule=random.choice(ORDERS), gives_old=random.random() < 0.5),
        Kind(proof=True),
    )
    return random.choice((USUAL, USUAL, *others))


def use(path: Path) -> Core:
    """Makes the simulator of this process run on the core built at `path`.

    Launches of few threads, such as these, may run by proof, too.
    """
    core = Core(str(path))
    core_module.core = lambda: core  # type: ignore[assignment]
    run_module.LEAST_PROVEN = 0
    return core


def execute(
    text: str,
    spec: Spec,
    core: Core,
    *,
    threads: int = 1,
    steps: int = 4_000,
    measured: bool = False,
    kind: Kind = USUAL,
) -> bool:
    """Whether the input got as far as the core. Raises what is not a refusal.

    `measured` runs have all that is only done on request: a trace, and measures of the work.
    """
    try:
        module = parse(text)
        watched = ", debug" in text[:2000]  # the variant whose local variables are watched
        image = decode(module, spec.kernel, core.known, definedness=watched)
        machine = Machine(module, image)
        launch, counts = spec.launch(), not (kind.proof and watched)
        limits = Limits(steps=steps, seconds=2.0, threads=threads, schedule=kind.schedule)
        if kind.schedule:
            limits = replace(limits, stale=strong_loads(image), gives_old=kind.gives_old)
        if kind.proof:  # not traced; the debug variant is not counted, as in a check
            launch, limits = replace(launch, grid=MANY_BLOCKS), replace(limits, proof=True)
        elif measured:
            limits = replace(limits, **REQUESTS)
        raw = machine.run(launch, limits, counts)
    except REFUSALS:
        return False
    explainer = Explainer(machine.image, launch, raw, "", "kernel.cu", ())
    explainer.findings()
    if counts:
        values = counted_values(machine.image, raw)
        launch_counters(raw, values)
        line_counters(values, explainer.code.line_of)
    return True
