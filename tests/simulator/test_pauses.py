"""A warp pauses before an instruction while all others run; an access is late behind others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.launch import Array, Finding, Launch
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.late import late_accesses, moved
from grader.simulator.pauses import order_for, strong_accesses, writes_after_reads
from grader.simulator.variants import decode_variants
from tests.trusted import compile_here

SOURCE = b"""\
extern "C" __global__ void checks(volatile int* out) {
    if (out[0] < 100) out[0] = 100 + blockIdx.x;
}
extern "C" __global__ void spins(volatile int* out) {
    if (blockIdx.x == 0) out[0] = 7;
    else while (out[0] != 7) {}
    out[1 + blockIdx.x] = 1;
}
extern "C" __global__ void meets(int* out) {
    if (threadIdx.x == 0) atomicExch(out, 5);
    __syncthreads();
    if (threadIdx.x == 32) atomicAdd(out, 1);
}
extern "C" __global__ void two_stores(volatile int* out) {
    out[0] = 1 + blockIdx.x;
    out[8] = 1 + blockIdx.x;
}
"""
PROGRAM = compile_here(SOURCE, "pauses.cu")


def machine(kernel: str) -> Machine:
    symbol = next(k for k in PROGRAM.kernels if k.name == kernel)
    variants = decode_variants(PROGRAM, symbol, {})
    assert not isinstance(variants, Finding)
    return variants[-1].machine


def launch(kernel: str) -> Launch:
    grid, block = ((1, 1, 1), (64, 1, 1)) if kernel == "meets" else ((3, 1, 1), (1, 1, 1))
    return Launch(kernel, grid, block, (Array("out", (16,), "int32", np.zeros(16, "i4"), True),))


def run(kernel: str, code: Machine, limits: Limits) -> tuple[Raw, list[int]]:
    raw = code.run(launch(kernel), limits, count=False)
    assert raw.ended
    return raw, raw.buffers[0].data.view(np.int32).tolist()


def test_others_write_while_a_warp_pauses() -> None:
    code, limits = machine("checks"), Limits(10_000, 5.0, trace=1 << 8, only_strong=True)
    raw, usual = run("checks", code, limits)
    (write,) = writes_after_reads([strong_accesses(raw, code.image)])
    raw, paused = run("checks", code, Limits(10_000, 5.0, pause=write, trace=64, only_strong=True))
    assert (usual[0], paused[0]) == (100, 100)
    stores = [a for a in strong_accesses(raw, code.image) if a.pc == write]
    assert [a.thread[0] for a in stores] == [1, 0]
    assert [a.value for a in stores] == [0, 101]


@pytest.mark.parametrize("kernel", ["spins", "meets"])
def test_a_pause_ends_where_all_others_wait(kernel: str) -> None:
    code = machine(kernel)
    first = next(k for k, op in enumerate(code.image.ops) if op.startswith(("st.vol", "atom")))
    _, usual = run(kernel, code, Limits(10_000, 5.0))
    _, paused = run(kernel, code, Limits(10_000, 5.0, pause=first))
    assert paused == usual


def test_store_is_late_behind_the_next_one() -> None:
    code = machine("two_stores")
    f = code.module.functions[code.image.functions[0].name]
    (late,) = late_accesses(f, range(len(f.body)))
    other = moved(code, f.name, late)
    assert other is not None
    assert run("two_stores", code, Limits(10_000, 5.0, pause=late.passed))[1][::8] == [3, 1]
    assert run("two_stores", other, Limits(10_000, 5.0, pause=late.pause))[1][::8] == [1, 3]


def test_order_begins_with_the_first_thread_of_an_instruction() -> None:
    code = machine("spins")
    limits = Limits(10_000, 5.0, trace=1 << 8, only_strong=True)
    raw, _ = run("spins", code, limits)
    every = strong_accesses(raw, code.image)
    last = next(a for a in every if a.thread != every[0].thread)
    assert order_for([every], every[0].pc, launch("spins")) == 0
    order = order_for([every], last.pc, launch("spins"))
    raw, _ = run("spins", code, replace(limits, schedule=order, whole_turns=True))
    assert strong_accesses(raw, code.image)[0].thread == last.thread
