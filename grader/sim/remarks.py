"""What a launch tells of a mistake that the place of an access does not show: a tile of another
size than the block, elements that a signed type reads as negative numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from grader.compile.program import Parameter
from grader.launch import Array, Dim3, Launch

_UNSIGNED = {"uint8": "unsigned char", "uint16": "unsigned short"}
_SIGNED = {"uint8": frozenset({"char", "int8_t"}), "uint16": frozenset({"short", "int16_t"})}
"""The words of C types that have as many bytes as an unsigned dtype, and a sign."""


def beside_the_block(name: str, dims: tuple[int, ...], block: Dim3) -> str:
    """What is odd about a shared array of `dims` elements in a block of `block` threads: it is
    smaller every way, or the same number of times as large every way. Empty where nothing is: of
    an array or a block with one extent, a tile with a halo or with padding."""
    threads = tuple(reversed(block))[-len(dims) :]
    if len(dims) not in (2, 3) or min(threads) < 2:
        return ""
    smaller = all(d < t for d, t in zip(dims, threads, strict=True))
    times = {d / t for d, t in zip(dims, threads, strict=True)}
    larger = len(times) == 1 and all(k > 1 and k == int(k) for k in times)
    if not smaller and not larger:
        return ""
    said = f"`{name}` has {_by(dims)} elements, the block {_by(threads)} threads: "
    more = "" if smaller else ", or let each thread fill several elements"
    return f"{said}give the tile the block's size{more}"


def negative_elements(parameters: Iterable[Parameter], launch: Launch) -> str:
    """Which parameter's type reads elements of this launch as negative numbers that are none; empty
    where none does."""
    for own, array in zip(parameters, launch.args, strict=False):
        if not isinstance(array, Array) or array.data is None or array.dtype not in _UNSIGNED:
            continue
        words = set(re.findall(r"\w+", own.type))
        half = int(np.iinfo(array.dtype).max) // 2 + 1
        if words & _SIGNED[array.dtype] and "unsigned" not in words and np.any(array.data >= half):
            return (
                f"`{own.name}` is `{own.type}`, which is signed, and holds {array.dtype}: elements "
                f"from {half} on are read as negative numbers; declare it with "
                f"`{_UNSIGNED[array.dtype]}`"
            )
    return ""


def _by(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
