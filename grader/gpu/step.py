"""What runs in the GPU children: grader.box calls these by name. PyCUDA is imported here only.

A child compiles and sees no GPU, or launches and has no compiler. It decides nothing: it returns
bytes, CUDA's error names and times, and the parent says what they mean. A child that met a sticky
error returns at once, because its context is dead; one whose kernel never ends leaks it, because
cuMemFree would wait for it, and the context dies with the process.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.fault import LabFault, MachineFault
from grader.gpu.buffer import GUARD, POISONS, guarded
from grader.launch import Array, Launch
from grader.packing import Arrays, unpack_launches

PRINTED_BYTES = 64 << 10
PAUSES = (20e-6, 2e-3)

PROBE = """\
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
    """One launch, twice. `error` is CUDA's name for what ended it, `sticky` when the context did
    not survive; `seconds` the second launch's time by CUDA events."""

    error: str = ""
    text: str = ""
    sticky: bool = False
    timeout: bool = False
    seconds: float = 0.0
    printed: str = ""
    registers: int = 0
    static_shared_bytes: int = 0
    local_bytes: int = 0


def compile_cubin(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, Arrays]:
    """The source as a cubin, or nvcc's log when it does not compile."""
    from pycuda.compiler import compile as nvcc
    from pycuda.driver import CompileError

    try:
        cubin = nvcc(
            request["source"],
            nvcc=request["nvcc"],
            options=request["options"],
            no_extern_c=True,
            arch=request["architecture"],
            cache_dir=False,
        )
    except CompileError as error:
        return {"log": f"{error.stdout}{error.stderr}"}, {}
    return {"log": ""}, {"cubin": np.frombuffer(cubin, np.uint8)}


def describe(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, Arrays]:
    """The GPU's name, compute capability and CUDA's version."""
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
    """Whether a known kernel still gives the right numbers."""
    import pycuda.driver as cuda

    with _context(cuda):
        function = cuda.module_from_buffer(PROBE.encode() + b"\0").get_function("probe")
        out = np.zeros(32, np.uint32)
        function(cuda.Out(out), block=(32, 1, 1), grid=(1, 1))
        return bool((out == 3 * np.arange(32) + 1).all()), {}


