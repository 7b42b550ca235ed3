"""Results -> points. Whose fault decides: an error is ours, and never costs the student points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from grader.check.result import Result

GradeStatus = Literal["graded", "incomplete"]


@dataclass(frozen=True)
class Score:
    """`points` of `judged_max` that were judged, of `max_score` in all.

    What this backend cannot judge (`unjudged`) and what the machine failed to judge (`error`)
    leaves `judged_max`; an error also makes the grade `incomplete`, to be tried again.
    """

    points: float
    judged_max: float
    max_score: float
    status: GradeStatus


def total(results: Iterable[Result]) -> Score:
    """The sum over all checks, to a hundredth of a point."""
    every = tuple(results)
    judged = [result for result in every if result.status not in ("unjudged", "error")]
    return Score(
        points=round(sum(result.points for result in judged), 2),
        judged_max=round(sum(result.max_points for result in judged), 2),
        max_score=round(sum(result.max_points for result in every), 2),
        status="incomplete" if any(r.status == "error" for r in every) else "graded",
    )
