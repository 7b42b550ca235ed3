"""A CSV file for Moodle's "Import: CSV file" in the grader report.

Moodle rejects the whole file when it does not find one student. An empty cell removes an existing
grade. The feedback is HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

from grader.checks.result import Result
from grader.export.fields import (
    cell_problem,
    clipped,
    csv_text,
    one_line,
    spreadsheet_safe,
    summary,
    two_decimals,
)
from grader.export.formats import ExportRow, Options, column_title
from grader.reports.classes import main_finding

EACH = False
UNIQUE = True
SUFFIX = ".csv"
READER: Literal["student", "staff"] = "student"

HEADS = {"email": "Email address", "id": "ID number"}
MAX_CHARACTERS = 2_000
"""Maximum length of the feedback."""


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """Moodle: a CSV file for Import in the grader report; --identifier email or id."""
    name = spreadsheet_safe(column_title(rows, options))
    head = [HEADS[options.identifier], name, f"{name} (feedback)"]
    return csv_text([head, *(_line(row, options) for row in rows)])


def row_problem(row: ExportRow, options: Options) -> str:
    """Require points, and an identifier that a spreadsheet does not change."""
    if row.points is None:
        return row.why
    known = _identifier(row, options)
    if not known:
        what = "the e-mail address is unknown"
        other = "name the course with --course DIR, or "
        if row.enrolled is not None:
            what, other = "the roster has no e-mail address", ""
        return f"{what}: {other}use --identifier id for the ID number"
    return cell_problem(known)


def _identifier(row: ExportRow, options: Options) -> str:
    return row.student.email if options.identifier == "email" else row.student.id


def _line(row: ExportRow, options: Options) -> list[str]:
    assert row.points is not None
    return [_identifier(row, options), two_decimals(row.points), feedback(row)]


def feedback(row: ExportRow) -> str:
    """Return one line of HTML: lateness or override, the main finding, every check."""
    main = main_finding(row.grade) if row.grade else ""
    parts = [one_line(row.note), f"main finding: {main}" if main else ""]
    parts += [_check_feedback(check) for check in row.grade.checks] if row.grade else []
    text = "; ".join(filter(None, parts))
    return spreadsheet_safe(escape(clipped(text, MAX_CHARACTERS), quote=False))


def _check_feedback(check: Result) -> str:
    """Return a check's line; "" when it was not evaluated, or passed and is worth no points."""
    if check.status in ("unjudged", "error") or (check.status == "pass" and not check.max_points):
        return ""
    earned = f" {check.points:g} of {check.max_points:g}" if check.max_points else ""
    return one_line(f"{check.name}{earned}: {summary(check)}")
