"""What the launch tells of a mistake: its dynamic bytes, its block beside a tile, its dtypes beside
a signed parameter, the loop that an access is in. Each beside a twin of which it must not be said.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from grader.compile.program import Parameter, Program
from grader.compile.source import compile_source
from grader.launch import Array, Dim3, Finding, Launch, Scalar
from grader.simulator.diagnose.messages import beside_the_block, negative_elements
from grader.simulator.simulate import simulate

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
GUARD, LOOPS = "store (a guard)", "bounds of the loop"


@dataclass(frozen=True)
class Said:
    """A kernel, its launch, the kind that it draws (none: it is clean), and a text that is said of
    it or, `unsaid`, that is not.
    """

    source: str
    kind: str
    text: str
    n: int = 64
    unsaid: bool = False
    shared: int = 0
    block: Dim3 = (64, 1, 1)


SAID = {
    "extern-without-bytes": Said(
        EXTERN, "invalid-access", "`given` is `extern`, and this launch gives no dynamic shared"
    ),
    "extern-without-bytes-is-not-its-neighbour": Said(
        EXTERN, "invalid-access", "`fixed`", unsaid=True
    ),
    "extern-with-too-few": Said(
        EXTERN, "invalid-access", "32 elements of 4 bytes, all that this launch gives", shared=128
    ),
    "extern-with-enough": Said(EXTERN, "", "", shared=256),
    "in-a-loop": Said(LOOP, "invalid-access", LOOPS),
    "in-what-a-loop-calls": Said(CALLED, "invalid-access", LOOPS),
    "in-no-loop": Said(PAST, "invalid-access", LOOPS, unsaid=True),
    "in-what-is-called-twice": Said(CALLED_ONCE, "invalid-access", LOOPS, unsaid=True),
    "beside-a-loop": Said(BESIDE_A_LOOP, "invalid-access", LOOPS, unsaid=True),
    "stores-beyond-the-row-and-the-end": Said(ROWS, "race", GUARD, n=7, block=(96, 1, 1)),
    "two-threads-store-one-element": Said(ONE_PLACE, "race", GUARD, unsaid=True),
    "guarded": Said(GUARDED, "", "", n=7),
}


@cache
def compiled(source: str) -> Program:
    return compile_source(source.encode(), "k.cu")


def findings(said: Said) -> tuple[Finding, ...]:
    a = np.ones(said.block[0] if said.source == ROWS else 64, np.float32)
    arrays = (Array("a", a.shape, "float32", a), Array("out", (64,), "float32", a[:64], True))
    launch = Launch(
        "k", (1, 1, 1), said.block, (*arrays, Scalar("n", said.n, "int32")), said.shared
    )
    return simulate(compiled(said.source), [launch])[0].findings


@pytest.mark.parametrize("name", SAID)
def test_what_a_finding_says(name: str) -> None:
    said = SAID[name]
    found = [f for f in findings(said) if f.kind == said.kind]
    assert bool(found) == bool(said.kind), found
    texts = [f"{f.message}; {f.hint}" for f in found]
    assert not said.kind or any(said.text in text for text in texts) != said.unsaid, texts


def test_a_clean_kernel_is_told_nothing() -> None:
    clean = [findings(said) for said in SAID.values() if not said.kind]
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
def test_a_tile_beside_its_block(dims: tuple[int, ...], block: Dim3, odd: str) -> None:
    said = beside_the_block("As", dims, block)
    assert bool(said) == bool(odd)
    assert ("fill several" in said) == ("fill several" in odd)
    if said:
        assert " x ".join(map(str, dims)) in said and "16 x 16 threads" in said


@pytest.mark.parametrize(
    ("type_", "dtype", "largest", "told"),
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
def test_a_signed_parameter_for_unsigned_elements(
    type_: str, dtype: str, largest: int, told: bool
) -> None:
    data = np.array([1, largest], dtype)
    launch = Launch("k", (1, 1, 1), (1, 1, 1), (Array("data", (2,), dtype, data),))
    said = negative_elements([Parameter(type_, "data", 8)], launch)
    assert bool(said) == told
    assert not said or ("`data`" in said and "signed" in said and type_ in said)
