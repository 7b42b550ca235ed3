"""A few elements of a wrong output beside the right ones, as lines of text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.labs.model import Expected
from grader.launch import Dim3

# Why an output is wrong: patterns that common kernel mistakes leave in the array.
#
# Every pattern is a question about the actual array, the right one and the mask of wrong elements,
# asked in the order of `PATTERNS`; the first that fits names the likely cause and the cure. A
# pattern that explains only part of the wrong elements stays silent: a wrong guess misleads.

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Mismatch:
    """One output that is wrong somewhere. `wrong` is True where the error exceeds the bound (NaN
    included), `unwritten` where the buffer was never written; all arrays have one shape.
    `block` is the launch's, from which tile edges are guessed.
    """

    name: str
    actual: Floats
    expected: Floats
    bound: Floats
    wrong: Mask
    unwritten: Mask
    block: Dim3
    whole: bool = False
    """The output is of an integer type: nothing about it is rounded."""

    @property
    def count(self) -> int:
        return int(self.wrong.sum())

    def agrees(self, candidate: Floats) -> bool:
        """Whether the actual array is `candidate` within the bounds, wherever it was written;
        of an array that is mostly unwritten nobody knows.
        """
        with np.errstate(all="ignore"):
            near = np.abs(self.actual - candidate) <= np.maximum(self.bound, self.bound.max())
        return bool(np.all(near | self.unwritten)) and 2 * int(self.unwritten.sum()) <= near.size

    def tiles(self) -> tuple[int, ...]:
        """The likely tile width along each axis, slowest axis first: x runs along the last."""
        return tuple(reversed(self.block[: self.actual.ndim]))


@dataclass(frozen=True)
class Cause:
    """`what` completes "N of M elements of C are wrong: ..."; `cure` is one sentence."""

    what: str
    cure: str


RAGGED = "guard every load and store with the array's own sizes: the last tile has fewer elements"

Pattern = Callable[[Mismatch], "Cause | None"]


def compare(
    name: str, actual: NDArray[Any], right: Expected, unwritten: Mask | None, block: Dim3
) -> Mismatch | None:
    """None when every element is within its bound and written; else what is wrong.

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
    """The first pattern that fits, or None."""
    return next((cause for p in PATTERNS if (cause := p(mismatch)) is not None), None)


def ragged(m: Mismatch) -> Cause | None:
    """Wrong only beyond the last whole tile of some axis."""
    edges = {
        axis: extent // tile * tile
        for axis, (extent, tile) in enumerate(zip(m.actual.shape, m.tiles(), strict=False))
        if tile > 1 and extent % tile and extent > tile
    }
    beyond = {axis: _beyond(m.wrong.shape, axis, edge) for axis, edge in edges.items()}
    whole = np.ones(m.wrong.shape, dtype=np.bool_)
    for mask in beyond.values():
        whole &= ~mask
    if not beyond or (m.wrong & whole).any():
        return None
    enough = [axis for axis, mask in beyond.items() if not (m.wrong & ~mask).any()]
    hit = [
        f"{_axis_word(m.wrong.ndim, axis)} from {edges[axis]} on" for axis in enough[:1] or edges
    ]
    other = first_block(m)
    return Cause(
        f"only in the last, partial tile ({' and '.join(hit)})",
        f"{other.cure}; if it does, look at the guards" if other else RAGGED,
    )


def not_a_number(m: Mismatch) -> Cause | None:
    """NaN or infinity where a number is right."""
    bad = m.wrong & ~m.unwritten & ~np.isfinite(m.actual) & np.isfinite(m.expected)
    if not bad.any():
        return None
    what = "NaN" if np.isnan(m.actual[bad]).any() else "infinity"
    return Cause(
        f"{int(bad.sum())} of them are {what}",
        "look for a value that was never initialised, or a division by zero",
    )


def all_zero(m: Mismatch) -> Cause | None:
    """Zero everywhere."""
    if m.actual.size < 4 or np.any(m.actual) or not np.any(m.expected) or m.unwritten.any():
        return None
    return Cause(
        "every element is zero", "follow the stored value back: the result never gets into it"
    )


def transposed(m: Mismatch) -> Cause | None:
    """The transpose of the right answer, also when it is stored with the wrong row length."""
    if m.actual.ndim != 2 or min(m.actual.shape) < 2:
        return None
    flipped = np.ascontiguousarray(m.expected.T).reshape(m.expected.shape)
    if not m.agrees(flipped):
        return None
    return Cause("it is the transpose of the right answer", "swap row and column in an index")


