"""GitHub Classroom's autograding: the result of a step that its reporter reads, as base64.

The reporter adds up the scores of all tests and compares the sum with `max_score`. With a
`max_score` of 0 it reports nothing, which is right for a system error.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, Literal

from grader.checks.result import Result
from grader.export.fields import check_text, clipped
from grader.export.formats import ExportRow, Options
from grader.grading.record import Grade
from grader.reports.printable import printable

EACH = True
SUFFIX = ".txt"
READER: Literal["student", "staff"] = "student"

MAX_CHARACTERS = 4_000
"""Maximum length of a test's message: the outputs of a step have at most 1 MB together."""


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """GitHub Classroom: a runner's result as one line of base64."""
    (row,) = rows
    text = json.dumps(results(row), allow_nan=False)
    return base64.b64encode(text.encode()).decode() + "\n"


def row_problem(row: ExportRow, options: Options) -> str:
    """Require a grade; an incomplete one is exported as an error."""
    return "" if row.grade else row.why or "there is no grade to show"


def results(row: ExportRow) -> dict[str, Any]:
    """Return the result object of a row that has no problem."""
    grade = row.grade
    assert grade is not None
    failed = row.points is None
    return {
        "version": 1,
        "status": _status(grade, failed),
        "max_score": 0 if failed else grade.score.judged_max,
        "tests": [_test(check, failed) for check in grade.checks if check.status != "unjudged"],
    }


def _status(grade: Grade, failed: bool) -> str:
    if failed:
        return "error"
    return "fail" if grade.exit_code else "pass"


def _test(check: Result, failed: bool) -> dict[str, Any]:
    status = {"pass": "pass", "error": "error"}.get(check.status, "fail")
    line = next((f.line for f in check.findings if f.severity == "error" and f.line), 0)
    return {
        "name": clipped(printable(check.name), 100),
        "status": status,
        "score": 0 if failed else check.points,
        "message": check_text(check, MAX_CHARACTERS),
        "line_no": line,
        "test_code": "",
    }
