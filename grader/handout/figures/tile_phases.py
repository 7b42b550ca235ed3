"""The 4 x 4 product with 2 x 2 tiles: which thread of block (0,0) loads which element, and when."""

from __future__ import annotations

from collections.abc import Sequence

from grader.explain.touches import Touch, touches
from grader.handout.canvas import THREADS, Axes, Figure, cells, numbered, sheet, titled
from grader.handout.kernels import matrices, ran, solution, whole
from grader.launch import Launch

ALT = (
    "Matrices A, B and C of 4 x 4 elements. In phase 0 the four threads of block (0,0) load the "
    "upper left 2 x 2 elements of A and of B, one each; in phase 1 columns 2 and 3 of A's upper "
    "rows and rows 2 and 3 of B's left columns; each thread stores one of the upper left 2 x 2 "
    "elements of C."
)
SIDE, TILE = 4, 2


def trace() -> tuple[Touch, ...]:
    """What block (0,0) touches, in order."""
    blocks, block = (SIDE // TILE, SIDE // TILE, 1), (TILE, TILE, 1)
    args = (*matrices(SIDE, SIDE, SIDE), whole("n", SIDE))
    seen = touches(ran(solution("tiled-matmul", TILE=TILE), Launch("matmul", blocks, block, args)))
    return tuple(t for t in seen if t.block == (0, 0, 0))


def draw() -> Figure:
    """Two rows of panels, one a phase; C, which is stored at the end, beside the second."""
    figure, axes = sheet(2, 3, 4.9)
    seen = trace()
    for phase, row in enumerate(axes):
        for panel, name in zip(row, "AB", strict=False):
            loads = [t for t in seen if t.variable == name and t.phase == 2 * phase]
            _panel(panel, loads, f"{name}: loaded in phase {phase}")
    axes[0][2].axis("off")
    _panel(axes[1][2], [t for t in seen if t.variable == "C"], "C: stored at the end")
    return figure


def _panel(axes: Axes, seen: Sequence[Touch], title: str) -> None:
    at = {divmod(t.number, SIDE): t.thread for t in seen}
    fills = {where: THREADS[TILE * y + x] for where, (x, y, _) in at.items()}
    texts = {where: f"thread\n({x},{y})" for where, (x, y, _) in at.items()}
    cells(axes, SIDE, SIDE, fills, texts)
    numbered(axes, SIDE, SIDE)
    titled(axes, title)
