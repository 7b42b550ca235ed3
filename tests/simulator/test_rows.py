"""An index that leaves a row or a member's array of a shared, global or constant variable.

A kernel executes random accesses, each in a line of its own: some index a part of a variable, and
others use the variable as one flat array. A model in Python knows the parts. Accesses that leave a
whole variable are left out: other tests have them.
"""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.compile.program import Program
from grader.launch import Array, Launch, Scalar
from grader.simulator.simulate import simulate
from grader.simulator.variants import Variants
from tests.simulator.test_watch import WATCH, trace
from tests.trusted import compile_here

HEAD = """
struct Cell { int head[2], rows[2][3], tail; };
__device__ int grid[4][5] = {{1}};
__constant__ int mask[3][4] = {{1}};
__device__ Cell cells[3] = {};
template <int N> __device__ int part(int r, int c) {
    __shared__ short own[N][N + 2];
    for (int i = 0; i < N * (N + 2); ++i) (&own[0][0])[i] = 0;
    return own[r][c];  // own
}
extern "C" __global__ void k(const int4 *ops, int *out, int count) {
    __shared__ float tile[4][7];
    __shared__ unsigned char text[5][6];
    __shared__ unsigned bins[4][8];
    __shared__ Cell s[3];
    __shared__ double cube[3][2][4];
    extern __shared__ int rows[][3];
    int m[3][4] = {}, sum = 0;
    for (int i = 0; i < 28; ++i) (&tile[0][0])[i] = i;
    for (int i = 0; i < 30; ++i) (&text[0][0])[i] = i;
    for (int i = 0; i < 32; ++i) (&bins[0][0])[i] = i;
    for (int i = 0; i < 27; ++i) reinterpret_cast<int *>(s)[i] = i;
    for (int i = 0; i < 24; ++i) (**cube)[i] = i;
    for (int i = 0; i < 12; ++i) (*rows)[i] = i;
    for (int i = 0; i < count; ++i) {
        int4 o = ops[i];
        int r = o.y, c = o.z, d = o.w;
        unsigned char b = c;
        long long j = c;
        switch (o.x) {
"""
TAIL = """
        }
    }
    out[0] = sum;
}
"""
TILE, TEXT, BINS, GRID, MASK = (4, 7), (5, 6), (4, 8), (4, 5), (3, 4)
ROWS = {
    "sum += tile[r][c];": TILE,
    "tile[r][j] = c;": TILE,
    "sum += tile[r + 0][c + 1 - 1];": TILE,
    "sum += tile[2][c];": (2, *TILE),
    "sum += tile[r][c] > 0 ? tile[r][c] : 1;": TILE,
    "text[r][c] = 1;": TEXT,
    "sum += text[r][b];": TEXT,
    "atomicAdd(&bins[r][c], 1u);": BINS,
    "sum += bins[r][c]++;": BINS,
    "sum += grid[r][c];": GRID,
    "grid[r][j] = c;": GRID,
    "atomicMax(&grid[r][c], 1);": GRID,
    "sum += mask[r][c];": MASK,
    "sum += rows[r][c];": (4, 3),
    "m[r][c] = 1;": (3, 4),
    "sum += part<4>(r, c);": (4, 6),
}
"""Statements that index row r at c, and the shape; with three numbers, the row is the first."""
FLAT = {
    "sum += (&tile[0][0])[r * 7 + c];": TILE,
    "{ float *p = tile[r]; sum += p[c]; }": TILE,
    "{ float *p = tile[r];\n p[c] = 1; }": TILE,
    "{ float(&p)[7] = tile[r];\n sum += p[c]; }": TILE,
    "sum += *(tile[r] + c);": TILE,
    "*(&tile[r][0] + c) = 1;": TILE,
    "sum += reinterpret_cast<int *>(tile[r])[c];": TILE,
    "sum += (*tile)[r * 7 + c];": TILE,
    "{ unsigned char *p = &text[r][0];\n sum += p[c]; }": TEXT,
    "{ unsigned *p = bins[r];\n atomicAdd(&p[c], 1u); }": BINS,
    "atomicAdd(bins[r] + c, 1u);": BINS,
    "atomicAdd(&bins[r][0] + c, 1u);": BINS,
    "{ int *p = grid[r];\n p[c] += 1; }": GRID,
    "{ const int *p = mask[r];\n sum += p[c]; }": MASK,
    "sum += grid[r][c] + (*grid)[r * 5 + c];": GRID,
}
"""Statements that access the same element through a pointer, or may."""
MEMBERS = {
    "s[r].head[c] = 1;": (0, 2, ()),
    "sum += s[r].rows[c][d];": (2, 2, (3,)),
    "sum += cells[r].rows[c][d];": (2, 2, (3,)),
    "cells[r].head[c] += 1;": (0, 2, ()),
}
"""Statements with members of structs of 9 integers: the member's place, and its dimensions."""
STATEMENTS = [*ROWS, *FLAT, *MEMBERS, "sum += cube[r][c][d];"]
Operation = tuple[int, int, int, int]


