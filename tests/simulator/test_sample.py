"""A sample of the blocks of a large launch shows its mistakes and no false ones."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from grader.grading.run import run_all
from grader.launch import Array, Launch, Scalar, Trace
from grader.simulator.schedules import sampled_blocks
from tests.trusted import compile_here

N = 1 << 16
HEAD = 'extern "C" __global__ void k(const float* x, float* y, unsigned int* count, int n)\n{\n'
START = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    __shared__ float s[64];\n"
CLEAN = START + "    s[threadIdx.x] = x[i]; __syncthreads(); y[i] = s[63 - threadIdx.x];\n}\n"
LARGE = "    if (n > 1000) { %s }\n"


def run(body: str, n: int = N, sample: int = 8, **more: Any) -> Trace:
    args = (
        Array("x", (n,), "float32", np.ones(n, np.float32)),
        Array("y", (n,), "float32", None, True),
        Array("count", (1,), "uint32", np.zeros(1, np.uint32), True),
        Scalar("n", n, "int32"),
    )
    program = compile_here((HEAD + body).encode(), "k.cu")
    launch = Launch("k", (n // 64, 1, 1), (64, 1, 1), args)
    (trace,) = run_all(program, [launch], sample=sample, **more)
    return trace


WRONG = {
    "race": CLEAN.replace("__syncthreads();", "if (n < 1000) __syncthreads();"),
    "invalid-access": CLEAN.replace("y[i]", "y[n > 1000 && i == n - 1 ? n : i]"),
    "uninitialized-read": CLEAN.replace("s[threadIdx.x] =", "if (n < 1000 || threadIdx.x < 50)"
                                        " s[threadIdx.x] ="),
    "barrier-divergence": CLEAN.replace("__syncthreads();", "if (n < 1000 || threadIdx.x < 40)"
                                        " __syncthreads(); else __syncthreads();"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_mistake_at_the_full_size_is_found_in_a_sample(kind: str) -> None:
    assert kind in {f.kind for f in run(WRONG[kind]).errors}
    assert not run(WRONG[kind], n=640, sample=0).errors


@pytest.mark.parametrize("threads", [1, 2])
def test_sample_of_a_correct_kernel_is_clean(threads: int) -> None:
    trace = run(CLEAN, threads=threads)
    assert not trace.findings and trace.ended
    assert not trace.outputs and not trace.counters


def test_only_the_sampled_blocks_run() -> None:
    struck = CLEAN.replace("y[i]", "y[blockIdx.x == 3 ? n : i]")
    assert 3 not in sampled_blocks((N // 64, 1, 1), 8)
    assert not run(struck).findings
    assert run(struck, sample=0).errors


WAITS = {
    "for the blocks before it": "    if (threadIdx.x == 0) { while (atomicAdd(count, 0u) <"
    " blockIdx.x) {} atomicAdd(count, 1u); }\n",
    "for all blocks": "    if (threadIdx.x == 0) { atomicAdd(count, 1u); while (atomicAdd(count,"
    " 0u) < gridDim.x) {} }\n",
}  # fmt: skip


@pytest.mark.parametrize("what", WAITS)
def test_block_that_waits_for_others_is_not_reported(what: str) -> None:
    trace = run(START + WAITS[what] + "    y[i] = x[i];\n}\n", limit=1.0, steps=100_000)
    assert not trace.findings


@pytest.mark.parametrize(
    ("grid", "count"),
    [((64, 64, 1), 8), ((4096, 1, 1), 8), ((1, 50, 1), 8), ((3, 3, 3), 8), ((100, 7, 1), 1)],
)
def test_sampled_blocks_are_distinct_and_in_the_grid(
    grid: tuple[int, int, int], count: int
) -> None:
    blocks = sampled_blocks(grid, count)
    assert len(set(blocks)) == len(blocks) == count
    assert all(0 <= block < prod(grid) for block in blocks)
    if count > 4:
        x, y, z = grid
        assert {0, prod(grid) - 1, x - 1, x * (y - 1), prod(grid) - x} <= set(blocks)


@pytest.mark.parametrize(("grid", "count"), [((64, 64, 1), 0), ((2, 2, 2), 8), ((1, 1, 1), 8)])
def test_small_grid_runs_completely(grid: Any, count: int) -> None:
    assert sampled_blocks(grid, count) == ()
