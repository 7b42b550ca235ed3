"""Counters against those of an H100 under Nsight Compute, and against arithmetic."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.launch import Array, Launch, Scalar, Trace
from grader.simulator.counters import (
    ATOMIC_INSTRUCTIONS,
    CONFLICTS,
    FLOPS,
    REQUESTS,
    SECTORS,
    THREAD_ATOMICS,
    THREAD_CONST_LOADS,
    WAVEFRONTS,
)
from grader.simulator.simulate import simulate
from tests.command import ROOT
from tests.fuzz.corpus import read

NAIVE = """
extern "C" __global__ void k(const float *A, const float *B, float *C, int m, int k, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float acc = 0;
  for (int i = 0; i < k; ++i) acc += A[row * k + i] * B[i * n + col];
  C[row * n + col] = acc;
}
"""
TRANSPOSE = """
extern "C" __global__ void k(const float *in, float *out, int rows, int cols) {
  __shared__ float tile[32][WIDTH];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}
"""


def trace(source: str, launch: Launch) -> Trace:
    done = simulate(compile_source(source.encode(), "k.cu"), [launch])[0]
    assert done.ended and not done.errors
    return done


def naive(m: int, k: int, n: int) -> Trace:
    held = [
        Array(name, shape, "float32", np.ones(shape, "float32"))
        for name, shape in (("A", (m, k)), ("B", (k, n)))
    ]
    out = Array("C", (m, n), "float32", None, True)
    sizes = [Scalar(name, value, "int32") for name, value in (("m", m), ("k", k), ("n", n))]
    grid = (ceil(n / 16), ceil(m / 16), 1)
    return trace(NAIVE, Launch("k", grid, (16, 16, 1), (*held, out, *sizes)))


def test_naive_matmul_counters_match_the_hardware() -> None:
    counters = naive(50, 37, 41).counters
    assert counters[REQUESTS.format("ld")] == 5_550
    assert counters[SECTORS.format("ld")] == 12_700
    assert counters[FLOPS.format("ffma")] == 50 * 41 * 37


@pytest.mark.parametrize(("width", "wavefronts", "conflicts"), [(32, 6_144, 5_952), (33, 192, 0)])
def test_transpose_counters_match_the_hardware(width: int, wavefronts: int, conflicts: int) -> None:
    rows, cols = 96, 64
    data = np.arange(rows * cols, dtype="float32").reshape(rows, cols)
    args = (
        Array("in", (rows, cols), "float32", data),
        Array("out", (cols, rows), "float32", None, True),
        Scalar("rows", rows, "int32"),
        Scalar("cols", cols, "int32"),
    )
    source = TRANSPOSE.replace("WIDTH", str(width))
    done = trace(source, Launch("k", (cols // 32, rows // 32, 1), (32, 32, 1), args))
    assert done.counters[WAVEFRONTS.format("ld")] == wavefronts
    assert done.counters[CONFLICTS.format("ld")] == conflicts
    assert (done.outputs[1] == data.T).all()


ATOMICS = """
__constant__ float mask[4] = {1, 2, 3, 4};
extern "C" __global__ void k(unsigned int *bins, float *out) {
  __shared__ unsigned int own[8];
  if (threadIdx.x < 8) own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[threadIdx.x % 8], 1u);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
  out[threadIdx.x] = mask[threadIdx.x % 4];
}
"""


def test_atomics_and_constant_loads_by_lane_and_by_warp() -> None:
    bins = Array("bins", (8,), "uint32", np.zeros(8, "uint32"), True)
    out = Array("out", (64,), "float32", None, True)
    result = trace(ATOMICS, Launch("k", (3, 1, 1), (64, 1, 1), (bins, out)))
    assert result.outputs[0].tolist() == [24] * 8
    held = result.counters
    assert held[THREAD_ATOMICS.format("shared")] == 3 * 64
    assert held[THREAD_ATOMICS.format("global")] == 3 * 8
    assert held[THREAD_CONST_LOADS] == 3 * 64
    assert sum(held.get(REQUESTS.format(op), 0) for op in ("atom", "red")) == 3
    assert sum(held.get(ATOMIC_INSTRUCTIONS.format("shared", op), 0) for op in ("atom", "red")) == 6


def test_neighboring_loads_that_the_compiler_merges_have_no_conflict() -> None:
    """Of a strided reduction's 560 conflicts, 64 are those of the first step's separate loads."""
    folder = ROOT / "tests" / "counters"
    counted = []
    for name in ("reduction_strided_index", "reduction_strided_unrolled"):
        text = (folder / f"{name}.cu").read_text()
        (trace,) = simulate(compile_source(text.encode(), "k.cu"), [read(text).launch()])
        counted.append(trace.counters[CONFLICTS.format("ld")])
    assert counted == [560, 496]
