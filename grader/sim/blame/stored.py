"""Who stored a wrong element last: the line, the thread and its block, from a traced run."""

from __future__ import annotations

import numpy as np

from grader.launch import Array, Dim3, Stored
from grader.sim.access import GLOBAL
from grader.sim.blame.search import Ran, wrong
from grader.sim.blame.source import line_at
from grader.sim.machine import Limits, Machine

MOST = 1 << 21
"""Accesses of one launch; of one that makes more nobody is told."""

_STORES = ("st", "atom", "red")


def first_stores(machine: Machine, ran: Ran) -> dict[int, Stored]:
    """By argument, what last stored its first wrong element; nothing for one never written."""
    due = ran.due
    raw = machine.run(due.launch, Limits(trace=MOST), False)
    if raw.accesses is None or raw.traced > MOST:
        return {}
    stores = np.array([op.split(".")[0] in _STORES for op in machine.image.ops] + [False])
    rows = raw.accesses[stores[raw.accesses["pc"]] & (raw.accesses["space"] == GLOBAL)]
    found = {}
    for number, b in enumerate(raw.buffers):
        elements = wrong(raw, due).get(-1 if b.argument is None else b.argument)
        if b.argument is None or elements is None or not elements.any():
            continue
        array = due.launch.args[b.argument]
        assert isinstance(array, Array)
        first, size = int(np.argmax(elements)), np.dtype(array.dtype).itemsize
        at = rows["at"].astype(np.int64)
        inside = (at < (first + 1) * size) & (at + rows["bytes"] > first * size)
        hits = np.flatnonzero(inside & (rows["buffer"] == number))
        if hits.size:
            last = rows[hits[-1]]
            line = line_at(machine.image.locations[int(last["pc"])])
            block = _unravel(int(last["block"]), due.launch.grid)
            thread = _unravel(int(last["thread"]), due.launch.block)
            found[b.argument] = Stored(first, line, block, thread)
    return found


def _unravel(number: int, dims: Dim3) -> Dim3:
    return number % dims[0], number // dims[0] % dims[1], number // dims[0] // dims[1]
