"""`--schedules`: an output that depends on the order of blocks and warps is reported."""

from __future__ import annotations

import time

import numpy as np
import pytest

from grader.launch import Array, Finding, Launch, Scalar
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.exchange import pack_traces, unpack_traces
from grader.simulator.ptx.parser import parse
from grader.simulator.schedules import BACKWARD, FEW_ORDERS, ORDERS, chosen_orders
from grader.simulator.simulate import simulate
from grader.simulator.variants import decode_variants
from tests.trusted import compile_here

LAST_ONE_WINS = b"""\
extern "C" __global__ void last(int* out) { atomicExch(&out[0], (int)blockIdx.x); }
"""
TICKETS = b"""\
__device__ int next;
extern "C" __global__ void last(int* out) {
    if (threadIdx.x == 0) out[atomicAdd(&next, 1)] = blockIdx.x;
}
"""
WARPS = b"""\
extern "C" __global__ void last(int* out) {
    if (threadIdx.x % 32 == 0) atomicExch(&out[blockIdx.x], (int)threadIdx.x);
}
"""
EVERY_BLOCK = b"""\
extern "C" __global__ void last(int* out) {
    if (threadIdx.x == 0) atomicAdd(&out[0], (int)blockIdx.x);
}
"""
OWN_ELEMENT = b"""\
extern "C" __global__ void last(int* out) { if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x; }
"""
ROUNDING = b"""\
extern "C" __global__ void last(float* out) {
    if (threadIdx.x == 0) atomicAdd(&out[0], 0.1f * (blockIdx.x + 1));
}
"""


def findings(source: bytes, dtype: str = "int32", schedules: int = 6) -> tuple[Finding, ...]:
    out = Array("out", (16,), dtype, np.zeros(16, dtype), True)
    launch = Launch("last", (16, 1, 1), (128, 1, 1), (out,))
    (trace,) = simulate(compile_here(source, "last.cu"), [launch], schedules=schedules)
    return tuple(f for f in trace.findings if "order of blocks" in f.message)


@pytest.mark.parametrize("source", [LAST_ONE_WINS, TICKETS, WARPS])
def test_output_that_depends_on_the_order_is_reported(source: bytes) -> None:
    (finding,) = findings(source)
    assert (finding.kind, finding.severity, finding.variable) == (
        "order-dependent",
        "warning",
        "out",
    )


@pytest.mark.parametrize("source", [EVERY_BLOCK, OWN_ELEMENT])
def test_output_that_does_not_depend_on_the_order_is_clean(source: bytes) -> None:
    assert findings(source) == ()


FEW_SLOTS = b"""\
__device__ int next;
extern "C" __global__ void last(int* out) {
    if (threadIdx.x == 0) out[atomicAdd(&next, 1)] = blockIdx.x;
    if (threadIdx.x == 0) atomicAdd(&out[15], atomicAdd(&next, 0) >> 10);
}
"""


def outputs_of_another_order(source: bytes, dtype: str = "int32") -> dict[int, object]:
    out = Array("out", (4, 4), dtype, np.zeros((4, 4), dtype), True)
    launch = Launch("last", (15, 1, 1), (128, 1, 1), (out,))
    traces = simulate(compile_here(source, "last.cu"), [launch])
    (trace,) = unpack_traces(*pack_traces(traces))
    return {k: (x.shape, sorted(x.reshape(-1).tolist())) for k, x in trace.others.items()}


def test_trace_has_an_output_that_another_order_leaves() -> None:
    """It is what the optimized code leaves; whether it is right is the lab's to say."""
    assert outputs_of_another_order(FEW_SLOTS) == {0: ((4, 4), sorted([*range(15), 0]))}


@pytest.mark.parametrize("source", [EVERY_BLOCK, OWN_ELEMENT, ROUNDING])
def test_trace_has_no_output_of_another_order_that_is_alike(source: bytes) -> None:
    dtype = "float32" if source is ROUNDING else "int32"
    assert outputs_of_another_order(source, dtype) == {}


