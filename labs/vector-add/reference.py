"""c = a + b for float32 vectors of length n."""

import numpy as np

from grader.labs.tolerance import expected_sum


def inputs(dims, rng, kind):
    n = dims["n"]
    if kind == "integer":
        # Odd numbers from 2049 to 4097 need 12 or 13 bits: float16 and TF32 have 11.
        a = 2 * rng.integers(1024, 2049, n) + 1
        b = 2 * rng.integers(1024, 2049, n) + 1
    else:
        a, b = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    return {"a": a.astype(np.float32), "b": b.astype(np.float32)}


def expected(dims, inputs):
    return {"c": expected_sum(inputs["a"], inputs["b"])}
