"""Decoding, loading and running a kernel take linear time for any PTX."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from grader.launch import Array, Launch
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.ptxas import contract, merge_loads, reduce_unused_atomics
from tests.linear import LONGER, assert_linear
from tests.trusted import compile_here

HEAD = """\
.version 8.0
.target sm_90
.address_size 64
.file 1 "a.cu"
.visible .entry k(
.param .u64 k_param_0
)
{
.reg .pred %p<2000>;
.reg .b32 %r<6000>;
.reg .f32 %f<6000>;
.reg .b64 %rd<40>;
.loc 1 1 1
ld.param.u64 %rd1,[k_param_0];
mov.u32 %r1,%tid.x;
mov.f32 %f1,0f3F800000;
setp.eq.u32 %p1,%r1,0;
L0:
"""
BODIES = {
    "sums": "add.s32 %r{b},%r{a},1;\n",
    "fused": "mul.f32 %f{b},%f1,%f1;\nadd.f32 %f2,%f{b},%f1;\n",
    "branches": "@%p1 bra L{a};\nadd.s32 %r2,%r2,1;\nL{a}:\n",
    "loops": "L{a}:\nadd.s32 %r2,%r2,1;\n@%p1 bra L{a};\n",
    "loops of two": "L{a}:\nadd.s32 %r2,%r2,1;\n@%p1 bra M{a};\nadd.s32 %r2,%r2,1;\nM{a}:\n"
    "@%p1 bra L{a};\n",
    "to the first": "@%p1 bra L0;\nadd.s32 %r2,%r2,1;\n",
    "to the last": "@%p1 bra LE;\nadd.s32 %r2,%r2,1;\n",
    "irreducible": "@%p1 bra M{a};\nL{a}:\nadd.s32 %r2,%r2,1;\nM{a}:\n@%p1 bra L{a};\n",
    "crossed": "@%p1 bra L{h};\nL{a}:\nadd.s32 %r{b},%r2,1;\n",
    "guards": "@%p1 add.s32 %r{b},%r{a},1;\n",
    "loads": "ld.global.u32 %r{b},[%rd1+{a}];\n",
    "volatile loads": "ld.volatile.global.u32 %r{b},[%rd1+{a}];\n"
    "st.volatile.global.u32 [%rd1],%r{b};\n",
    "scopes": "{ .reg .b32 t; mov.u32 t,%r1; add.s32 %r2,t,1; }\n",
    "open scopes": "{ .reg .b32 t{a}; mov.u32 t{a},%r1;\n",
    "barriers": "bar.sync 0;\n",
    "local variables": ".local .align 4 .b8 l{a}[4];\nst.local.u32 [l{a}],%r1;\n",
    "shared variables": ".shared .align 4 .b8 s{a}[4];\nst.shared.u32 [s{a}],%r1;\n",
    "returns": "@%p1 ret;\n",
    "labels": "L{a}:\n",
    "inlined": ".loc 2 {a} 1, function_name $L, inlined_at 1 {a} 2\nadd.s32 %r2,%r2,1;\n",
    "selections": "setp.eq.u32 %p1,%r{a},0;\nselp.u32 %r{b},%r{a},%r1,%p1;\n",
    "constants": "add.s32 %r2,%r2,{a};\n",
    "products then sums": "",
    "nested loops": "",
    "registers of one scope": "",
    "sequence locks": "",
}


def ptx_text(name: str, count: int) -> str:
    rows = range(2, count + 2)
    match name:
        case "products then sums":
            units = [*(f"mul.f32 %f{k + 1},%f1,%f1;\n" for k in rows),
                     *(f"add.f32 %f2,%f{k + 1},%f2;\n" for k in rows)]  # fmt: skip
        case "nested loops":
            units = [*(f"L{k}:\nadd.s32 %r2,%r2,1;\n" for k in rows),
                     *(f"@%p1 bra L{k};\n" for k in reversed(rows))]  # fmt: skip
        case "sequence locks":
            units = [f"L{k}:\nld.volatile.global.u32 %r{2 * k},[%rd1];\nmembar.gl;\n"
                     f"ld.volatile.global.f32 %f{k},[%rd1+64];\nmembar.gl;\n"
                     f"ld.volatile.global.u32 %r{2 * k + 1},[%rd1];\n"
                     f"setp.lt.u32 %p{k + 1000},%r{2 * k},1;\n"
                     f"setp.ne.u32 %p{k},%r{2 * k},%r{2 * k + 1};\n@%p{k} bra L{k};\n"
                     f"st.global.f32 [%rd1+128],%f{k};\n" for k in rows[::4]]  # fmt: skip
        case "registers of one scope":
            units = ["{", *(f".reg .b32 t{k};\n" for k in rows),
                     *(f"mov.u32 t{k},%r1;\n" for k in rows), "}"]  # fmt: skip
        case _:
            body = BODIES[name]
            units = [
                body.replace("{a}", str(k)).replace("{b}", str(k + 1))
                .replace("{h}", str(k * 7919 % count + 2)) for k in rows
            ]  # fmt: skip
    closing = "}" * count if name == "open scopes" else ""
    return f"{HEAD}{''.join(units)}{closing}LE:\nret;\n}}\n"


@pytest.mark.parametrize("definedness", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_decoding_is_linear(name: str, definedness: bool) -> None:
    def reader(text: str) -> object:
        return decoded(text, definedness=definedness)

    short, long = (ptx_text(name, n) for n in (200, 200 * LONGER))
    assert reader(short), "the text is not decoded"
    assert_linear(reader, short, long)


LOCAL = b"""\
struct S { int head, body[4]; };
__device__ __noinline__ void use(int *p) { *p = 1; }
extern "C" __global__ void k(int *out, int n) {
  S s;
  use(s.body);
  out[0] = s.body[n];
}
"""
INDEXED = """\
{ .reg .b64 a, b, c, d;
add.u64 a,%SP,0;
add.s64 b,a,4;
shl.b64 c,%rd1,2;
add.s64 d,b,c;
st.u32 [d],1; }
"""


def test_decoding_accesses_to_parts_of_local_variables_is_linear() -> None:
    text = compile_here(LOCAL, "k.cu").debug_ptx
    at = text.index("ret;", text.index(".entry k("))
    lines = 10 * ["s.body[n] = 1;"]

    def reader(text: str) -> object:
        return decoded(text, definedness=True, lines=lines)

    one, short, long = (text[:at] + n * INDEXED + text[at:] for n in (1, 150, 150 * LONGER))
    module = parse(one)
    module.source = "\n".join(lines)
    image = decode(module, "k", core().known, definedness=True)
    checks = [x.exec for b in image.functions[0].blocks for x in b.insns if x.exec[-5:] == "index"]
    assert checks == 2 * ["shadow_index"]
    assert_linear(reader, short, long)


def decoded(text: str, *, definedness: bool, lines: Sequence[str] = ()) -> object:
    module = parse(text)
    module.source = "\n".join(lines)
    contract(module)
    reduce_unused_atomics(module)
    merge_loads(module)
    return decode(module, "k", core().known, definedness=definedness)


MODULES = {
    "globals": (".global .align 4 .b8 x{a}[4];\n", "mov.u64 %rd2,x{a};\n", ""),
    "initialized globals": (".global .align 4 .u32 x{a} = {a};\n",
                            "ld.global.u32 %r2,[x{a}];\n", ""),
    "pointers to globals": (".global .align 8 .u64 x{a} = generic(x{b});\n", "mov.u64 %rd2,x{a};\n",
                            ".global .align 8 .u64 x{a};\n"),
    "constants": (".const .align 4 .u32 x{a} = {a};\n", "ld.const.u32 %r2,[x{a}];\n", ""),
    "shared variables": (".shared .align 4 .b8 x{a}[4];\n", "mov.u64 %rd2,x{a};\n", ""),
    "dynamic names": (".extern .shared .align 4 .b8 x{a}[];\n", "mov.u64 %rd2,x{a};\n", ""),
    "local variables": ("", ".local .align 4 .b8 x{a}[4];\nmov.u64 %rd2,x{a};\n", ""),
    "functions": (".func f{a}()\n{{\nret;\n}}\n", "call.uni f{a},();\n", ""),
    "pointers to functions": (".func f{a}()\n{{\nret;\n}}\n", "mov.u64 %rd2,f{a};\n", ""),
    "calls": (".func f{a}()\n{{\n{call}ret;\n}}\n", "", ""),
    "numbers": ("", "add.s32 %r2,%r2,{a};\n", ""),
    "branches": ("", "@%p1 bra L{a};\nadd.s32 %r2,%r2,1;\nL{a}:\n", ""),
    "constants of the entry": ("", "mov.u32 %c{a},{a};\n", ""),
    "lines": ("", ".loc 1 {a} 1\nadd.s32 %r2,%r2,1;\n", ""),
}  # fmt: skip
"""The declarations of a module, the lines of its kernel, and the last declaration."""


def module_text(name: str, count: int) -> str:
    declared, line, last = MODULES[name]
    rows = range(2, count + 2)
    call = [f"call.uni f{k - 1},();\n" if k > 2 else "" for k in rows]
    made = [
        declared.replace("{a}", str(k))
        .replace("{b}", str(k + 1))
        .replace("{{", "{")
        .replace("}}", "}")
        .replace("{call}", each)
        for k, each in zip(rows, call, strict=True)
    ]
    head = HEAD.replace("%r<6000>", "%r<9>").replace("%f<6000>", "%f<9>")
    body = "".join(line.replace("{a}", str(k)) for k in rows)
    if name == "constants of the entry":
        head = head.replace("%r<9>", f"%r<9>;.reg .b32 %c<{count + 9}>")
        body += "".join(f"@%p1 bra L{k};\nadd.s32 %r2,%r2,1;\nL{k}:\n" for k in rows)
        body += "".join(f"add.s32 %r2,%r2,%c{k};\n" for k in rows)
    body += f"call.uni f{count + 1},();\n" if name == "calls" else ""
    start, entry, rest = head.partition(".visible .entry")
    if last:
        made.insert(0, last.replace("{a}", str(count + 2)))
    return f"{start}{''.join(reversed(made) if last else made)}{entry}{rest}{body}ret;\n}}\n"


@pytest.mark.parametrize("name", MODULES)
def test_loading_and_running_are_linear(name: str) -> None:
    """From the module to the end of a launch of one thread: the loader, the tables of the core."""
    launch = Launch("k", (1, 1, 1), (1, 1, 1), (Array("a", (4,), "float32", None, True),))

    def reader(text: str) -> object:
        module = parse(text)
        machine = Machine(module, decode(module, "k", core().known, definedness=False))
        return machine.run(launch, Limits(), True)

    short, long = (module_text(name, n) for n in (150, 150 * LONGER))
    assert reader(short), "it runs"
    assert_linear(reader, short, long)
