"""Explain a wrong output: find the pattern that a common kernel mistake leaves, show an excerpt.

A pattern compares the actual array, the expected one and the mask of wrong elements. `explain`
tries PATTERNS in order; the first that fits names the likely cause and the fix. A pattern that
explains only some of the wrong elements does not fit: a wrong guess misleads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.labs.model import Expected
from grader.launch import Dim3

if TYPE_CHECKING:
    Mask = NDArray[np.bool_]
    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Mismatch:
    """One wrong output. All arrays have the output's shape.

    Attributes:
        name: the output's name.
        actual: what the kernel left.
        expected: the reference.
        bound: the allowed absolute error.
        wrong: True where the error exceeds the bound (NaN included).
        unwritten: True where the kernel never wrote.
        block: the launch's block, from which tile edges are guessed.
        whole: True for an integer type, whose values are not rounded.
    """

    name: str
    actual: Floats
    expected: Floats
    bound: Floats
    wrong: Mask
    unwritten: Mask
    block: Dim3
    whole: bool = False

    @property
    def count(self) -> int:
        """The number of wrong elements."""
        return int(self.wrong.sum())

    def agrees(self, candidate: Floats) -> bool:
        """Return whether the written elements equal `candidate` within the bounds.

        False for an array that is mostly unwritten, which would agree with anything.
        """
        with np.errstate(all="ignore"):
            near = np.abs(self.actual - candidate) <= np.maximum(self.bound, self.bound.max())
        return bool(np.all(near | self.unwritten)) and 2 * int(self.unwritten.sum()) <= near.size

    def tiles(self) -> tuple[int, ...]:
        """Guess the tile width along each axis, slowest axis first: x runs along the last."""
        return tuple(reversed(self.block[: self.actual.ndim]))


@dataclass(frozen=True)
class Cause:
    """The likely cause: `what` completes "N of M elements of C are wrong: ..."; `fix` is a hint."""

    what: str
    fix: str


GUARD_FIX = (
    "guard every load and store with the array's own sizes: the last tile has fewer elements"
)

Pattern = Callable[[Mismatch], "Cause | None"]


def compare(
    name: str, actual: NDArray[Any], right: Expected, unwritten: Mask | None, block: Dim3
) -> Mismatch | None:
    """Compare an output with the reference; None when every element is written and right.

    `not (error <= bound)` rather than `error > bound`, so that NaN is never right.
    """
    got = np.asarray(actual, dtype=np.float64).reshape(right.value.shape)
    blank = np.zeros(got.shape, dtype=np.bool_)
    if unwritten is not None:
        blank = np.asarray(unwritten, dtype=np.bool_).reshape(got.shape)
    with np.errstate(all="ignore"):
        within = (np.abs(got - right.value) <= right.bound) | (got == right.value)
    wrong = ~within | blank
    if not wrong.any():
        return None
    whole = np.asarray(actual).dtype.kind in "biu"
    return Mismatch(name, got, right.value, right.bound, wrong, blank, block, whole)


def explain(mismatch: Mismatch) -> Cause | None:
    """Return the cause that the first fitting pattern names, or None."""
    return next((cause for p in PATTERNS if (cause := p(mismatch)) is not None), None)


def partial_tile(m: Mismatch) -> Cause | None:
    """Match wrong elements that all lie beyond the last whole tile of some axis."""
    edges = {
        axis: extent // tile * tile
        for axis, (extent, tile) in enumerate(zip(m.actual.shape, m.tiles(), strict=False))
        if tile > 1 and extent % tile and extent > tile
    }
    beyond = {axis: _mask_from(m.wrong.shape, axis, edge) for axis, edge in edges.items()}
    whole = np.ones(m.wrong.shape, dtype=np.bool_)
    for mask in beyond.values():
        whole &= ~mask
    if not beyond or (m.wrong & whole).any():
        return None
    enough = [axis for axis, mask in beyond.items() if not (m.wrong & ~mask).any()]
    hit = [
        f"{_axis_name(m.wrong.ndim, axis)} from {edges[axis]} on" for axis in enough[:1] or edges
    ]
    other = first_block(m)
    return Cause(
        f"only in the last, partial tile ({' and '.join(hit)})",
        f"{other.fix}; if the index is right, check the guards" if other else GUARD_FIX,
    )


def not_a_number(m: Mismatch) -> Cause | None:
    """Match NaN or infinity where a number is expected."""
    bad = m.wrong & ~m.unwritten & ~np.isfinite(m.actual) & np.isfinite(m.expected)
    if not bad.any():
        return None
    what = "NaN" if np.isnan(m.actual[bad]).any() else "infinity"
    return Cause(
        f"{int(bad.sum())} of them are {what}",
        "look for a value that was never initialized, or for a division by zero",
    )


def all_zero(m: Mismatch) -> Cause | None:
    """Match an output that is zero everywhere."""
    if m.actual.size < 4 or np.any(m.actual) or not np.any(m.expected) or m.unwritten.any():
        return None
    return Cause(
        "every element is zero",
        "store the result: trace the stored value back to where it is computed",
    )


def transposed(m: Mismatch) -> Cause | None:
    """Match the transpose of the expected array, also when stored with the wrong row length."""
    if m.actual.ndim != 2 or min(m.actual.shape) < 2:
        return None
    flipped = np.ascontiguousarray(m.expected.T).reshape(m.expected.shape)
    if not m.agrees(flipped):
        return None
    return Cause("it is the transpose of the expected array", "swap row and column in one index")


def multiple(m: Mismatch) -> Cause | None:
    """Match a constant multiple of the expected array, wherever that is not zero."""
    used = (m.expected != 0) & ~m.unwritten & np.isfinite(m.actual)
    if used.sum() < 4 or m.unwritten.any():
        return None
    ratios = np.sort(m.actual[used] / m.expected[used])
    ratio = float(ratios[ratios.size // 2])  # np.median would load numpy.ma, which takes longer
    neat = round(ratio * 240) / 240
    factor = neat if abs(ratio - neat) < 1e-4 else ratio
    close = np.abs(m.actual - factor * m.expected) <= 1e-5 * np.abs(m.expected) + m.bound
    if factor in (0.0, 1.0) or abs(factor - 1) < 1e-3 or not np.all(close):
        return None
    return Cause(
        f"every element is {factor:g} times the expected value",
        "count how often each term is added: a loop or a tile runs too often or too rarely",
    )


def shifted(m: Mismatch) -> Cause | None:
    """Match the expected array shifted along one axis, by one element or by one tile."""
    for axis, tile in enumerate(m.tiles()):
        steps = [1] + ([tile] if tile > 1 else [])
        for step in [s for width in steps for s in (width, -width)]:
            if _is_shifted(m, axis, step):
                by = "one" if abs(step) == 1 else f"one tile ({abs(step)})"
                word = _axis_name(m.actual.ndim, axis)
                return Cause(
                    f"it is the expected array shifted by {by} along the {word}",
                    "check the index: offsets count from 0, and a tile starts at blockIdx * width",
                )
    return None


def first_block(m: Mismatch) -> Cause | None:
    """Match an output that is right in the first block only."""
    inside = np.ones(m.wrong.shape, dtype=np.bool_)
    for axis, tile in enumerate(m.tiles()):
        inside &= ~_mask_from(m.wrong.shape, axis, tile)
    if inside.all() or (m.wrong & inside).any() or not m.wrong[~inside].all():
        return None
    return Cause(
        "only the first block's elements are right",
        "use blockIdx in the index: blockIdx.x * blockDim.x + threadIdx.x",
    )


def imprecise(m: Mismatch) -> Cause | None:
    """Match errors that are small, but larger than float32 rounding explains."""
    scale = np.maximum(np.abs(m.expected), float(np.abs(m.expected).mean()))
    if m.whole or m.unwritten.any() or not np.isfinite(m.actual).all() or not scale.all():
        return None
    error = float((np.abs(m.actual - m.expected) / scale).max())
    if error > 2.0**-6:
        return None
    return Cause(
        f"each is close (relative error {error:.1g}), but the error exceeds float32 rounding",
        "keep every operand and the sum in float: a narrower type loses precision",
    )


PATTERNS: tuple[Pattern, ...] = (
    partial_tile,
    not_a_number,
    all_zero,
    transposed,
    shifted,
    multiple,
    first_block,
    imprecise,
)


def _mask_from(shape: tuple[int, ...], axis: int, edge: int) -> Mask:
    along = np.arange(shape[axis]) >= edge
    view = [1] * len(shape)
    view[axis] = shape[axis]
    return np.broadcast_to(along.reshape(view), shape)


def _axis_name(ndim: int, axis: int) -> str:
    if ndim == 1:
        return "elements"
    return {ndim - 1: "columns", ndim - 2: "rows"}.get(axis, f"axis {axis}")


def _is_shifted(m: Mismatch, axis: int, step: int) -> bool:
    """Return whether actual[i] == expected[i - step] along `axis`, where both exist."""
    extent = m.actual.shape[axis]
    if extent <= 2 * abs(step):
        return False
    here = [slice(None)] * m.actual.ndim
    there = list(here)
    here[axis] = slice(max(step, 0), extent + min(step, 0))
    there[axis] = slice(max(-step, 0), extent + min(-step, 0))
    now, then = m.actual[tuple(here)], m.expected[tuple(there)]
    bound = float(m.bound.max())
    return bool(np.ptp(then) > 0 and np.all(np.abs(now - then) <= bound))


ROWS, COLUMNS = 3, 4


def first_wrong(m: Mismatch, most: int = 3) -> list[tuple[int, ...]]:
    """Return the indices of the first wrong elements, in C order."""
    flat = np.flatnonzero(m.wrong)[:most]
    return [tuple(int(i) for i in np.unravel_index(at, m.wrong.shape)) for at in flat]


def element(name: str, index: tuple[int, ...]) -> str:
    """Format an element as `C[32, 0]`."""
    return f"{name}[{', '.join(str(i) for i in index)}]"


def number(value: float, whole: bool = False) -> str:
    """Format a value with all digits of an integer type, else with 7 significant digits."""
    return f"{value:.0f}" if whole else f"{value:.7g}"


def excerpt(m: Mismatch) -> str:
    """Show up to 3 rows of 4 elements from the first wrong one on, expected and actual.

    from C[32, 0]    expected             actual
                     1  2  3  4           0  0  0  0
    """
    start = first_wrong(m, 1)[0]
    rows = _excerpt_rows(m, start)
    right = [[number(v, m.whole) for v in m.expected[row]] for row in rows]
    got = [
        [
            "(none)" if m.unwritten[row][i] else number(v, m.whole)
            for i, v in enumerate(m.actual[row])
        ]
        for row in rows
    ]
    width = max(len(cell) for row in right + got for cell in row)
    lines = [
        "  ".join(c.rjust(width) for c in r) + "    " + "  ".join(c.rjust(width) for c in g)
        for r, g in zip(right, got, strict=True)
    ]
    table = max(len(right[0]), 1) * (width + 2) - 2
    head = "expected".ljust(table) + "    " + "actual"
    return "\n".join([f"from {element(m.name, start)} on:", head, *lines])


def _excerpt_rows(m: Mismatch, start: tuple[int, ...]) -> list[tuple[int | slice, ...]]:
    """Return the index expressions of the excerpt's rows; fewer columns for wide numbers."""
    *outer, column = start
    wide = any(_max_digits(values, m.whole) > 7 for values in (m.expected, m.actual))
    last = slice(column, column + (COLUMNS - 1 if wide else COLUMNS))
    if not outer:
        return [(last,)]
    row, extent = outer[-1], m.wrong.shape[-2]
    return [(*outer[:-1], r, last) for r in range(row, min(row + ROWS, extent))]


def _max_digits(values: Floats, whole: bool) -> int:
    sample = values.ravel()[:64]
    return max((len(number(float(v), whole)) for v in sample), default=0)
