"""Nothing that tells a hidden case's size or values is left in a student's grade."""

from __future__ import annotations

from dataclasses import replace

from grader.launch import Finding, LineCounters
from grader.reports.json import dumps
from grader.reports.redact import redact
from grader.reports.text import grade_report, render
from tests.made import RACE, a_grade, a_result
from tests.reports.hidden import CASES, SECRETS

HIDDEN = Finding(
    "wrong-output",
    "error",
    "3 of 9097141 elements of C are wrong; the first is C[4711, 1931] = 0.8151",
    file="tiled.cu",
    line=8,
    text="C[row * n + col] = sum;",
    count=4711,
    block=(4711, 1, 0),
    thread=(0, 1, 0),
    hint="1931 columns",
    detail="0.8151",
    cases=("ragged-4711",),
)
PUBLIC = replace(RACE, cases=("square",))
SHADOW = replace(RACE, message="hazard at 4711", cases=("ragged-4711",))
GRADE = a_grade(
    a_result("output", "fail", cases={"square": "pass", "ragged-4711": "fail"}, findings=(HIDDEN,)),
    a_result("sync", "fail", findings=(PUBLIC, SHADOW)),
    a_result("traffic", "fail", summary="4711 bytes", measured_on="ragged-4711",
             measurements={"bytes": 4711}),
    a_result("style", "fail", summary="4711", visibility="hidden", findings=(HIDDEN,)),
    cases=CASES,
)  # fmt: skip


def everything(grade: object) -> str:
    shown = render(grade_report(grade))  # type: ignore[arg-type]
    return dumps(grade.to_json()) + shown + repr(grade)  # type: ignore[attr-defined]


def test_the_whole_grade_has_secrets_in_it() -> None:
    assert all(secret in everything(GRADE) for secret in SECRETS)


def test_no_secret_is_left() -> None:
    result = everything(redact(GRADE))
    assert [secret for secret in SECRETS if secret in result] == []


def test_the_student_still_learns_what_and_where() -> None:
    (finding,) = redact(GRADE).checks[0].findings
    assert (finding.kind, finding.line, finding.text) == (HIDDEN.kind, 8, HIDDEN.text)
    assert finding.message == "wrong output in a hidden case"
    assert finding.hint


def test_points_and_public_findings_stay() -> None:
    result = redact(GRADE)
    assert result.score == GRADE.score
    assert result.checks[1].findings == (PUBLIC,)
    assert [case.name for case in result.cases] == ["square", "hidden-1"]
    assert [case.status for case in result.cases] == ["pass", "fail"]


def test_a_grade_without_hidden_cases_is_unchanged() -> None:
    public = a_grade(a_result("sync", "fail", findings=(PUBLIC,)), cases=CASES[:1])
    assert redact(public) == public


def test_counters_of_a_hidden_case_are_dropped_and_those_of_a_public_one_kept() -> None:
    lines = (LineCounters(8, {"sectors": 4711.0}),)
    assert redact(replace(GRADE, lines=lines, lines_on="ragged-4711")).lines == ()
    assert redact(replace(GRADE, lines=lines, lines_on="square")).lines == lines
