"""Blocks that acquire what all blocks before them released take linear time together."""

from __future__ import annotations

import numpy as np

from grader.compile.source import compile_source
from grader.launch import Array, Launch
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.ptx.parser import parse
from tests.linear import LONGER, assert_linear

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


def test_the_last_of_many_blocks_takes_linear_time() -> None:
    """What the ticket carries and what fences before it made known grow beside each other."""
    module = parse(compile_source(LAST_BLOCK, "last_block.cu").ptx)
    machine = Machine(module, decode(module, "last_block", core().known, definedness=False))

    def reader(blocks: str) -> object:
        count = int(blocks)
        arrays = (
            Array("part", (count,), "int32", np.zeros(count, "i4")),
            Array("drawn", (1,), "uint32", np.zeros(1, "u4"), True),
            Array("sum", (1,), "int32", None, True),
        )
        raw = machine.run(Launch("last_block", (count, 1, 1), (1, 1, 1), arrays), Limits(), False)
        assert raw.ended and not len(raw.reports)
        assert raw.buffers[2].data.view("i4")[0] == count
        return raw

    assert_linear(reader, str(5_000), str(5_000 * LONGER))
