"""The variable that a line uses, read off the source; none when it is not certain."""

from __future__ import annotations

import pytest

from grader.simulator.diagnose.variables import initialized_declaration, used_local

CASES = {
    "a sum": ("float sum;\nfor (;;) sum += 1; //!", "f32", "float sum = 0.0f;"),
    "the other type": ("double sum;\nfor (;;) sum += 1; //!", "f32", None),
    "one of two": ("float a, b;\na = b + 1; //!", "f32", "float b = 0.0f;"),
    "both": ("float a, b;\nc = a + b; //!", "f32", None),
    "distinguished by type": ("int i; float a;\nc = a + i; //!", "b32", "int i = 0;"),
    "with a value": ("int i = 2;\nc = i; //!", "b32", None),
    "next to one with a value": ("int i = 2, k;\nc = i + k; //!", "b32", "int k = 0;"),
    "a pointer": ("const float *from;\nc = from[0]; //!", "b64", "const float *from = nullptr;"),
    "out of scope": ("{ int i; }\nc = i; //!", "b32", None),
    "of an inner scope": ("{ int i;\nc = i; //!\n}", "b32", "int i = 0;"),
    "in a comment": ("// int i;\nc = i; //!", "b32", None),
    "a member": ("int i;\nc = p.i; //!", "b32", None),
    "an array": ("int i[4];\nc = i[0]; //!", "b32", None),
    "shared": ("__shared__ int i;\nc = i; //!", "b32", None),
    "of two words": ("unsigned  int i;\nc = i; //!", "b32", "unsigned int i = 0;"),
    "a bool": ("bool b;\nif (b) c = 1; //!", "b16", "bool b = false;"),
    "over two lines": ("int i;\nc = 1 + //!\n  i;", "b32", "int i = 0;"),
    "only assigned": ("int i;\ni = 3; //!", "b32", None),
    "compared": ("int i;\nif (i == 3) c = 1; //!", "b32", "int i = 0;"),
    "a type of its own": ("Weight w;\nc = w; //!", "f32", ""),
    "a return": ("int c;\nreturn c; //!", "b32", "int c = 0;"),
    "declared later": ("c = i; //!\nint i;", "b32", None),
}


@pytest.mark.parametrize("text, kind, expected", CASES.values(), ids=CASES)
def test_used_local(text: str, kind: str, expected: str | None) -> None:
    source = f"int i_before;\n__global__ void k(int *out) {{\n{text}\n}}\n"
    line = next(n for n, row in enumerate(source.splitlines(), 1) if "//!" in row)
    variable = used_local(source, line, kind)
    assert (variable and variable.declaration) == expected


@pytest.mark.parametrize("line", [0, -1, 99])
def test_line_outside_the_source_has_no_local(line: int) -> None:
    assert used_local("int i;", line, "b32") is None


@pytest.mark.parametrize("source", ["}}}{", "int", "/*", '"', "{{{{;;;;", "int a{;\n"])
def test_malformed_source_has_no_local(source: str) -> None:
    assert used_local(source, 1, "b32") is None


VALUES = {
    "an array": ("acc", "float", "[2][3]", "float acc[M][N];", "float acc[2][3] = {};"),
    "a number": ("x", "float", "", "  float x, y;", "float x = 0.0f;"),
    "a struct": ("p", "Pair", "", "Pair p;", "Pair p = {};"),
    "of a type without a name": ("p", "", "", "auto p;", ""),
    "that has a value": ("x", "float", "", "float x = 1;", ""),
    "another name": ("x", "float", "", "float xx;", ""),
    "whose address is taken": ("x", "float", "", "float x = 1, *p = &x;", ""),
    "copied to another": ("x", "Pair", "", "Pair x = z, y = x;", ""),
    "a parameter": ("p", "Pair", "", "__device__ int f(Pair p) {", ""),
}


@pytest.mark.parametrize("name, kind, extent, declared, expected", VALUES.values(), ids=VALUES)
def test_initialized_declaration(
    name: str, kind: str, extent: str, declared: str, expected: str
) -> None:
    assert initialized_declaration(name, kind, extent, declared) == expected