@cache
def program() -> tuple[Program, Variants, list[int]]:
    """The kernel, and the lines of its statements."""
    text, lines = HEAD, []
    for number, statement in enumerate(STATEMENTS):
        text += f"case {number}:\n"
        lines.append(text.count("\n") + 1 + statement.count("\n"))
        text += f"{statement} break;\n"
    own = next(n for n, row in enumerate(HEAD.split("\n"), 1) if row.endswith("// own"))
    lines[STATEMENTS.index("sum += part<4>(r, c);")] = own
    return compile_here((text + TAIL).encode(), "k.cu"), Variants(), lines


def found(operations: list[Operation]) -> set[tuple[str, int]]:
    """The severities and lines of what the simulator finds out of bounds."""
    compiled, decoded, _ = program()
    data = np.array(operations, np.int32).reshape(-1)
    args = (
        Array("ops", data.shape, "int32", data),
        Array("out", (1,), "int32", None, True),
        Scalar("count", len(operations), "int32"),
    )
    launch = Launch("k", (1, 1, 1), (1, 1, 1), args, shared=48)
    (trace,) = simulate(compiled, [launch], threads=1, decoded=decoded)
    assert {f.kind for f in trace.findings} <= {"invalid-access"}, trace.findings
    return {(f.severity, f.line) for f in trace.findings}


def leaves_part(operation: Operation) -> bool | None:
    """Whether an operation leaves a part of its variable; None if it leaves the variable."""
    what, r, c, d = operation
    statement = STATEMENTS[what]
    if statement in MEMBERS:
        start, count, (*inner,) = MEMBERS[statement]
        size = prod(inner)
        flat = 9 * r + start + c * size + (d if inner else 0)
        last = (d, *inner) if inner else (0, 1)
        return None if not 0 <= flat < 27 else not (0 <= c < count and 0 <= last[0] < last[1])
    if statement.startswith("sum += cube"):
        flat = (r * 2 + c) * 4 + d
        return None if not 0 <= flat < 24 else not (0 <= c < 2 and 0 <= d < 4)
    *row, height, width = ROWS.get(statement) or FLAT[statement]
    r = row[0] if row else r
    c = c & 255 if "[b]" in statement else c
    if not 0 <= r * width + c < height * width:
        return None
    return statement in ROWS and not 0 <= c < width


OPERATIONS = st.tuples(
    st.integers(0, len(STATEMENTS) - 1), st.integers(0, 4), st.integers(-9, 14), st.integers(-4, 7)
).filter(lambda o: leaves_part(o) is not None)


@settings(max_examples=200)
@given(st.lists(OPERATIONS, min_size=1, max_size=12))
def test_findings_are_those_of_a_model(operations: list[Operation]) -> None:
    lines = program()[2]
    expected = {("info", lines[o[0]]) for o in operations if leaves_part(o)}
    assert found(operations) == expected


@pytest.mark.parametrize("what", range(len(STATEMENTS)), ids=STATEMENTS)
def test_each_statement_has_both_outcomes_or_none(what: int) -> None:
    """Of each statement that indexes a part, some access leaves it, and is found."""
    every = [(what, r, c, d) for r in range(3) for c in range(-5, 12) for d in range(-4, 7)]
    leaving = [o for o in every if leaves_part(o)]
    staying = [o for o in every if leaves_part(o) is False]
    assert found(staying) == set()
    assert bool(leaving) == (STATEMENTS[what] not in FLAT)
    if leaving:
        assert found(leaving[:1]) == found(leaving) == {("info", program()[2][what])}


def test_the_initializer_of_an_array_leaves_no_row() -> None:
    assert not trace(WATCH / "invalid" / "local_rows_in_an_initializer_clean.cu").findings
