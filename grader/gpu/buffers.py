"""Kernel buffers on the GPU: guard bands, poison, and new inputs for each timed launch.

**Guard bands and poison.** Every buffer lies between two bands of GUARD bytes. An uninitialized
buffer is filled with a different byte in each of two launches. A byte that keeps its poison in both
launches was never written: any value that a kernel stores differs from at least one poison.

**New inputs.** No two timed launches get the same inputs, so a result kept from an earlier launch
is wrong. Copying new inputs from the host would take longer than the launch. Instead the GPU moves
pieces of the base input to other places, and the parent repeats this in NumPy to verify the output.
The moves preserve what the values guarantee:

- An array of two or more axes moves by rows (its last axis), each to a row of the same parity.
  Every value stays in its column, so the factors of `labs.tolerance.whole_factors`, whose even and
  odd positions differ, keep a product that float32 holds exactly.
- An array of one axis gets pieces from random places, some twice, some never. Its histogram
  changes, which a permutation would not achieve.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, replace
from grader.compile.program import Kernel, Parameter
from grader.launch import Array, Finding, Launch

GUARD = 4096
"""Bytes of each guard band; a multiple of every alignment that CUDA requires."""

GUARD_BYTES = (0xC3, 0x3D, 0xA9, 0x57, 0xE1, 0x1B, 0x95, 0x6F)
"""The guard bytes of the first argument, the second, ... They differ, so that copying one band onto
another is detected."""

POISONS = (0xFF, 0x7F)
"""The poison of the first and the second launch: NaN or huge in any floating-point type."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class BufferContents:
    """What two launches left in one argument.

    Attributes:
        value: the array after the second launch.
        unwritten: True where neither launch wrote; None for a buffer that started with contents.
        repeats: whether both launches left the same values.
    """

    value: NDArray[Any]
    unwritten: NDArray[np.bool_] | None
    repeats: bool


def guard_byte(index: int) -> int:
    """Return the byte that fills the bands of argument `index`."""
    return GUARD_BYTES[index % len(GUARD_BYTES)]


def with_guard_bands(index: int, array: Array, poison: int) -> Bytes:
    """Return the bytes of argument `index` before a launch, including the bands."""
    held = np.full(2 * GUARD + array.nbytes, guard_byte(index), np.uint8)
    inside = held[GUARD : GUARD + array.nbytes]
    if array.data is None:
        inside[:] = poison
    else:
        inside[:] = np.ascontiguousarray(array.data, array.dtype).reshape(-1).view(np.uint8)
        inside[array.undefined_bytes()] = poison
    return held


def without_guard_bands(held: Bytes) -> Bytes:
    """Return a view of a buffer's bytes between its bands."""
    return held[GUARD : held.size - GUARD]


def read_buffer(array: Array, after: Sequence[Bytes]) -> BufferContents:
    """Read what the launches, one with each of POISONS, left in `array`."""
    first, second = (without_guard_bands(held) for held in after)
    # a copy: each element of the array at its natural alignment
    value = second.copy().view(array.dtype).reshape(array.shape)
    if array.data is not None and array.initialized is None:
        return BufferContents(value, None, bool(np.array_equal(first, second)))
    blank = (first == POISONS[0]) & (second == POISONS[1]) & array.undefined_bytes()
    repeats = bool(np.array_equal(first[~blank], second[~blank]))
    item = np.dtype(array.dtype).itemsize
    holes = blank.reshape(-1, item).any(axis=1).reshape(array.shape)
    return BufferContents(value, holes, repeats)


def illegal_writes(
    launch: Launch, kernel: Kernel, after: Sequence[Sequence[Bytes]]
) -> list[Finding]:
    """Report writes outside a buffer and writes into a const one.

    Args:
        launch: the launch.
        kernel: its kernel.
        after: for each launch, the bytes of each array argument, including the bands.
    """
    found: dict[tuple[str, str], Finding] = {}
    arrays = [(k, a) for k, a in enumerate(launch.args) if isinstance(a, Array)]
    for held in after:
        for (index, array), bytes_after in zip(arrays, held, strict=True):
            is_parameter = index < len(kernel.parameters)  # else a structure points to it
            parameter = kernel.parameters[index] if is_parameter else Parameter("", "", 0)
            name = parameter.name or array.name
            for what, finding in guard_band_findings(index, replace(array, name=name), bytes_after):
                found.setdefault((name, what), finding)
            if parameter.type.startswith("const") and _input_changed(array, bytes_after):
                found.setdefault((name, "const"), _const_written(name))
    return list(found.values())


def guard_band_findings(index: int, array: Array, held: Bytes) -> list[tuple[str, Finding]]:
    """Report changed guard bands of `array`, argument `index`.

    An element counts as written when any of its bytes changed.

    Returns:
        ("start" or "end", finding) for each changed band.
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
    nearest = f"{distance} byte{'s' * (distance != 1)} {where}" if distance else f"directly {where}"
    return Finding(
        "invalid-access",
        "error",
        f"write out of bounds: {count} element{'s' * (count != 1)} next to {array.name} ({shape} "
        f"{array.dtype}) changed, the nearest {nearest} it",
        count=count,
        space="global",
        access="write",
        variable=array.name,
        hint="guard the store: only threads whose index is inside the array may write",
    )


def _input_changed(array: Array, held: Bytes) -> bool:
    before = without_guard_bands(with_guard_bands(0, array, 0))
    changed = without_guard_bands(held) != before
    return array.data is not None and bool((changed & ~array.undefined_bytes()).any())


def _const_written(name: str) -> Finding:
    return Finding(
        "invalid-access",
        "error",
        f"the kernel changed its input {name}, although its parameter is const",
        space="global",
        access="write",
        variable=name,
        hint="write results to the output only, and do not cast away const",
    )


MIN_ROWS = 4
PIECE_ELEMENTS = 256
MIN_PIECES = 64
CHUNK_ELEMENTS = 1 << 16
"""Elements that NumPy moves at once, so that a copy stays in the CPU's cache."""


@dataclass(frozen=True)
class Moves:
    """Element `i` of the new array is the base's element starts[i // length] + i % length."""

    starts: NDArray[np.uint32]
    length: int


def draw_moves(shape: tuple[int, ...], seed: bytes, launch: int, argument: str) -> Moves:
    """Draw the moves that make a new input for one timed launch.

    HMAC-SHA256 of the seed over number and name determines them.

    Args:
        shape: the array's shape.
        seed: the measurement's secret seed.
        launch: the launch's number; baseline and submission have different numbers.
        argument: the array's name.
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
    """Return the array that the GPU makes from `base`, in the same shape."""
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
