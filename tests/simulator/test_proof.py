"""Traces are the same whether blocks are proven alike or each is watched in full."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from grader.compile.program import Program
from grader.launch import Array, Launch, Scalar
from grader.simulator.core import run as core_run
from grader.simulator.core.bindings import Core, core
from grader.simulator.core.run import Limits, Machine
from grader.simulator.decode.module import decode
from grader.simulator.decode.proof import prove
from grader.simulator.ptx.parser import parse
from grader.simulator.simulate import simulate
from tests.command import ROOT
from tests.simulator.proof import differences, generated, launches_in, proven, whole
from tests.trusted import compile_here, compiled_here

TEMPLATE = """\
extern "C" __global__ void {name}(float *a, const int *which, float *out, int n, int shift) {{
    __shared__ float tile[64];
    int t = threadIdx.x, bx = blockIdx.x, by = blockIdx.y, g = (by * gridDim.x + bx) * 64 + t;
    {store}tile[{place}] = a[g];
    {barrier}
    {start}
    for (int k = 0; k < {count}; ++k) x += tile[(t + k) % 64];
    {guard} out[{element}] = x;
}}
"""
USUAL = {
    "store": "",
    "place": "t",
    "barrier": "__syncthreads();",
    "start": "float x = 0;",
    "count": "8",
    "guard": "",
    "element": "g",
}
GRID = (7, 5, 1)
"""Of its 35 blocks, those at x of 0, 3 and 6 and y of 0, 2 and 4 are the representatives."""

PLACES = {"t": True, "(t + shift) % 64": True, "(t + bx) % 64": False, "(t + which[0]) % 64": False}
COUNTS = {"8": True, "n % 16": True, "bx / 3 + 1": True, "which[t] % 4": False}
GUARDS = {"": True, "if (g < n)": True, "if (x > 0)": False}
"""Parts of a kernel, and whether a proof allows them."""

SHAPES = [
    *((p, "8", "") for p in PLACES),
    *(("t", c, "if (g < n)") for c in COUNTS),
    *(("(t + shift) % 64", "bx / 3 + 1", g) for g in GUARDS),
]
EITHER = {"start": "float *p = shift < 9 ? tile : a; float x = p[(t + bx) & 63];"}
"""An address that differs by block, in shared memory or in global memory."""

PARTLY = {
    "start": "__shared__ int2 pairs[64]; int u; if (n < 0) u = 3;"
    'asm volatile("st.v2.u32 [%0], {%1, %2};" :: "l"(pairs + t), "r"(t), "r"(u) : "memory");'
    "__syncthreads(); float x = pairs[t ^ 1].x;"
}
"""A store of values of which some are undefined."""

FAULTS: dict[str, tuple[dict[str, str], str]] = {
    "race in one block": ({"barrier": "if (bx != 5 || by != 1) __syncthreads();"}, "race"),
    "race in the last block": ({"barrier": "if (bx + by < 10) __syncthreads();"}, "race"),
    "divergence in one block": (
        {"barrier": "if (bx != 1 || by != 3 || t < 32) __syncthreads();"},
        "barrier-divergence",
    ),
    "early exit in one block": (
        {"barrier": "if (bx == 2 && by == 2 && t == 9) return; __syncthreads();"},
        "barrier-divergence",
    ),
    "store out of bounds in the last block": (
        {"element": "bx + by == 10 && t == 3 ? 1 << 20 : g"},
        "invalid-access",
    ),
    "store out of bounds in one block": (
        {"element": "bx == 5 && by == 3 && t == 3 ? 1 << 20 : g"},
        "invalid-access",
    ),
    "tile element without a value in one block": (
        {"store": "if (bx != 2 || by != 2 || t != 5) "},
        "uninitialized-read",
    ),
    "variable without a value in one block": (
        {"start": "float x; if (bx != 4 || by != 3) x = 0;"},
        "uninitialized-read",
    ),
    "output read before it has a value in one block": (
        {"start": "float x = bx == 4 && by == 3 ? out[g] : 0;"},
        "uninitialized-read",
    ),
    "two blocks write one element": ({"element": "bx == 1 && by == 3 ? g - 64 : g"}, "race"),
    "one block writes the others' input": (
        {"start": "float x = 0; if (bx == 4 && by == 1) a[g - 64] = 1;"},
        "race",
    ),
    "one thread writes another block's input": (
        {"start": "float x = 0; if (bx == 4 && by == 1 && t == 7) a[g - 64] = 1;"},
        "race",
    ),
    "shared address out of bounds in one block": (
        {"store": "if (bx == 5 && by == 1 && t == 0) tile[1 << 16] = 0; "},
        "invalid-access",
    ),
    "endless loop in one block": ({"count": "(bx == 5 && by == 3 ? 1 << 30 : 8)"}, "timeout"),
}


@cache
def program() -> Program:
    """A kernel of each shape, and one with each fault."""
    kernels = [
        USUAL | {"place": p, "count": c, "guard": g, "name": f"shape{k}"}
        for k, (p, c, g) in enumerate(SHAPES)
    ]
    kernels += [USUAL | EITHER | {"name": "either"}, USUAL | PARTLY | {"name": "partly"}]
    kernels += [
        USUAL | parts | {"name": f"fault{k}"} for k, (parts, _) in enumerate(FAULTS.values())
    ]
    return compile_here("".join(TEMPLATE.format(**k) for k in kernels).encode(), "k.cu")


def launch(name: str, n: int = 2000, shift: int = 5) -> Launch:
    rng = np.random.default_rng(0)
    a = rng.uniform(-1, 1, 35 * 64).astype(np.float32)
    args = (
        Array("a", (35 * 64,), "float32", a),
        Array("which", (64,), "int32", rng.integers(0, 64, 64).astype(np.int32)),
        Array("out", (35 * 64,), "float32", None, True),
        Scalar("n", n, "int32"),
        Scalar("shift", shift, "int32"),
    )
    return Launch(name, GRID, (64, 1, 1), args)


def machine(name: str, *, debug: bool) -> Machine:
    module = parse(program().debug_ptx if debug else program().ptx)
    return Machine(module, decode(module, name, core().known, definedness=debug))


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_only_what_all_blocks_do_alike_is_proven(number: int) -> None:
    place, count, guard = SHAPES[number]
    allowed = PLACES[place] and COUNTS[count] and GUARDS[guard]
    for debug in (False, True):
        made = machine(f"shape{number}", debug=debug)
        assert (prove(made.module, made.image) is not None) == allowed, debug


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_shape_has_the_same_trace(number: int) -> None:
    counts = Counter[str]()
    launches = [launch(f"shape{number}"), launch(f"shape{number}", 37, 70)]
    assert not [*differences(program(), launches, counts)]
    place, count, guard = SHAPES[number]
    if PLACES[place] and COUNTS[count] and GUARDS[guard]:
        assert counts["proven"]
    else:
        assert counts["no proof"] and not counts["proven"]


@pytest.mark.parametrize("name", FAULTS)
def test_fault_of_a_single_block_is_found(name: str) -> None:
    number = list(FAULTS).index(name)
    asked, kind = launch(f"fault{number}"), FAULTS[name][1]
    for threads in (1, 2):
        counts = Counter[str]()
        assert not [*differences(program(), [asked], counts, threads=threads, steps=50_000)]
        with proven(27, counts):
            (trace,) = simulate(program(), [asked], threads=threads, steps=50_000)
        assert kind in {f.kind for f in trace.findings}
        assert counts["given up"]


@pytest.mark.parametrize(("shift", "end"), [(5, "given up"), (10, "proven")])
def test_address_that_differs_by_block_is_in_global_memory(shift: int, end: str) -> None:
    counts = Counter[str]()
    assert not [*differences(program(), [launch("either", shift=shift)], counts)]
    other = ({"given up", "proven"} - {end}).pop()
    assert counts[end] and not counts[other]


def test_store_of_an_undefined_value_is_not_proven() -> None:
    """What it leaves undefined in global memory another block may read."""
    counts = Counter[str]()
    assert not [*differences(program(), [launch("partly")], counts)]
    assert counts["given up"] == counts["proven"] == 3  # of the debug pass, of the optimized one


def test_most_blocks_are_not_watched_in_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that watched all blocks, or called a proof a failure, would pass the other tests."""
    monkeypatch.setattr(core_run, "LEAST_PROVEN", 0)
    made = machine("shape0", debug=False)
    proof = made.proof
    assert proof is not None
    loads = np.isin(proof.reduced_insns["space"], [2])
    proof.reduced_insns["imm"][loads] += 4  # other blocks access the next element
    raws = [made._attempt(launch("shape0"), Limits(), True, None, ordered=False, proof=p)
            for p in (None, proof)]  # fmt: skip
    usual, reduced = raws
    assert usual is not None and reduced is not None
    assert usual.counters is not None and reduced.counters is not None
    assert usual.counters.tobytes() == reduced.counters.tobytes()
    assert usual.buffers[2].data.tobytes() != reduced.buffers[2].data.tobytes()


