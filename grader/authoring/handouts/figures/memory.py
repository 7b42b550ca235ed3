"""Figures of memory accesses.

- `sectors`: the sectors that one request of a warp moves: coalesced, misaligned, strided.
- `bank_conflicts`: a warp reads a column of a 32 x 32 tile, and of one with 33 floats a row.
- `shared_array`: two tiles of 3 x 3 in one dynamic array, and which thread writes which float.
- `atomics`: atomics on global memory of two histograms, as the number of elements grows.
- `products`: how many of the 25 products of a convolution count for each element of a picture.
- `last_block`: which of the 256 threads of the last block of `vector-add` have an element.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from matplotlib.patches import Rectangle

from grader.authoring.handouts.figures import (
    BLUE,
    DARK_BLUE,
    INK,
    ORANGE,
    PALE,
    RED,
    Axes,
    Figure,
    cells,
    lined,
    sheet,
    titled,
)
from grader.authoring.handouts.runs import (
    KERNELS,
    baseline,
    figure_kernel,
    int_argument,
    matrices,
    numbers,
    run_traced,
    solution,
    with_constants,
)
from grader.launch import Argument, Array, Launch
from grader.reports.explain.accesses import thread_accesses

SECTORS_ALT = (
    "Four requests of a warp of 32 threads, each shown as the 32-byte sectors that it moves, 8 "
    "floats a sector, with the floats that are used marked. x[tid]: 4 sectors, all used. x[tid "
    "+ 1]: 5 sectors, the first and the last used in part. x[2 * tid]: 8 sectors, every other "
    "float used. x[8 * tid]: 32 sectors, one float of each used."
)
FLOATS_PER_SECTOR = 8
REQUESTS = ((1, 0, "x[tid]"), (1, 1, "x[tid + 1]"), (2, 0, "x[2 * tid]"), (8, 0, "x[8 * tid]"))
SECTORS_COUNTER = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


def sectors_of_request(stride: int, first: int) -> tuple[frozenset[int], int]:
    """Return the numbers of the floats that a warp reads, and the counted sectors."""
    x = numbers(32 * stride + first)
    args = (
        Array("x", x.shape, "float32", x),
        Array("y", (32,), "float32", None, True),
        int_argument("stride", stride),
        int_argument("first", first),
    )
    trace = run_traced(figure_kernel("strides"), Launch("read", (1, 1, 1), (32, 1, 1), args))
    read = frozenset(t.number for t in thread_accesses(trace) if t.variable == "x")
    return read, int(trace.counters[SECTORS_COUNTER])


def draw_sectors() -> Figure:
    """Draw one panel for each request; a column is a sector, a cell is a float."""
    figure, axes = sheet(len(REQUESTS), 1, 5.0)
    for (panel,), (stride, first, text) in zip(axes, REQUESTS, strict=True):
        read, sectors = sectors_of_request(stride, first)
        _draw_request(panel, read)
        used = len(read) / (sectors * FLOATS_PER_SECTOR)
        titled(panel, f"{text}: {sectors} sectors, {100 * used:g} % of the bytes moved are used")
    return figure


def _draw_request(axes: Axes, read: frozenset[int]) -> None:
    for sector in range(32):
        moved = any(n // FLOATS_PER_SECTOR == sector for n in read)
        if moved:
            axes.add_patch(Rectangle((sector, 0), 1, FLOATS_PER_SECTOR, facecolor=PALE))
            axes.add_patch(
                Rectangle(
                    (sector, 0), 1, FLOATS_PER_SECTOR, fill=False, edgecolor=INK, linewidth=1.1
                )
            )
    for number in read:
        axes.add_patch(Rectangle(divmod(number, FLOATS_PER_SECTOR), 1, 1, facecolor=DARK_BLUE))
    lined(axes, FLOATS_PER_SECTOR, 32)
    axes.set_xlim(-0.1, 32.1)
    axes.set_ylim(FLOATS_PER_SECTOR + 0.1, -0.1)
    axes.set_xticks([n + 0.5 for n in range(0, 32, 4)], [str(32 * n) for n in range(0, 32, 4)])
    axes.set_yticks([0.5, FLOATS_PER_SECTOR - 0.5], ["0", "7"])
    axes.tick_params(length=0, labelsize=7.5)
    axes.set_xlabel("sector, by its first byte in x", fontsize=8)
    axes.set_ylabel("float in it", fontsize=8)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


BANK_CONFLICTS_ALT = (
    "The 32 banks of shared memory as columns and the 32 rows of a tile as rows. Without "
    "padding the 32 elements of the tile's first column all lie in bank 0 and take 32 passes. "
    "With 33 floats a row element r lies in bank r, and one pass does."
)
BANKS = 32
WAVEFRONTS_COUNTER = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"


def banks_of_column(row_floats: int) -> tuple[dict[int, int], int]:
    """Return the bank that each thread reads from, by thread, and the counted passes."""
    x = numbers(32, 32)
    args = (Array("x", x.shape, "float32", x), Array("y", (32,), "float32", None, True))
    source = with_constants(figure_kernel("banks"), KERNELS / "banks.cu", {"WIDE": row_floats})
    trace = run_traced(source, Launch("column", (1, 1, 1), (32, 1, 1), args))
    reads = [t for t in thread_accesses(trace) if t.space == "shared" and t.access == "read"]
    return {t.thread[0]: t.number % BANKS for t in reads}, int(trace.counters[WAVEFRONTS_COUNTER])


def draw_bank_conflicts() -> Figure:
    """Draw the bank of each thread's element, without padding and with it."""
    figure, (row,) = sheet(1, 2, 3.7)
    for panel, row_floats in zip(row, (32, 33), strict=True):
        banks, passes = banks_of_column(row_floats)
        _draw_banks(panel, banks)
        titled(panel, f"tile[32][{row_floats}], first column: {passes} pass{'es' * (passes > 1)}")
    return figure


