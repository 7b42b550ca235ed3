"""Launches that are legal on a GPU but too large to simulate."""

from __future__ import annotations

from math import prod

import numpy as np

from grader.launch import Array, Finding, Launch

MAX_BLOCKS = 1 << 24
MAX_BYTES = 1 << 30


def too_large(launch: Launch) -> Finding | None:
    """Why this launch is not simulated; None when it can be."""
    if prod(launch.grid) > MAX_BLOCKS:
        return _refused(
            f"{prod(launch.grid)} blocks: legal on a GPU, too many to simulate",
            f"launch at most {MAX_BLOCKS} blocks here, or run on a GPU",
        )
    size = sum(
        prod(a.shape) * np.dtype(a.dtype).itemsize for a in launch.args if isinstance(a, Array)
    )
    if size > MAX_BYTES:
        return _refused(
            f"{size >> 20} MiB of arrays: too much to simulate",
            f"launch with at most {MAX_BYTES >> 20} MiB here, or run on a GPU",
        )
    return None


def _refused(what: str, hint: str) -> Finding:
    return Finding("launch-failure", "error", f"the launch is refused: {what}", hint=hint)
