"""Correct kernels of many styles give the right outputs, and no finding worse than an info."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cukernel import Case, all_cases

CASES = all_cases(Path(__file__).parent)


@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_correct_kernel_is_clean(case: Case) -> None:
    case.check(case.trace("optimised"))


def test_corpus_has_many_kernels() -> None:
    assert len(CASES) >= 40
