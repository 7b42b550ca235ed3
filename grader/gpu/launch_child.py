"""Run launches in a sandboxed child process with PyCUDA: what `launches`, `process`, `tools` call.

The child launches kernels and has no compiler. It returns bytes, CUDA's error names and times; the
parent interprets them.

For the toolkit's tools, `observe` starts the tool, the tool starts `launch_under` in a new Python
process, and both stay in the sandbox. Each buffer is then an allocation of exactly its size, so
that a byte past its end is out of bounds. The process announces each launch; if one ends the
process, another process runs the rest. The tool writes its report to a file, so that device code
cannot forge it by printing.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.gpu.buffers import GUARD, POISONS, with_guard_bands
from grader.gpu.functions import kernel_of, load_module
from grader.gpu.session import (
    TextureObjects,
    allocate,
    context,
    error_state,
    kernel_arguments,
    leak,
    set_variables,
    wait_for,
)
from grader.launch import Array, Arrays, Launch, unpack_launches

PRINTED_BYTES = 64 << 10
REPORT_BYTES = 4 << 20
HUNG_EXIT = 9
DIED_EXIT = 8
_INNER = "import json, sys; sys.path[:0] = json.loads(sys.argv[1]); "
_INNER += (
    "from grader.gpu.launch_child import launch_under; launch_under(sys.argv[2], int(sys.argv[3]))"
)

PROBE_PTX = """\
.version 6.0
.target sm_50
.address_size 64
.visible .entry probe(.param .u64 out)
{
    .reg .u64 %p<3>;
    .reg .u32 %r<3>;
    ld.param.u64 %p1, [out];
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r2, %r1, 3, 1;
    mad.wide.u32 %p2, %r1, 4, %p1;
    st.global.u32 [%p2], %r2;
    ret;
}
"""


@dataclass(frozen=True)
class Outcome:
    """The result of one launch, which runs twice.

    `error` is CUDA's name of the error that ended it, `text` its text; `sticky` says that the
    context did not survive. `seconds` is the second run's time by CUDA events.
    """

    error: str = ""
    text: str = ""
    sticky: bool = False
    timeout: bool = False
    seconds: float = 0.0
    printed: str = ""
    registers: int = 0
    static_shared_bytes: int = 0
    local_bytes: int = 0


def describe(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, Arrays]:
    """Return the GPU's name, compute capability and CUDA version."""
    import pycuda
    import pycuda.driver as cuda

    cuda.init()
    device = cuda.Device(0)
    major, minor = device.compute_capability()
    version = cuda.get_driver_version()
    return {
        "name": device.name(),
        "architecture": f"sm_{major}{minor}",
        "cuda": f"{version // 1000}.{version % 1000 // 10}",
        "pycuda": pycuda.VERSION_TEXT,
    }, {}


def probe(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, Arrays]:
    """Return whether a known kernel gives the right numbers."""
    import pycuda.driver as cuda

    with context(cuda):
        function = cuda.module_from_buffer(PROBE_PTX.encode() + b"\0").get_function("probe")
        out = np.zeros(32, np.uint32)
        function(cuda.Out(out), block=(32, 1, 1), grid=(1, 1))
        return bool((out == 3 * np.arange(32) + 1).all()), {}


