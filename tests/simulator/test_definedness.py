"""Registers that may be read before they are written, and their shadow instructions."""

from __future__ import annotations

import pytest

from grader.simulator.core.bindings import core
from grader.simulator.decode.dataflow import maybe_undefined, sources, targets
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import Image, decode
from grader.simulator.ptx.model import Instruction, Location, PtxError
from grader.simulator.ptx.parser import parse

HEAD = """\
.version 9.0
.target sm_90, debug
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
.reg .pred %p<4>; .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [out];
ld.param.u32 %r1, [n];
setp.lt.s32 %p1, %r1, 5;
"""


def body(text: str) -> str:
    return f"{HEAD}{text}\nret;\n}}\n"


PATHS = {
    "straight": ("mov.u32 %r2, 1; add.s32 %r3, %r2, 1;", ""),
    "never written": ("add.s32 %r3, %r2, 1;", "%r2"),
    "its own source": ("add.s32 %r2, %r2, 1;", "%r2"),
    "one branch": ("@%p1 bra L; mov.u32 %r2, 1;\nL: add.s32 %r3, %r2, 1;", "%r2"),
    "both branches": (
        "@%p1 bra L; mov.u32 %r2, 1; bra.uni M;\nL: mov.u32 %r2, 2;\nM: add.s32 %r3, %r2, 1;",
        "",
    ),
    "a branch that ends": (
        "@%p1 bra L; mov.u32 %r2, 1; bra.uni M;\nL: ret;\nM: st.u32 [%rd1], %r2;",
        "",
    ),
    "around a loop": ("L: add.s32 %r3, %r2, 1; mov.u32 %r2, %r3; @%p1 bra L;", "%r2"),
    "after a loop": ("L: mov.u32 %r2, 1; @%p1 bra L; add.s32 %r3, %r2, 1;", ""),
    "under a guard": ("@%p1 mov.u32 %r2, 1; add.s32 %r3, %r2, 1;", "%r2"),
    "the guard": ("@%p2 mov.u32 %r2, 1;", "%p2"),
    "of a branch": ("@%p2 bra L;\nL: mov.u32 %r2, 1;", "%p2"),
    "an address": ("st.u32 [%rd2+4], %r1;", "%rd2"),
    "a stored vector": ("mov.u32 %r2, 1; st.v2.u32 [%rd1], {%r2, %r3};", "%r3"),
    "a loaded vector": ("ld.v2.u32 {%r2, %r3}, [%rd1]; add.s32 %r4, %r2, %r3;", ""),
    "two targets": ("setp.lt.s32 %p2|%p3, %r1, 5; @%p3 mov.u32 %r2, 1;", ""),
    "a table": (
        "T: .branchtargets A, B;\nbrx.idx %r1, T;\n"
        "A: mov.u32 %r2, 1; bra.uni C;\nB: mov.u32 %r3, 1;\nC: add.s32 %r4, %r2, 1;",
        "%r2",
    ),
    "not reached": ("bra.uni L; add.s32 %r3, %r2, 1;\nL: mov.u32 %r4, 1;", ""),
}


@pytest.mark.parametrize("text, expected", PATHS.values(), ids=PATHS)
def test_maybe_undefined_registers(text: str, expected: str) -> None:
    (function,) = parse(body(text)).functions.values()
    assert maybe_undefined(function) == frozenset(expected.split())


@pytest.mark.parametrize(
    "op, operands, written, read",
    [
        ("add.s32", ["%r1", "%r2", "3"], ["%r1"], ["%r2"]),
        ("st.global.u32", ["[%rd1+4]", "%r2"], [], ["%rd1", "%r2"]),
        ("red.global.add.u32", ["[%rd1]", "%r2"], [], ["%rd1", "%r2"]),
        ("atom.add.u32", ["%r1", "[%rd1]", "%r2"], ["%r1"], ["%rd1", "%r2"]),
        ("shfl.sync.idx.b32", ["%r1|%p1", "%r2", "0", "31", "-1"], ["%r1", "%p1"], ["%r2"]),
        ("mov.b64", ["{%r1, %r2}", "%rd1"], ["%r1", "%r2"], ["%rd1"]),
        ("bar.sync", ["%r1"], [], ["%r1"]),
        ("barrier.red.popc.sync.u32", ["%r1", "0", "%p1"], ["%r1"], ["%p1"]),
    ],
)
def test_targets_and_sources(
    op: str, operands: list[str], written: list[str], read: list[str]
) -> None:
    i = Instruction(op, operands, None, Location())
    assert list(targets(i)) == written
    assert list(sources(i)) == read


def decoded(text: str, definedness: bool) -> Image:
    return decode(parse(body(text)), "k", core().known, definedness=definedness)


def names(image: Image) -> list[str]:
    return [code.exec for f in image.functions for b in f.blocks for code in b.insns]


def test_code_without_undefined_registers_gets_no_shadows() -> None:
    text = PATHS["both branches"][0]
    watched, plain = decoded(text, True), decoded(text, False)
    assert watched.shadowed == [] and plain.shadowed is None
    assert names(watched) == names(plain)
    assert [f.registers for f in watched.functions] == [f.registers for f in plain.functions]


def test_shadow_instructions_accompany_the_others() -> None:
    text = PATHS["one branch"][0]
    watched, plain = decoded(text, True), decoded(text, False)
    assert watched.shadowed == ["b32"]
    added = [name for name in names(watched) if name.startswith("shadow_")]
    assert added == ["shadow_copy", "shadow_check"]
    assert not any(name.startswith("shadow_") for name in names(plain))
    assert watched.ops == plain.ops


def test_shadows_are_made_only_on_request() -> None:
    assert not any(
        name.startswith("shadow_") for name in names(decoded("not.b32 %r3, %r2;", False))
    )


@pytest.mark.parametrize(
    "text",
    [
        "and.b32;",
        "mov.u32 %r3;",
        "selp.b32 %r3, %r2, %p1;",
        "shfl.sync.idx.b32 %r3, %r2;",
        "st.u32 %r2;",
        "st.u32 [, %r2;",
        "call;",
        "call k;",
        "call (%r3);",
        "ld.param.u32 %r3;",
        "st;",
        "brx.idx %r2;",
        "@%r2 mov.u32 %r3, 1;",
        "@%p9 mov.u32 %r2, 1;",
    ],
)
def test_unknown_instruction_raises_ptx_error(text: str) -> None:
    with pytest.raises((PtxError, NotSimulated)):
        decoded(f"add.s32 %r4, %r2, 1; {text}", True)
