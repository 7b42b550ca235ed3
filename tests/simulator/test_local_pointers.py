"""An access through a pointer is out of bounds when it leaves the variable that the pointer is of.

A kernel executes random operations on pointers to its local variables, which lie side by side in
its stack frame. A model in Python keeps the variable and the offset of each pointer.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.compile.program import Program
from grader.launch import Array, Launch, Scalar
from grader.simulator.simulate import simulate
from grader.simulator.variants import Variants
from tests.trusted import compile_here

SOURCE = """
#include <cstdint>
struct Body { int head; int tail[3]; };
struct Held { int *p; };
__device__ __noinline__ int read(const int *p, int n) { return p[n]; }  // READ
__device__ __noinline__ void write(Held h, int n) { h.p[n] = n; }  // WRITE
__device__ __noinline__ int *moved(int *p, int n) { return p + n; }
__device__ int deeper(const int *p, int n, int depth) {
    int own[2] = {depth, n}, *mine = own;
    if (depth == 0) return p[n];  // DEEPER
    return deeper(p, n, depth - 1) + mine[1];
}
__device__ __forceinline__ int inlined(int *p, int n) {
    int own[2] = {n, n}, *mine = own;
    mine[1] += p[n];  // INLINED
    return mine[1];
}
extern "C" __global__ void k(const int4 *ops, int *out, int count) {
    int a[4] = {1, 2, 3, 4}, b[3] = {5, 6, 7}, x = 8, sum = 0;
    Body s = {9, {10, 11, 12}};
    int2 v = {13, 14};
    int *at[3] = {a, a, a};
    for (int i = 0; i < count; ++i) {
        int4 o = ops[i];
        int *&p = at[o.y];
        switch (o.x) {
            case 0: p = o.z < 2 ? (o.z ? b : a) : o.z == 2 ? &x : o.z == 3 ? s.tail : &v.x; break;
            case 1: p += o.z; break;
            case 2: { int *t = p; p = at[o.z]; at[o.z] = t; break; }
            case 3: p = moved(at[o.z], o.w); break;
            case 4: p = (int *)((uintptr_t)at[o.z] + 4 * o.w); break;
            case 5: sum += p[o.z]; break;  // LOAD
            case 6: p[o.z] = i; break;  // STORE
            case 7: sum += read(p, o.z); break;
            case 8: write(Held{p}, o.z); break;
            case 9: sum += deeper(p, o.z, o.w & 3); break;
            case 10: sum += inlined(p, o.z); break;
            case 11: for (int *q = p; q != p + 2; ++q) *q = i; break;  // WALK
        }
    }
    out[0] = sum;
}
"""
LINES = {
    row.partition("// ")[2]: n for n, row in enumerate(SOURCE.split("\n"), 1) if "  // " in row
}
SIZES = {"a": 4, "b": 3, "x": 1, "s": 4, "v": 2}
"""The variables and their elements, in the order of the kernel's first operation."""
STARTS = [("a", 0), ("b", 0), ("x", 0), ("s", 1), ("v", 0)]
ACCESSES = {5: "LOAD", 6: "STORE", 7: "READ", 8: "WRITE", 9: "DEEPER", 10: "INLINED",
            11: "WALK"}  # fmt: skip
WRITES = ("STORE", "WRITE", "WALK")
PLACE, MOVE, SWAP, CALL, CAST = range(5)

Operation = tuple[int, int, int, int]


@cache
def program() -> tuple[Program, Variants]:
    return compile_here(SOURCE.encode(), "k.cu"), Variants()


def found(operations: list[Operation]) -> set[tuple[int, str]]:
    """The lines and variables of the accesses that the simulator finds out of bounds."""
    compiled, decoded = program()
    data = np.array(operations, np.int32).reshape(-1)
    args = (
        Array("ops", data.shape, "int32", data),
        Array("out", (1,), "int32", None, True),
        Scalar("count", len(operations), "int32"),
    )
    launch = Launch("k", (1, 1, 1), (1, 1, 1), args)
    (trace,) = simulate(compiled, [launch], threads=1, decoded=decoded)
    return {
        (f.line, f.variable) for f in trace.findings if f.kind == "invalid-access" and f.variable
    }


def expected(operations: list[Operation]) -> tuple[int, set[tuple[int, str]]]:
    """The same by the variable that each pointer was made of.

    Also how many operations there are up to the first write out of bounds: it may change anything.
    """
    out, at = set(), [("a", 0)] * 3
    for count, (what, to, z, w) in enumerate(operations, 1):
        if what == PLACE:
            at[to] = STARTS[z]
        elif what == MOVE:
            at[to] = at[to][0], at[to][1] + z
        elif what == SWAP:
            at[to], at[z] = at[z], at[to]
        elif what in (CALL, CAST):
            at[to] = at[z][0], at[z][1] + w
        else:
            variable, offset = at[to]
            elements = (offset, offset + 1) if ACCESSES[what] == "WALK" else (offset + z,)
            if not set(elements) <= set(range(SIZES[variable])):
                out.add((LINES[ACCESSES[what]], variable))
                if ACCESSES[what] in WRITES:
                    return count, out
    return len(operations), out


POINTERS, STEPS = st.integers(0, 2), st.integers(-3, 3)
OPERATIONS = st.one_of(
    st.tuples(st.just(PLACE), POINTERS, st.integers(0, len(STARTS) - 1), st.just(0)),
    st.tuples(st.just(MOVE), POINTERS, STEPS, st.just(0)),
    st.tuples(st.just(SWAP), POINTERS, POINTERS, st.just(0)),
    st.tuples(st.sampled_from([CALL, CAST]), POINTERS, POINTERS, STEPS),
    st.tuples(st.sampled_from(list(ACCESSES)), POINTERS, STEPS, st.integers(0, 3)),
)


