"""3 x 3 matrices with 2 x 2 tiles: what block (1,1) loads, and where it stores zeros instead."""

from __future__ import annotations

from collections.abc import Sequence

from grader.explain.touches import Touch, touches
from grader.handout.canvas import THREADS, Axes, Figure, cells, numbered, sheet, titled
from grader.handout.kernels import matrices, ran, solution, whole
from grader.launch import Launch

ALT = (
    "A, B and C of 3 x 3 elements inside the 4 x 4 that two tiles of 2 x 2 cover; what is "
    "outside is hatched. In phase 0 block (1,1) loads A[2][0], A[2][1], B[0][2] and B[1][2], "
    "and stores zeros for the other four places of its tiles. In phase 1 it loads A[2][2] and "
    "B[2][2], and stores six zeros. Only thread (0,0) has an element of C, C[2][2]."
)
SIDE, TILE, COVERED = 3, 2, 4
PLACES = {"A": "As", "B": "Bs"}


def trace() -> tuple[Touch, ...]:
    """What block (1,1) touches, in order."""
    args = (*matrices(SIDE, SIDE, SIDE), *(whole(name, SIDE) for name in "mnk"))
    launch = Launch("matmul", (2, 2, 1), (TILE, TILE, 1), args)
    seen = touches(ran(solution("boundary-matmul", TILE=TILE), launch))
    return tuple(t for t in seen if t.block == (1, 1, 0))


def loaded(seen: Sequence[Touch], name: str, phase: int) -> dict[tuple[int, int], Touch]:
    """The loads of one matrix in one phase, by row and column."""
    return {divmod(t.number, SIDE): t for t in seen if t.variable == name and t.phase == 2 * phase}


def zeros(seen: Sequence[Touch], name: str, phase: int) -> dict[tuple[int, int], Touch]:
    """The places of one matrix, row and column, for which a thread stores a zero: it writes to
    the tile without having loaded."""
    lazy = {t.thread for t in loaded(seen, name, phase).values()}
    writes = [t for t in seen if t.variable == PLACES[name] and t.access == "write"]
    return {
        _place(name, phase, t): t for t in writes if t.phase == 2 * phase and t.thread not in lazy
    }


def _place(name: str, phase: int, touch: Touch) -> tuple[int, int]:
    row, column = divmod(touch.number, TILE)
    first = phase * TILE
    return (TILE + row, first + column) if name == "A" else (first + row, TILE + column)


def draw() -> Figure:
    """Two rows of panels, one a phase, as in the figure of whole tiles."""
    figure, axes = sheet(2, 3, 4.9)
    seen = trace()
    for phase, row in enumerate(axes):
        for panel, name in zip(row, "AB", strict=False):
            _panel(panel, loaded(seen, name, phase), zeros(seen, name, phase))
            titled(panel, f"{name}: loaded in phase {phase}")
    axes[0][2].axis("off")
    _panel(axes[1][2], {divmod(t.number, SIDE): t for t in seen if t.variable == "C"}, {})
    titled(axes[1][2], "C: stored at the end")
    return figure


def _panel(
    axes: Axes, real: dict[tuple[int, int], Touch], padded: dict[tuple[int, int], Touch]
) -> None:
    every = {(r, c) for r in range(COVERED) for c in range(COVERED)}
    outside = frozenset((r, c) for r, c in every if max(r, c) >= SIDE)
    both = {**real, **padded}
    fills = {at: THREADS[TILE * t.thread[1] + t.thread[0]] for at, t in both.items()}
    texts = {
        at: f"{'zero' if at in padded else 'thread'}\n({t.thread[0]},{t.thread[1]})"
        for at, t in both.items()
    }
    cells(axes, COVERED, COVERED, fills, texts, hatched=outside - set(both), size=7.5)
    numbered(axes, COVERED, COVERED)
