"""Which instructions may access local memory, and which shadow instructions they get."""

from __future__ import annotations

import pytest

from grader.simulator.core.bindings import core
from grader.simulator.decode.dataflow import LocalAccesses, has_local
from grader.simulator.decode.followed import moving_loads
from grader.simulator.decode.module import decode
from grader.simulator.ptx import source_map
from grader.simulator.ptx.model import Function
from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.source_map import is_copy, with_source_lines
from tests.trusted import compile_here

HEAD = """\
.version 9.0
.target sm_90, debug
.address_size 64
"""
BODY = """
{
.local .align 8 .b8 __local_depot0[16];
.reg .b64 %SP; .reg .b64 %SPL; .reg .b32 %r<9>; .reg .b64 %rd<9>;
mov.u64 %SPL, __local_depot0;
cvta.local.u64 %SP, %SPL;
ld.param.u64 %rd1, [a];
"""
ENTRY = HEAD + ".visible .entry k(.param .u64 a)" + BODY
CALLEE = HEAD + ".func k(.param .b64 a)" + BODY

ACCESSES = {
    "its own": (ENTRY, "ld.u32 %r1, [%SP+4];", True),
    "its own, made": (ENTRY, "add.u64 %rd2, %SP, 4; st.u32 [%rd2], %r1;", True),
    "at an index": (
        ENTRY,
        "add.u64 %rd2, %SP, 4; add.s64 %rd3, %rd2, %rd4; ld.u32 %r1, [%rd3];",
        True,
    ),
    "in its space": (ENTRY, "st.local.u32 [%SPL], %r1;", True),
    "a kernel's argument": (ENTRY, "add.s64 %rd2, %rd1, 4; ld.u32 %r1, [%rd2];", False),
    "an argument of a callee": (CALLEE, "add.s64 %rd2, %rd1, 4; ld.u32 %r1, [%rd2];", True),
    "a pointer in memory": (ENTRY, "ld.u64 %rd2, [%rd1]; st.u32 [%rd2], %r1;", True),
    "one of two": (ENTRY, "selp.b64 %rd2, %rd1, %SP, %p1; ld.u32 %r1, [%rd2];", True),
    "later in a loop": (ENTRY, "mov.u64 %rd2, %rd3; ld.u32 %r1, [%rd2]; mov.u64 %rd3, %SP;", True),
    "global space": (ENTRY, "ld.global.u32 %r1, [%rd1];", False),
    "an argument itself": (CALLEE, "ld.param.u32 %r1, [a];", False),
}


def function(head: str, body: str) -> Function:
    return parse(f"{head}{body}\nret;\n}}\n").functions["k"]


@pytest.mark.parametrize("head, body, accesses_local", ACCESSES.values(), ids=ACCESSES)
def test_local_accesses_are_detected(head: str, body: str, accesses_local: bool) -> None:
    f = function(head, body)
    local = LocalAccesses(f)
    ends = [i for i in f.body if i.op.endswith("u32")]
    assert [id(i) in local.accesses for i in ends] == [accesses_local]


FIXED = {
    "plus a constant": ("add.u64 %rd2, %SP, 4;", True),
    "a copy": ("add.u64 %rd3, %SP, 4; mov.b64 %rd2, %rd3;", True),
    "an index": ("add.s64 %rd2, %SP, %rd1;", False),
    "written twice": ("mov.b64 %rd2, %SP; mov.b64 %rd2, %rd1;", False),
}


@pytest.mark.parametrize("body, uniform", FIXED.values(), ids=FIXED)
def test_uniform_addresses_are_detected(body: str, uniform: bool) -> None:
    assert ("%rd2" in LocalAccesses(function(ENTRY, body)).uniform) == uniform


