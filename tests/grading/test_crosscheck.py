"""The toolkit's tools give results worth no points. The tools' answers are prepared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.cli.app import run as command
from grader.faults import MachineFault
from grader.gpu import devices
from grader.gpu.tools import Profile
from grader.grading import crosscheck, pipeline
from grader.grading.cases import RunOptions
from grader.grading.crosscheck import cross_checks
from grader.labs.reading import load_lab
from grader.launch import Finding, Launch
from grader.submissions.files import Submission, read_submission

ROOT = Path(__file__).parents[2]
LAB = "vector-add"
SOLUTION = ROOT / "solutions" / LAB / f"{LAB}.cu"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Launch]]:
    """The launches that compute-sanitizer was asked about; nvcc leaves the program as it is."""
    made: list[Sequence[Launch]] = []

    def sanitized(program: Any, launches: Sequence[Launch], limit: float) -> tuple[Finding, ...]:
        made.append(launches)
        return (Finding("race", "error", "compute-sanitizer racecheck: ...", line=9),)

    monkeypatch.setattr(pipeline, "build_for", lambda on, program: program)
    monkeypatch.setattr(crosscheck, "run_sanitizer", sanitized)
    return made


def checked(submission: Submission | None = None, **tools: bool) -> dict[str, Any]:
    which = {"sanitizer": False, "profile": False, **tools}
    given = submission or read_submission(SOLUTION)
    results = cross_checks(load_lab(LAB), given, RunOptions(limit=5), **which)
    return {result.name: result for result in results}


def test_findings_fail_a_check_worth_no_points(asked: list[Sequence[Launch]]) -> None:
    result = checked(sanitizer=True)["sanitizer"]
    assert (result.status, result.points, result.max_points) == ("fail", 0, 0)
    assert [f.kind for f in result.findings] == ["race"]
    public = [case.name for case in load_lab(LAB).cases if case.visibility == "public"]
    assert [launch.name for launch in asked[0]] == public
    assert result.summary == f"compute-sanitizer: 1 error in {len(public)} launches"


def test_counters_are_reported_next_to_the_simulators(
    asked: list[Sequence[Launch]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crosscheck, "run_profiler", lambda *a: Profile({SECTORS: 7.0}, 3e-6))
    result = checked(profile=True)["profile"]
    assert result.measurements[f"{SECTORS} ncu"] == 7
    assert result.measurements[f"{SECTORS} sim"] > 7
    assert "1 metrics" not in result.summary and "3.0 us" in result.summary


def test_a_tool_that_fails_costs_nothing(
    asked: list[Sequence[Launch]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise MachineFault("ncu does not work here", fix="reinstall it")

    monkeypatch.setattr(crosscheck, "run_profiler", broken)
    result = checked(profile=True)["profile"]
    assert (result.status, result.summary) == ("error", "ncu does not work here; reinstall it")
    monkeypatch.setattr(crosscheck, "run_profiler", lambda *a: Profile({}, None))
    assert "RestrictProfiling" in checked(profile=True)["profile"].summary


def test_a_machine_that_fails_before_its_tools_costs_nothing_either(
    asked: list[Sequence[Launch]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grade is made by then: a GPU that is gone must not take it along."""

    def gone(on: str, program: Any) -> Any:
        raise MachineFault("there is no NVIDIA GPU here", fix="see nvidia-smi")

    monkeypatch.setattr(pipeline, "build_for", gone)
    results = checked(sanitizer=True, profile=True)
    assert {name: one.status for name, one in results.items()} == {
        "sanitizer": "error", "profile": "error"
    }  # fmt: skip
    assert results["profile"].summary == "there is no NVIDIA GPU here; see nvidia-smi"


def test_file_that_does_not_compile_is_not_cross_checked(asked: list[Sequence[Launch]]) -> None:
    wrong = Submission("x.cu", b"__global__ void k( {", "")
    assert checked(wrong, sanitizer=True, profile=True) == {} and asked == []


@pytest.mark.parametrize("option", ["--sanitizer", "--profile"])
def test_a_machine_without_a_gpu_says_so_before_it_grades(
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(devices, "DEVICES", tmp_path)
    assert command(["check", LAB, str(SOLUTION), option]) == 3
    said = capsys.readouterr()
    assert said.out == "" and "needs a GPU, and" in said.err
    assert "omit the option" in said.err
