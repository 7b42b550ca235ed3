"""Regrades: graded beside the grades that stand, looked at, then adopted or rejected."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from grader.gradebook.attempts import install, record_attempt
from grader.gradebook.tables import attempt, grade, submission
from grader.gradebook.values import Change, verdict


def changes(connection: Connection, proposal: str) -> Sequence[Change]:
    """The old and the new grade of every submission that the regrade has got to, by student."""
    now = attempt.alias("now")
    query = (
        select(submission.c.lab, submission.c.student, submission.c.id, attempt.c.grade_json)
        .add_columns(now.c.grade_json.label("old_json"))
        .join(submission, submission.c.id == attempt.c.submission)
        .outerjoin(grade, grade.c.submission == submission.c.id)
        .outerjoin(now, now.c.id == grade.c.attempt)
        .where(attempt.c.proposal == proposal, attempt.c.state == "proposed")
        .order_by(submission.c.student, submission.c.id)
    )
    return tuple(_change(row) for row in connection.execute(query))


def _change(row: Row[Any]) -> Change:
    new = json.loads(row.grade_json)
    old = None if row.old_json is None else json.loads(row.old_json)
    return Change(
        row.lab, row.student, row.id,
        None if old is None else old["score"], new["score"],
        "" if old is None else verdict(old), verdict(new),
        old, new,
    )  # fmt: skip


def _proposed(connection: Connection, proposal: str) -> Sequence[tuple[int, int]]:
    """The attempts that wait for a decision, each with its submission. Those are locked first, as
    every writer does, and always in the same order: two that wait for each other would wait for
    ever."""
    waiting = (attempt.c.proposal == proposal) & (attempt.c.state == "proposed")
    theirs = submission.c.id.in_(select(attempt.c.submission).where(waiting))
    locked = select(submission.c.id).where(theirs).order_by(submission.c.id).with_for_update()
    connection.execute(locked).all()
    found = select(attempt.c.id, attempt.c.submission).where(waiting).order_by(attempt.c.submission)
    return [(row.id, row.submission) for row in connection.execute(found)]


def adopt(connection: Connection, proposal: str, author: str, now: datetime) -> int:
    """Make all that was proposed the submissions' grades, all at once. How many there were."""
    proposed = _proposed(connection, proposal)
    for attempt_id, stored_id in proposed:
        _decide(connection, attempt_id, "accepted")
        install(connection, stored_id, attempt_id, author, f"adopt {proposal}", now)
    return len(proposed)


def reject(connection: Connection, proposal: str, author: str, now: datetime) -> int:
    """Drop all that was proposed; the grades that stand are kept. How many there were."""
    proposed = _proposed(connection, proposal)
    for attempt_id, stored_id in proposed:
        _decide(connection, attempt_id, "rejected")
        action = f"reject {proposal}"
        record_attempt(connection, now, author, action, stored_id, attempt_id)
    return len(proposed)


def _decide(connection: Connection, attempt_id: int, state: str) -> None:
    connection.execute(update(attempt).where(attempt.c.id == attempt_id).values(state=state))
