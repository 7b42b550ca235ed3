"""Gradescope's results.json, by its autograder specification.

The file cannot say that the grader failed: Gradescope rejects a file without a score, and a file
with a score is a grade. So a row without points is not exported. Without a file Gradescope reports
that the autograder failed, and an instructor runs it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from grader.checks.result import Result
from grader.export.fields import check_text, clipped
from grader.export.formats import ExportRow, Options
from grader.grading.record import dumps
from grader.reports.printable import printable
from grader.reports.text import render, score_line

EACH = True
SUFFIX = ".json"
READER: Literal["student", "staff"] = "student"


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """Gradescope: results.json of one submission."""
    (row,) = rows
    return dumps(results(row))


def row_problem(row: ExportRow, options: Options) -> str:
    """Require points and a grade."""
    if row.points is None:
        return row.why
    return "" if row.grade else "there is no grade to show"


def results(row: ExportRow) -> dict[str, Any]:
    """Return the results object of a row that has no problem.

    The checks' points are in the row's scale. `score` counts, after lateness and override.
    """
    grade = row.grade
    assert grade is not None and row.points is not None
    scale = row.out_of / grade.score.judged_max if grade.score.judged_max else 1.0
    evaluated = [check for check in grade.checks if check.status not in ("unjudged", "error")]
    output = render(score_line(grade)).rstrip("\n")
    seconds = round(grade.provenance.seconds, 3)
    return {
        "score": row.points,
        **({"execution_time": seconds} if seconds else {}),
        "output": f"{output}\n{printable(row.note)}" if row.note else output,
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(check, str(n), scale) for n, check in enumerate(evaluated, start=1)],
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
