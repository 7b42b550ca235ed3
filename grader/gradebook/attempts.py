"""Attempts at grading a submission: leased, fenced, accepted once; and regrades.

A worker claims a submission and gets a token. While its lease runs, no other worker gets one. When
the lease has expired, or the worker is known to be dead, the next claim takes over and the old
token is void: a grade that comes with it is dropped. So each submission has one accepted attempt
for each key, whichever process is killed.

A worker's name says which process of which boot and PID namespace it is, so that a batch that was
killed need not wait for its own leases to expire. A wrong conclusion could only cost work: the
token decides what is accepted.

The attempts of a regrade are proposed: the current grades stay until the regrade is adopted.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from grader.gradebook.chain import record_event, storable
from grader.gradebook.groups import counts_for
from grader.gradebook.progress import record_progress
from grader.gradebook.tables import attempt, grade, submission
from grader.gradebook.values import (
    MAX_FAULTS,
    Claim,
    GradeJson,
    ProposedChange,
    failure,
    grade_digest,
    read_grade,
    verdict,
)

_PROC = Path("/proc")
_GRADE = ("id", "grade_json", "grade_sha256")
_NOW = attempt.alias("now")


def this_worker(part: str = "") -> str:
    """Name this process and a part of it: `host/boot/namespace/pid/start/part`."""
    pid = os.getpid()
    host = socket.gethostname().replace("/", "_")
    return "/".join((host, _boot_and_namespace(), str(pid), _started(pid) or "0", part))


def is_dead(worker: str) -> bool:
    """Whether that worker is known to have ended: it ran here, and its process is gone."""
    fields = worker.split("/", 5)
    if len(fields) != 6 or not fields[3].isdecimal():
        return False
    known = fields[4] != "0" and "/".join(fields[1:3]) == _boot_and_namespace()
    return known and _started(int(fields[3])) != fields[4]


def _boot_and_namespace() -> str:
    """Return this machine's boot and PID namespace; `-/-` when the system reports neither."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return "-/-"
    return f"{boot}/{space.partition('[')[2].rstrip(']')}"


def _started(pid: int) -> str:
    """Return the start of a process in ticks since boot; "" when it is gone or a zombie."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def claim(
    connection: Connection, stored_id: int, key: str, worker: str, lease: float, proposal: str,
    now: datetime,
) -> Claim | None:  # fmt: skip
    """Claim a submission; None when it has a grade, or a live worker has claimed it."""
    _lock(connection, stored_id)
    mine = (attempt.c.submission == stored_id) & (attempt.c.key == key)
    columns = (attempt.c[name] for name in ("id", "proposal", "state", "lease_until", "worker"))
    for row in connection.execute(select(*columns).where(mine)).all():
        same = row.proposal == proposal
        if row.state == "accepted" and (same or not proposal) or same and row.state == "proposed":
            return None
        if same and row.state == "running":
            if row.lease_until > now and not is_dead(row.worker):
                return None
            _end_attempt(connection, row.id, "expired", now)
    last = select(func.max(attempt.c.number)).where(attempt.c.submission == stored_id)
    number = (connection.execute(last).scalar() or 0) + 1
    token = secrets.token_hex(16)
    connection.execute(
        attempt.insert().values(
            submission=stored_id,
            key=key,
            proposal=proposal,
            number=number,
            token=token,
            worker=storable(worker),
            state="running",
            started=now,
            lease_until=now + timedelta(seconds=lease),
        )
    )
    row_id = connection.execute(select(attempt.c.id).where(attempt.c.token == token)).scalar_one()
    if not proposal:
        record_progress(connection, stored_id, "started", now, attempt=number)
    return Claim(row_id, stored_id, token, number, key, worker, proposal)


def _lock(connection: Connection, stored_id: int) -> None:
    """Lock this submission's attempts until the transaction ends; SQLite has one writer anyway."""
    row = select(submission.c.id).where(submission.c.id == stored_id).with_for_update()
    if connection.execute(row).first() is None:
        raise ValueError(f"there is no submission {stored_id}")


def _end_attempt(
    connection: Connection, attempt_id: int, state: str, now: datetime, **values: Any
) -> None:
    change = update(attempt).where(attempt.c.id == attempt_id)
    connection.execute(change.values(state=state, ended=now, **values))


def _grade_values(held: Claim, made: GradeJson) -> dict[str, str]:
    """Return a grade as the columns of its attempt."""
    body = json.dumps(made, sort_keys=True)
    return {"grade_json": body, "grade_sha256": grade_digest(held.attempt, body)}


