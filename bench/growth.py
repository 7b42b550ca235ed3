"""python -m bench.growth: how the simulator's time and memory grow, and what decoding costs.

Seconds are CPU time of the thread, the best of several runs, which a busy machine affects little;
memory is the peak of the command and its children together, sampled.
"""

from __future__ import annotations

import sys
import tempfile
import time

import numpy as np

from bench.check import peak
from bench.check import timed as timed_command
from bench.matmul import ROOT, launch
from bench.simulator import SOURCE, best, variants
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import Fault
from grader.launch import Array, Launch, Scalar
from grader.simulator.core.bindings import CELL_BYTES, core
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.module import decode
from grader.simulator.ptx.parser import parse

ENDLESS = 1 << 40
CHAIN = b"""\
extern "C" __global__ void chain(float *out, int n) {
  float x = 1;
  for (int i = 0; i < n; ++i) x = x * 0.5f + i;
  *out = x;
}
"""
SMALL = b"""\
extern "C" __global__ void small(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}
"""
GROUPS = b"""\
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void groups(const int *in, int *out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int sum = cg::reduce(warp, in[threadIdx.x], cg::plus<int>());
  block.sync();
  if (warp.thread_rank() == 0) out[warp.meta_group_rank()] = sum;
}
"""

BARRIERS = b"""\
#include <cooperative_groups.h>
extern "C" __global__ void barriers(int *out, int n) {
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) out[blockIdx.x] += 1;
    cooperative_groups::this_grid().sync();
  }
}
"""

LAST_BLOCK = b"""\
extern "C" __global__ void last_block(volatile int *part, unsigned *drawn, int *sum) {
  __shared__ bool last;
  part[blockIdx.x] = 1;
  __threadfence();
  last = atomicInc(drawn, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  int all = 0;
  for (unsigned k = 0; k < gridDim.x; ++k) all += part[k];
  *sum = all;
}
"""


def row(what: str, value: float, unit: str, goal: float | None = None) -> None:
    met = "" if goal is None else f"goal <= {goal:g} {unit} {'met' if value <= goal else 'MISSED'}"
    print(f"{what:<52} {value:>10.3f} {unit:<4} {met}", flush=True)


def timed(machine: Machine, asked: Launch, counts: bool, times: int = 1) -> tuple[float, Raw]:
    """CPU seconds of one run, the best of some, and what it reported."""
    seconds = []
    for _ in range(times):
        begun = time.thread_time()
        raw = machine.run(asked, Limits(steps=ENDLESS, seconds=600), counts)
        seconds.append(time.thread_time() - begun)
    if not raw.ended or len(raw.reports):
        sys.exit(f"bench.growth: {asked.kernel} did not end clean")
    return min(seconds), raw


def thread_instructions(machine: Machine, raw: Raw) -> int:
    """Each basic block's instructions, times the lanes that went through it."""
    lengths = machine.arrays.blocks["steps"].astype(np.int64)
    return int((lengths * raw.visit_lanes[: len(lengths)].astype(np.int64)).sum())


def per_instruction(made: dict[str, Machine], n: int, times: int) -> float:
    """Nanoseconds a thread-instruction, both variants together."""
    seconds, count = 0.0, 0
    for name, machine in made.items():
        spent, raw = timed(machine, launch(n), name == "optimised", times)
        seconds, count = seconds + spent, count + thread_instructions(machine, raw)
    return seconds / count * 1e9


def growth(program: Program) -> None:
    made = variants(program)
    small, large = per_instruction(made, 128, 9), per_instruction(made, 512, 5)
    row("a thread-instruction at 128^3", small, "ns")
    row("a thread-instruction at 512^3", large, "ns")
    row("  512^3 / 128^3", large / small, "x", 1.3)


def long_and_wide() -> None:
    out = Array("out", (1,), "float32", read_back=True)
    program = compile_source(CHAIN, "chain.cu")
    machine = variants(program)["debug"]
    _, raw = timed(machine, Launch("chain", (1, 1, 1), (1, 1, 1), (out, _int(1000))), False)
    turns = int(1e8 / (raw.steps / 1000)) + 1
    asked = Launch("chain", (1, 1, 1), (1, 1, 1), (out, _int(turns)))
    seconds, raw = timed(machine, asked, False)
    row(f"one thread, {raw.steps / 1e8:.2f} x 10^8 steps, debug", seconds, "s", 3.0)
    data = np.ones(1 << 20, np.float32)
    args = (
        Array("in", data.shape, "float32", data),
        Array("out", data.shape, "float32", read_back=True),
        _int(len(data)),
    )
    for name, machine in variants(compile_source(SMALL, "small.cu")).items():
        seconds, _ = timed(
            machine, Launch("small", (10**6, 1, 1), (32, 1, 1), args), name == "optimised"
        )
        row(f"10^6 blocks of 32 threads, {name}", seconds, "s", 2.0)


