"""Submissions: stored once, with their bytes, before they are graded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    ScalarSelect,
    Select,
    and_,
    case,
    exists,
    func,
    select,
    update,
)

from grader import dataclass
from grader.gradebook.chain import RowKey, insert_new, record_event, storable
from grader.gradebook.groups import counts_for, lock_group, mates, share
from grader.gradebook.progress import record_progress
from grader.gradebook.tables import attempt, coauthor, grade, student, submission
from grader.gradebook.values import (
    MAX_FAULTS,
    GradeJson,
    Handed,
    StoredSubmission,
    bytes_digest,
    damaged,
    read_grade,
)

RECEIVED = case((submission.c.told, submission.c.received)).label("received")
"""When a submission was received; NULL when the time is unknown."""

_STORED = ("id", "lab", "student", "name", "sha256", "data", "answers")
COLUMNS = (*(submission.c[name] for name in _STORED), RECEIVED, submission.c.answers_sha256)


@dataclass(frozen=True)
class NewSubmission:
    """A submission before it is stored.

    `received` is None when the time is unknown; `late`: the course's site marked it late.
    """

    lab: str
    student: str
    name: str
    data: bytes
    received: datetime | None
    answers: bytes | None
    source: str
    late: bool = False


def store(connection: Connection, new: NewSubmission, now: datetime) -> StoredSubmission:
    """Return the submission's row, and insert it when it is new.

    When the same bytes are submitted again, the earlier time is kept, a known one before an unknown
    one. A submission is late only when every one of its copies is. A new one counts for the whole
    group of its student; what counts for one already is no new submission, and counts for nobody
    else: its time may be from before the group.
    """
    if new.received is not None and new.received.tzinfo is None:
        raise ValueError("the time of a submission needs its time zone")
    who, sha256 = storable(new.student), bytes_digest(new.data)
    answers_sha256 = bytes_digest(new.answers)
    same = (submission.c.lab == new.lab) & (submission.c.sha256 == sha256)
    same &= submission.c.answers_sha256 == answers_sha256
    is_first = insert_new(connection, student, student.c.id == who, id=who)
    others = mates(connection, new.lab, who)
    lock_group(connection, new.lab, (who, *others))
    sent, shared = same & (submission.c.student == who), same & counts_for(new.lab, [who])
    known = connection.execute(select(submission.c.id).where(shared)).scalars().all()
    same = submission.c.id == min(known) if known else sent
    is_new = not known and insert_new(
        connection, submission, same,
        lab=new.lab, student=who, name=storable(new.name), sha256=sha256,
        data=new.data, answers=new.answers, answers_sha256=answers_sha256,
        received=new.received or now, told=new.received is not None, late=new.late,
        stored=now, source=storable(new.source),
    )  # fmt: skip
    query: Select[Any] = select(*COLUMNS, submission.c.late).where(same)
    row = connection.execute(query.with_for_update()).one()
    if is_new:
        more = share(connection, row.id, others, None)
        after = {"name": row.name, "sha256": sha256, "bytes": len(new.data)}
        after |= _when(row.received, row.late) | ({"group": [*others]} if more else {})
        rows = [("student", who)] if is_first else []
        rows += more
        record_progress(connection, row.id, "queued", now)
        _record(connection, now, "submit", row, new.source, rows, after=after)
    elif values := _earlier(new, row):
        before = _when(row.received, row.late)
        connection.execute(update(submission).where(submission.c.id == row.id).values(values))
        row = connection.execute(query).one()
        after = _when(row.received, row.late)
        action = "received earlier"
        _record(connection, now, action, row, new.source, [], before=before, after=after)
    return stored_submission(row)


def _earlier(new: NewSubmission, row: Row[Any]) -> dict[str, Any]:
    """Return what changes when a second copy shows that the submission came earlier."""
    values: dict[str, Any] = {"late": False} if row.late and not new.late else {}
    if new.received is not None and (row.received is None or new.received < row.received):
        values |= {"received": new.received, "told": True}
    return values


def _when(received: datetime | None, late: bool) -> dict[str, Any]:
    """Return a submission's time as the audit stores it."""
    values = {"received": "not told" if received is None else received.isoformat()}
    return values | ({"late": True} if late else {})


