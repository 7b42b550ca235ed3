"""Compile with NVRTC in a sandboxed child process, and demangle the kernels' names.

NVRTC is the CUDA compiler as a library (NVRTC documentation, API functions). It comes as the PyPI
wheel `nvidia-cuda-nvrtc` and needs neither a GPU nor a toolkit. Only children load it, because it
is native code that reads a student's text.

A child starts for every submission, so this module imports neither NumPy nor a module that does.
"""

from __future__ import annotations

import ctypes
import importlib.util
import mmap
import os
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from grader import dataclass, regex
from grader.faults import MachineFault

RELEASE = "13.0"
INSTALL = 'python -m pip install "nvidia-cuda-nvrtc==13.0.*"'

SUCCESS = 0
OUT_OF_MEMORY = 1
COMPILATION = 6
"""Result codes of NVRTC."""

KNOWN_SOURCE = """\
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>

template <int TILE, typename T>
__global__ void multiply(const T* a, const T* b, T* c, int n)
{
    __shared__ T as[TILE][TILE], bs[TILE][TILE + 1];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    T sum = 0;
    for (int start = 0; start < n; start += TILE) {
        as[y][x] = row < n && start + x < n ? a[row * n + start + x] : T(0);
        bs[y][x] = column < n && start + y < n ? b[(start + y) * n + column] : T(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k)
            sum += as[y][k] * bs[k][x];
        __syncthreads();
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
    else if (sum != sum)
        printf("%d %d %f\\n", row, column, sqrt((double)sum));
}
template __global__ void multiply<16, float>(const float*, const float*, float*, int);
template __global__ void multiply<32, double>(const double*, const double*, double*, int);
"""
"""A source that every working compiler compiles, with what submissions have."""

_CUDA_VERSION = regex(rb"#define\s+CUDA_VERSION\s+(\d+)")

MAX_LOG_LINE = 1000
MAX_LOG_LINES = 20000

_CONSTANT = regex(r"\bconst(?:expr|eval)\b")
_ENTRY = regex(r"\.entry\s+(_Z[\w$]+)")
HOST_DATA = "host variables are not allowed in JIT mode"
"""What the compiler says about a global variable without a memory space."""
HOST_FUNCTION = "host functions are not allowed in JIT mode"
"""What the compiler says about a function without an execution space."""
_ERROR = ": error: "
_DIAGNOSTIC = regex(r"[^ \t\n(][^\n(]*+(?:\((\d{1,9})\))?: (?:error|warning|remark)\b")
_HOST_LAMBDA = "for the lambda closure class members was inferred to be __host__"
_AS_DEVICE, _MINIMAL = "--device-as-default-execution-space", "-minimal"
_FILE = regex(r'^([ \t]*\.file[ \t]+\d+ ")[^"\n]*/([^"/\n]+")', re.MULTILINE)


@dataclass(frozen=True)
class Compiled:
    """One compilation: NVRTC's result code (0 is success), its log, and the PTX text if any."""

    code: int
    log: str
    ptx: str = ""


@dataclass(frozen=True)
class Installation:
    """The installed compiler.

    Attributes:
        libraries: The folder of its libraries.
        release: Its release, such as "13.0.88".
        headers: The folders of the toolkit's headers; none when their wheels are not installed.
        contents: What those folders hold, wherever they are: the releases of NVIDIA's wheels, and
            the folders that are not from a wheel.
    """

    libraries: Path
    release: str
    headers: tuple[Path, ...]
    contents: tuple[str, ...] = ()


def installation() -> Installation:
    """Find the installed NVRTC.

    Raises:
        MachineFault: There is none of release RELEASE.
    """
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations or ())]
    roots = [folder / f"cu{RELEASE.partition('.')[0]}" for folder in folders]
    for root in roots:
        if (root / "lib" / _library()).exists():
            headers = _headers([root, *(other for other in roots if other != root)])
            contents = _contents(folders, headers)
            return Installation(root / "lib", _release(contents), headers, contents)
    raise MachineFault(f"NVRTC {RELEASE}, the CUDA compiler, is not installed", fix=INSTALL)


