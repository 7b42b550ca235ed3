"""cuRAND's device header on a GPU: the simulator draws the same numbers.

Its bits and uniform numbers are integers and exact products. Normal ones in single precision come
from `__logf`, `__sinf` and `__cosf`, of which each kind of GPU has approximations of its own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pytest

from grader.compile import source
from grader.compile.nvrtc import _toolkit_headers, installation
from grader.grading.run import build_for, run_all
from grader.launch import Trace
from tests.cukernel import Case, cases
from tests.trusted import compiled_here

pytestmark = pytest.mark.gpu

FILE = Path(__file__).parent / "curand.cu"
CASES = list(cases(FILE))
NORMAL = 2
"""The array of normal numbers."""
INEXACT = (np.arange(96) % 48 // 8) == 4
"""The bytes of the two states with a normal number that was kept, and padding."""


@cache
def traces(on: Literal["sim", "gpu"]) -> dict[str, Trace]:
    """What each kernel draws; the toolkit's headers are there where the extra is not installed."""
    found = installation()
    compiler = replace(found, headers=(*found.headers, *_toolkit_headers()))
    with patch.object(source, "installation", lambda: compiler):
        program = compiled_here(FILE, cache=None)
    if on == "gpu":
        program = build_for("gpu", program)
    drawn = run_all(program, [case.launch for case in CASES], on=on)
    return {case.kernel: trace for case, trace in zip(CASES, drawn, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_simulator_draws_the_numbers_of_the_gpu(case: Case, row: Any) -> None:
    ours, theirs = traces("sim")[case.kernel], traces("gpu")[case.kernel]
    assert ours.findings == theirs.findings == ()
    for k, right in theirs.outputs.items():
        drawn = ours.outputs[k]
        if k != NORMAL:
            same = drawn == right
            assert (same | INEXACT if case.kernel == "kept" and k == 0 else same).all()
        else:
            error = float(np.abs(drawn - right).max())
            row(f"{case.kernel}: largest difference of normal numbers {error:.2g}")
            assert error <= 1e-5
