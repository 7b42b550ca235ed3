"""Compile a program with nvcc, which PyCUDA calls, in a sandbox without a GPU.

On a GPU machine the simulator runs the PTX that nvcc makes: that of the cubin which the GPU runs,
and its debug variant (`-G`). Build-dependent code, which distinguishes NVRTC from nvcc, is thus
checked in the same form in which it is timed.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, regex, replace
from grader.compile.cache import cache_key, load, store, user_folder
from grader.compile.diagnostics import machine_failure
from grader.compile.entries import kernels
from grader.compile.functions import declarations
from grader.compile.nvrtc import entry_names
from grader.compile.preprocessor import code, kernel_words
from grader.compile.program import Program
from grader.compile.syntax import parse
from grader.faults import CHECK_RESOURCES, MachineFault, StudentFault
from grader.gpu.devices import Toolkit, library_folder, toolkit
from grader.launch import Finding
from grader.sandbox.call import Limits, SandboxFailure, describe_sandbox, run_sandboxed
from grader.sandbox.user import shared_temporary_folder

FORMAT = 2
LIMITS = Limits(wall=60.0, cpu=60.0, memory=4 << 30, output=64 << 20, processes=64)
OPTIONS = ["-lineinfo", "--std=c++17"]
DEBUG_OPTIONS = ["-G", "--std=c++17"]

_ERROR = regex(r"^[^\s:()]*\((\d{1,9})\): (?:error|catastrophic error)[^:\n]*: (.*)$", re.M)
_ASSEMBLER = regex(r"^ptxas (?:\S+, line \d+; )?error\s*: (.*)$", re.M)
_RELEASE = regex(r"\bV([\d.]+)")
_PTX_NAME = "kernel.ptx"  # PyCUDA names the source kernel.cu
_FILE_DIRECTIVE = regex(r'^([ \t]*\.file[ \t]+\d+ ")(?:[^"\n]*/)?([^"/\n]+")', re.MULTILINE)


@dataclass(frozen=True)
class Built:
    """The output of nvcc for one source.

    Attributes:
        cubin: the machine code.
        ptx: the PTX that the cubin is made from.
        debug_ptx: the PTX compiled with `-G`.
        log: the report of ptxas.
        names: the C++ names of mangled kernels.
    """

    cubin: bytes
    ptx: str
    debug_ptx: str
    log: str
    names: Mapping[str, str]


def compile_cubin(program: Program, architecture: str) -> bytes:
    """Compile `program` to machine code for an architecture such as "sm_90"; see `build`."""
    return build(program, architecture).cubin


def with_nvcc_ptx(program: Program, architecture: str) -> Program:
    """Return the program with nvcc's PTX, kernels and resources in place of NVRTC's."""
    built = build(program, architecture)
    declared = declarations(parse(code(program.source)), kernel_words(program.source))
    return replace(
        program,
        kernels=kernels(built.ptx, built.names, declared, built.log),
        ptx=built.ptx,
        debug_ptx=built.debug_ptx,
        architecture=architecture,
    )


def build(program: Program, architecture: str) -> Built:
    """Compile the source of `program`, or take the result from the cache.

    Raises:
        StudentFault: nvcc rejects what NVRTC accepted.
        MachineFault: nvcc cannot be run.
    """
    tools = toolkit()
    if tools is None:
        raise MachineFault("nvcc is not installed", fix="install the CUDA toolkit 13.0")
    folder = user_folder()
    options = [OPTIONS, DEBUG_OPTIONS]
    inputs = (program.source, program.file, architecture, options, cached_release(tools))
    key = cache_key("nvcc", FORMAT, *inputs)
    kept = load(folder, key)
    if kept is None:
        kept = _compile(program, architecture, tools)
        store(folder, key, kept)
    return Built(**{**kept, "cubin": base64.b64decode(kept["cubin"])})


def release(tools: Toolkit) -> str:
    """Ask nvcc for its release, such as "13.0.88".

    Raises:
        MachineFault: nvcc does not run.
    """
    try:
        done = subprocess.run([tools.nvcc, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(f"nvcc does not run: {error}", where=str(tools.nvcc)) from error
    match = _RELEASE.search(done.stdout)
    return match[1] if match else "unknown"


def cached_release(tools: Toolkit) -> str:
    """Return the release of nvcc, cached by nvcc's path, size and time.

    Raises:
        MachineFault: nvcc does not run.
    """
    try:
        file = tools.nvcc.stat()
    except OSError:
        return release(tools)
    key = cache_key("release", FORMAT, str(tools.nvcc), file.st_mtime_ns, file.st_size)
    known = load(user_folder(), key)
    if known is None:
        known = release(tools)
        store(user_folder(), key, known)
    return str(known)


def _compile(program: Program, architecture: str, tools: Toolkit) -> dict[str, Any]:
    """Run the compiler's child; return the fields of a Built as JSON."""
    request = {
        "source": program.source,
        "file": program.file,
        "nvcc": str(tools.nvcc),
        "options": OPTIONS,
        "debug": DEBUG_OPTIONS,
        "architecture": architecture,
    }
    libraries = library_folder()
    readable = (tools.root, *((libraries,) if libraries else ()))
    outside_usr = tuple(p for p in readable if Path("/usr") not in p.parents)
    step = f"{__name__}:{run_nvcc.__name__}"
    with _scratch() as scratch:
        variables = {
            "PATH": f"{tools.nvcc.parent}:/usr/local/bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH": str(libraries or ""),
            "TMPDIR": scratch,
            "CUDA_VISIBLE_DEVICES": "",
        }
        try:
            reply = run_sandboxed(
                step, request, limits=LIMITS, readable=outside_usr, variables=variables
            )
        except SandboxFailure as death:
            what = f"nvcc did not finish: {death.detail}"
            if not death.caused_by_child:
                raise MachineFault(what, fix="grade fewer at a time") from death
            raise StudentFault(what, findings=(_finding(program, 0, what),)) from death
    if "cubin" not in reply.arrays:
        raise _compile_fault(program, str(reply.value["refused"]))
    cubin = base64.b64encode(reply.arrays["cubin"].tobytes()).decode()
    return {**reply.value, "cubin": cubin}


