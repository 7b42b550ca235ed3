"""Nothing that tells a hidden case's size or values is left in a student's grade."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.result import Verdict
from grader.grading.record import dumps
from grader.launch import Finding, LineCounters
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


def test_nothing_but_points_is_left_of_hidden_cases() -> None:
    shown = redact(GRADE)
    assert shown.score == GRADE.score
    assert [(c.points, c.max_points) for c in shown.checks] == [
        (c.points, c.max_points) for c in GRADE.checks
    ]
    assert all(f.cases == ("square",) for c in shown.checks for f in c.findings)
    assert [case.name for case in shown.cases] == ["square"]


def test_kinds_are_shown_without_place_count_and_value() -> None:
    shown = redact(GRADE, "kind")
    assert [secret for secret in SECRETS if secret in everything(shown)] == []
    (finding,) = shown.checks[0].findings
    assert (finding.kind, finding.line, finding.text, finding.count) == ("wrong-output", 0, "", 1)
    assert finding.message == "wrong output in a hidden case"
    assert [(case.name, case.status) for case in shown.cases] == [
        ("square", "pass"), ("hidden-1", "fail"),
    ]  # fmt: skip


def test_full_feedback_shows_all_but_a_hidden_check() -> None:
    shown = redact(GRADE, "full")
    assert shown.cases == GRADE.cases
    assert shown.checks[0].findings == GRADE.checks[0].findings
    assert (shown.checks[3].summary, shown.checks[3].findings) == ("", ())


def test_the_verdict_on_the_public_cases_is_what_a_student_reads() -> None:
    alone = Verdict("fail", "race in 1 of 1 cases", findings=(PUBLIC,), cases={"square": "fail"})
    grade = replace(GRADE, checks=(replace(GRADE.checks[1], public=alone),))
    (check,) = redact(grade).checks
    assert (check.status, check.summary, check.findings) == ("fail", alone.summary, (PUBLIC,))


def test_points_that_hidden_cases_changed_are_explained() -> None:
    alone = Verdict("pass", "1 of 1 cases right", share=1.0, cases={"square": "pass"})
    output = a_result("output", "fail", 20, 40, summary="1 of 2 cases right", public=alone)
    (check,) = redact(a_grade(output, cases=CASES)).checks
    assert (check.status, check.points) == ("fail", 20)
    assert check.summary == (
        "in the public cases: 1 of 1 cases right; these points count hidden cases too"
    )


def test_an_old_record_keeps_its_points_alone() -> None:
    old = a_grade(a_result("sync", "fail", summary="race in 4711 of 2 cases"), cases=CASES)
    (check,) = redact(old).checks
    assert (check.summary, check.findings) == ("these points count hidden cases too", ())


def test_an_old_record_keeps_the_errors_of_the_compiler() -> None:
    wrong = Finding("compile-error", "error", "expected a ;", "tiled.cu", 3)
    compiled = a_result("compile", "fail", 0, 0, summary="1 error", findings=(wrong,))
    assert redact(a_grade(compiled, cases=CASES)).checks == (compiled,)


def test_a_system_error_in_a_hidden_case_says_no_more() -> None:
    broken = a_grade(a_result("output", "error", summary="case ragged-4711 died"), cases=CASES)
    (check,) = redact(broken).checks
    assert (check.status, check.summary) == ("error", "system error (not your submission)")


def test_a_grade_without_hidden_cases_is_unchanged() -> None:
    public = a_grade(a_result("sync", "fail", findings=(PUBLIC,)), cases=CASES[:1])
    assert redact(public) == public


def test_a_copy_stays_as_it_is() -> None:
    assert redact(redact(GRADE), "full") == redact(GRADE)


def test_durations_and_digests_are_blank() -> None:
    made = redact(GRADE).provenance
    assert (made.seconds, made.seed, made.lab_sha256) == (0.0, "", "")


def test_counters_of_a_hidden_case_are_dropped_and_those_of_a_public_one_kept() -> None:
    lines = (LineCounters(8, {"sectors": 4711.0}),)
    assert redact(replace(GRADE, lines=lines, lines_on="ragged-4711")).lines == ()
    assert redact(replace(GRADE, lines=lines, lines_on="square")).lines == lines
