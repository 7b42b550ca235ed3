"""What counts for each student of a lab: which submission, how late, overridden or not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from grader.course.course import Course
from grader.course.policy import LabPolicy, Lateness, lateness
from grader.gradebook.ledger import overrides, record, storable
from grader.gradebook.submissions import RECEIVED
from grader.gradebook.tables import attempt, grade, standing, student, submission
from grader.gradebook.values import Entry, GradeJson, Moved

MARKED = "marked late, by how much is not told: nothing is taken off"
"""The note of a submission that the course's site marked so without a time."""


@dataclass(frozen=True)
class _Handed:
    """One submission with what lateness makes of it. `number` counts the student's from 1."""

    row: Row[Any]
    number: int
    late: Lateness
    grade: GradeJson | None

    def points(self, policy: LabPolicy) -> float | None:
        """Points after lateness, to a hundredth."""
        if self.grade is None:
            return None
        return round(_worth(self.grade, policy) * self.late.share_kept, 2)


def _worth(grade: GradeJson, policy: LabPolicy) -> float:
    """Points before lateness. In the course's points, full marks are all that was judged."""
    score = float(grade["score"])
    if policy.points is None:
        return score
    judged = float(grade["judged_max"])
    return score / judged * policy.points if judged else 0.0


def entries(connection: Connection, lab: str, course: Course | None) -> Sequence[Entry]:
    """One a student: those of the course's roster in its order (of the gradebook's without a
    course), then others who handed something in."""
    policy = course.policy(lab) if course else LabPolicy()
    names = _names(connection, course)
    handed: dict[str, list[_Handed]] = {}
    for row in connection.execute(_query(lab)):
        mine = handed.setdefault(row.student, [])
        late = _lateness(policy, row)
        made = None if row.grade_json is None else json.loads(row.grade_json)
        mine.append(_Handed(row, len(mine) + 1, late, made))
    given = overrides(connection, lab)
    others = sorted({*handed, *given} - names.keys())
    found = []
    for who in [*names, *others]:
        entry = _entry(lab, who, names.get(who, ""), handed.get(who, []), policy)
        if who in given:
            entry = replace(
                entry, status="overridden", points=given[who].points, override=given[who]
            )
        found.append(entry)
    return tuple(found)


def _lateness(policy: LabPolicy, row: Row[Any]) -> Lateness:
    """A submission whose time nobody told is in time, whenever the lab is due."""
    if row.received is not None:
        return lateness(policy, row.received)
    return Lateness(1.0, MARKED if row.late else "")


def _names(connection: Connection, course: Course | None) -> dict[str, str]:
    if course is not None and course.students:
        return {storable(s.id): s.name for s in course.students}
    enrolled = select(student.c.id, student.c.name).where(student.c.enrolled).order_by(student.c.id)
    return {row.id: row.name for row in connection.execute(enrolled)}


def _query(lab: str) -> Any:
    """The lab's submissions without their bytes, oldest first, with their grades."""
    faults = (
        select(func.count())
        .where(attempt.c.submission == submission.c.id, attempt.c.state == "fault")
        .where(attempt.c.proposal == "")
        .correlate(submission)
        .scalar_subquery()
    )
    columns = (submission.c[name] for name in ("id", "student", "name", "sha256", "late"))
    made = attempt.alias("made")
    return (
        select(*columns, RECEIVED, made.c.grade_json, faults.label("faults"))
        .outerjoin(grade, grade.c.submission == submission.c.id)
        .outerjoin(made, made.c.id == grade.c.attempt)
        .where(submission.c.lab == lab)
        .order_by(submission.c.received, submission.c.id)
    )


def _entry(lab: str, who: str, name: str, handed: Sequence[_Handed], policy: LabPolicy) -> Entry:
    most = policy.points
    if not handed:
        return Entry(lab, who, name, "missing", None, most)
    counted = [one for one in handed[: policy.attempts] if one.late.accepted]
    one = _counts(counted, policy) if counted else handed[-1]
    made, points = one.grade, one.points(policy)
    if made is not None and most is None:
        most = float(made["judged_max"])
    entry = Entry(
        lab, who, name, "graded", points, most, one.row.id, one.row.name, one.row.sha256,
        one.number, len(handed), made, one.row.received, one.late.share_kept, one.late.note,
        one.row.faults,
    )  # fmt: skip
    if not counted:
        return replace(entry, status="refused", points=0.0)
    if made is None:
        return replace(entry, status="incomplete" if one.row.faults else "waiting")
    return entry


def _counts(counted: Sequence[_Handed], policy: LabPolicy) -> _Handed:
    """The last one, or the best: the earliest of equals, and the last while none is graded."""
    graded = [one for one in counted if one.grade is not None]
    if policy.counts == "last" or not graded:
        return counted[-1]
    return max(graded, key=lambda one: one.points(policy) or 0.0)


def recompute(
    connection: Connection, lab: str, course: Course | None, author: str, now: datetime
) -> Sequence[Moved]:
    """Work every student's points out again and keep them; whose changed, and to what."""
    rows = connection.execute(select(standing).where(standing.c.lab == lab))
    before = {row.student: row for row in rows}
    moved = []
    for entry in entries(connection, lab, course):
        old = before.get(entry.student)
        if (old.points if old else None) == entry.points:
            continue
        mine = (standing.c.lab == lab) & (standing.c.student == entry.student)
        connection.execute(standing.delete().where(mine))
        connection.execute(
            standing.insert().values(
                lab=lab, student=entry.student, points=entry.points, note=entry.note, at=now
            )
        )
        was = old.points if old else None
        record(
            connection, now, author, "recompute", lab=lab, student=entry.student,
            before=was, after=entry.points, reason=entry.note,
        )  # fmt: skip
        moved.append(Moved(lab, entry.student, was, entry.points, entry.note))
    return tuple(moved)
