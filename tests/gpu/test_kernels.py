"""Kernels with known results on a GPU: clocks, copies, matrices, video instructions.

Outputs are compared bit for bit with those that the kernel's file states. Sums that are not exact
are compared with the simulator's within the bound of matrix.c.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.grading.run import build_for, run_all
from grader.launch import Array, Launch
from tests.cukernel import Case, all_cases, compiled

pytestmark = pytest.mark.gpu

FOLDER = Path(__file__).parents[1] / "correct"
FILES = ("clocks", "copies", "matrices", "video")
SIMULATED_ONLY = {"ordered"}
"""On an H200 nine threads in ten read a clock after a barrier that is not past all of those which
other warps read before it: hardware does not order the reads of different warps."""

CASES = [
    case
    for case in all_cases(FOLDER)
    if case.path.stem in FILES and case.kernel not in SIMULATED_ONLY
    if not (case.finds or case.marks)  # what an incorrect one computes is not known
]
INEXACT = [
    c
    for c in CASES
    if c.kernel in ("half_rows", "half_tall", "tensor_floats", "halves_16", "tiled")
]
LAST_PLACE = {"float32": 2.0**-23, "float16": 2.0**-10}


@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_gpu_computes_what_the_file_says(case: Case) -> None:
    (trace,) = run_all(build_for("gpu", compiled(case.path)), [case.launch], on="gpu")
    assert trace.ended
    case.check(trace)


@pytest.mark.parametrize("case", INEXACT, ids=map(str, INEXACT))
def test_sums_that_are_not_exact_are_within_the_bound(case: Case, row: Any) -> None:
    launch = with_any_numbers(case.launch)
    program = build_for("gpu", compiled(case.path))
    (gpu,), (sim,) = run_all(program, [launch], on="gpu"), run_all(program, [launch], on="sim")
    a, b = (x.data for x in launch.args[:2] if isinstance(x, Array) and x.data is not None)
    extent = max(a.shape[-1], b.shape[0], 16)
    for index, value in sim.outputs.items():
        largest = float(np.abs(a).max()) * float(np.abs(b).max()) * extent + 64
        bound = (extent + 1) * LAST_PLACE[value.dtype.name] * largest
        error = np.abs(gpu.outputs[index].astype(float) - value.astype(float)).max()
        row(f"largest difference {error:.3g}, bound {bound:.3g}")
        assert error <= bound


def with_any_numbers(launch: Launch) -> Launch:
    """The launch with inputs whose sums are not exact."""
    rng = np.random.default_rng(3)
    args = tuple(
        replace(a, data=rng.normal(0, 2, a.shape).astype(a.dtype))
        if isinstance(a, Array) and a.data is not None
        else a
        for a in launch.args
    )
    return replace(launch, args=args)
