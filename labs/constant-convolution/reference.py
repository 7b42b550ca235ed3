"""out[y][x] = the sum of mask[j][i] * in[y + j - 2][x + i - 2], zero beyond the edge."""

import numpy as np

from grader.lab import Expected
from grader.tolerance import SMALLEST_NORMAL, gamma

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


def verify(dims, inputs, outputs, rng):
    """For whole numbers, whose sums stay below 2**24. Every row's sum of out[y][x] * r[x] is compared
    for a random r of whole numbers: that is the same sum over the picture with a row of the mask
    folded into r, so it takes a pass over each instead of 25. Float64 rounds nothing of it."""
    picture, mask, out = inputs["in"], inputs["mask"].astype(np.float64), outputs["out"]
    if not np.all(np.abs(out) <= 2**24):
        return "an element is NaN or larger than any that is due"
    height, width = picture.shape
    weights = rng.integers(1, 2**16, width).astype(np.float64)
    wide = np.pad(weights, RADIUS)
    shifted = np.stack([wide[2 * RADIUS - i :][:width] for i in range(SIDE)])
    folded = in_float64(picture, (mask @ shifted).T)
    tall = np.pad(folded, ((RADIUS, RADIUS), (0, 0)))
    due = sum(tall[j : j + height, j] for j in range(SIDE))
    wrong = np.flatnonzero(in_float64(out, weights) != due)
    return f"{wrong.size} of {height} rows are wrong, the first is {wrong[0]}" if wrong.size else ""


def in_float64(matrix, factor):
    """matrix @ factor, a band of rows at a time to stay in the cache."""
    band = max((1 << 18) // matrix.shape[1], 1)
    parts = [matrix[y : y + band].astype(np.float64) for y in range(0, len(matrix), band)]
    return np.concatenate([part @ factor for part in parts])
