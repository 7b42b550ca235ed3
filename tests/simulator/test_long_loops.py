"""Very many barriers and tickets stay correct, and cost the same each time."""

from __future__ import annotations

import time

import numpy as np
import pytest

from grader.launch import Array, Launch, Scalar, Trace
from grader.simulator.simulate import simulate
from tests.trusted import compile_here

PHASES = 1 << 22
"""Barriers of a block; the core's stamps count a few less."""

BARRIERS = b"""\
extern "C" __global__ void turns(int *out, int n) {
  __shared__ int s[32];
  int t = threadIdx.x, x = 0;
  for (int i = 0; i < n; i++) __syncthreads();
  for (int i = 0; i < 20; i++) {
    out[t] = s[t] = i;
    __syncthreads();
    x += out[31 - t] - s[31 - t];
    __syncthreads();
  }
  out[t] = x;
}
"""
TICKETS = b"""\
extern "C" __global__ void tickets(int *count, int *data, int n) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = 1;
    __threadfence();
    atomicAdd(count + 1, 1);
  } else {
    while (atomicAdd(count + 1, 0) < 32) {}
  }
  for (int i = 0; i < n; i++) {
    __threadfence();
    int seen = atomicAdd(count, 1);
    if (seen >= 0 && blockIdx.x == 1) data[32 + t] = data[t];
  }
}
"""


def traced(source: bytes, kernel: str, blocks: int, *args: Array | Scalar) -> Trace:
    program = compile_here(source, f"{kernel}.cu")
    launch = Launch(kernel, (blocks, 1, 1), (32, 1, 1), args)
    (trace,) = simulate(program, [launch], limit=120)
    return trace


def test_block_passes_more_barriers_than_stamps_count() -> None:
    out = Array("out", (32,), "int32", read_back=True)
    trace = traced(BARRIERS, "turns", 1, out, Scalar("n", PHASES - 20, "int32"))
    assert trace.verdict == "clean", trace.findings
    np.testing.assert_array_equal(trace.outputs[0], 0)


@pytest.mark.parametrize("rounds", [1, 300])
def test_old_writes_stay_known_after_many_tickets(rounds: int) -> None:
    assert tickets(rounds)[0].verdict == "clean"


def test_cost_of_a_ticket_is_constant() -> None:
    few, many = (min(tickets(n)[1] for _ in range(3)) for n in (80, 320))
    assert many < 12 * few, "four times the tickets cost more than three times as much each"


def tickets(rounds: int) -> tuple[Trace, float]:
    """The trace of two blocks that take tickets, and its CPU seconds."""
    count = Array("count", (2,), "int32", np.zeros(2, np.int32), read_back=True)
    data = Array("data", (64,), "int32", np.zeros(64, np.int32), read_back=True)
    begun = time.thread_time()
    trace = traced(TICKETS, "tickets", 2, count, data, Scalar("n", rounds, "int32"))
    return trace, time.thread_time() - begun
