"""The page that a student gets back."""

from __future__ import annotations

from dataclasses import replace

from tests.export.rows import PASSED, SECRET, a_row, made
from tests.reports.hidden import SECRETS


def test_it_shows_the_points_that_count_and_the_source() -> None:
    row = replace(a_row(PASSED), points=7.5, out_of=10.0, note="1 h late: 25 % off")
    text, left = made("html", replace(row, source="int marked_line;\n"))
    assert left == ()
    assert "7.5 of 10" in text and "1 h late: 25 % off" in text
    assert "marked_line" in text
    assert row.student.name in text


def test_a_student_s_page_has_no_secret_and_no_other_student() -> None:
    text, _ = made("html", a_row(SECRET))
    assert [secret for secret in SECRETS if secret in text] == []
    assert "index.html" not in text and 'rel="next"' not in text


def test_points_without_a_grade_are_left_out() -> None:
    text, left = made("html", replace(a_row(PASSED), grade=None, why="missing"))
    assert text == "" and [item.why for item in left] == ["missing"]