FOLLOWED = {
    "a merged word": ("ld.u32 %r1, [%rd1]; and.b32 %r2, %r1, -8; or.b32 %r3, %r2, 1;", 1),
    "an extracted field": ("ld.u32 %r1, [%rd1]; shl.b32 %r2, %r1, 29; shr.u32 %r3, %r2, 29;", 1),
    "a masked copy": ("ld.u32 %r1, [%rd1]; mov.b32 %r2, %r1; and.b32 %r3, %r2, 6;", 1),
    "a whole word too": ("ld.u32 %r1, [%rd1]; and.b32 %r2, %r1, -8; add.s32 %r3, %r1, 1;", 0),
    "a limited char": ("ld.u8 %r1, [%rd1]; and.b32 %r2, %r1, 255; add.s32 %r3, %r2, 1;", 0),
    "a shift by a register": ("ld.u32 %r1, [%rd1]; shl.b32 %r2, %r1, %r4;", 1),
    "a copied word": ("ld.u32 %r1, [%rd1]; st.u32 [%rd2], %r1;", 0),
    "a copied vector": ("ld.v2.u32 {%r1, %r2}, [%rd1]; st.v2.u32 [%rd2], {%r1, %r2};", 1),
    "a copied struct": (
        "ld.u32 %r1, [%rd1]; add.s64 %rd3, %rd1, 8; ld.u32 %r2, [%rd3+4];"
        "st.u32 [%rd2], %r1; st.u32 [%rd2+4], %r2;",
        2,
    ),
    "two arrays": (
        "ld.u32 %r1, [%rd1]; ld.u32 %r2, [%rd4]; st.u32 [%rd2], %r1; st.u32 [%rd2+4], %r2;",
        0,
    ),
    "a part as an address": ("ld.v2.u64 {%rd5, %rd6}, [%rd1]; st.u64 [%rd5], %rd6;", 0),
    "a variable in the frame": ("ld.u32 %r1, [%rd1]; st.u32 [%SP+4], %r1;", 0),
    "a variable in the frame that is set twice": (
        "ld.f32 %f1, [%rd1]; mov.f32 %f2, %f1; st.f32 [%SP+4], %f2; st.f32 [%SP+4], %f3;",
        1,
    ),
    "a variable that a pointer leads to": (
        "ld.u64 %rd5, [%rd3]; ld.u32 %r1, [%rd1]; st.u32 [%rd5], %r1;",
        1,
    ),
    "a loop that copies": (
        "bra.uni L;\nL: ld.u32 %r1, [%rd1]; st.u32 [%rd2], %r1; setp.eq.s32 %p1, %r4, 1;"
        "@%p1 bra L;\nbra.uni M;\nM:",
        1,
    ),
    "a volatile word": ("ld.volatile.u32 %r1, [%rd1]; and.b32 %r2, %r1, -8;", 0),
}


@pytest.mark.parametrize("body, count", FOLLOWED.values(), ids=FOLLOWED)
def test_merged_and_copied_loads_are_followed(body: str, count: int) -> None:
    f = function(ENTRY, body)
    loads = [i for i in f.body if i.op.startswith("ld.") and "param" not in i.op]
    assert sum(id(i) in moving_loads(f).followed for i in loads) == count


def execs(source: bytes) -> list[str]:
    module = parse(compile_here(source, "k.cu").debug_ptx)
    image = decode(module, "k", core().known, definedness=True)
    return [code.exec for f in image.functions for block in f.blocks for code in block.insns]


PLAIN = b'extern "C" __global__ void k(float *out) { float x = out[1]; out[0] = x; }\n'
ARRAY = (
    b'extern "C" __global__ void k(float *out, int n) { float x[2]; x[n] = 1; out[0] = x[1]; }\n'
)


def test_kernel_without_local_memory_gets_no_shadow_instructions() -> None:
    """Not even when an unused function of the file has local memory."""
    other = b"__device__ float unused(int n) { float x[2]; x[n] = 1; return x[1]; }\n"
    assert not [name for name in execs(other + PLAIN) if name.startswith("shadow_")]
    assert {"shadow_load", "shadow_store"} <= set(execs(ARRAY))
    functions = parse(compile_here(other + PLAIN, "k.cu").debug_ptx).functions
    assert has_local(functions.values()) and not has_local([functions["k"]])


def test_another_kernel_with_many_calls_takes_no_lines_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Copies of a header's functions are limited: the kernel that is launched has them first."""
    monkeypatch.setattr(source_map, "MAX_COPIES", 4)
    many = b"  atomicAdd(p, 1);\n" * 5
    text = b'extern "C" __global__ void other(int *p) {\n' + many + b"}\n"
    text += b'extern "C" __global__ void k(int *p) { atomicAdd(p, 1); }\n'
    functions = with_source_lines(parse(compile_here(text, "k.cu").debug_ptx), "k")
    called = {o for i in functions["k"].body for o in i.operands if o in functions}
    copies = list(filter(is_copy, called))
    assert copies
    lines = {i.location.line for name in copies for i in functions[name].body}
    assert lines == {text.count(b"\n")}


def test_library_code_is_told_from_intrinsics() -> None:
    """Cooperative groups compute for themselves; a half's operators stand for instructions."""
    text = b"""#include <cooperative_groups.h>
#include <cuda_fp16.h>
extern "C" __global__ void k(__half *out) {
  auto block = cooperative_groups::this_thread_block();
  __half x = out[0];
  x += x;
  out[block.thread_rank()] = x;
}
"""
    functions = with_source_lines(parse(compile_here(text, "k.cu").debug_ptx), "k")
    halves = [f for name, f in functions.items() if "half" in name and f.has_body]
    assert halves and not any(f.library or any(i.library for i in f.body) for f in halves)
    assert {i.library for i in functions["k"].body} == {True, False}
    ours = [
        i.location.line for i in functions["k"].body if i.op.startswith("st.") and not i.library
    ]
    assert text.decode().count("\n", 0, text.decode().index("out[block")) + 1 in ours
