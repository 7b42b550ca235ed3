"""The functions of a source and the parameters of its kernels."""

from __future__ import annotations

import pytest

from grader.compile.functions import declarations, function_line, functions
from grader.compile.preprocessor import code
from grader.compile.source_text import nested_launch
from grader.compile.syntax import Tree, parse


def tree_of(source: str) -> Tree:
    return parse(code(source))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const float* __restrict__ A", ("const float*", "A")),
        ("float *A", ("float*", "A")),
        ("float A[16]", ("float*", "A")),
        ("int A[][4]", ("int(*)[4]", "A")),
        ("const float A[2][3][4]", ("const float(*)[3][4]", "A")),
        ("const int (*m)[8]", ("const int(*)[8]", "m")),
        ("int *A[2]", ("int**", "A")),
        ("int *A[][2]", ("int*(*)[2]", "A")),
        ("int (&A)[4]", ("int(&)[4]", "A")),
        ("int (*)[4]", ("int(*)[4]", "")),
        ("int[][N]", ("int(*)[N]", "")),
        ("float", ("float", "")),
        ("unsigned int", ("unsigned int", "")),
        ("unsigned n", ("unsigned", "n")),
        ("const int n = 3", ("const int", "n")),
        ("const P", ("const P", "")),
        ("struct P p", ("struct P", "p")),
        ("int*", ("int*", "")),
        ("std::uint32_t m", ("std::uint32_t", "m")),
        ("float** __restrict a", ("float**", "a")),
        ("const __grid_constant__ P p", ("const P", "p")),
        ("V<d, e> g", ("V<d, e>", "g")),
        ('int n = f(1, ",")', ("int", "n")),
    ],
)
def test_a_parameter_is_a_type_and_a_name(text: str, expected: tuple[str, str]) -> None:
    (found,) = declarations(tree_of(f"__global__ void f({text}) {{}}"))
    assert found.parameters == (expected,)


@pytest.mark.parametrize("text", ["", "void"])
def test_a_kernel_without_parameters(text: str) -> None:
    (found,) = declarations(tree_of(f"__global__ void f({text}) {{}}"))
    assert found.parameters == ()


def test_declarations_put_definitions_first() -> None:
    tree = tree_of(
        "__global__ void a(int);\n"
        "template <int N> __global__ void b(float (&x)[N], int n) {}\n"
        "__launch_bounds__(3) __global__ static void __attribute__((used)) a(int n) { }\n"
        "__global__ ;"
    )
    assert [(d.name, d.line, d.template, d.defined) for d in declarations(tree)] == [
        ("b", 2, True, True),
        ("a", 3, False, True),
        ("a", 1, False, False),
    ]
    assert function_line(tree, "a") == 3
    assert function_line(tree, "c") == 0


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void __cluster_dims__(2, 1, 1) k(int n) {}",
        "__global__ void __launch_bounds__(256, 2) k(int n) {}",
        "NOINLINE __global__ void k(int n) {}",
        "__global__ void k(int n) <% %>",
        "__global__ vo\\\nid k(int n) {}",
        "#if A\n__global__ void f(int a) {\n#else\n__global__ void f(float a) {\n#endif\n}\n"
        "__global__ void k(int n) {}",
        "__device__ void f() { if (x { }\n__global__ void k(int n) {}",
        "char c = '\"'; char d = case'\"';\n__global__ void k(int n) {}",
        'const char* s = R"({)";\n__global__ void k(int n) {}',
    ],
)
def test_a_kernel_is_found_in_text_that_the_grammar_rejects(source: str) -> None:
    found = {d.name: (d.parameters, d.defined) for d in declarations(tree_of(source))}
    assert found["k"] == ((("int", "n"),), True)


def test_a_function_ends_at_its_own_brace() -> None:
    source = "int a(int n)\n{\n  if (x) {\n  }\n}\nint b() { return 1; }\nint c() {\n\n"
    found = [(f.name, f.first_line, f.last_line) for f in functions(tree_of(source)) if f.outer]
    assert found == [("a", 1, 5), ("b", 6, 6), ("c", 7, 9)]


def test_a_nested_launch_has_its_line() -> None:
    found = nested_launch("__global__ void f(int n)\n{\n  f<<<1, 1>>>(n);\n}", "a.cu")
    assert found is not None
    assert found.line == 3
