"""Run launches under the toolkit's tools in a sandboxed child process.

`observe` starts the tool, the tool starts `launch_under` in a new Python process, and both stay in
the sandbox. Each buffer is an allocation of exactly its size, so that a byte past its end is out of
bounds. The process announces each launch; if one ends the process, another process runs the rest.
The tool writes its report to a file, so that device code cannot forge it by printing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.gpu.session import (
    allocate,
    context,
    kernel_arguments,
    load_module,
    set_variables,
    wait_for,
)
from grader.launch import Array, Launch, unpack_launches

REPORT_BYTES = 4 << 20
HUNG_EXIT = 9
DIED_EXIT = 8
_INNER = "import json, sys; sys.path[:0] = json.loads(sys.argv[1]); "
_INNER += (
    "from grader.gpu.tools_child import launch_under; launch_under(sys.argv[2], int(sys.argv[3]))"
)


def observe(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, dict[str, Any]]:
    """Run every tool on the launches.

    Returns:
        For each tool {"text": its report, "hung": the numbers of launches that did not end,
        "failed": the tool's last line of output when it launched nothing}.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]
        (folder / "request.json").write_text(json.dumps(request))
        tools = request["tools"]
        with ThreadPoolExecutor(len(tools)) as pool:
            reports = list(pool.map(lambda k: _run_on_all(folder, request, k), range(len(tools))))
    return reports, {}


def _run_on_all(folder: Path, request: Any, tool: int) -> dict[str, Any]:
    """Run one tool on all launches, with a new process after each launch that ends one."""
    texts: list[str] = []
    hung: list[int] = []
    first, count = 0, len(request["launches"])
    while first < count:
        own = folder / f"{tool}-{first}"
        own.mkdir()
        code, words = _run(own, request["tools"][tool], first)
        texts.append(_read(own / "report"))
        last = int(_read(own / "launched") or -1)
        if last < 0:
            return {"text": "", "hung": hung, "failed": _last_line(texts[-1] + words)}
        if code == HUNG_EXIT:
            hung.append(last)
        ended_early = code in (HUNG_EXIT, DIED_EXIT) or last + 1 < count
        first = last + 1 if ended_early else count
    return {"text": "".join(texts)[:REPORT_BYTES], "hung": hung, "failed": ""}


def _run(own: Path, tool: Sequence[str], first: int) -> tuple[int, str]:
    """Run the tool on the launches from `first` on; return exit code and output."""
    words = [word.replace("{report}", str(own / "report")) for word in tool]
    inner = [sys.executable, "-I", "-S", "-B", "-c", _INNER, json.dumps(sys.path), str(own)]
    path = f"{Path(tool[0]).parent}:/usr/bin:/bin"
    variables = {**os.environ, "HOME": str(own), "TMPDIR": str(own), "PATH": path}
    with (own / "output").open("wb") as output:
        done = subprocess.run(
            [*words, *inner, str(first)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=variables,
            check=False,
        )
    return done.returncode, _read(own / "output")


def _read(file: Path) -> str:
    if not file.exists():
        return ""
    with file.open("rb") as opened:
        return opened.read(REPORT_BYTES).decode(errors="replace")


def _last_line(text: str) -> str:
    lines = [line.lstrip("= ") for line in text.splitlines() if line.strip("= ")]
    return lines[-1] if lines else "no output"


def launch_under(place: str, first: int) -> None:
    """Run the request in the folder above `place`, from launch `first` on.

    Exits the process when a launch ends the context or does not end.
    """
    import pycuda.driver as cuda

    own = Path(place)
    request = json.loads((own.parent / "request.json").read_text())
    with np.load(own.parent / "arrays.npz", allow_pickle=False) as held:
        arrays = dict(held)
    launches = unpack_launches(request["launches"], arrays)
    with context(cuda):
        modules = {
            together: load_module(cuda, arrays["cubin"].tobytes(), cooperative=together)
            for together in {one.cooperative for one in launches}
        }
        for number in range(first, len(launches)):
            module = modules[launches[number].cooperative]
            (own / "launched").write_text(str(number))
            _launch(cuda, module, launches[number], request["symbols"][number], request["limit"])


def _launch(cuda: Any, module: Any, one: Launch, symbol: str, limit: float) -> None:
    memory = {k: _device_copy(cuda, a) for k, a in enumerate(one.args) if isinstance(a, Array)}
    arguments = kernel_arguments(one, {k: int(held) for k, held in memory.items()})
    set_variables(cuda, module, one.globals)
    stop = cuda.Event()
    try:
        module.get_function(symbol)(*arguments, block=one.block, grid=one.grid, shared=one.shared)
        stop.record()
        if not wait_for(stop, limit):
            os._exit(HUNG_EXIT)
        cuda.Context.synchronize()
    except cuda.Error:
        try:
            cuda.Context.synchronize()  # a launch that CUDA refuses leaves the context alive
        except cuda.Error:
            os._exit(DIED_EXIT)


def _device_copy(cuda: Any, array: Array) -> Any:
    memory = allocate(cuda, array.nbytes)
    if array.data is None or not array.nbytes:
        return memory
    data = np.ascontiguousarray(array.data, array.dtype).reshape(-1).view(np.uint8)
    edges = np.flatnonzero(np.diff(~array.undefined_bytes(), prepend=False, append=False))
    for start, end in edges.reshape(-1, 2).tolist():  # what is not copied stays uninitialized
        cuda.memcpy_htod(int(memory) + start, data[start:end])
    return memory
