"""python -m bench.simulator [--large]: the simulator against Oclgrind and against bare C++.

One kernel, the tiled matrix product of solutions/tiled-matmul: ours with all checks and
counters, debug and optimized variants; Oclgrind's OpenCL port with races and uninitialized reads;
and the same source built by g++ -O2 with a fiber for each thread, without checks; and ours of the
histogram of 2^20 bytes in solutions/histogram, in 64 blocks. Seconds are CPU
time for one thread and wall clock for two (on a busy machine use their CPU time instead); the best
of several runs. Compilation is excluded, and so is Oclgrind's start (its run of the smallest
product).
`--large` runs Oclgrind at 256^3 too, which takes minutes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.matmul import ROOT, TILE, launch
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import Fault
from grader.launch import Array, Launch, Scalar
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.ptx.parser import parse
from grader.simulator.simulate import simulate

Clock = Callable[[], float]

HERE = Path(__file__).parent
SOURCE = ROOT / "solutions/tiled-matmul/tiled-matmul.cu"
HISTOGRAM = ROOT / "solutions/histogram/histogram.cu"
TIMES = 7
GOALS = {1: 0.40, 2: 0.22}
CLOCKS: dict[int, tuple[str, Clock]] = {
    1: ("CPU", time.thread_time),
    2: ("wall", time.perf_counter),
}
MOST_OF_FIBERS, LEAST_OF_OCLGRIND, MOST_OF_HISTOGRAM = 1.5, 200, 0.25


def best(work: Callable[[], object], clock: Clock = time.thread_time) -> float:
    """The least seconds of a few runs."""
    seconds = []
    for _ in range(TIMES):
        begun = clock()
        work()
        seconds.append(clock() - begun)
    return min(seconds)


def variants(program: Program) -> dict[str, Machine]:
    """The program's two variants, decoded."""
    return {
        name: Machine(
            module,
            decode(module, program.kernels[0].symbol, core().known, definedness=name == "debug"),
        )
        for name, module in (("debug", parse(program.debug_ptx)), ("optimised", parse(program.ptx)))
    }


def together(program: Program, n: int, threads: int, clock: Clock = time.thread_time) -> float:
    """Both variants from PTX text to findings and counters."""
    asked = launch(n)
    (trace,) = simulate(program, [asked], threads=threads, limit=120)
    a, b = (x.data for x in asked.args if isinstance(x, Array) and x.data is not None)
    right = np.einsum("ik,kj->ij", a, b, optimize=False)  # BLAS would leave threads spinning
    if trace.verdict != "clean" or not np.allclose(trace.outputs[2], right, atol=1e-3):
        sys.exit("bench.simulator: the product is wrong, or not clean")
    return best(lambda: simulate(program, [asked], threads=threads, limit=120), clock)


def histogram() -> float:
    """Both variants of a histogram of 2^20 bytes, from PTX text to findings and counters."""
    program = compile_source(HISTOGRAM.read_bytes(), HISTOGRAM.name)
    data = np.random.default_rng(0).integers(0, 256, 1 << 20).astype(np.uint8)
    asked = Launch(
        "histogram",
        (64, 1, 1),
        (256, 1, 1),
        (
            Array("data", data.shape, "uint8", data),
            Array("bins", (256,), "uint32", np.zeros(256, np.uint32), read_back=True),
            Scalar("n", data.size, "int32"),
        ),
    )
    (trace,) = simulate(program, [asked], threads=1, limit=120)
    counts = np.bincount(data, minlength=256)
    if trace.verdict != "clean" or not np.array_equal(trace.outputs[1], counts):
        sys.exit("bench.simulator: the histogram is wrong, or not clean")
    return best(lambda: simulate(program, [asked], threads=1, limit=120))


