"""The runs in other orders of blocks and warps take a bounded part of a launch's time."""

from __future__ import annotations

import numpy as np
import pytest

from grader.launch import Array, Launch, Scalar
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.schedules import most_steps
from grader.simulator.simulate import simulate
from tests.trusted import compile_here

RUN = Machine.run

WAITS = b"""\
extern "C" __global__ void last(volatile int* out, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *out = 1;
    while (*out == 0) {}
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += k ^ threadIdx.x;
    if (blockIdx.x == 0 && threadIdx.x == 0) out[1] = sum;
}
"""


@pytest.mark.parametrize(("count", "orders"), [(10, 9), (20_000, 2)])
def test_runs_in_other_orders_are_few_where_one_takes_long(
    count: int, orders: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[tuple[int, int]] = []

    def run(machine: Machine, launch: Launch, limits: Limits, count: bool) -> Raw:
        raw = RUN(machine, launch, limits, count)
        runs.append((0 if limits.trace else limits.schedule, raw.steps))
        return raw

    monkeypatch.setattr(Machine, "run", run)
    out = Array("out", (2,), "int32", np.zeros(2, "i4"), True)
    launch = Launch("last", (4, 1, 1), (128, 1, 1), (out, Scalar("n", count, "int32")))
    (trace,) = simulate(compile_here(WAITS, "last.cu"), [launch])
    assert trace.ended
    usual = runs[0][1]
    others = [steps for schedule, steps in runs if schedule]
    assert len(others) == orders
    assert sum(others) <= most_steps(usual)


CONTENDS = b"""\
extern "C" __global__ void locked(int* lock, volatile int* count) {
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0, 1)) continue;
        __threadfence();
        *count = *count + 1;
        __threadfence();
        atomicExch(lock, 0);
        done = true;
    }
}
"""


def test_steps_of_blocks_that_a_limit_ends_count(monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[tuple[int, int]] = []
    runs: list[tuple[int, int]] = []

    def run(machine: Machine, launch: Launch, limits: Limits, count: bool) -> Raw:
        raw = RUN(machine, launch, limits, count)
        runs.append((limits.schedule, raw.steps))
        cut.extend([] if raw.ended or limits.trace else [(raw.steps, limits.steps)])
        return raw

    monkeypatch.setattr(Machine, "run", run)
    args = tuple(Array(name, (1,), "int32", np.zeros(1, "i4"), True) for name in ("lock", "count"))
    (trace,) = simulate(
        compile_here(CONTENDS, "locked.cu"), [Launch("locked", (16, 1, 1), (256, 1, 1), args)]
    )
    assert not trace.findings and trace.outputs[1][0] == 16 * 256
    assert cut and all(steps >= limit for steps, limit in cut)
    assert sum(steps for schedule, steps in runs if schedule) <= 2 * most_steps(runs[0][1])
