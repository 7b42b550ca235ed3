"""Figures of tiled matrix products: which thread loads what, phase by phase."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.patches import Rectangle

from grader.authoring.handouts.canvas import (
    BLUE,
    GREY,
    ORANGE,
    PINK,
    THREADS,
    Axes,
    Figure,
    cells,
    numbered,
    sheet,
    titled,
)
from grader.authoring.handouts.runs import matrices, ran, solution, whole
from grader.launch import Launch
from grader.reports.explain.accesses import Touch, touches

# 3 x 3 matrices with 2 x 2 tiles: what block (1,1) loads, and where it stores zeros instead.

BOUNDARY_TILES_ALT = (
    "A, B and C of 3 x 3 elements inside the 4 x 4 that two tiles of 2 x 2 cover; what is "
    "outside is hatched. In phase 0 block (1,1) loads A[2][0], A[2][1], B[0][2] and B[1][2], "
    "and stores zeros for the other four places of its tiles. In phase 1 it loads A[2][2] and "
    "B[2][2], and stores six zeros. Only thread (0,0) has an element of C, C[2][2]."
)
BOUNDARY_TILES_SIDE, BOUNDARY_TILES_TILE, COVERED = 3, 2, 4
PLACES = {"A": "As", "B": "Bs"}


def boundary_tiles_trace() -> tuple[Touch, ...]:
    """What block (1,1) touches, in order."""
    args = (
        *matrices(BOUNDARY_TILES_SIDE, BOUNDARY_TILES_SIDE, BOUNDARY_TILES_SIDE),
        *(whole(name, BOUNDARY_TILES_SIDE) for name in "mnk"),
    )
    launch = Launch("matmul", (2, 2, 1), (BOUNDARY_TILES_TILE, BOUNDARY_TILES_TILE, 1), args)
    seen = touches(ran(solution("boundary-matmul", TILE=BOUNDARY_TILES_TILE), launch))
    return tuple(t for t in seen if t.block == (1, 1, 0))


def loaded(seen: Sequence[Touch], name: str, phase: int) -> dict[tuple[int, int], Touch]:
    """The loads of one matrix in one phase, by row and column."""
    return {
        divmod(t.number, BOUNDARY_TILES_SIDE): t
        for t in seen
        if t.variable == name and t.phase == 2 * phase
    }


def zeros(seen: Sequence[Touch], name: str, phase: int) -> dict[tuple[int, int], Touch]:
    """The places of one matrix, row and column, for which a thread stores a zero: it writes to
    the tile without having loaded.
    """
    lazy = {t.thread for t in loaded(seen, name, phase).values()}
    writes = [t for t in seen if t.variable == PLACES[name] and t.access == "write"]
    return {
        _place(name, phase, t): t for t in writes if t.phase == 2 * phase and t.thread not in lazy
    }


def _place(name: str, phase: int, touch: Touch) -> tuple[int, int]:
    row, column = divmod(touch.number, BOUNDARY_TILES_TILE)
    first = phase * BOUNDARY_TILES_TILE
    return (
        (BOUNDARY_TILES_TILE + row, first + column)
        if name == "A"
        else (first + row, BOUNDARY_TILES_TILE + column)
    )


def draw_boundary_tiles() -> Figure:
    """Two rows of panels, one a phase, as in the figure of whole tiles."""
    figure, axes = sheet(2, 3, 4.9)
    seen = boundary_tiles_trace()
    for phase, row in enumerate(axes):
        for panel, name in zip(row, "AB", strict=False):
            _panel(panel, loaded(seen, name, phase), zeros(seen, name, phase))
            titled(panel, f"{name}: loaded in phase {phase}")
    axes[0][2].axis("off")
    _panel(
        axes[1][2],
        {divmod(t.number, BOUNDARY_TILES_SIDE): t for t in seen if t.variable == "C"},
        {},
    )
    titled(axes[1][2], "C: stored at the end")
    return figure


def _panel(
    axes: Axes, real: dict[tuple[int, int], Touch], padded: dict[tuple[int, int], Touch]
) -> None:
    every = {(r, c) for r in range(COVERED) for c in range(COVERED)}
    outside = frozenset((r, c) for r, c in every if max(r, c) >= BOUNDARY_TILES_SIDE)
    both = {**real, **padded}
    fills = {at: THREADS[BOUNDARY_TILES_TILE * t.thread[1] + t.thread[0]] for at, t in both.items()}
    texts = {
        at: f"{'zero' if at in padded else 'thread'}\n({t.thread[0]},{t.thread[1]})"
        for at, t in both.items()
    }
    cells(axes, COVERED, COVERED, fills, texts, hatched=outside - set(both), size=7.5)
    numbered(axes, COVERED, COVERED)


# The 4 x 4 product with 2 x 2 tiles: which thread of block (0,0) loads which element, and when.

TILE_PHASES_ALT = (
    "Matrices A, B and C of 4 x 4 elements. In phase 0 the four threads of block (0,0) load the "
    "upper left 2 x 2 elements of A and of B, one each; in phase 1 columns 2 and 3 of A's upper "
    "rows and rows 2 and 3 of B's left columns; each thread stores one of the upper left 2 x 2 "
    "elements of C."
)
TILE_PHASES_SIDE, TILE = 4, 2


def tile_phases_trace() -> tuple[Touch, ...]:
    """What block (0,0) touches, in order."""
    blocks, block = (TILE_PHASES_SIDE // TILE, TILE_PHASES_SIDE // TILE, 1), (TILE, TILE, 1)
    args = (
        *matrices(TILE_PHASES_SIDE, TILE_PHASES_SIDE, TILE_PHASES_SIDE),
        whole("n", TILE_PHASES_SIDE),
    )
    seen = touches(ran(solution("tiled-matmul", TILE=TILE), Launch("matmul", blocks, block, args)))
    return tuple(t for t in seen if t.block == (0, 0, 0))


def draw_tile_phases() -> Figure:
    """Two rows of panels, one a phase; C, which is stored at the end, beside the second."""
    figure, axes = sheet(2, 3, 4.9)
    seen = tile_phases_trace()
    for phase, row in enumerate(axes):
        for panel, name in zip(row, "AB", strict=False):
            loads = [t for t in seen if t.variable == name and t.phase == 2 * phase]
            _tile_phases_panel(panel, loads, f"{name}: loaded in phase {phase}")
    axes[0][2].axis("off")
    _tile_phases_panel(axes[1][2], [t for t in seen if t.variable == "C"], "C: stored at the end")
    return figure


def _tile_phases_panel(axes: Axes, seen: Sequence[Touch], title: str) -> None:
    at = {divmod(t.number, TILE_PHASES_SIDE): t.thread for t in seen}
    fills = {where: THREADS[TILE * y + x] for where, (x, y, _) in at.items()}
    texts = {where: f"thread\n({x},{y})" for where, (x, y, _) in at.items()}
    cells(axes, TILE_PHASES_SIDE, TILE_PHASES_SIDE, fills, texts)
    numbered(axes, TILE_PHASES_SIDE, TILE_PHASES_SIDE)
    titled(axes, title)


# The table of phases of the 4 x 4 product: what each thread loads and adds, and when.

PHASES = TILE_PHASES_SIDE // TILE
JOINED = "\u2060"
"""Keeps a line from breaking between two indices."""


def phase_table() -> str:
    """A Markdown table of block (0,0), one row a thread."""
    seen = tile_phases_trace()
    heads = [f"phase {n} {what}" for n in range(PHASES) for what in ("loads", "adds")]
    rows = [f"| thread (tx,ty) | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    for thread in dict.fromkeys(t.thread for t in seen):
        parts = [part for n in range(PHASES) for part in (loads(seen, thread, n),
                                                          adds(seen, thread, n))]  # fmt: skip
        rows.append(f"| ({thread[0]},{thread[1]}) | {' | '.join(parts)} |")
    return "\n".join(rows)


def loads(seen: Sequence[Touch], thread: tuple[int, int, int], phase: int) -> str:
    """`A[0][0], B[0][0]`: what a thread fetches from global memory in a phase."""
    return ", ".join(
        _named(t)
        for t in seen
        if t.space == "global" and t.access == "read" and (t.thread, t.phase) == (thread, 2 * phase)
    )


def adds(seen: Sequence[Touch], thread: tuple[int, int, int], phase: int) -> str:
    """`A[0][0] B[0][0] + A[0][1] B[1][0]`: the products of a phase, by where their factors come
    from: what the thread reads of a tile was stored there just before, by whom it may be.
    """
    origin: dict[str, str] = {}
    for touch in seen:
        if touch.phase != 2 * phase:
            continue
        if touch.space == "global":
            origin[f"{touch.thread}{touch.line}"] = _named(touch)
        else:
            origin[touch.element] = origin[f"{touch.thread}{touch.line}"]
    read = [
        origin[t.element]
        for t in seen
        if t.space == "shared"
        and t.access == "read"
        and (t.thread, t.phase) == (thread, 2 * phase + 1)
    ]
    return " + ".join(f"{a} {b}" for a, b in zip(read[::2], read[1::2], strict=True))


def _named(touch: Touch) -> str:
    row, column = divmod(touch.number, TILE_PHASES_SIDE)
    return f"{touch.variable}[{row}]{JOINED}[{column}]"


# The 128 x 128 elements of C that one block of the ladder's last rung makes, by thread.

REGISTER_TILES_ALT = (
    "Left: a corner of 24 x 80 of the block's 128 x 128 elements of C, with those of three "
    "threads marked. Thread 0 has rows 0 to 7 and columns 0 to 3 and 64 to 67; thread 1 the "
    "same rows and columns 4 to 7 and 68 to 71; thread 16 rows 8 to 15 of thread 0's columns. "
    "Right: the first rows of the 128 x 8 elements of A that the block loads in a phase: thread "
    "0 loads columns 0 to 3 of row 0, thread 1 columns 4 to 7, thread 16 columns 0 to 3 of row "
    "8."
)
REGISTER_TILES_SIDE, DEPTH = 128, 8
MARKED = {0: BLUE, 1: ORANGE, 16: PINK}
ROWS = 24


def register_tiles_trace() -> tuple[Touch, ...]:
    """What the marked threads of one block touch in one phase."""
    sizes = {"m": REGISTER_TILES_SIDE, "n": REGISTER_TILES_SIDE, "k": DEPTH}
    args = (
        *matrices(REGISTER_TILES_SIDE, REGISTER_TILES_SIDE, DEPTH),
        *(whole(name, size) for name, size in sizes.items()),
    )
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


def draw_register_tiles() -> Figure:
    """C at the left, A at the right."""
    figure, (row,) = sheet(1, 2, 2.6, width_ratios=[80, 12])
    seen = register_tiles_trace()
    _register_tiles_panel(row[0], owned(seen, "C", REGISTER_TILES_SIDE), 80)
    _register_tiles_panel(row[1], owned(seen, "A", DEPTH), DEPTH)
    titled(row[0], "elements of C by thread")
    titled(row[1], "A, by thread")
    return figure


def _register_tiles_panel(axes: Axes, held: dict[int, set[tuple[int, int]]], columns: int) -> None:
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