def _draw_banks(axes: Axes, banks: dict[int, int]) -> None:
    crowded = {bank for bank, count in Counter(banks.values()).items() if count > 1}
    for thread, bank in banks.items():
        color = RED if bank in crowded else DARK_BLUE
        axes.add_patch(Rectangle((bank, thread), 1, 1, facecolor=color))
    lined(axes, 32, BANKS)
    axes.set_xlim(-0.1, BANKS + 0.1)
    axes.set_ylim(32.1, -0.1)
    axes.set_aspect("equal")
    ticks = range(0, 32, 8)
    axes.set_xticks([n + 0.5 for n in ticks], [str(n) for n in ticks])
    axes.set_yticks([n + 0.5 for n in ticks], [str(n) for n in ticks])
    axes.tick_params(length=0, labelsize=8)
    axes.set_xlabel("bank", fontsize=8.5)
    axes.set_ylabel("thread: row of the tile", fontsize=8.5)


SHARED_ARRAY_ALT = (
    "The array tiles as 18 cells in a row. Floats 0 to 8 are A's tile, row by row, and floats 9 "
    "to 17 are B's; each float is written by the thread whose x and y are its column and row in "
    "the tile."
)
SHARED_TILE = 3


def shared_writers() -> dict[int, tuple[int, int, str]]:
    """Return each float's writer in the first phase: x, y, and the matrix that it loads from."""
    side = SHARED_TILE
    sizes = (int_argument(name, side) for name in ("m", "n", "k", "tile"))
    args = (*matrices(side, side, side), *sizes)
    launch = Launch("matmul", (1, 1, 1), (side, side, 1), args, shared=8 * side * side)
    touched = [
        t for t in thread_accesses(run_traced(solution("dynamic-tile"), launch)) if t.phase == 0
    ]
    origin = {(t.thread, t.line): t.variable for t in touched if t.space == "global"}
    return {
        t.number: (t.thread[0], t.thread[1], origin[t.thread, t.line])
        for t in touched
        if t.space == "shared"
    }


def draw_shared_array() -> Figure:
    """Draw the array as one row of cells."""
    figure, ((axes,),) = sheet(1, 1, 1.2)
    writers = shared_writers()
    fills = {(0, n): BLUE if name == "A" else ORANGE for n, (_, _, name) in writers.items()}
    texts = {(0, n): f"{name}\n({x},{y})" for n, (x, y, name) in writers.items()}
    cells(axes, 1, len(writers), fills, texts, size=7)
    for number in writers:
        axes.text(number + 0.5, 1.12, str(number), ha="center", va="top", fontsize=7)
    axes.set_ylim(1.5, -0.1)
    titled(axes, f"float tiles[{len(writers)}]: the matrix and the thread (x,y) that writes it")
    return figure


ATOMICS_ALT = (
    "Atomic operations on global memory over the number of elements, both axes logarithmic, for "
    "4 blocks of 256 threads. Without private bins there is one for each element. With private "
    "bins there are at most 4 x 256 = 1,024, however many elements there are."
)
HISTOGRAM_BLOCKS, HISTOGRAM_THREADS, BINS = 4, 256, 256
HISTOGRAM_SIZES = (256, 1024, 4096, 16384, 65536)
ATOMICS_COUNTER = "ptx__thread_atomics_mem_global.sum"


def count_atomics(source: str, n: int) -> float:
    """Count the atomics on global memory of one launch on n bytes drawn from all 256 values."""
    data = np.random.default_rng(1).integers(0, BINS, n, np.uint8)
    args = (
        Array("data", data.shape, "uint8", data),
        Array("bins", (BINS,), "uint32", np.zeros(BINS, np.uint32), True),
        int_argument("n", n),
    )
    launch = Launch("histogram", (HISTOGRAM_BLOCKS, 1, 1), (HISTOGRAM_THREADS, 1, 1), args)
    return run_traced(source, launch, table=False).counters[ATOMICS_COUNTER]


