"""Classroom 50's result.json, the schema `classroom50/result/v1`.

Scores are whole numbers there. The total is rounded down, so that full marks mean full marks; each
check gets its points rounded down, and the points that the total still lacks go to the checks that
lost most. The schema has no way to say that the grader failed: a row without points is not
exported, and the autograder ends with an exit code other than 0, which Classroom 50 reports as an
error and not as a score.

The names of classroom, assignment and submission come from the service's variables
(`Options.run`), which `autograder.py` passes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import floor
from typing import Any, Literal

from grader.export.fields import check_text, clipped
from grader.export.formats import ExportRow, Options
from grader.grading.record import dumps
from grader.reports.printable import printable

EACH = True
SUFFIX = ".json"
READER: Literal["student", "staff"] = "student"

SCHEMA = "classroom50/result/v1"
VARIABLES = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
}
"""Fields that identify the submission, and the service's variables that have their values."""

OPTIONAL = {"owner": "OWNER", "assignment_type": "ASSIGNMENT_TYPE"}
"""Fields that the service writes itself, with the variables where it says so beforehand."""

MAX_CHARACTERS = 4_000
"""Maximum length of one check's text."""

_ALMOST = 1e-6


def export(rows: Sequence[ExportRow], options: Options) -> str:
    """Classroom 50: result.json of one submission, for its autograder.py."""
    (row,) = rows
    return dumps(result(row, options, datetime.now(UTC)))


def row_problem(row: ExportRow, options: Options) -> str:
    """Require points, a grade, whole full marks, and the service's variables."""
    if row.points is None:
        return row.why
    if row.grade is None:
        return "there is no grade to show"
    if row.out_of != int(row.out_of):
        return f"full marks of {row.out_of:g} are not whole: add --points {int(row.out_of) + 1}"
    missing = [name for name in VARIABLES.values() if not options.run.get(name)]
    if missing:
        where = "use `grader export classroom50-autograder`, whose program the service calls"
        return f"the variable {missing[0]} of Classroom 50 is not set: {where}"
    return ""


def result(row: ExportRow, options: Options, now: datetime) -> dict[str, Any]:
    """Return the result object of a row that has no problem."""
    grade = row.grade
    assert grade is not None and row.points is not None
    scale = row.out_of / grade.score.judged_max if grade.score.judged_max else 1.0
    checks = [check for check in grade.checks if check.status not in ("unjudged", "error")]
    total, most = whole(min(row.points, row.out_of)), whole(row.out_of)
    limits = shared([check.max_points * scale for check in checks], most)
    scores = shared([check.points * scale for check in checks], total, limits)
    run = options.run
    return {
        "schema": SCHEMA,
        **{field: run[name] for field, name in VARIABLES.items()},
        **{field: run[name] for field, name in OPTIONAL.items() if run.get(name)},
        "review": run.get("REVIEW_URL") or run["COMMIT_URL"],
        "datetime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": total,
        "max-score": most,
        "tests": [
            {
                "test-name": clipped(printable(check.name), 100),
                "passed": check.status == "pass",
                "score": score,
                "max-score": limit,
                "output": check_text(check, MAX_CHARACTERS),
            }
            for check, score, limit in zip(checks, scores, limits, strict=True)
        ],
    }


def whole(points: float) -> int:
    """Return points rounded down, and never below 0."""
    return max(floor(points + _ALMOST), 0)


def shared(parts: Sequence[float], total: int, limits: Sequence[int] | None = None) -> list[int]:
    """Round parts to whole numbers that add up to `total` where their limits allow it.

    Each is rounded down; what the sum lacks goes to the parts that lost most, and what it has too
    much is taken from the last parts.

    Args:
        parts: The numbers, none below 0.
        total: The sum that the result should have.
        limits: The most that each may become.
    """
    most = limits if limits is not None else [total] * len(parts)
    rounded = [min(whole(part), limit) for part, limit in zip(parts, most, strict=True)]
    lost = sorted(range(len(parts)), key=lambda at: rounded[at] - parts[at])
    while sum(rounded) < total and (free := [at for at in lost if rounded[at] < most[at]]):
        for at in free[: total - sum(rounded)]:
            rounded[at] += 1
    for at in reversed(range(len(parts))):
        rounded[at] -= min(rounded[at], max(sum(rounded) - total, 0))
    return rounded
