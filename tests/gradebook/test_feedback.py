"""What students read about hidden cases: course.yaml decides, for all labs or for one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.faults import LabFault
from grader.gradebook.course import Course, read_course
from grader.gradebook.policy import FeedbackPolicy

BEFORE = datetime(2027, 3, 30, 21, 59, 59, tzinfo=UTC)
AFTER = datetime(2027, 3, 30, 22, 0, tzinfo=UTC)
"""Midnight in Berlin, in summer time."""


def course(folder: Path, text: str) -> Course:
    (folder / "course.yaml").write_text(f"name: CUDA\ntimezone: Europe/Berlin\n{text}")
    (folder / "course.secret").write_text("s" * 64)
    (folder / "course.secret").chmod(0o600)
    return read_course(folder)


def test_students_read_the_points_only_unless_the_course_says_more(tmp_path: Path) -> None:
    held = course(tmp_path, "labs: {vector-add: {}}\n")
    assert held.hidden_feedback("vector-add", AFTER) == "score"
    assert held.hidden_feedback("unknown", AFTER) == "score"


def test_a_lab_has_its_own_feedback(tmp_path: Path) -> None:
    text = "hidden_feedback: kind\nlabs: {vector-add: {hidden_feedback: score}, tiled-matmul: {}}\n"
    held = course(tmp_path, text)
    assert held.hidden_feedback("vector-add", AFTER) == "score"
    assert held.hidden_feedback("tiled-matmul", AFTER) == "kind"


@pytest.mark.parametrize("of_the_lab", [False, True])
def test_everything_is_shown_from_a_date_on(tmp_path: Path, of_the_lab: bool) -> None:
    date = "full_feedback_from: 2027-03-31 00:00"
    text = f"labs: {{vector-add: {{{date}}}}}\n" if of_the_lab else f"{date}\nlabs: {{}}\n"
    held = course(tmp_path, text)
    assert held.hidden_feedback("vector-add", BEFORE) == "score"
    assert held.hidden_feedback("vector-add", AFTER) == "full"


def test_another_word_is_refused_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(LabFault) as caught:
        course(tmp_path, "hidden_feedback: some\n")
    assert caught.value.where.endswith("course.yaml:3: hidden_feedback")


@pytest.mark.parametrize("policy", [FeedbackPolicy(), FeedbackPolicy("kind", AFTER)])
def test_a_policy_is_read_as_it_was_written(policy: FeedbackPolicy) -> None:
    assert FeedbackPolicy.from_json(policy.to_json()) == policy


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="hidden feedback"):
        FeedbackPolicy.from_json({"hidden": "everything"})