@contextmanager
def _scratch() -> Iterator[str]:
    """Yield a folder for nvcc's files: the sandbox's private /tmp, else a temporary one."""
    if describe_sandbox():
        yield "/tmp"
        return
    base = shared_temporary_folder()
    with tempfile.TemporaryDirectory(prefix="warpgrade-", dir=base) as folder:
        os.chmod(folder, 0o1777)  # the child may be another user
        yield folder


def _compile_fault(program: Program, log: str) -> StudentFault | MachineFault:
    if failure := machine_failure(log):
        return MachineFault(f"nvcc failed: {failure}", fix=CHECK_RESOURCES)
    errors = tuple(_finding(program, int(m[1]), m[2]) for m in _ERROR.finditer(log))
    errors += tuple(_finding(program, 0, m[1]) for m in _ASSEMBLER.finditer(log))
    if not errors:
        last = (log.strip().splitlines() or ["no error message"])[-1]
        return MachineFault(f"nvcc failed: {last}", fix="run nvcc --version; see `grader doctor`")
    what = f"nvcc does not compile the file: {len(errors)} error{'s' * (len(errors) != 1)}"
    return StudentFault(what, findings=errors[:20])


def _finding(program: Program, line: int, message: str) -> Finding:
    return program.at(Finding("compile-error", "error", message), line)


def run_nvcc(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, dict[str, Any]]:
    """Compile the source to a cubin and to both variants of PTX; runs in a sandboxed child.

    nvcc keeps the PTX that the cubin is made from, so that the simulator runs the same code as the
    GPU. The `-G` PTX comes from the same front end and the same source.

    Returns:
        The fields of Built, with the cubin as an array; {"refused": nvcc's log}
        when the source does not compile.
    """
    with tempfile.TemporaryDirectory() as kept, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # PyCUDA reports the compiler's output as a warning
        keep = ["--keep", "--keep-dir", kept, "--ptxas-options=-v"]
        with ThreadPoolExecutor(2) as pool:
            debug = pool.submit(_nvcc, request, request["debug"], "ptx")
            cubin, refused = _nvcc(request, [*request["options"], *keep], "cubin")
            debug_ptx, refused_debug = debug.result()
        if not cubin or not debug_ptx:
            return {"refused": refused or refused_debug}, {}
        ptx = (Path(kept) / _PTX_NAME).read_text(errors="replace")
    log = next((text for w in caught if "ptxas info" in (text := str(w.message))), "")
    texts = [
        _with_source_name(text, request["file"])
        for text in (ptx, debug_ptx.decode(errors="replace"))
    ]
    built = {"log": log, "ptx": texts[0], "debug_ptx": texts[1], "names": entry_names(texts)}
    return built, {"cubin": np.frombuffer(cubin, np.uint8)}


def _nvcc(request: Any, options: list[str], target: str) -> tuple[bytes, str]:
    """Run nvcc; return its output, or nothing and its error messages."""
    from pycuda.compiler import compile as nvcc
    from pycuda.driver import CompileError

    try:
        made: bytes = nvcc(
            request["source"],
            nvcc=request["nvcc"],
            options=options,
            no_extern_c=True,
            arch=request["architecture"],
            cache_dir=False,
            target=target,
        )
    except CompileError as error:
        return b"", f"{error.stdout}{error.stderr}" or "no error message"
    return made, ""


def _with_source_name(ptx: str, file: str) -> str:
    """Name the source in the PTX as the submission does, without folders."""
    return _FILE_DIRECTIVE.sub(r"\1\2", ptx).replace('"kernel.cu"', f'"{file}"')
