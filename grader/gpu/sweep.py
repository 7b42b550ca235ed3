"""Microbenchmarks of one GPU: rates and latencies for estimates (grader.grading.estimate).

Each point launches one kernel of sweep.cu with some rounds and with twice as many. The amount of
work is proportional to the rounds, so the difference of both times is free of what a launch costs;
the times are medians of launches, by CUDA's events. A point is stored as its two pairs of amount
and seconds. `measure` runs in the child process that all work on GPUs runs in.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.compile.program import Program
from grader.gpu.peaks import median_seconds
from grader.gpu.session import allocate, context
from grader.gpu.speedup import open_clock
from grader.launch import WARP_SIZE, Arrays

BUFFER = 1 << 30
"""Bytes of the buffer that the points share; several times any L2 cache."""

CHASED = BUFFER // 4
"""Bytes of the list that `chase` follows in device memory, at the buffer's start."""

LINE_WORDS, SECTOR_WORDS = 32, 8
"""Words of 4 bytes of a cache line, and of a sector."""

WARM_SECONDS = 0.3
"""Seconds of launches before the first point, so that the clocks are up."""

Unit = Literal["bytes", "warps", "requests", "steps", "blocks"]


@dataclass(frozen=True)
class Point:
    """One microbenchmark.

    Attributes:
        name: what it measures: the parameter of the model, see machine.py.
        kernel: the kernel of sweep.cu.
        unit: what is counted: bytes; instructions of warps; their requests, or what these are made
            of (wavefronts, operations); steps that wait for each other; blocks.
        each: how many of them a warp does in a round; a launch, for bytes a word of `size` and for
            steps one warp.
        rounds: the fewer rounds of both.
        per_processor: blocks of each multiprocessor; 0 for a launch of one block.
        threads: threads of a block.
        size: the kernel's argument; "l2" for the words of a quarter of the L2 cache.
        stride: the kernel's argument.
        cold: whether the L2 cache has to hold nothing of the buffer's start.
    """

    name: str
    kernel: str
    unit: Unit
    each: float
    rounds: int
    per_processor: int = 8
    threads: int = 256
    size: int | Literal["l2"] = 1
    stride: int = 1
    cold: bool = False

    def blocks(self, multiprocessors: int, rounds: int) -> int:
        """Return the blocks of a launch."""
        if self.unit == "blocks":
            return rounds
        return max(1, self.per_processor * multiprocessors)

    def amount(self, blocks: int, size: int, rounds: int) -> float:
        """Return the work of a launch in its unit."""
        if self.unit == "bytes":
            return self.each * size * rounds
        if self.unit in ("steps", "blocks"):
            return self.each * rounds
        return self.each * rounds * blocks * self.threads / WARP_SIZE


def _class(name: str, each: int = 64, rounds: int = 256) -> tuple[Point, Point]:
    """The points of a class of arithmetic instructions: throughput and latency."""
    return (
        Point(name, name, "warps", each, rounds, 4, 512, size=3, stride=5),
        Point(f"{name} latency", f"{name}_chain", "steps", each, rounds, 0, WARP_SIZE, 3, 5),
    )


_WORDS = 4 << 20
"""Words of 16 bytes that a point of device memory moves in a round: 64 MiB."""

