"""Paired timing of two kernels in a sandboxed child process: what grader.gpu.timing calls.

All of one timed launch is enqueued before the GPU starts it: new inputs, poison over the outputs, a
read of twice the L2 cache that evicts them (and lines that a kernel marked as persisting), then
event, kernel, event. The host does not intervene between the events. The same sequence without a
kernel measures the events' overhead, which is subtracted; the rest is what Nsight Compute calls a
kernel's duration.

Both kernels use the same buffers, so that neither has better addresses. The baseline's output is
overwritten with poison before the submission runs, and its inputs differ: there is no answer to
copy. The child returns every output of the submission, including guard bands, and the baseline's
outputs of some pairs, sent while the GPU works on the next launch; the parent verifies them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.gpu.buffers import GUARD, POISONS, draw_moves, with_guard_bands
from grader.gpu.functions import kernel_of, load_module
from grader.gpu.peaks import measure_peaks
from grader.gpu.session import (
    allocate,
    by_value,
    context,
    error_state,
    leak,
    reset_persisting_l2,
    set_variables,
    wait_for,
)
from grader.gpu.speedup import (
    BASELINE,
    BASELINE_PREFIX,
    SUBMISSION,
    Clock,
    Record,
    is_baseline_verified,
    needs_more_pairs,
    open_clock,
)
from grader.launch import Array, Arrays, Launch, Scalar, unpack_launches
from grader.sandbox.inside import Outbox, sending

OVERHEAD_REPEATS = 40


@dataclass(frozen=True)
class TimedKernel:
    """One of the two kernels, ready to be launched with the buffers' addresses."""

    function: Any
    launch: Launch
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Buffers:
    """Device memory of a measurement, by argument index.

    Attributes:
        held: the buffers with their guard bands.
        bases: the base inputs that new inputs are made from.
        starts: the moves of the new inputs.
        flush: memory whose read flushes the L2 cache.
        flush_bytes: its size.
        sink: where the flush kernel writes.
    """

    held: Mapping[int, Any]
    bases: Mapping[int, Any]
    starts: Mapping[int, Any]
    flush: Any
    flush_bytes: int
    sink: Any


class Outputs:
    """Buffers on their way from the GPU to the parent, in memory that is used again and again.

    New memory costs more than the copy from the GPU: the system clears every page of it.
    """

    def __init__(self, send: Callable[[str, NDArray[np.uint8]], None]) -> None:
        self._send = send
        self._waiting: list[tuple[str, NDArray[np.uint8]]] = []
        self._free: dict[int, list[NDArray[np.uint8]]] = {}

    def memory(self, size: int) -> NDArray[np.uint8]:
        """Return memory for one buffer."""
        free = self._free.get(size)
        return free.pop() if free else np.empty(size, np.uint8)

    def keep(self, name: str, held: NDArray[np.uint8]) -> None:
        """Keep a buffer until the next `send`."""
        self._waiting.append((name, held))

    def send(self) -> None:
        """Send what is kept."""
        for name, held in self._waiting:
            self._send(name, held)
            self._free.setdefault(held.size, []).append(held)
        self._waiting.clear()


class LaunchTimeout(Exception):
    """A launch did not end in time."""


@sending
def measure(request: Any, arrays: Mapping[str, NDArray[Any]], outbox: Outbox) -> tuple[Any, Arrays]:
    """Measure both kernels in pairs. Without a request, CUDA and NVML are initialized for one.

    Returns:
        The fields of Record and "peaks". Buffers including guard bands are sent: "pair.argument"
        for outputs of the submission, with BASELINE_PREFIX for verified outputs of the baseline,
        and "bands.argument" for the inputs at the end.
    """
    import pycuda.driver as cuda

    if request is None:
        cuda.init()
        open_clock(cuda.Device(0).pci_bus_id())
        return {}, {}
    record, best = Record(), {}
    with context(cuda) as made:
        bench = _make_bench(cuda, request, arrays, Outputs(outbox.send))
        try:
            record.overhead = bench.time_events(None)
            record.empty = bench.time_events(bench.empty_kernel())
            if request["peaks"]:
                best = measure_peaks(cuda, bench.own)
            bench.run(record, made)
        except LaunchTimeout:
            record.stopped = "timeout"
        except cuda.Error as error:
            state = error_state(str(error))
            record.stopped, record.error, record.text = "error", state.error, state.text
        if record.stopped:
            leak(bench)
    bench.outputs.send()
    reply = {
        "times": record.times,
        "clocks": record.clocks,
        "overhead": record.overhead,
        "empty": record.empty,
        "stopped": record.stopped,
        "culprit": record.culprit,
        "error": record.error,
        "text": record.text,
        "peaks": best,
    }
    return reply, {}


