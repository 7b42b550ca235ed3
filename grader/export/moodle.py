"""A CSV file for Moodle's "Import: CSV file" in the grader report.

Moodle refuses the whole file for one student whom it does not find, and gives an empty cell as
"no grade", which would take one away. Its feedback is HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

from grader.export.row import ExportRow, Options, title
from grader.export.sheet import harmless, number, one_line, sheet
from grader.export.words import clipped, summary
from grader.report.classes import main_finding

EACH = False
SUFFIX = ".csv"
READER: Literal["student", "staff"] = "student"

HEADS = {"email": "Email address", "id": "ID number"}
LONGEST = 2_000
"""Characters of the feedback."""


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """Moodle: a CSV file for Import in the grader report; --identifier email or id."""
    name = harmless(title(rows, options))
    head = [HEADS[options.identifier], name, f"{name} (feedback)"]
    return sheet([head, *(_line(row, options.identifier) for row in rows)])


def unfit(row: ExportRow) -> str:
    """Points are needed, and an identifier that a spreadsheet leaves alone."""
    if row.points is None:
        return row.why
    for said in (row.student.id, row.student.email):
        if said and harmless(said) != said:
            return f"`{said}` would be a formula in a spreadsheet"
    return ""


def _line(row: ExportRow, identifier: str) -> list[str]:
    assert row.points is not None
    student = row.student
    known = (student.email or student.id) if identifier == "email" else student.id
    return [known, number(row.points), feedback(row)]


def feedback(row: ExportRow) -> str:
    """One line: what every check said, and what lateness or an override did; as HTML."""
    parts = [one_line(row.note)]
    if row.grade:
        main = main_finding(row.grade)
        parts += [f"main finding: {main}"] if main else []
        parts += [f"{c.name}: {c.points:g} of {c.max_points:g}, {summary(c)}"
                  for c in row.grade.checks if c.status not in ("unjudged", "error")]  # fmt: skip
    text = "; ".join(one_line(part) for part in parts if part)
    return harmless(escape(clipped(text, LONGEST), quote=False))
