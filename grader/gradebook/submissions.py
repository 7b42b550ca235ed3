"""Submissions: stored once, bytes and all, before anything is done with them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, exists, func, select, update

from grader.gradebook.ledger import insert_new, record, storable
from grader.gradebook.tables import attempt, grade, student, submission
from grader.gradebook.values import GradeJson, Stored

FAULTS = 3
"""Machine faults after which a submission is left alone until someone has looked."""

_STORED = ("id", "lab", "student", "name", "sha256", "data", "answers", "received")
COLUMNS = tuple(submission.c[name] for name in _STORED)


@dataclass(frozen=True)
class HandedIn:
    """A submission before it is stored."""

    lab: str
    student: str
    name: str
    data: bytes
    received: datetime
    answers: bytes | None
    source: str


def store(connection: Connection, new: HandedIn, now: datetime) -> Stored:
    """The row of that submission, which is made when there is none. Of the same bytes handed in
    twice, the earlier time is kept."""
    if new.received.tzinfo is None:
        raise ValueError("the time of a submission needs its time zone")
    who, sha256 = storable(new.student), hashlib.sha256(new.data).hexdigest()
    answers_sha256 = "" if new.answers is None else hashlib.sha256(new.answers).hexdigest()
    insert_new(connection, student, id=who)
    is_new = insert_new(
        connection, submission, lab=new.lab, student=who, name=storable(new.name), sha256=sha256,
        data=new.data, answers=new.answers, answers_sha256=answers_sha256,
        received=new.received, stored=now, source=storable(new.source),
    )  # fmt: skip
    same = (submission.c.lab == new.lab) & (submission.c.student == who)
    same &= (submission.c.sha256 == sha256) & (submission.c.answers_sha256 == answers_sha256)
    row = connection.execute(select(*COLUMNS).where(same).with_for_update()).one()
    when: Any = {"received": new.received.isoformat()}
    if is_new:
        after = {"name": row.name, "sha256": sha256, "bytes": len(new.data)} | when
        _record(connection, now, "submit", row, new.source, after=after)
    elif new.received < row.received:
        connection.execute(
            update(submission).where(submission.c.id == row.id).values(received=new.received)
        )
        before = {"received": row.received.isoformat()}
        _record(connection, now, "received earlier", row, new.source, before=before, after=when)
        row = connection.execute(select(*COLUMNS).where(same)).one()
    return stored(row)


def _record(
    connection: Connection, now: datetime, action: str, row: Row[Any], source: str, **values: Any
) -> None:
    record(
        connection, now, storable(source) or "grader", action, lab=row.lab, student=row.student,
        submission=row.id, **values,
    )  # fmt: skip


def stored(row: Row[Any]) -> Stored:
    """A row of COLUMNS as a value."""
    values: Sequence[Any] = tuple(row)
    return Stored(*values)


def of_lab(lab: str, students: Collection[str] | None) -> Select[Any]:
    """A query of a lab's submissions, oldest first; of those students only, where given."""
    query = select(*COLUMNS).where(submission.c.lab == lab)
    if students is not None:
        query = query.where(submission.c.student.in_([storable(s) for s in students]))
    return query.order_by(submission.c.received, submission.c.id)


def wanted(
    connection: Connection, lab: str, key: str, students: Collection[str] | None, proposal: str
) -> Sequence[Stored]:
    """Those without a kept attempt of that key, and with fewer than FAULTS faults of it."""
    mine = and_(attempt.c.submission == submission.c.id, attempt.c.key == key)
    kept: ColumnElement[bool] = attempt.c.state.in_(("proposed", "accepted"))
    kept &= attempt.c.proposal == proposal
    if not proposal:
        kept = attempt.c.state == "accepted"
    faults = (
        select(func.count())
        .where(mine, attempt.c.proposal == proposal, attempt.c.state == "fault")
        .scalar_subquery()
    )
    query = of_lab(lab, students).where(~exists().where(mine, kept), faults < FAULTS)
    return tuple(stored(row) for row in connection.execute(query))


def grades(connection: Connection, lab: str) -> Mapping[int, tuple[str, GradeJson]]:
    """By a submission's number, the key that its grade was made with, and the grade."""
    query = (
        select(submission.c.id, attempt.c.key, attempt.c.grade_json)
        .join(grade, grade.c.submission == submission.c.id)
        .join(attempt, attempt.c.id == grade.c.attempt)
        .where(submission.c.lab == lab)
    )
    return {row.id: (row.key, json.loads(row.grade_json)) for row in connection.execute(query)}