def multiple(m: Mismatch) -> Cause | None:
    """A constant times the right answer, wherever that is not zero."""
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
        f"every element is {factor:g} times the right one",
        "count how often a term is added: a loop or a tile runs too often or not often enough",
    )


def shifted(m: Mismatch) -> Cause | None:
    """The right answer moved along one axis, by one element or by one tile."""
    for axis, tile in enumerate(m.tiles()):
        steps = [1] + ([tile] if tile > 1 else [])
        for step in [s for width in steps for s in (width, -width)]:
            if _moved(m, axis, step):
                by = "one" if abs(step) == 1 else f"one tile ({abs(step)})"
                word = _axis_word(m.actual.ndim, axis)
                return Cause(
                    f"it is the right answer moved by {by} along the {word}",
                    "check the index: an offset counts from 0, a tile starts at blockIdx * width",
                )
    return None


def first_block(m: Mismatch) -> Cause | None:
    """Right in the first block and nowhere else."""
    inside = np.ones(m.wrong.shape, dtype=np.bool_)
    for axis, tile in enumerate(m.tiles()):
        inside &= ~_beyond(m.wrong.shape, axis, tile)
    if inside.all() or (m.wrong & inside).any() or not m.wrong[~inside].all():
        return None
    return Cause(
        "only the first block's elements are right",
        "blockIdx has to enter the index: blockIdx.x * blockDim.x + threadIdx.x",
    )


def imprecise(m: Mismatch) -> Cause | None:
    """Close everywhere, yet further off than float32 arithmetic explains."""
    scale = np.maximum(np.abs(m.expected), float(np.abs(m.expected).mean()))
    if m.whole or m.unwritten.any() or not np.isfinite(m.actual).all() or not scale.all():
        return None
    error = float((np.abs(m.actual - m.expected) / scale).max())
    if error > 2.0**-6:
        return None
    return Cause(
        f"each is close (within {error:.1g} of it), but further off than float32 rounding goes",
        "keep every operand and the sum in float: a narrower type loses digits",
    )


PATTERNS: tuple[Pattern, ...] = (
    ragged,
    not_a_number,
    all_zero,
    transposed,
    shifted,
    multiple,
    first_block,
    imprecise,
)


def _beyond(shape: tuple[int, ...], axis: int, edge: int) -> Mask:
    along = np.arange(shape[axis]) >= edge
    view = [1] * len(shape)
    view[axis] = shape[axis]
    return np.broadcast_to(along.reshape(view), shape)


def _axis_word(ndim: int, axis: int) -> str:
    if ndim == 1:
        return "elements"
    return {ndim - 1: "columns", ndim - 2: "rows"}.get(axis, f"axis {axis}")


def _moved(m: Mismatch, axis: int, step: int) -> bool:
    """Whether actual[i] is expected[i - step] along `axis`, over the elements that have both."""
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
    """The indices of the first wrong elements, in C order."""
    flat = np.flatnonzero(m.wrong)[:most]
    return [tuple(int(i) for i in np.unravel_index(at, m.wrong.shape)) for at in flat]


def element(name: str, index: tuple[int, ...]) -> str:
    """`C[32, 0]`."""
    return f"{name}[{', '.join(str(i) for i in index)}]"


def number(value: float, whole: bool = False) -> str:
    """At most 9 characters or so: enough digits to see the difference in float32. Of an integer
    type's values, all digits.
    """
    return f"{value:.0f}" if whole else f"{value:.7g}"


def excerpt(m: Mismatch) -> str:
    """Up to 3 rows of 4 elements from the first wrong one on, expected against actual:

    from C[32, 0]    expected             actual
                     1  2  3  4           0  0  0  0
    """
    start = first_wrong(m, 1)[0]
    rows = _window(m, start)
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


def _window(m: Mismatch, start: tuple[int, ...]) -> list[tuple[int | slice, ...]]:
    """Index expressions of the excerpt's rows; fewer columns when numbers are wide."""
    *outer, column = start
    wide = any(_widest(values, m.whole) > 7 for values in (m.expected, m.actual))
    last = slice(column, column + (COLUMNS - 1 if wide else COLUMNS))
    if not outer:
        return [(last,)]
    row, extent = outer[-1], m.wrong.shape[-2]
    return [(*outer[:-1], r, last) for r in range(row, min(row + ROWS, extent))]


def _widest(values: Floats, whole: bool) -> int:
    sample = values.ravel()[:64]
    return max((len(number(float(v), whole)) for v in sample), default=0)
