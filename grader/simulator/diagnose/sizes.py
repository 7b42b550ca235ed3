"""Hints that depend on the launch: tiles of another size than the block, signed parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from grader.compile.program import Parameter
from grader.launch import Array, Dim3, Launch

_UNSIGNED = {"uint8": "unsigned char", "uint16": "unsigned short"}
_SIGNED = {"uint8": frozenset({"char", "int8_t"}), "uint16": frozenset({"short", "int16_t"})}
"""The words of signed C types that have the size of an unsigned dtype."""


def tile_size_hint(name: str, dims: tuple[int, ...], block: Dim3) -> str:
    """The fix for a shared array whose size does not match the block.

    Args:
        name: the array's name.
        dims: its extents in elements, slowest first.
        block: the block's extents in threads, x first.

    Returns a text for an array that is smaller than the block in every dimension, or larger by the
    same integer factor in every dimension. Otherwise empty: an array or block of one dimension, or
    a tile with a halo or padding, says nothing about a mistake.
    """
    threads = tuple(reversed(block))[-len(dims) :]
    if len(dims) not in (2, 3) or min(threads) < 2:
        return ""
    smaller = all(d < t for d, t in zip(dims, threads, strict=True))
    factors = {d / t for d, t in zip(dims, threads, strict=True)}
    larger = len(factors) == 1 and all(k > 1 and k == int(k) for k in factors)
    if not smaller and not larger:
        return ""
    sizes = f"`{name}` has {_by(dims)} elements, but the block has {_by(threads)} threads."
    alternative = "" if smaller else ", or let each thread fill several elements"
    return f"{sizes} Give the tile the size of the block{alternative}."


def signed_parameter_hint(parameters: Iterable[Parameter], launch: Launch) -> str:
    """The fix for a parameter whose signed type reads elements of this launch as negative numbers.

    Returns an empty text when there is no such parameter.
    """
    for parameter, array in zip(parameters, launch.args, strict=False):
        if not isinstance(array, Array) or array.data is None or array.dtype not in _UNSIGNED:
            continue
        words = set(re.findall(r"\w+", parameter.type))
        half = int(np.iinfo(array.dtype).max) // 2 + 1
        if words & _SIGNED[array.dtype] and "unsigned" not in words and np.any(array.data >= half):
            return (
                f"`{parameter.name}` has the signed type `{parameter.type}` but holds "
                f"{array.dtype} values: elements of {half} and above are read as negative numbers. "
                f"Declare it with `{_UNSIGNED[array.dtype]}`."
            )
    return ""


def _by(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
