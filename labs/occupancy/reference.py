"""y[i] = the sum of (j + 1) * x[i + j] for j from 0 to 15, minus the window's largest element."""

import numpy as np

from grader.labs.model import Expected
from grader.labs.tolerance import SMALLEST_NORMAL, gamma

WINDOW = 16


def inputs(dims, rng, kind):
    length = dims["n"] + WINDOW - 1
    if kind == "integer":
        # Odd numbers up to 4097 need 13 bits, more than float16 has; sums stay below 2**24.
        x = 2 * rng.integers(1024, 2049, length) + 1
    elif kind == "negative":
        x = rng.uniform(-2, -1, length)
    else:
        x = rng.uniform(-1, 1, length)
    return {"x": x.astype(np.float32)}


def expected(dims, inputs):
    windows = np.lib.stride_tricks.sliding_window_view(inputs["x"].astype(np.float64), WINDOW)
    weights = np.arange(1.0, WINDOW + 1)
    value = windows @ weights - windows.max(axis=1)
    if np.all(value == np.rint(value)):
        return {"y": Expected(value, np.zeros_like(value))}
    magnitude = np.abs(windows) @ weights + np.abs(windows).max(axis=1)
    return {"y": Expected(value, gamma(WINDOW + 3) * magnitude + WINDOW * SMALLEST_NORMAL)}


def verify(dims, inputs, outputs, rng):
    """Compare with the exact result; inputs are whole numbers, so float32 does not round.

    The work is done in bands of 2**16 elements, which fit into the cache.
    """
    x, y = inputs["x"], outputs["y"]
    band = 1 << 16
    for start in range(0, y.size, band):
        part = x[start : start + band + WINDOW - 1]
        wrong = np.flatnonzero(y[start : start + band] != windowed(part))
        if wrong.size:
            return f"element {start + wrong[0]} is {y[start + wrong[0]]:g}, which is wrong"
    return ""


def windowed(x):
    """Return y for x. A window of 16 elements is made of two windows of 8, and so on."""
    plain, weighted, largest, width = x, x, x, 1
    while width < WINDOW:
        second_half = plain[width:]
        weighted = weighted[:-width] + weighted[width:] + width * second_half
        plain = plain[:-width] + second_half
        largest = np.maximum(largest[:-width], largest[width:])
        width *= 2
    return weighted - largest