SCRATCH = {
    "tickets": b"""\
extern "C" __global__ void last(int* scratch, int* out) {
    if (threadIdx.x) return;
    int at = atomicAdd(&scratch[0], 1);
    scratch[1 + at] = blockIdx.x;
    out[blockIdx.x] = blockIdx.x;
}
""",
    "hash_slots": b"""\
extern "C" __global__ void last(int* scratch, int* out) {
    if (threadIdx.x) return;
    int at = 5;
    while (atomicCAS(&scratch[at], 0, 1 + (int)blockIdx.x)) ++at;
    out[blockIdx.x] = atomicAdd(&scratch[at], 0) - 1;
}
""",
    "lock_holder": b"""\
extern "C" __global__ void last(int* scratch, int* out) {
    if (threadIdx.x) return;
    while (atomicCAS(&scratch[0], 0, 1)) {}
    __threadfence();
    scratch[1] = blockIdx.x;
    out[blockIdx.x] = scratch[1];
    __threadfence();
    atomicExch(&scratch[0], 0);
}
""",
    "queue_of_warps": b"""\
extern "C" __global__ void last(int* scratch, int* out) {
    if (threadIdx.x % 32 == 0) scratch[1 + atomicAdd(&scratch[0], 1)] = threadIdx.x;
    if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
}
""",
}


@pytest.mark.parametrize("is_output", [False, True])
@pytest.mark.parametrize("source", SCRATCH.values(), ids=SCRATCH)
def test_only_outputs_must_not_depend_on_the_order(source: bytes, is_output: bool) -> None:
    """The order of a queue, of locks or of a hash table's slots is nobody's result."""
    scratch = Array("scratch", (128,), "int32", np.zeros(128, np.int32), is_output)
    launch = Launch(
        "last", (16, 1, 1), (128, 1, 1), (scratch, Array("out", (16,), "int32", None, True))
    )
    (trace,) = simulate(compile_here(source, "last.cu"), [launch], schedules=6)
    assert [f.variable for f in trace.findings] == ["scratch"] * is_output


def test_atomic_rounding_is_only_an_info() -> None:
    (finding,) = findings(ROUNDING, "float32", schedules=12)
    assert finding.severity == "info"


def test_other_orders_run_only_on_request() -> None:
    assert findings(LAST_ONE_WINS, schedules=0) == ()


COMMUNICATES = b"""\
__device__ int lock, counts[4];
extern "C" __global__ void histogram(int* out) {
    __shared__ int bins[4];
    if (threadIdx.x < 4) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x & 3], 1);
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
extern "C" __global__ void counted_with_fences(int* out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    __threadfence();
    atomicAdd_block(&counts[threadIdx.x & 3], 1);
}
extern "C" __global__ void last_block(int* out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    __threadfence();
    if (threadIdx.x == 0 && atomicAdd(&counts[0], 1) == gridDim.x - 1) out[0] = 2;
}
extern "C" __global__ void fence_after_counting(int* out) {
    if (threadIdx.x == 0) atomicAdd(&counts[0], 1);
    __threadfence();
    out[blockIdx.x] = 1;
}
extern "C" __global__ void two_tickets(int* out) {
    int first = atomicAdd(&counts[0], 1), second = atomicAdd(&counts[1], 1);
    out[first] = second;
}
extern "C" __global__ void tested_then_drawn(int* out) {
    if (*(volatile int*)&counts[0] < 4) out[atomicAdd(&counts[0], 1)] = 1;
}
extern "C" __global__ void updated_in_two_steps(int* out) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    int seen = atomicAdd(&sum, 0);
    atomicExch(&sum, seen + 1);
    __syncthreads();
    out[threadIdx.x] = sum;
}
extern "C" __global__ void ticket(int* out) { out[atomicAdd(&counts[0], 1)] = 1; }
extern "C" __global__ void flag(int* out) {
    if (threadIdx.x == 0) out[blockIdx.x] = *(volatile int*)&lock;
    __threadfence();
}
extern "C" __global__ void spins(int* out) {
    while (atomicCAS(&lock, 0, 1)) {}
    ++*out;
    atomicExch(&lock, 0);
}
"""


