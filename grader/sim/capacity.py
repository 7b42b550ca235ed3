"""Launches that are legal on a GPU but too large to simulate."""

from __future__ import annotations

import re
from math import prod

from grader.launch import Array, Finding, Launch
from grader.refusal import refused

MAX_BLOCKS = 1 << 24
MAX_BYTES = 1 << 30
MAX_STATIC = 32 << 20
"""Bytes of a program's __device__ and __constant__ variables: what a submission alone decides."""

_STATIC = re.compile(
    r"^[ \t]*(?:\.(?:visible|weak|common)\s+)*\.(?:global|const)\s[^=;\[]*?"
    r"\.[a-z]+(\d+)\s+[$%\w]+\[(\d+)\]",
    re.MULTILINE,
)


def too_large(launch: Launch) -> Finding | None:
    """Why this launch is not simulated; None when it can be."""
    if prod(launch.grid) > MAX_BLOCKS:
        return refused(
            f"{prod(launch.grid)} blocks: legal on a GPU, too many to simulate",
            f"launch at most {MAX_BLOCKS} blocks here, or run on a GPU",
        )
    size = sum(a.nbytes for a in launch.args if isinstance(a, Array))
    if size > MAX_BYTES:
        return refused(
            f"{size >> 20} MiB of arrays: too much to simulate",
            f"launch with at most {MAX_BYTES >> 20} MiB here, or run on a GPU",
        )
    return None


def static_bytes(ptx: str) -> int:
    """How many bytes the arrays of a PTX module take: its __device__ and __constant__ variables."""
    return sum(int(bits) // 8 * int(count) for bits, count in _STATIC.findall(ptx))


def too_much_static(ptx: str) -> Finding | None:
    """Why a program is not simulated for its variables' sake; None when it can be."""
    size = static_bytes(ptx)
    if size <= MAX_STATIC:
        return None
    return refused(
        f"{size >> 20} MiB of __device__ variables: too much to simulate",
        f"declare at most {MAX_STATIC >> 20} MiB, or let the host allocate it",
    )
