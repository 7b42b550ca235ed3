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

MAX_FAULTS = 3
"""System errors after which a submission is not graded again until an instructor starts it."""

Score = tuple[float, float]
"""The points of a grade, and the most that were evaluated."""

Status = Literal["graded", "overridden", "incomplete", "waiting", "refused", "missing", "held"]

RequestStatus = Literal["open", "answered", "closed"]
RegradeState = Literal["open", "adopted", "rejected"]


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
class Handed:
    """One of a student's submissions of a lab, without its bytes; `number` counts from 1.

    `by` is the student who sent it: one of the group, or the student. `was_stopped`: our machines
    have failed MAX_FAULTS times on it.
    """

    id: int
    number: int
    name: str
    sha256: str
    received: datetime | None
    grade: GradeJson | None
    by: str = ""
    was_stopped: bool = False


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
class Extension:
    """A student's own deadline in a lab; `due` of None removes one.

    `origin` is `staff`, or `course.yaml`.
    """

    due: datetime | None
    author: str
    reason: str
    at: datetime
    origin: str = "staff"


@dataclass(frozen=True)
class ExtensionRow:
    """An extension as a file gives it; `due` of None removes one."""

    lab: str
    student: str
    due: datetime | None
    reason: str


@dataclass(frozen=True)
class Membership:
    """The group that a student is in, in one lab; `team` is "" for none.

    `origin` is `staff`, or `course.yaml`.
    """

    student: str
    team: str
    origin: str
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
            `waiting` (not graded yet), `refused` (all after the cut-off: 0 points) or `missing`;
            to a student also `held` (there are points, which are not released yet).
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
        team: The group that the student is in now; "" for none.
        by: The one of a group who sent the submission; "" for the student.
        attempt: The attempt that is its grade; None when it is not graded.
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
    team: str = ""
    by: str = ""
    attempt: int | None = None


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


@dataclass(frozen=True)
class Message:
    """A message of a request; `staff`: its author is of the staff."""

    author: str
    staff: bool
    body: str
    at: datetime


@dataclass(frozen=True)
class Request:
    """A student's request to look at a grade again.

    `score` of `most` points is what the submission had when the student asked.
    """

    id: int
    submission: int
    lab: str
    student: str
    score: float
    most: float
    status: RequestStatus
    at: datetime
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Comment:
    """What staff wrote to a submission; `line` is 0 for the whole of it."""

    id: int
    submission: int
    line: int
    author: str
    body: str
    at: datetime


@dataclass(frozen=True)
class Regrade:
    """A regrade that staff started: of a lab, or of some of its students.

    `proposal` is the name of its attempts. `students` is empty for all of them.
    """

    id: int
    lab: str
    students: tuple[str, ...]
    state: RegradeState
    author: str
    reason: str
    at: datetime

    @property
    def proposal(self) -> str:
        """The name that its attempts have."""
        return f"portal regrade {self.id}"


def verdict(grade: GradeJson) -> str:
    """Return `pass` when no evaluated check failed, otherwise which ones did."""
    short = [c["name"] for c in grade["checks"] if c["status"] in ("fail", "blocked")]
    return f"fail: {', '.join(short)}" if short else "pass"


def failure(grade: GradeJson) -> str:
    """Return why a grade is incomplete, in one line: what its first system error says."""
    errors = [c["summary"] for c in grade.get("checks", ()) if c["status"] == "error"]
    return " ".join(errors[0].split()) if errors else "the grade is incomplete"


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
