"""What happens to submissions while they wait and are graded, and which ones wait.

Every event has a number that grows, so that a watcher who has seen some can ask for the rest. The
events of a submission are `queued`, `started`, `step`, `fault` and `graded`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, exists, func, select

from grader import dataclass
from grader.gradebook.database import Database, utc_now
from grader.gradebook.tables import attempt, grade, progress, submission
from grader.gradebook.values import MAX_FAULTS

Kind = Literal["queued", "started", "step", "fault", "graded"]


@dataclass(frozen=True)
class Event:
    """One event of a submission. `body` depends on the kind and has no hidden values."""

    id: int
    submission: int
    kind: Kind
    body: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True)
class Waiting:
    """A submission without a grade: its place in the queue, or that it is being graded.

    Attributes:
        id: The submission.
        lab: Its lab.
        student: Its student.
        ahead: The number of submissions that are graded before it.
        running: Whether a worker is grading it.
        faults: The number of system errors at it so far.
        stored: When it was stored; None when that does not matter.
    """

    id: int
    lab: str
    student: str
    ahead: int
    running: bool
    faults: int
    stored: datetime | None = None

    @property
    def stopped(self) -> bool:
        """Whether it is not tried again until staff start it."""
        return self.faults >= MAX_FAULTS


def record_progress(
    connection: Connection, stored_id: int, kind: Kind, now: datetime, **body: Any
) -> None:
    """Add an event of a submission, in the transaction of the connection."""
    connection.execute(
        progress.insert().values(submission=stored_id, kind=kind, body=json.dumps(body), at=now)
    )


class ProgressLog:
    """The events of a gradebook. Every method raises MachineFault when the database fails."""

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database, self._clock = database, clock

    def add(self, stored_id: int, kind: Kind, **body: Any) -> None:
        """Add an event of a submission."""
        with self._database.writing() as connection:
            record_progress(connection, stored_id, kind, self._clock(), **body)

    def newest(self) -> int:
        """Return the number of the newest event; 0 without events."""
        with self._database.reading() as connection:
            return int(connection.execute(select(func.max(progress.c.id))).scalar() or 0)

    def after(self, last: int, stored_id: int | None = None) -> tuple[Event, ...]:
        """Return the events after a number, oldest first; of one submission when given."""
        query = select(progress).where(progress.c.id > last).order_by(progress.c.id)
        if stored_id is not None:
            query = query.where(progress.c.submission == stored_id)
        with self._database.reading() as connection:
            return tuple(map(_event, connection.execute(query)))

    def waiting(self, labs: Collection[str]) -> Sequence[Waiting]:
        """Return the submissions without a grade in the order in which they are graded."""
        with self._database.reading() as connection:
            rows = connection.execute(_waiting(labs)).all()
        found, ahead = [], 0
        for row in rows:
            one = Waiting(
                row.id, row.lab, row.student, ahead, bool(row.running), row.faults, row.stored
            )
            found.append(one)
            ahead += not one.stopped
        return tuple(found)


def _event(row: Row[Any]) -> Event:
    return Event(row.id, row.submission, row.kind, json.loads(row.body), row.at)


def _waiting(labs: Collection[str]) -> Select[Any]:
    mine = (attempt.c.submission == submission.c.id) & (attempt.c.proposal == "")
    faults = select(func.count()).where(mine, attempt.c.state == "fault")
    running = exists().where(mine, attempt.c.state == "running")
    return (
        select(submission.c.id, submission.c.lab, submission.c.student, submission.c.stored)
        .add_columns(running.label("running"), faults.scalar_subquery().label("faults"))
        .where(submission.c.lab.in_(labs))
        .where(~exists().where(grade.c.submission == submission.c.id))
        .order_by(submission.c.stored, submission.c.id)
    )
