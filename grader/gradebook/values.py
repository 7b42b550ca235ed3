"""What the gradebook gives out and takes in: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

GradeJson = Mapping[str, Any]
"""A grade object of the JSON contract, schema 1."""

Status = Literal["graded", "overridden", "incomplete", "waiting", "refused", "missing"]


@dataclass(frozen=True)
class StoredSubmission:
    """A submission as it was handed in: `data` are the bytes that `sha256` is of, `answers` those
    of its answers.yaml. `received` is in UTC, None when nobody told the time; `name` is the file's,
    as the student named it.
    """

    id: int
    lab: str
    student: str
    name: str
    sha256: str
    data: bytes
    answers: bytes | None
    received: datetime | None


@dataclass(frozen=True)
class Claim:
    """The right to grade one submission once. `number` counts the attempts at it from 1; `token`
    is the fence: what is accepted must carry the newest one. `proposal` is "" or the regrade that
    this attempt is for.
    """

    attempt: int
    submission: int
    token: str
    number: int
    key: str
    worker: str
    proposal: str = ""


@dataclass(frozen=True)
class Override:
    """Points that an instructor gave instead of the computed ones; None takes it back."""

    points: float | None
    author: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class Entry:
    """What counts for one student in one lab.

    `points` of `max_points` are after lateness and override, in the course's points where
    course.yaml gives the lab some, else in the lab's; None while there are none. `submission` is
    the one that counts and `number` which of the student's `attempts` submissions it is, from 1;
    0 and None for a student who handed nothing in. `received` is None too when nobody told the
    time: such a submission counts as in time. `grade_json` is its grade; None while there is
    none. `faults` counts the machine's faults at it. `share_kept` and `note` say what lateness
    costs. `status` says why there are no points: the machine failed (`incomplete`), nobody has
    graded it yet (`waiting`), all came after the cut-off (`refused`: 0 points), or nothing
    came (`missing`).
    """

    lab: str
    student: str
    name: str
    status: Status
    points: float | None
    max_points: float | None
    submission: int | None = None
    file: str = ""
    sha256: str = ""
    number: int = 0
    attempts: int = 0
    grade_json: GradeJson | None = None
    received: datetime | None = None
    share_kept: float = 1.0
    note: str = ""
    faults: int = 0
    override: Override | None = None


@dataclass(frozen=True)
class ProposedChange:
    """What a regrade would change for one submission. Scores are in the lab's points; verdicts are
    `pass`, `fail: CHECK, ...` or "" without an old grade.
    """

    lab: str
    student: str
    submission: int
    old_score: float | None
    new_score: float
    old_verdict: str
    new_verdict: str
    old: GradeJson | None
    new: GradeJson

    @property
    def differs(self) -> bool:
        """Whether the student would see another score or verdict."""
        return (self.old_score, self.old_verdict) != (self.new_score, self.new_verdict)


@dataclass(frozen=True)
class PointsChange:
    """A student whose points are not what they were when they were last worked out."""

    lab: str
    student: str
    old: float | None
    new: float | None
    note: str


@dataclass(frozen=True)
class AuditEvent:
    """One line of the audit: who did what to whom, and what was before and after."""

    id: int
    at: datetime
    actor: str
    action: str
    lab: str
    student: str
    submission: int | None
    before: Any
    after: Any
    reason: str


def verdict(grade: GradeJson) -> str:
    """`pass` when nothing judged fell short, else which checks did."""
    short = [c["name"] for c in grade["checks"] if c["status"] in ("fail", "blocked")]
    return f"fail: {', '.join(short)}" if short else "pass"
