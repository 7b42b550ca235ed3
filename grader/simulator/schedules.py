"""Other legal orders of blocks and warps: what depends on them is no result.

A kernel without races gives the same output in every order, up to the rounding of atomic sums.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from grader.launch import Array, Dim3, Finding, Launch, Trace
from grader.simulator.core.run import Limits, Machine, Raw

# A few blocks of a launch that is too large to be run whole: which ones, and what they can show.
#
# A kernel may branch on its size, so that what is watched on small cases is not what is timed. The
# blocks at the grid's corners and some spread evenly between run at the full size. That they are
# few shows nothing false: each access of theirs is one that the whole launch makes too. What would
# come of the missing blocks (outputs, counters, an end that waits for them) is left out.

KINDS = frozenset({"race", "invalid-access", "uninitialized-read", "barrier-divergence"})


def sampled_blocks(grid: Dim3, count: int) -> tuple[int, ...]:
    """The numbers of `count` blocks, corners first, x fastest; none for a `count` of 0, which asks
    for all, or when that is all of them anyway.
    """
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


ROUNDING = 1e-4
"""A relative difference of floats below this is what the order of atomic additions explains."""


def order_findings(
    machine: Machine, launch: Launch, limits: Limits, schedules: int, names: tuple[str, ...]
) -> tuple[Finding, ...]:
    """One finding for each output that differs between `schedules` orders and the usual one."""
    usual = machine.run(launch, limits, count=False)
    worst: dict[int, Finding] = {}
    for schedule in range(1, schedules + 1):
        other = machine.run(launch, replace(limits, schedule=schedule), count=False)
        if not (usual.ended and other.ended):
            continue
        for index, finding in _differences(usual, other, launch, names):
            old = worst.get(index)
            worst[index] = finding if old is None or finding.count > old.count else old
    return tuple(worst.values())


def _differences(
    usual: Raw, other: Raw, launch: Launch, names: tuple[str, ...]
) -> list[tuple[int, Finding]]:
    out = []
    for a, b in zip(usual.buffers, other.buffers, strict=False):
        if a.argument is None or np.array_equal(a.data, b.data):
            continue
        array = launch.args[a.argument]
        if isinstance(array, Array):
            name = names[a.argument] if a.argument < len(names) else array.name
            out.append(
                (a.argument, _finding(name, a.data.view(array.dtype), b.data.view(array.dtype)))
            )
    return out


def _finding(name: str, a: NDArray[np.generic], b: NDArray[np.generic]) -> Finding:
    differ = a != b
    if np.issubdtype(a.dtype, np.floating):
        both_nan = np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
        differ &= ~both_nan
    count = int(np.count_nonzero(differ))
    first = int(np.argmax(differ))
    what = (
        f"`{name}` depends on the order of blocks and warps: {count} of {a.size} elements differ "
        f"between two legal orders, first {name}[{first}]: {a[first]} or {b[first]}"
    )
    small = np.issubdtype(a.dtype, np.floating) and _relative(a, b) < ROUNDING
    hint = (
        "atomic additions round differently in each order; expect the last digits to vary"
        if small
        else "let no result depend on which thread or block comes first"
    )
    return Finding(
        "race",
        "info" if small else "warning",
        what,
        count=count,
        space="global",
        variable=name,
        hint=hint,
    )


def _relative(a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    x, y = a.astype(np.float64), b.astype(np.float64)
    scale = np.maximum(np.abs(x), np.abs(y))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(scale > 0, np.abs(x - y) / scale, 0.0)
    return float(np.max(ratio)) if np.all(np.isfinite(ratio)) else float("inf")
