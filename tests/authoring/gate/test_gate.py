"""The requirements of the gate on real and made-up grades; `make labs` runs it on every lab."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.authoring.gate import check_labs, keeping_pool
from grader.authoring.new_lab import write_new
from grader.authoring.requirements import (
    LabFolder,
    Requirement,
    RequirementNotMet,
    evaluate_requirement,
    lab_folder,
    margin_problem,
    skeleton_matches,
    solution_passes,
    variant_is_caught,
)
from grader.compile.source import compile_source
from grader.faults import LabFault
from grader.grading.cases import RunOptions
from grader.labs.reading import load_lab
from grader.launch import Finding
from grader.sandbox import call
from grader.sandbox.message import Reply
from grader.sandbox.process import Job
from tests.command import descendants
from tests.made import a_grade, a_result
from tests.patience import until

REFERENCE = "labs/warp-sum/reference.py"
MARGINS = [
    (15, {"speedup": 1.52, "speedup_low": 1.5, "minimum": 1.25}, ""),
    (15, {"speedup": 1.44, "speedup_low": 1.4375, "minimum": 1.25}, ""),
    (
        15,
        {"speedup": 1.44, "speedup_low": 1.43, "minimum": 1.25},
        "less than 15 % above the minimum",
    ),
    (14.9, {"speedup": 1.52, "speedup_low": 1.5, "minimum": 1.25}, "only 54.9 of 55"),
    (15, {}, ""),
]


@pytest.mark.parametrize(("points", "measured", "message"), MARGINS)
def test_solution_needs_a_margin_of_speed(
    points: float, measured: dict[str, float], message: str
) -> None:
    speed = a_result("speed", "pass", points, measurements=measured)
    problem = margin_problem(a_grade(a_result("output", "pass", 40, 40), speed))
    assert message in problem
    assert bool(message) == bool(problem)


def test_slow_variant_needs_a_gpu(tmp_path: Path) -> None:
    folder = replace(lab_folder(load_lab("vector-add")), solutions=tmp_path)
    slow = tmp_path / "too-slow-one-thread.cu"
    assert "speed needs a GPU" in variant_is_caught(folder, slow, RunOptions("sim"))
    right = tmp_path / "race-none-at-all.cu"
    right.write_text(load_lab("vector-add").solution.read_text())
    with pytest.raises(RequirementNotMet, match="reports nothing instead of race"):
        variant_is_caught(folder, right, RunOptions("sim"))


def a_new_lab(root: Path, old: str = "", new: str = "", file: str = "") -> LabFolder:
    """A valid new lab, with one text of one of its files replaced."""
    list(write_new(root, "warp-sum"))
    if file:
        path = root / file
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))
    return lab_folder(load_lab("warp-sum", [root / "labs"]))


def test_suggested_command_names_the_course_when_needed(tmp_path: Path) -> None:
    folder = a_new_lab(tmp_path)
    with folder.skeleton.open("a") as file:
        file.write("// more\n")
    with pytest.raises(RequirementNotMet) as caught:
        skeleton_matches(folder)
    assert f"`grader labs skeleton warp-sum --course {tmp_path}`" in str(caught.value)
    own = lab_folder(load_lab("vector-add"))
    assert own.command("skeleton") == "grader labs skeleton vector-add"


def test_failing_solution_is_reported_with_the_element(tmp_path: Path) -> None:
    wrong = a_new_lab(tmp_path, "A = 3.0", "A = 4.0", REFERENCE)
    with pytest.raises(
        RequirementNotMet, match=r"output: .*; wrong-output at line \d+: .*\[\d.*expected"
    ):
        solution_passes(wrong, RunOptions(threads=1))


def test_fault_of_the_lab_is_reported_with_its_fix() -> None:
    def evaluate() -> str:
        raise LabFault("no check `outputs`", where="lab.yaml:9", fix="did you mean `output`?")

    line = evaluate_requirement("warp-sum", Requirement("quiz", evaluate))
    assert line.observed == "lab.yaml:9: no check `outputs`: did you mean `output`?"
    assert (line.holds, line.is_final) == (False, False)


def test_endless_reference_ends_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.labs.reference.SECONDS", 0.3)
    monkeypatch.setattr("grader.labs.reference_process.MAX_WAITS", 10_000)  # a busy machine
    last = '    return {"z"'
    endless = a_new_lab(tmp_path, last, f"    while True: pass\n{last}", REFERENCE)
    lines = list(check_labs([endless], RunOptions(threads=2)))
    assert [line.is_final for line in lines].count(True) == 1 and lines[-1].is_final
    assert "reference.py:" in lines[-1].observed and "let every loop end" in lines[-1].observed


@pytest.mark.parametrize(
    ("kinds", "advice"),
    [
        ([], "reports nothing instead of race: add a public case in which the mistake of"),
        (["wrong-output"], "reports wrong-output instead of race: rename it after what it reports"),
    ],
)
def test_a_variant_without_its_finding_has_advice(
    kinds: list[str], advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tuple(Finding(kind, "error", "x", "a.cu", 3) for kind in kinds)
    made = a_grade(a_result("output", "fail", 0, 40, findings=found))
    monkeypatch.setattr("grader.authoring.requirements.grade_file", lambda *_: made)
    folder = lab_folder(load_lab("tiled-matmul"))
    with pytest.raises(RequirementNotMet, match=advice):
        variant_is_caught(folder, Path("wrong/race-none.cu"), RunOptions("sim"))


def test_the_files_of_a_gate_share_children_that_end_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, run = list[str](), call._run

    def noted(job: Job, *rest: Any, **more: Any) -> Reply:
        started.append(job.step)
        return run(job, *rest, **more)

    monkeypatch.setattr(call, "_run", noted)
    sources = [b"__global__ void f(int* a) { a[0] = %d; }" % number for number in range(3)]
    before = descendants()
    with keeping_pool(1) as pool:
        calls = [pool.submit(compile_source, one, "a.cu", cache=None) for one in sources]
        kept = [call.result() for call in calls]
    assert len(started) == 1
    until(lambda: len(descendants() - before) <= 1)  # a template
    own = [compile_source(one, "a.cu", cache=None) for one in sources]
    assert len(started) == 4
    assert [replace(one, seconds=0) for one in kept] == [replace(one, seconds=0) for one in own]
