"""The values that a gradebook takes and returns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from grader import dataclass
from grader.faults import MachineFault

GradeJson = Mapping[str, Any]
"""A grade object of the JSON contract, schema 1."""

Status = Literal["graded", "overridden", "incomplete", "waiting", "refused", "missing"]


@dataclass(frozen=True)
class StoredSubmission:
    """A submission as it was submitted.

    `data` are the file's bytes, whose digest is `sha256`; `answers` are those of its answers.yaml.
    `name` is the student's file name. `received` is in UTC, None when the time is unknown.
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
    """The right to grade one submission once.

    `number` counts the attempts at it from 1. `token` is the fencing token: only a grade with the
    newest one is accepted. `proposal` names the regrade of this attempt, "" for none.
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
    """Points that an instructor set instead of the computed ones; None removes an override."""

    points: float | None
    author: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class Entry:
    """What counts for one student in one lab.

    Attributes:
        lab: The lab.
        student: The student's ID.
        name: The student's name.
        status: Why there are points or none: `graded`, `overridden`, `incomplete` (system error),
            `waiting` (not graded yet), `refused` (all after the cut-off: 0 points) or `missing`.
        points: The points after lateness and override, in the course's points when course.yaml sets
            them, otherwise in the lab's; None when there are none.
        max_points: The points of full marks.
        submission: The submission that counts; None without a submission.
        file: Its file name.
        sha256: Its digest.
        number: Which of the student's submissions it is, from 1; 0 without a submission.
        attempts: The number of the student's submissions.
        grade_json: Its grade; None when it is not graded.
        received: When it was received; None also when the time is unknown, which counts as in time.
        share_kept: The share of the points that lateness leaves, from 0 to 1.
        note: Why lateness costs points.
        faults: The number of system errors at it.
        override: The instructor's points.
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
    """What a regrade would change for one submission.

    Scores are in the lab's points. Verdicts are `pass`, `fail: CHECK, ...`, or "" without an old
    grade.
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
        """Whether the score or the verdict changes."""
        return (self.old_score, self.old_verdict) != (self.new_score, self.new_verdict)


@dataclass(frozen=True)
class PointsChange:
    """A student's points that changed since they were last computed."""

    lab: str
    student: str
    old: float | None
    new: float | None
    note: str


@dataclass(frozen=True)
class AuditEvent:
    """One event of the audit: who changed what of whom, with the values before and after."""

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
    """Return `pass` when no evaluated check failed, otherwise which ones did."""
    short = [c["name"] for c in grade["checks"] if c["status"] in ("fail", "blocked")]
    return f"fail: {', '.join(short)}" if short else "pass"


def damaged(what: str) -> MachineFault:
    """Return the system error for stored data that is not what was stored."""
    fix = "Restore a backup. `grader gradebook audit --verify` lists what differs."
    return MachineFault(f"the gradebook is damaged or was changed: {what}", fix=fix)


def bytes_digest(data: object) -> str:
    """Return the SHA-256 of stored bytes; "" for none.

    In a damaged SQLite file, a value can have any type.
    """
    if data is None:
        return ""
    return hashlib.sha256(data if isinstance(data, bytes) else repr(data).encode()).hexdigest()


def grade_digest(attempt_id: int, text: str) -> str:
    """Return the SHA-256 of an attempt's number and its grade as JSON text."""
    return hashlib.sha256(f"{attempt_id}\0{text}".encode()).hexdigest()


def read_grade(attempt_id: int, text: str, digest: str) -> GradeJson:
    """Parse a stored grade. Raises MachineFault when its digest is not that of the text."""
    if grade_digest(attempt_id, text) != digest:
        raise damaged(f"the grade of attempt {attempt_id} differs from its SHA-256")
    grade: GradeJson = json.loads(text)
    return grade
