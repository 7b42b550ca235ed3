"""Blocks that acquire what all blocks before them released take linear time together."""

from __future__ import annotations

from bench.growth import LAST_BLOCK, last_block_launch
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.ptx.parser import parse
from tests.linear import LONGER, assert_linear
from tests.trusted import compile_here


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
