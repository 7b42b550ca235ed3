"""Matrix and video instructions with shapes, types or registers that do not exist are refused."""

from __future__ import annotations

import pytest

from grader.simulator.core.bindings import core
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import decode
from grader.simulator.ptx.model import PtxError
from grader.simulator.ptx.parser import parse

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
    f"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {R4}, {R4}, {R2}, {R4}",
]
BAD = [
    f"mma.sync.aligned.m200n200k200.row.col.f32.f16.f16.f32 {R4}, {R4}, {R2}, {R4}",
    f"mma.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {R4}, {R4}, {R2}, {R4}",
    f"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {R16}, {R4}, {R2}, {R2}",
    f"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {R2}, {R2}, {R2}, {R2}",
    f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {D2}, {D2}, {D1}, {D2}",
    f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {R2}, {D1}, {D1}, {R2}",
    f"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64.rz {D4}, {D8}, {D4}, {D4}",
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
