"""Thresholds from made-up timings of a lab's kernels; the command without a GPU."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import grader.authoring.calibrate as module
from grader.authoring.calibrate import (
    Calibration,
    Rung,
    calibrate,
    calibration_lines,
    ladder,
    measured,
)
from grader.faults import LabFault, MachineFault
from grader.gpu.speedup import Timing, TimingPlan
from grader.labs.files import file_digest
from grader.labs.model import Band, Lab
from grader.labs.reading import load_lab
from grader.labs.thresholds import THRESHOLDS_FILE, read_thresholds
from grader.launch import Finding
from tests.checks.test_speed import H100, a_timing
from tests.command import grader as command

KERNEL = """\
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""


def a_course(folder: Path) -> Lab:
    """vector-add with a speed check, and one timed file of each kind."""
    source = load_lab("vector-add").folder
    shutil.copytree(source, folder / "labs" / "vector-add")
    solutions = folder / "solutions" / "vector-add"
    for name in ("vector-add", "wrong/too-slow-strided", "wrong/race-x", "rungs/one-a-thread"):
        file = solutions / f"{name}.cu"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(KERNEL)
    lab_file = folder / "labs" / "vector-add" / "lab.yaml"
    speed = "  speed: {points: 5, minimum: 1.2, full: 1.4, dims: {n: 256}}\n"
    lab_file.write_text(lab_file.read_text().replace("\nchecks:\n", f"\nchecks:\n{speed}"))
    return load_lab("vector-add", (folder / "labs",))


@pytest.fixture
def speeds(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, Timing]], list[Any]]:
    """Replace timing by made-up values; the result is the list of requested timings."""

    def answer(timings: Mapping[str, Timing]) -> list[Any]:
        requested: list[Any] = []

        def time_kernel(program: Any, plan: TimingPlan, verify: object) -> Timing:
            requested.append((program.file, plan))
            return timings[program.file]

        monkeypatch.setattr(module, "time_kernel", time_kernel)
        return requested

    return answer


SPEEDS = {
    "baseline.cu": a_timing(1.0, sigma=0.002),
    "too-slow-strided.cu": a_timing(1.1, sigma=0.002),
    "one-a-thread.cu": a_timing(1.3, sigma=0.002),
    "vector-add.cu": a_timing(1.6, sigma=0.002),
}


def test_files_are_timed_from_the_baseline_to_the_solution(
    tmp_path: Path, speeds: Callable[..., list[Any]]
) -> None:
    lab = a_course(tmp_path)
    requested = speeds(SPEEDS)
    made = calibrate(lab)
    assert made is not None
    assert [file for file, _ in requested] == list(SPEEDS)
    assert [rung.fails for rung in made.rungs] == [True, True, False, False]
    assert {(plan.least, plan.most) for _, plan in requested} == {(200, 200)}
    assert requested[0][1].launch is requested[0][1].baseline_launch
    assert (made.device, made.in_force, made.problems) == (H100, Band(1.2, 1.4), ())
    assert made.proposed == Band(1.22, 1.48)
    assert (made.dims, made.kind) == ({"n": 256}, "random")
    assert made.sha256 == {file.name: file_digest(file) for file in (lab.baseline, lab.solution)}


def test_table_shows_the_margin_of_the_solution(
    tmp_path: Path, speeds: Callable[..., list[Any]]
) -> None:
    speeds(SPEEDS)
    made = calibrate(a_course(tmp_path))
    assert made is not None
    lines = list(calibration_lines(made))
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"vector-add on {H100}"
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["baseline.cu", "1.000"],
        ["wrong/too-slow-strided.cu", "1.100"],
        ["rungs/one-a-thread.cu", "1.300"],
        ["vector-add.cu", "1.600"],
    ]
    assert lines[6:] == [
        "  in force: minimum 1.2, full 1.4; the solution is +33 % and +14 % from them",
        "  proposed: minimum 1.22, full 1.48; the solution is +31 % and +8 % from them",
    ]


FAILED = Finding("wrong-output", "error", "timed launch 2 of 9 is wrong")
PROBLEMS = [
    ({"vector-add.cu": a_timing(1.15)}, "not faster enough than the files that must fail"),
    ({"too-slow-strided.cu": a_timing(1.5)}, "not faster enough than the files that must fail"),
    ({"vector-add.cu": a_timing(1.6, findings=(FAILED,))}, "vector-add.cu: timed launch 2 of 9"),
    ({"baseline.cu": Timing(())}, "baseline.cu: no pair of launches was timed"),
]


@pytest.mark.parametrize(("worse", "message"), PROBLEMS)
def test_no_thresholds_are_proposed_without_valid_timings(
    tmp_path: Path, speeds: Callable[..., list[Any]], worse: Mapping[str, Timing], message: str
) -> None:
    speeds({**SPEEDS, **worse})
    made = calibrate(a_course(tmp_path))
    assert made is not None and made.proposed is None
    assert len(made.problems) == 1 and message in made.problems[0]
    assert any(line.startswith("  no thresholds: ") for line in calibration_lines(made))
    with pytest.raises(LabFault, match=message.partition(":")[0]):
        measured(made, datetime.date(2026, 1, 31))


def test_lab_without_a_speed_check_has_no_calibration() -> None:
    assert calibrate(load_lab("vector-add")) is None


def test_missing_size_is_a_fault_of_the_lab(tmp_path: Path) -> None:
    lab = a_course(tmp_path)
    checks = [
        replace(s, options={**s.options, "dims": {}}) for s in lab.checks if s.name == "speed"
    ]
    with pytest.raises(LabFault) as caught:
        calibrate(replace(lab, checks=tuple(checks)))
    assert "does not set the timed size" in caught.value.what
    assert "lab.yaml:" in caught.value.where


def test_every_timed_file_of_a_lab_exists() -> None:
    for name in ("tiled-matmul", "sgemm-ladder", "histogram"):
        files = list(ladder(load_lab(name)))
        assert [path.is_file() for _, path, _ in files] == [True] * len(files)
        assert (files[0][0], files[-1][0]) == ("baseline.cu", f"{name}.cu")


def test_thresholds_of_other_devices_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grader.cli import labs

    lab = a_course(tmp_path)
    (lab.folder / THRESHOLDS_FILE).write_text("devices:\n  Tesla T4: {minimum: 2, full: 3}\n")
    kept = read_thresholds(lab.folder)["Tesla T4"]
    new = replace_minimum(kept, 1.5)
    monkeypatch.setattr(module, "measured", lambda made, today: new)
    labs._write_thresholds(lab, Calibration(lab.name, H100, (Rung("x", False),), Band(1, 2), None))
    assert read_thresholds(lab.folder) == {"Tesla T4": kept, H100: new}


def replace_minimum(one: Any, minimum: float) -> Any:
    return one.model_copy(update={"minimum": minimum})


def test_command_suggests_the_nearest_lab() -> None:
    message = command("labs", "calibrate", "tiled-matmull")
    assert message.code == 2
    assert "did you mean tiled-matmul" in message.err.replace("`", "")


def test_missing_gpu_suggests_no_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.cli import labs

    def refused(on: object) -> None:
        raise MachineFault("there is no NVIDIA GPU here", fix="use --on sim")

    monkeypatch.setattr(labs, "resolved", refused)
    with pytest.raises(MachineFault, match="no NVIDIA GPU") as caught:
        labs._require_gpu()
    assert "--on sim" not in caught.value.fix
    assert "grader doctor" in caught.value.fix
