"""The arguments that a callee always uses: those that it uses before its first branch."""

from __future__ import annotations

import pytest

from grader.simulator.decode.parameters import used_arguments
from grader.simulator.ptx.parser import parse
from tests.trusted import compile_here

FUNCTIONS = {
    "used at once": ("int f(int x, int y) { return x * x; }", [4]),
    "both used": ("int f(int x, int y) { return x + y; }", [4, 4]),
    "only handed on": ("int f(int x, int y) { int z = x; return z; }", []),
    "used on a branch": ("int f(int x, int y) { return y > 0 ? x * 2 : 0; }", [4]),
    "used by what it calls": (
        "int g(int x) { return x * x; } __device__ int f(int x, int y) { return g(y); }",
        [4],
    ),
    "without end": ("int f(int x, int y) { return f(x, y); }", []),
    "two members": (
        "int g(int2 p) { return p.x * p.x; }"
        "__device__ int f(int x, int y) { int2 p; p.x = x; return g(p); }",
        [4],
    ),
    "one member, of two given": (
        "int g(int2 p) { return p.y * p.y; }"
        "__device__ int f(int x, int y) { int2 p; p.x = x; p.y = x + y; return g(p); }",
        [4, 4],
    ),
    "a member changed before": (
        "int g(int2 p) { p.x = 1; return p.x * p.x; }"
        "__device__ int f(int x, int y) { int2 p; p.x = x; return g(p); }",
        [],
    ),
    "kept where another function may change it": (
        "void g(int *x) { *x = 1; } __device__ int f(int x, int y) { g(&x); return x * x; }",
        [],
    ),
}


@pytest.mark.parametrize("text, sizes", FUNCTIONS.values(), ids=FUNCTIONS)
def test_used_arguments(text: str, sizes: list[int]) -> None:
    kernel = '\nextern "C" __global__ void k(int *out, int n) { out[0] = f(n, 1); }\n'
    program = compile_here(f"__device__ {text}{kernel}".encode(), "k.cu")
    functions = parse(program.debug_ptx).functions
    assert sorted(size for _, _, size in used_arguments(functions["k"], functions)) == sizes
