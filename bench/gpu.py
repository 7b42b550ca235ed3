"""python -m bench.gpu [accuracy|repeat|labs|check]...: how well a GPU's timing can be trusted.

accuracy  our time of a kernel against Nsight Compute's gpu__time_duration, from 2 us to 20 ms
repeat    the ratio of tiled over naive matmul at 1024^3 in 30 processes, one after another
labs      every lab's solution against its baseline: time, ratio, interval, verification
check     a whole `grader check --on gpu` of tiled-matmul, and how long it held the GPU
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.matmul import launch as product
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.gpu import launches
from grader.gpu import timing as measure
from grader.gpu.devices import acquire_device, devices
from grader.gpu.nvcc import compile_cubin
from grader.gpu.process import device_info
from grader.gpu.speedup import Timing, TimingPlan, estimate
from grader.gpu.timing import time_kernel
from grader.grading.timing import verifier
from grader.labs.cases import prepare_baseline, prepare_case
from grader.labs.model import Case
from grader.labs.reading import list_labs, load_lab
from grader.launch import Array, Launch, Scalar

ROOT = Path(__file__).parent.parent
PROCESSES = 30
METRIC = "gpu__time_duration.sum"
LAUNCHES = 9

ADD = """
extern "C" __global__ void add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""


@dataclass(frozen=True)
class Kernel:
    """One kernel at one size."""

    name: str
    program: Program
    launch: Launch


def kernels() -> Iterator[Kernel]:
    """From a few microseconds to tens of milliseconds."""
    add = compile_source(ADD.encode(), "add.cu")
    for bits in (10, 16, 20, 22, 24, 26):
        yield Kernel(f"add 2^{bits}", add, sum_of(1 << bits))
    tiled = compiled(ROOT / "solutions/tiled-matmul/tiled-matmul.cu")
    for n in (128, 256, 512, 1024, 2048, 4096):
        yield Kernel(f"tiled {n}", tiled, product(n))
    naive = compiled(ROOT / "labs/tiled-matmul/baseline.cu")
    yield Kernel("naive 1024", naive, product(1024))


def compiled(path: Path) -> Program:
    return compile_source(path.read_bytes(), path.name)


