"""Fresh inputs for every timed launch, made from the launch's own by moving pieces of them.

A kernel that remembers what it computed must not profit by it, so no two timed launches see the
same inputs. Writing new ones from the host would take longer than the launch; instead the GPU
copies pieces of the base to other places, and the parent, which verifies, does the same in NumPy.
What a piece is keeps what the values promise:

- An array of two or more axes moves by rows (its last axis), each to a row of its own parity.
  Every value stays in its column, so the factors of `grader.tolerance.whole_factors`, whose even
  and odd positions differ, keep a product that float32 holds exactly.
- An array of one axis is drawn anew: pieces of it from random places, some twice, some never. A
  histogram of the result is another one; a mere permutation's would not be.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_ROWS = 4
PIECE = 256
PIECES = 64
BAND = 1 << 16
"""Elements that are moved at once."""


@dataclass(frozen=True)
class Moves:
    """Element `i` of the fresh array is the base's element starts[i // length] + i % length."""

    starts: NDArray[np.uint32]
    length: int


def moves(shape: tuple[int, ...], seed: bytes, launch: int, argument: str) -> Moves:
    """How the array `argument` of that shape is made fresh for the timed launch of that number.

    The seed with HMAC-SHA256 over number and name decides; baseline and submission have numbers
    of their own."""
    digest = hmac.new(seed, f"timed\0{launch}\0{argument}".encode(), hashlib.sha256).digest()
    draw = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
    size, rows = prod(shape), prod(shape[:-1])
    if len(shape) > 1 and rows >= LEAST_ROWS and size:
        return _rows_moved(rows, size // rows, draw)
    length = min(PIECE, max(size // PIECES, 1))
    starts = draw.integers(0, max(size - length, 0) + 1, -(-size // length))  # none when empty
    return Moves(starts.astype(np.uint32), length)


def _rows_moved(rows: int, length: int, draw: np.random.Generator) -> Moves:
    order = np.arange(rows, dtype=np.uint32)
    for parity in (0, 1):
        order[parity::2] = draw.permutation(order[parity::2])
    return Moves(order * np.uint32(length), length)


def fresh(base: NDArray[Any], moved: Moves) -> NDArray[Any]:
    """The array that the GPU makes of `base`, in its shape."""
    flat = np.ascontiguousarray(base).reshape(-1)
    if not flat.size:
        return base.copy()
    whole = flat.size // moved.length
    pieces = np.lib.stride_tricks.sliding_window_view(flat, moved.length)
    made = np.empty_like(flat)
    to = made[: whole * moved.length].reshape(whole, moved.length)
    step = max(BAND // moved.length, 1)
    for row in range(0, whole, step):  # each band is a copy that stays in the cache
        to[row : row + step] = pieces[moved.starts[row : min(row + step, whole)]]
    for start in moved.starts[whole:]:
        rest = flat.size - whole * moved.length
        made[whole * moved.length :] = flat[start : start + rest]
    return made.reshape(base.shape)
