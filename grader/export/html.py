"""One HTML page per student: findings and, when the gradebook has it, the source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grader.export.formats import ExportRow, Options
from grader.reports.classes import ReportRow
from grader.reports.page.student import student_view
from grader.reports.page.write import load_templates

EACH = True
SUFFIX = ".html"
READER: Literal["student", "staff"] = "student"


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """HTML: the page of one submission, for its student to read."""
    (row,) = rows
    assert row.grade is not None
    name = row.student.name or row.student.id
    shown = ReportRow(
        name, row.grade, row.source, late=row.note, points=row.points, most=row.out_of
    )
    return load_templates().student(student_view(shown, with_seed=False)).decode()


def row_problem(row: ExportRow, options: Options) -> str:
    """Require a grade."""
    return "" if row.grade else row.why or "there is no grade to show"
