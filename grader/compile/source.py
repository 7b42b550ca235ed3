"""Compile a student's source to a Program: checks of the text, cache, sandboxed compilation, log.

There are two builds: a `-G` one for diagnostics, and the optimized one that outputs, counters and
points come from. Code that differs between them gains nothing, whatever it uses to tell them apart:
the optimized build is watched like the other one, and its own findings count. On a GPU machine
both are nvcc's, and the optimized one is the PTX of the timed machine code. The one macro that
NVRTC defines in one build alone, `__CUDACC_DEBUG__`, is undefined in both, so that the findings of
the `-G` build describe the code that counts.

A whole program is compiled without its host code (grader.compile.host_code). The Program's source
is the text that was compiled, so that all that reads the source reads what counts.

`compile_source` is the one entry point. A failure that the text causes is a StudentFault with
findings; one that the machine causes is a MachineFault.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal

from grader import dataclass, regex, replace
from grader.compile.cache import cache_key, files_below, load, store, user_folder
from grader.compile.diagnostics import (
    IS_HOST_DATA,
    findings,
    machine_failure,
    missing_header,
    student_fault,
    subscripts,
    used_host_data,
    with_unknown_headers,
)
from grader.compile.entries import exceeded_memory, kernels
from grader.compile.functions import declarations
from grader.compile.host_code import ROUNDS, Selection
from grader.compile.nvrtc import COMPILATION, Installation, installation
from grader.compile.preprocessor import code, kernel_words
from grader.compile.program import Kernel, Program
from grader.compile.source_text import (
    compiled_name,
    decode_source,
    is_minimal,
    nested_launch,
    refuse_forbidden_code,
)
from grader.compile.syntax import Tree, parse
from grader.faults import CHECK_RESOURCES, MachineFault, StudentFault
from grader.labs.model import KernelSpec
from grader.launch import Finding
from grader.sandbox.call import Limits, SandboxFailure, run_sandboxed

FORMAT = 10
"""Version of the cache's entries: increase it when the child returns something else, as it does
where it is given another text for the debug build."""

LIMITS = Limits(wall=90.0, cpu=20.0, memory=2 << 30, output=64 << 20, processes=16)
ARCHITECTURE = "sm_90"

COMPILE = "grader.compile.nvrtc:compile_variants"

_HOST_VARIABLE = regex(r'host variable "(?:\w+::)*(\w+)"')
_WORD = regex(r"[A-Za-z_]\w*")
_INCLUDE = Path(__file__).parent / "include"
_TOOLKIT = ("cooperative_groups", "cuda_fp16.h", "cuda_bf16.h", "mma.h", "cuda/", "cuda_pipeline",
            "cub/", "thrust/complex.h", "thrust/detail/")  # fmt: skip
_TOOLKIT_WHEELS = (
    'python -m pip install "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cccl==13.0.*" '
    '"nvidia-cuda-crt==13.0.*"'
)


@dataclass(frozen=True)
class _Raw:
    """What the child returned.

    Attributes:
        last: Code, log and PTX of the last variant: the one that failed, or the optimized one.
        debug: The same of the debug variant.
        host_data: The log that refuses host variables, which both variants take for device
            variables; empty where there are none.
        names: The C++ name of each mangled symbol.
    """

    last: dict[str, Any]
    debug: dict[str, Any]
    names: dict[str, str]
    host_data: str = ""

    @property
    def log(self) -> str:
        log: str = self.last["log"]
        return log


def compile_source(
    source: bytes,
    file: str,
    *,
    wanted: tuple[KernelSpec, ...] = (),
    architecture: str = ARCHITECTURE,
    cache: Path | Literal["user"] | None = "user",
    limits: Limits = LIMITS,
    confine: bool | None = None,
) -> Program:
    """Compile a student's `.cu` for the simulator: its `-G` and its optimized PTX.

    Args:
        source: The file's content.
        file: Its path; messages show only the last part.
        wanted: The kernels that the lab asks for; with none, every kernel is compiled.
        architecture: What to compile for.
        cache: The folder that results are kept in, "user" for the user's own, None for none.
        limits: Limits of the compiling child.
        confine: Whether to use the sandbox; None where it is available.

    Raises:
        StudentFault: It does not compile; the fault has findings.
        MachineFault: The compiler is missing, or the machine ended it.
    """
    started = time.perf_counter()
    name = compiled_name(file)
    text = decode_source(source, name)
    refuse_forbidden_code(text, name)
    compiler = installation()
    folder = user_folder() if cache == "user" else cache
    compilation = _Compilation(name, architecture, compiler, folder, limits, confine)
    selection = Selection(text, compilation.is_known, wanted)
    program = _device_program(text, selection, compilation, [spec.name for spec in wanted])
    return replace(program, seconds=time.perf_counter() - started)


def nvrtc_options(compiler: Installation) -> dict[str, Any]:
    """Return how sources are compiled for a trial: the `-G` build, as a request's part."""
    return {
        "options": _variants(ARCHITECTURE, compiler)["debug"],
        "libraries": str(compiler.libraries),
        "folder": str(_INCLUDE),
    }


