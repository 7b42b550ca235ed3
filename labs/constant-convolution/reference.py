"""out[y][x] = the sum of mask[j][i] * in[y + j - 2][x + i - 2]; beyond the edge `in` is zero."""

import numpy as np

from grader.labs.model import Expected
from grader.labs.tolerance import SMALLEST_NORMAL, gamma

RADIUS = 2
SIDE = 2 * RADIUS + 1


def inputs(dims, rng, kind):
    width, height = dims["width"], dims["height"]
    if kind == "integer":
        # Odd numbers up to 4097 need 13 bits, more than float16 has; sums stay below 2**24.
        picture = 2 * rng.integers(1024, 2049, (height, width)) + 1
        mask = rng.integers(-3, 4, (SIDE, SIDE))
    else:
        picture = rng.uniform(-1, 1, (height, width))
        mask = rng.uniform(-1, 1, (SIDE, SIDE))
    return {"in": picture.astype(np.float32), "mask": mask.astype(np.float32)}


def expected(dims, inputs):
    picture, mask = inputs["in"].astype(np.float64), inputs["mask"].astype(np.float64)
    value, magnitude = convolved(picture, mask), convolved(np.abs(picture), np.abs(mask))
    if np.all(value == np.rint(value)):
        return {"out": Expected(value, np.zeros_like(value))}
    terms = SIDE * SIDE
    return {"out": Expected(value, gamma(terms + 2) * magnitude + terms * SMALLEST_NORMAL)}


def convolved(picture, mask):
    height, width = picture.shape
    wide = np.pad(picture, RADIUS)
    total = np.zeros_like(picture)
    for j in range(SIDE):
        for i in range(SIDE):
            total += mask[j, i] * wide[j : j + height, i : i + width]
    return total
