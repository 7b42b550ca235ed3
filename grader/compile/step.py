"""What runs in the compiling child: NVRTC on the variants asked for, and the names' demangling.

It returns plain text and decides nothing. It imports neither NumPy nor anything of ours that
does: a child starts for every submission.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grader.compile.nvrtc import OUT_OF_MEMORY, SUCCESS, Nvrtc

MAX_LOG_LINE = 1000
MAX_LOG_LINES = 20000

_ENTRY = re.compile(r"\.entry\s+(_Z[\w$]+)")
_FILE = re.compile(r'^(\s*\.file\s+\d+ ")[^"\n]*/([^"/\n]+")', re.MULTILINE)


def compile_variants(request: Any, arrays: Any) -> tuple[Any, dict[str, Any]]:
    """Compile `request["source"]` with each list of options in `request["variants"]` until one
    fails: {variant: {"code", "log", "ptx"}} and {"names": {symbol: C++ name}}."""
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
    without times, so that the same source gives the same log."""
    lines = (line[:MAX_LOG_LINE] for line in log.split("\n")[:MAX_LOG_LINES])
    return "\n".join(line for line in lines if "Compile time =" not in line)


def _without_assembler(options: list[str]) -> list[str]:
    return [option.replace("-arch=sm_", "-arch=compute_") for option in options]


def architectures(request: Any, arrays: Any) -> tuple[Any, dict[str, Any]]:
    """The compute capabilities that the compiler in `request["libraries"]` knows, times ten."""
    return Nvrtc(Path(request["libraries"])).architectures(), {}


def _demangled(symbols: list[str]) -> dict[str, str]:
    """C++ names by the C++ runtime's own demangler; none where that library is missing, and then
    names and types come from the source."""
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
