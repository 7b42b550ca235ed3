"""A page a student, to hand back: what was found, beside the source where the gradebook has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grader.export.row import ExportRow, Options
from grader.report.page.render import pages
from grader.report.page.row import ReportRow
from grader.report.page.student import student_view

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
    return pages().student(student_view(shown, with_seed=False)).decode()


def unfit(row: ExportRow, options: Options) -> str:
    """Points without a grade have nothing to be shown beside."""
    return "" if row.grade else row.why or "there is no grade to show"
