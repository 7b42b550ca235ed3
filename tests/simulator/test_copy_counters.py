"""cp.async: the bytes it loads are requested like any other load's."""

from __future__ import annotations

import numpy as np

from grader.launch import Array, Launch, Trace
from grader.simulator.counters import (
    BYTES,
    COPY_REQUESTS,
    COPY_SECTORS,
    RATIO,
    REQUESTS,
    SECTORS,
)
from grader.simulator.simulate import simulate
from tests.trusted import compile_here

COPY = b"""\
extern "C" __global__ void copy(const float* a, float* out) {
    __shared__ float held[256];
    unsigned to = (unsigned)__cvta_generic_to_shared(&held[threadIdx.x * 4]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(a + threadIdx.x * 4));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    out[threadIdx.x] = held[threadIdx.x];
}
"""
PLAIN = b"""\
extern "C" __global__ void copy(const float* a, float* out) {
    __shared__ float4 held[64];
    held[threadIdx.x] = ((const float4*)a)[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = ((float*)held)[threadIdx.x];
}
"""


def trace(source: bytes) -> Trace:
    a = np.arange(256, dtype=np.float32)
    args = (Array("a", (256,), "float32", a), Array("out", (64,), "float32", None, True))
    (out,) = simulate(
        compile_here(source, "copy.cu"), [Launch("copy", (1, 1, 1), (64, 1, 1), args)]
    )
    assert out.ended and not out.errors
    assert np.array_equal(out.outputs[1], a[:64])
    return out


def test_asynchronous_copies_are_counted() -> None:
    copied, plain = trace(COPY).counters, trace(PLAIN).counters
    requested = [name for name in plain if "requested" in name and "_ld" in name]
    assert len(requested) == 1 and plain[requested[0]] == 1024
    assert copied[requested[0]] == 1024
    for name in (COPY_REQUESTS, REQUESTS.format("ld")):
        assert copied[name] == 2
    for name in (COPY_SECTORS, SECTORS.format("ld")):
        assert copied[name] == 32
    assert copied[BYTES.format("ld")] == 0 and copied[BYTES.format("ldgsts")] == 1024
    assert RATIO.format("ld") not in copied


TILE = b"""\
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void copy(const float* a, float* out) {
    __shared__ float held[256];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> tile;
    if (threadIdx.x < 32) {
        wmma::load_matrix_sync(tile, a, 16, wmma::mem_row_major);
        wmma::store_matrix_sync(held, tile, 16, wmma::mem_row_major);
    }
    __syncthreads();
    out[threadIdx.x] = held[threadIdx.x];
}
"""


def test_tiles_that_a_warp_loads_and_stores_are_counted() -> None:
    tile, plain = trace(TILE).counters, trace(PLAIN).counters
    loads = "ptx__requested_bytes_mem_global_op_ld.sum"
    assert tile[loads] == plain[loads] == 1024
    assert tile["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] >= 32
    assert tile["smsp__sass_inst_executed_op_shared_st.sum"] > 0