class Nvrtc:
    """The loaded library."""

    def __init__(self, folder: Path) -> None:
        """Load the library from `folder`.

        Raises:
            MachineFault: The loader failed.
        """
        builtins = folder / f"libnvrtc-builtins.so.{RELEASE}"
        try:
            ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)  # NVRTC looks for it by name only
            self._library = ctypes.CDLL(str(folder / _library()))
        except OSError as error:
            raise MachineFault(f"NVRTC cannot be loaded: {error}", fix=INSTALL) from error

    def compile(self, source: bytes, name: str, options: list[str]) -> Compiled:
        """Compile CUDA C++; `name` is the file that messages show."""
        program = ctypes.c_void_p()
        created = self._library.nvrtcCreateProgram(
            ctypes.byref(program), source, name.encode(), 0, None, None
        )
        if created != SUCCESS:
            return Compiled(created, "")
        words = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        code = self._library.nvrtcCompileProgram(program, len(options), words)
        log = self._text(program, "ProgramLog")
        ptx = self._text(program, "PTX") if code == SUCCESS else ""
        self._library.nvrtcDestroyProgram(ctypes.byref(program))
        return Compiled(code, log, ptx)

    def architectures(self) -> list[int]:
        """Return the compute capabilities that it compiles for, times ten: 75, 80, ..."""
        count = ctypes.c_int()
        self._library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        values = (ctypes.c_int * count.value)()
        self._library.nvrtcGetSupportedArchs(values)
        return list(values)

    def _text(self, program: ctypes.c_void_p, what: str) -> str:
        size = ctypes.c_size_t()
        getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self._library, f"nvrtcGet{what}")(program, buffer)
        return buffer.value.decode(errors="replace")


def _library() -> str:
    return f"libnvrtc.so.{RELEASE.partition('.')[0]}"


def _contents(folders: Sequence[Path], headers: Sequence[Path]) -> tuple[str, ...]:
    """Return the wheels of NVIDIA with their versions, and the folders of headers of no wheel.

    The version is from the name of the wheel's record; reading the metadata would take 10 ms.
    """
    found: list[str] = []
    for folder in folders:
        wheels = sorted(path.stem for path in folder.parent.glob("nvidia_*.dist-info"))
        within = [] if wheels else [str(place) for place in headers if folder in place.parents]
        found += wheels or within
    apart = [place for place in headers if not any(folder in place.parents for folder in folders)]
    return (*found, *map(str, apart))


def _release(contents: Iterable[str]) -> str:
    """The version of NVRTC's wheel."""
    ours = f"nvidia_cuda_nvrtc-{RELEASE}."
    return next((name.split("-")[1] for name in contents if name.startswith(ours)), RELEASE)


