"""Fresh inputs for every timed launch, made from the launch's own by moving pieces of them.

A kernel that remembers what it computed must not profit by it, so no two timed launches see the
same inputs. Writing new ones from the host would take longer than the launch; instead the GPU
copies pieces of the base to other places, and the parent, which verifies, does the same in NumPy.
What a piece is keeps what the values promise:

- An array of two or more axes moves by rows (its last axis), each to a row of its own parity.
  Every value stays in its column, so the factors of `labs.tolerance.whole_factors`, whose even and
  odd positions differ, keep a product that float32 holds exactly.
- An array of one axis is drawn anew: pieces of it from random places, some twice, some never. A
  histogram of the result is another one; a mere permutation's would not be.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.program import Kernel
from grader.launch import Array, Finding, Launch

# A kernel's buffers with guard bands around them, and what their bytes tell after a launch.
#
# Every buffer lies between two bands of GUARD bytes. One that starts uninitialised is poisoned with
# another byte in each of two launches, so that a byte which holds both times what it was poisoned
# with was never written: any value a kernel stores is a different one from at least one of them.

GUARD = 4096
"""Bytes on either side of a buffer; a multiple of every alignment that CUDA asks for."""

GUARD_BYTES = (0xC3, 0x3D, 0xA9, 0x57, 0xE1, 0x1B, 0x95, 0x6F)
"""Of the first argument, the second, ...: what a kernel copies from behind one buffer to behind
another changes the latter's band."""

POISONS = (0xFF, 0x7F)
"""Of the first and the second launch: NaN or huge as any floating-point type."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class BufferContents:
    """What two launches left in one argument: the array after the second one, where it was never
    written (None for one that started with contents), and whether the launches agree.
    """

    value: NDArray[Any]
    unwritten: NDArray[np.bool_] | None
    repeats: bool


def guard_byte(index: int) -> int:
    """What the bands of the argument `index` hold."""
    return GUARD_BYTES[index % len(GUARD_BYTES)]


def with_guard_bands(index: int, array: Array, poison: int) -> Bytes:
    """The bytes of the buffer of argument `index` before a launch, its bands included."""
    held = np.full(2 * GUARD + array.nbytes, guard_byte(index), np.uint8)
    inside = held[GUARD : GUARD + array.nbytes]
    if array.data is None:
        inside[:] = poison
    else:
        inside[:] = np.ascontiguousarray(array.data, array.dtype).reshape(-1).view(np.uint8)
    return held


def without_guard_bands(held: Bytes) -> Bytes:
    return held[GUARD : held.size - GUARD]


def read_buffer(array: Array, after: Sequence[Bytes]) -> BufferContents:
    """What the launches, one with each of POISONS, left in `array`."""
    first, second = (without_guard_bands(held) for held in after)
    # a copy: each element of the array at its natural alignment
    value = second.copy().view(array.dtype).reshape(array.shape)
    if array.data is not None:
        return BufferContents(value, None, bool(np.array_equal(first, second)))
    blank = (first == POISONS[0]) & (second == POISONS[1])
    repeats = bool(np.array_equal(first[~blank], second[~blank]))
    item = np.dtype(array.dtype).itemsize
    holes = blank.reshape(-1, item).any(axis=1).reshape(array.shape)
    return BufferContents(value, holes, repeats)


def illegal_writes(
    launch: Launch, kernel: Kernel, after: Sequence[Sequence[Bytes]]
) -> list[Finding]:
    """Writes beside a buffer, and into one that the kernel's parameter says is const.

    `after` has for each launch the bytes of each array argument, bands included.
    """
    found: dict[tuple[str, str], Finding] = {}
    arrays = [(k, a) for k, a in enumerate(launch.args) if isinstance(a, Array)]
    for held in after:
        for (index, array), bytes_after in zip(arrays, held, strict=True):
            name = kernel.parameters[index].name or array.name
            for what, finding in guard_band_findings(index, replace(array, name=name), bytes_after):
                found.setdefault((name, what), finding)
            if kernel.parameters[index].type.startswith("const") and _input_changed(
                array, bytes_after
            ):
                found.setdefault((name, "const"), _const_written(name))
    return list(found.values())


def guard_band_findings(index: int, array: Array, held: Bytes) -> list[tuple[str, Finding]]:
    """What a band of `array`, argument `index`, shows: ("start" or "end", the finding).

    Elements with a changed byte count: a store seldom changes all bytes of what it hits.
    """
    item = np.dtype(array.dtype).itemsize
    whole = GUARD // item * item
    bands = held[GUARD - whole : GUARD], held[held.size - GUARD :][:whole]
    changed = [(b.reshape(-1, item) != guard_byte(index)).any(axis=1) for b in bands]
    before, behind = (np.flatnonzero(c) for c in changed)
    found = []
    if before.size:
        distance = whole - int(before[-1]) * item
        found.append(("start", _out_of_bounds_finding(array, before.size, distance, "before")))
    if behind.size:
        found.append(
            (
                "end",
                _out_of_bounds_finding(
                    array, behind.size, int(behind[0]) * item, "past the end of"
                ),
            )
        )
    return found


def _out_of_bounds_finding(array: Array, count: int, distance: int, where: str) -> Finding:
    shape = " x ".join(map(str, array.shape)) or "1"
    nearest = f"{distance} byte{'s' * (distance != 1)} {where}" if distance else f"just {where}"
    return Finding(
        "invalid-access",
        "error",
        f"write out of bounds: {count} element{'s' * (count != 1)} beside {array.name} ({shape} "
        f"{array.dtype}) changed, the nearest {nearest} it",
        count=count,
        space="global",
        access="write",
        variable=array.name,
        hint="guard the store: let only threads whose index is inside the array write",
    )


def _input_changed(array: Array, held: Bytes) -> bool:
    return array.data is not None and not np.array_equal(
        without_guard_bands(held), without_guard_bands(with_guard_bands(0, array, 0))
    )


def _const_written(name: str) -> Finding:
    return Finding(
        "invalid-access",
        "error",
        f"the kernel changed its input {name}, which its parameter says is const",
        space="global",
        access="write",
        variable=name,
        hint="write results to the output only, and cast no const away",
    )


MIN_ROWS = 4
PIECE_ELEMENTS = 256
MIN_PIECES = 64
CHUNK_ELEMENTS = 1 << 16
"""Elements that are moved at once."""


@dataclass(frozen=True)
class Moves:
    """Element `i` of the fresh array is the base's element starts[i // length] + i % length."""

    starts: NDArray[np.uint32]
    length: int


