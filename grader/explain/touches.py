"""The access table of a launch as values that are easy to ask questions of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.fault import LabFault
from grader.launch import Dim3, Trace


@dataclass(frozen=True)
class Touch:
    """One access of one thread. `offset` and `bytes` are in bytes of the variable, `number` is the
    element's, in steps of `bytes`; `phase` is how many barriers its block had passed."""

    block: Dim3
    thread: Dim3
    line: int
    access: str
    space: str
    variable: str
    element: str
    offset: int
    bytes: int
    phase: int

    @property
    def number(self) -> int:
        return self.offset // max(self.bytes, 1)


def touches(trace: Trace, block: Dim3 | None = None) -> tuple[Touch, ...]:
    """All accesses, or one block's, in the order of execution, but for those of a thread's own
    local memory. Raises LabFault when the launch was not traced."""
    if trace.accesses is None:
        raise LabFault("the launch has no access table", mend="it did not end, or is not small")
    rows = trace.accesses[trace.accesses["space"] != "local"]
    if block is not None:
        rows = rows[(rows["block"] == block).all(axis=1)]
    return tuple(_touches(rows))


def _touches(rows: NDArray[np.void]) -> Iterator[Touch]:
    for row in rows:
        yield Touch(
            _dim3(row["block"]),
            _dim3(row["thread"]),
            int(row["line"]),
            str(row["access"]),
            str(row["space"]),
            str(row["variable"]),
            str(row["element"]),
            int(row["offset"]),
            int(row["bytes"]),
            int(row["phase"]),
        )


def _dim3(values: NDArray[np.int32]) -> Dim3:
    x, y, z = (int(v) for v in values)
    return x, y, z
