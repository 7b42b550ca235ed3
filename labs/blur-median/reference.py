"""The median of every pixel's 3 x 3 neighbourhood; beyond the edge the nearest pixel counts."""

import numpy as np

from grader.lab import Expected


def inputs(dims, rng, kind):
    width, height = dims["width"], dims["height"]
    if kind == "ramp":
        # Every pixel differs from its neighbours, whichever way one looks.
        picture = (7 * np.arange(width)[None, :] + 31 * np.arange(height)[:, None]) % 256
    else:
        picture = rng.integers(0, 256, (height, width))
    return {"in": picture.astype(np.uint8)}


def expected(dims, inputs):
    wide = np.pad(inputs["in"], 1, mode="edge")
    height, width = inputs["in"].shape
    shifted = [wide[y : y + height, x : x + width] for y in range(3) for x in range(3)]
    value = np.median(np.stack(shifted), axis=0).astype(np.float64)
    return {"out": Expected(value, np.zeros(value.shape))}


def verify(dims, inputs, outputs, rng):
    """Exact: the median of nine is that of the largest low, the middle median and the smallest
    high of the three columns, each sorted."""
    wide = np.pad(inputs["in"], 1, mode="edge")
    low, middle, high = sorted_three(wide[:-2], wide[1:-1], wide[2:])
    lows = np.maximum(np.maximum(low[:, :-2], low[:, 1:-1]), low[:, 2:])
    highs = np.minimum(np.minimum(high[:, :-2], high[:, 1:-1]), high[:, 2:])
    middles = sorted_three(middle[:, :-2], middle[:, 1:-1], middle[:, 2:])[1]
    wrong = outputs["out"] != sorted_three(lows, middles, highs)[1]
    return f"{np.count_nonzero(wrong)} pixels of {wrong.size} are wrong" if wrong.any() else ""


def sorted_three(a, b, c):
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.minimum(low, c), np.maximum(low, np.minimum(high, c)), np.maximum(high, c)
