"""python -m bench.matmul: the simulator on matrix products, with all checks and counters.

One row per kernel and size: the diagnosing pass (debug PTX) and the measuring pass (optimized PTX)
together, in the child process, on one thread and on two; the best of several runs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import Fault
from grader.grading.run import run_all
from grader.launch import Array, Launch, Scalar

ROOT = Path(__file__).parent.parent
TILE = 16


@dataclass(frozen=True)
class Row:
    """One kernel at one size; `goal` is the time in seconds that we mean to keep, by threads."""

    name: str
    file: str
    n: int
    goal: dict[int, float]


ROWS = (
    Row("tiled 256", "solutions/tiled-matmul/tiled-matmul.cu", 256, {1: 1.0, 2: 0.55}),
    Row("tiled 128", "solutions/tiled-matmul/tiled-matmul.cu", 128, {1: 0.2}),
    Row("naive 256", "labs/tiled-matmul/baseline.cu", 256, {}),
    Row("naive 128", "labs/tiled-matmul/baseline.cu", 128, {}),
)


def launch(n: int) -> Launch:
    """C = A B, n x n float32, in blocks of TILE x TILE threads."""
    draw = np.random.default_rng(0)
    a, b = (draw.uniform(-1, 1, (n, n)).astype(np.float32) for _ in "ab")
    return Launch(
        "matmul",
        (n // TILE, n // TILE, 1),
        (TILE, TILE, 1),
        (
            Array("A", (n, n), "float32", a),
            Array("B", (n, n), "float32", b),
            Array("C", (n, n), "float32", read_back=True),
            Scalar("n", n, "int32"),
        ),
    )


def seconds(program: Program, n: int, threads: int, times: int) -> float:
    """The best wall time of both passes, in seconds; the result is checked."""
    best = float("inf")
    asked = launch(n)
    for _ in range(times):
        (trace,) = run_all(program, [asked], threads=threads, limit=120)
        if trace.verdict != "clean":
            sys.exit(f"bench.matmul: a right kernel is not clean: {trace.findings[0].message}")
        a, b = (x.data for x in asked.args[:2] if isinstance(x, Array))
        assert a is not None
        assert b is not None
        if not np.allclose(trace.outputs[2], a.astype(np.float64) @ b, atol=1e-3):
            sys.exit("bench.matmul: the product is wrong")
        best = min(best, trace.seconds["run"])
    return best


def main(times: int = 3) -> None:
    """Print the table."""
    print(f"{'kernel':<12} {'1 thread':>10} {'2 threads':>10} {'ratio':>7}   goal")
    for row in ROWS:
        source = (ROOT / row.file).read_bytes()
        program = compile_source(source, Path(row.file).name)
        one, two = (seconds(program, row.n, threads, times) for threads in (1, 2))
        goal = ", ".join(f"{t}: {s:.2f} s" for t, s in row.goal.items())
        met = all({1: one, 2: two}[t] <= s for t, s in row.goal.items())
        mark = f"{goal} {'met' if met else 'MISSED'}" if goal else ""
        print(f"{row.name:<12} {one:>8.3f} s {two:>8.3f} s {one / two:>6.2f}x   {mark}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"bench.matmul: {fault}")
