"""Sources that do not compile, with the messages expected, and similar ones that compile."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.compile import crashes
from grader.compile import source as module
from grader.compile.diagnostics import with_unknown_headers
from grader.compile.nvrtc import installation
from grader.compile.program import Program, Subscript
from grader.compile.source import architectures, compile_source, toolchain
from grader.compile.source_text import MAX_BYTES
from grader.faults import MachineFault, StudentFault
from grader.launch import Finding
from grader.sandbox.call import Limits, SandboxFailure
from grader.sandbox.message import FailureReason

HERE = Path(__file__).parent
ERRORS = sorted((HERE / "errors").glob("*.cu"))
CLEAN = sorted((HERE / "clean").glob("*.cu"))

KERNEL = b'extern "C" __global__ void k(float* a) { a[0] = 1; }\n'


def compiled(path: Path) -> Program:
    return compile_source(path.read_bytes(), str(path), cache=None)


def refused(source: bytes, file: str = "lab.cu", limits: Limits = module.LIMITS) -> Finding:
    """The first finding of a source that must be refused."""
    with pytest.raises(StudentFault) as caught:
        compile_source(source, file, cache=None, limits=limits)
    return caught.value.findings[0]


@pytest.mark.parametrize("path", ERRORS, ids=lambda p: p.stem)
def test_an_error_has_its_message_and_place(path: Path) -> None:
    text = path.read_text()
    expected = re.findall(r"^// expect: (\S+) (\d+)(?::(\d+))? (.+)$", text, re.MULTILINE)
    hint = re.search(r"^// hint: (.+)$", text, re.MULTILINE)
    with pytest.raises(StudentFault) as caught:
        compiled(path)
    findings = caught.value.findings
    assert expected
    assert len(findings) >= len(expected)
    for (kind, line, column, message), finding in zip(expected, findings, strict=False):
        assert finding.severity == "error"
        assert (finding.kind, finding.line) == (kind, int(line)), finding
        assert message in finding.message
        assert finding.file == path.name
        assert finding.text == text.split("\n")[int(line) - 1].rstrip()
        if column:
            assert finding.column == int(column)
    if hint:
        assert findings[0].hint == hint[1]
    assert caught.value.where == f"{path.name}:{findings[0].line}"
    assert str(HERE) not in str(findings)
    assert "grader/compile" not in str(findings)


def test_only_the_non_ascii_character_of_a_line_is_reported() -> None:
    with pytest.raises(StudentFault) as caught:
        compiled(HERE / "errors" / "long_dash.cu")
    assert len(caught.value.findings) == 1


@pytest.mark.parametrize("path", CLEAN, ids=lambda p: p.stem)
def test_a_correct_source_compiles_without_warnings(path: Path) -> None:
    program = compiled(path)
    assert program.warnings == ()
    kernel = program.kernel("k")
    assert kernel is not None
    assert kernel.parameters[0].is_pointer
    assert "__global__ void k(" in program.source.split("\n")[kernel.line - 1]
    for ptx in (program.ptx, program.debug_ptx):
        assert f".entry {kernel.symbol}" in ptx
        assert f'"{path.name}"' in ptx
        assert "/" + path.name not in ptx
    assert ".loc" in program.ptx
    assert ".section" in program.debug_ptx


@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b" \n\t\r\n", "empty", id="blank"),
        pytest.param(KERNEL + b"\0", "binary", id="NUL"),
        pytest.param(b"\x7fELF\x02\x01\x01\x00", "binary", id="ELF"),
        pytest.param(b"// caf\xe9\n" + KERNEL, "0xe9 at line 1 is not UTF-8", id="latin-1"),
        pytest.param(b"\n\n\x1b[31m" + KERNEL, "0x1b at line 3", id="escape"),
        pytest.param(KERNEL + b" " * MAX_BYTES, "256 KiB", id="large"),
        pytest.param(b"x" * (10 << 20), "10,485,760 bytes", id="10 MB"),
    ],
)
def test_files_that_are_not_source_text_are_refused(source: bytes, says: str) -> None:
    finding = refused(source)
    assert finding.kind == "compile-error"
    assert says in finding.message
    assert finding.hint


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
def test_line_ends_and_byte_order_mark_are_ignored(mark: bytes, end: bytes) -> None:
    lines = [b'extern "C" __global__ void k(float* a) {', b"  a[0] = x;", b"}", b""]
    finding = refused(mark + end.join(lines))
    assert (finding.line, finding.column, finding.text) == (2, 10, "  a[0] = x;")


EXPANDING = {
    "macros": "#define A0 x x x x x x x x x x\n"
    + "".join(f"#define A{i} {f'A{i - 1} ' * 10}\n" for i in range(1, 10))
    + 'extern "C" __global__ void k(int* a) { A9 }\n',
    "templates": "template <int N> __device__ int r(int x) {"
    "return r<N - 1>(x) + r<N - 1>(x + N) * r<N - 1>(x - N); }\n"
    "template <> __device__ int r<0>(int x) { return x * x; }\n"
    'extern "C" __global__ void k(int* a) { a[0] = r<25>(a[1]); }\n',
}


@pytest.mark.parametrize("name", EXPANDING)
def test_a_compilation_ends_at_the_time_limit(name: str) -> None:
    finding = refused(EXPANDING[name].encode(), limits=Limits(wall=60.0, cpu=1.0, memory=2 << 30))
    assert finding.kind == "compile-error"
    assert "more than 1 s" in finding.message


def test_a_compilation_ends_at_the_memory_limit() -> None:
    source = b"__device__ int big[1 << 26] = {1};\n__global__ void k(int* a) { a[0] = big[a[1]]; }"
    finding = refused(source, limits=Limits(wall=20.0, memory=400 << 20))
    assert "more than 400 MB" in finding.message


@pytest.mark.parametrize("reason", ["timeout", "memory"])
def test_a_compiler_stopped_within_its_limits_is_a_machine_fault(
    reason: FailureReason, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that reaches a limit is the student's fault, in the tests above."""

    def ended(*_: object, **__: object) -> None:
        raise SandboxFailure(reason, "it waited", caused_by_child=False)

    monkeypatch.setattr(module, "run_sandboxed", ended)
    with pytest.raises(MachineFault, match="stopped within its limits: it waited"):
        compile_source(b"__global__ void k(int* a) { a[0] = 1; }", "a.cu", cache=None)


