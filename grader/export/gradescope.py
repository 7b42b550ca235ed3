"""Gradescope's results.json, as its autograder specification has it.

There is no way in it to say that the grader failed: a file without a score is refused and one
with a score is a grade. So a row without points is unfit, and no file at all makes Gradescope say
that the autograder failed, which an instructor sees and runs again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from grader.checks.result import Result
from grader.export.fields import check_text, clipped
from grader.export.formats import ExportRow, Options
from grader.reports.json import dumps
from grader.reports.printable import printable
from grader.reports.text import render, score_line

EACH = True
SUFFIX = ".json"
READER: Literal["student", "staff"] = "student"


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """Gradescope: results.json of one submission."""
    (row,) = rows
    return dumps(results(row))


def unfit(row: ExportRow, options: Options) -> str:
    """Without points there is no results.json; without a grade there is nothing to show."""
    if row.points is None:
        return row.why
    return "" if row.grade else "there is no grade to show"


def results(row: ExportRow) -> dict[str, Any]:
    """The results object of a row that is fit. The checks' points are shown in the row's scale;
    `score` is what counts, after lateness and override.
    """
    grade = row.grade
    assert grade is not None and row.points is not None
    scale = row.out_of / grade.score.judged_max if grade.score.judged_max else 1.0
    judged = [check for check in grade.checks if check.status not in ("unjudged", "error")]
    said = render(score_line(grade)).rstrip("\n")
    return {
        "score": row.points,
        "execution_time": round(grade.provenance.seconds, 3),
        "output": f"{said}\n{printable(row.note)}" if row.note else said,
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(check, str(n), scale) for n, check in enumerate(judged, start=1)],
        "extra_data": {"submission_sha256": grade.submission_sha256, "lab": grade.lab},
    }


def _test(check: Result, number: str, scale: float) -> dict[str, Any]:
    return {
        "name": clipped(printable(check.name), 100),
        "number": number,
        "score": round(check.points * scale, 2),
        "max_score": round(check.max_points * scale, 2),
        "status": "passed" if check.status == "pass" else "failed",
        "output": check_text(check),
        "visibility": "visible",
    }