def fibers(n: int) -> float | None:
    """The same source as C++, in CPU seconds; None where there is no g++."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        binary = f"{folder}/fibers"
        text = f'-DKERNEL="{SOURCE}"'
        subprocess.run(
            [compiler, "-O2", "-w", text, str(HERE / "fibers.cpp"), "-o", binary], check=True
        )
        done = subprocess.run(
            [binary, str(n), str(TIMES)], check=True, capture_output=True, text=True
        )
    seconds, error = map(float, done.stdout.split())
    if error > 1e-3:
        sys.exit(f"bench.simulator: the fibers' product is wrong by {error}")
    return seconds


def oclgrind(n: int) -> float | None:
    """Oclgrind's CPU seconds for one product, all of its process; None where it is missing."""
    program = shutil.which("oclgrind-kernel")
    if program is None:
        return None
    size = 4 * n * n
    rows = [
        "matmul.cl",
        "matmul",
        f"{n} {n} 1",
        f"{TILE} {TILE} 1",
        f"<size={size} float fill=1>",
        f"<size={size} float fill=2>",
        f"<size={size} float noinit>",
        "<size=4 int>",
        str(n),
    ]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "matmul.cl", folder)
        Path(folder, "matmul.sim").write_text("\n".join(rows) + "\n")
        process = subprocess.Popen(
            [program, "--data-races", "--uninitialized", "--num-threads", "1", "matmul.sim"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"bench.simulator: oclgrind-kernel ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def row(what: str, seconds: float, note: str = "") -> None:
    print(f"{what:<44} {seconds:>9.4f} s   {note}", flush=True)


def verdict(value: float, goal: float, text: str, at_least: bool = False) -> str:
    met = value >= goal if at_least else value <= goal
    return f"goal {text} {'met' if met else 'MISSED'}"


def ours(program: Program) -> dict[int, float]:
    """Prints our rows at 256^3; the seconds of both variants together, by threads."""
    made, asked, out = variants(program), launch(256), {}
    for threads, goal in GOALS.items():
        clock, measured = CLOCKS[threads]
        for name, machine in made.items():
            counts = name == "optimised"
            limits = Limits(threads=threads, proof=True)
            run = best(lambda m=machine, k=limits, c=counts: m.run(asked, k, c), measured)  # type: ignore[misc]
            row(f"ours 256^3, {name}, {threads} thread(s), {clock}", run)
        out[threads] = together(program, 256, threads, measured)
        row(
            f"ours 256^3, together, {threads} thread(s), {clock}",
            out[threads],
            verdict(out[threads], goal, f"<= {goal:.2f} s"),
        )
    shared = together(program, 256, 2, time.process_time) / 2
    row(
        "ours 256^3, together, 2 threads, CPU of each",
        shared,
        "their wall where two cores are free",
    )
    return out


def main(large: bool = False) -> None:
    """Print the table."""
    program = compile_source(SOURCE.read_bytes(), SOURCE.name)
    both = ours(program)
    counted = histogram()
    goal = verdict(counted, MOST_OF_HISTOGRAM, f"<= {MOST_OF_HISTOGRAM:.2f} s")
    row("ours, histogram of 2^20 bytes, 1 thread, CPU", counted, goal)
    floor = fibers(256)
    if floor is None:
        print("bare C++: no g++ here, nothing to compare with")
    else:
        row("g++ -O2, fibers, nothing checked 256^3, CPU", floor)
        ratio = both[1] / floor
        goal = verdict(ratio, MOST_OF_FIBERS, f"<= {MOST_OF_FIBERS}x")
        print(f"{'  ours / fibers':<44} {ratio:>9.2f} x   {goal}")
    start = oclgrind(TILE)
    if start is None:
        print("Oclgrind: not here (Debian: apt-get install oclgrind), nothing to compare with")
        return
    for n in (128, 256) if large else (128,):
        theirs = (oclgrind(n) or 0) - start
        mine = both[1] if n == 256 else together(program, n, 1)
        row(f"Oclgrind {n}^3, races, uninitialized, CPU", theirs)
        row(f"ours {n}^3, together, 1 thread, CPU", mine)
        ratio = theirs / mine
        goal = verdict(ratio, LEAST_OF_OCLGRIND, f">= {LEAST_OF_OCLGRIND}x", at_least=True)
        print(f"{'  Oclgrind / ours':<44} {ratio:>9.1f} x   {goal}")


if __name__ == "__main__":
    try:
        main("--large" in sys.argv[1:])
    except Fault as fault:
        sys.exit(f"bench.simulator: {fault}")
