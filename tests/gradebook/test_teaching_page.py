"""The instructors' page: its course.yaml is one, and its numbers are what the rules give."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from grader.gradebook.course import Course, CourseLab, CourseModel, LateRule, read_course
from grader.gradebook.policy import lateness
from tests.command import ROOT, grader

PAGE = (ROOT / "handouts" / "teaching.md").read_text("utf-8")


@pytest.fixture
def course(tmp_path: Path) -> Course:
    block = PAGE.split("\n## course.yaml\n")[1].split("\n\n|")[0]
    (tmp_path / "course.yaml").write_text(dedent(block))
    (tmp_path / "roster.csv").write_text("Student,ID\nAda,1\n")
    (tmp_path / "course.secret").write_text("s" * 64)
    (tmp_path / "course.secret").chmod(0o600)
    return read_course(tmp_path)


def test_the_example_is_read(course: Course) -> None:
    assert list(course.labs) == ["vector-add", "tiled-matmul", "sgemm-ladder"]
    assert course.gradebook == str(course.folder / "course.db")
    assert (course.policy("tiled-matmul").counts, course.policy("vector-add").counts) == (
        "best", "last",
    )  # fmt: skip
    assert course.policy("sgemm-ladder").late == ()


def test_a_day_and_a_minute(course: Course) -> None:
    policy = course.policy("tiled-matmul")
    assert policy.due is not None
    share = lateness(policy, policy.due + timedelta(days=1, minutes=1)).share_kept
    assert f"keeps {100 * share:g} % of its points" in " ".join(PAGE.split())


def test_every_key_is_explained() -> None:
    keys = [*CourseModel.model_fields, *CourseLab.model_fields, *LateRule.model_fields]
    assert [key for key in keys if not re.search(rf"\b{key}\b", PAGE)] == []


def test_every_command_is_there() -> None:
    named = set(re.findall(r"grader gradebook ([a-z]+) ?", PAGE))
    shown = grader("gradebook", "--help").out.split("Commands:")[1]
    assert named == {line.split()[0] for line in shown.splitlines() if line.strip()}