def _headers(roots: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders of headers: NVIDIA's packages may be in several places of sys.path.

    Where the wheels lack the tensor cores' headers or the C++ library, those of a CUDA toolkit of
    the same release follow.
    """
    folders = [root / "include" for root in roots]
    wanted = ("cooperative_groups.h", "crt/mma.h", "cccl/cuda/barrier")
    if not all(any((folder / name).is_file() for folder in folders) for name in wanted):
        folders += _toolkit_headers()
    if not any((folder / "cooperative_groups.h").exists() for folder in folders):
        return ()
    found = (place for folder in folders for place in (folder, folder / "cccl"))
    return tuple(place for place in found if place.is_dir())


def _toolkit_headers() -> list[Path]:
    """The folder of the headers of the machine's CUDA toolkit, if it is of release RELEASE."""
    nvcc = shutil.which("nvcc")
    roots = [Path(nvcc).resolve().parent.parent] if nvcc else []
    for root in (*roots, Path("/usr/local/cuda")):
        try:
            with (root / "include" / "cuda.h").open("rb") as file:
                version = _CUDA_VERSION.search(file.read(1 << 16))
        except OSError:
            continue
        if version and int(version[1]) // 10 == int(RELEASE.replace(".", "")) * 10:
            return [root / "include"]
    return []


def compile_variants(request: Any, arrays: Any) -> tuple[Any, dict[str, Any]]:
    """Compile a source with several lists of options, until one compilation fails.

    The compiler refuses host variables. Where it refuses nothing else, the source is compiled with
    them as device variables: kernels that use none of them are right. So it is with constexpr
    functions, lambdas and a toolkit's functions without an execution space (`without_unmarked`),
    which are no errors beside others either.

    Args:
        request: "source", its "file", what the variant "debug" is compiled of in "debug_source",
            if that is another text, the options by name in "variants", "minimal" where
            `is_minimal` is true, and the folders "libraries" of NVRTC and "folder", where a quoted
            #include is looked for.
        arrays: Not used.

    Returns:
        {"variants": {variant: {"code", "log", "ptx"}}, "names": {symbol: C++ name}, "host_data":
        the log that refuses host variables, or empty}, no arrays.
    """
    os.chdir(request["folder"])
    nvrtc = Nvrtc(Path(request["libraries"]))
    variants, host_data = _until_failure(nvrtc, request, []), ""
    failed = list(variants.values())[-1]
    log, has_data = failed["log"], HOST_DATA in failed["log"]
    rest = without_unmarked(log, request["file"], request["source"])
    failed["log"] = rest if _ERROR in rest else log
    if failed["code"] == COMPILATION and (has_data or (_ERROR in log and _ERROR not in rest)):
        others = _until_failure(nvrtc, request, [_AS_DEVICE])
        if all(v["code"] == SUCCESS for v in others.values()):
            variants, host_data = others, log if has_data else ""
    names = entry_names(v["ptx"] for v in variants.values())
    return {"variants": variants, "names": names, "host_data": host_data}, {}


def without_unmarked(log: str, file: str, text: str = "") -> str:
    """Return a log without the errors about what needs no execution space of its own.

    That is a constexpr function, which other compilers of CUDA C++ evaluate for constants, a
    lambda, which has the space of the function around it, and a function of a header, which is not
    in `file`, whose text tells what is above a line: the toolkit's headers also serve host code.
    """
    lines, rows, kept, is_exempt = log.split("\n"), text.split("\n"), [], False
    for number, line in enumerate(lines):
        if head := _DIAGNOSTIC.match(line):
            source, caret = (*lines[number + 1 : number + 3], "", "")[:2]
            is_lambda = source[: len(caret) - 1].rstrip().endswith("]")
            at = int(head[1] or 0) - 2
            above = rows[at] if 0 <= at < len(rows) else ""
            source = source if above.rstrip().endswith((";", "{", "}")) else above + source
            unmarked = is_lambda or _CONSTANT.search(source) or not line.startswith(f"{file}(")
            is_exempt = _HOST_LAMBDA in line or (HOST_FUNCTION in line and bool(unmarked))
        kept += [] if is_exempt else [line]
    return "\n".join(kept)


def _until_failure(nvrtc: Nvrtc, request: Any, more: list[str]) -> dict[str, dict[str, Any]]:
    """Compile each variant with `more` options, until one fails."""
    source = request["source"].encode()
    debug = (request.get("debug_source") or request["source"]).encode()
    variants: dict[str, dict[str, Any]] = {}
    for name, own in request["variants"].items():
        options = [*own, *more]
        text, least = debug if name == "debug" else source, [_MINIMAL] * request.get("minimal", 0)
        compiled = nvrtc.compile(text, request["file"], [*options, *least])
        if least and compiled.code != SUCCESS:
            compiled = nvrtc.compile(text, request["file"], options)
        failed = compiled.code not in (SUCCESS, OUT_OF_MEMORY)
        if failed and name == "debug" and debug != source:
            fewer = without_rejected(debug, source, compiled.log, request["file"])
            if fewer not in (debug, source):
                compiled = nvrtc.compile(fewer, request["file"], options)
            if compiled.code != SUCCESS:
                compiled = nvrtc.compile(source, request["file"], options)  # for its errors, if any
        if compiled.code == OUT_OF_MEMORY:
            raise MemoryError
        ptx = compiled.ptx
        if compiled.code != SUCCESS and "ptxas" in compiled.log:  # its errors point into the PTX
            ptx = nvrtc.compile(source, request["file"], without_assembler(options)).ptx
        ptx = _FILE.sub(r"\1\2", ptx)
        variants[name] = {"code": compiled.code, "log": _short(compiled.log), "ptx": ptx}
        if compiled.code != SUCCESS:
            break
    return variants


def without_rejected(debug: bytes, source: bytes, log: str, file: str) -> bytes:
    """The debug build's text with the source's lines where the compiler reports errors."""
    rows, own = debug.split(b"\n"), source.split(b"\n")
    prefix, numbers = f"{file}(", set[int]()
    for line in log.split("\n"):
        number, _, rest = line.removeprefix(prefix).partition(")")
        if line.startswith(prefix) and rest.startswith(": error") and number.isdecimal():
            numbers.add(int(number[:9]))
    for row in numbers:
        if 0 < row <= min(len(rows), len(own)):
            rows[row - 1] = own[row - 1]
    return b"\n".join(rows)


def compile_known_source(request: Any, arrays: Any) -> tuple[Any, dict[str, Any]]:
    """Compile KNOWN_SOURCE again and again: the compiler works here, and has what it needs.

    This is also what the process that forks compiling children rehearses, once (`call`).

    Args:
        request: As for `compile_variants`, and "cpu", the seconds of processor time to go on for,
            and "bytes", the memory to hold meanwhile.
        arrays: Not used.

    Returns:
        Whether every compilation succeeded, no arrays.
    """
    os.chdir(request["folder"])
    nvrtc = Nvrtc(Path(request["libraries"]))
    held = mmap.mmap(-1, max(request["bytes"], 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with held:
        while True:
            for options in request["variants"].values():
                compiled = nvrtc.compile(KNOWN_SOURCE.encode(), "known.cu", options)
                if compiled.code != SUCCESS:
                    return False, {}
                entry_names([compiled.ptx])
            if time.process_time() > request["cpu"]:
                return True, {}


def entry_names(texts: Iterable[str]) -> dict[str, str]:
    """Return the C++ name of each kernel in PTX texts whose symbol is mangled."""
    return _demangled(sorted({symbol for text in texts for symbol in _ENTRY.findall(text)}))


def _short(log: str) -> str:
    """The log with shorter lines, as it repeats the source's, and without times, which vary."""
    lines = (line[:MAX_LOG_LINE] for line in log.split("\n")[:MAX_LOG_LINES])
    return "\n".join(line for line in lines if "Compile time =" not in line)


def without_assembler(options: Sequence[str]) -> list[str]:
    """Return the options for PTX alone: a virtual architecture has no machine code."""
    return [option.replace("-arch=sm_", "-arch=compute_") for option in options]


def architectures(request: Any, arrays: Any) -> tuple[Any, dict[str, Any]]:
    """Return the compute capabilities of the compiler in `request["libraries"]`, times ten."""
    return Nvrtc(Path(request["libraries"])).architectures(), {}


def _demangled(symbols: list[str]) -> dict[str, str]:
    """C++ names by the demangler of the C++ runtime.

    None where that library is missing: names and types come from the source then.
    """
    if not symbols:
        return {}
    try:
        runtime = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return {}
    demangle = runtime["__cxa_demangle"]
    demangle.restype = ctypes.c_void_p
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    names = {}
    for symbol in symbols:
        status = ctypes.c_int()
        text = demangle(symbol.encode(), None, None, ctypes.byref(status))
        if text:
            names[symbol] = ctypes.string_at(text).decode(errors="replace")
            free(text)
    return names