def draw_moves(shape: tuple[int, ...], seed: bytes, launch: int, argument: str) -> Moves:
    """How the array `argument` of that shape is made fresh for the timed launch of that number.

    The seed with HMAC-SHA256 over number and name decides; baseline and submission have numbers
    of their own.
    """
    digest = hmac.new(seed, f"timed\0{launch}\0{argument}".encode(), hashlib.sha256).digest()
    draw = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
    size, rows = prod(shape), prod(shape[:-1])
    if len(shape) > 1 and rows >= MIN_ROWS and size:
        return _draw_row_moves(rows, size // rows, draw)
    length = min(PIECE_ELEMENTS, max(size // MIN_PIECES, 1))
    starts = draw.integers(0, max(size - length, 0) + 1, -(-size // length))  # none when empty
    return Moves(starts.astype(np.uint32), length)


def _draw_row_moves(rows: int, length: int, draw: np.random.Generator) -> Moves:
    order = np.arange(rows, dtype=np.uint32)
    for parity in (0, 1):
        order[parity::2] = draw.permutation(order[parity::2])
    return Moves(order * np.uint32(length), length)


def new_input(base: NDArray[Any], moved: Moves) -> NDArray[Any]:
    """The array that the GPU makes of `base`, in its shape."""
    flat = np.ascontiguousarray(base).reshape(-1)
    if not flat.size:
        return base.copy()
    whole = flat.size // moved.length
    pieces = np.lib.stride_tricks.sliding_window_view(flat, moved.length)
    made = np.empty_like(flat)
    to = made[: whole * moved.length].reshape(whole, moved.length)
    step = max(CHUNK_ELEMENTS // moved.length, 1)
    for row in range(0, whole, step):  # each band is a copy that stays in the cache
        to[row : row + step] = pieces[moved.starts[row : min(row + step, whole)]]
    for start in moved.starts[whole:]:
        rest = flat.size - whole * moved.length
        made[whole * moved.length :] = flat[start : start + rest]
    return made.reshape(base.shape)
