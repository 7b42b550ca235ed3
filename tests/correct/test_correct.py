"""Kernels of many styles: correct ones give the right outputs and no finding worse than an info.

Beside some of them are incorrect variants, with the finding that each must draw.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.faults import LabFault
from tests.cukernel import Case, all_cases

CASES = all_cases(Path(__file__).parent)


@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_kernel_draws_only_the_findings_that_it_states(case: Case) -> None:
    case.check(case.trace("optimised"))


def test_corpus_has_many_kernels() -> None:
    assert len(CASES) >= 40


def test_finding_at_another_line_or_of_another_kind_fails() -> None:
    case = next(c for c in CASES if c.kernel == "stages_tail")
    trace = case.trace("optimised")
    for marks in ({("race", 1)}, {("timeout", line) for _, line in case.marks}, set()):
        with pytest.raises(AssertionError):
            replace(case, marks=marks).check(trace)


def test_a_value_needs_a_variable_of_its_name_and_size() -> None:
    case = next(case for case in CASES if case.globals)
    assert case.trace("optimised").findings == ()
    name, value = next(iter(case.globals.items()))
    wrong = {
        f"no __constant__ or __device__ variable `{name}s`": {f"{name}s": value},
        f"`{name}` has {value.nbytes} bytes": {name: np.append(value, value[:1])},
    }
    for text, given in wrong.items():
        with pytest.raises(LabFault, match=re.escape(text)):
            replace(case, globals=given).trace("optimised")
