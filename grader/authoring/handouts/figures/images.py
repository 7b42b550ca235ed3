"""Figures of image filters.

- `halo`: the 18 x 18 tile of the median filter, and which thread loads which of its 324 bytes.
- `products`: how many of the 25 products of a convolution count for each element of a picture.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from grader.authoring.handouts.figures import (
    BLUE,
    GREEN,
    ORANGE,
    Axes,
    Figure,
    cells,
    sheet,
    titled,
)
from grader.authoring.handouts.runs import int_argument, numbers, run_traced, solution
from grader.launch import Array, Launch
from grader.reports.explain.accesses import ThreadAccess, thread_accesses

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
