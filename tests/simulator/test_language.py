"""CUDA C++ as students write it, on both PTX variants: the expected outputs, and no false alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cukernel import Case, all_cases

CASES = all_cases(Path(__file__).parent / "language")


@pytest.mark.parametrize("variant", ["optimised", "debug"])
@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_kernel_gives_the_expected_outputs(case: Case, variant: str) -> None:
    case.check(case.trace(variant))
