"""What runs in the compiling child: nvcc by PyCUDA. It sees no GPU and decides nothing.

nvcc keeps the PTX that it makes a cubin of, so that the simulator watches the very code that the
GPU runs; the `-G` PTX beside it is made by the same front end from the same text.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.compile.nvrtc import entry_names

_PTX_NAME = "kernel.ptx"  # PyCUDA names the source kernel.cu
_FILE_DIRECTIVE = re.compile(r'^(\s*\.file\s+\d+ ")(?:[^"\n]*/)?([^"/\n]+")', re.MULTILINE)


def build(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, dict[str, Any]]:
    """The source as a cubin and as both variants of PTX, with the assembler's report in `log` and
    the kernels' C++ names in `names`; only nvcc's log when it does not compile.
    """
    with tempfile.TemporaryDirectory() as kept, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")  # with what a compiler that succeeded said
        keep = ["--keep", "--keep-dir", kept, "--ptxas-options=-v"]
        with ThreadPoolExecutor(2) as pool:
            debug = pool.submit(_nvcc, request, request["debug"], "ptx")
            cubin, refused = _nvcc(request, [*request["options"], *keep], "cubin")
            debug_ptx, refused_debug = debug.result()
        if not cubin or not debug_ptx:
            return {"refused": refused or refused_debug}, {}
        ptx = (Path(kept) / _PTX_NAME).read_text(errors="replace")
    log = next((text for w in said if "ptxas info" in (text := str(w.message))), "")
    texts = [
        _with_source_name(text, request["file"])
        for text in (ptx, debug_ptx.decode(errors="replace"))
    ]
    told = {"log": log, "ptx": texts[0], "debug_ptx": texts[1], "names": entry_names(texts)}
    return told, {"cubin": np.frombuffer(cubin, np.uint8)}


def _nvcc(request: Any, options: list[str], target: str) -> tuple[bytes, str]:
    """What nvcc made; else nothing, and its words."""
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
        return b"", f"{error.stdout}{error.stderr}" or "it said nothing"
    return made, ""


def _with_source_name(ptx: str, file: str) -> str:
    """The PTX with the submission's own name for its source, and no folder in any name."""
    return _FILE_DIRECTIVE.sub(r"\1\2", ptx).replace('"kernel.cu"', f'"{file}"')
