"""Fault localization in labs: where the line at fault is searched, and where nothing is."""

from __future__ import annotations

from typing import Any

import pytest

from grader.authoring.mutation.study import submission_of
from grader.authoring.requirements import lab_folder
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


def source_of(lab: str, variant: str) -> str:
    """The source of an incorrect variant of a lab's solution."""
    return (lab_folder(load_lab(lab)).solutions / "wrong" / f"{variant}.cu").read_text()


def errors(made: Grade) -> list[Finding]:
    return [f for check in made.checks for f in check.findings if f.severity == "error"]


def refuse_to_search(*args: Any) -> None:
    raise AssertionError("no search is needed")


def test_correct_kernel_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.feedback.grade.search_fault_lines", refuse_to_search)
    assert graded("vector-add")[0].exit_code == 0


def test_missing_barrier_is_reported_without_a_line_at_fault() -> None:
    held, source = (
        load_lab("tiled-matmul"),
        source_of("tiled-matmul", "race-missing-second-barrier"),
    )
    made = grade(held, submission_of(held, source), threads=2)
    assert {f.kind for f in errors(made)} >= {"race"}
    assert not any("Look at line" in f.hint for f in errors(made))


def test_wrong_output_names_the_line_at_fault() -> None:
    made, line = graded("vector-add", "blockIdx.x * blockDim.x", "blockIdx.x + blockDim.x")
    found = [f for f in errors(made) if f.kind in ("wrong-output", "unwritten-output")]
    assert found and all(f.origins[0].line == line for f in found)
    assert all(f"Look at line {line}" in f.hint for f in found)


def test_wrong_answer_is_reported_at_its_store_with_the_line_at_fault() -> None:
    made, line = graded(
        "occupancy", "threads = 32; threads <= most", "threads = 33; threads <= most"
    )
    found = [f for f in errors(made) if f.kind == "wrong-output"]
    assert found and all("*block = best" in f.text for f in found)
    assert all([o.line for o in f.origins] == [line] for f in found)
    assert len({f.message for f in found}) == len(found)  # once for all cases
