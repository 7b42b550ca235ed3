"""PrairieLearn's results.json for external graders.

A score is a share from 0 to 1. What could not be judged is not gradable: no points are given or
taken, and the student keeps the attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from grader.checks.result import Result
from grader.checks.suite import check_info
from grader.export.fields import MAX_CHARACTERS, clipped, details, summary
from grader.export.formats import ExportRow, Options
from grader.grading.record import Grade
from grader.reports.json import dumps
from grader.reports.printable import printable
from grader.reports.text import render, score_line

EACH = True
SUFFIX = ".json"
READER: Literal["student", "staff"] = "student"

MAX_BYTES = 1_000_000
"""PrairieLearn drops larger files; whether its 1 MB is 10^6 or 2^20 bytes, this is below."""


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """PrairieLearn: results.json of one submission."""
    (row,) = rows
    limit = MAX_CHARACTERS
    text = dumps(results(row, limit))
    while len(text.encode()) > MAX_BYTES and limit:
        limit //= 2
        text = dumps(results(row, limit))
    return text


def unfit(row: ExportRow, options: Options) -> str:
    """A grade is needed; one without points is told as not gradable."""
    return "" if row.grade else row.why or "there is no grade to show"


def results(row: ExportRow, limit: int = MAX_CHARACTERS) -> dict[str, Any]:
    """The results object of a row that is fit; no text in it has more than `limit` characters."""
    grade = row.grade
    assert grade is not None
    if row.points is None or not row.out_of:
        why = clipped(row.why or "nothing of this can be judged here", limit)
        return {"gradable": False, "format_errors": [why], "message": why}
    said = render(score_line(grade)).rstrip("\n")
    return {
        "gradable": True,
        "score": row.share,
        "message": clipped(f"{said}\n{printable(row.note)}" if row.note else said, limit),
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
    """One line a case."""
    lines = (
        f"{case.status:<8} {printable(case.name)} {printable(case.size)}" for case in grade.cases
    )
    return "\n".join(line.rstrip() for line in lines)
