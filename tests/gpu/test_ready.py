"""Children that start before their calls: each serves one call, and none remains."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.faults import MachineFault
from grader.gpu import launch_child, process, timing_child
from grader.gpu.devices import Device
from grader.gpu.launches import run_launches
from grader.gpu.process import OUTPUT_BYTES, ReadyChildren, call_ready, ready_children
from grader.launch import Array, Launch
from grader.sandbox import call, template
from grader.sandbox.call import Limits, Reply, run_sandboxed
from tests.command import ROOT, descendants
from tests.patience import until

GPU = Device(Path("/dev/nvidia0"), "GPU-aaaa", "NVIDIA A")
STEPS = (launch_child.launch, timing_child.measure)
LIMITS = Limits(wall=60.0, cpu=60.0, memory=0, output=OUTPUT_BYTES)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Have calls on a GPU return how many their child has served; yields their requests."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "sandbox"))
    own = template.Templates()
    own.are_usable = False  # a device is passed to new processes only
    monkeypatch.setattr(call, "templates", lambda: own)
    requests: list[Any] = []

    def call_on(device: Device, step: Any, request: Any, *rest: Any, kept: Any = None) -> Reply:
        requests.append(request)
        arrays, limits = rest
        step = "sandboxed_steps:pid_and_calls"
        return run_sandboxed(step, request, arrays, limits=limits, kept=kept)

    monkeypatch.setattr(process, "call_on", call_on)
    before = descendants()
    yield requests
    for thread in threading.enumerate():
        if thread.name == "gpu-child":
            thread.join(30)
    until(lambda: descendants() <= before)


def served(ready: ReadyChildren | None, step: Any, limits: Limits = LIMITS) -> int:
    """Call a step; return how many calls its child has served."""
    return int(call_ready(ready, GPU, step, {}, {}, limits).value[1])


def test_each_step_has_a_child_for_one_call(counting: list[Any]) -> None:
    with ReadyChildren(GPU, STEPS) as ready:
        assert [served(ready, step) for step in (*STEPS, *STEPS)] == [2, 2, 1, 1]
    assert counting.count(None) == 2
    assert served(None, STEPS[0]) == 1


def test_call_with_a_larger_reply_has_a_child_of_its_own(counting: list[Any]) -> None:
    larger = replace(LIMITS, output=2 * OUTPUT_BYTES)
    with ReadyChildren(GPU, STEPS) as ready:
        assert served(ready, STEPS[1], larger) == 1
        assert served(ready, STEPS[1], larger) == 1


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_child_that_is_not_needed_ends(counting: list[Any], seconds: float) -> None:
    with ReadyChildren(GPU, STEPS):
        time.sleep(seconds)  # starting, or ready


def test_child_that_cannot_start_leaves_the_call_as_it_is(
    counting: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = process.call_on

    def call_on(device: Device, step: Any, request: Any, *rest: Any, kept: Any = None) -> Reply:
        if request is None:
            raise MachineFault("no memory is free")
        return usual(device, step, request, *rest, kept=kept)

    monkeypatch.setattr(process, "call_on", call_on)
    with ReadyChildren(GPU, STEPS) as ready:
        assert served(ready, STEPS[0]) == 1


@pytest.mark.gpu
def test_launches_run_in_the_child_that_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    source = 'extern "C" __global__ void fill(float* x) { x[threadIdx.x] = threadIdx.x; }\n'
    launch = Launch("fill", (1, 1, 1), (32, 1, 1), (Array("x", (32,), "float32", None, True),))
    filling = compile_source(source.encode(), "fill.cu")
    run_launches(filling, [launch])  # compiled; the lock file exists
    ready = ready_children(timed=True)
    assert ready is not None
    with ready:
        for waiting in ready._waiting.values():
            waiting.is_ready.wait()
        started: list[str] = []
        usual = call._run

        def run(job: Any, *rest: Any, **more: Any) -> Reply:
            started.append(job.step)
            return usual(job, *rest, **more)

        monkeypatch.setattr(call, "_run", run)
        for _ in range(2):
            (trace,) = run_launches(filling, [launch], ready=ready)
            assert (trace.outputs[0] == np.arange(32)).all()
    assert started == ["grader.gpu.launch_child:launch"]  # of the second time