POINTS = (
    Point("read", "read_once", "bytes", 16, 4, size=_WORDS),
    Point("write", "write_once", "bytes", 16, 4, size=_WORDS),
    Point("copy", "copy_once", "bytes", 32, 4, size=_WORDS),
    Point("l2", "read_again", "bytes", 16, 16, size="l2"),
    Point("l2_write", "write_again", "bytes", 16, 16, size="l2"),
    Point("l2_masked", "write_again", "bytes", 16 * 8, 2, size="l2", stride=SECTOR_WORDS),
    Point("l1_request", "read_l1", "requests", 8, 512),
    Point("l1_wavefront", "read_l1", "requests", 8 * 32, 64, stride=LINE_WORDS),
    Point("l1_lines", "read_l1", "requests", 8 * 8, 256, stride=LINE_WORDS + 1),
    Point("shared", "read_shared", "requests", 8, 512),
    Point("shared_conflict", "read_shared", "requests", 8 * 32, 64, stride=32),
    *_class("fma32", rounds=512),
    *_class("int32", 128),
    *_class("mad32"),
    *_class("fma64"),
    *_class("conversion", 128, 64),
    *_class("special"),
    *_class("division", rounds=32),
    *_class("integer_division", rounds=32),
    *_class("shuffle"),
    Point("issue", "issue", "warps", 64, 512, 4, 512, size=3, stride=5),
    Point("l1 latency", "chase_l1", "steps", 1, 4096, 0, 1, size=2048),
    Point("l2 latency", "chase_l2", "steps", 1, 4096, 0, 1, size="l2"),
    Point("dram latency", "chase_l2", "steps", 1, 2048, 0, 1, size=CHASED // 4, cold=True),
    Point("shared latency", "chase_shared", "steps", 1, 4096, 0, WARP_SIZE),
    Point("barrier latency", "barrier", "steps", 8, 512, 0, 256),
    Point("atomic_global", "atomic_global", "requests", 8 * 4, 32, size=1 << 20, stride=0),
    Point("atomic_global_same", "atomic_global", "requests", 8 * 32, 2, 4, size=1, stride=0),
    Point("atomic_global_line", "atomic_global", "requests", 8 * 4, 8, 4, size=32, stride=0),
    Point("atomic_global_bins", "atomic_global", "requests", 8 * 4, 8, 4, size=256, stride=0),
    Point("atomic_shared", "atomic_shared", "requests", 8, 256, size=1024, stride=0),
    Point("atomic_shared_same", "atomic_shared", "requests", 8, 32, size=1024, stride=5),
    Point("blocks", "empty", "blocks", 1, 1 << 15),
)
"""All points. Those of atomics on global memory count operations on sectors: 4 for a request whose
lanes update 32 words in a row, one for each lane where all update the same. The model does not use
`copy`, `l1_lines`, whose requests take 8 wavefronts for 32 lines of different banks, nor atomics on
one line and on 256 bins: they show how far its sums of parts are right."""


def sweep_kernels() -> Program:
    """Return sweep.cu as a program, which only nvcc compiles."""
    source = files("grader.gpu").joinpath("sweep.cu").read_text(encoding="utf-8")
    return Program("sweep.cu", source, (), "", "", "")


def index_cycle(words: int, draw: np.random.Generator) -> NDArray[np.uint32]:
    """Return a list of indices that visits the first word of each line once, in a random order.

    Args:
        words: words of 4 bytes of the list.
        draw: the generator.
    """
    lines = draw.permutation(words // LINE_WORDS).astype(np.uint32) * np.uint32(LINE_WORDS)
    out = np.zeros(words, np.uint32)
    out[lines] = np.roll(lines, -1)
    return out


def measure(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[Any, Arrays]:
    """Measure all points in a child process; `arrays` has the module as "cubin".

    Returns:
        "points": by name, two pairs of amount and seconds; "launch": seconds of an empty launch
        beyond two events; "multiprocessors", "capability" and "clocks" in MHz, before and after.
    """
    import pycuda.driver as cuda

    with context(cuda):
        bench = _Bench(cuda, cuda.module_from_buffer(arrays["cubin"].tobytes()))
        bench.warm_up()
        clocks = [bench.clock.megahertz()]
        launch = bench.launch_seconds()
        points = dict(bench.points())
        clocks.append(bench.clock.megahertz())
        return {
            "points": points,
            "launch": launch,
            "multiprocessors": bench.multiprocessors,
            "capability": list(cuda.Device(0).compute_capability()),
            "clocks": clocks,
        }, {}


class _Bench:
    """The module, the buffer and the GPU's numbers."""

    def __init__(self, cuda: Any, module: Any) -> None:
        device, attribute = cuda.Device(0), cuda.device_attribute
        self.cuda, self.module = cuda, module
        self.multiprocessors = int(device.get_attribute(attribute.MULTIPROCESSOR_COUNT))
        self.l2_bytes = int(device.get_attribute(attribute.L2_CACHE_SIZE))
        self.clock = open_clock(device.pci_bus_id())
        self.data, self.out = allocate(cuda, BUFFER), allocate(cuda, 4)

    def warm_up(self) -> None:
        """Keep the GPU busy, so that its clocks are up."""
        point = next(p for p in POINTS if p.name == "fma32")
        until = time.monotonic() + WARM_SECONDS
        while time.monotonic() < until:
            self._seconds(point, point.rounds)

    def launch_seconds(self) -> float:
        """Return the seconds of an empty launch, beyond two events with nothing between them."""
        one = next(p for p in POINTS if p.unit == "blocks")
        nothing = median_seconds(self.cuda, lambda: None)
        return max(self._seconds(one, 1) - nothing, 0.0)

    def points(self) -> Iterator[tuple[str, list[list[float]]]]:
        """Yield each point with its amounts and seconds."""
        for point in POINTS:
            self._prepare(point)
            rows = []
            for rounds in (point.rounds, 2 * point.rounds):
                blocks = point.blocks(self.multiprocessors, rounds)
                amount = point.amount(blocks, self._size(point), rounds)
                rows.append([amount, self._seconds(point, rounds)])
            yield point.name, rows

    def _size(self, point: Point) -> int:
        if point.size != "l2":
            return point.size
        width = 16 if point.unit == "bytes" else 4
        return self.l2_bytes // 4 // width // LINE_WORDS * LINE_WORDS

    def _prepare(self, point: Point) -> None:
        """Fill the buffer with what the point reads: zeros, or a list to follow."""
        self.cuda.memset_d32(self.data, 0, BUFFER // 4)
        if point.kernel in ("chase_l1", "chase_l2"):
            cycle = index_cycle(self._size(point), np.random.default_rng(0))
            self.cuda.memcpy_htod(self.data, cycle)

    def _seconds(self, point: Point, rounds: int) -> float:
        function = self.module.get_function(point.kernel).prepare("PPIII")
        blocks = (point.blocks(self.multiprocessors, rounds), 1)
        size = self._size(point)
        start = 0 if point.kernel in ("chase_l1", "chase_l2") else point.stride

        def launch() -> None:
            function.prepared_async_call(
                blocks, (point.threads, 1, 1), None, int(self.data), int(self.out), size,
                start, rounds,
            )  # fmt: skip

        return median_seconds(self.cuda, launch, self._flush if point.cold else None)

    def _flush(self) -> None:
        """Read the second half of the buffer, so that the L2 cache holds nothing of the first."""
        words = BUFFER // 32
        read = self.module.get_function("read_once").prepare("PPIII")
        read.prepared_async_call(
            (8 * self.multiprocessors, 1), (256, 1, 1), None, int(self.data) + BUFFER // 2,
            int(self.out), words, 0, 1,
        )  # fmt: skip
