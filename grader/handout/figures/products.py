"""How many of the 25 products count for each element of a small picture."""

from __future__ import annotations

from collections import Counter

import numpy as np

from grader.explain.touches import touches
from grader.handout.canvas import Figure, cells, sheet, titled
from grader.handout.kernels import numbers, ran, solution, whole
from grader.launch import Array, Launch

ALT = (
    "A picture of 16 x 7 elements, in each the number of elements of the picture that its "
    "thread reads: 9 in the corners, 12 and 15 along the edges, 25 where the whole mask fits "
    "inside."
)
WIDTH, HEIGHT = 16, 7
SHADES = {9: "#C6E2F5", 12: "#D5EAF8", 15: "#E1F0FA", 16: "#E6F3FB", 20: "#F0F8FD", 25: "#FFFFFF"}


def reads() -> Counter[tuple[int, int]]:
    """Reads of the picture by each thread, by the row and column of its element."""
    picture = numbers(HEIGHT, WIDTH)
    args = (
        Array("in", picture.shape, "float32", picture),
        Array("out", picture.shape, "float32", None, True),
        whole("width", WIDTH),
        whole("height", HEIGHT),
    )
    mask = {"mask": np.ones((5, 5), np.float32)}
    launch = Launch("convolve", (1, 1, 1), (32, 8, 1), args, globals=mask)
    seen = touches(ran(solution("constant-convolution"), launch))
    return Counter((t.thread[1], t.thread[0]) for t in seen if t.variable == "in")


def draw() -> Figure:
    """One cell an element, with its count."""
    figure, ((axes,),) = sheet(1, 1, 3.4)
    counted = reads()
    fills = {at: SHADES[n] for at, n in counted.items()}
    cells(axes, HEIGHT, WIDTH, fills, {at: str(n) for at, n in counted.items()}, size=8)
    total = sum(counted.values())
    titled(axes, f"{WIDTH} x {HEIGHT}, mask 5 x 5: {total:,} of {25 * WIDTH * HEIGHT:,} products")
    return figure
