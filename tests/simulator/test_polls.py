"""Loops that wait for others: one that nobody ends is a deadlock, no other is; looks are few."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.launch import Array, Launch
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.simulate import simulate
from tests.fuzz.corpus import read
from tests.simulator.test_endless import compiled, timeouts
from tests.trusted import compiled_here

ENDLESS = [
    path
    for path in sorted((Path(__file__).parents[1] / "watch/timeout").glob("polls_*.cu"))
    if not path.stem.endswith("_clean")
]


@pytest.mark.parametrize("path", ENDLESS, ids=lambda path: path.stem)
def test_a_poll_that_no_block_can_end_is_a_deadlock(path: Path) -> None:
    launch = read(path.read_text()).launch()
    (trace,) = simulate(compiled_here(path), [launch], steps=4_000_000)
    assert ["deadlock" in finding.message for finding in timeouts(trace)] == [True]


KERNEL = """
extern "C" __global__ void k(int *out)
{{
    __shared__ int go;
    int t = threadIdx.x, n = 0;
    if (t == 0) go = 0;
    __syncthreads();
    {}
    out[t] = n;
}}
"""
SLOWLY = (
    "unsigned x = 1; for (int i = 0; i < 300000; ++i) x = x * 5 + i; atomicExch(out + 64, x | 1);"
)
ENDING = {
    "a slow block": (
        f"if (blockIdx.x == 1) {{ if (t == 0) {{ {SLOWLY} }} return; }} "
        "while (!__syncthreads_or(t == 0 && atomicAdd(out + 64, 0))) ; n = 7;",
        7,
    ),
    "a slow warp": (
        f"if (t >= 64) {{ if (t == 64) {{ {SLOWLY} }} return; }} int seen; do {{ "
        "if (t == 0) go = atomicAdd(out + 64, 0); "
        'asm volatile("bar.sync 1, 64;" ::: "memory"); seen = *(volatile int *)&go; '
        'asm volatile("bar.sync 1, 64;" ::: "memory"); } while (!seen); n = 7;',
        7,
    ),
    "periods": (
        "int p = t < 32 ? 61 : 53, at = 0; "
        "do { at = (at + 1) % p; n += atomicAdd(out + 65, 0) == 0; } "
        "while (!__syncthreads_and(at == 0));",
        61 * 53,
    ),
    "periods in shared memory": (
        "volatile int *v = &go; int at = 0; do { at = (at + 1) % 61; ++n; "
        "if (t == 0) *v = (*v + 1 + atomicAdd(out + 65, 0)) % 53; __syncthreads(); } "
        "while (!__syncthreads_and(at == 0 && *v == 0));",
        61 * 53,
    ),
}
"""Bodies whose loops end, late or in a round that both of two periods divide; what they give."""


@pytest.mark.parametrize("name", ENDING)
def test_a_poll_that_ends_late_is_no_deadlock(name: str) -> None:
    body, result = ENDING[name]
    out = Array("out", (66,), "int32", np.zeros(66, np.int32), read_back=True)
    launch = Launch("k", (1 + (name == "a slow block"), 1, 1), (96, 1, 1), (out,))
    (trace,) = simulate(compiled(KERNEL.format(body)), [launch])
    assert timeouts(trace) == []
    assert trace.ended, trace.findings
    assert set(trace.outputs[0][:64].tolist()) == {result}


TAKEN = {
    "tickets": "unsigned mine = atomicAdd(&a[0], 1); while (atomicAdd(&a[1], 0) != mine) {{}} {} "
    "atomicAdd(&a[1], 1);",
    "turns": "while (*v != me) {{}} {} *v = me + 1;",
    "flags": "if (me) while (v[me - 1] == 0) {{}} {} v[me] = 1;",
    "flags from warp to warp": "me = me / 64 * 64 + me % 2 * 32 + me % 64 / 2; "
    "if (me) while (v[me - 1] == 0) {{}} {} v[me] = 1;",
    "a spin lock": "while (atomicExch(a, 1)) {{}} {} atomicExch(a, 0);",
}
"""How the threads of a launch go through {} one at a time."""

PATIENT = 7
"""The order whose waits for a limited time give up; it may reach its limit of steps."""

SECTION = "__threadfence(); *count += 1; __threadfence();"


@pytest.mark.parametrize("name", TAKEN)
def test_each_look_of_threads_that_wait_in_turn_costs_little(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, runs = Machine.run, dict[int, Raw]()

    def noted(machine: Machine, launch: Launch, limits: Limits, count: bool) -> Raw:
        raw = run(machine, launch, limits, count)
        runs.setdefault(limits.schedule, raw)
        return raw

    monkeypatch.setattr(Machine, "run", noted)
    source = (
        'extern "C" __global__ void k(unsigned *a, int *count) { volatile unsigned *v = a; '
        f"unsigned me = blockIdx.x * blockDim.x + threadIdx.x; {TAKEN[name].format(SECTION)} }}"
    )
    a = Array("a", (128,), "uint32", np.zeros(128, np.uint32), read_back=True)
    count = Array("count", (1,), "int32", np.zeros(1, np.int32), read_back=True)
    (trace,) = simulate(compiled(source), [Launch("k", (2, 1, 1), (64, 1, 1), (a, count))])
    assert trace.ended and trace.findings == ()
    assert trace.outputs[1].tolist() == [128]
    assert runs[0].steps < 500 * 128
    others = {schedule: raw.ended for schedule, raw in runs.items() if schedule}
    assert len(others) > 2
    assert all(ended for schedule, ended in others.items() if schedule != PATIENT)


BYTE_LOCK = """
#include <cuda/atomic>
__device__ unsigned char lock;
extern "C" __global__ void k(int *count)
{
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device> held(lock);
    while (held.exchange(1, cuda::memory_order_acquire)) {}
    *count += 1;
    held.store(0, cuda::memory_order_release);
}
"""


def test_threads_sleep_that_wait_for_a_byte_at_the_end_of_its_buffer() -> None:
    count = Array("count", (1,), "int32", np.zeros(1, np.int32), read_back=True)
    launch = Launch("k", (1, 1, 1), (32, 1, 1), (count,))
    (trace,) = simulate(compiled(BYTE_LOCK), [launch], steps=2000 * 32)
    assert trace.ended and trace.findings == ()
    assert trace.outputs[0].tolist() == [32]
