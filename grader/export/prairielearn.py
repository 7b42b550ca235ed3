"""PrairieLearn's results.json for external graders.

A score is a share from 0 to 1. A submission that could not be evaluated is not gradable: it gets no
points and the student keeps the attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from grader.checks.result import Result
from grader.checks.suite import check_info
from grader.export.fields import MAX_CHARACTERS, clipped, details, summary
from grader.export.formats import ExportRow, Options
from grader.grading.record import Grade, dumps
from grader.reports.printable import printable
from grader.reports.text import render, score_line

EACH = True
SUFFIX = ".json"
READER: Literal["student", "staff"] = "student"

MAX_BYTES = 1_000_000
"""PrairieLearn rejects files over 1 MB; this is below both 10^6 and 2^20 bytes."""


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """PrairieLearn: results.json of one submission."""
    (row,) = rows
    limit = MAX_CHARACTERS
    text = dumps(results(row, limit))
    while len(text.encode()) > MAX_BYTES and limit:
        limit //= 2
        text = dumps(results(row, limit))
    return text


def row_problem(row: ExportRow, options: Options) -> str:
    """Require a grade; one without points is exported as not gradable."""
    return "" if row.grade else row.why or "there is no grade to show"


def results(row: ExportRow, limit: int = MAX_CHARACTERS) -> dict[str, Any]:
    """Return the results object; no text in it has more than `limit` characters."""
    grade = row.grade
    assert grade is not None
    if row.points is None or not row.out_of:
        why = clipped(row.why or "no check can be evaluated here", limit)
        return {"gradable": False, "format_errors": [why], "message": why}
    message = render(score_line(grade)).rstrip("\n")
    message += f"\n{printable(row.note)}" if row.note else ""
    return {
        "gradable": True,
        "score": row.share,
        "message": clipped(message, limit),
        "output": clipped(_cases(grade), limit),
        "tests": [_test(c, limit) for c in grade.checks if c.status != "unjudged"],
    }


def _test(check: Result, limit: int) -> dict[str, Any]:
    known = check_info(check.name)
    return {
        "name": clipped(printable(check.name), 100),
        "description": known.title if known else "The file compiles.",
        "points": check.points,
        "max_points": check.max_points,
        "message": clipped(summary(check), limit),
        "output": details(check, limit),
    }


def _cases(grade: Grade) -> str:
    """List one line per case."""
    lines = (
        f"{case.status:<8} {printable(case.name)} {printable(case.size)}" for case in grade.cases
    )
    return "\n".join(line.rstrip() for line in lines)
