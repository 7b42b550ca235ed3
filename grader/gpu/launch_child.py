"""Run launches in a sandboxed child process with PyCUDA: what `launches` and `process` call.

The child launches kernels and has no compiler. It returns bytes, CUDA's error names and times; the
parent interprets them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.gpu.buffers import GUARD, POISONS, with_guard_bands
from grader.gpu.session import (
    allocate,
    context,
    error_state,
    kernel_arguments,
    leak,
    load_module,
    set_variables,
    wait_for,
)
from grader.launch import Array, Arrays, Launch, unpack_launches

PRINTED_BYTES = 64 << 10

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

    Returns:
        The outcomes as JSON, and each array argument's bytes, including guard bands, after both
        runs, named "launch.run.argument".
    """
    import pycuda.driver as cuda

    outcomes: list[Outcome] = []
    results: Arrays = {}
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
        try:
            module = load_module(self.cuda, self.cubin, cooperative=self.launch.cooperative)
            function = module.get_function(self.symbol)
            set_variables(self.cuda, module, self.launch.globals)
            with _capture_stdout() as text:
                seconds = self._timed(function, memory)
                if seconds is None:
                    leak(module, memory)
                    return Outcome(timeout=True), {}
                self.context.synchronize()  # flushes what the kernel printed
            for k, held in before.items():
                self.cuda.memcpy_dtoh(held, memory[k])
        except self.cuda.Error as error:
            leak(memory)  # freeing it would fail in a dead context
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

    def _timed(self, function: Any, memory: Mapping[int, Any]) -> float | None:
        """Launch and wait; return seconds by CUDA's events, None when it does not end in time."""
        addresses = {k: int(held) + GUARD for k, held in memory.items()}
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
    """Capture what device code prints, which CUDA writes to standard output."""
    file, before = os.memfd_create("printed"), os.dup(1)
    os.dup2(file, 1)
    try:
        yield lambda: os.pread(file, PRINTED_BYTES, 0).decode(errors="replace")
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(before, 1)
        os.close(before)
