"""Matrix and video instructions with shapes, types or registers that do not exist are refused.

Products of matrices of doubles round as they say, each multiply-add once.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.launch import Array, Launch
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import decode
from grader.simulator.ptx.model import PtxError
from grader.simulator.ptx.parser import parse
from tests.ptx.soft import F64, Rounding, add, multiply, of_bits, to_bits

MODULE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{{
  .reg .b32 %r<20>;
  .reg .b64 %d<9>;
  .reg .f32 %f<20>;
  {};
  ret;
}}
"""
D1, D2, D4, D8 = ("{" + ", ".join(f"%d{k}" for k in range(n)) + "}" for n in (1, 2, 4, 8))
R2, R4, R8, R16 = ("{" + ", ".join(f"%r{k}" for k in range(n)) + "}" for n in (2, 4, 8, 16))
GOOD = [
    f"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {R2}, {R4}, {R2}, {R2}",
    f"wmma.load.a.sync.aligned.row.m16n16k16.f16 {R8}, [%d1], %r1",
    f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {R4}, [%r9]",
    f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {D2}, {D1}, {D1}, {D2}",
    f"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64.rn {D4}, {D8}, {D4}, {D4}",
    f"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64.rz {D4}, {D8}, {D4}, {D4}",
    f"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {R4}, {R4}, {R2}, {R4}",
]
BAD = [
    f"mma.sync.aligned.m200n200k200.row.col.f32.f16.f16.f32 {R4}, {R4}, {R2}, {R4}",
    f"mma.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {R4}, {R4}, {R2}, {R4}",
    f"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {R16}, {R4}, {R2}, {R2}",
    f"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {R2}, {R2}, {R2}, {R2}",
    f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {D2}, {D2}, {D1}, {D2}",
    f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {R2}, {D1}, {D1}, {R2}",
    f"mma.sync.aligned.m16n8k16.row.col.rz.f16.f16.f16.f16 {R2}, {R4}, {R2}, {R2}",
    f"mma.sync.aligned.m8n8k8.row.col.f64.f64.f64.f64 {D2}, {D2}, {D2}, {D2}",
    f"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.u8.f32 {R4}, {R4}, {R2}, {R4}",
    f"mma.sync.aligned.m16n8k16.row.row.f16.f16.f16.f16 {R2}, {R4}, {R2}, {R2}",
    f"mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16 {R2}, {R4}, {R2}, {R2}",
    f"mma.sync.aligned.m16n8k8.row.col.f32.tf32.f16.f32 {R4}, {R4}, {R2}, {R4}",
    f"wmma.load.a.sync.aligned.row.m255n255k255.f16 {R8}, [%d1], %r1",
    f"wmma.load.a.sync.aligned.row.m16n16k16.f16 {R16}, [%d1], %r1",
    f"wmma.load.a.sync.aligned.row.m16n16k16.s32 {R8}, [%d1], %r1",
    f"wmma.load.c.sync.aligned.row.m16n16k16.f16 {R8}, [%d1], %r1",
    f"wmma.store.a.sync.aligned.row.m16n16k16.f16 [%d1], {R8}, %r1",
    f"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {R8}, {R2}, {R2}, {R8}",
    f"wmma.mma.sync.aligned.row.col.m16n16k8.f32.f16.f16.f32 {R8}, {R8}, {R8}, {R8}",
    f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {R2}, [%r9]",
    f"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {R2}, [%r9]",
    f"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {R2}",
    "movmatrix.sync.aligned.m8n8.trans.b16 %d1, %r1",
    f"mma.sync {R2}",
    "wmma.load",
    "vadd.u32.u32.u32 %r1.b0, %r2, %r3",
    "vadd.u32.u32.u32.add %r1.b0, %r2, %r3, %r4, %r5",
    "vadd.u32.u32.u32 %r1, -%r2, %r3",
    "vadd.u32.u32.u32 %r1, %r2.b4, %r3",
    "vadd.u32.u32.u32.add %r1, %r2, %r3, %r4.b0",
    "vadd.u64.u64.u64 %r1, %r2, %r3",
    "vmad.u32.u32.u32 %r1, %r2, %r3",
    "vadd2.u32.u32.u32 %r1, %r2.h14, %r3, %r4",
    "vadd4.u32.u32.u32 %r1, %r2.h10, %r3, %r4",
    "vset4.u32.u32 %r1, %r2, %r3, %r4",
    "vadd {%r1}, %r2, %r3",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], 16",
    "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%d1]",
    "mbarrier.arrive_drop.expect_tx.shared.b64 %d1, [%r1], 16",
]


@pytest.mark.parametrize("text", GOOD)
def test_instruction_is_decoded(text: str) -> None:
    assert decode(parse(MODULE.format(text)), "k", core().known).functions


@pytest.mark.parametrize("text", BAD)
def test_instruction_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises((NotSimulated, PtxError)):
        decode(parse(MODULE.format(text)), "k", core().known)


PRODUCT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 d)
{{
  .reg .b32 %r<4>;
  .reg .b64 %d<9>;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d1, %r1, 8;
  ld.param.u64 %d2, [a];
  ld.param.u64 %d3, [d];
  add.u64 %d4, %d2, %d1;
  add.u64 %d5, %d3, %d1;
  ld.global.b64 %d6, [%d4];
  ld.global.b64 %d7, [%d4+256];
  ld.global.b64 %d8, [%d4+512];
  mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.{} {{%d8, %d0}}, {{%d6}}, {{%d7}}, {{%d8, %d8}};
  st.global.b64 [%d5], %d8;
  ret;
}}
"""
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-2, 2)


@given(
    st.sampled_from(("rn", "rz", "rm", "rp")),
    st.lists(st.tuples(_NUMBERS, _NUMBERS), min_size=4, max_size=4),
    _NUMBERS,
)
def test_each_multiply_add_of_a_matrix_rounds_as_the_instruction_says(
    mode: Rounding, pairs: list[tuple[float, float]], start: float
) -> None:
    """Each row of A and each column of B is the same, and so is each element of C."""
    module = parse(PRODUCT.format(mode))
    machine = Machine(module, decode(module, "k", core().known))
    rows = [np.tile([p[side] for p in pairs], 8) for side in (0, 1)]
    values = np.concatenate([*rows, np.full(32, start)])
    a, d = Array("a", (96,), "float64", values), Array("d", (32,), "float64", None, True)
    raw = machine.run(Launch("k", (1, 1, 1), (32, 1, 1), (a, d)), Limits(), False)
    assert raw.ended and not len(raw.reports)
    expected = of_bits(int(np.float64(start).view("u8")), F64)
    for x, y in pairs:
        factors = (of_bits(int(np.float64(v).view("u8")), F64) for v in (x, y))
        expected = of_bits(to_bits(add(multiply(*factors), expected, mode), F64, mode), F64)
    for bits in raw.buffers[1].data.view("u8"):
        assert of_bits(int(bits), F64) == expected