def test_only_the_first_errors_are_reported() -> None:
    body = "".join(f"    a[{i}] = x{i};\n" for i in range(60))
    with pytest.raises(StudentFault) as caught:
        compile_source(f"__global__ void k(int* a) {{\n{body}}}\n".encode(), "lab.cu", cache=None)
    assert len(caught.value.findings) == 20
    assert [f.line for f in caught.value.findings] == list(range(2, 22))


def test_a_subscript_outside_its_array_is_told_apart_from_warnings() -> None:
    source = b"__global__ void k(int *out) {\n    int a[4] = {};\n    if (out[0]) a[4] = 1;\n"
    source += b"    *out = a[-1] + a[3];\n}\n"
    program = compile_source(source, "lab.cu", cache=None)
    assert program.warnings == ()
    assert program.subscripts == (Subscript(3, 17), Subscript(4, 13))


def test_warnings_are_part_of_the_program() -> None:
    source = KERNEL.replace(b"a[0] = 1;", b"int unused; a[0] = 1;")
    (warning,) = compile_source(source, "lab.cu", cache=None).warnings
    assert (warning.kind, warning.severity, warning.line) == ("compile-warning", "warning", 1)
    assert "never referenced" in warning.message


def test_resources_and_names() -> None:
    source = b"""#define TILE 16
typedef float real;
__global__ void __launch_bounds__(256, 2) matmul(const real* __restrict__ A, real B[], int n) {
    __shared__ real tile[TILE][TILE];
    real local[64];
    for (int i = 0; i < 64; i++) local[i] = A[i];
    for (int i = 0; i < n; i++) local[(i * n) % 64] += local[i % 64];
    tile[threadIdx.y][threadIdx.x] = local[n];
    __syncthreads();
    B[n] = tile[threadIdx.x][threadIdx.y];
}
"""
    program = compile_source(source, "some folder/my lab(1).cu", cache=None)
    assert program.file == "my lab(1).cu"
    (kernel,) = program.kernels
    assert kernel.signature == "__global__ void matmul(const float* A, float* B, int n)"
    assert [p.bytes for p in kernel.parameters] == [8, 8, 4]
    assert (kernel.line, kernel.symbol) == (3, "_Z6matmulPKfPfi")
    assert kernel.resources.static_shared_bytes == 1024
    assert kernel.resources.local_bytes == 256
    assert 8 <= (kernel.resources.registers or 0) <= 128  # what the launch bounds leave


def test_templates_of_the_library_are_unrolled_as_for_nvcc() -> None:
    """NVRTC's own limit doubles the time to read cooperative_groups.h; the PTX is the same."""
    limit = "_CCCL_META_UNROLL_LIMIT"
    source = f"#include <cooperative_groups.h>\nstatic_assert({limit} == 10);\n".encode()
    assert compile_source(source + KERNEL, "lab.cu", cache=None).kernels
    name = "cuda/std/__type_traits/type_list.h"
    places = [folder / name for folder in installation().headers]
    (text,) = [place.read_text() for place in places if place.is_file()]
    assert re.search(rf"\(NVCC\).*\n# *define {limit} 10\n", text)


def test_findings_contain_no_path() -> None:
    source = KERNEL.replace(b"a[0] = 1;", b'printf("<%s>", __FILE__); a[0] = x;')
    with pytest.raises(StudentFault) as caught:
        compile_source(source, "/secret/folder/lab.cu", cache=None)
    assert "secret" not in str(caught.value.findings)


def test_the_toolchain_is_named() -> None:
    assert re.fullmatch(r"13\.0\.\d+", toolchain()["nvrtc"])
    assert {"sm_80", "sm_90"} <= set(architectures())


def test_another_architecture() -> None:
    assert ".target sm_80" in compile_source(KERNEL, "k.cu", architecture="sm_80", cache=None).ptx