def _is_newest(connection: Connection, held: Claim) -> bool:
    """Whether the claim's token is still the newest; if not, another worker took over."""
    _lock(connection, held.submission)
    mine = (attempt.c.id == held.attempt) & (attempt.c.token == held.token)
    running = select(attempt.c.id).where(mine, attempt.c.state == "running")
    return connection.execute(running).first() is not None


def renew(connection: Connection, held: Claim, lease: float, now: datetime) -> bool:
    """Extend the lease to `lease` seconds from now; False when another worker took over."""
    if not _is_newest(connection, held):
        return False
    until = now + timedelta(seconds=lease)
    connection.execute(
        update(attempt).where(attempt.c.id == held.attempt).values(lease_until=until)
    )
    return True


def release(connection: Connection, held: Claim, now: datetime) -> bool:
    """Give the claim back without a result; False when another worker took over."""
    if not _is_newest(connection, held):
        return False
    _end_attempt(connection, held.attempt, "released", now)
    return True


def accept(connection: Connection, held: Claim, made: GradeJson, now: datetime) -> bool:
    """Store a grade, as a proposal when the claim is for a regrade.

    Returns:
        False when the token is stale; nothing is changed then.
    """
    if made["status"] != "graded":
        raise ValueError("an incomplete grade is a system error, not a grade")
    if not _is_newest(connection, held):
        return False
    state = "proposed" if held.proposal else "accepted"
    _end_attempt(connection, held.attempt, state, now, **_grade_values(held, made))
    if not held.proposal:
        install(connection, held.submission, held.attempt, held.worker, "grade", now)
    return True


def install(
    connection: Connection, stored_id: int, attempt_id: int, actor: str, action: str, now: datetime
) -> None:
    """Make an attempt the grade of its submission, and record both scores."""
    before = _score(connection, grade_of(connection, stored_id))
    mine = grade.c.submission == stored_id
    changed = connection.execute(
        update(grade).where(mine).values(attempt=attempt_id, since=now)
    ).rowcount
    if not changed:
        connection.execute(
            grade.insert().values(submission=stored_id, attempt=attempt_id, since=now)
        )
    record_progress(connection, stored_id, "graded", now)
    after = _score(connection, attempt_id)
    record_attempt(
        connection, now, actor, action, stored_id, attempt_id, before=before, after=after,
        rows=[("grade", stored_id)],
    )  # fmt: skip


def record_attempt(
    connection: Connection, now: datetime, actor: str, action: str, stored_id: int,
    attempt_id: int, **values: Any,
) -> None:  # fmt: skip
    """Record an audit event about an attempt at a submission."""
    of = select(submission.c.lab, submission.c.student).where(submission.c.id == stored_id)
    row = connection.execute(of).one()
    whose: dict[str, Any] = {"lab": row.lab, "student": row.student, "submission": stored_id}
    record_event(connection, now, actor, action, **whose, attempt=attempt_id, **values)


def grade_of(connection: Connection, stored_id: int) -> int | None:
    """Return the attempt that is the grade of a submission."""
    query = select(grade.c.attempt).where(grade.c.submission == stored_id)
    return connection.execute(query).scalar()


def _score(connection: Connection, attempt_id: int | None) -> float | None:
    if attempt_id is None:
        return None
    query = select(attempt.c.grade_json, attempt.c.grade_sha256).where(attempt.c.id == attempt_id)
    return float(read_grade(attempt_id, *connection.execute(query).one())["score"])


def fault(connection: Connection, held: Claim, why: GradeJson | str, now: datetime) -> int:
    """Count a system error and store its reason; grades do not change.

    A stale token counts nothing, because the worker that took over decides.

    Returns:
        The number of system errors under this key.
    """
    counts = _is_newest(connection, held)
    if counts:
        text = why if isinstance(why, str) else failure(why)
        values = {} if isinstance(why, str) else _grade_values(held, why)
        _end_attempt(connection, held.attempt, "fault", now, reason=storable(text), **values)
        record_attempt(
            connection, now, held.worker, "fault", held.submission, held.attempt, reason=text
        )
    lane = (attempt.c.submission == held.submission) & (attempt.c.key == held.key)
    lane &= (attempt.c.proposal == held.proposal) & (attempt.c.state == "fault")
    count = connection.execute(select(func.count()).where(lane)).scalar_one()
    if counts and not held.proposal:
        record_progress(connection, held.submission, "fault", now, again=count < MAX_FAULTS)
    return count


