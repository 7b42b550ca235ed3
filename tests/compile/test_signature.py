"""Kernels that match what a lab requires, and those that do not, with their one message."""

from __future__ import annotations

import numpy as np
import pytest

from grader.compile.launch_limits import with_parameter_types
from grader.compile.program import Kernel, Parameter, Program
from grader.compile.signature import check_kernel, with_lab_kernels, wrong_order
from grader.compile.source import compile_source
from grader.faults import StudentFault
from grader.grading.run import run_all
from grader.labs.model import KernelSpec
from grader.launch import Array, Launch, Scalar

SPEC = KernelSpec("matmul", (("const float*", "A"), ("float*", "C"), ("int", "n")))

SPEC_PARAMETERS = "const float* A, float* C, int n"

MATCHING = [
    'extern "C" __global__ void matmul(const float* A, float* C, int n) {}',
    "__global__ void matmul(const float* __restrict__ A, float* __restrict__ C, const int n) {}",
    "__global__ void matmul(float *x, float y[], unsigned m) {}",
    "__global__ void matmul(const float x[16], float y[], int m) {}",
    'extern "C" __global__ void matmul(float x[16], float y[2], int m) {}',
    "__global__ void __launch_bounds__(256) matmul(float const * a, float* b, int32_t c) {}",
    "typedef float real; __global__ void matmul(const real* A, real* C, int n) {}",
    '#define real float\nextern "C" __global__ void matmul(const real* A, real* C, int n) {}',
    "__global__ void matmul(float* A) {} __global__ void matmul(float* A, float* C, int n) {}",
    "__global__ void matmul(const float*, float*, int); "
    "__global__ void matmul(const float* A, float* C, int n) {}",
]

MISMATCHED = [
    ("", 0, "there is no kernel `matmul`: the file has no __global__ function"),
    ("__global__ void matmull(const float* A, float* C) {}", 1, "no kernel `matmul`"),
    (
        "__global__ void a(float* A, float* C, int n) {}\n"
        "__global__ void b(float* A, float* C, int n) {}",
        1,
        "there is no kernel `matmul`: `a` (line 1) and `b` (line 2) have its parameters",
    ),
    ("\n__global__ void k(int a) {}", 2, "there is no kernel `matmul`"),
    ("__global__ void a() {}\n__global__ void b() {}", 0, "`matmul`, only a, b"),
    ("\n__device__ void matmul(const float* A, float* C, int n) {}", 2, "is not a kernel"),
    ("template <class T>\n__global__ void matmul(T* A, T* C, int n) {}", 2, "is a template, and"),
    ("__global__ void matmul(const float* A, float* C, int n);", 1, "is declared, not defined"),
    ("__global__ void matmul() {}", 1, "has 0 parameters, the lab requires 3"),
    ("__global__ void matmul(float* A) {}", 1, "has 1 parameter, the lab requires 3"),
    (
        "__global__ void matmul(float* A, float* C, int n, int m) {}",
        1,
        "has 4 parameters, the lab requires 3",
    ),
    ("__global__ void matmul(int n, float* A, float* C) {}", 1, "in another order: n, A, C"),
    (
        "__global__ void matmul(double* A, float* C, int n) {}",
        1,
        "parameter 1, `A`: it is `double*` and must be `const float*`",
    ),
    (
        "__global__ void matmul(float* A, float c, int n) {}",
        1,
        "parameter 2, `c`: it is a value, `float`, and must be a pointer, `float*`",
    ),
    (
        'extern "C" __global__ void matmul(float* A, float** C, int n) {}',
        1,
        "parameter 2, `C`: it is `float**` and must be `float*`",
    ),
    (
        "__global__ void matmul(float* A, float C[][4], int n) {}",
        1,
        "parameter 2, `C`: it is `float(*)[4]` and must be `float*`",
    ),
    (
        'extern "C" __global__ void matmul(float* A, float (*C)[4], int n) {}',
        1,
        "parameter 2, `C`: it is `float(*)[4]` and must be `float*`",
    ),
    (
        'extern "C" __global__ void matmul(float* A, size_t c, int n) {}',
        1,
        "parameter 2, `c`: it is a value, `size_t`, and must be a pointer, `float*`",
    ),
    (
        "__global__ void matmul(float* A, float* C, int* n) {}",
        1,
        "parameter 3, `n`: it is a pointer, `int*`, and must be a value, `int`",
    ),
    (
        "__global__ void matmul(float* A, float* C, short n) {}",
        1,
        "parameter 3, `n`: `short` has 2 bytes, `int` has 4",
    ),
    (
        "__global__ void matmul(float* A, float* C, double n) {}",
        1,
        "parameter 3, `n`: `double` has 8 bytes, `int` has 4",
    ),
    (
        "__global__ void matmul(float* A, float* C, const int& n) {}",
        1,
        "parameter 3, `n`: it is a reference, `const int&`: a kernel has its values by value",
    ),
    (
        "__global__ void matmul(float* A, float* C, float n) {}",
        1,
        "parameter 3, `n`: it is `float` and must be `int`",
    ),
    (
        "__global__ void matmul(float4* A, float* C, int n) {}",
        1,
        "parameter 1, `A`: it is `float4*` and must be `const float*`",
    ),
]


