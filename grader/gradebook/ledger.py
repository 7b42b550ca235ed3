"""The audit, the roster and overrides: what people change in a gradebook, all of it recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from grader.faults import LabFault
from grader.gradebook.chain import record_event, storable
from grader.gradebook.roster import Student
from grader.gradebook.tables import audit, override, student
from grader.gradebook.values import AuditEvent, Override


def events(
    connection: Connection, lab: str | None = None, student: str | None = None
) -> Sequence[AuditEvent]:
    """Return the audit, oldest first; of one lab or student when given."""
    query = select(audit).order_by(audit.c.id)
    query = query if lab is None else query.where(audit.c.lab == lab)
    query = query if student is None else query.where(audit.c.student == storable(student))
    return tuple(
        AuditEvent(
            row.id, row.at, row.actor, row.action, row.lab, row.student, row.submission,
            None if row.before is None else json.loads(row.before),
            None if row.after is None else json.loads(row.after),
            row.reason,
        )
        for row in connection.execute(query)
    )  # fmt: skip


def enroll(
    connection: Connection, students: Sequence[Student], author: str, now: datetime
) -> Sequence[str]:
    """Enroll exactly the students of the roster; submissions do not change.

    Returns:
        A line for each student who is new, changed or left.
    """
    known = {row.id: row for row in connection.execute(select(student))}
    lines: list[str] = []
    changes: list[tuple[str, str, Any, Any]] = []
    for one in students:
        who = storable(one.id)
        texts = {name: storable(value) for name, value in asdict(one).items()}
        values = texts | {"enrolled": True}
        old = known.pop(who, None)
        before = dict(old._mapping) if old else None
        if before == values:
            continue
        if old is None:
            connection.execute(student.insert().values(**values))
        else:
            connection.execute(update(student).where(student.c.id == who).values(**values))
        changes.append(("enroll", who, before, values))
        lines.append(f"{'changed' if old is not None else 'new'}: {who} {one.name}".rstrip())
    for gone in (row for row in known.values() if row.enrolled):
        connection.execute(update(student).where(student.c.id == gone.id).values(enrolled=False))
        changes.append(("leave", gone.id, dict(gone._mapping), None))
        lines.append(f"left: {gone.id} {gone.name}".rstrip())
    for action, who, before, after in changes:  # after every row: an event locks the audit
        record_event(
            connection, now, author, action, student=who, before=before, after=after,
            rows=[("student", who)],
        )  # fmt: skip
    return tuple(lines)


def overrides(connection: Connection, lab: str) -> dict[str, Override]:
    """Return each student's newest override, unless it was removed."""
    rows = connection.execute(select(override).where(override.c.lab == lab).order_by(override.c.id))
    newest = {row.student: Override(row.points, row.author, row.reason, row.at) for row in rows}
    return {name: one for name, one in newest.items() if one.points is not None}


def set_override(
    connection: Connection, lab: str, who: str, points: float | None, author: str, reason: str,
    now: datetime,
) -> None:  # fmt: skip
    """Add an override after the earlier ones; `points` of None removes them.

    Raises:
        LabFault: There is no override to remove.
    """
    who = storable(who)
    before = overrides(connection, lab).get(who)
    if points is None and before is None:
        fix = f"List the overrides with `grader gradebook show {lab}`."
        raise LabFault(f"`{who}` has no override in `{lab}`", fix=fix)
    made = connection.execute(
        override.insert().values(
            lab=lab,
            student=who,
            points=points,
            author=storable(author),
            reason=storable(reason),
            at=now,
        )
    ).inserted_primary_key
    record_event(
        connection, now, author, "override" if points is not None else "override removed",
        lab=lab, student=who, reason=reason,
        before=None if before is None else before.points, after=points,
        rows=[("override", *(made or ()))],
    )  # fmt: skip