def _record(
    connection: Connection, now: datetime, action: str, row: Row[Any], source: str,
    rows: Sequence[RowKey], **values: Any,
) -> None:  # fmt: skip
    record_event(
        connection, now, storable(source) or "grader", action, lab=row.lab, student=row.student,
        submission=row.id, rows=[*rows, ("submission", row.id)], **values,
    )  # fmt: skip


def stored_submission(row: Row[Any]) -> StoredSubmission:
    """Convert a row of COLUMNS to a value.

    Raises:
        MachineFault: The bytes are not those that were submitted.
    """
    *values, answers_sha256 = tuple(row)[: len(COLUMNS)]
    stored = StoredSubmission(*values)
    digests = (bytes_digest(stored.data), bytes_digest(stored.answers))
    if digests != (stored.sha256, answers_sha256):
        raise damaged(
            f"the bytes of submission {stored.id} ({stored.lab}, {stored.student})"
            " differ from their SHA-256"
        )
    return stored


def fault_count(*states: str) -> ScalarSelect[int]:
    """Count a submission's attempts that ended with a system error, those of regrades left out.

    Args:
        states: "fault", and "forgiven" for those after which staff had it graded again.
    """
    return (
        select(func.count())
        .where(attempt.c.submission == submission.c.id, attempt.c.state.in_(states))
        .where(attempt.c.proposal == "")
        .correlate(submission)
        .scalar_subquery()
    )


WAS_STOPPED = (fault_count("fault", "forgiven") >= MAX_FAULTS).label("was_stopped")


def lab_query(lab: str, students: Collection[str] | None) -> Select[Any]:
    """Select a lab's submissions, oldest first; only those of `students` when given."""
    mine = submission.c.lab == lab if students is None else counts_for(lab, students)
    query = select(*COLUMNS).where(mine)
    return query.order_by(submission.c.received, submission.c.id)


def wanted(
    connection: Connection, lab: str, key: str, students: Collection[str] | None, proposal: str
) -> Sequence[StoredSubmission]:
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
    query = lab_query(lab, students).where(~exists().where(mine, kept), faults < MAX_FAULTS)
    return tuple(stored_submission(row) for row in connection.execute(query))


def history(connection: Connection, lab: str, who: str) -> Sequence[Handed]:
    """Return the submissions of a lab that count for a student, oldest first.

    One of the group's that began to count for the student later comes at that time.
    """
    who = storable(who)
    mine = (coauthor.c.submission == submission.c.id) & (coauthor.c.student == who)
    query = (
        select(*(submission.c[name] for name in ("id", "student", "name", "sha256")), RECEIVED)
        .add_columns(*_MADE, WAS_STOPPED)
        .outerjoin(grade, grade.c.submission == submission.c.id)
        .outerjoin(attempt, attempt.c.id == grade.c.attempt)
        .outerjoin(coauthor, mine)
        .where(counts_for(lab, [who]))
        .order_by(func.coalesce(coauthor.c.since, submission.c.received), submission.c.id)
    )
    return tuple(
        Handed(
            row.id,
            k,
            row.name,
            row.sha256,
            row.received,
            _grade(row),
            row.student,
            bool(row.was_stopped),
        )
        for k, row in enumerate(connection.execute(query), start=1)
    )


def grade_of(connection: Connection, stored_id: int) -> GradeJson | None:
    """Return the grade of a submission; None without one."""
    joined = select(*_MADE).join(grade, grade.c.attempt == attempt.c.id)
    row = connection.execute(joined.where(grade.c.submission == stored_id)).first()
    return None if row is None else _grade(row)


_MADE = (attempt.c.id.label("attempt"), attempt.c.grade_json, attempt.c.grade_sha256)


def _grade(row: Any) -> GradeJson | None:
    if row.attempt is None:
        return None
    return read_grade(row.attempt, row.grade_json, row.grade_sha256)


def grades(connection: Connection, lab: str) -> Mapping[int, tuple[str, GradeJson]]:
    """Map a submission's number to the key that its grade was made with, and the grade."""
    query = (
        select(submission.c.id, attempt.c.key, attempt.c.id.label("attempt"))
        .add_columns(attempt.c.grade_json, attempt.c.grade_sha256)
        .join(grade, grade.c.submission == submission.c.id)
        .join(attempt, attempt.c.id == grade.c.attempt)
        .where(submission.c.lab == lab)
    )
    return {
        row.id: (row.key, read_grade(row.attempt, row.grade_json, row.grade_sha256))
        for row in connection.execute(query)
    }
