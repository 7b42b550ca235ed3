"""Hints that depend on the launch: dynamic shared memory, block sizes, signed parameters, loops.

Each case has a counterpart without the mistake, for which the hint must not appear.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from grader.checks.causes import Explanation, with_tried_hints
from grader.compile.program import Parameter, Program
from grader.launch import Array, Dim3, Finding, Launch, Scalar
from grader.simulator.diagnose.kernel_code import signed_parameter_hint, tile_size_hint
from grader.simulator.diagnose.races import extent_of
from grader.simulator.simulate import simulate
from tests.simulator.test_watch import WATCH, trace
from tests.trusted import compile_here

HEAD = 'extern "C" __global__ void k(const float* a, float* out, int n) {\n'
EXTERN = (
    HEAD + "  __shared__ float fixed[64];\n  extern __shared__ float given[];\n"
    "  int t = threadIdx.x;\n  fixed[t] = 0.0f; given[t] = a[t];\n  __syncthreads();\n"
    "  out[t] = given[63 - t] + fixed[t];\n}\n"
)
PAST = HEAD + "  int t = threadIdx.x;\n  out[t] = a[t + 1];\n}\n"
LOOP = (
    HEAD + "  int t = threadIdx.x;\n  float s = 0;\n"
    "  for (int i = 0; i <= n; ++i) s += a[i];\n  out[t] = s;\n}\n"
)
CALLED = (
    "__device__ __noinline__ float at(const float* a, int i) { return a[i]; }\n"
    + LOOP.replace("a[i]", "at(a, i)")
)
CALLED_ONCE = (
    "__device__ __noinline__ float at(const float* a, int i) { return a[i]; }\n"
    + PAST.replace("a[t + 1]", "at(a, t) + at(a, t + 1)")
)
BESIDE_A_LOOP = LOOP.replace("i <= n", "i < n").replace("out[t] = s", "out[t] = s + a[t + 1]")
ROWS = (
    HEAD + "  int row = threadIdx.x / 8, column = threadIdx.x % 8;\n"
    "  out[row * n + column] = a[threadIdx.x];\n}\n"
)
GUARDED = ROWS.replace("  out[", "  if (column < n && row * n + column < 64) out[")
ONE_PLACE = ROWS.replace("row * n + column", "threadIdx.x / 2")
MEMBERS = (
    "struct Sum { float a, b; };\n" + HEAD + "  Sum u;\n  u.a = a[threadIdx.x];\n"
    "  out[threadIdx.x] = u.a + u.b;\n}\n"
)
GUARD, LOOPS = "guard the store", "bounds of the loop"


@dataclass(frozen=True)
class Case:
    """A kernel with its launch.

    Attributes:
        kind: the kind of its findings; empty for a clean kernel.
        text: a text of these findings.
        absent: whether that text must not appear.
    """

    source: str
    kind: str
    text: str
    n: int = 64
    absent: bool = False
    shared: int = 0
    block: Dim3 = (64, 1, 1)


QUADS = HEAD + (
    "  float b[12];\n  for (int i = 0; i < 12; ++i) b[i] = a[i];\n"
    "  *(float4*)&b[n % 4] = make_float4(1, 2, 3, 4);\n  out[threadIdx.x] = b[n % 8];\n}\n"
)
PASSED_BY = HEAD + (
    "  for (int i = 0; i < n; ++i) {\n    if (threadIdx.x >= 32) break;\n    __syncthreads();\n"
    "  }\n  out[threadIdx.x] = a[threadIdx.x];\n}\n"
)
RULES = {
    "misaligned": (QUADS, 61, "a multiple of 16. `__align__(16)`"),
    "passed-by": (PASSED_BY, 8, "Every thread that the barrier waits for must reach it"),
}

CASES = {
    "member-without-a-value": Case(MEMBERS, "uninitialized-read", "declare it as `Sum u = {};`"),
    "member-of-no-named-type": Case(
        MEMBERS.replace("  Sum u", "  struct { float a, b; } u"),
        "uninitialized-read",
        "declare it as `struct { float a, b; } u = {};`",
    ),
    "member-that-the-constructor-leaves-out": Case(
        MEMBERS.replace("b; }", "b; __device__ Sum() {} }"),
        "uninitialized-read",
        "Set it in the constructor of `Sum`.",
    ),
    "member-with-a-value": Case(MEMBERS.replace("Sum u", "Sum u = {}"), "", ""),
    "extern-without-bytes": Case(
        EXTERN, "invalid-access", "`given` is `extern`, and this launch provides 0 bytes"
    ),
    "extern-without-bytes-is-not-its-neighbour": Case(
        EXTERN, "invalid-access", "`fixed`", absent=True
    ),
    "extern-with-too-few": Case(
        EXTERN,
        "invalid-access",
        "32 elements of 4 bytes, all that this launch provides",
        shared=128,
    ),
    "extern-with-enough": Case(EXTERN, "", "", shared=256),
    "in-a-loop": Case(LOOP.replace("<= n", "< n + 2"), "invalid-access", LOOPS),
    "one-round-too-many": Case(LOOP, "invalid-access", "Write `<` instead of `<=` there"),
    "in-a-function-called-in-a-loop": Case(CALLED, "invalid-access", LOOPS),
    "in-no-loop": Case(PAST, "invalid-access", LOOPS, absent=True),
    "in-a-function-called-twice": Case(CALLED_ONCE, "invalid-access", LOOPS, absent=True),
    "beside-a-loop": Case(BESIDE_A_LOOP, "invalid-access", LOOPS, absent=True),
    "stores-past-the-row-and-the-end": Case(ROWS, "race", GUARD, n=7, block=(96, 1, 1)),
    "two-threads-store-one-element": Case(ONE_PLACE, "race", GUARD, absent=True),
    "guarded": Case(GUARDED, "", "", n=7),
}


@cache
def compiled(source: str) -> Program:
    return compile_here(source.encode(), "k.cu")


def findings(case: Case) -> tuple[Finding, ...]:
    a = np.ones(case.block[0] if case.source == ROWS else 64, np.float32)
    arrays = (Array("a", a.shape, "float32", a), Array("out", (64,), "float32", a[:64], True))
    launch = Launch(
        "k", (1, 1, 1), case.block, (*arrays, Scalar("n", case.n, "int32")), case.shared
    )
    return simulate(compiled(case.source), [launch])[0].findings


@pytest.mark.parametrize("name", CASES)
def test_finding_has_its_hint(name: str) -> None:
    case = CASES[name]
    found = [f for f in findings(case) if f.kind == case.kind]
    assert bool(found) == bool(case.kind), found
    texts = [f"{f.message}; {f.hint}" for f in found]
    assert not case.kind or any(case.text in text for text in texts) != case.absent, texts


@pytest.mark.parametrize("name", RULES)
def test_the_rule_stays_where_no_edit_was_confirmed(name: str) -> None:
    source, n, rule = RULES[name]
    found = findings(Case(source, "", "", n=n))
    shown = with_tried_hints(found, Explanation(trials=1))
    assert any(rule in f.hint for f in shown) and not any("Move" in f.hint for f in shown), shown


def test_clean_kernels_have_no_errors() -> None:
    clean = [findings(case) for case in CASES.values() if not case.kind]
    assert clean and not any(f.severity == "error" for found in clean for f in found)


@pytest.mark.parametrize(
    ("dims", "block", "odd"),
    [
        ((8, 8), (16, 16, 1), "fewer"),
        ((32, 32), (16, 16, 1), "or let each thread fill several"),
        ((16, 16), (16, 16, 1), ""),
        ((16, 17), (16, 16, 1), ""),  # padded
        ((18, 18), (16, 16, 1), ""),  # with a halo
        ((18, 34), (32, 16, 1), ""),
        ((8, 32), (32, 16, 1), ""),  # half the rows at a time
        ((16, 32), (16, 16, 1), ""),
        ((8,), (16, 16, 1), ""),
        ((8, 8), (256, 1, 1), ""),
        ((2, 8, 8), (16, 16, 1), ""),  # two tiles in turn
    ],
)
def test_tile_size_hint(dims: tuple[int, ...], block: Dim3, odd: str) -> None:
    hint = tile_size_hint("As", dims, block)
    assert bool(hint) == bool(odd)
    assert ("fill several" in hint) == ("fill several" in odd)
    if hint:
        assert " x ".join(map(str, dims)) in hint and "16 x 16 threads" in hint


@pytest.mark.parametrize(
    ("type_", "dtype", "largest", "reported"),
    [
        ("const char*", "uint8", 200, True),
        ("signed char *", "uint8", 128, True),
        ("const int8_t*", "uint8", 255, True),
        ("short*", "uint16", 40_000, True),
        ("const char*", "uint8", 127, False),
        ("const char*", "int8", 100, False),
        ("const unsigned char*", "uint8", 200, False),
        ("const uint8_t*", "uint8", 200, False),
        ("const int*", "int32", 200, False),
    ],
)
def test_signed_parameter_hint(type_: str, dtype: str, largest: int, reported: bool) -> None:
    data = np.array([1, largest], dtype)
    launch = Launch("k", (1, 1, 1), (1, 1, 1), (Array("data", (2,), dtype, data),))
    hint = signed_parameter_hint([Parameter(type_, "data", 8)], launch)
    assert bool(hint) == reported
    assert not hint or ("`data`" in hint and "signed" in hint and type_ in hint)


ALONE = {
    "invalid/local_before_the_first": "read of 4 bytes at `a[-1]`, 4 bytes before local `a`",
    "invalid/local_unsigned_index": "read of 4 bytes at `a[4294967295]`",
    "invalid/shared_unsigned_index": "The index is -1 in an unsigned type",
    "invalid/constant_written": "write to `table` (32 elements of 4 bytes), which is constant",
    "matrix/rows_too_far_apart": "Check the pointer and the leading dimension (ldm)",
    "invalid/reduction_of_a_smaller_block": "Pass the number of threads of the block,",
    "unset_copies/sums_of_segments": "Give what each thread passes a value, such as 0,",
    "uninitialized/member_of_a_particle": "read of shared `p[29].alive`",
    "invalid/constant_past_end": "at `w[5]`, 4 bytes past the end of constant `w` (5 elements",
    "uninitialized/padding_hashed": "the padding behind `p.c` is used",
    "uninitialized/shuffled_by_name": "Give the variable that is passed to `__shfl_xor_sync`",
    "uninitialized/result_of_a_lambda": "on every path through the lambda, and assign to what it",
}


@pytest.mark.parametrize("name", ALONE)
def test_a_mistake_has_one_finding(name: str) -> None:
    found = [f for f in trace(WATCH / f"{name}.cu").findings if f.severity != "info"]
    assert len(found) == 1 and ALONE[name] in f"{found[0].message}; {found[0].hint}", found


FIRST = {
    "transactions/bulk_copy_from_odd_address": "misaligned read of 16 bytes in global `in`",
    "transactions/bulk_copy_of_odd_size": "a bulk copy of 260 bytes to shared `s`",
    "uninitialized/pointer_from_malloc": "which belongs to no buffer",
}


@pytest.mark.parametrize("name", FIRST)
def test_an_invalid_access_says_which_and_why(name: str) -> None:
    found = [f for f in trace(WATCH / f"{name}.cu").findings if f.kind == "invalid-access"]
    assert len(found) == 1 and FIRST[name] in found[0].message, found


COUNTED = {"mask_without_twelve_lanes": 12, "mask_of_the_other_half": 16}


@pytest.mark.parametrize("name", COUNTED)
def test_lanes_outside_their_mask_are_counted(name: str) -> None:
    found = [f for f in trace(WATCH / "barrier" / f"{name}.cu").findings if f.severity == "error"]
    assert [f.count for f in found] == [COUNTED[name]]


def test_arrivals_are_no_threads() -> None:
    found = trace(WATCH / "barrier" / "named_arrivals_again.cu").findings
    assert any("128 arrivals at a barrier that counts 64" in f.message for f in found)


def test_extents_have_the_number_of_their_nouns() -> None:
    assert extent_of((1,), 1) == "1 element of 1 byte"
    assert extent_of((18, 10), 4) == "18 x 10 elements of 4 bytes"
