"""`grader run` on a GPU machine: the simulator's findings are added to the GPU's result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.faults import LabFault, MachineFault
from grader.grading import single_launch
from grader.grading.cases import RunOptions
from grader.grading.single_launch import allows_large_shared, run_launch, with_simulation
from grader.launch import Finding, Trace
from grader.submissions.files import read_submission
from grader.submissions.launchfile import read_launch

RACE = Finding("race", "error", "write-after-write hazard", line=4)
OUTSIDE = Finding("invalid-access", "error", "out-of-bounds write of 4 bytes", line=4)
GUARDS = Finding("invalid-access", "error", "28 elements beside b changed", line=1)
DIFFERS = Finding("race", "info", "b differs between two runs of the same launch", line=1)
LATE = Finding("timeout", "error", "the launch did not end in 20 s")


def gpu(*findings: Finding, ended: bool = True) -> Trace:
    return Trace("gpu", findings, outputs={1: np.ones(3)}, ended=ended)


def sim(*findings: Finding, ended: bool = True) -> Trace:
    return Trace("sim", findings, counters={"requests": 4.0}, ended=ended)


@pytest.mark.parametrize(
    ("one", "other", "due"),
    [
        (gpu(), sim(), []),
        (gpu(), sim(RACE), [RACE]),
        (gpu(GUARDS), sim(), [GUARDS]),
        (gpu(GUARDS), sim(OUTSIDE), [OUTSIDE]),
        (gpu(GUARDS, DIFFERS), sim(RACE), [GUARDS, RACE]),
        (gpu(LATE, ended=False), sim(LATE, ended=False), [LATE]),
        (gpu(), sim(LATE), [LATE]),  # a deadlock in another order
    ],
)
def test_each_finding_is_reported_once_by_the_more_precise_backend(
    one: Trace, other: Trace, due: list[Finding]
) -> None:
    made = with_simulation(one, lambda: (other,))
    assert list(made.findings) == due
    assert (made.backend, made.ended, made.counters) == ("gpu", one.ended, {"requests": 4.0})
    assert made.outputs[1].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "fault", [LabFault("the arrays take too much memory"), MachineFault("the sandbox is gone")]
)
def test_a_launch_that_cannot_be_simulated_is_still_run(fault: Exception) -> None:
    def fails() -> tuple[Trace, ...]:
        raise fault

    made = with_simulation(gpu(GUARDS), fails)
    assert [f.severity for f in made.findings] == ["error", "info"]
    assert str(fault) in made.findings[1].message and made.findings[1].hint


def test_slow_simulation_reports_no_error() -> None:
    made = with_simulation(gpu(), lambda: (sim(LATE, ended=False),))
    assert made.verdict == "clean" and not made.errors
    assert "--limit" in made.findings[0].message


KERNEL = """extern "C" __global__ void k(float *a)
{
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    a[threadIdx.x] = s[63 - threadIdx.x];
}
"""
LAUNCH = "grid: [1]\nblock: [64]\nargs:\n  - {out: {dtype: float32, shape: [64]}}\n"


@pytest.mark.parametrize(("watched", "kinds"), [(True, ["race"]), (False, [])])
def test_both_backends_run_only_with_auto(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: bool, kinds: list[str]
) -> None:
    real = single_launch.run_all

    def run_all(program: Any, launches: Sequence[Any], *, on: str = "sim", **more: Any) -> Any:
        return (gpu(),) if on == "gpu" else real(program, launches, **more)

    monkeypatch.setattr(single_launch, "run_all", run_all)
    monkeypatch.setattr(single_launch, "build_for", lambda on, program: program)
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "launch.yaml").write_text(LAUNCH)
    asked = read_launch(tmp_path / "launch.yaml")
    file = read_submission(tmp_path / "k.cu")
    made = run_launch(file, asked, RunOptions("gpu", threads=1), tmp_path, with_simulator=watched)
    assert [f.kind for f in made.trace.errors] == kinds
    assert made.trace.backend == "gpu"


MOST = "cudaFuncAttributeMaxDynamicSharedMemorySize"


@pytest.mark.parametrize(
    ("text", "large"),
    [
        (f"cudaFuncSetAttribute(k, {MOST}, n);", True),
        (f"cudaFuncSetAttribute((void*)k<4>,\n {MOST}, n);", True),
        (f"cudaFuncSetAttribute(other, {MOST}, n); k(1);", False),
        (f"// cudaFuncSetAttribute(k, {MOST}, n);", False),
        ("cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 50);", False),
    ],
)
def test_host_code_that_allows_a_kernel_more_shared_memory(text: str, large: bool) -> None:
    assert allows_large_shared(f"int main() {{ {text} }}", "k") == large
