"""A few blocks of a launch that is too large to be run whole: which ones, and what they can show.

A kernel may branch on its size, so that what is watched on small cases is not what is timed. The
blocks at the grid's corners and some spread evenly between run at the full size. That they are few
shows nothing false: each access of theirs is one that the whole launch makes too. What would come
of the missing blocks (outputs, counters, an end that waits for them) is left out.
"""

from __future__ import annotations

from math import prod

from grader.launch import Dim3, Trace

KINDS = frozenset({"race", "invalid-access", "uninitialized-read", "barrier-divergence"})


def sampled_blocks(grid: Dim3, count: int) -> tuple[int, ...]:
    """The numbers of `count` blocks, corners first, x fastest; none for a `count` of 0, which asks
    for all, or when that is all of them anyway."""
    total = prod(grid)
    if not count or total <= count:
        return ()
    x, y, _ = grid
    corners = (0, total - 1, x - 1, x * (y - 1), total - x)
    between = ((2 * k + 1) * total // (2 * count) for k in range(count))
    return tuple(dict.fromkeys((*corners, *between)))[:count]


def shown(trace: Trace) -> Trace:
    """What such a run can show: the findings of KINDS, whether or not it came to its end."""
    findings = tuple(f for f in trace.findings if f.kind in KINDS)
    return Trace("sim", findings, toolchain=trace.toolchain, seconds=trace.seconds)