def test_other_code_of_a_machine_has_no_proof() -> None:
    made = machine("shape0", debug=False)
    assert made.proof is not None
    assert made.with_code(made.arrays.insns, made.arrays.blocks).proof is None


def test_generated_kernels_have_the_same_traces() -> None:
    """`python -m tests.simulator.proof --generated SEED...` runs more."""
    counts = Counter[str]()
    assert not [*generated(0, 10, counts)]
    assert counts["proven by 27"] and counts["given up"]


KERNELS = (
    "tests/counters/block_3d.cu",
    "tests/counters/convolution_constant.cu",
    "tests/counters/dynamic_shared.cu",
    "tests/counters/predicated_off.cu",
    "tests/counters/reduction_interleaved.cu",
    "tests/counters/shared_float4.cu",
    "tests/counters/tiled_matmul_8.cu",
    "tests/counters/transpose_unpadded.cu",
)


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_has_the_same_trace(name: str) -> None:
    """`python -m tests.simulator.proof` compares all kernels."""
    counts, path = Counter[str](), ROOT / name
    assert not [*differences(compiled_here(path), launches_in(path), counts)]
    assert counts["proven"]


SHIFTED = """\
extern "C" __global__ void shifted(float *in, float *out, int *blocks, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[(i + 1) % n];
    {order}
    {store}
    out[i] = x;
}}
"""
ORDERS = ("", "atomicAdd(blocks, 1);")
STORES = {"": 0, "in[i] = x;": 1, "if (i == n - 1) in[i] = x;": 1, "if (n < 0) in[i] = x;": 0}
"""Stores to an array that is not read back, and whether one makes a run void."""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("store", STORES)
def test_array_that_is_presumed_to_be_input_has_the_same_findings(
    order: str, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, runs = 96, [0]
    program = compile_here(SHIFTED.format(order=order, store=store).encode(), "shifted.cu")
    numbers = np.arange(n, dtype=np.float32)
    arrays = Array("in", (n,), "float32", numbers), Array("out", (n,), "float32", read_back=True)
    counted = Array("blocks", (1,), "int32", np.zeros(1, np.int32), read_back=True)
    launch = Launch("shifted", (3, 1, 1), (32, 1, 1), (*arrays, counted, Scalar("n", n, "int32")))
    attempt = Core.run

    def count(self: Core, terms: Any) -> int:
        runs[0] += 1
        return attempt(self, terms)

    monkeypatch.setattr(Core, "run", count)
    (trace,) = simulate(program, [launch])
    presumed, runs[0] = runs[0], 0
    monkeypatch.setattr(Machine, "_is_input", lambda *_: False)
    (watched,) = simulate(program, [launch])
    assert whole(trace) == whole(watched)
    assert any(f.kind == "race" for f in trace.findings) == bool(STORES[store])
    assert (presumed > runs[0]) == bool(STORES[store])
