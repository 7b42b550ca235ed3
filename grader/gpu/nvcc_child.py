"""Run nvcc through PyCUDA in a sandboxed child process without a GPU.

nvcc keeps the PTX that the cubin is made from, so that the simulator runs the same code as the GPU.
The `-G` PTX comes from the same front end and the same source.
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
_FILE_DIRECTIVE = re.compile(r'^([ \t]*\.file[ \t]+\d+ ")(?:[^"\n]*/)?([^"/\n]+")', re.MULTILINE)


def build(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, dict[str, Any]]:
    """Compile the source to a cubin and to both variants of PTX.

    Returns:
        The fields of grader.gpu.nvcc.Built, with the cubin as an array; {"refused": nvcc's log}
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