@settings(max_examples=150)
@given(st.lists(OPERATIONS, min_size=1, max_size=12))
def test_findings_are_those_of_a_model(operations: list[Operation]) -> None:
    count, finds = expected(operations)
    assert found(operations[:count]) == finds


WALKS = {
    "inside": ([(1, 0, 3, 0), (5, 0, 0, 0), (5, 0, -3, 0)], ""),
    "the next variable": ([(1, 0, 3, 0), (6, 0, 1, 0)], "STORE a"),
    "out and back": ([(1, 0, 9, 0), (1, 0, -9, 0), (5, 0, 0, 0)], ""),
    "the head of a struct": ([(0, 1, 3, 0), (5, 1, -1, 0)], ""),
    "before a struct": ([(0, 1, 3, 0), (9, 1, -2, 3)], "DEEPER s"),
}


@pytest.mark.parametrize("operations, finds", WALKS.values(), ids=WALKS)
def test_walks(operations: list[Operation], finds: str) -> None:
    access, _, variable = finds.partition(" ")
    assert found(operations) == ({(LINES[access], variable)} if finds else set())


def many(functions: int, arrays: int, written: int) -> set[str]:
    """What is found where functions with so many arrays each write one behind the end of one."""
    names = [f"v{k}" for k in range(arrays)]
    made = "".join(f"    int {name}[2] = {{n, n}}; use({name});\n" for name in names)
    body = f"{made}    write({names[written]}, n);\n    return v0[0];\n"
    own = [f"__device__ __noinline__ int f{k}(int n) {{\n{body}}}\n" for k in range(functions)]
    source = f"""
__device__ __noinline__ void use(int *p) {{ p[1] = 0; }}
__device__ __noinline__ void write(int *p, int n) {{ p[n] = 1; }}
{"".join(own)}
extern "C" __global__ void k(int *out, int n) {{
    out[0] = {" + ".join(f"f{k}(n)" for k in range(functions))};
}}
"""
    launch = Launch(
        "k",
        (1, 1, 1),
        (1, 1, 1),
        (Array("out", (1,), "int32", None, True), Scalar("n", 2, "int32")),
    )
    (trace,) = simulate(compile_here(source.encode(), "k.cu"), [launch], threads=1)
    assert {f.kind for f in trace.findings} <= {"invalid-access"}
    return {f.variable for f in trace.findings}


def test_functions_with_more_variables_than_numbers_share_them() -> None:
    assert many(functions=3, arrays=25, written=23) == {"v23"}


def test_variable_after_the_most_of_a_function_is_not_checked() -> None:
    assert many(functions=1, arrays=65, written=62) == {"v62"}
    assert many(functions=1, arrays=65, written=63) == set()


PARTS = {
    "a member": ("s.body[n + 3] = 1;", "s.body"),
    "a member within": ("s.body[n + 2] = 1;", ""),
    "the first member": ("s.head[n + 1] = 1;", "s.head"),
    "before a member": ("s.body[-n] = 1;", "s.body"),
    "a member of an element": ("t[n].body[n + 2] = t[0].body[n + 3];", "t[0].body"),
    "a row": ("m[n][n + 3] = 1;", "m[...]"),
    "a row within": ("m[n][n + 2] = 1;", ""),
    "a constant row": ("m[1][n + 3] = 1;", "m[1]"),
    "the first row": ("m[0][n + 3] = 1;", "m[0]"),
    "a row of a member": ("g.rows[n][n + 1] = 1;", "g.rows[...]"),
    "a member behind its rows": ("g.rows[n][0] = g.rows[n + 2][n - 1];", "g.rows"),
    "a number as an array": ("(&s.one)[n] = 1;", ""),
    "an address of an element": ("(&m[0][0])[n + 7] = 1;", ""),
    "a pointer to a row": ("int *p = m[0]; p[n + 7] = 1;", ""),
    "a reference to a row": ("int(&p)[4] = m[0]; p[n + 7] = 1;", ""),
    "a struct as an array": ("reinterpret_cast<int *>(&s)[n + 4] = 1;", ""),
    "a union": ("u.low[n + 2] = 1;", ""),
    "bytes from a member on": ("memset(s.body, 0, 20);", ""),
    "a macro": ("FLAT(m, n + 5) = 1;", ""),
}
"""Statements with n = 1, and the part of a variable that they leave."""


@pytest.mark.parametrize("statement, part", PARTS.values(), ids=PARTS)
def test_index_beyond_a_member_or_a_row_is_an_info(statement: str, part: str) -> None:
    source = f"""
#define FLAT(a, i) a[0][i]
struct S {{ int head[2], body[4], one, rest[3]; }};
struct Grid {{ int rows[2][2], more[4]; }};
union U {{ int low[2]; int all[8]; }};
extern "C" __global__ void k(int *out, int n) {{
    S s = {{}}, t[2] = {{}};
    Grid g = {{}};
    U u = {{}};
    int m[3][4] = {{}};
    {statement}
    out[0] = s.body[n] + s.head[n] + t[n].body[n] + g.rows[n][n] + g.more[n] + u.all[n] + m[n][n];
}}
"""
    args = Array("out", (1,), "int32", None, True), Scalar("n", 1, "int32")
    launch = Launch("k", (1, 1, 1), (1, 1, 1), args)
    (trace,) = simulate(compile_here(source.encode(), "k.cu"), [launch], threads=1)
    found = [(f.severity, f.line, f.variable) for f in trace.findings]
    assert found == ([("info", 11, part)] if part else [])
