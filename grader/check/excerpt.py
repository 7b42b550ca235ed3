"""A few elements of a wrong output beside the right ones, as lines of text."""

from __future__ import annotations

import numpy as np

from grader.check.mismatch import Floats, Mismatch

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
    type's values, all digits."""
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
