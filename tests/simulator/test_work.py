"""What the simulator measures of the threads' work: shares, sharing, distinct bytes."""

from __future__ import annotations

import numpy as np
import pytest

from grader.launch import Array, Launch, Trace
from grader.simulator.counters import (
    BUSIEST_THREAD,
    DISTINCT_BYTES,
    DYNAMIC_BYTES,
    EXCHANGES,
    FOREIGN_BYTES,
    FOREIGN_DYNAMIC_BYTES,
    PLACED_BYTES,
    THREAD_INSTRUCTIONS,
    WASTED,
    WORKING_THREADS,
)
from grader.simulator.simulate import simulate
from tests.trusted import compile_here

TEMPLATE = """\
extern "C" __global__ void k(const float* a, float* out) {
    unsigned t = threadIdx.x, n = blockDim.x, g = blockIdx.x * n + t;
    %s
}
"""


def trace(body: str, threads: int = 1, **more: object) -> Trace:
    """Run a body on 3 blocks of 64 threads; `a` has 256 floats, `out` 192."""
    a = np.arange(256, dtype=np.float32)
    args = (Array("a", (256,), "float32", a), Array("out", (192,), "float32", None, True))
    (one,) = simulate(
        compile_here((TEMPLATE % body).encode(), "k.cu"),
        [Launch("k", (3, 1, 1), (64, 1, 1), args, shared=256)],
        threads=threads,
        measure=more.pop("measure", "sharing"),  # type: ignore[arg-type]
    )
    assert one.ended, one.findings
    return one


TILE = "__shared__ float s[64];"
FOREIGN = [
    ("read back", f"{TILE} s[t] = a[t]; __syncthreads(); out[g] = s[t];", 0),
    ("neighbor", f"{TILE} s[t] = a[t]; __syncthreads(); out[g] = s[(t + 1) % n];", 4),
    ("one word", f"{TILE} s[t] = a[t]; __syncthreads(); out[g] = s[0];", 4 * 63 / 64),
    ("store", f"{TILE} s[t] = a[t]; __syncthreads(); out[g] = a[t]; if (out[g] < 0) a = s;", 0),
    ("bytes", "__shared__ unsigned char s[64]; s[t] = t; __syncthreads(); out[g] = s[n - 1 - t];",
     1),
    ("atomic", "__shared__ int s[1]; if (!t) *s = 0; __syncthreads(); atomicAdd(s, 1); "
     "__syncthreads(); out[g] = 1;", 4 * 63 / 64),
    ("vector", "__shared__ float4 s[64]; s[t] = make_float4(1, 2, 3, t); __syncthreads(); "
     "float4 v = s[t ^ 1]; out[g] = v.x + v.y + v.z + v.w;", 16),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "bytes_each"), [row[1:] for row in FOREIGN], ids=[row[0] for row in FOREIGN]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_bytes_that_other_threads_wrote_are_foreign(
    body: str, bytes_each: float, threads: int
) -> None:
    assert trace(body, threads).counters[FOREIGN_BYTES] == 3 * 64 * bytes_each


def test_an_asynchronous_copy_is_written_by_its_thread() -> None:
    copy = """__shared__ float s[64];
    unsigned to = (unsigned)__cvta_generic_to_shared(&s[t]);
    asm volatile("cp.async.ca.shared.global [%%0], [%%1], 4;" :: "r"(to), "l"(a + t));
    asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group 0;");
    __syncthreads(); out[g] = s[%s];"""
    assert trace(copy % "t").counters[FOREIGN_BYTES] == 0
    assert trace(copy % "63 - t").counters[FOREIGN_BYTES] == 3 * 64 * 4


DISTINCT = [
    ("out[g] = a[t];", 3 * 64 * 8),
    ("out[g] = a[t] + a[t + 64];", 3 * 64 * 12),
    ("out[g] = a[0];", 3 * (64 * 4 + 4)),
    ("out[g] = a[t]; out[g] = a[63 - t] + out[g];", 3 * 64 * 8),
]


@pytest.mark.parametrize(("body", "distinct"), DISTINCT)
def test_distinct_bytes_count_once_a_block(body: str, distinct: int) -> None:
    assert trace(body).counters[DISTINCT_BYTES] == distinct


