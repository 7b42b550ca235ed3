"""What is set aside of a whole program, without the compiler: the lines that remain."""

from __future__ import annotations

import pytest

from grader.compile.host_code import Selection
from grader.compile.preprocessor import code, joined
from grader.labs.model import KernelSpec
from grader.launch import Finding

KERNEL = "__global__ void k(float* a, int n) { a[0] = n; }"
SPEC = KernelSpec("k", (("float*", "a"), ("int", "n")))

PROGRAMS = {
    "main": ([KERNEL, "int main() { k<<<1, 1>>>(0, 0); }"], [1]),
    "a macro that declares a kernel": (
        ["#define DEF(x) __global__ void x(float* a) {}", "DEF(k)", "DEF(j)", "int main() {}"],
        [1, 2, 3],
    ),
    "branches of a conditional": (
        ["#if A", "__global__ void k(int a) {", "#else", "__global__ void k(float a) {", "#endif",
         "}", "int main() {}"],
        [1, 2, 3, 4, 5, 6],
    ),
    "an annotation in a macro": (
        ["#define D static __device__", "D int f() { return 1; }", "int g() { return 2; }", KERNEL],
        [1, 2, 4],
    ),
    "a chain of types": (
        ["typedef float real;", "typedef real number;", "typedef int other;",
         "__global__ void k(number* a) {}"],
        [1, 2, 4],
    ),
    "a constant through a macro": (
        ["const int N = 4;", "const int M = 5;", "#define SIZE (N * 2)",
         "__global__ void k(float* a) { a[SIZE] = 0; }"],
        [1, 3, 4],
    ),
    "a parameter with a global's name": (
        ["float *a, *b;", "std::vector<float> n;", KERNEL], [3]
    ),
    "a host function that a kernel calls": (
        ["float f(float x) { return x; }", "float g() { return 1; }",
         "__global__ void k(float* a) { a[0] = f(1); }"],
        [1, 3],
    ),
    "operators": (
        ["struct V { float x; };", "__host__ __device__ V operator+(V a, V b) { return a; }",
         "std::ostream& operator<<(std::ostream& o, V v) { return o; }", KERNEL],
        [1, 2, 4],
    ),
    "members outside of a class": (
        ["struct T { T(); void go(); };", "T::T() : a(1) {}", "void T::go() {}", KERNEL], [4]
    ),
    "unused namespaces": (
        ["using namespace std;", "using namespace cv;", "using std::cout;", KERNEL], [1, 4]
    ),
    "unknown headers": (
        ["#include <iostream>", "#include <math.h>", "#include <thrust/sort.h>", KERNEL], [2, 4]
    ),
    "a block of extern C": (
        ['extern "C" {', KERNEL, "void launch() { k<<<1, 1>>>(0, 0); }", "}"], [1, 2, 4]
    ),
    "a missing brace before the kernel": (["void f() { if (1) {", KERNEL], [1, 2]),
    "a raw string": (['const char* s = R"(', KERNEL, ')";', KERNEL], [4]),
    "an initializer with braces": (["int t[] = {1, 2};", "int u{3};", KERNEL], [3]),
}  # fmt: skip


def selected(text: str) -> Selection:
    return Selection(text, lambda header: header in ("math.h", "thrust/sort.h"), (SPEC,))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_no_kernel_reaches_becomes_blank(name: str) -> None:
    lines, remain = PROGRAMS[name]
    kept = selected("\n".join(lines)).text().split("\n")
    assert [n for n, line in enumerate(kept, 1) if line.strip()] == remain
    assert [kept[n - 1] for n in remain] == [lines[n - 1] for n in remain]


@pytest.mark.parametrize("name", PROGRAMS)
def test_offsets_are_those_of_the_joined_text(name: str) -> None:
    text = "\n".join(PROGRAMS[name][0]) + "\n// \\\n\"\n'\n"
    assert len(code(text)) == len(joined(text))
    assert code(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("launch", "line"),
    [
        ("k<16><<<1, 1>>>(0, 0);", "template __global__ void k<16>(float*, int);"),
        ("n::k<16, 2><<<1, 1>>>(0, 0);", "template __global__ void k<16, 2>(float*, int);"),
        ("const int T = 8; k<T><<<1, 1>>>(0, 0);", "template __global__ void k<8>(float*, int);"),
        ("k<TILE><<<1, 1>>>(0, 0);", "template __global__ void k<TILE>(float*, int);"),
    ],
)
def test_a_template_is_instantiated_as_it_is_launched(launch: str, line: str) -> None:
    source = (
        "constexpr int TILE = 4;\ntemplate <int A, int B = 1>\n"
        f"__global__ void k(float* a, int n) {{}}\nint main() {{ {launch} }}"
    )
    text = selected(source).text()
    assert text.rstrip().endswith(line)
    assert ("constexpr" in text) == ("TILE" in launch)


def test_the_compilers_errors_correct_the_selection() -> None:
    source = (
        "int lost = 1;\nstd::string n2;\n__global__ void k(float* a, int n) { n2; }\nint main() {}"
    )
    selection = selected(source)
    assert "std::string" in selection.text()
    wrong = Finding("compile-error", "error", 'name "std" must be a namespace', line=2)
    undefined = Finding("compile-error", "error", 'identifier "lost" is undefined', line=3)
    assert selection.learn([wrong, undefined])
    assert "std::string" not in selection.text()
    assert "int lost" in selection.text()
    assert not selection.learn([])
    assert selection.lost([replace_name(undefined, "n2")])


def replace_name(finding: Finding, name: str) -> Finding:
    return Finding(finding.kind, finding.severity, f'identifier "{name}" is undefined', line=3)
