"""Markdown: one grade for the summary of a job on GitHub or GitLab, or for a release's text.

What a kernel printed, and names that a student chose, are inside a fenced block that no line of
them can end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from grader import regex
from grader.export.fields import clipped, one_line
from grader.export.formats import ExportRow, Options
from grader.reports.text import grade_report, render

EACH = True
SUFFIX = ".md"
READER: Literal["student", "staff"] = "student"

MAX_CHARACTERS = 60_000
"""Maximum length of the report: a release's text has at most 125,000 characters."""

_MARKS = {"pass": "pass", "fail": "fail", "blocked": "not earned", "unjudged": "not evaluated"}
_SPECIAL = regex(r"([\\`*_{}\[\]<>()#+!|~&@:])")


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """Markdown: one submission, for the summary of a job on GitHub or GitLab."""
    (row,) = rows
    grade = row.grade
    assert grade is not None
    points = "no points: system error" if row.points is None else _points(row.points, row.out_of)
    table = ["| Check | Result | Points |", "| --- | --- | ---: |"]
    for check in grade.checks:
        mark = _MARKS.get(check.status, "system error")
        table.append(
            f"| {_escaped(check.name)} | {mark} | {check.points:g} of {check.max_points:g} |"
        )
    report = clipped(render(grade_report(grade)).rstrip("\n"), MAX_CHARACTERS)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", report)), default=0))
    head = f"### {_escaped(grade.lab)}: {points}"
    return "\n".join([head, "", *table, "", f"{fence}text", report, fence, ""])


def row_problem(row: ExportRow, options: Options) -> str:
    """Require a grade; an incomplete one says that the machine failed."""
    return "" if row.grade else row.why or "there is no grade to show"


def _points(points: float, out_of: float) -> str:
    return f"{points:g} of {out_of:g} points"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", one_line(clipped(text, 100)))
