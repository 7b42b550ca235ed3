"""Counters against those of an H100 under Nsight Compute, and against arithmetic."""

from __future__ import annotations

from collections import Counter
from math import ceil

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.launch import Array, Launch, Scalar, Trace
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.counters import (
    CONFLICTS,
    FLOPS,
    REQUESTS,
    SECTORS,
    SHARED_ATOMICS,
    THREAD_ATOMICS,
    THREAD_CONST_LOADS,
    WAVEFRONTS,
)
from grader.simulator.decode.module import decode
from grader.simulator.ptx.parser import parse
from grader.simulator.simulate import simulate
from tests.command import ROOT
from tests.fuzz.corpus import read
from tests.trusted import compile_here

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
    done = simulate(compile_here(source.encode(), "k.cu"), [launch])[0]
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
    assert held[SHARED_ATOMICS] == 6


def test_neighboring_loads_that_the_compiler_merges_have_no_conflict() -> None:
    """Of a strided reduction's 560 conflicts, 64 are those of the first step's separate loads."""
    folder = ROOT / "tests" / "counters"
    counted = []
    for name in ("reduction_strided_index", "reduction_strided_unrolled"):
        text = (folder / f"{name}.cu").read_text()
        (trace,) = simulate(compile_here(text.encode(), "k.cu"), [read(text).launch()])
        counted.append(trace.counters[CONFLICTS.format("ld")])
    assert counted == [560, 496]


def _wavefronts(offset: NDArray[np.uint32], size: int) -> int:
    """What an access takes by the manual: the most words of one bank, by part of the warp."""
    words = max(1, size // 4)
    total = 0
    for part in offset.reshape(words, -1):
        asked = {int(at) // 4 + k for at in part for k in range(words)}
        total += max(Counter(word % 32 for word in asked).values())
    return total


@pytest.mark.parametrize("size", [1, 4, 8, 16])
def test_wavefronts_of_any_pattern_are_those_of_the_busiest_bank(size: int) -> None:
    kind = {1: "u8 %h", 4: "b32 %a", 8: "v2.b32 {%a,%b}", 16: "v4.b32 {%a,%b,%c,%e}"}[size]
    module = parse(
        f""".version 8.3\n.target sm_90\n.address_size 64
        .entry k(.param .u64 p) {{ .shared .align 16 .b8 s[8192];
        .reg .b16 %h; .reg .b32 %a, %b, %c, %e, %t, %n, %m; .reg .b64 %p; ld.param.u64 %p, [p];
        mov.u32 %t, %tid.x; mov.u32 %n, %ctaid.x; mad.lo.u32 %n, %n, 32, %t;
        mad.wide.u32 %p, %n, 4, %p; ld.global.u32 %t, [%p]; mov.u32 %m, s; add.u32 %m, %m, %t;
        ld.shared.{kind}, [%m]; ret; }}"""
    )
    machine = Machine(module, decode(module, "k", core().known))
    rng, lane = np.random.default_rng(size), np.arange(32)
    rows = [rng.integers(0, span, 32) for span in (2, 5, 16, 64, 512) for _ in range(8)]
    rows += [lane * step % (8192 // size) for step in (0, 1, 2, 3, 7, 16, 17, 32, 33)]
    rows += [np.where(lane < cut, 0, lane * 32 % (8192 // size)) for cut in (1, 9, 20)]
    offset = np.array(rows, np.uint32) * np.uint32(size)
    asked = Launch(
        "k", (len(rows), 1, 1), (32, 1, 1), (Array("p", offset.shape, "uint32", offset),)
    )
    for number, row in enumerate(offset):
        raw = machine.run(asked, Limits(blocks=(number,)), count=True)
        assert raw.counters is not None
        assert max(raw.counters["wavefronts"]) == _wavefronts(row, size), row
