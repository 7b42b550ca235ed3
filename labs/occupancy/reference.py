"""y[i] = the sum of (x[i + j] * (j + 1)) over j from 0 to 15, minus the window's largest value."""

import numpy as np

from grader.lab import Expected
from grader.tolerance import SMALLEST_NORMAL, gamma

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
