"""Correct kernels of many styles draw nothing worse than an info, and give the right answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cukernel import Case, all_cases

CASES = all_cases(Path(__file__).parent)


@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_correct(case: Case) -> None:
    case.check(case.trace("optimised"))


def test_there_are_many() -> None:
    assert len(CASES) >= 40
