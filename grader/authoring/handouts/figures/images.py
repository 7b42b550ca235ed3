"""Figures of image filters: the halo of a tile, and the products at the edges."""

from __future__ import annotations

from collections import Counter

import numpy as np

from grader.authoring.handouts.canvas import BLUE, GREEN, ORANGE, Axes, Figure, cells, sheet, titled
from grader.authoring.handouts.runs import numbers, ran, solution, whole
from grader.launch import Array, Launch
from grader.reports.explain.accesses import Touch, touches

# The tile of the median filter: which thread of the corner block loads which of its 324 bytes.

HALO_ALT = (
    "Two pictures of the 18 x 18 tile of a block of 16 x 16 threads, one cell a byte. Block "
    "(1,1): the first 256 bytes, row by row, are loaded in the first round, one a thread; the "
    "other 68, from row 14 column 4 on, in the second. Block (0,0): the same, and the bytes in "
    "row 0 and column 0 hold a copy of the nearest pixel of the picture, because they lie "
    "beyond its edge."
)
TILE, WIDE = 16, 18
WIDTH, HEIGHT = 48, 48


def trace() -> tuple[Touch, ...]:
    """What the four blocks in the upper left corner of a picture of 3 x 3 blocks touch."""
    picture = np.arange(WIDTH * HEIGHT, dtype=np.int64).astype(np.uint8).reshape(HEIGHT, WIDTH)
    args = (
        Array("in", picture.shape, "uint8", picture),
        Array("out", picture.shape, "uint8", None, True),
        whole("width", WIDTH),
        whole("height", HEIGHT),
    )
    launch = Launch("median", (2, 2, 1), (TILE, TILE, 1), args)
    return touches(ran(solution("blur-median"), launch))


def loads(seen: tuple[Touch, ...], block: tuple[int, int, int]) -> dict[int, tuple[int, int]]:
    """For each byte of a block's tile the thread that loads it, as a number, and the pixel."""
    own = [t for t in seen if t.block == block and t.phase == 0]
    read = [t for t in own if t.variable == "in"]
    written = [t for t in own if t.variable == "tile"]
    sources: dict[tuple[int, int, int], list[int]] = {}
    for touch in read:
        sources.setdefault(touch.thread, []).append(touch.number)
    out = {}
    for touch in written:
        x, y, _ = touch.thread
        out[touch.number] = y * TILE + x, sources[touch.thread].pop(0)
    return out


def draw_halo() -> Figure:
    """Two panels: a block in the middle of the picture, and the one in its corner."""
    figure, (row,) = sheet(1, 2, 3.75)
    seen = trace()
    for panel, block in zip(row, ((1, 1, 0), (0, 0, 0)), strict=True):
        _panel(panel, block, loads(seen, block))
    return figure


def _panel(axes: Axes, block: tuple[int, int, int], held: dict[int, tuple[int, int]]) -> None:
    fills, texts = {}, {}
    for byte, (thread, pixel) in held.items():
        at = divmod(byte, WIDE)
        y, x = divmod(pixel, WIDTH)
        inside = (y, x) == (block[1] * TILE + at[0] - 1, block[0] * TILE + at[1] - 1)
        fills[at] = ORANGE if byte != thread else BLUE
        if not inside:
            fills[at], texts[at] = GREEN, "c"
        elif byte != thread:
            texts[at] = "2"
    cells(axes, WIDE, WIDE, fills, texts, size=6.5)
    axes.plot([1, 17, 17, 1, 1], [1, 1, 17, 17, 1], color="black", linewidth=1.8)
    copies = sum(text == "c" for text in texts.values())
    second = sum(byte != thread for byte, (thread, _) in held.items())
    titled(axes, f"block ({block[0]},{block[1]}): {second} bytes in round 2, {copies} copies")


# How many of the 25 products count for each element of a small picture.

PRODUCTS_ALT = (
    "A picture of 16 x 7 elements, in each the number of elements of the picture that its "
    "thread reads: 9 in the corners, 12 and 15 along the edges, 25 where the whole mask fits "
    "inside."
)
PRODUCTS_WIDTH, PRODUCTS_HEIGHT = 16, 7
SHADES = {9: "#C6E2F5", 12: "#D5EAF8", 15: "#E1F0FA", 16: "#E6F3FB", 20: "#F0F8FD", 25: "#FFFFFF"}


def reads() -> Counter[tuple[int, int]]:
    """Reads of the picture by each thread, by the row and column of its element."""
    picture = numbers(PRODUCTS_HEIGHT, PRODUCTS_WIDTH)
    args = (
        Array("in", picture.shape, "float32", picture),
        Array("out", picture.shape, "float32", None, True),
        whole("width", PRODUCTS_WIDTH),
        whole("height", PRODUCTS_HEIGHT),
    )
    mask = {"mask": np.ones((5, 5), np.float32)}
    launch = Launch("convolve", (1, 1, 1), (32, 8, 1), args, globals=mask)
    seen = touches(ran(solution("constant-convolution"), launch))
    return Counter((t.thread[1], t.thread[0]) for t in seen if t.variable == "in")


def draw_products() -> Figure:
    """One cell an element, with its count."""
    figure, ((axes,),) = sheet(1, 1, 3.4)
    counted = reads()
    fills = {at: SHADES[n] for at, n in counted.items()}
    cells(
        axes,
        PRODUCTS_HEIGHT,
        PRODUCTS_WIDTH,
        fills,
        {at: str(n) for at, n in counted.items()},
        size=8,
    )
    total = sum(counted.values())
    titled(axes, f"{WIDTH} x {HEIGHT}, mask 5 x 5: {total:,} of {25 * WIDTH * HEIGHT:,} products")
    return figure
