"""Launches that are legal on a GPU but too large to simulate."""

from __future__ import annotations

from math import prod

from grader.launch import Array, Finding, Launch
from grader.refusal import refused

MAX_BLOCKS = 1 << 24
MAX_BYTES = 1 << 30


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