def draw_atomics() -> Figure:
    """Draw one line for the baseline and one for the solution, both axes logarithmic."""
    figure, ((axes,),) = sheet(1, 1, 3.0)
    rows = (
        ("every element to the global bins", baseline("histogram"), RED, "o-"),
        ("private bins in shared memory", solution("histogram"), DARK_BLUE, "s--"),
    )
    for name, source, color, line in rows:
        counts = [count_atomics(source, n) for n in HISTOGRAM_SIZES]
        axes.loglog(HISTOGRAM_SIZES, counts, line, color=color, label=name)
    axes.set_xticks(HISTOGRAM_SIZES, [f"{n:,}" for n in HISTOGRAM_SIZES])
    axes.minorticks_off()
    axes.set_xlabel("elements")
    axes.set_ylabel("atomics on global memory")
    axes.legend(frameon=False)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    titled(axes, f"{HISTOGRAM_BLOCKS} blocks of {HISTOGRAM_THREADS} threads, {BINS} bins")
    return figure


LAST_BLOCK_ALT = (
    "The 256 threads of block 3 as 8 warps of 32. Threads 0 to 231 work, on elements 768 to "
    "999; the last 24 threads, all of them in warp 7, touch nothing."
)
ELEMENTS, BLOCK_THREADS, WARP = 1000, 256, 32


def vector_arguments(n: int) -> tuple[Argument, ...]:
    """Return the arguments of `vector_add`: two vectors of n floats and one for their sum."""
    return (
        Array("a", (n,), "float32", numbers(n)),
        Array("b", (n,), "float32", numbers(n)),
        Array("c", (n,), "float32", None, True),
        int_argument("n", n),
    )


def last_block_writes() -> dict[int, int]:
    """Return the element of c that each thread of the last block writes, by thread."""
    blocks = -(-ELEMENTS // BLOCK_THREADS)
    launch = Launch("vector_add", (blocks, 1, 1), (BLOCK_THREADS, 1, 1), vector_arguments(ELEMENTS))
    touched = thread_accesses(run_traced(solution("vector-add"), launch))
    last = (blocks - 1, 0, 0)
    return {t.thread[0]: t.number for t in touched if t.variable == "c" and t.block == last}


def draw_last_block() -> Figure:
    """Draw one cell for each thread and one row for each warp, with the warp's first element."""
    figure, ((axes,),) = sheet(1, 1, 1.75)
    elements = last_block_writes()
    idle = frozenset(divmod(t, WARP) for t in range(BLOCK_THREADS) if t not in elements)
    fills = {divmod(t, WARP): BLUE for t in elements}
    cells(axes, BLOCK_THREADS // WARP, WARP, fills, {}, hatched=idle)
    for warp in range(BLOCK_THREADS // WARP):
        axes.text(-0.3, warp + 0.5, f"warp {warp}", ha="right", va="center", fontsize=8)
        first = elements[warp * WARP]
        axes.text(WARP + 0.3, warp + 0.5, f"c[{first}] on", ha="left", va="center", fontsize=8)
    axes.set_xlim(-3.6, WARP + 4.6)
    titled(
        axes,
        f"block 3 of n = {ELEMENTS}: {len(elements)} threads have an element,"
        f" {len(idle)} (hatched) have none",
    )
    return figure


PRODUCTS_ALT = (
    "A picture of 16 x 7 elements, in each the number of elements of the picture that its "
    "thread reads: 9 in the corners, 12 and 15 along the edges, 25 where the whole mask fits "
    "inside."
)
PICTURE_WIDTH, PICTURE_HEIGHT = 16, 7
READ_COLORS = {
    9: "#C6E2F5",
    12: "#D5EAF8",
    15: "#E1F0FA",
    16: "#E6F3FB",
    20: "#F0F8FD",
    25: "#FFFFFF",
}


def picture_reads() -> Counter[tuple[int, int]]:
    """Count each thread's reads of the picture, by the row and column of its element."""
    picture = numbers(PICTURE_HEIGHT, PICTURE_WIDTH)
    args = (
        Array("in", picture.shape, "float32", picture),
        Array("out", picture.shape, "float32", None, True),
        int_argument("width", PICTURE_WIDTH),
        int_argument("height", PICTURE_HEIGHT),
    )
    mask = {"mask": np.ones((5, 5), np.float32)}
    launch = Launch("convolve", (1, 1, 1), (32, 8, 1), args, globals=mask)
    touched = thread_accesses(run_traced(solution("constant-convolution"), launch))
    return Counter((t.thread[1], t.thread[0]) for t in touched if t.variable == "in")


def draw_products() -> Figure:
    """Draw one cell for each element, with its count."""
    figure, ((axes,),) = sheet(1, 1, 3.4)
    counted = picture_reads()
    fills = {at: READ_COLORS[n] for at, n in counted.items()}
    cells(
        axes,
        PICTURE_HEIGHT,
        PICTURE_WIDTH,
        fills,
        {at: str(n) for at, n in counted.items()},
        size=8,
    )
    total = sum(counted.values())
    size, most = f"{PICTURE_WIDTH} x {PICTURE_HEIGHT}", 25 * PICTURE_WIDTH * PICTURE_HEIGHT
    titled(axes, f"{size}, mask 5 x 5: {total:,} of {most:,} products")
    return figure
