"""Tiles of 3 x 3 in one dynamic array: which thread writes which float of it."""

from __future__ import annotations

from grader.explain.touches import touches
from grader.handout.canvas import BLUE, ORANGE, Figure, cells, sheet, titled
from grader.handout.kernels import matrices, ran, solution, whole
from grader.launch import Launch

ALT = (
    "The array tiles as 18 cells in a row. Floats 0 to 8 are A's tile, row by row, and floats 9 "
    "to 17 are B's; each float is written by the thread whose x and y are its column and row in "
    "the tile."
)
TILE = 3


def writers() -> dict[int, tuple[int, int, str]]:
    """For each float of `tiles` its writer's x and y in the first phase, and the matrix whose
    element it then loads."""
    args = (*matrices(TILE, TILE, TILE), *(whole(name, TILE) for name in ("m", "n", "k", "tile")))
    launch = Launch("matmul", (1, 1, 1), (TILE, TILE, 1), args, shared=8 * TILE * TILE)
    seen = [t for t in touches(ran(solution("dynamic-tile"), launch)) if t.phase == 0]
    origin = {(t.thread, t.line): t.variable for t in seen if t.space == "global"}
    return {
        t.number: (t.thread[0], t.thread[1], origin[t.thread, t.line])
        for t in seen
        if t.space == "shared"
    }


def draw() -> Figure:
    """One row of cells."""
    figure, ((axes,),) = sheet(1, 1, 1.2)
    held = writers()
    fills = {(0, n): BLUE if name == "A" else ORANGE for n, (_, _, name) in held.items()}
    texts = {(0, n): f"{name}\n({x},{y})" for n, (x, y, name) in held.items()}
    cells(axes, 1, len(held), fills, texts, size=7)
    for number in held:
        axes.text(number + 0.5, 1.12, str(number), ha="center", va="top", fontsize=7)
    axes.set_ylim(1.5, -0.1)
    titled(axes, f"float tiles[{len(held)}]: the matrix and the thread (x,y) that writes it")
    return figure
