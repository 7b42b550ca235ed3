"""Fused index computations give the same outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.launch import Array, Launch
from grader.simulator.core.bindings import core
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.module import decode
from grader.simulator.decode.peephole import fuse_indices
from grader.simulator.ptx.parser import parse
from grader.simulator.simulate import simulate
from tests.trusted import compile_here

KERNEL = b"""\
extern "C" __global__ void k(const int *in, long long *out) {
  __shared__ int s[64];
  int t = threadIdx.x, back = -t;
  s[t] = in[t];
  __syncthreads();
  const int *end = in + 63;
  long long sum = s[63 - t] + end[back];
  if (t % 3 == 0) sum = sum * 2 + s[t ^ 1];
  long long kept = back;
  out[t] = sum + (kept << 4) + kept;
}
"""


def test_fused_indices_give_the_same_outputs() -> None:
    program = compile_here(KERNEL, "k.cu")
    values = np.arange(64, dtype=np.int32) * 7 - 100
    launch = Launch(
        "k",
        (1, 1, 1),
        (64, 1, 1),
        (Array("in", (64,), "int32", values), Array("out", (64,), "int64", read_back=True)),
    )
    t = np.arange(64)
    mirrored = values[::-1].astype(np.int64)
    right = 2 * mirrored
    right = np.where(t % 3 == 0, 2 * right + values[t ^ 1], right) - 17 * t
    for text in (program.debug_ptx, program.ptx):
        (trace,) = simulate(replace(program, ptx=text), [launch])
        assert trace.verdict == "clean"
        np.testing.assert_array_equal(trace.outputs[1], right)
    names = [
        insn.exec
        for function in decode(parse(program.debug_ptx), "k", core().known).functions
        for block in function.blocks
        for insn in block.insns
    ]
    assert sum(name in ("fused_index", "ld_word_indexed", "st_word_indexed") for name in names) >= 5


EXTEND = Insn("cvt_s64_s32", 256, 0)
SHIFT = Insn("shl_b64", 512, 256, 8 | 1)
ADD = Insn("add_u64", 768, 1024, 512)
BRIEF = frozenset({256, 512})


def test_index_computation_becomes_one_instruction() -> None:
    (one,) = fuse_indices([EXTEND, SHIFT, ADD], BRIEF)
    assert (one.exec, one.d, one.a, one.b, one.c) == ("fused_index", 768, 0, 9, 1024)


@pytest.mark.parametrize(
    "insns, brief",
    [
        pytest.param([EXTEND, SHIFT, ADD], frozenset({256}), id="the shifted index is read again"),
        pytest.param([EXTEND, SHIFT, ADD], frozenset({512}), id="the index is read again"),
        pytest.param([EXTEND, replace(SHIFT, b=128), ADD], BRIEF, id="shifted by a register"),
        pytest.param([EXTEND, replace(SHIFT, a=2048), ADD], BRIEF, id="another index is shifted"),
        pytest.param([EXTEND, SHIFT, replace(ADD, b=2048)], BRIEF, id="another index is added"),
        pytest.param([EXTEND, SHIFT, replace(ADD, a=512)], BRIEF, id="added to itself"),
        pytest.param([replace(EXTEND, guard=5), SHIFT, ADD], BRIEF, id="guarded"),
        pytest.param([EXTEND, SHIFT, replace(ADD, guard=5)], BRIEF, id="added under a guard"),
        pytest.param([EXTEND, ADD, SHIFT], BRIEF, id="out of order"),
    ],
)
def test_other_sequences_are_not_fused(insns: list[Insn], brief: frozenset[int]) -> None:
    assert fuse_indices(list(insns), brief) == insns