def _device_program(
    text: str, selection: Selection, compilation: _Compilation, wanted: list[str]
) -> Program:
    """Compile a source as it is, or without host code; raise StudentFault if neither compiles."""
    first: StudentFault | None = None
    if not selection.has_host_code:
        program = compilation.attempt(text)
        if isinstance(program, Program):
            return _with_hidden_kernels(program, selection, compilation, wanted)
        first = program
        if selection.failed_assertions(first.findings):
            raise first
        selection.withdraw_assertions(first.findings)
    for _ in range(ROUNDS):
        if (reduced := selection.text()) == text and first is not None:
            break
        program = compilation.attempt(reduced)
        if isinstance(program, Program):
            if first is not None and not (program.kernels or selection.has_host_code):
                break  # what does not compile was all that there is
            return replace(program, notes=tuple(filter(None, [selection.note()])))
        if failed := selection.failed_assertions(program.findings):
            raise _compile_fault(failed)
        if first is None or not selection.lost(program.findings):
            first = first if first is not None and not selection.has_host_code else program
        if not selection.learn(program.findings):
            break
    assert first is not None
    raise with_unknown_headers(first, selection.unknown)


def _with_hidden_kernels(
    program: Program, selection: Selection, compilation: _Compilation, wanted: list[str]
) -> Program:
    """Compile again with the kernels that the compiler left out, where these are asked for."""
    found = {kernel.name.rpartition("::")[2] for kernel in program.kernels}
    if not selection.has_hidden_kernels or (wanted and found.issuperset(wanted)):
        return program
    visible = compilation.attempt(selection.whole())
    return visible if isinstance(visible, Program) else program


@dataclass(frozen=True)
class _Compilation:
    """How the texts of one submission are compiled."""

    name: str
    architecture: str
    compiler: Installation
    cache: Path | None
    limits: Limits
    confine: bool | None

    def attempt(self, text: str) -> Program | StudentFault:
        """Compile a text, or return why the compiler rejects it.

        Raises:
            StudentFault: The compiler reached a limit, or a kernel launches a kernel.
            MachineFault: The compiler is missing, or the machine ended it.
        """
        tree = parse(code(text))
        if nested := nested_launch(text, self.name, tree):
            return student_fault((nested,), nested.message)
        variants = _variants(self.architecture, self.compiler)
        # The key has what the folders hold: another checkout or environment shares the entries.
        options = {k: [o for o in own if not o.startswith("-I")] for k, own in variants.items()}
        key = cache_key(FORMAT, text, self.name, options, self.compiler.contents, _headers())
        known = load(self.cache, key)
        reply = known or self.compiled(text, tree, variants)
        built = reply["variants"]
        raw = _Raw([*built.values()][-1], built["debug"], reply["names"], reply["host_data"])
        program: Program | StudentFault
        try:
            program = _program(raw, text, tree, self.name, self.architecture, self.compiler)
        except StudentFault as fault:  # a MachineFault would then be the answer for ever
            program = fault
        if known is None and (isinstance(program, Program) or raw.last["code"] == COMPILATION):
            store(self.cache, key, reply)
        return program

    def compiled(self, text: str, tree: Tree, variants: dict[str, list[str]]) -> Any:
        """Compile a text in a child; see `compile_variants`."""
        # imported here because most checks find what was compiled before
        from grader.compile.unset import with_unset_variables

        request = {
            "source": text,
            "debug_source": with_unset_variables(text, tree),
            "file": self.name,
            "variants": variants,
            "libraries": str(self.compiler.libraries),
            "folder": str(_INCLUDE),
            "minimal": is_minimal(text, frozenset(os.listdir(_INCLUDE))),
        }
        return _compiled(request, self.limits, self.confine)

    def is_known(self, header: str) -> bool:
        """Whether device code has a header of that name, if the toolkit is installed.

        A path that leads out of the include folders is never looked for.
        """
        if ".." in header.split("/") or header.startswith("/"):
            return False
        folders = (_INCLUDE, *self.compiler.headers)
        return header.startswith(_TOOLKIT) or any((f / header).is_file() for f in folders)


def toolchain() -> dict[str, str]:
    """Return the compiler's release, for provenance.

    Raises:
        MachineFault: The compiler is not installed.
    """
    return {"nvrtc": installation().release}


def architectures() -> tuple[str, ...]:
    """Return the architectures that the compiler supports: "sm_75", ..."""
    compiler = installation()
    reply = run_sandboxed(
        "grader.compile.nvrtc:architectures", {"libraries": str(compiler.libraries)}, limits=LIMITS
    )
    return tuple(f"sm_{number}" for number in reply.value)


