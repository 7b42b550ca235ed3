"""Control flow of compiled kernels against Python: both PTX variants, whole and partial warps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from grader.compile.program import Program
from grader.launch import Array, Launch, Scalar
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.ptx.parser import parse
from tests.trusted import compile_here

KERNELS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "if_else": (
        "out[i] = x % 3 == 0 ? x * 5 : x % 3 == 1 ? x - 7 : -x;",
        lambda x, i: (x * 5, x - 7, -x)[x % 3],
    ),
    "nested_loops": (
        "int s = 0; for (int a = 0; a < x % 7; ++a)"
        " for (int b = a; b < i % 5; ++b) s += a * b + 1; out[i] = s;",
        lambda x, i: sum(a * b + 1 for a in range(x % 7) for b in range(a, i % 5)),
    ),
    "breaks": (
        "int s = 0; for (int a = 0; a < 50; ++a) { if (a % 4 == 1) continue;"
        " if (a > x % 11) break; s += a; } out[i] = s;",
        lambda x, i: sum(a for a in range(50) if a % 4 != 1 and a <= x % 11),
    ),
    "early_exit": (
        "out[i] = -1; if (i & 1) return; if (x > 500) { out[i] = 9; return; } out[i] = x;",
        lambda x, i: -1 if i & 1 else 9 if x > 500 else x,
    ),
    "switches": (
        "int y; switch (x & 15) { case 0: y = 3; break; case 1: y = x; break;"
        " case 2: y = 7 * x; break;"
        " case 3: y = 2;"
        " case 4: y = x ^ 9; break; case 5: y = 11; break; case 7: y = -4; break;"
        " case 9: y = 1 << (x & 3); break;"
        " default: y = 100; } out[i] = y;",
        lambda x, i: {0: 3, 1: x, 2: 7 * x, 3: x ^ 9, 4: x ^ 9, 5: 11, 7: -4, 9: 1 << (x & 3)}.get(
            x & 15, 100
        ),
    ),
    "calls": ("out[i] = inner(x, i) + inner(i, x);", lambda x, i: _inner(x, i) + _inner(i, x)),
    "recursion": ("out[i] = fib(x % 11);", lambda x, i: _fib(x % 11)),
    "pointers": ("out[i] = table[x % 3](i);", lambda x, i: (i + 1, i * i, -i)[x % 3]),
    "short_circuit": (
        "out[i] = (x > 3 && i / (x - 3) > 0) || x == 1;",
        lambda x, i: int((x > 3 and i // (x - 3) > 0) or x == 1),
    ),
    "collatz": (
        "int n = x + 1, s = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; ++s; } out[i] = s;",
        lambda x, i: _collatz(x + 1),
    ),
    "goto_out": (
        "int s = 0; for (int a = 0; a < 9; ++a) for (int b = 0; b < 9; ++b)"
        " { if (a * b > x % 40) goto done; s += b; } done: out[i] = s;",
        lambda x, i: _goto(x % 40),
    ),
    "do_while": (
        "int n = x % 9, s = 0; do { s += n; } while (--n > 0); out[i] = s;",
        lambda x, i: sum(range(1, x % 9 + 1)),
    ),
}
PRELUDE = """
__device__ __noinline__ int inner(int a, int b) { if (a > b) return a - b; return a * 3 + b; }
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ int next(int i) { return i + 1; }
__device__ __noinline__ int square(int i) { return i * i; }
__device__ __noinline__ int minus(int i) { return -i; }
typedef int (*unary)(int);
__device__ unary table[3] = {next, square, minus};
"""


def _inner(a: int, b: int) -> int:
    return a - b if a > b else a * 3 + b


def _fib(n: int) -> int:
    return n if n < 2 else _fib(n - 1) + _fib(n - 2)


def _collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = (3 * n + 1 if n & 1 else n // 2), steps + 1
    return steps


def _goto(limit: int) -> int:
    total = 0
    for a in range(9):
        for b in range(9):
            if a * b > limit:
                return total
            total += b
    return total


@cache
def program() -> Program:
    head = 'extern "C" __global__ void {}(const int *in, int *out, int count) {{\n'
    head += "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    head += "  if (i >= count) return;\n  int x = in[i];\n  "
    bodies = [head.format(name) + body + "\n}\n" for name, (body, _) in KERNELS.items()]
    return compile_here((PRELUDE + "".join(bodies)).encode(), "control.cu")


@pytest.mark.parametrize("threads", [32, 45])
@pytest.mark.parametrize("variant", ["debug", "fast"])
@pytest.mark.parametrize("name", KERNELS)
def test_control_flow_matches_python(name: str, variant: str, threads: int) -> None:
    count = 3 * threads - 5
    given = np.random.default_rng(7).integers(0, 1000, count).astype("int32")
    module = parse(program().debug_ptx if variant == "debug" else program().ptx)
    machine = Machine(module, decode(module, name, core().known))
    args = (
        Array("in", (count,), "int32", given),
        Array("out", (count,), "int32", None, True),
        Scalar("count", count, "int32"),
    )
    raw = machine.run(Launch(name, (3, 1, 1), (threads, 1, 1), args), Limits(), False)
    assert raw.ended and not len(raw.reports)
    want = [KERNELS[name][1](int(x), i) for i, x in enumerate(given)]
    assert raw.buffers[1].data.view("int32").tolist() == want


def _moved(stored: int, loaded: int) -> str:
    """A call that passes 16 bytes, stored and loaded in pieces; odd lanes store only the first."""
    out = [".version 8.3", ".target sm_90", ".address_size 64"]
    out += [".func (.param .align 8 .b8 r[16]) f(.param .align 8 .b8 p[16]) {", REGISTERS]
    for at in range(0, 16, loaded):
        out.append(f"ld.param.b{8 * loaded} {HOLDS[loaded]}, [p+{at}];")
        out.append(f"st.param.b{8 * loaded} [r+{at}], {HOLDS[loaded]};")
    out += ["ret; }", ".entry k(.param .u64 a, .param .u64 d) {", REGISTERS]
    out += ["mov.u32 %t, %tid.x; and.b32 %o, %t, 1; setp.eq.u32 %q, %o, 0;"]
    for name, register in (("a", "%pa"), ("d", "%pd")):
        out += [f"ld.param.u64 {register}, [{name}]; mad.wide.u32 {register}, %t, 16, {register};"]
    out += ["{ .param .align 8 .b8 x[16]; .param .align 8 .b8 y[16];"]
    for at in range(0, 16, 8):
        out.append(f"mov.b64 %rd, 0; st.param.b64 [x+{at}], %rd;")
    for at in range(0, 16, stored):
        out.append(f"ld.global.b{8 * stored} {HOLDS[stored]}, [%pa+{at}];")
        guard = "@%q " if at else ""
        out.append(f"{guard}st.param.b{8 * stored} [x+{at}], {HOLDS[stored]};")
    out += ["call (y), f, (x);"]
    for at in range(0, 16, 8):
        out.append(f"ld.param.b64 %rd, [y+{at}]; st.global.b64 [%pd+{at}], %rd;")
    return "\n".join([*out, "} ret; }"])


REGISTERS = """.reg .b16 %h; .reg .b32 %r; .reg .b64 %rd; .reg .b32 %t; .reg .b32 %o; .reg .pred %q;
.reg .b64 %pa; .reg .b64 %pd;"""
HOLDS = {1: "%h", 2: "%h", 4: "%r", 8: "%rd"}


@pytest.mark.parametrize("stored", HOLDS)
@pytest.mark.parametrize("loaded", HOLDS)
def test_parameters_pass_through_a_call_in_pieces_of_any_size(stored: int, loaded: int) -> None:
    module = parse(_moved(stored, loaded))
    machine = Machine(module, decode(module, "k", core().known))
    given = np.random.default_rng(stored + loaded).integers(0, 256, (32, 16), dtype="uint8")
    want = given.copy()
    want[1::2, stored:] = 0
    args = (Array("a", (32, 16), "uint8", given), Array("d", (32, 16), "uint8", None, True))
    raw = machine.run(Launch("k", (1, 1, 1), (32, 1, 1), args), Limits(), count=False)
    assert raw.ended
    assert np.array_equal(raw.buffers[1].data.reshape(32, 16), want)
