"""A member that was never set is found where it is read; padding is not, nor what nobody reads.

A kernel sets random members of a struct, at least one, and stores it whole; then another thread, or
its own, reads one member of a copy. A model in Python knows which have a value.
"""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from grader.compile.program import Program
from grader.launch import Array, Launch, Scalar
from grader.simulator.simulate import simulate
from grader.simulator.variants import Variants
from tests.trusted import compile_here

PARTS = ("tag", "half", "a", "f", "d", "body[0]", "body[1]", "u.h[0]", "u.h[1]", "p.x", "p.y", "n")
"""What is set, or not: bit k of a mask."""
MASKS = st.integers(1, 2 ** len(PARTS) - 1)
READ = {part: {k} for k, part in enumerate(PARTS)} | {"u.w": {7, 8}}
"""What is read, and the parts that must have been set."""
OBJECTS = ("s", "copy", "t[1 - me]", "kept[me]", "t[1 - me]", "got")
"""Where it is read: its own variable, a copy, shared and global memory, what a function stored
there, and a function's result."""

SOURCE = """
union Word { int w; short h[2]; };
struct Point { float x, y; };
struct S { char tag; short half; int a; float f; double d; int body[2]; Word u; Point p; char n; };
__device__ S kept[2];
__device__ __noinline__ void put(S *to, S s) { *to = s; }
__device__ __noinline__ S filled(int set) {
    S s;
    FILL
    return s;
}
extern "C" __global__ void k(S *out, double *y, int set, int what) {
    __shared__ S t[2];
    int me = threadIdx.x;
    S s;
    FILL
    S copy = s;
    if (what < 0) { out[me] = s; return; }
    t[me] = copy;
    kept[me] = s;
    __syncthreads();
    if (what >= 400) { put(&t[me], s); __syncthreads(); }
    S got = what >= 500 ? filled(set) : S{};
    switch (what) {
"""


@cache
def program() -> tuple[Program, Variants, dict[int, int]]:
    """The kernel, and the line that reads by the number of the form and the part."""
    fill = " ".join(f"if (set & {1 << k}) s.{part} = {k + 1};" for k, part in enumerate(PARTS))
    text, lines = SOURCE.replace("FILL", fill), dict[int, int]()
    for form, name in enumerate(OBJECTS):
        for number, part in enumerate(READ):
            lines[100 * form + number] = text.count("\n") + 1
            text += f"    case {100 * form + number}: y[me] = {name}.{part}; break;\n"
    return compile_here((text + "    }\n}\n").encode(), "k.cu"), Variants(), lines


def run(set_: int, what: int) -> tuple[set[int], list[bool]]:
    """The lines of uninitialized reads, and which bytes of a stored struct have no value."""
    compiled, decoded, _ = program()
    args = (
        Array("out", (96,), "uint8", None, True),
        Array("y", (2,), "float64", None, True),
        Scalar("set", set_, "int32"),
        Scalar("what", what, "int32"),
    )
    (trace,) = simulate(compiled, [Launch("k", (1, 1, 1), (2, 1, 1), args)], decoded=decoded)
    assert {f.kind for f in trace.findings} <= {"uninitialized-read"}, trace.findings
    return {f.line for f in trace.findings}, trace.unwritten[0].tolist()


@settings(max_examples=150)
@given(MASKS, st.integers(0, len(OBJECTS) - 1), st.sampled_from(sorted(READ)))
def test_findings_are_those_of_a_model(set_: int, form: int, part: str) -> None:
    what = 100 * form + [*READ].index(part)
    lacking = any(not set_ >> k & 1 for k in READ[part])
    lines, _ = run(set_, what)
    assert lines == ({program()[2][what]} if lacking else set())


PLACES = {"tag": (0, 1), "half": (2, 4), "a": (4, 8), "f": (8, 12), "d": (16, 24),
          "body[0]": (24, 28), "body[1]": (28, 32), "u.h[0]": (32, 34), "u.h[1]": (34, 36),
          "p.x": (36, 40), "p.y": (40, 44), "n": (44, 45)}  # fmt: skip


@settings(max_examples=50)
@given(MASKS)
def test_members_that_the_host_reads_without_a_value_are_known(set_: int) -> None:
    lines, unwritten = run(set_, -1)
    assert lines == set()
    for k, (first, end) in enumerate(PLACES[part] for part in PARTS):
        if set_ >> k & 1:
            assert not any(unwritten[first:end]), PARTS[k]
        else:
            assert all(unwritten[first:end]), PARTS[k]
