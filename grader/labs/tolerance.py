"""Error bounds of correct float32 kernels, derived by rounding error analysis.

The theory is the standard error analysis of floating-point sums (Higham, "Accuracy and Stability
of Numerical Algorithms", chapter 3): a dot product of length k, summed in any order, with or
without fused multiply-add, is within gamma(k) * sum |a_i| |b_i| of the exact value, where
gamma(k) = k u / (1 - k u) and u = 2**-24 for float32. The bounds include two more roundings, one
for the reference's own last digit and one for a final scaling. Products that underflow lose at
most 2**-126 each on hardware that flushes subnormal numbers to zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.labs.model import Expected

UNIT_ROUNDOFF = 2.0**-24
SMALLEST_NORMAL = 2.0**-126
EXACT_LIMIT = 2.0**24
"""Float32 represents every whole number up to here exactly."""


def gamma(k: int) -> float:
    """Return the largest relative error of k float32 roundings."""
    return k * UNIT_ROUNDOFF / (1 - k * UNIT_ROUNDOFF)


def _is_whole(array: NDArray[np.float64]) -> bool:
    return bool(np.all(array == np.rint(array)))


def expected_product(a: NDArray[Any], b: NDArray[Any]) -> Expected:
    """Return the product of `a` (m x k) and `b` (k x n), both float32, and its bound (m x n).

    Inputs of whole numbers whose sums of magnitudes stay within 2**24 need no rounding in any
    order of summation: their bound is 0.
    """
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    k = a64.shape[1]
    value, magnitude = a64 @ b64, np.abs(a64) @ np.abs(b64)
    if _is_whole(a64) and _is_whole(b64) and float(magnitude.max()) <= EXACT_LIMIT:
        return Expected(value, np.zeros_like(value))
    return Expected(value, gamma(k + 2) * magnitude + k * SMALLEST_NORMAL)


def product_differs(
    a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], rng: np.random.Generator
) -> str:
    """Return how `c` (m x n) differs from the product of `a` (m x k) and `b` (k x n), or "".

    All are float32 arrays of whole numbers, for products that float32 represents exactly.

    Freivalds' check, O(m k + k n + m n): c r is compared with a (b r) for a random r of whole
    numbers below 2**16. All terms are whole numbers with sums below 2**53, so float64 does not
    round; a wrong c passes with probability 2**-16 at most.
    """
    weights = np.asarray(rng.integers(1, 2**16, b.shape[1]), np.float64)
    if not (c.min(initial=0) >= -EXACT_LIMIT and c.max(initial=0) <= EXACT_LIMIT):  # nor NaN
        return "an element is NaN or larger than any expected value"
    expected, actual = _times(a, _times(b, weights)), _times(c, weights)
    wrong = np.flatnonzero(expected != actual)
    if not wrong.size:
        return ""
    row = int(wrong[0])
    exact = a[row].astype(np.float64) @ b.astype(np.float64)
    column = int(np.argmax(exact != c[row]))
    what = f"element [{row}, {column}] is {c[row, column]:g}, expected {exact[column]:g}"
    return f"{wrong.size} of {len(actual)} rows are wrong, the first {what}"


def _times(matrix: NDArray[Any], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return matrix @ vector in float64, computed by bands of rows that fit the cache."""
    result = np.empty(len(matrix), dtype=np.float64)
    band = max((1 << 18) // max(matrix.shape[1], 1), 1)
    for row in range(0, len(matrix), band):
        part = matrix[row : row + band].astype(np.float64)
        result[row : row + band] = part @ vector
    return result


def expected_sum(a: NDArray[Any], b: NDArray[Any]) -> Expected:
    """Return the sum of two float32 arrays of one shape, and its bound.

    The bound is one rounding, and 0 where float32 represents the exact sum.
    """
    value = a.astype(np.float64) + b.astype(np.float64)
    exact = value.astype(np.float32).astype(np.float64) == value
    return Expected(value, np.where(exact, 0.0, UNIT_ROUNDOFF * np.abs(value)))


def whole_factors(
    m: int, n: int, k: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return whole-number A (m x k) and B (k x n) whose product float32 represents exactly.

    Odd numbers from 2049 to 4095, which float16 and TF32 cannot represent, are multiplied by -1
    or 1 only: in even positions of the sum they are in A, in odd ones in B. No partial sum exceeds
    4095 k, so k may be up to 4097.
    """
    large_in_a = np.arange(k) % 2 == 0
    a = np.where(large_in_a[None, :], _large(rng, (m, k)), _sign(rng, (m, k)))
    b = np.where(large_in_a[:, None], _sign(rng, (k, n)), _large(rng, (k, n)))
    return a.astype(np.float32), b.astype(np.float32)


def _large(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.int64]:
    return _sign(rng, shape) * (2 * rng.integers(1024, 2047, shape, endpoint=True) + 1)


def _sign(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.int64]:
    return 2 * rng.integers(0, 1, shape, endpoint=True) - 1
