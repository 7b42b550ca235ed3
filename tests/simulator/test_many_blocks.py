"""Blocks that acquire what others released take linear time together."""

from __future__ import annotations

import numpy as np

from bench.growth import LAST_BLOCK, last_block_launch
from grader.launch import Array, Launch, Scalar
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.ptx.parser import parse
from tests.linear import ATTEMPTS, LONGER, assert_linear, seconds
from tests.trusted import compile_here

CROWD = rb"""
#include <cuda/atomic>
extern "C" __global__ void crowd(int *counts, int apart, int *sums) {
  int id = blockIdx.x * 32 + threadIdx.x, sum = 0;
  counts += apart * id;
  for (int round = 0; round < 8; ++round) {
    for (int k = 0; k < 64; ++k) {
      cuda::atomic_ref<int, cuda::thread_scope_device> count(counts[k]);
      sum += count.load(cuda::memory_order_acquire);
    }
    if (id < 64) {
      cuda::atomic_ref<int, cuda::thread_scope_device> count(counts[id]);
      count.fetch_add(1, cuda::memory_order_release);
    }
  }
  sums[id] = sum;
}
"""
BLOCKS = 64
CROWDED = 3
"""How many times the time it may take that all threads look at the same places."""


def test_the_last_of_many_blocks_takes_linear_time() -> None:
    """What the ticket carries and what fences before it made known grow beside each other."""
    module = parse(compile_here(LAST_BLOCK, "last_block.cu").ptx)
    machine = Machine(module, decode(module, "last_block", core().known, definedness=False))

    def reader(blocks: str) -> object:
        count = int(blocks)
        raw = machine.run(last_block_launch(count), Limits(), False)
        assert raw.ended and not len(raw.reports)
        assert raw.buffers[2].data.view("i4")[0] == count
        return raw

    assert_linear(reader, str(5_000), str(5_000 * LONGER))


def test_threads_that_all_look_at_the_same_places_take_little_more_time() -> None:
    """No read is compared with all others of its place, and lanes share clocks that they join."""
    module = parse(compile_here(CROWD, "crowd.cu").ptx)
    machine = Machine(module, decode(module, "crowd", core().known, definedness=False))

    def reader(apart: str) -> object:
        zeros = np.zeros(64 * 32 * BLOCKS, np.int32)
        counts = Array("counts", zeros.shape, "int32", zeros, True)
        sums = Array("sums", (32 * BLOCKS,), "int32", None, True)
        args = counts, Scalar("apart", int(apart), "int32"), sums
        raw = machine.run(Launch("crowd", (BLOCKS, 1, 1), (32, 1, 1), args), Limits(), False)
        assert raw.ended and not len(raw.reports)
        return raw

    measured = []
    for _ in range(ATTEMPTS):
        measured.append((seconds(reader, "0"), seconds(reader, "64")))
        if measured[-1][0] <= CROWDED * measured[-1][1]:
            return
    raise AssertionError(f"seconds with the same places and with own ones: {measured}")