def test_only_kernels_that_see_others_at_work_run_in_other_orders() -> None:
    program = compile_here(COMMUNICATES, "communicates.cu")
    asked = {}
    for kernel in program.kernels:
        variants = decode_variants(program, kernel, {})
        asked[kernel.name] = chosen_orders([v.machine for v in variants])  # type: ignore[union-attr]
    assert {name for name, orders in asked.items() if orders == ORDERS} == {
        "last_block",
        "fence_after_counting",
        "flag",
        "spins",
        "tested_then_drawn",
    }
    assert {name for name, orders in asked.items() if orders == (*FEW_ORDERS, BACKWARD)} == {
        "two_tickets",
        "updated_in_two_steps",
    }
    assert {name for name, orders in asked.items() if orders == (BACKWARD,)} == {"ticket"}
    assert not (asked["histogram"] or asked["counted_with_fences"])


LOOKS = b"""\
extern "C" __global__ void looks(int* out, int by, int n) {
    float many[48];
    for (int k = 0; k < 48; k++) many[k] = threadIdx.x + k;
    for (int i = 0; i < n; i++) {
        float seen = atomicAdd(out, by);
        for (int k = 0; k < 48; k++) many[k] += seen * k;
    }
    float sum = 0;
    for (int k = 0; k < 48; k++) sum += many[k];
    atomicAdd(out, by * (int)(sum == 1.5f));
}
"""


def test_warps_that_go_on_without_a_change_cost_no_more_for_it() -> None:
    """Their state is looked at after each turn, for loops in which all wait forever."""
    without, with_changes = (min(seconds_of(by) for _ in range(3)) for by in (0, 1))
    assert without < 2.5 * with_changes


def seconds_of(by: int) -> float:
    """The processor time of warps that add a number to one element, in another order too."""
    out = Array("out", (1,), "int32", np.zeros(1, np.int32), True)
    args = (out, Scalar("by", by, "int32"), Scalar("n", 100, "int32"))
    launch = Launch("looks", (2, 1, 1), (256, 1, 1), args)
    program = compile_here(LOOKS, "looks.cu")
    begun = time.thread_time()
    (trace,) = simulate(program, [launch], schedules=2)
    assert trace.verdict == "clean", trace.findings
    return time.thread_time() - begun


GRID_BARRIERS = b"""\
#include <cooperative_groups.h>
extern "C" __global__ void last(int* out) {
    for (int k = 0; k < 8; ++k) {
        if (threadIdx.x == 0) out[blockIdx.x] += 1;
        cooperative_groups::this_grid().sync();
    }
}
"""


def test_blocks_that_wait_for_others_end_their_turns() -> None:
    """A grid barrier costs some hundred steps of each warp, however many blocks wait for it."""
    steps = {}
    for blocks in (8, 64):
        out = Array("out", (64,), "int32", np.zeros(64, "i4"), True)
        launch = Launch("last", (blocks, 1, 1), (128, 1, 1), (out,), cooperative=True)
        program = compile_here(GRID_BARRIERS, "last.cu")
        for text in (program.ptx, program.debug_ptx):
            parsed = parse(text)
            machine = Machine(parsed, decode(parsed, "last", core().known))
            raw = machine.run(launch, Limits(), False)
            assert raw.ended and not len(raw.reports)
            steps[blocks, text is program.ptx] = raw.steps / (blocks * 8 * 4)
    assert steps[64, True] < 250 and steps[64, False] < 1500, steps
    assert steps[64, True] < 2 * steps[8, True] and steps[64, False] < 2 * steps[8, False], steps
