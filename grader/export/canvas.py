"""A CSV file for Canvas' "Import grades".

Canvas looks a row up by Canvas ID, then by SIS User ID, then by login; a row with none of them it
would match by name, and a name is what a student writes. A row whose first cell has "Points
Possible" in it describes the assignments, whoever's name that is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from grader.export.fields import cell_problem, csv_text, spreadsheet_safe, two_decimals
from grader.export.formats import ExportRow, Options, column_title
from grader.gradebook.roster import Student

EACH = False
UNIQUE = True
SUFFIX = ".csv"
READER: Literal["student", "staff"] = "staff"

HEAD = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POINTS = "Points Possible"
NO_BREAK = "\xa0"
_NUMBERED = re.compile(r"\(\d+\)\s*$")


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """Canvas: a CSV file for Import in the gradebook; --column "TITLE (ASSIGNMENT ID)"."""
    most = max((row.out_of for row in rows), default=0.0)
    head = [*HEAD, spreadsheet_safe(column_title(rows, options))]
    return csv_text(
        [head, [f"    {POINTS}", "", "", "", "", two_decimals(most)], *map(_line, rows)]
    )


def unfit(row: ExportRow, options: Options) -> str:
    """Points are needed, and something that Canvas knows the student by."""
    if row.points is None:
        return row.why
    known = _identifiers(row.student)
    if not any(known):
        return f"the roster gives `{row.student.id}` no Canvas ID, SIS ID or login"
    return next(filter(None, map(cell_problem, known)), "")


def advice(options: Options) -> str:
    """Without an assignment's number Canvas makes another assignment."""
    if _NUMBERED.search(options.column):
        return ""
    return (
        'Canvas will offer to make a new assignment of this column; --column "TITLE (ID)", with '
        "the number that ends the assignment's address, fills one that there is"
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
    """Canvas ID, SIS ID and login. An ID is taken for Canvas' own only where there is no other:
    a university's number could be somebody else's Canvas ID.
    """
    if student.sis_id or student.login:
        return "", student.sis_id, student.login
    if student.id.isascii() and student.id.isdigit():
        return student.id, "", ""
    return "", "", "" if student.id == student.email else student.id
