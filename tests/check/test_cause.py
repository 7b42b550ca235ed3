"""Which findings are told with the lines that their place depends on, and how they are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.check.cause import with_origins
from grader.launch import Finding, Origin
from grader.record import check_json
from grader.report.finding import finding_text
from tests.made import RACE, a_program, a_result

STRAY = Finding("invalid-access", "error", "out-of-bounds read", "tiled.cu", 7, thread=(0, 1, 0))
FROM = (Origin("As", 4), Origin("col", 5), Origin("row", 5), Origin("As", 6))


def traced(finding: Finding) -> Finding:
    (result,) = with_origins([a_result("memory", "fail", findings=(finding,))], a_program())
    return result.findings[0]


def test_an_error_is_told_with_its_origins() -> None:
    named = {(o.name, o.line) for o in traced(STRAY).origins}
    assert named == {("As", 4), ("col", 5), ("As", 6)}


def test_neither_place_of_a_hazard_is_the_others_origin() -> None:
    assert {o.line for o in traced(RACE).origins} == {4, 5}


@pytest.mark.parametrize(
    "finding",
    [
        replace(STRAY, severity="warning"),
        replace(STRAY, kind="compile-error"),
        replace(STRAY, kind="missing-feature"),
        replace(STRAY, line=0),
        replace(STRAY, line=1),
    ],
)
def test_others_are_left_as_they_are(finding: Finding) -> None:
    assert traced(finding) == finding


def test_they_are_shown_by_line() -> None:
    text = finding_text(replace(STRAY, origins=FROM)).plain
    due = "what happens there also depends on `As` (line 4), `col`, `row` (line 5), `As` (line 6)"
    assert " ".join(text.split()).endswith(due)
    assert "depends on" not in finding_text(STRAY).plain


def test_they_are_in_the_json() -> None:
    (finding,) = check_json(a_result("memory", "fail", findings=(traced(STRAY),)))["findings"]
    assert {"name": "col", "line": 5} in finding["origins"]