def _variants(architecture: str, compiler: Installation) -> dict[str, list[str]]:
    """The options of each compilation; the faster one, which finds the errors, comes first.

    No macro differs between the two.
    """
    headers = [f"-I{folder}" for folder in (_INCLUDE, *compiler.headers, _INCLUDE / "host")]
    base = ["--std=c++17", "--device-int128", "--pre-include=cuda_runtime.h", *headers]
    base += ["-D_CCCL_META_UNROLL_LIMIT=10"]  # as for nvcc: NVRTC's 16 takes twice as long to read
    base += ["--diag-warn=175"]  # for diagnostics.subscripts
    base += ["--no-cache"]  # what NVRTC keeps on machines with a driver comes without ptxas's log
    virtual = architecture.replace("sm_", "compute_")
    return {
        "debug": ["-G", "-U__CUDACC_DEBUG__", f"-arch={virtual}", *base],
        "optimised": ["-lineinfo", "--ptxas-options=-v", f"-arch={architecture}", *base],
    }


def _headers() -> list[str]:
    """The names and contents of our headers, which are part of a compilation's key."""
    texts = []
    for path in files_below(_INCLUDE, ""):
        with open(path) as file:
            texts.append(f"{os.path.basename(path)}\n{file.read()}")
    return texts


def _compiled(request: dict[str, Any], limits: Limits, confine: bool | None) -> Any:
    from grader.compile.crashes import CONTROL, CRASHES, compiler_fault, crash_fault

    nothing = dict.fromkeys(("source", "debug_source", "file"), "")
    known = CONTROL, {**request, **nothing, "cpu": 0, "bytes": 0}
    run = partial(run_sandboxed, COMPILE, request, limits=limits, confine=confine, rehearsal=known)
    for attempt in range(1, CRASHES + 1):
        try:
            return run().value
        except SandboxFailure as failure:
            if not failure.signal:
                raise compiler_fault(failure, request["file"], limits) from failure
            if attempt == CRASHES:
                raise crash_fault(failure, COMPILE, request, limits, confine) from failure


def _program(
    raw: _Raw, text: str, tree: Tree, name: str, architecture: str, compiler: Installation
) -> Program:
    declared = declarations(tree, kernel_words(text))
    if raw.last["code"] != 0:
        debug_kernels = kernels(raw.debug["ptx"], raw.names, declared, raw.log)
        raise _failure(raw, debug_kernels, text, name, compiler)
    if used := used_host_data(raw.host_data, raw.debug["ptx"], name, text):
        raise _compile_fault(used)
    return Program(
        file=name,
        source=text,
        kernels=kernels(raw.last["ptx"], raw.names, declared, raw.log),
        debug_ptx=raw.debug["ptx"],
        ptx=raw.last["ptx"],
        architecture=architecture,
        warnings=findings(raw.log, name, text, launched=[d.name for d in declared]),
        toolchain={"nvrtc": compiler.release},
        subscripts=subscripts(raw.log, name),
    )


def _failure(
    raw: _Raw, debug_kernels: tuple[Kernel, ...], text: str, name: str, compiler: Installation
) -> StudentFault | MachineFault:
    """Why it did not compile; one message where that explains more than the compiler's many."""
    missing = missing_header(raw.log)
    if missing.startswith(_TOOLKIT) and not compiler.headers:
        return MachineFault(f"the toolkit's header {missing} is not installed", fix=_TOOLKIT_WHEELS)
    if any((folder / missing).is_file() for folder in (_INCLUDE, *compiler.headers) if missing):
        return MachineFault(f"the compiler could not read {missing}", fix=CHECK_RESOURCES)
    if failure := machine_failure(raw.log):
        return MachineFault(f"the compiler failed: {failure}", fix=CHECK_RESOURCES)
    errors = _without_unused_host_data(findings(raw.log, name, text, raw.last["ptx"]))
    if not any(f.severity == "error" for f in errors):
        rejected = raw.last["code"] == COMPILATION
        errors = rejected and exceeded_memory(raw.log, raw.debug["ptx"], debug_kernels, text, name)
    if not errors:
        return MachineFault(f"NVRTC failed with code {raw.last['code']} and reported no error")
    return _compile_fault(errors)


def _without_unused_host_data(found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Leave out the errors about host variables that no device code uses, where there are others.

    Without the others, the source would compile. A warning names each variable that is used.
    """
    if all(f.severity != "error" or f.message == IS_HOST_DATA for f in found):
        return found
    used = {name for f in found for name in _HOST_VARIABLE.findall(f.message)}
    return tuple(
        f for f in found
        if f.message != IS_HOST_DATA or not f.column
        or not used.isdisjoint(_WORD.findall(f.text, f.column - 1)[:1])
    )  # fmt: skip


def _compile_fault(errors: tuple[Finding, ...]) -> StudentFault:
    count = sum(f.severity == "error" for f in errors)
    return student_fault(errors, f"it does not compile: {count} error{'s' * (count != 1)}")