@dataclass(frozen=True)
class Bench:
    """Everything that a pair needs, on the device."""

    cuda: Any
    own: Any
    kernels: tuple[TimedKernel, TimedKernel]
    buffers: Buffers
    clock: Clock
    plan: Mapping[str, Any]
    outputs: Outputs

    @property
    def arrays(self) -> list[tuple[int, Array]]:
        """The submission's array arguments by index; the baseline's have the same shapes."""
        args = self.kernels[SUBMISSION].launch.args
        return [(k, a) for k, a in enumerate(args) if isinstance(a, Array)]

    def empty_kernel(self) -> TimedKernel:
        """Return an empty kernel."""
        launch = Launch("empty", (1, 1, 1), (1, 1, 1), ())
        return TimedKernel(self.own.get_function("empty").prepare([]), launch, ())

    def time_events(self, kernel: TimedKernel | None) -> float:
        """Return the median seconds between two events around a kernel, or around nothing."""
        return median(self.time_launch(kernel, number) for number in range(OVERHEAD_REPEATS))

    def run(self, record: Record, made: Any) -> None:
        """Measure pairs until the stopping rule holds or a launch fails."""
        began = time.monotonic()
        while needs_more_pairs(record, self.plan, time.monotonic() - began):
            self._pair(record)
        made.synchronize()
        for k, array in self.arrays:
            if not array.read_back:
                self.outputs.keep(f"bands.{k}", self._fetch(k, array))

    def _pair(self, record: Record) -> None:
        """Measure one pair: A B, in the next pair B A, so that a drift favors neither."""
        pair = len(record.times)
        times = [0.0, 0.0]
        for side in (BASELINE, SUBMISSION) if pair % 2 == 0 else (SUBMISSION, BASELINE):
            record.culprit = side
            times[side] = self.time_launch(self.kernels[side], 2 * pair + side)
            if side == SUBMISSION or is_baseline_verified(bytes.fromhex(self.plan["seed"]), pair):
                prefix = BASELINE_PREFIX if side == BASELINE else ""
                for k, array in self.arrays:
                    if array.read_back:
                        self.outputs.keep(f"{prefix}{pair}.{k}", self._fetch(k, array))
        record.times.append((times[BASELINE], times[SUBMISSION]))
        record.clocks.append(self.clock.megahertz())

    def time_launch(self, kernel: TimedKernel | None, number: int) -> float:
        """Time one launch; return seconds.

        Raises:
            LaunchTimeout: it does not end in time.
            cuda.Error: it fails.
        """
        lengths = {k: self._send_moves(k, array, number) for k, array in self.arrays}
        start, stop = self.cuda.Event(), self.cuda.Event()
        for k, array in self.arrays:
            self._enqueue_input(k, array, lengths[k], POISONS[number // 2 % len(POISONS)])
        self._enqueue_flush()
        start.record()
        if kernel is not None:
            kernel.function.prepared_async_call(
                kernel.launch.grid,
                kernel.launch.block,
                None,
                *kernel.arguments,
                shared_size=kernel.launch.shared,
            )
        stop.record()
        self.outputs.send()  # all of the launch is enqueued, and takes as long
        if not wait_for(stop, self.plan["limit"]):
            leak(start, stop)
            raise LaunchTimeout
        return float(start.time_till(stop)) / 1e3

    def _send_moves(self, k: int, array: Array, number: int) -> int:
        """Send an input's moves to the device; return a piece's length, 0 for a fixed input."""
        if array.data is None or array.name in self.plan["fixed"]:
            return 0
        moved = draw_moves(array.shape, bytes.fromhex(self.plan["seed"]), number, array.name)
        self.cuda.memcpy_htod(self.buffers.starts[k], moved.starts)
        return moved.length

    def _enqueue_input(self, k: int, array: Array, length: int, poison: int) -> None:
        inside, bytes_ = int(self.buffers.held[k]) + GUARD, array.nbytes
        if not bytes_:
            return
        if array.data is None:
            self.cuda.memset_d8_async(inside, poison, bytes_, None)
        elif not length:
            self.cuda.memcpy_dtod_async(inside, self.buffers.bases[k], bytes_, None)
        else:
            item = np.dtype(array.dtype).itemsize
            count = bytes_ // item
            move = self.own.get_function(f"move{item}").prepare("PPPII")
            blocks = min(-(-count // 256), 65535)
            move.prepared_async_call(
                (blocks, 1), (256, 1, 1), None, inside, int(self.buffers.bases[k]),
                int(self.buffers.starts[k]), length, count,
            )  # fmt: skip

    def _enqueue_flush(self) -> None:
        reset_persisting_l2()
        count = self.buffers.flush_bytes // 16
        blocks = (min(-(-count // 256), 4096), 1)
        flush = self.own.get_function("flush").prepare("PIP")
        flush.prepared_async_call(
            blocks, (256, 1, 1), None, int(self.buffers.flush), count, int(self.buffers.sink)
        )

    def _fetch(self, k: int, array: Array) -> NDArray[np.uint8]:
        held = self.outputs.memory(array.nbytes + 2 * GUARD)
        self.cuda.memcpy_dtoh(held, self.buffers.held[k])
        return held


def _make_bench(
    cuda: Any, request: Any, arrays: Mapping[str, NDArray[Any]], outputs: Outputs
) -> Bench:
    launches = unpack_launches(request["launches"], arrays)
    device = cuda.Device(0)
    buffers = _allocate_buffers(cuda, launches[SUBMISSION], device)
    kernels = [
        _timed_kernel(
            cuda, arrays[f"cubin.{side}"], launches[side], request["symbols"][side], buffers
        )
        for side in (BASELINE, SUBMISSION)
    ]
    own = cuda.module_from_buffer(arrays["cubin.own"].tobytes())
    clock = open_clock(device.pci_bus_id())
    return Bench(cuda, own, (kernels[0], kernels[1]), buffers, clock, request["plan"], outputs)


def _allocate_buffers(cuda: Any, launch: Launch, device: Any) -> Buffers:
    held, bases, starts = {}, {}, {}
    for k, array in enumerate(launch.args):
        if not isinstance(array, Array):
            continue
        contents = with_guard_bands(k, array, POISONS[0])
        held[k] = allocate(cuda, contents.nbytes)
        cuda.memcpy_htod(held[k], contents)
        if array.data is not None:
            bases[k] = allocate(cuda, array.nbytes)
            cuda.memcpy_htod(bases[k], np.ascontiguousarray(array.data, array.dtype))
            starts[k] = allocate(cuda, draw_moves(array.shape, b"", 0, "").starts.nbytes)
    flushed = 2 * int(device.get_attribute(cuda.device_attribute.L2_CACHE_SIZE))
    flush = allocate(cuda, flushed)
    cuda.memset_d32(flush, 0, flushed // 4)
    return Buffers(held, bases, starts, flush, flushed, allocate(cuda, 4))


def _timed_kernel(
    cuda: Any, cubin: NDArray[Any], launch: Launch, symbol: str, buffers: Buffers
) -> TimedKernel:
    module = load_module(cuda, cubin.tobytes(), cooperative=launch.cooperative)
    set_variables(cuda, module, launch.globals)
    values: Sequence[Any] = [
        by_value(a.value, a.dtype)
        if isinstance(a, Scalar)
        else np.uintp(int(buffers.held[k]) + GUARD)
        for k, a in enumerate(launch.args)
    ]
    kernel = kernel_of(cuda, module, symbol, launch)
    function = kernel.prepare([value.dtype for value in values])
    return TimedKernel(function, launch, tuple(values))
