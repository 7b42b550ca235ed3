"""python -m bench.ladder [--quick] [--to FILE]: the ladder's rungs against cuBLAS on this GPU.

Each rung of solutions/sgemm-ladder/rungs, the solution as rung 5, and cuBLAS in float32 without
tensor cores make the same n x n x n product, n from 128 to 4096; every product is verified. The
handouts' figures are made from handouts/data/ladder.json;
grader.authoring.handouts.runs defines its format. It also holds the launch time of each lab's
solution. `--quick` measures the largest size only, from the fourth rung on; it writes the same
format if FILE is given.

Launches run back to back between two events, all enqueued before the GPU starts them, with a warm
cache. The kernels take turns, round after round.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.regrade import subject
from grader.authoring.handouts.runs import CUBLAS, Measured, Work, data_file
from grader.compile.source import compile_source
from grader.faults import Fault, MachineFault, StudentFault
from grader.gpu.devices import (
    acquire_device,
    driver_version,
    library_folder,
    missing_requirement,
    same_model_devices,
    toolkit,
)
from grader.gpu.nvcc import compile_cubin
from grader.gpu.peaks import cublas_libraries, load_cublas, make_product, measure_peaks
from grader.gpu.process import device_info
from grader.gpu.session import allocate, context
from grader.gpu.timing import time_kernel, timing_kernels
from grader.grading.timing import verifier
from grader.labs.expressions import evaluate_expression
from grader.labs.reading import list_labs, load_lab
from grader.labs.tolerance import product_differs, whole_factors

ROOT = Path(__file__).parent.parent
LAB = ROOT / "solutions" / "sgemm-ladder"
SIZES = (128, 256, 512, 1024, 2048, 4096)
TILE = 128
THREADS = 256
FAST = 3
"""So many rungs are too slow for a quick look."""

ROUNDS = 9
SLOW, SLOW_ROUNDS = 0.05, 3
"""A launch that takes so many seconds is timed in fewer rounds."""

LEAST, MOST = 1e-3, 20
"""Launches back to back take at least so many seconds together, or are so many."""

HEAD_START = 1 << 30
"""Bytes that the GPU fills first, while the launches to be timed are enqueued."""

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Rung:
    """One file: a block of its kernel makes TILE x TILE elements."""

    name: str
    path: Path


@dataclass(frozen=True)
class Implementation:
    """What is timed: `launch` enqueues one product. `seconds` are of one launch, a first guess."""

    name: str
    launch: Callable[[], object]
    seconds: float = 0.0

    @property
    def times(self) -> int:
        return max(1, min(MOST, int(LEAST / max(self.seconds, 1e-9))))

    @property
    def rounds(self) -> int:
        return SLOW_ROUNDS if self.seconds > SLOW else ROUNDS


def rungs() -> tuple[Rung, ...]:
    """The rungs from the bottom to the top."""
    files = {path.stem: path for path in LAB.glob("rungs/*.cu")}
    files["5-vector-loads"] = LAB / "sgemm-ladder.cu"
    return tuple(Rung(*named) for named in sorted(files.items()))


def compiled(files: Sequence[Path], architecture: str) -> list[bytes]:
    """Each file's machine code. Raises StudentFault, which names the file, and MachineFault."""

    def one(path: Path) -> bytes:
        try:
            return compile_cubin(compile_source(path.read_bytes(), path.name), architecture)
        except StudentFault as fault:
            said = "; ".join(f"line {f.line}: {f.message}" for f in fault.findings)
            raise StudentFault(f"{path.name}: {fault.what}: {said}") from fault

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(one, files))


