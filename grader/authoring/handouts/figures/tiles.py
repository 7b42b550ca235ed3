"""Figures of tiles: which thread loads what, phase by phase.

- `tile_phases`: a 4 x 4 product with 2 x 2 tiles; `phase_table` is the same run as a table.
- `boundary_tiles`: 3 x 3 matrices with 2 x 2 tiles, where threads pad the tiles with zeros.
- `register_tiles`: the 128 x 128 elements of C that one block of `sgemm-ladder` computes.
- `halo`: the 18 x 18 tile of the median filter, and which thread loads which of its 324 bytes.

A phase of a figure is two phases of the trace: the tiles are loaded before the first barrier and
read between the two barriers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Rectangle

from grader.authoring.handouts.figures import (
    BLUE,
    GRAY,
    GREEN,
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
from grader.authoring.handouts.runs import int_argument, matrices, run_traced, solution
from grader.launch import Array, Launch
from grader.reports.explain.accesses import ThreadAccess, thread_accesses

BOUNDARY_TILES_ALT = (
    "A, B and C of 3 x 3 elements inside the 4 x 4 that two tiles of 2 x 2 cover; what is "
    "outside is hatched. In phase 0 block (1,1) loads A[2][0], A[2][1], B[0][2] and B[1][2], "
    "and stores zeros for the other four places of its tiles. In phase 1 it loads A[2][2] and "
    "B[2][2], and stores six zeros. Only thread (0,0) has an element of C, C[2][2]."
)
BOUNDARY_SIZE, BOUNDARY_TILE, BOUNDARY_COVERED = 3, 2, 4
SHARED_ARRAYS = {"A": "As", "B": "Bs"}


def boundary_touches() -> tuple[ThreadAccess, ...]:
    """Return the accesses of block (1,1), in order."""
    args = (
        *matrices(BOUNDARY_SIZE, BOUNDARY_SIZE, BOUNDARY_SIZE),
        *(int_argument(name, BOUNDARY_SIZE) for name in "mnk"),
    )
    launch = Launch("matmul", (2, 2, 1), (BOUNDARY_TILE, BOUNDARY_TILE, 1), args)
    touched = thread_accesses(run_traced(solution("boundary-matmul", TILE=BOUNDARY_TILE), launch))
    return tuple(t for t in touched if t.block == (1, 1, 0))


def boundary_loads(
    touched: Sequence[ThreadAccess], name: str, phase: int
) -> dict[tuple[int, int], ThreadAccess]:
    """Return the loads of one matrix in one phase, by row and column."""
    return {
        divmod(t.number, BOUNDARY_SIZE): t
        for t in touched
        if t.variable == name and t.phase == 2 * phase
    }


def boundary_zeros(
    touched: Sequence[ThreadAccess], name: str, phase: int
) -> dict[tuple[int, int], ThreadAccess]:
    """Return the stores of zeros into the tile of one matrix, by row and column of the matrix.

    A thread that writes to the tile without having loaded an element stores a zero.
    """
    loading = {t.thread for t in boundary_loads(touched, name, phase).values()}
    writes = [t for t in touched if t.variable == SHARED_ARRAYS[name] and t.access == "write"]
    return {
        _matrix_place(name, phase, t): t
        for t in writes
        if t.phase == 2 * phase and t.thread not in loading
    }


def _matrix_place(name: str, phase: int, touch: ThreadAccess) -> tuple[int, int]:
    row, column = divmod(touch.number, BOUNDARY_TILE)
    first = phase * BOUNDARY_TILE
    return (
        (BOUNDARY_TILE + row, first + column)
        if name == "A"
        else (first + row, BOUNDARY_TILE + column)
    )


def draw_boundary_tiles() -> Figure:
    """Draw one row of panels for each phase, as in the figure of whole tiles."""
    figure, axes = sheet(2, 3, 4.9)
    touched = boundary_touches()
    for phase, row in enumerate(axes):
        for panel, name in zip(row, "AB", strict=False):
            _draw_boundary_panel(
                panel, boundary_loads(touched, name, phase), boundary_zeros(touched, name, phase)
            )
            titled(panel, f"{name}: loaded in phase {phase}")
    axes[0][2].axis("off")
    _draw_boundary_panel(
        axes[1][2],
        {divmod(t.number, BOUNDARY_SIZE): t for t in touched if t.variable == "C"},
        {},
    )
    titled(axes[1][2], "C: stored at the end")
    return figure


def _draw_boundary_panel(
    axes: Axes,
    loads: dict[tuple[int, int], ThreadAccess],
    zeros: dict[tuple[int, int], ThreadAccess],
) -> None:
    every = {(r, c) for r in range(BOUNDARY_COVERED) for c in range(BOUNDARY_COVERED)}
    outside = frozenset((r, c) for r, c in every if max(r, c) >= BOUNDARY_SIZE)
    both = {**loads, **zeros}
    fills = {at: THREADS[BOUNDARY_TILE * t.thread[1] + t.thread[0]] for at, t in both.items()}
    texts = {
        at: f"{'zero' if at in zeros else 'thread'}\n({t.thread[0]},{t.thread[1]})"
        for at, t in both.items()
    }
    cells(
        axes,
        BOUNDARY_COVERED,
        BOUNDARY_COVERED,
        fills,
        texts,
        hatched=outside - set(both),
        size=7.5,
    )
    numbered(axes, BOUNDARY_COVERED, BOUNDARY_COVERED)


TILE_PHASES_ALT = (
    "Matrices A, B and C of 4 x 4 elements. In phase 0 the four threads of block (0,0) load the "
    "upper left 2 x 2 elements of A and of B, one each; in phase 1 columns 2 and 3 of A's upper "
    "rows and rows 2 and 3 of B's left columns; each thread stores one of the upper left 2 x 2 "
    "elements of C."
)
PHASES_SIZE, PHASES_TILE = 4, 2


def phase_touches() -> tuple[ThreadAccess, ...]:
    """Return the accesses of block (0,0), in order."""
    blocks, block = (
        (PHASES_SIZE // PHASES_TILE, PHASES_SIZE // PHASES_TILE, 1),
        (PHASES_TILE, PHASES_TILE, 1),
    )
    args = (
        *matrices(PHASES_SIZE, PHASES_SIZE, PHASES_SIZE),
        int_argument("n", PHASES_SIZE),
    )
    touched = thread_accesses(
        run_traced(
            solution("tiled-matmul", TILE=PHASES_TILE), Launch("matmul", blocks, block, args)
        )
    )
    return tuple(t for t in touched if t.block == (0, 0, 0))


def draw_tile_phases() -> Figure:
    """Draw one row of panels for each phase, and C, which is stored at the end, in the second."""
    figure, axes = sheet(2, 3, 4.9)
    touched = phase_touches()
    for phase, row in enumerate(axes):
        for panel, name in zip(row, "AB", strict=False):
            loads = [t for t in touched if t.variable == name and t.phase == 2 * phase]
            _draw_phase_panel(panel, loads, f"{name}: loaded in phase {phase}")
    axes[0][2].axis("off")
    _draw_phase_panel(axes[1][2], [t for t in touched if t.variable == "C"], "C: stored at the end")
    return figure


def _draw_phase_panel(axes: Axes, touched: Sequence[ThreadAccess], title: str) -> None:
    at = {divmod(t.number, PHASES_SIZE): t.thread for t in touched}
    fills = {where: THREADS[PHASES_TILE * y + x] for where, (x, y, _) in at.items()}
    texts = {where: f"thread\n({x},{y})" for where, (x, y, _) in at.items()}
    cells(axes, PHASES_SIZE, PHASES_SIZE, fills, texts)
    numbered(axes, PHASES_SIZE, PHASES_SIZE)
    titled(axes, title)


PHASE_COUNT = PHASES_SIZE // PHASES_TILE
WORD_JOINER = "\u2060"
"""The Unicode character that prevents a line break between two indices."""


def phase_table() -> str:
    """Return a Markdown table of what each thread of block (0,0) loads and adds in each phase."""
    touched = phase_touches()
    heads = [f"phase {n} {what}" for n in range(PHASE_COUNT) for what in ("loads", "adds")]
    rows = [f"| thread (tx,ty) | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    for thread in dict.fromkeys(t.thread for t in touched):
        parts = [
            part(touched, thread, n)
            for n in range(PHASE_COUNT)
            for part in (elements_loaded, products_added)
        ]
        rows.append(f"| ({thread[0]},{thread[1]}) | {' | '.join(parts)} |")
    return "\n".join(rows)


def elements_loaded(
    touched: Sequence[ThreadAccess], thread: tuple[int, int, int], phase: int
) -> str:
    """Return what a thread loads from global memory in a phase, such as `A[0][0], B[0][0]`."""
    return ", ".join(
        _element_name(t)
        for t in touched
        if t.space == "global" and t.access == "read" and (t.thread, t.phase) == (thread, 2 * phase)
    )


def products_added(
    touched: Sequence[ThreadAccess], thread: tuple[int, int, int], phase: int
) -> str:
    """Return the products that a thread adds in a phase, such as `A[0][0] B[0][0] + ...`.

    The factors are read from the tiles. They are named after the elements of A and B that some
    thread of the block stored there just before.
    """
    origin: dict[str, str] = {}
    for touch in touched:
        if touch.phase != 2 * phase:
            continue
        if touch.space == "global":
            origin[f"{touch.thread}{touch.line}"] = _element_name(touch)
        else:
            origin[touch.element] = origin[f"{touch.thread}{touch.line}"]
    read = [
        origin[t.element]
        for t in touched
        if t.space == "shared"
        and t.access == "read"
        and (t.thread, t.phase) == (thread, 2 * phase + 1)
    ]
    return " + ".join(f"{a} {b}" for a, b in zip(read[::2], read[1::2], strict=True))


def _element_name(touch: ThreadAccess) -> str:
    row, column = divmod(touch.number, PHASES_SIZE)
    return f"{touch.variable}[{row}]{WORD_JOINER}[{column}]"


REGISTER_TILES_ALT = (
    "Left: a corner of 24 x 80 of the block's 128 x 128 elements of C, with those of three "
    "threads marked. Thread 0 has rows 0 to 7 and columns 0 to 3 and 64 to 67; thread 1 the "
    "same rows and columns 4 to 7 and 68 to 71; thread 16 rows 8 to 15 of thread 0's columns. "
    "Right: the first rows of the 128 x 8 elements of A that the block loads in a phase: thread "
    "0 loads columns 0 to 3 of row 0, thread 1 columns 4 to 7, thread 16 columns 0 to 3 of row "
    "8."
)
REGISTER_SIZE, REGISTER_DEPTH = 128, 8
MARKED_THREADS = {0: BLUE, 1: ORANGE, 16: PINK}
SHOWN_ROWS = 24


def register_touches() -> tuple[ThreadAccess, ...]:
    """Return the accesses of the marked threads of one block in one phase."""
    sizes = {"m": REGISTER_SIZE, "n": REGISTER_SIZE, "k": REGISTER_DEPTH}
    args = (
        *matrices(REGISTER_SIZE, REGISTER_SIZE, REGISTER_DEPTH),
        *(int_argument(name, size) for name, size in sizes.items()),
    )
    touched = thread_accesses(
        run_traced(solution("sgemm-ladder"), Launch("sgemm", (1, 1, 1), (256, 1, 1), args))
    )
    return tuple(t for t in touched if t.thread[0] in MARKED_THREADS)


def elements_by_thread(
    touched: tuple[ThreadAccess, ...], variable: str, columns: int
) -> dict[int, set[tuple[int, int]]]:
    """Return the elements, as row and column, that each marked thread accesses."""
    elements: dict[int, set[tuple[int, int]]] = {thread: set() for thread in MARKED_THREADS}
    for touch in touched:
        if touch.variable == variable:
            first = touch.offset // 4
            numbers = range(first, first + touch.bytes // 4)
            elements[touch.thread[0]].update(divmod(number, columns) for number in numbers)
    return elements


def draw_register_tiles() -> Figure:
    """Draw C at the left and A at the right."""
    figure, (row,) = sheet(1, 2, 2.6, width_ratios=[80, 12])
    touched = register_touches()
    _draw_register_panel(row[0], elements_by_thread(touched, "C", REGISTER_SIZE), 80)
    _draw_register_panel(row[1], elements_by_thread(touched, "A", REGISTER_DEPTH), REGISTER_DEPTH)
    titled(row[0], "elements of C by thread")
    titled(row[1], "A, by thread")
    return figure


def _draw_register_panel(
    axes: Axes, elements: dict[int, set[tuple[int, int]]], columns: int
) -> None:
    for thread, places in elements.items():
        for row, column in places:
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=MARKED_THREADS[thread]))
        for half in {column // 64 for _, column in places}:
            part = [place for place in places if place[1] // 64 == half]
            down, along = (sum(place[axis] for place in part) / len(part) + 0.5 for axis in (0, 1))
            axes.text(along, down, str(thread), ha="center", va="center", fontsize=8)
    axes.hlines(range(SHOWN_ROWS + 1), 0, columns, color=GRAY, linewidth=0.25)
    axes.vlines(range(columns + 1), 0, SHOWN_ROWS, color=GRAY, linewidth=0.25)
    axes.set_xlim(-0.2, columns + 0.2)
    axes.set_ylim(SHOWN_ROWS + 0.2, -0.2)
    axes.set_xticks(range(0, columns + 1, 8))
    axes.set_yticks(range(0, SHOWN_ROWS + 1, 8))
    axes.tick_params(length=0, labelsize=7.5)
    axes.set_aspect("equal")


HALO_ALT = (
    "Two pictures of the 18 x 18 tile of a block of 16 x 16 threads, one cell a byte. Block "
    "(1,1): the first 256 bytes, row by row, are loaded in the first round, one a thread; the "
    "other 68, from row 14 column 4 on, in the second. Block (0,0): the same, and the bytes in "
    "row 0 and column 0 hold a copy of the nearest pixel of the picture, because they lie "
    "beyond its edge."
)
HALO_BLOCK, HALO_TILE = 16, 18
HALO_WIDTH, HALO_HEIGHT = 48, 48


def halo_touches() -> tuple[ThreadAccess, ...]:
    """Return the accesses of the four upper left blocks of a picture of 3 x 3 blocks."""
    picture = (
        np.arange(HALO_WIDTH * HALO_HEIGHT, dtype=np.int64)
        .astype(np.uint8)
        .reshape(HALO_HEIGHT, HALO_WIDTH)
    )
    args = (
        Array("in", picture.shape, "uint8", picture),
        Array("out", picture.shape, "uint8", None, True),
        int_argument("width", HALO_WIDTH),
        int_argument("height", HALO_HEIGHT),
    )
    launch = Launch("median", (2, 2, 1), (HALO_BLOCK, HALO_BLOCK, 1), args)
    return thread_accesses(run_traced(solution("blur-median"), launch))


def halo_loads(
    touched: tuple[ThreadAccess, ...], block: tuple[int, int, int]
) -> dict[int, tuple[int, int]]:
    """Return the number of the loading thread and the pixel for each byte of a block's tile."""
    of_block = [t for t in touched if t.block == block and t.phase == 0]
    pixels: dict[tuple[int, int, int], list[int]] = {}
    for touch in of_block:
        if touch.variable == "in":
            pixels.setdefault(touch.thread, []).append(touch.number)
    loads = {}
    for touch in of_block:
        if touch.variable == "tile":
            x, y, _ = touch.thread
            loads[touch.number] = y * HALO_BLOCK + x, pixels[touch.thread].pop(0)
    return loads