def grid_barriers() -> None:
    program = compile_source(BARRIERS, "barriers.cu")
    for name, machine in variants(program).items():
        seconds = {}
        for blocks in (16, 128):
            out = Array("out", (blocks,), "int32", np.zeros(blocks, "i4"), True)
            shape = (blocks, 1, 1), (256, 1, 1)
            asked = Launch("barriers", *shape, (out, _int(10)), cooperative=True)
            seconds[blocks] = timed(machine, asked, False, 3)[0] / 10
        row(f"a grid barrier of 128 blocks of 256 threads, {name}", seconds[128], "s", 0.1)
        row("  for each thread, 128 / 16 blocks", seconds[128] / seconds[16] / 8, "x", 1.5)


def last_block_launch(blocks: int) -> Launch:
    """The launch of LAST_BLOCK with so many blocks of one thread."""
    arrays = (
        Array("part", (blocks,), "int32", np.zeros(blocks, "i4")),
        Array("drawn", (1,), "uint32", np.zeros(1, "u4"), True),
        Array("sum", (1,), "int32", None, True),
    )
    return Launch("last_block", (blocks, 1, 1), (1, 1, 1), arrays)


def last_blocks() -> None:
    program = compile_source(LAST_BLOCK, "last_block.cu")
    for name, machine in variants(program).items():
        seconds = {}
        for blocks in (4_000, 32_000):
            seconds[blocks] = timed(machine, last_block_launch(blocks), False, 3)[0]
        row(f"32,000 blocks of which the last sums up, {name}", seconds[32_000], "s", 2.0)
        longer = seconds[32_000] / seconds[4_000] / 8
        row("  for each block, 32,000 / 4,000 blocks", longer, "x", 1.5)


def _int(value: int) -> Scalar:
    return Scalar("n", value, "int32")


def decoding() -> None:
    lab = compile_source(SOURCE.read_bytes(), SOURCE.name)
    groups = compile_source(GROUPS, "groups.cu")
    for what, program, goal in (("a lab's kernel", lab, 10.0), ("cooperative groups", groups, 100)):
        symbol = program.kernels[0].symbol
        for name, text in (("debug", program.debug_ptx), ("optimised", program.ptx)):
            parsed = best(lambda t=text: parse(t))  # type: ignore[misc]
            watched = name == "debug"
            both = best(lambda t=text, s=symbol, w=watched: _decoded(t, s, w))  # type: ignore[misc]
            row(f"decode {what}, {name} ({parsed * 1e3:.1f} ms to parse)", both * 1e3, "ms", goal)


def _decoded(text: str, symbol: str, watched: bool) -> Machine:
    """As the simulator decodes the variant: local variables are watched in debug code only."""
    module = parse(text)
    return Machine(module, decode(module, symbol, core().known, definedness=watched))


def memory() -> None:
    row("shadow, bytes a byte of byte-wide memory", CELL_BYTES + 4, "B", 64)
    row("shadow, bytes a byte of word-wide memory", (CELL_BYTES + 4) / 4, "B", 64)
    for folder in sorted((ROOT / "labs").iterdir()):
        solution = ROOT / "solutions" / folder.name / f"{folder.name}.cu"
        if not solution.exists():
            continue
        command = ("-m", "grader", "check", folder.name, str(solution))
        with tempfile.TemporaryDirectory() as cache:
            timed_command(*command, cache=cache)
            used = peak(*command, cache=cache)
        row(f"grader check {folder.name}, all its processes", used, "MiB", 300)


def main() -> None:
    """Print the table."""
    growth(compile_source(SOURCE.read_bytes(), SOURCE.name))
    long_and_wide()
    grid_barriers()
    last_blocks()
    decoding()
    memory()


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"bench.growth: {fault}")