def forgive(
    connection: Connection, lab: str, students: Collection[str] | None, author: str, now: datetime,
    proposal: str | None = None,
) -> int:  # fmt: skip
    """Reset the count of system errors, so that the submissions are graded again.

    With `proposal`, only those of one regrade, or of none when it is "". Nobody who watches a
    submission hears of a regrade.

    Returns:
        The number of submissions.
    """
    failed = attempt.c.state == "fault"
    if proposal is not None:
        failed &= attempt.c.proposal == proposal
    mine = submission.c.lab == lab if students is None else counts_for(lab, students)
    query = select(submission.c.id).where(mine)
    faulted = attempt.c.submission.in_(query) & failed
    ids = sorted(
        connection.execute(select(attempt.c.submission).where(faulted).distinct()).scalars()
    )
    for stored_id in ids:  # all of them before the first event, which locks the audit
        _lock(connection, stored_id)
    for stored_id in ids:
        mine = (attempt.c.submission == stored_id) & failed
        shown = select(attempt.c.id).where(mine, attempt.c.proposal == "")
        is_shown = connection.execute(shown).first() is not None
        last = select(func.max(attempt.c.id)).where(mine)
        record_attempt(
            connection, now, author, "forgive", stored_id, connection.execute(last).scalar_one()
        )
        connection.execute(update(attempt).where(mine).values(state="forgiven"))
        if is_shown:
            record_progress(connection, stored_id, "queued", now)
    return len(ids)


def changes(connection: Connection, proposal: str) -> Sequence[ProposedChange]:
    """Return the old and the new grade of every submission regraded so far, by student."""
    query = (
        select(submission.c.lab, submission.c.student, submission.c.id)
        .add_columns(*(attempt.c[name].label(f"new_{name}") for name in _GRADE))
        .add_columns(*(_NOW.c[name].label(f"old_{name}") for name in _GRADE))
        .join(submission, submission.c.id == attempt.c.submission)
        .outerjoin(grade, grade.c.submission == submission.c.id)
        .outerjoin(_NOW, _NOW.c.id == grade.c.attempt)
        .where(attempt.c.proposal == proposal, attempt.c.state == "proposed")
        .order_by(submission.c.student, submission.c.id)
    )
    return tuple(_change(row) for row in connection.execute(query))


def _change(row: Row[Any]) -> ProposedChange:
    new = read_grade(row.new_id, row.new_grade_json, row.new_grade_sha256)
    old = None
    if row.old_id is not None:
        old = read_grade(row.old_id, row.old_grade_json, row.old_grade_sha256)
    return ProposedChange(
        row.lab, row.student, row.id,
        None if old is None else old["score"], new["score"],
        "" if old is None else verdict(old), verdict(new),
        old, new,
    )  # fmt: skip


def _proposed(connection: Connection, proposal: str) -> Sequence[tuple[int, int]]:
    """Return the proposed attempts, each with its submission.

    The submissions are locked first and in a fixed order, as in every writer, to avoid deadlocks.
    """
    waiting = (attempt.c.proposal == proposal) & (attempt.c.state == "proposed")
    theirs = submission.c.id.in_(select(attempt.c.submission).where(waiting))
    locked = select(submission.c.id).where(theirs).order_by(submission.c.id).with_for_update()
    connection.execute(locked).all()
    query = select(attempt.c.id, attempt.c.submission).where(waiting).order_by(attempt.c.submission)
    return [(row.id, row.submission) for row in connection.execute(query)]


def adopt(connection: Connection, proposal: str, author: str, now: datetime) -> int:
    """Make all proposed attempts the submissions' grades at once, and return their number."""
    proposed = _proposed(connection, proposal)
    for attempt_id, stored_id in proposed:
        _set_state(connection, attempt_id, "accepted")
        install(connection, stored_id, attempt_id, author, f"adopt {proposal}", now)
    return len(proposed)


def reject(connection: Connection, proposal: str, author: str, now: datetime) -> int:
    """Reject all proposed attempts, keep the current grades, and return their number."""
    proposed = _proposed(connection, proposal)
    for attempt_id, stored_id in proposed:
        _set_state(connection, attempt_id, "rejected")
        action = f"reject {proposal}"
        record_attempt(connection, now, author, action, stored_id, attempt_id)
    return len(proposed)


def _set_state(connection: Connection, attempt_id: int, state: str) -> None:
    connection.execute(update(attempt).where(attempt.c.id == attempt_id).values(state=state))
