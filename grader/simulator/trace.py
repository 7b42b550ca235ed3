"""Record the accesses of a small launch: thread, element, line, and phase between barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.program import Parameter
from grader.faults import LabFault
from grader.launch import Launch
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.memory import CONST, GLOBAL, LOCAL, SHARED
from grader.simulator.diagnose.findings import Explainer
from grader.simulator.exchange import ROW

MAX_ACCESSES = 1 << 20
"""The most accesses of a launch that are recorded."""

_SPACES = {GLOBAL: "global", SHARED: "shared", LOCAL: "local", CONST: "const"}
_ACCESSES = {"ld": "read", "ldu": "read", "st": "write", "atom": "atomic", "red": "atomic"}


def access_table(
    machine: Machine,
    launch: Launch,
    limits: Limits,
    source: str,
    parameters: tuple[Parameter, ...],
) -> NDArray[np.void]:
    """Record the accesses of one launch of the variant that `machine` holds.

    Returns a table with one row of exchange.ROW for each access of a thread, in the order of
    execution. Raises LabFault when the launch makes more than MAX_ACCESSES accesses.
    """
    raw = machine.run(launch, Limits(limits.steps, limits.seconds, trace=MAX_ACCESSES), count=False)
    if raw.traced > MAX_ACCESSES or raw.accesses is None:
        raise LabFault(
            f"{raw.traced:,} accesses are too many to record",
            fix=f"Trace a smaller launch: at most {MAX_ACCESSES:,} accesses.",
        )
    explainer = Explainer(machine.image, launch, raw, source, "", parameters)
    return _rows(raw, launch, explainer)


def _rows(raw: Raw, launch: Launch, explainer: Explainer) -> NDArray[np.void]:
    accesses = raw.accesses
    assert accesses is not None
    rows = np.zeros(len(accesses), ROW)
    for field, dims in (("block", launch.grid), ("thread", launch.block)):
        number = accesses[field].astype(np.int64)
        for axis, size in enumerate(dims):
            rows[field][:, axis] = number % size
            number //= size
    rows["bytes"], rows["phase"] = accesses["bytes"], accesses["phase"]
    pcs = accesses["pc"]
    rows["line"] = np.array([*explainer.line_of, 0], np.int32)[pcs]
    ops = [op.split(".")[0] for op in explainer.image.ops]
    rows["access"] = np.array([_ACCESSES.get(op, "") for op in ops], "U6")[pcs]
    rows["space"] = np.array([_SPACES.get(k, "") for k in range(max(_SPACES) + 1)], "U6")[
        accesses["space"]
    ]
    places, where = np.unique(accesses[["space", "buffer", "at"]], return_inverse=True)
    named = np.zeros(len(places), ROW)
    for k, place in enumerate(places):
        named[k] = _named(named[k], place, explainer)
    for field in ("variable", "element", "offset"):
        rows[field] = named[field][where]
    return rows


def _named(row: Any, place: Any, explainer: Explainer) -> Any:
    space, at = int(place["space"]), int(place["at"])
    if space == SHARED:
        target = explainer.shared(at)
    elif space in (GLOBAL, CONST):
        target = explainer.buffer(int(place["buffer"]), at)
    else:
        row["offset"] = at
        return row
    row["variable"], row["element"], row["offset"] = target.name, target.element, target.offset
    return row
