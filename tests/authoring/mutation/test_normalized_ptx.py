"""Equality of programs by their normalized PTX."""

from __future__ import annotations

import pytest

from grader.authoring.mutation.mutants import normalized_ptx
from grader.compile.source import compile_source

KERNEL = """\
extern "C" __global__ void f(float* a, int n)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) {
        a[i] = 2.0f * a[i];
    }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("int i", "\n\n    int i", True),  # other line numbers
        ("2.0f * a[i]", "a[i] * 2.0f", True),
        ("int i", "int j = 7; int i", True),
        ("i < n", "n > i", True),
        ("i < n", "i <= n", False),
        ("2.0f", "3.0f", False),
        ("* 32", "* 33", False),
    ],
)
def test_equal_programs_have_equal_normalized_ptx(old: str, new: str, same: bool) -> None:
    programs = [
        compile_source(text.encode(), "a.cu") for text in (KERNEL, KERNEL.replace(old, new))
    ]
    first, second = (normalized_ptx(program.ptx) for program in programs)
    assert (first == second) is same


def test_normalized_ptx_has_no_debug_information() -> None:
    text = normalized_ptx(compile_source(KERNEL.encode(), "a.cu").ptx)
    assert ".entry f(" in text and "st.global" in text
    assert ".loc" not in text and ".file" not in text and ".section" not in text
