"""A plain CSV table for the instructor: every student, every check, every note."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grader.checks.result import Result
from grader.export.fields import csv_text, spreadsheet_safe, two_decimals
from grader.export.formats import ExportRow, Options
from grader.reports.classes import main_finding

EACH = False
SUFFIX = ".csv"
READER: Literal["student", "staff"] = "staff"

HEAD = ("id", "name", "email", "section", "file", "points", "out of", "status", "note")


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """A plain table: points of each check, status, notes, main finding."""
    checks = dict.fromkeys(
        check.name for row in rows if row.grade for check in row.grade.checks if check.max_points
    )
    head = [*HEAD, *map(spreadsheet_safe, checks), "main finding", "sha256"]
    return csv_text([head, *(_line(row, tuple(checks)) for row in rows)])


def row_problem(row: ExportRow, options: Options) -> str:
    """Accept every row."""
    return ""


def _line(row: ExportRow, checks: tuple[str, ...]) -> list[str]:
    student, grade = row.student, row.grade
    who = [student.id, student.name, student.email, student.section, grade.file if grade else ""]
    points = "" if row.points is None else two_decimals(row.points)
    status = grade.score.status if grade and not row.why else row.why
    results = {check.name: check for check in grade.checks} if grade else {}
    return [
        *map(spreadsheet_safe, who),
        points,
        two_decimals(row.out_of),
        spreadsheet_safe(status),
        spreadsheet_safe(row.note),
        *(_mark(results.get(name)) for name in checks),
        spreadsheet_safe(main_finding(grade)) if grade else "",
        spreadsheet_safe(grade.submission_sha256) if grade else "",
    ]


def _mark(check: Result | None) -> str:
    """Return the points, or the status of a check that was not evaluated or had a system error."""
    if check is None:
        return ""
    return check.status if check.status in ("unjudged", "error") else two_decimals(check.points)