DYNAMIC = "extern __shared__ float d[]; __shared__ float s[64];"
PARTS = [  # the bytes that a thread accesses in dynamic memory, and reads there of another's
    ("s[t] = a[t]; __syncthreads(); out[g] = s[t ^ 1];", 0, 0),
    ("d[t] = a[t]; __syncthreads(); out[g] = d[t ^ 1];", 8, 4),
    ("d[t] = s[t] = a[t]; __syncthreads(); out[g] = d[t] + s[t ^ 1];", 8, 0),
    ("(t & 1 ? s : d)[t] = a[t]; __syncthreads(); out[g] = (t & 1 ? s : d)[t ^ 2];", 4, 2),
    ("d[t & 1] = t < 2; __syncthreads(); atomicAdd(d + (t & 1), 1.0f); out[g] = 1;", 8, 4),
]


@pytest.mark.parametrize(("body", "accessed", "foreign"), PARTS)
def test_dynamic_memory_counts_apart_from_static(body: str, accessed: int, foreign: float) -> None:
    counters = trace(f"{DYNAMIC} {body}").counters
    assert counters[DYNAMIC_BYTES] == 192 * accessed
    assert counters[FOREIGN_DYNAMIC_BYTES] == 192 * foreign


STORED = [
    ("out[g] = a[t];", 4),
    ("volatile float* o = out + g; *o = 0; for (int i = 0; i < 9; ++i) *o += a[i];", 4),
    ("atomicAdd(out + g, a[t]); atomicExch(out + g, 1.0f);", 4),
    ("atomicExch(out + t, a[t]);", 4),
    ("volatile float* o = out; for (int i = 0; i < 9; ++i) o[(t + 2 * i) % 192] = 1;", 36),
    ("volatile float* o = out; o[g] = 0; o[t] = 1; o[g] = 2;", 4 * (1 + 3 + 3) / 3),
    ("*(float4*)(out + 4 * (t % 16)) = make_float4(t, t, t, t);", 16),
    ("__shared__ volatile float s[64]; s[t] = a[t]; out[g] = s[t];", 4),
]


@pytest.mark.parametrize("measure", ["work", "sharing"])
@pytest.mark.parametrize(("body", "each"), STORED)
def test_writes_to_the_same_place_in_a_row_count_once(body: str, each: float, measure: str) -> None:
    assert trace(body, measure=measure).counters[PLACED_BYTES] == 192 * each


def test_the_busiest_thread_is_the_one_that_loops() -> None:
    even = trace("out[g] = 2 * a[t];").counters
    assert even[THREAD_INSTRUCTIONS] == 192 * even[BUSIEST_THREAD]
    loop = "float x = 0; for (int i = 0; i < 1000; ++i) x = x * a[i % 256] + 1; out[g] = x;"
    alone = trace(f"if (g == 70) {{ {loop} }} else out[g] = 0;").counters
    everyone = trace(loop).counters
    assert alone[BUSIEST_THREAD] >= everyone[BUSIEST_THREAD] > 4000
    assert alone[THREAD_INSTRUCTIONS] < 2 * alone[BUSIEST_THREAD] + 192 * 100


def test_threads_that_access_global_memory_work() -> None:
    assert trace("if (t < 10) out[g] = a[t];").counters[WORKING_THREADS] == 30
    assert trace("if (t % 2) atomicAdd(out + g, 1.0f);").counters[WORKING_THREADS] == 96


def test_values_passed_within_a_warp_are_counted() -> None:
    body = (
        "float x = a[t]; for (int i = 16; i; i /= 2) x += __shfl_xor_sync(~0u, x, i); out[g] = x;"
    )
    assert trace(body).counters[EXCHANGES] == 5 * 192
    assert trace("out[g] = __ballot_sync(~0u, a[t] > 3);").counters[EXCHANGES] == 192
    assert trace("out[g] = a[t];").counters[EXCHANGES] == 0


WASTE = [("a[t]", 0), ("a[t + 1]", 0), ("a[2 * t]", 3), ("a[0]", 0), ("a[t * 8 % 256]", 27)]


@pytest.mark.parametrize(("element", "each"), WASTE)
def test_sectors_beyond_a_row_are_wasted(element: str, each: int) -> None:
    assert trace(f"out[g] = {element};").counters.get(WASTED.format("ld"), 0) == 6 * each


def test_nothing_is_measured_unless_asked() -> None:
    assert BUSIEST_THREAD not in trace("out[g] = a[t];", measure="nothing").counters
    work = trace(FOREIGN[1][1], measure="work").counters
    assert work[BUSIEST_THREAD] > 0 and work[FOREIGN_BYTES] == work[DISTINCT_BYTES] == 0