@dataclass(frozen=True)
class Bench:
    """The GPU, ours alone: the loaded kernels by name, and cuBLAS with its handle."""

    cuda: Any
    kernels: Mapping[str, Any]
    library: Any
    handle: Any
    filler: Any

    def rates(self, n: int) -> dict[str, float]:
        """FLOP/s of each implementation at one size; wrong ones are reported and left out."""
        a, b = whole_factors(n, n, n, np.random.default_rng(n))
        memory = tuple(allocate(self.cuda, a.nbytes) for _ in "abc")
        self.cuda.memcpy_htod(memory[0], a)
        self.cuda.memcpy_htod(memory[1], b)
        every = list(self._implementations(n, memory))
        measured = [
            estimated for one in every if (estimated := self._estimated(one, a, b, memory[2]))
        ]
        times: dict[str, list[float]] = {one.name: [] for one in measured}
        for turn in range(ROUNDS):
            for one in measured:
                if turn < one.rounds:
                    times[one.name].append(self._seconds(one))
        for buffer in memory:
            buffer.free()
        return {name: 2.0 * n**3 / median(samples) for name, samples in times.items()}

    def _implementations(self, n: int, memory: Sequence[Any]) -> Iterator[Implementation]:
        for name, function in self.kernels.items():
            yield Implementation(name, _launch(function, memory, n))
        a, b, c = memory
        yield Implementation(CUBLAS, make_product(self.library, self.handle, (n, n, n), (b, a, c)))

    def _estimated(
        self, one: Implementation, a: Floats, b: Floats, c: Any
    ) -> Implementation | None:
        """The implementation with an estimate of its time; None when its first product is wrong."""
        made = np.empty((len(a), b.shape[1]), np.float32)
        self.cuda.memset_d8(c, 0xFF, made.nbytes)
        one.launch()
        self.cuda.memcpy_dtoh(made, c)
        if wrong := product_differs(a, b, made, np.random.default_rng()):
            print(f"WRONG: {one.name} at n = {len(a)}: {wrong}", flush=True)
            return None
        return replace(one, seconds=self._seconds(one, 1))

    def _seconds(self, one: Implementation, times: int = 0) -> float:
        """The time of one of `times` launches that follow each other without a gap."""
        count = times or one.times
        start, stop = self.cuda.Event(), self.cuda.Event()
        self.cuda.memset_d32_async(int(self.filler), 0, HEAD_START // 4, None)
        start.record()
        for _ in range(count):
            one.launch()
        stop.record()
        stop.synchronize()
        return float(start.time_till(stop)) * 1e-3 / count


def _launch(function: Any, memory: Sequence[Any], n: int) -> Callable[[], object]:
    places = [int(one) for one in memory]
    grid, block = (n // TILE, n // TILE, 1), (THREADS, 1, 1)
    return lambda: function.prepared_async_call(grid, block, None, *places, n, n, n)


def measured(sizes: Sequence[int], chosen: Sequence[Rung], labs: Sequence[str]) -> Measured:
    """The rungs at these sizes and the labs, on the first GPU that is free. Raises MachineFault and
    StudentFault.
    """
    if (missing := missing_requirement()) is not None:
        raise missing
    ctypes.CDLL(f"{library_folder()}/libcuda.so.1")  # where the linker itself may not look
    import pycuda.driver as cuda

    found = same_model_devices()
    facts = device_info(found[0])
    files = [rung.path for rung in chosen]
    cubins = compiled(files, facts.architecture)
    own = compile_cubin(timing_kernels(), facts.architecture)
    with acquire_device(found) as device:
        if device.uuid:
            os.environ["CUDA_VISIBLE_DEVICES"] = device.uuid
        try:
            best, seen = raced(cuda, dict(zip(chosen, cubins, strict=True)), own, sizes)
        except cuda.Error as error:
            raise MachineFault(f"CUDA gave up: {error}") from error
    names = [name for name in seen[0] if all(name in row for row in seen)]
    if labs and len(names) <= len(chosen):
        raise MachineFault("a product is wrong on this GPU: nothing is published")
    return Measured(
        device=facts.toolchain["device"],
        driver=driver_version(),
        date=datetime.date.today().isoformat(),
        flop_rate=best["fma_flop_per_second"],
        bandwidth=best["copy_bytes_per_second"],
        sizes=tuple(sizes),
        rungs={name: tuple(row[name] for row in seen) for name in names},
        labs=dict(worked(labs)),
    )


def raced(
    cuda: Any, cubins: Mapping[Rung, bytes], own: bytes, sizes: Sequence[int]
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """The GPU's peaks, and the rates at each size. Raises MachineFault."""
    tools = toolkit()
    paths = [str(path) for path in cublas_libraries(tools)] if tools else []
    with context(cuda):
        if not paths or (opened := load_cublas(paths)) is None:
            raise MachineFault("cuBLAS does not work here", fix="install the toolkit's libraries")
        modules = {rung: cuda.module_from_buffer(cubin) for rung, cubin in cubins.items()}
        kernels = {
            rung.name: module.get_function("sgemm").prepare("PPPiii")
            for rung, module in modules.items()
        }
        best = measure_peaks(cuda, cuda.module_from_buffer(own))
        bench = Bench(cuda, kernels, *opened, allocate(cuda, HEAD_START))
        return best, [announced(n, bench.rates(n)) for n in sizes]


def worked(labs: Sequence[str]) -> Iterator[tuple[str, Work]]:
    """What one launch of each lab's solution does, and how long it takes, its caches cold."""
    for name in labs:
        of = subject(name)
        flop, moved = (
            float(evaluate_expression(text, of.options.dims))
            for text in (of.options.flop, of.options.bytes)
        )
        timing = time_kernel(of.evidence.program, of.plan, verifier(of.lab, of.case))
        if timing.pairs and flop and moved:
            seconds = median(pair.submission for pair in timing.pairs)
            yield name, Work(flop=flop, bytes=moved, seconds=seconds)


def announced(n: int, rates: dict[str, float]) -> dict[str, float]:
    """The rates, after their table was printed: GFLOP/s and the share of cuBLAS'."""
    print(f"{f'n = {n}':<24}{'GFLOP/s':>10}{'of cuBLAS':>11}")
    for name, rate in rates.items():
        share = rate / rates.get(CUBLAS, math.nan)
        print(f"  {name:<22}{rate / 1e9:>10,.0f}{100 * share:>9.1f} %", flush=True)
    return rates


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.ladder")
    parser.add_argument("--quick", action="store_true", help="n = 4096, the fast rungs")
    parser.add_argument("--to", type=Path, help="where the JSON goes")
    asked = parser.parse_args(words)
    timed = [n for n in list_labs() if any(c.name == "speed" for c in load_lab(n).checks)]
    try:
        if asked.quick:
            made = measured(SIZES[-1:], rungs()[FAST:], ())
        else:
            made = measured(SIZES, rungs(), timed)
    except Fault as fault:
        print(f"bench.ladder: {fault}", file=sys.stderr)
        return 3 if isinstance(fault, MachineFault) else 2
    print(f"{made.source}: {made.flop_rate / 1e12:.1f} TFLOP/s of multiplies and adds, copies "
          f"{made.bandwidth / 1e9:,.0f} GB/s")  # fmt: skip
    file = asked.to or (None if asked.quick else data_file())
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(made.model_dump_json(indent=1) + "\n")
        print(f"wrote {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
