"""The optimizer loads ahead of conditions: only a value that the program uses counts as read.

Each kernel of SOURCE reads `s`, `u` or `g` only when `n` is 7, while thread 0 writes it, or when
nothing has written it. The optimized variant loads it for every `n`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

import grader.simulator.simulate as simulator
from grader.compile.program import Program
from grader.launch import Array, Launch, Scalar
from grader.simulator.diagnose.confirmation import Confirmation
from tests.trusted import compile_here

READS_WHILE_WRITTEN = {
    "added": "int v = x[t]; if (n == 7) v += s[1]; y[t] = v;",
    "added_as_float": "float v = x[t]; if (n == 7) v += f[1]; y[t] = v;",
    "selected": "int v = 0; if (n == 7) v = s[1]; y[t] = v;",
    "one_of_three": "bool b = n == 7 && s[1] > 3 && s[2] < 4; y[t] = b ? t : -t;",
    "condition": "if (n == 7 && s[1] > 3) y[t] = 5; else y[t] = 6;",
    "either_condition": "if (n != 7 || s[1] > 3) { atomicAdd(&y[0], 1); y[t + 1] = t; }",
    "counted": "int v = x[t]; if (n == 7 && s[1] == 9) ++v; y[t] = v;",
    "minimum": "int v = x[t]; if (n == 7) v = min(v, s[1]); y[t] = v;",
    "unrolled": "int v = 0;\n#pragma unroll\nfor (int j = 0; j < 4; ++j) if (n == 7 || j != 1)"
    " v += s[j]; y[t] = v;",
    "bits": "unsigned m = n == 7 ? s[1] : 0; y[t] = __popc(m) + __ffs(m) + (int)(m >> 3);",
    "largest": "int a = x[t], b = t; if (n == 7 && s[1] > a) { a = s[1]; b = s[2]; } y[t] = a * b;",
    "part_of_a_vector": "int c = 0; if (n == 7) c = s[1]; y[t] = s[0] + s[2] + s[3] + c;",
    "global_variable": "if (t == 0) g = 9; int v = x[t]; if (n == 7) v += g; y[t] = v;",
    "shuffled": "int v; if (n == 7 || t == 0) v = s[1];"
    " v = __shfl_sync(~0u, v, n == 7 ? 1 : 0, 32); y[t] = t < 32 ? v : 3;",
    "passed_on": "int v; if (n == 7 || t == 0) v = s[1]; y[t] = chosen(v, t, n);",
}
READS_UNWRITTEN = {
    "multiplied": "int v = x[t]; if (n == 7) v = v * u + 1; y[t] = v;",
    "end_of_a_loop": "int e = n == 7 ? u & 3 : 3, v = 0; for (int j = 0; j < e; ++j) v += x[j];"
    " y[t] = v;",
    "second_condition": "if (n == 7 && u) y[t] = 1; else y[t] = 2;",
    "chosen_by_bits": "bool b = n == 7 && (u & 4); y[t] = b;",
}


def _kernel(name: str, body: str, before: str) -> str:
    return (
        f'extern "C" __global__ void {name}(const int* x, int* y, int n) {{\n'
        f"__shared__ int s[4]; __shared__ float f[4]; __shared__ int u;\n"
        f"int t = threadIdx.x; if (t < 4) f[t] = s[t] = x[t]; __syncthreads();\n"
        f"{before}\n{body}\n}}\n"
    )


SOURCE = (
    "__device__ int g;\n__device__ __noinline__ int chosen(int v, int t, int n)"
    " { return n == 7 || t == 0 ? v + t : 3; }\n"
    + "".join(
        _kernel(name, body, "if (t == 0) { s[1] = 9; f[1] = 9; }")
        for name, body in READS_WHILE_WRITTEN.items()
    )
    + "".join(
        _kernel(name, body, "if (n == 9) u = x[t];") for name, body in READS_UNWRITTEN.items()
    )
)


@cache
def program() -> Program:
    return compile_here(SOURCE.encode(), "ahead.cu")


def kinds(name: str, n: int) -> set[str]:
    x = Array("x", (100,), "int32", np.arange(100, dtype=np.int32))
    y = Array("y", (100,), "int32", np.zeros(100, np.int32), True)
    launch = Launch(name, (1, 1, 1), (64, 1, 1), (x, y, Scalar("n", n, "int32")))
    (trace,) = simulator.simulate(program(), [launch])
    return {f.kind for f in trace.findings if f.severity == "error"}


def cases() -> Iterator[tuple[str, str]]:
    yield from ((name, "race") for name in READS_WHILE_WRITTEN)
    yield from ((name, "uninitialized-read") for name in READS_UNWRITTEN)


@pytest.mark.parametrize(("name", "kind"), list(cases()))
def test_only_a_value_that_the_program_uses_counts_as_read(name: str, kind: str) -> None:
    assert kinds(name, 2) == set()
    assert kinds(name, 7) == {kind}


def test_the_optimizer_loads_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without confirmation most of the kernels would draw a finding."""
    monkeypatch.setattr(Confirmation, "doubts", lambda self, report: False)
    ahead = [name for name, kind in cases() if kinds(name, 2) == {kind}]
    assert len(ahead) > 12, ahead
