"""The 128 x 128 elements of C that one block of the ladder's last rung makes, by thread."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from grader.explain.touches import Touch, touches
from grader.handout.canvas import BLUE, GREY, ORANGE, PINK, Axes, Figure, sheet, titled
from grader.handout.kernels import matrices, ran, solution, whole
from grader.launch import Launch

ALT = (
    "Left: a corner of 24 x 80 of the block's 128 x 128 elements of C, with those of three "
    "threads marked. Thread 0 has rows 0 to 7 and columns 0 to 3 and 64 to 67; thread 1 the "
    "same rows and columns 4 to 7 and 68 to 71; thread 16 rows 8 to 15 of thread 0's columns. "
    "Right: the first rows of the 128 x 8 elements of A that the block loads in a phase: thread "
    "0 loads columns 0 to 3 of row 0, thread 1 columns 4 to 7, thread 16 columns 0 to 3 of row "
    "8."
)
SIDE, DEPTH = 128, 8
MARKED = {0: BLUE, 1: ORANGE, 16: PINK}
ROWS = 24


def trace() -> tuple[Touch, ...]:
    """What the marked threads of one block touch in one phase."""
    sizes = {"m": SIDE, "n": SIDE, "k": DEPTH}
    args = (*matrices(SIDE, SIDE, DEPTH), *(whole(name, size) for name, size in sizes.items()))
    seen = touches(ran(solution("sgemm-ladder"), Launch("sgemm", (1, 1, 1), (256, 1, 1), args)))
    return tuple(t for t in seen if t.thread[0] in MARKED)


def owned(seen: tuple[Touch, ...], variable: str, columns: int) -> dict[int, set[tuple[int, int]]]:
    """The elements, row and column, that each marked thread touches."""
    out: dict[int, set[tuple[int, int]]] = {thread: set() for thread in MARKED}
    for touch in seen:
        if touch.variable == variable:
            first = touch.offset // 4
            own = range(first, first + touch.bytes // 4)
            out[touch.thread[0]].update(divmod(number, columns) for number in own)
    return out


def draw() -> Figure:
    """C at the left, A at the right."""
    figure, (row,) = sheet(1, 2, 2.6, width_ratios=[80, 12])
    seen = trace()
    _panel(row[0], owned(seen, "C", SIDE), 80)
    _panel(row[1], owned(seen, "A", DEPTH), DEPTH)
    titled(row[0], "elements of C by thread")
    titled(row[1], "A, by thread")
    return figure


def _panel(axes: Axes, held: dict[int, set[tuple[int, int]]], columns: int) -> None:
    for thread, elements in held.items():
        for row, column in elements:
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=MARKED[thread]))
        for first in {column // 64 for _, column in elements}:
            part = [e for e in elements if e[1] // 64 == first]
            down, along = (sum(e[axis] for e in part) / len(part) + 0.5 for axis in (0, 1))
            axes.text(along, down, str(thread), ha="center", va="center", fontsize=8)
    axes.hlines(range(ROWS + 1), 0, columns, color=GREY, linewidth=0.25)
    axes.vlines(range(columns + 1), 0, ROWS, color=GREY, linewidth=0.25)
    axes.set_xlim(-0.2, columns + 0.2)
    axes.set_ylim(ROWS + 0.2, -0.2)
    axes.set_xticks(range(0, columns + 1, 8))
    axes.set_yticks(range(0, ROWS + 1, 8))
    axes.tick_params(length=0, labelsize=7.5)
    axes.set_aspect("equal")
