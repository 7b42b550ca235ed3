"""Small grades for tests of the gradebook."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)


def a_course(expected: str, points: int) -> str:
    """A course.yaml of one lab in Berlin, which loses a tenth a day when it is late."""
    return f"""\
name: CUDA
timezone: Europe/Berlin
roster: roster.csv
labs:
  tiled:
    points: {points}
    due: {expected}
    late:
      - penalty: 10%
        per: day
"""


def a_grade(score: float = 8.5, *, judged: float = 10.0, **more: Any) -> dict[str, Any]:
    """A grade object with what the gradebook reads."""
    status = "pass" if score == judged else "fail"
    check = {"name": "output", "status": status, "points": score, "max_points": judged}
    return {
        "schema": 1, "lab": "tiled", "status": "graded", "score": score, "judged_max": judged,
        "max_score": judged, "checks": [check],
    } | more  # fmt: skip


class Clock:
    """A clock that stands until it is told to go on."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now
