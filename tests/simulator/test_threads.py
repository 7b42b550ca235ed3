"""Outputs, findings and counters are the same for any number of threads."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.compile.program import Program
from grader.launch import Array, Launch, Trace
from grader.simulator.simulate import simulate
from tests.fuzz.corpus import KERNELS, Spec, read
from tests.trusted import compile_here

NAMES = sorted(path.stem for path in KERNELS.glob("*.cu"))


@cache
def program(name: str) -> Program:
    path = KERNELS / f"{name}.cu"
    return compile_here(path.read_bytes(), path.name)


def facts(trace: Trace) -> dict[str, object]:
    """What must not depend on the threads; arrays as bytes."""
    return {
        "findings": trace.findings,
        "outputs": {k: np.asarray(v).tobytes() for k, v in trace.outputs.items()},
        "unwritten": {k: np.asarray(v).tobytes() for k, v in trace.unwritten.items()},
        "counters": dict(trace.counters),
        "lines": trace.lines,
        "ended": trace.ended,
    }


def run(name: str, spec: Spec, threads: int, seed: int) -> dict[str, object]:
    return facts(simulate(program(name), [spec.launch(seed)], threads=threads, steps=200_000)[0])


@settings(max_examples=40, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    name=st.sampled_from(NAMES),
    blocks=st.integers(1, 9),
    width=st.sampled_from([8, 16, 31, 32, 33, 64, 96]),
    threads=st.integers(2, 5),
    seed=st.integers(0, 99),
)
def test_launch_is_the_same_for_any_number_of_threads(
    name: str, blocks: int, width: int, threads: int, seed: int
) -> None:
    spec = read((KERNELS / f"{name}.cu").read_text())
    block = (width, 1, 1) if spec.block[1] == 1 else spec.block
    spec = replace(spec, grid=(blocks, spec.grid[1], 1), block=block)
    assert run(name, spec, threads, seed) == run(name, spec, 1, seed)


def test_comparison_detects_a_difference() -> None:
    spec = read((KERNELS / "matmul.cu").read_text())
    assert run("matmul", spec, 1, 0) != run("matmul", spec, 1, 1)


LEFTOVERS = b"""
extern "C" __global__ void k(int *out) {
  int own[16];
  if (blockIdx.x == 0)
    for (int i = 0; i < 16; ++i) own[(i + threadIdx.x) & 15] = 77;
  out[blockIdx.x * 32 + threadIdx.x] = own[threadIdx.x * 7 & 15];
}
"""


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_block_finds_nothing_of_another_in_its_stack_frames(threads: int) -> None:
    """Which block a worker ran before differs from run to run; its values could be right."""
    out = Array("out", (9, 32), "int32", None, True)
    launch = Launch("k", (9, 1, 1), (32, 1, 1), (out,))
    (trace,) = simulate(compile_here(LEFTOVERS, "k.cu"), [launch], threads=threads)
    assert {f.kind for f in trace.errors} == {"uninitialized-read"}
    assert (trace.outputs[0][0] == 77).all() and not trace.outputs[0][1:].any()
