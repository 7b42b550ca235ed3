"""The edits of each operator, on one or two statements."""

from __future__ import annotations

import pytest

from grader.authoring.mutation.mutants import applied, operators
from grader.authoring.mutation.operators import other_axis
from grader.compile.syntax import parse

OFFERED = [
    ("accumulation", "sum += x;", ["sum = x;"]),
    ("accumulation", "sum = x; sum -= y;", []),
    ("arithmetic", "a = b * c - 1;", ["a = b * c + 1;", "a = b + c - 1;"]),
    ("arithmetic", "a = b / 2 % c;", ["a = b / 2 / c;", "a = b % 2 % c;"]),
    ("arithmetic", "a = -b; p = *q; a = b << 2;", []),
    ("atomic", "atomicAdd(&own[i], 1u);", ["*(&own[i]) += 1u;"]),
    ("atomic", "atomicMax(&own[i], 1u); add(a, b);", []),
    ("barrier-removed", "__syncthreads(); __syncwarp();",
     ["; __syncwarp();", "__syncthreads(); ;"]),
    ("barrier-removed", "wait(); int threads = 1;", []),
    ("barrier-moved", "a = 1; __syncthreads(); b = 2;",
     ["__syncthreads(); a = 1; b = 2;", "a = 1; b = 2; __syncthreads();"]),
    ("barrier-moved", "for (;;) { a = 1; __syncthreads(); }",
     ["for (;;) { __syncthreads(); a = 1; }", "for (;;) { a = 1;  } __syncthreads();"]),
    ("barrier-moved", "while (a) { __syncthreads(); a = 1; }",
     ["__syncthreads(); while (a) {  a = 1; }", "while (a) { a = 1; __syncthreads(); }"]),
    ("barrier-moved", "if (a) { b = 1; } /* c */ __syncthreads(); return;",
     ["__syncthreads(); /* c */ if (a) { b = 1; } return;",
      "if (a) { b = 1; __syncthreads(); } /* c */  return;",
      "if (a) { b = 1; } /* c */ return; __syncthreads();"]),
    ("barrier-moved", "__syncthreads(); for (;;) { b = 1; }",
     ["for (;;) { b = 1; } __syncthreads();", " for (;;) { __syncthreads(); b = 1; }"]),
    ("comparison", "b = i < n; c = i >= n;", ["b = i <= n; c = i >= n;", "b = i < n; c = i > n;"]),
    ("comparison", "b = i == n; c = i << 2;", ["b = i != n; c = i << 2;"]),
    ("connective", "b = x < m && y < n;",
     ["b = x < m || y < n;", "b = y < n;", "b = x < m;"]),
    ("connective", "b = p || q; c = p & q;",
     ["b = p && q; c = p & q;", "b = q; c = p & q;", "b = p; c = p & q;"]),
    ("constant", "a = 16;", ["a = 17;", "a = 15;"]),
    ("constant", "a = 0u;", ["a = 1u;", "a = -1u;"]),
    ("constant", "a = 0.5f; b = 0x10; s = \"7\"; // 8", []),
    ("constant", "#define SIDE (2 * R1 + 1)\n",
     ["#define SIDE (3 * R1 + 1)\n", "#define SIDE (1 * R1 + 1)\n",
      "#define SIDE (2 * R1 + 2)\n", "#define SIDE (2 * R1 + 0)\n"]),
    ("guard", "if (i < n) { a = 1; }", ["if (true) { a = 1; }", "if (false) { a = 1; }"]),
    ("guard", "a = i < n ? b : 0;", ["a = true ? b : 0;", "a = false ? b : 0;"]),
    ("guard", "while (i < n) { a = 1; }", []),
    ("index", "a = threadIdx.x + gridDim.y;",
     ["a = threadIdx.y + gridDim.y;", "a = threadIdx.x + gridDim.x;"]),
    ("index", "a = threadIdx.z + v.x;", []),
    ("index", "a = T[ty][tx + 1];", ["a = T[tx + 1][ty];"]),
    ("index", "void f(int row, int col, int k) { c[row * k] = 1; }",
     ["void f(int row, int col, int k) { c[col * k] = 1; }"]),
    ("index", "void f(int row, int k) { c[row * k] = 1; }", []),
    ("index", "void f(int tx, int ty) { int i = tx; g(tx); }",
     ["void f(int tx, int ty) { int i = ty; g(tx); }"]),
    ("initial-value", "float s = 0.0f, p = 1.0f;",
     ["float s = 1.0f, p = 1.0f;", "float s = 0.0f, p = 0.0f;"]),
    ("initial-value", "float s = 2.5f; int i = 0;", []),
    ("memory-space", "__shared__ float As[4];", [" float As[4];"]),
    ("memory-space", "extern __shared__ float As[];", []),
    ("memory-space", "__constant__ float mask[5];", ["__device__ float mask[5];"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "source", "expected"), OFFERED)
def test_operator_offers_exactly_these_edits(name: str, source: str, expected: list[str]) -> None:
    data = source.encode()
    edits = sorted(operators()[name](parse(source)), key=lambda edit: edit.start)
    assert sorted(applied(data, edit).decode() for edit in edits) == sorted(expected)
    assert all(edit.line == 1 and edit.change for edit in edits)


def test_every_operator_has_an_example_with_edits() -> None:
    for name in operators():
        assert any(edits for operator_name, _, edits in OFFERED if operator_name == name), name
    assert {name for name, _, _ in OFFERED} == set(operators())


@pytest.mark.parametrize(
    ("name", "other"),
    [("row", "col"), ("a_col", "a_row"), ("tx", "ty"), ("from_y", "from_x"), ("width", "height"),
     ("x", "y"), ("max", ""), ("index", ""), ("crow", ""), ("n", "")],
)  # fmt: skip
def test_name_on_the_other_axis(name: str, other: str) -> None:
    assert other_axis(name) == other
