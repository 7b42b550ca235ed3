"""Who stored a wrong element last: the line, the thread and its block."""

from __future__ import annotations

import numpy as np

from grader.launch import Array, Dim3, Stored
from grader.sim.blame.search import MOST_STORES, Ran, wrong
from grader.sim.blame.source import line_at
from grader.sim.decode import Image


def first_stores(image: Image, ran: Ran) -> dict[int, Stored]:
    """By argument, what last stored its first wrong element; nothing for one never written."""
    due, raw, rows = ran.due, ran.raw, ran.raw.accesses
    if rows is None or raw.traced > MOST_STORES:
        return {}
    found = {}
    missed = {index: elements for index, elements in wrong(raw, due).items() if elements.any()}
    for number, b in enumerate(raw.buffers):
        if b.argument is None or b.argument not in missed:
            continue
        array = due.launch.args[b.argument]
        assert isinstance(array, Array)
        first, size = int(np.argmax(missed[b.argument])), np.dtype(array.dtype).itemsize
        at = rows["at"].astype(np.int64)
        inside = (at < (first + 1) * size) & (at + rows["bytes"] > first * size)
        hits = np.flatnonzero(inside & (rows["buffer"] == number))
        if hits.size:
            last = rows[hits[-1]]
            line = line_at(image.locations[int(last["pc"])])
            block = _unravel(int(last["block"]), due.launch.grid)
            thread = _unravel(int(last["thread"]), due.launch.block)
            found[b.argument] = Stored(first, line, block, thread)
    return found


def _unravel(number: int, dims: Dim3) -> Dim3:
    return number % dims[0], number // dims[0] % dims[1], number // dims[0] // dims[1]
