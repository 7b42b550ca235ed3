"""Where the line at fault is looked for, and where nothing is to be looked for."""

from __future__ import annotations

from typing import Any

import pytest

from grader.authoring.gate import lab_folder
from grader.authoring.mutation.study import submission_of
from grader.feedback.grade import grade
from grader.grading.pipeline import Grade
from grader.labs.reading import load_lab
from grader.launch import Finding


def graded(lab: str, old: str = "", new: str = "") -> tuple[Grade, int]:
    """The grade of a lab's solution with one text replaced, and the line of that text."""
    held = load_lab(lab)
    source = lab_folder(held).solution.read_text()
    assert not old or source.count(old) == 1
    line = source[: source.find(old)].count("\n") + 1
    return grade(held, submission_of(held, source.replace(old, new)), threads=2), line


def source_of(lab: str, twin: str) -> str:
    """A wrong twin of a lab."""
    return (lab_folder(load_lab(lab)).solutions / "wrong" / f"{twin}.cu").read_text()


def errors(made: Grade) -> list[Finding]:
    return [f for check in made.checks for f in check.findings if f.severity == "error"]


def none_asked(*args: Any) -> None:
    raise AssertionError("no further runs are needed")


def test_a_right_kernel_costs_no_further_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.feedback.localization.find_blame", none_asked)
    assert graded("vector-add")[0].exit_code == 0


def test_a_missing_barrier_is_told_as_such() -> None:
    held, source = (
        load_lab("tiled-matmul"),
        source_of("tiled-matmul", "race-missing-second-barrier"),
    )
    made = grade(held, submission_of(held, source), threads=2)
    assert {f.kind for f in errors(made)} >= {"race"}
    assert not any("look at line" in f.hint for f in errors(made))


def test_a_wrong_kernel_is_told_its_line() -> None:
    made, line = graded("vector-add", "blockIdx.x * blockDim.x", "blockIdx.x + blockDim.x")
    found = [f for f in errors(made) if f.kind in ("wrong-output", "unwritten-output")]
    assert found and all(f.origins[0].line == line for f in found)
    assert all(f"look at line {line}" in f.hint for f in found)


def test_a_wrong_answer_is_told_at_its_store_and_its_line() -> None:
    made, line = graded(
        "occupancy", "threads = 32; threads <= most", "threads = 33; threads <= most"
    )
    found = [f for f in errors(made) if f.kind == "wrong-output"]
    assert found and all("*block = best" in f.text for f in found)
    assert all([o.line for o in f.origins] == [line] for f in found)
    assert len({f.message for f in found}) == len(found)  # told once, though cases repeat it