def sum_of(n: int) -> Launch:
    a, b = (np.arange(n, dtype=np.float32) for _ in "ab")
    args = (
        Array("a", (n,), "float32", a),
        Array("b", (n,), "float32", b),
        Array("c", (n,), "float32", read_back=True),
        Scalar("n", n, "int32"),
    )
    return Launch("add", (-(-n // 256), 1, 1), (256, 1, 1), args)


def accuracy() -> None:
    """The table of our times beside Nsight Compute's, cold cache both."""
    made = list(kernels())
    theirs = with_ncu(len(made))
    print(f"{'kernel':<12}{'ours us':>10}{'sigma %':>9}{'ncu us':>10}{'ours - ncu':>12}{'%':>8}")
    overhead = 0.0
    for kernel, ncu in zip(made, theirs, strict=True):
        plan = TimingPlan(kernel.program, kernel.launch, kernel.launch, 1.0, 1.0, most=60, budget=1)
        timing = time_kernel(kernel.program, plan, lambda inputs, outputs: "")
        overhead = timing.overhead
        times = [1e6 * p.submission for p in timing.pairs]
        ours, spread = median(times), estimate(timing.ratios).sigma
        print(
            f"{kernel.name:<12}{ours:>10.2f}{100 * spread:>9.2f}{ncu:>10.2f}{ours - ncu:>12.2f}"
            f"{100 * (ours / ncu - 1):>8.1f}",
            flush=True,
        )
    print(f"two events with nothing between them: {1e6 * overhead:.2f} us, taken off each of ours")


def with_ncu(count: int) -> list[float]:
    """Each kernel's median duration in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        command = ["ncu", "--clock-control", "none", "--cache-control", "all", "--csv", "--page",
                   "raw", "--print-units", "base", "--metrics", METRIC, "--log-file", str(log),
                   sys.executable, "-m", "bench.gpu", "target"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        text = log.read_text() if log.exists() else ""
    if done.returncode:
        sys.exit(f"ncu ended with {done.returncode}:\n{text[-2000:]}\n{done.stderr[-2000:]}")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("=="))
    found = [float(row[METRIC].replace(",", "")) for row in rows if row.get("Kernel Name")]
    assert len(found) == count * LAUNCHES, (len(found), count)
    return [median(found[at : at + LAUNCHES]) / 1e3 for at in range(0, len(found), LAUNCHES)]


def target() -> None:
    """What ncu watches: every kernel launched the plain way, several times."""
    import pycuda.driver as cuda

    architecture = device_info(devices()[0]).architecture
    cuda.init()
    context = cuda.Device(0).make_context()
    try:
        for kernel in kernels():
            cubin = compile_cubin(kernel.program, architecture)
            found = kernel.program.kernel(kernel.launch.kernel)
            assert found is not None
            function = cuda.module_from_buffer(cubin).get_function(found.symbol)
            memory = [sent(cuda, a) for a in kernel.launch.args]
            for _ in range(LAUNCHES):
                function(*memory, block=kernel.launch.block, grid=kernel.launch.grid)
            context.synchronize()
    finally:
        context.pop()


def sent(cuda: Any, argument: Array | Scalar) -> Any:
    if isinstance(argument, Scalar):
        return np.dtype(argument.dtype).type(argument.value)
    memory = cuda.mem_alloc(int(np.prod(argument.shape)) * np.dtype(argument.dtype).itemsize)
    if argument.data is not None:
        cuda.memcpy_htod(memory, argument.data)
    return memory


def plan_of(name: str) -> tuple[Program, TimingPlan, Any]:
    """A lab's solution, how it is timed, and how its outputs are verified."""
    lab = load_lab(name)
    options = next(c.options for c in lab.checks if c.name == "speed")
    case = Case("timed", options["dims"], options.get("kind", "random"))
    plan = TimingPlan(
        compiled(lab.baseline),
        prepare_baseline(lab, case, b"").launch,
        prepare_case(lab, case, b"").launch,
        options["minimum"],
        options["full"],
        seed=b"bench",
    )
    return compiled(lab.solution), plan, verifier(lab, case)


def repeat() -> None:
    """One process after another: the median ratio of each, and how far they lie apart."""
    command = [sys.executable, "-m", "bench.gpu", "once"]
    rows = []
    for _ in range(PROCESSES):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append([float(word) for word in done.stdout.split()])
    ratios = [row[0] for row in rows]
    middle = median(ratios)
    off = [100 * (ratio / middle - 1) for ratio in ratios]
    print(f"{PROCESSES} processes, {rows[0][1]:.0f} pairs each: median ratio {middle:.4f}")
    print(f"furthest from it: {min(off):+.3f} % and {max(off):+.3f} %")
    print(f"one pair's sigma {100 * median(row[2] for row in rows):.2f} %")
    print("all, in %:", " ".join(f"{o:+.2f}" for o in sorted(off)))


def once() -> None:
    program, plan, _ = plan_of("tiled-matmul")
    result = estimate(time_kernel(program, plan, lambda inputs, outputs: "").ratios)
    print(result.ratio, result.pairs, result.sigma)


def labs() -> None:
    """Every timed lab's solution."""
    print(f"{'lab':<22}{'baseline':>10}{'solution':>10}{'ratio':>8}{'interval':>18}{'sigma %':>9}"
          f"{'pairs':>7}{'right':>7}{'held s':>8}{'all s':>7}")  # fmt: skip
    timed = [n for n in list_labs() if any(c.name == "speed" for c in load_lab(n).checks)]
    with ThreadPoolExecutor(8) as pool:
        plans = dict(zip(timed, pool.map(plan_of, timed), strict=True))
    for name, (program, plan, verify) in plans.items():
        spans: list[float] = []
        with watched(spans):
            begun = time.perf_counter()
            timing = time_kernel(program, plan, verify)
            whole = time.perf_counter() - begun
        print(row_of(name, timing) + f"{sum(spans):>8.2f}{whole:>7.2f}", flush=True)
        for finding in timing.findings:
            print(f"    {finding.kind}: {finding.message}")
    copied, fused = (timing.peaks.get(k, 0) for k in ("copy_bytes_per_second",
                                                      "fma_flop_per_second"))  # fmt: skip
    print(f"{timing.device}: copies {copied / 1e9:.0f} GB/s, multiplies and adds "
          f"{fused / 1e12:.1f} TFLOP/s; clocks {sorted(set(timing.clocks))}")  # fmt: skip


def row_of(name: str, timing: Timing) -> str:
    result = estimate(timing.ratios)
    base, own = (
        1e6 * median(t)
        for t in zip(*((p.baseline, p.submission) for p in timing.pairs), strict=True)
    )
    return (
        f"{name:<22}{base:>8.1f}us{own:>8.1f}us{result.ratio:>8.3f}"
        f"{f'{result.low:.3f} to {result.high:.3f}':>18}{100 * result.sigma:>9.2f}{result.pairs:>7}"
        f"{timing.verified:>7}"
    )


@contextmanager
def watched(spans: list[float]) -> Iterator[None]:
    """Note for how long the GPU's lock is held."""

    @contextmanager
    def timed(*words: Any, **more: Any) -> Iterator[Any]:
        with acquire_device(*words, **more) as device:
            begun = time.perf_counter()
            yield device
            spans.append(time.perf_counter() - begun)

    before = launches.acquire_device, measure.acquire_device
    launches.acquire_device = measure.acquire_device = timed
    try:
        yield
    finally:
        launches.acquire_device, measure.acquire_device = before


def check() -> None:
    """From the shell; then once more in this process to see where the time goes."""
    file = ROOT / "solutions/tiled-matmul/tiled-matmul.cu"
    command = [sys.executable, "-m", "grader", "check", "tiled-matmul", str(file), "--on", "gpu"]
    for _ in range(3):
        begun = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(f"grader check: {time.perf_counter() - begun:.2f} s, exit {done.returncode}")
    print(done.stdout[-3000:], done.stderr[-2000:])
    from grader.feedback.grade import grade
    from grader.submissions.files import read_submission

    spans: list[float] = []
    with watched(spans):
        begun = time.perf_counter()
        grade(load_lab("tiled-matmul"), read_submission(file), on="gpu")
        whole = time.perf_counter() - begun
    print(f"in this process {whole:.2f} s; the GPU was held for "
          + " and ".join(f"{span:.2f}" for span in spans) + " s")  # fmt: skip


JOBS = (accuracy, repeat, labs, check, target, once)


def main(words: list[str]) -> None:
    by_name = {job.__name__: job for job in JOBS}
    for word in words or ["accuracy", "labs", "repeat", "check"]:
        if word not in ("target", "once"):
            print(f"== {word}", flush=True)
        by_name[word]()


if __name__ == "__main__":
    main(sys.argv[1:])
