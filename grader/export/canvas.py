"""A CSV file for Canvas' "Import grades".

Canvas finds a student by Canvas ID, then SIS User ID, then login. Without any of them it would
match the name, which students choose themselves. A row whose first cell contains "Points Possible"
describes the assignments, even when that is a student's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grader import regex
from grader.export.fields import cell_problem, csv_text, spreadsheet_safe, two_decimals
from grader.export.formats import ExportRow, Options, column_title
from grader.gradebook.ledger import Student

EACH = False
UNIQUE = True
SUFFIX = ".csv"
READER: Literal["student", "staff"] = "staff"

HEAD = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POINTS = "Points Possible"
NO_BREAK = "\xa0"
_NUMBERED = regex(r"\(\d+\)\s*$")


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """Canvas: a CSV file for Import in the gradebook; --column "TITLE (ASSIGNMENT ID)"."""
    most = max((row.out_of for row in rows), default=0.0)
    head = [*HEAD, spreadsheet_safe(column_title(rows, options))]
    return csv_text(
        [head, [f"    {POINTS}", "", "", "", "", two_decimals(most)], *map(_line, rows)]
    )


def row_problem(row: ExportRow, options: Options) -> str:
    """Require points, and an identifier that Canvas knows."""
    if row.points is None:
        return row.why
    known = _identifiers(row.student)
    if not any(known):
        return f"the roster has no Canvas ID, SIS ID or login for `{row.student.id}`"
    return next(filter(None, map(cell_problem, known)), "")


def advice(options: Options) -> str:
    """Say that Canvas creates a new assignment when the column has no assignment ID."""
    if _NUMBERED.search(options.column):
        return ""
    return (
        "Canvas will offer to create a new assignment for this column. To fill an existing one, "
        'use --column "TITLE (ID)" with the number at the end of the assignment\'s address.'
    )


def _line(row: ExportRow) -> list[str]:
    assert row.points is not None
    student = row.student
    name = spreadsheet_safe(student.name or student.id).replace(
        POINTS, POINTS.replace(" ", NO_BREAK)
    )
    return [
        name,
        *_identifiers(student),
        spreadsheet_safe(student.section),
        two_decimals(row.points),
    ]


def _identifiers(student: Student) -> tuple[str, str, str]:
    """Return Canvas ID, SIS ID and login.

    The roster's ID counts as the Canvas ID only when there is no other identifier: a university's
    number could be another student's Canvas ID.
    """
    if student.sis_id or student.login:
        return "", student.sis_id, student.login
    if student.id.isascii() and student.id.isdigit():
        return student.id, "", ""
    return "", "", "" if student.id == student.email else student.id
