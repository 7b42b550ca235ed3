"""The line of a kernel that uses local memory, from the PTX of compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from grader.compile.entries import local_memory_line
from grader.compile.source import compile_source

HEAD = """__device__ __noinline__ float pick(const float* a, int i) { return a[i]; }
extern "C" __global__ void other(float* y, int n) {
    float own[8];
    for (int j = 0; j < 8; ++j) own[(n + j) % 8] = j;
    y[0] = own[n % 8];
}
"""
MANY = 48
MANY_REGISTERS = "\n".join((
    *(f"\n    float v{i} = y[{i} * n];" for i in range(MANY)),
    "    __syncthreads();",
    *(f"    y[{i} * n + 1] = v{i} * v{(7 * i + 3) % MANY};" for i in range(MANY)),
))  # fmt: skip


class Row(NamedTuple):
    """A kernel's body from line 8 on, the expected line, whether it has local bytes at all."""

    body: str
    line: int
    local: bool


ROWS = {
    "an index at run time": Row("""
    float own[8];
    #pragma unroll
    for (int j = 0; j < 8; ++j)
        own[(n + j) % 8] = y[j];
    y[n] = own[n];""", 12, True),
    "a loop that is not unrolled": Row("""
    float own[16];
    #pragma unroll 1
    for (int j = 0; j < 16; ++j)
        own[j] = y[j];
    y[n] = own[3];""", 12, True),
    "its address goes to a function": Row("""
    float own[2];
    own[0] = y[0];
    own[1] = y[1];
    y[n] = pick(own, n);""", 11, True),
    "constants only": Row("""
    float own[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j)
        own[j] = y[j];
    y[n] = own[0] + own[3];""", 0, False),
    "no array": Row("""
    y[n] = 1.0f;""", 0, False),
    "registers that do not fit": Row(MANY_REGISTERS, 0, True),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_line_with_most_accesses_of_local_memory(name: str) -> None:
    row = ROWS[name]
    bounds = "__launch_bounds__(1024, 2) " if "registers" in name else ""
    head = f'extern "C" __global__ void {bounds}k(float* y, int n)\n{{'
    program = compile_source(f"{HEAD}{head}{row.body}\n}}\n".encode(), "k.cu")
    kernel = program.kernel("k")
    assert kernel is not None
    assert bool(kernel.resources.local_bytes) == row.local
    assert local_memory_line(program.ptx, kernel.symbol, program.file) == row.line
