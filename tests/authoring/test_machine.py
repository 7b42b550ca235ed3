"""Measuring a GPU for estimates: what is measured is kept, and the command says what is missing.

The sweep and the timings are those of a machine with known parameters; the labs, their compilation
and the work on the simulator are real.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import grader.authoring.machine as module
from grader.authoring.machine import (
    kernels_of,
    machine_lines,
    measure_machine,
    measured_files,
    refit_file,
)
from grader.compile.program import Program
from grader.faults import LabFault, MachineFault
from grader.gpu.process import DeviceInfo
from grader.gpu.speedup import MIN_PAIRS, Pair, Timing, TimingPlan
from grader.grading.cases import RunOptions
from grader.grading.estimate.kernel import count_work
from grader.grading.estimate.machine import file_text, read_machine
from grader.grading.estimate.model import Fit, estimate
from grader.labs.model import Lab
from grader.labs.reading import load_lab
from grader.launch import Finding
from tests.command import ROOT, grader
from tests.grading.estimate.made import MULTIPROCESSORS, NAME, a_machine, points_of

FIT = Fit(2.0, 1.1)
SIZES = {
    "tiled-matmul": ("dims: {n: 1024}", "dims: {n: 128}"),
    "coalescing": ("dims: {m: 1024, n: 1024, k: 1024}", "dims: {m: 96, n: 128, k: 64}"),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with two labs that are timed at small sizes."""
    folder = tmp_path_factory.mktemp("course")
    for name, (old, new) in SIZES.items():
        shutil.copytree(ROOT / "labs" / name, folder / "labs" / name)
        solutions = folder / "solutions" / name
        solutions.mkdir(parents=True)
        shutil.copy(ROOT / "solutions" / name / f"{name}.cu", solutions)
        lab_file = folder / "labs" / name / "lab.yaml"
        text = lab_file.read_text()
        assert old in text
        lab_file.write_text(text.replace(old, new))
    return folder


@pytest.fixture
def labs(course: Path) -> list[Lab]:
    return [load_lab(name, (course / "labs",)) for name in SIZES]


def time_as_modelled(program: Program, plan: TimingPlan, verify: object) -> Timing:
    """Time a kernel as the known machine does."""
    work = count_work(program, plan.launch, RunOptions("sim", threads=1))
    seconds = estimate(work, a_machine(), FIT).seconds
    return Timing((Pair(1e-3, seconds),) * 5, device=NAME)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the GPU by a machine with known parameters."""
    swept = {
        "points": points_of(a_machine()),
        "launch": a_machine().launch,
        "multiprocessors": MULTIPROCESSORS,
        "capability": [9, 0],
        "clocks": [1000, 990],
    }

    @contextmanager
    def acquire(devices: Any) -> Iterator[Any]:
        yield devices[0]

    tools = {"device": NAME, "driver": "580.1", "nvcc": "13.0"}
    monkeypatch.setattr(module, "same_model_devices", lambda: [SimpleNamespace()])
    monkeypatch.setattr(module, "device_info", lambda device: DeviceInfo("sm_90", tools))
    monkeypatch.setattr(module, "compile_cubin", lambda program, architecture: b"cubin")
    monkeypatch.setattr(module, "acquire_device", acquire)
    reply = SimpleNamespace(value=swept)
    monkeypatch.setattr(module, "call_on", lambda *given, **more: reply)
    monkeypatch.setattr(module, "time_kernel", time_as_modelled)


def test_the_baseline_and_the_solution_of_each_lab_are_measured(labs: list[Lab]) -> None:
    kernels = list(kernels_of([*labs, load_lab("vector-add")]))
    assert not any(isinstance(kernel, str) for kernel in kernels)
    made = [(k.lab.name, k.name) for k in kernels if not isinstance(k, str)]
    assert made == [(lab, file) for lab in SIZES for file in ("baseline.cu", f"{lab}.cu")]
    plans = [kernel.plan for kernel in kernels if not isinstance(kernel, str)]
    assert {(plan.least, plan.most) for plan in plans} == {(MIN_PAIRS, 20)}
    assert plans[0].launch is plans[0].baseline_launch


def test_right_but_slow_variants_are_measured_too() -> None:
    lab = load_lab("coalescing")
    files = dict(measured_files(lab))
    slow = {name for name in files if name.startswith("wrong/")}
    assert slow == {f"wrong/{f.name}" for f in lab.solution.parent.glob("wrong/uncoalesced-*.cu")}
    assert len(slow) == 2 and next(iter(files.values())) == lab.baseline


@pytest.mark.usefixtures("gpu")
def test_what_is_measured_is_kept_after_each_step(labs: list[Lab]) -> None:
    kept: list[int] = []
    made = measure_machine(labs, lambda content: kept.append(len(content.kernels)))
    assert kept == [0, 1, 2, 3, 4] and made.problems == ()
    assert made.content.machine.rates["l2"] == pytest.approx(4e12, rel=1e-4)
    assert all(row.error < 0.01 for row in made.rows), made.rows
    assert "from 4 kernels of 2 labs only" in made.content.errors.problem
    lines = list(machine_lines(made))
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"{NAME}: {len(made.content.points)} points, 4 kernels"
    assert any("median error: model 0.0%" in line for line in lines)


@pytest.mark.usefixtures("gpu")
def test_a_kernel_that_fails_leaves_the_others(
    labs: list[Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Finding("wrong-output", "error", "timed launch 2 is wrong")

    def fails(program: Program, plan: TimingPlan, verify: object) -> Timing:
        if "coalescing" in program.file:
            raise MachineFault("the GPU's process died")
        if program.file == "tiled-matmul.cu":
            return Timing((), findings=(wrong,))
        return time_as_modelled(program, plan, verify)

    monkeypatch.setattr(module, "time_kernel", fails)
    made = measure_machine(labs)
    assert [kernel.file for kernel in made.content.kernels] == ["baseline.cu", "baseline.cu"]
    said = "\n".join(made.problems)
    assert "tiled-matmul tiled-matmul.cu: timed launch 2 is wrong" in said
    assert "coalescing coalescing.cu: the GPU's process died" in said


@pytest.mark.usefixtures("gpu")
def test_measurements_without_a_fit_are_written_and_fitted_later(
    labs: list[Lab], tmp_path: Path
) -> None:
    made = measure_machine(labs[:1])
    assert made.rows == () and "two labs" in made.problems[0]
    assert any(line.startswith("  no fit: ") for line in machine_lines(made))
    path = tmp_path / "nvidia-made.yaml"
    path.write_text(file_text(made.content))
    assert read_machine(path).errors.problem == "the model was not fitted"
    said = grader("labs", "calibrate", "--refit", str(path))
    assert said.code == LabFault.exit_code and "no fit" in said.out
    both = measure_machine(labs).content
    path.write_text(file_text(replace(both, fit=made.content.fit, errors=made.content.errors)))
    again = refit_file(path)
    assert again.content.fit == both.fit and read_machine(path).fit == both.fit
    assert grader("labs", "calibrate", "--refit", str(path)).code == 0


def test_without_a_gpu_the_command_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, course: Path
) -> None:
    from grader.cli import labs

    missing = MachineFault("this machine has no NVIDIA GPU")
    monkeypatch.setattr("grader.gpu.driver.unusable_gpu", lambda: missing)
    with pytest.raises(MachineFault, match="no NVIDIA GPU") as caught:
        labs.calibrate(course=course, machine=True)
    assert "grader doctor" in caught.value.fix
    assert not (course / "machines").exists()