def compiled(source: str) -> Program:
    return compile_source(source.encode() or b"// nothing yet", "lab.cu", cache=None)


@pytest.mark.parametrize("source", MATCHING)
def test_a_kernel_that_matches(source: str) -> None:
    kernel = check_kernel(compiled(source), SPEC)
    assert kernel.name == "matmul"
    assert [p.bytes for p in kernel.parameters] == [8, 8, 4]


WIDER = """#include <cstdint>
__global__ void a(size_t n, float* out) { out[0] = n; out[1] = n >> 40; }
__global__ void b(long n, float* out) { out[0] = n; out[1] = n >> 40; }
__global__ void c(const std::int64_t n, float* out) { out[0] = n; out[1] = n >> 40; }
__global__ void d(unsigned n, float* out) { out[0] = (int)n; out[1] = n >> 31; }
"""


@pytest.mark.parametrize(("value", "high"), [(7, 0), (-7, -1)])
def test_a_wider_integer_has_the_value_of_the_lab(value: int, high: int) -> None:
    """As a launch in C++ converts it: with the sign, and zeros or ones above the 32 bits."""
    program = compile_source(WIDER.encode(), "lab.cu")
    out = Array("out", (2,), "float32", read_back=True)
    launches = []
    for kernel in program.kernels:
        check_kernel(program, KernelSpec(kernel.name, (("int", "n"), ("float*", "out"))))
        args = (Scalar("n", value, "int32"), out)
        launches.append(Launch(kernel.name, (1, 1, 1), (1, 1, 1), args))
        (scalar, _) = with_parameter_types(launches[-1], kernel).args
        assert isinstance(scalar, Scalar) and scalar.value == value
        assert np.dtype(scalar.dtype).itemsize == kernel.parameters[0].bytes
    for launch, trace in zip(launches, run_all(program, launches, threads=1), strict=True):
        first, above = trace.outputs[1]
        unsigned = {"a": (1 << 24) - 1, "d": 1}.get(launch.kernel)
        assert (launch.kernel, above) == (launch.kernel, unsigned if high and unsigned else high)
        assert first == value or (launch.kernel == "a" and high)


@pytest.mark.parametrize(("source", "line", "says"), MISMATCHED)
def test_a_kernel_that_does_not_match(source: str, line: int, says: str) -> None:
    with pytest.raises(StudentFault) as caught:
        check_kernel(compiled(source), SPEC)
    (finding,) = caught.value.findings
    assert says in finding.message
    assert (finding.kind, finding.severity, finding.line) == ("compile-error", "error", line)
    assert f"expected: {SPEC.signature}" in finding.detail
    assert caught.value.what == finding.message
    assert finding.hint


