"""One task performed: whatever is in it, an answer comes back."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from grader.batch import task as performing
from grader.batch.task import Answer, BatchOptions, Task, grade_task
from grader.faults import LabFault, MachineFault
from grader.grading import cases
from grader.labs.reading import load_lab
from grader.sandbox import bubblewrap as box
from grader.submissions.files import MAX_BYTES, not_a_file
from tests.command import ROOT

LAB = load_lab("vector-add")
RIGHT = (ROOT / "solutions/vector-add/vector-add.cu").read_bytes()
TASK = Task(7, "ann", "mine.cu", RIGHT)


def test_a_correct_submission_is_graded_on_all_cases() -> None:
    answer = grade_task(LAB, TASK, BatchOptions(seed=b"course"))
    assert answer.is_graded and answer.grade is not None
    assert answer.grade["score"] == answer.grade["judged_max"]
    assert {case["visibility"] for case in answer.grade["cases"]} == {"public", "hidden"}
    assert (answer.grade["student"], answer.grade["file"]) == ("ann", "mine.cu")
    assert pickle.loads(pickle.dumps((TASK, BatchOptions(), answer))) == (
        TASK,
        BatchOptions(),
        answer,
    )


@pytest.mark.parametrize(
    ("change", "expected_text"),
    [
        ({"data": b""}, "the file is empty"),
        ({"data": b"\0\1\2"}, "a binary file"),
        ({"data": bytes(MAX_BYTES + 1).replace(b"\0", b" ") + b"x"}, "larger than"),
        ({"data": b"", "refused": not_a_file("x/mine.cu", "this is a pipe").findings[0]}, "a pipe"),
        ({"data": b'extern "C" __global__ void vector_add(int'}, "does not compile"),
    ],
)
def test_a_submission_without_kernel_gets_no_points(
    change: dict[str, object], expected_text: str
) -> None:
    answer = grade_task(LAB, replace(TASK, **change), BatchOptions())  # type: ignore[arg-type]
    assert answer.is_graded and answer.grade is not None
    assert answer.grade["score"] == 0
    assert expected_text in answer.grade["checks"][0]["summary"]


def test_answers_to_the_quiz_are_marked() -> None:
    """They count beside a kernel that does not compile; none handed in is said to be none."""
    sheet = (ROOT / "solutions/vector-add/answers.yaml").read_bytes()
    shown = {}
    for answers in (sheet, b"blocks: 1\n", None):
        answer = grade_task(LAB, replace(TASK, data=b"", answers=answers), BatchOptions())
        assert answer.grade is not None
        (quiz,) = (check for check in answer.grade["checks"] if check["name"] == "quiz")
        shown[answers] = quiz["status"]
    assert shown == {sheet: "pass", b"blocks: 1\n": "fail", None: "unjudged"}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            LabFault("no", where="reference.py:3"),
            Answer(7, failure="reference.py:3: no", is_lab_fault=True),
        ),
        (RuntimeError("boo"), Answer(7, failure="grader failed: RuntimeError: boo")),
    ],
)
def test_one_failure_does_not_stop_the_others(
    error: Exception, expected: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(performing, "grade", fails)
    assert grade_task(LAB, TASK, BatchOptions()) == expected


def test_a_machine_that_fails_gives_an_incomplete_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object, **options: object) -> None:
        raise MachineFault("no memory is left", fix="end something")

    monkeypatch.setattr(cases, "run_all", fails)
    answer = grade_task(LAB, TASK, BatchOptions())
    assert answer.grade is not None and not answer.is_graded
    assert answer.grade["status"] == "incomplete"
    assert "no memory is left" in answer.reason


def test_nothing_runs_without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "_found", lambda: "no user namespaces")
    answer = grade_task(LAB, TASK, BatchOptions())
    assert answer.grade is None and "no user namespaces" in answer.reason
