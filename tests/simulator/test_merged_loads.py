"""A load of what a register holds already is dropped, as in ptxas.

The counts are those of the machine code that ptxas 13.0 makes of these modules for sm_90.
"""

from __future__ import annotations

import pytest

from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.ptxas import merge_loads

MODULE = """\
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b)
{{
.reg .b32 %r<9>;
.reg .b64 %rd<4>;
.reg .pred %p<3>;
.shared .align 4 .b8 s[256];
.local .align 4 .b8 own[4];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
mov.u32 %r8, s;
{load} %r5, {address};
{between}
{load} %r6, {address};
add.u32 %r6, %r6, %r5;
st.global.u32 [%rd2], %r6;
ret;
}}
"""

BETWEEN = {
    "": (1, 1),
    "vote.sync.any.pred %p1, %p2, -1;": (1, 1),
    "shfl.sync.idx.b32 %r4, %r5, 0, 31, -1;": (1, 1),
    "redux.sync.add.s32 %r4, %r5, -1;": (1, 1),
    "activemask.b32 %r4;": (1, 1),
    "mov.u32 %r4, %clock;": (1, 1),
    "st.local.u32 [own], %r5;": (1, 1),
    "st.global.u32 [%rd2+512], %r5;": (2, 1),
    "@%p1 st.global.u32 [%rd2+512], %r5;": (2, 1),
    "st.global.u32 [%rd1+4], %r5;": (2, 1),
    "red.global.add.u32 [%rd2+512], 1;": (2, 1),
    "ld.volatile.global.u32 %r4, [%rd2];": (2, 1),
    "st.shared.u32 [s], %r5;": (1, 2),
    "atom.shared.add.u32 %r4, [s], 1;": (1, 2),
    "ld.volatile.shared.u32 %r4, [s];": (1, 2),
    "bar.sync 0;": (2, 2),
    "bar.warp.sync -1;": (2, 2),
    "membar.cta;": (2, 2),
}
"""The instruction between two equal loads: how many of global and of shared memory remain."""


@pytest.mark.parametrize("between", BETWEEN)
def test_loads_that_ptxas_merges_are_one(between: str) -> None:
    for space, address, count in zip(
        ("global", "shared"), ("[%rd1]", "[%r8]"), BETWEEN[between], strict=True
    ):
        load = f"ld.{space}.u32"
        module = parse(MODULE.format(load=load, address=address, between=between))
        merge_loads(module)
        assert [i.op for i in module.functions["k"].body].count(load) == count


@pytest.mark.parametrize(
    "between",
    ["add.u64 %rd1, %rd1, 4;", "add.u32 %r5, %r5, 1;", "@%p1 mov.u64 %rd1, %rd2;"],
)
def test_changed_register_keeps_the_second_load(between: str) -> None:
    text = MODULE.format(load="ld.global.u32", address="[%rd1]", between=between)
    module = parse(text)
    merge_loads(module)
    assert [i.op for i in module.functions["k"].body].count("ld.global.u32") == 2


def test_chain_of_pointers_is_followed() -> None:
    load = "ld.global.u64 %rd1, [%rd1];"
    module = parse(MODULE.format(load="ld.global.u32", address="[%rd1]", between=load))
    merge_loads(module)
    ops = [i.op for i in module.functions["k"].body]
    assert (ops.count("ld.global.u32"), ops.count("ld.global.u64")) == (2, 1)
