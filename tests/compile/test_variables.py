"""The variable that a lab sets: declared with the right size, or a message with the declaration."""

from __future__ import annotations

import pytest

from grader.compile.entries import variable_bytes
from grader.compile.program import Program
from grader.compile.signature import check_variable
from grader.compile.source import compile_source
from grader.faults import StudentFault
from grader.labs.model import ArgumentSpec

KERNEL = 'extern "C" __global__ void k(float* out) { out[threadIdx.x] = 1; }\n'
MASK = ArgumentSpec("mask", "in", "float32", (5, 5))


def compiled(declaration: str) -> Program:
    return compile_source(f"// a filter\n{declaration}\n{KERNEL}".encode(), "k.cu")


MATCHING = [
    "__constant__ float mask[5][5];",
    "__constant__ float mask[25];",
    "__device__ float mask[5][5];",
    "static __constant__ float mask[25];",
    "__constant__ float mask[5][5] = {{1, 2}, {3}};",
]


@pytest.mark.parametrize("declaration", MATCHING)
def test_any_variable_of_that_name_and_size_is_accepted(declaration: str) -> None:
    check_variable(compiled(declaration), MASK)


MISMATCHED = [
    ("", "there is no variable `mask`", 0),
    ("__constant__ float masks[25];", "there is no variable `mask`", 0),
    ("#define mask 1", "there is no variable `mask`", 0),
    ("__constant__ float mask[3][3];", "`mask` has 36 bytes, the lab requires 100", 2),
    ("__constant__ float mask;", "`mask` has 4 bytes, the lab requires 100", 2),
    ("__constant__ double mask[25];", "`mask` has 200 bytes, the lab requires 100", 2),
]


@pytest.mark.parametrize(("declaration", "message", "line"), MISMATCHED)
def test_one_message_shows_the_declaration(declaration: str, message: str, line: int) -> None:
    with pytest.raises(StudentFault) as raised:
        check_variable(compiled(declaration), MASK)
    (finding,) = raised.value.findings
    assert finding.message.startswith(message)
    assert finding.line == line
    assert "`__constant__ float mask[5][5];`" in finding.hint


PTX = """
.const .align 4 .b8 mask[100];
.visible .global .align 8 .u64 total = 5;
.const .align 2 .b8 halves[4] = {1, 2, 3, 4};
.shared .align 4 .b8 tile[64];
"""


@pytest.mark.parametrize(
    ("name", "size"),
    [("mask", 100), ("total", 8), ("halves", 4), ("tile", None), ("mas", None), ("sk", None)],
)
def test_size_of_a_variable_by_name(name: str, size: int | None) -> None:
    assert variable_bytes(PTX, name) == size
