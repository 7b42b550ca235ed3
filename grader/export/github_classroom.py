"""GitHub Classroom's autograding: what its reporter takes from a step, as base64.

The reporter adds up the scores of all tests and compares with `max_score`; a `max_score` of 0
keeps it from reporting anything, which is what a failure of the machine asks for.
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
"""Characters of a test's message: a step's outputs may hold 1 MB together."""


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """GitHub Classroom: a runner's result as one line of base64."""
    (row,) = rows
    text = json.dumps(results(row), allow_nan=False)
    return base64.b64encode(text.encode()).decode() + "\n"


def unfit(row: ExportRow, options: Options) -> str:
    """A grade is needed; one that the machine failed is told as an error."""
    return "" if row.grade else row.why or "there is no grade to show"


def results(row: ExportRow) -> dict[str, Any]:
    """The result object of a row that is fit."""
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
