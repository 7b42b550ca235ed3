"""For whom the scores at platforms may have changed since a look at the gradebook.

Every change of a grade, a group, an extension or a release is a line of the audit. So a look costs
little where nothing has changed, and only the students of new lines are compared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, literal, select

from grader import dataclass
from grader.gradebook.lti_tables import item, link, person, score
from grader.gradebook.tables import audit, coauthor, submission

SENT = "lti score"
"""The action of the audit for a score that a platform has accepted."""

Changes = Mapping[str, Collection[str] | None]
"""By lab the students for whom something may have changed; None for all of them."""


@dataclass(frozen=True)
class News:
    """How far a look came: the last line of the audit, the time, and a text of all the rest."""

    audit: int
    at: datetime
    shape: str


def changes(connection: Connection, last: News | None, new: News) -> Changes | None:
    """Return by lab whose scores may have become due between two looks.

    None when all may be: at the first look, or after a change of more than grades.
    """
    if last is None or last.shape != new.shape:
        return None
    query = select(audit.c.lab, audit.c.student).where(audit.c.id > last.audit)
    lines = connection.execute(query.where(audit.c.action != SENT).distinct()).all()
    if any(not row.lab for row in lines):
        return None
    retries = [(row.lab, row.who.partition(":")[2]) for row in _retries(connection, last, new)]
    found: dict[str, set[str] | None] = {}
    for lab, who in [*((row.lab, row.student) for row in lines), *retries]:
        students = found.setdefault(lab, set())
        if students is None or not who:
            found[lab] = None
        else:
            students.add(who)
    return {
        lab: students and students | _sharing(connection, lab, students)
        for lab, students in found.items()
    }


def _retries(connection: Connection, last: News, new: News) -> Sequence[Any]:
    """Return the labs and people whose time to try again came; "" for all of a lab."""
    scores = (
        select(link.c.lab, person.c.who)
        .join(score, score.c.link == link.c.id)
        .join(person, person.c.id == score.c.person)
        .where(score.c.next_try > last.at, score.c.next_try <= new.at)
    )
    items = select(link.c.lab, literal("").label("who")).join(item, item.c.link == link.c.id)
    items = items.where(item.c.next_try > last.at, item.c.next_try <= new.at)
    return connection.execute(scores.union_all(items)).all()


def _sharing(connection: Connection, lab: str, students: Collection[str]) -> set[str]:
    """Return who shares a submission of a lab with one of the students, or with one who does."""
    both = select(submission.c.id, submission.c.student, coauthor.c.student.label("other"))
    both = both.join(coauthor, coauthor.c.submission == submission.c.id)
    shared: dict[int, set[str]] = {}
    for row in connection.execute(both.where(submission.c.lab == lab)):
        shared.setdefault(row.id, {row.student}).add(row.other)
    return {who for group in shared.values() if group & {*students} for who in group}