@pytest.mark.parametrize(
    ("source", "notes"),
    [
        (f"__global__ void mine({SPEC_PARAMETERS}) {{}}", ["kernel `mine` is graded as `matmul`"]),
        (f"namespace n {{ __global__ void matmul({SPEC_PARAMETERS}) {{}} }}", []),
        (f"namespace {{ __global__ void matmul({SPEC_PARAMETERS}) {{}} }}", []),
        (f"static __global__ void matmul({SPEC_PARAMETERS}) {{}}", []),
        (f"__global__ void matmul(int a) {{}}\n__global__ void matmul({SPEC_PARAMETERS}) {{}}", []),
        ("template <class T>\n__global__ void matmul(const T* A, T* C, int n) {}", []),
        (
            f"template <int N> __global__ void mine({SPEC_PARAMETERS}) {{ C[0] = N; }}\n"
            "int main() { mine<4><<<1, 1>>>(0, 0, 0); }",
            ["host code set aside: line 2 (main)", "kernel `mine` is graded as `matmul`"],
        ),
        (
            f"template <int N> __global__ void mine({SPEC_PARAMETERS}) {{ C[0] = N; }}\n"
            f"template __global__ void mine<4>({SPEC_PARAMETERS});",
            ["kernel `mine` is graded as `matmul`"],
        ),
    ],
)
def test_a_kernel_is_graded_under_the_name_of_the_lab(source: str, notes: list[str]) -> None:
    program = compile_source(source.encode(), "lab.cu", wanted=(SPEC,), cache=None)
    fitted = with_lab_kernels(program, [SPEC])
    kernel = fitted.kernel("matmul")
    assert kernel is not None
    assert [p.bytes for p in kernel.parameters] == [8, 8, 4]
    assert list(fitted.notes) == notes
    assert f".entry {kernel.symbol}" in fitted.ptx


def test_the_order_of_names_is_a_note_where_the_types_fit() -> None:
    program = compiled("__global__ void matmul(float* C, float* A, int n) {}")
    (finding,) = wrong_order(with_lab_kernels(program, [SPEC]), [SPEC])
    assert (finding.severity, finding.line) == ("warning", 1)
    assert "in another order: C, A, n" in finding.message
    straight = compiled("__global__ void matmul(float* A, float* C, int n) {}")
    other_names = compiled("__global__ void matmul(float* x, float* y, int m) {}")
    assert wrong_order(straight, [SPEC]) == wrong_order(other_names, [SPEC]) == ()


def test_renaming_a_kernel_of_a_similar_name_is_suggested() -> None:
    program = compiled("__global__ void other() {}\n__global__ void matMul(float* A) {}")
    with pytest.raises(StudentFault) as caught:
        check_kernel(program, SPEC)
    assert caught.value.where == "lab.cu:2"
    assert caught.value.fix == "rename `matMul` to `matmul`"
    assert "found:    __global__ void matMul(float* A)  (line 2)" in caught.value.findings[0].detail


def test_of_two_other_names_the_kernel_with_such_parameters_is_meant() -> None:
    source = (
        "__global__ void add_init(float* a) {}\n"
        "__global__ void sum(const float* a, const float* b, float* c, short n) {}"
    )
    with pytest.raises(StudentFault) as caught:
        check_kernel(compiled(source), VECTOR_ADD)
    assert caught.value.where == "lab.cu:2"
    assert caught.value.fix.startswith('declare it as extern "C" __global__ void add(')
    assert "`sum` has a wrong parameter 4, `n`" in caught.value.findings[0].message


@pytest.mark.parametrize(("bytes_", "fits"), [(4, True), (8, False)])
def test_an_unknown_type_is_compared_by_its_size(bytes_: int, fits: bool) -> None:
    spec = KernelSpec("k", (("int", "n"),))
    kernel = Kernel("k", "k", 1, (Parameter("index_t", "n", bytes_),))
    program = Program("lab.cu", "", (kernel,), "", "", "sm_90")
    if fits:
        assert check_kernel(program, spec) is kernel
    else:
        with pytest.raises(StudentFault, match="8 bytes"):
            check_kernel(program, spec)


VECTOR_ADD = KernelSpec("add", (("const float*", "a"), ("const float*", "b"), ("float*", "c"),
                                    ("int", "n")))  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "permuted"),
    [
        ("float* c, const float* a, const float* b, int size", True),
        ("float* out, const float* x, const float* y, int n", True),
        ("float* c, float* a, float* b, int n", True),
        ("float* a, float* b, float* c, int n", False),
        ("const float* x, const float* y, float* z, int count", False),
        ("float* p, float* q, float* r, int n", False),
    ],
)
def test_an_order_is_known_by_the_pointers_names_or_constness(
    parameters: str, permuted: bool
) -> None:
    source = f'extern "C" __global__ void add({parameters}) {{}}'
    program = with_lab_kernels(compile_source(source.encode(), "a.cu"), [VECTOR_ADD])
    assert bool(wrong_order(program, [VECTOR_ADD])) is permuted
