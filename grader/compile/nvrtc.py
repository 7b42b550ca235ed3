"""NVRTC, the CUDA compiler as a library, through ctypes (NVRTC documentation, API functions).

It comes as the PyPI wheel `nvidia-cuda-nvrtc`, needs neither a GPU nor a toolkit, and is loaded
in children only: it is where a student's text meets native code.
"""

from __future__ import annotations

import ctypes
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from grader.fault import MachineFault

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
    own headers for device code, none when their wheels are not installed."""

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
    raise MachineFault(f"NVRTC {RELEASE}, the CUDA compiler, is not installed", mend=MISSING)


class Nvrtc:
    """The loaded library."""

    def __init__(self, folder: Path) -> None:
        """Load it. MachineFault when the loader cannot."""
        builtins = folder / f"libnvrtc-builtins.so.{RELEASE}"
        try:
            ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)  # NVRTC looks for it by name only
            self._library = ctypes.CDLL(str(folder / _library()))
        except OSError as error:
            raise MachineFault(f"NVRTC cannot be loaded: {error}", mend=MISSING) from error

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
