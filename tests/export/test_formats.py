"""What holds for every format, whichever it is."""

from __future__ import annotations

import pytest

from grader.export.fields import clipped
from grader.export.formats import (
    Format,
    Options,
    find_format,
    format_names,
    row_from_grade,
    scale_points,
)
from grader.faults import LabFault
from tests.export.rows import FAILED, PASSED, RUN, SECRET, a_row, every_format, graded, made
from tests.reports.hidden import SECRETS

NAMES = ("canvas", "check50", "classroom50", "csv", "gradescope", "html", "junit", "markdown",
         "moodle", "prairielearn")  # fmt: skip
SCORELESS = {"gradescope", "canvas", "moodle", "classroom50"}
"""Formats that have no way to say that the machine failed: such a row stays out of them."""


def test_formats_are_found_by_name() -> None:
    assert format_names() == NAMES
    assert all(format.title for format in every_format())


def test_the_format_of_a_retired_service_names_what_replaces_it() -> None:
    with pytest.raises(LabFault, match="GitHub Classroom was retired on August 28, 2026") as caught:
        find_format("github-classroom")
    assert "classroom50-autograder" in caught.value.fix and "github-template" in caught.value.fix


def test_a_wrong_name_gets_the_closest_match() -> None:
    with pytest.raises(LabFault, match="did you mean `gradescope`"):
        find_format("gradscope")


@pytest.mark.parametrize("format", every_format(), ids=lambda f: f.name)
def test_students_never_read_a_secret(format: Format) -> None:
    text, left = made(format.name, a_row(SECRET))
    assert text and not left
    if format.reader == "student":
        assert [secret for secret in SECRETS if secret in text] == []
    assert not any(secret in text for secret in SECRETS if format.name == "canvas")


@pytest.mark.parametrize("format", every_format(), ids=lambda f: f.name)
def test_without_redaction_students_would_read_secrets(format: Format) -> None:
    """The same text without it has the secret, or the test above could not fail."""
    if format.reader == "staff":
        return
    text = format.export([a_row(SECRET)], Options(run=RUN))
    assert "4711" in text


@pytest.mark.parametrize("format", every_format(), ids=lambda f: f.name)
def test_a_system_error_is_no_score(format: Format) -> None:
    text, left = made(format.name, a_row(FAILED), a_row(PASSED, id="7")) if not format.each else (
        made(format.name, a_row(FAILED))
    )  # fmt: skip
    assert [item.row.student.id for item in left] == (["4242"] if format.name in SCORELESS else [])
    if format.name in SCORELESS:
        assert "4242" not in text and "system error" in left[0].why


def test_a_grade_without_a_roster_goes_by_its_file() -> None:
    row = row_from_grade(graded())
    assert (row.student.id, row.points, row.out_of) == ("ada", 70, 85)


@pytest.mark.parametrize(
    ("points", "out_of", "scale", "expected"),
    [(70, 85, 10, 8.24), (0, 0, 10, 0), (None, 85, 10, None)],
)
def test_scaled(points: float | None, out_of: float, scale: float, expected: float | None) -> None:
    from dataclasses import replace

    row = scale_points(replace(a_row(PASSED), points=points, out_of=out_of), scale)
    assert (row.points, row.out_of) == (expected, scale)


@pytest.mark.parametrize("limit", [0, 10, 59, 60, 61, 100, 5000])
def test_clipped(limit: int) -> None:
    text = "a" * 1000
    cut = clipped(text, limit)
    assert len(cut) <= limit and (cut == text) == (limit >= 1000)
    if 60 < limit < 1000:
        assert cut.endswith("characters more")