def launch(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[list[Any], Arrays]:
    """The outcomes of the launches in order, up to the first that the context did not survive, and
    each array argument's bytes, guard bands included, after both runs: "launch.run.argument"."""
    import pycuda.driver as cuda

    outcomes: list[Outcome] = []
    results: Arrays = {}
    cubin = arrays["cubin"].tobytes()
    with _context(cuda) as context:
        launches = unpack_launches(request["launches"], arrays)
        for number, (one, symbol) in enumerate(zip(launches, request["symbols"], strict=True)):
            for run, poison in enumerate(POISONS):
                attempt = _Attempt(cuda, context, cubin, one, symbol, request["limit"])
                outcome, after = attempt.run(poison)
                results |= {f"{number}.{run}.{k}": held for k, held in after.items()}
                if outcome.error or outcome.timeout:
                    break
            outcomes.append(outcome)
            if outcome.sticky or outcome.timeout:
                break
    return [asdict(outcome) for outcome in outcomes], results


@contextmanager
def _context(cuda: Any) -> Iterator[Any]:
    """A context on the one GPU that this process sees; always popped, or PyCUDA aborts."""
    try:
        cuda.init()
        context = cuda.Device(0).make_context()
    except cuda.Error as error:
        what = f"CUDA does not start on this GPU: {error}"
        raise MachineFault(what, mend="see nvidia-smi and `grader doctor`") from error
    try:
        yield context
    finally:
        context.pop()


@dataclass(frozen=True)
class _Attempt:
    """One launch in a module of its own, so that no __device__ variable survives into another."""

    cuda: Any
    context: Any
    cubin: bytes
    launch: Launch
    symbol: str
    limit: float

    def run(self, poison: int) -> tuple[Outcome, dict[int, NDArray[np.uint8]]]:
        arrays = [(k, a) for k, a in enumerate(self.launch.args) if isinstance(a, Array)]
        before = {k: guarded(k, array, poison) for k, array in arrays}
        memory = {k: self._allocated(held) for k, held in before.items()}
        try:
            module = self.cuda.module_from_buffer(self.cubin)
            function = module.get_function(self.symbol)
            self._set_globals(module)
            with _printed() as text:
                seconds = self._timed(function, memory)
                if seconds is None:
                    _leak(module, memory)
                    return Outcome(timeout=True), {}
                self.context.synchronize()  # brings what the kernel printed
            for k, held in before.items():
                self.cuda.memcpy_dtoh(held, memory[k])
        except self.cuda.Error as error:
            _leak(memory)  # freeing it would fail in a dead context
            return _failed(str(error)), {}
        return Outcome(
            seconds=seconds,
            printed=text(),
            registers=function.num_regs,
            static_shared_bytes=function.shared_size_bytes,
            local_bytes=function.local_size_bytes,
        ), before

    def _allocated(self, held: NDArray[np.uint8]) -> Any:
        try:
            memory = self.cuda.mem_alloc(held.nbytes)
        except self.cuda.MemoryError as error:
            what = f"the GPU has no {held.nbytes >> 20} MiB free for an array"
            raise MachineFault(what, mend="end what else uses this GPU (nvidia-smi)") from error
        self.cuda.memcpy_htod(memory, held)
        return memory

    def _set_globals(self, module: Any) -> None:
        for name, value in self.launch.globals.items():
            try:
                address, size = module.get_global(name)
            except self.cuda.LogicError as error:
                raise LabFault(f"the file has no __device__ variable `{name}`") from error
            if size != value.nbytes:
                raise LabFault(f"`{name}` has {size} bytes and is given {value.nbytes}")
            self.cuda.memcpy_htod(address, np.ascontiguousarray(value))

    def _timed(self, function: Any, memory: Mapping[int, Any]) -> float | None:
        """Launch and wait; seconds by CUDA's events, None when it does not end in time."""
        arguments = [
            np.uintp(int(memory[k]) + GUARD) if isinstance(a, Array) else _scalar(a.value, a.dtype)
            for k, a in enumerate(self.launch.args)
        ]
        start, stop = self.cuda.Event(), self.cuda.Event()
        start.record()
        function(
            *arguments,
            block=self.launch.block,
            grid=self.launch.grid,
            shared=self.launch.shared,
        )
        stop.record()
        deadline, pause = time.monotonic() + self.limit, PAUSES[0]
        while not stop.query():
            if time.monotonic() > deadline:
                _leak(start, stop)
                return None
            time.sleep(pause)
            pause = min(2 * pause, PAUSES[1])
        return float(start.time_till(stop)) / 1e3


def _scalar(value: int | float | bool, dtype: str) -> Any:
    """A by-value argument as PyCUDA packs it: it knows neither bool nor half precision."""
    held = np.dtype(dtype).type(value)
    return held.view({"bool": np.uint8, "float16": np.uint16}.get(dtype, dtype))


def _leak(*things: Any) -> None:
    """Keep things until the process ends: their destructors would wait for, or call into, a
    context that does not answer."""
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _failed(message: str) -> Outcome:
    """What CUDA says: its own name for a sticky error, else the one whose text is in `message`."""
    driver = ctypes.CDLL("libcuda.so.1")
    code = driver.cuCtxSynchronize()
    text = message.rpartition(": ")[2]
    return Outcome(_error_name(driver, code, text), text=text, sticky=code != 0)


def _error_name(driver: Any, code: int, text: str) -> str:
    for number in [code] if code else range(1, 1000):
        name, said = ctypes.c_char_p(), ctypes.c_char_p()
        known = driver.cuGetErrorName(number, ctypes.byref(name)) == 0
        if not known or driver.cuGetErrorString(number, ctypes.byref(said)) != 0:
            continue
        if code or (said.value or b"").decode() == text:
            return (name.value or b"").decode()
    return ""


@contextmanager
def _printed() -> Iterator[Any]:
    """Catch what device code prints, which CUDA writes to this process's standard output."""
    file, before = os.memfd_create("printed"), os.dup(1)
    os.dup2(file, 1)
    try:
        yield lambda: os.pread(file, PRINTED_BYTES, 0).decode(errors="replace")
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(before, 1)
        os.close(before)
