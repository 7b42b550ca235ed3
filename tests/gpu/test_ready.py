"""Children that start before their calls: each serves one call, and none remains."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from grader.compile.source import compile_source
from grader.faults import MachineFault
from grader.gpu import devices, launch_child, process, timing, timing_child
from grader.gpu.devices import Device, acquire_device
from grader.gpu.launches import run_launches
from grader.gpu.process import OUTPUT_BYTES, ReadyChildren, call_ready, ready_children
from grader.launch import Array, Launch
from grader.sandbox import call, template
from grader.sandbox.bubblewrap import likely_sandbox
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


NULL = Device(Path("/dev/null"), "GPU-aaaa", "NVIDIA A")
BEGUN = ("sandboxed_steps:pid_and_calls", "sandboxed_steps:echo")


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose GPU is /dev/null; its children were begun."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "sandbox"))
    monkeypatch.setattr(process, "missing_requirement", lambda: None)
    monkeypatch.setattr(process, "same_model_devices", lambda: (NULL,))
    for name, step in zip(("LAUNCH", "MEASURE"), BEGUN, strict=True):
        monkeypatch.setattr(process, name, step)
    likely_sandbox()
    before = descendants()
    process.begin_children()
    yield
    assert not process._begun_of(os.getpid())
    for thread in threading.enumerate():
        if thread.name == "gpu-child":
            thread.join(30)
    until(lambda: descendants() <= before)


@pytest.mark.parametrize("timed", [True, False])
def test_children_that_were_begun_are_those_of_the_first_submission(
    begun: None, timed: bool
) -> None:
    calls = [(BEGUN[0], 2), (BEGUN[0], 1)]
    ready = ready_children(timed=timed)
    assert ready is not None
    with ready:
        for step, number in calls:
            assert call_ready(ready, NULL, step, {}, {}, LIMITS).value[1] == number
        assert (BEGUN[1] in ready._waiting) == timed


def test_outputs_are_verified_while_the_child_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The GPU is held until it has ended."""
    verifying, order = threading.Event(), list[str]()

    class Ending:
        """A child whose end takes until its outputs are being verified."""

        def wait(self, step: Any) -> None:
            order.append("ready")

        @contextmanager
        def take(self, step: Any) -> Iterator[None]:
            yield None
            assert verifying.wait(20)
            with pytest.raises(MachineFault), acquire_device([GPU], wait=0):
                pytest.fail("the child still uses it")
            order.append("ended")

    def evaluated(*given: Any) -> timing.Timing:
        verifying.set()
        with acquire_device([GPU], wait=20):
            order.append("verified")
        return timing.Timing(())

    described = process.DeviceInfo("sm_90", {"device": "NVIDIA A"})
    reply = Reply({"stopped": "", "peaks": {}}, {})
    replaced = {
        "missing_requirement": lambda: None, "same_model_devices": lambda: (GPU,),
        "device_info": lambda device: described, "_launch_problem": lambda *given: None,
        "_kernel": lambda *given: None, "build_baseline": lambda baseline: {},
        "compile_cubin": lambda *given: b"", "_packed": lambda *given: (None, {}),
        "_measure": lambda *given: reply, "_to_timing": evaluated,
    }  # fmt: skip
    for name, stub in replaced.items():
        monkeypatch.setattr(timing, name, stub)
    monkeypatch.setattr(devices, "LOCK_FOLDER", tmp_path)
    program: Any = SimpleNamespace(file="k.cu")
    plan: Any = SimpleNamespace(
        launch=None, baseline=None, baseline_launch=None, cublas=None, limit=1.0
    )
    made = timing.time_kernel(program, plan, lambda *given: "", Ending())  # type: ignore[arg-type]
    assert made.device == "NVIDIA A"
    assert order == ["ready", "ended", "verified"]


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
