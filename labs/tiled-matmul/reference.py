"""C = A B for float32 matrices of n x n."""

import numpy as np

from grader.labs.tolerance import expected_product, product_differs, whole_factors


def inputs(dims, rng, kind):
    n = dims["n"]
    if kind == "integer":
        a, b = whole_factors(n, n, n, rng)
    else:
        a = rng.uniform(-1, 1, (n, n)).astype(np.float32)
        b = rng.uniform(-1, 1, (n, n)).astype(np.float32)
    return {"A": a, "B": b}


def expected(dims, inputs):
    return {"C": expected_product(inputs["A"], inputs["B"])}


def verify(dims, inputs, outputs, rng):
    return product_differs(inputs["A"], inputs["B"], outputs["C"], rng)