def launch(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[list[Any], Arrays]:
    """Run the launches in order, up to the first that the context does not survive.

    Without a request, CUDA is initialized for the next one.

    Returns:
        The outcomes as JSON, and each array argument's bytes, including guard bands, after both
        runs, named "launch.run.argument".
    """
    import pycuda.driver as cuda

    outcomes: list[Outcome] = []
    results: Arrays = {}
    if request is None:
        cuda.init()
        return [], {}
    cubin = arrays["cubin"].tobytes()
    with context(cuda) as made:
        launches = unpack_launches(request["launches"], arrays)
        for number, (one, symbol) in enumerate(zip(launches, request["symbols"], strict=True)):
            for run, poison in enumerate(POISONS):
                attempt = _Attempt(cuda, made, cubin, one, symbol, request["limit"])
                outcome, after = attempt.run(poison)
                results |= {f"{number}.{run}.{k}": held for k, held in after.items()}
                if outcome.error or outcome.timeout:
                    break
            outcomes.append(outcome)
            if outcome.sticky or outcome.timeout:
                break
    return [asdict(outcome) for outcome in outcomes], results


@dataclass(frozen=True)
class _Attempt:
    """One run in its own module, so that no __device__ variable keeps its value."""

    cuda: Any
    context: Any
    cubin: bytes
    launch: Launch
    symbol: str
    limit: float

    def run(self, poison: int) -> tuple[Outcome, dict[int, NDArray[np.uint8]]]:
        arrays = [(k, a) for k, a in enumerate(self.launch.args) if isinstance(a, Array)]
        before = {k: with_guard_bands(k, array, poison) for k, array in arrays}
        memory = {k: self._sent(held) for k, held in before.items()}
        addresses = {k: int(held) + GUARD for k, held in memory.items()}
        objects = None
        try:
            objects = TextureObjects(self.cuda, self.launch, addresses)
            module = load_module(self.cuda, self.cubin, cooperative=self.launch.cooperative)
            function = kernel_of(self.cuda, module, self.symbol, self.launch)
            set_variables(self.cuda, module, self.launch.globals)
            with _capture_stdout() as text:
                seconds = self._timed(function, addresses | objects.handles)
                if seconds is None:
                    leak(module, memory, objects)
                    return Outcome(timeout=True), {}
                self.context.synchronize()  # flushes what the kernel printed
            objects.copy_back()
            for k, held in before.items():
                self.cuda.memcpy_dtoh(held, memory[k])
            objects.free()
        except self.cuda.Error as error:
            leak(memory, objects)  # freeing it would fail in a dead context
            return Outcome(**asdict(error_state(str(error)))), {}
        return Outcome(
            seconds=seconds,
            printed=text(),
            registers=function.num_regs,
            static_shared_bytes=function.shared_size_bytes,
            local_bytes=function.local_size_bytes,
        ), before

    def _sent(self, held: NDArray[np.uint8]) -> Any:
        memory = allocate(self.cuda, held.nbytes)
        self.cuda.memcpy_htod(memory, held)
        return memory

    def _timed(self, function: Any, addresses: Mapping[int, int]) -> float | None:
        """Launch and wait; return seconds by CUDA's events, None when it does not end in time."""
        arguments = kernel_arguments(self.launch, addresses)
        start, stop = self.cuda.Event(), self.cuda.Event()
        start.record()
        function(
            *arguments,
            block=self.launch.block,
            grid=self.launch.grid,
            shared=self.launch.shared,
        )
        stop.record()
        if not wait_for(stop, self.limit):
            leak(start, stop)
            return None
        return float(start.time_till(stop)) / 1e3


@contextmanager
def _capture_stdout() -> Iterator[Any]:
    """Capture what device code prints, which CUDA writes to standard output.

    The function that it yields returns the text when the block has ended.
    """
    file, before = os.memfd_create("printed"), os.dup(1)
    printed: list[str] = []
    os.dup2(file, 1)
    try:
        yield lambda: printed[0]
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(before, 1)
        os.close(before)
        printed.append(os.pread(file, PRINTED_BYTES, 0).decode(errors="replace"))
        os.close(file)


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
            _launch_observed(
                cuda, module, launches[number], request["symbols"][number], request["limit"]
            )


def _launch_observed(cuda: Any, module: Any, one: Launch, symbol: str, limit: float) -> None:
    memory = {k: _device_copy(cuda, a) for k, a in enumerate(one.args) if isinstance(a, Array)}
    addresses = {k: int(held) for k, held in memory.items()}
    objects = TextureObjects(cuda, one, addresses)
    arguments = kernel_arguments(one, addresses | objects.handles)
    set_variables(cuda, module, one.globals)
    stop = cuda.Event()
    try:
        kernel = kernel_of(cuda, module, symbol, one)
        kernel(*arguments, block=one.block, grid=one.grid, shared=one.shared)
        stop.record()
        if not wait_for(stop, limit):
            os._exit(HUNG_EXIT)
        cuda.Context.synchronize()
        objects.free()
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