def draw_halo() -> Figure:
    """Draw two panels: a block in the middle of the picture, and the block in its corner."""
    figure, (row,) = sheet(1, 2, 3.75)
    touched = halo_touches()
    for panel, block in zip(row, ((1, 1, 0), (0, 0, 0)), strict=True):
        _draw_halo_panel(panel, block, halo_loads(touched, block))
    return figure


def _draw_halo_panel(
    axes: Axes, block: tuple[int, int, int], loads: dict[int, tuple[int, int]]
) -> None:
    fills, texts = {}, {}
    for byte, (thread, pixel) in loads.items():
        at = divmod(byte, HALO_TILE)
        y, x = divmod(pixel, HALO_WIDTH)
        inside = (y, x) == (block[1] * HALO_BLOCK + at[0] - 1, block[0] * HALO_BLOCK + at[1] - 1)
        fills[at] = ORANGE if byte != thread else BLUE
        if not inside:
            fills[at], texts[at] = GREEN, "c"
        elif byte != thread:
            texts[at] = "2"
    cells(axes, HALO_TILE, HALO_TILE, fills, texts, size=6.5)
    axes.plot([1, 17, 17, 1, 1], [1, 1, 17, 17, 1], color="black", linewidth=1.8)
    copies = sum(text == "c" for text in texts.values())
    second = sum(byte != thread for byte, (thread, _) in loads.items())
    titled(axes, f"block ({block[0]},{block[1]}): {second} bytes in round 2, {copies} copies")