def test_a_missing_compiler_is_a_machine_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.compile.nvrtc.RELEASE", "12.9")
    with pytest.raises(MachineFault, match="not installed") as caught:
        compile_source(KERNEL, "k.cu", cache=None)
    assert "pip install" in caught.value.fix


CRASH = "tests.sandbox.sandboxed_steps:crash_on_request"
REFUSE = "tests.sandbox.sandboxed_steps:crash"


@pytest.mark.parametrize(
    ("signals", "control", "machine"),
    [
        ((11, 11), crashes.CONTROL, False),
        ((6, 6), crashes.CONTROL, False),
        ((11, 11), REFUSE, True),  # another file crashes it too
        ((9, 9), crashes.CONTROL, True),
        ((7, 7), crashes.CONTROL, True),  # SIGBUS: a page could not be read
    ],
)
def test_a_crash_of_the_compiler_is_the_texts_only_when_others_compile(
    signals: tuple[int, ...], control: str, machine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPILE", CRASH)
    monkeypatch.setattr(crashes, "CONTROL", control)
    text = f"// signal {signals[0]}\n".encode() + KERNEL
    with pytest.raises(MachineFault if machine else StudentFault) as caught:
        compile_source(text, "lab.cu", cache=None)
    assert ("crashes on this file" in caught.value.what) != machine


@pytest.mark.parametrize("by_name", [False, True])
def test_a_crash_by_a_barrier_of_no_threads_names_its_line(*, by_name: bool) -> None:
    asm = 'asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "n"(0));'
    if by_name:
        asm = "__mbarrier_init(&bar, 0);"
    source = f"""#include <cuda_awbarrier_primitives.h>
__global__ void k(int *out) {{
    __shared__ __mbarrier_t bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    {asm}
    *out = at;
}}
"""
    with pytest.raises(StudentFault) as caught:
        compile_source(source.encode(), "k.cu", cache=None)
    (finding,) = caught.value.findings
    assert (finding.line, "count of 0" in finding.message) == (5, True)


def test_a_crash_that_does_not_happen_again_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = iter([CRASH, module.COMPILE])
    run = module.run_sandboxed
    monkeypatch.setattr(
        module, "run_sandboxed", lambda step, request, **more: run(next(steps), request, **more)
    )
    text = b"// signal 11\n" + KERNEL
    assert compile_source(text, "lab.cu", cache=None).kernel("k") is not None


def test_a_crash_under_a_limit_of_the_machine_is_never_the_texts() -> None:
    text = b"// signal 11\n" + KERNEL
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))\n"
        "from grader.compile import source as module; from grader.faults import MachineFault\n"
        f"module.COMPILE = {CRASH!r}\n"
        f"try: module.compile_source({text!r}, 'a.cu', cache=None)\n"
        "except MachineFault: print('machine')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "machine\n", done.stderr


OUT_OF_MEMORY = [
    "x.cu(3): catastrophic error: out of memory",
    "x.cu(3): catastrophic error: error while writing generated file: No space left on device",
    "ptxas fatal   : Memory allocation failure",
    "ptxas fatal   : Could not open output file '/tmp/a.cubin'",
]
BY_THE_TEXT = [
    'x.cu(1): error: static assertion failed with "out of memory"',
    "x.cu(1): catastrophic error: #error directive: out of memory",
    'x.cu(1): catastrophic error: could not open source file "disk.h" (no directories in list)',
    "ptxas fatal   : Unresolved extern function 'f'",
    "  x.cu(3): catastrophic error: out of memory",  # a line of the source
]


@pytest.mark.parametrize("log", OUT_OF_MEMORY)
def test_a_compiler_without_memory_or_disk_is_a_machine_fault_and_not_kept(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module._compiled

    def fails(*arguments: Any) -> Any:
        reply = real(*arguments)
        last = {"code": module.COMPILATION, "log": log, "ptx": ""}
        return {**reply, "variants": {"debug": reply["variants"]["debug"], "optimised": last}}

    monkeypatch.setattr(module, "_compiled", fails)
    with pytest.raises(MachineFault, match="the compiler failed: "):
        compile_source(KERNEL, "x.cu", cache=tmp_path)
    monkeypatch.setattr(module, "_compiled", real)
    assert compile_source(KERNEL, "x.cu", cache=tmp_path).kernel("k")


@pytest.mark.parametrize("log", BY_THE_TEXT)
def test_other_fatal_errors_are_of_the_text(log: str) -> None:
    assert module.machine_failure(log) == ""


@pytest.mark.parametrize(
    ("header", "words"),
    [("curand_kernel.h", "the grader's extra `curand`"), ("mine.h", "if `mine.h` declares it")],
)
def test_undefined_name_of_a_missing_header_says_so(header: str, words: str) -> None:
    finding = Finding("compile-error", "error", 'identifier "x" is undefined', file="k.cu", line=2)
    fault = StudentFault("1 error", findings=(finding,))
    assert words in with_unknown_headers(fault, (header,)).findings[0].hint
    assert with_unknown_headers(fault, ()).findings == (finding,)
