"""The variables of a source: locals that a line uses, shapes of arrays, declarations."""

from __future__ import annotations

import pytest

from grader.simulator.diagnose.kernel_code import Classes
from grader.simulator.diagnose.variables import Shape, SourceVariables, initialized_declaration

CASES = {
    "a sum": ("float sum;\nfor (;;) sum += 1; //!", "f32", "float sum = 0.0f;"),
    "the other type": ("double sum;\nfor (;;) sum += 1; //!", "f32", None),
    "one of two": ("float a, b;\na = b + 1; //!", "f32", "float b = 0.0f;"),
    "both": ("float a, b;\nc = a + b; //!", "f32", None),
    "distinguished by type": ("int i; float a;\nc = a + i; //!", "b32", "int i = 0;"),
    "with a value": ("int i = 2;\nc = i; //!", "b32", None),
    "next to one with a value": ("int i = 2, k;\nc = i + k; //!", "b32", "int k = 0;"),
    "a pointer": ("const float *from;\nc = from[0]; //!", "b64", ""),
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
    variable = SourceVariables(source).used_local(line, kind)
    assert (variable and variable.declaration) == expected


@pytest.mark.parametrize("line", [0, -1, 99])
def test_line_outside_the_source_has_no_local(line: int) -> None:
    assert SourceVariables("int i;").used_local(line, "b32") is None


@pytest.mark.parametrize("source", ["}}}{", "int", "/*", '"', "{{{{;;;;", "int a{;\n"])
def test_malformed_source_has_no_local(source: str) -> None:
    assert SourceVariables(source).used_local(1, "b32") is None


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
    uninitialized = SourceVariables(declared).uninitialized_type(name, 1)
    text = initialized_declaration(name, kind, extent) if uninitialized else ""
    assert text == expected


TYPES = {
    "without a name": ("struct { int a, b; } u;", "", "struct { int a, b; } u = {};"),
    "in a namespace": ("namespace n { struct P { int a; }; }\nn::P u;", "", "n::P u = {};"),
    "a template": ("template <typename T> struct P { T a; };\nP<int> u;", "", "P<int> u = {};"),
    "another name": ("struct P { int a; };\nusing Q = P;\nQ u;", "", "Q u = {};"),
    "of the toolkit": ("float4 u;", "", "float4 u = {};"),
    "with a constructor": ("struct P { int a; __device__ P() {} };\nP u;", "P", ""),
    "with the default one": ("struct P { int a; P() = default; };\nP u;", "", "P u = {};"),
    "of a member with one": ("struct P { P() {} };\nstruct Q { P p; int a; };\nQ u;", None, ""),
    "of a base with one": ("struct P { P() {} };\nstruct Q : P { int a; };\nQ u;", None, ""),
    "of a library": ("lib::P u;", None, ""),
    "a pointer": ("const int *u;", "", ""),
}


@pytest.mark.parametrize("source, constructor, expected", TYPES.values(), ids=TYPES)
def test_declaration_with_a_value(source: str, constructor: str | None, expected: str) -> None:
    variables = SourceVariables(source)
    kind = variables.uninitialized_type("u", source.count("\n") + 1)
    assert Classes(variables.tree).constructor_of(kind) == constructor
    assert (initialized_declaration("u", kind, "") if constructor == "" else "") == expected


SHAPES = {
    "numbers": ("__shared__ float a[2][3];", 24, Shape((2, 3), 4)),
    "a macro": ("#define N 4 // not 5\n__shared__ float a[N][N + 1];", 80, Shape((4, 5), 4)),
    "a quotient": ("#define N 8\n#define M N/2\n__shared__ double a[M];", 32, Shape((4,), 8)),
    "constants": ("constexpr int N = 2, M = N * 2u; __shared__ char a[M];", 4, Shape((4,), 1)),
    "an enumerator": ("enum { N = 3 }; __shared__ int a[N];", 12, Shape((3,), 4)),
    "aligned": ("__shared__ __align__(16) float b[3], a[5];", 20, Shape((5,), 4)),
    "behind a macro": ("#define S __shared__\nS float a[4][4];", 64, Shape((4, 4), 4)),
    "in a comment": ("// __shared__ float a[2][2];\n__shared__ float a[4];", 16, Shape((4,), 4)),
    "another size": ("__shared__ float a[2][3];", 23, None),
    "defined by itself": ("#define N M\n#define M N\n__shared__ float a[N];", 4, None),
    "without a size": ("extern __shared__ float a[];", 16, None),
}


@pytest.mark.parametrize("source, size, expected", SHAPES.values(), ids=SHAPES)
def test_shape_of_an_array(source: str, size: int, expected: Shape | None) -> None:
    assert SourceVariables(source).shape("a", size) == expected


OF_FUNCTIONS = """
__global__ void first() { __shared__ short a[40]; }
namespace n { template <int N> __global__ void second(int *p) { __shared__ int a[4][5]; } }
struct S { __device__ int third() { __shared__ double a; return 0; } };
"""


@pytest.mark.parametrize(
    ("function", "expected", "is_scalar"),
    [("first", Shape((40,), 2), False), ("second", Shape((4, 5), 4), False), ("third", None, True),
     ("absent", Shape((40,), 2), False), ("", Shape((40,), 2), False)],
)  # fmt: skip
def test_shape_in_a_function(function: str, expected: Shape | None, is_scalar: bool) -> None:
    variables = SourceVariables(OF_FUNCTIONS)
    assert variables.shape("a", 80, function) == expected
    assert variables.is_scalar("a", function) == is_scalar


SHARED = """
__shared__ float scalar, array[4];
__shared__ unsigned long long wide[2];
__shared__ const std::int16_t *pointers[2];
float local;
"""


@pytest.mark.parametrize(
    ("name", "is_scalar", "element_bytes"),
    [("scalar", True, 0), ("array", False, 4), ("wide", False, 8), ("pointers", False, 0),
     ("local", False, 0), ("absent", False, 0)],
)  # fmt: skip
def test_scalars_and_elements(name: str, is_scalar: bool, element_bytes: int) -> None:
    variables = SourceVariables(SHARED)
    assert variables.is_scalar(name) == is_scalar
    assert variables.element_bytes(name) == element_bytes
