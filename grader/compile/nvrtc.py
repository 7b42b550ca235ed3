"""What runs in the compiling child: NVRTC on the variants asked for, and the names' demangling.

It returns plain text and decides nothing. It imports neither NumPy nor anything of ours that
does: a child starts for every submission.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.faults import MachineFault

# NVRTC, the CUDA compiler as a library, through ctypes (NVRTC documentation, API functions).
#
# It comes as the PyPI wheel `nvidia-cuda-nvrtc`, needs neither a GPU nor a toolkit, and is loaded
# in children only: it is where a student's text meets native code.

RELEASE = "13.0"
MISSING = 'python -m pip install "nvidia-cuda-nvrtc==13.0.*"'

SUCCESS = 0
OUT_OF_MEMORY = 1
INVALID_OPTION = 5
COMPILATION = 6


@dataclass(frozen=True)
class Compiled:
    """One compilation: NVRTC's result code (0 is success), its log, the PTX text if any."""

    code: int
    log: str
    ptx: str = ""


@dataclass(frozen=True)
class Installation:
    """Where the wheels put the compiler: its libraries, its release "13.0.88", and the toolkit's
    own headers for device code, none when their wheels are not installed.
    """

    libraries: Path
    release: str
    headers: tuple[Path, ...]


def installation() -> Installation:
    """The installed NVRTC. MachineFault when there is none of the release that is asked for."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(folder) / f"cu{RELEASE.partition('.')[0]}"
        if (root / "lib" / _library()).exists():
            return Installation(root / "lib", _release(Path(folder).parent), _headers(root))
    raise MachineFault(f"NVRTC {RELEASE}, the CUDA compiler, is not installed", fix=MISSING)


class Nvrtc:
    """The loaded library."""

    def __init__(self, folder: Path) -> None:
        """Load it. MachineFault when the loader cannot."""
        builtins = folder / f"libnvrtc-builtins.so.{RELEASE}"
        try:
            ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)  # NVRTC looks for it by name only
            self._library = ctypes.CDLL(str(folder / _library()))
        except OSError as error:
            raise MachineFault(f"NVRTC cannot be loaded: {error}", fix=MISSING) from error

    def compile(self, source: bytes, name: str, options: list[str]) -> Compiled:
        """Compile CUDA C++ that messages call `name`."""
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
        """The compute capabilities that it compiles for, times ten: 75, 80, ..."""
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


def _release(site: Path) -> str:
    """The wheel's version, from the name of its record: asking its metadata costs 10 ms."""
    records = sorted(site.glob(f"nvidia_cuda_nvrtc-{RELEASE}.*.dist-info"))
    return records[-1].name.split("-")[1].removesuffix(".dist") if records else RELEASE


def _headers(root: Path) -> tuple[Path, ...]:
    include = root / "include"
    return (include, include / "cccl") if (include / "cooperative_groups.h").exists() else ()


MAX_LOG_LINE = 1000
MAX_LOG_LINES = 20000

_ENTRY = re.compile(r"\.entry\s+(_Z[\w$]+)")
_FILE = re.compile(r'^(\s*\.file\s+\d+ ")[^"\n]*/([^"/\n]+")', re.MULTILINE)


def compile_variants(request: Any, arrays: Any) -> tuple[Any, dict[str, Any]]:
    """Compile `request["source"]` with each list of options in `request["variants"]` until one
    fails: {variant: {"code", "log", "ptx"}} and {"names": {symbol: C++ name}}.
    """
    os.chdir(request["folder"])  # where a quoted #include looks first: our headers
    nvrtc = Nvrtc(Path(request["libraries"]))
    source = request["source"].encode()
    variants: dict[str, dict[str, Any]] = {}
    for name, options in request["variants"].items():
        compiled = nvrtc.compile(source, request["file"], options)
        if compiled.code == OUT_OF_MEMORY:
            raise MemoryError
        text = compiled.ptx
        if compiled.code != SUCCESS and "ptxas" in compiled.log:  # its errors point into the PTX
            text = nvrtc.compile(source, request["file"], _without_assembler(options)).ptx
        ptx = _FILE.sub(r"\1\2", text)
        variants[name] = {"code": compiled.code, "log": _short(compiled.log), "ptx": ptx}
        if compiled.code != SUCCESS:
            break
    names = entry_names(v["ptx"] for v in variants.values())
    return {"variants": variants, "names": names}, {}


def entry_names(texts: Iterable[str]) -> dict[str, str]:
    """The C++ name of each kernel in texts of PTX whose symbol is mangled."""
    return _demangled(sorted({symbol for text in texts for symbol in _ENTRY.findall(text)}))


def _short(log: str) -> str:
    """The log with its lines cut, since it repeats the source's and those may be endless, and
    without times, so that the same source gives the same log.
    """
    lines = (line[:MAX_LOG_LINE] for line in log.split("\n")[:MAX_LOG_LINES])
    return "\n".join(line for line in lines if "Compile time =" not in line)


def _without_assembler(options: list[str]) -> list[str]:
    return [option.replace("-arch=sm_", "-arch=compute_") for option in options]


def architectures(request: Any, arrays: Any) -> tuple[Any, dict[str, Any]]:
    """The compute capabilities that the compiler in `request["libraries"]` knows, times ten."""
    return Nvrtc(Path(request["libraries"])).architectures(), {}


def _demangled(symbols: list[str]) -> dict[str, str]:
    """C++ names by the C++ runtime's own demangler; none where that library is missing, and then
    names and types come from the source.
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
