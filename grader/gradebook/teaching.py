"""What staff and students say and decide about grades.

Requests to look at a grade again, comments on a submission, when grades are released, which
submission a student has chosen, and regrades. Each change is a line of the audit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, exists, func, select, update

from grader.faults import LabFault
from grader.gradebook import attempts, submissions
from grader.gradebook.chain import record_event, storable
from grader.gradebook.database import Database, utc_now
from grader.gradebook.groups import counts_for
from grader.gradebook.ledger import message_text
from grader.gradebook.policy import Release, release_text
from grader.gradebook.progress import Waiting
from grader.gradebook.tables import (
    attempt,
    choice,
    comment,
    grade,
    message,
    regrade,
    release_rule,
    request,
    student,
    submission,
)
from grader.gradebook.values import (
    Comment,
    Message,
    Regrade,
    RegradeState,
    Request,
    RequestStatus,
)


class Teaching:
    """What is said and decided about the grades of one gradebook.

    Every method is one transaction, and raises MachineFault when the database fails.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database, self._clock = database, clock

    def ask(self, stored_id: int, body: str, author: str) -> int:
        """Open a request about the grade of a submission; return its number.

        Raises:
            LabFault: There is no grade, no text, or another request is not closed yet.
        """
        text = message_text(body)
        with self._database.writing() as connection:
            of = _submission(connection, stored_id)
            made = submissions.grade_of(connection, stored_id)
            if made is None:
                raise LabFault("this submission has no grade yet", fix="wait until it is graded")
            mine = (request.c.submission == stored_id) & (request.c.status != "closed")
            known = connection.execute(select(request.c.id).where(mine)).scalar()
            if known is not None and _was_said_last(connection, known, author, text):
                return int(known)  # a form that was sent twice
            if known is not None:
                raise LabFault("there is a request already", fix="write your message to that one")
            now = self._clock()
            values = {"submission": stored_id, "score": made["score"], "most": made["judged_max"]}
            number = _insert(connection, request, status="open", at=now, **values)
            said = _say(connection, number, author, False, text, now)
            record_event(
                connection, now, author, "request", lab=of.lab, student=of.student,
                submission=stored_id, after={"request": number, "score": made["score"]},
                reason=text, rows=[("request", number), ("message", said)],
            )  # fmt: skip
        return number

    def reply(self, number: int, body: str, author: str, *, staff: bool) -> None:
        """Add a message: one of the staff answers the request, one of the student opens it again.

        Raises:
            LabFault: There is no such request, no text, or it is closed.
        """
        self._change(number, "answered" if staff else "open", author, staff, message_text(body))

    def close(self, number: int, author: str) -> None:
        """Close a request. Raises LabFault when there is none, or it is closed."""
        self._change(number, "closed", author, True, "")

    def _change(
        self, number: int, status: RequestStatus, author: str, staff: bool, text: str
    ) -> None:
        with self._database.writing() as connection:
            mine = select(request.c.submission).where(request.c.id == number)
            stored_id = connection.execute(mine).scalar()
            of = _submission(connection, 0 if stored_id is None else stored_id)
            before = select(request.c.status).where(request.c.id == number)
            old = connection.execute(before).scalar_one()
            if text and _was_said_last(connection, number, author, text):
                return  # a form that was sent twice
            if old == "closed":
                raise LabFault("this request is closed", fix="ask again on the submission's page")
            now = self._clock()
            connection.execute(update(request).where(request.c.id == number).values(status=status))
            rows: list[Any] = [("request", number)]
            if text:
                rows.append(("message", _say(connection, number, author, staff, text, now)))
            record_event(
                connection, now, author, f"request {status}", lab=of.lab, student=of.student,
                submission=stored_id, before=old, after=status, reason=text, rows=rows,
            )  # fmt: skip

    def requests(self, stored_id: int | None = None) -> tuple[Request, ...]:
        """Return the requests, oldest first; of one submission when given."""
        query = _REQUESTS.order_by(request.c.id)
        if stored_id is not None:
            query = query.where(request.c.submission == stored_id)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
            said = select(message).where(message.c.request.in_([row.id for row in rows]))
            messages: dict[int, list[Message]] = {}
            for one in connection.execute(said.order_by(message.c.id)):
                own = Message(one.author, bool(one.staff), one.body, one.at)
                messages.setdefault(one.request, []).append(own)
        return tuple(
            Request(
                row.id, row.submission, row.lab, row.student, row.score, row.most, row.status,
                row.at, tuple(messages.get(row.id, ())),
            )
            for row in rows
        )  # fmt: skip

    def request(self, number: int) -> Request | None:
        """Return a request by its number."""
        mine = _REQUESTS.where(request.c.id == number)
        with self._database.reading() as connection:
            row = connection.execute(mine).first()
        found = () if row is None else self.requests(row.submission)
        return next((one for one in found if one.id == number), None)

    def waiting_requests(self) -> tuple[tuple[int, str], ...]:
        """Return the submission and the student of each request that waits for an answer."""
        query = _REQUESTS.where(request.c.status == "open")
        with self._database.reading() as connection:
            return tuple((row.submission, row.student) for row in connection.execute(query))

    def comment(self, stored_id: int, line: int, body: str, author: str) -> int:
        """Write a comment on a line of a submission, 0 for the whole of it; return its number.

        Raises:
            LabFault: There is no such submission or line, or no text.
        """
        text = message_text(body)
        with self._database.writing() as connection:
            of = _submission(connection, stored_id)
            query = select(submission.c.data).where(submission.c.id == stored_id)
            lines = len(connection.execute(query).scalar_one().splitlines())
            if not 0 <= line <= lines:
                raise LabFault(f"there is no line {line}", fix=f"the source has {lines} lines")
            same = {"submission": stored_id, "line": line, "author": storable(author), "body": text}
            mine = select(comment.c.id).filter_by(**same).where(~comment.c.removed)
            known = connection.execute(mine).scalar()
            if known is not None:
                return int(known)  # a form that was sent twice
            now = self._clock()
            number = _insert(connection, comment, at=now, **same)
            record_event(
                connection, now, author, "comment", lab=of.lab, student=of.student,
                submission=stored_id, after={"comment": number, "line": line}, reason=text,
                rows=[("comment", number)],
            )  # fmt: skip
        return number

    def remove_comment(self, stored_id: int, number: int, author: str) -> None:
        """Remove a comment of a submission; the audit keeps it. Raises LabFault without one."""
        mine = (comment.c.id == number) & (comment.c.submission == stored_id)
        mine &= ~comment.c.removed
        with self._database.writing() as connection:
            of = _submission(connection, stored_id)
            row = connection.execute(select(comment).where(mine)).first()
            if row is None:
                raise LabFault(f"there is no comment {number}", fix="open the page again")
            connection.execute(update(comment).where(mine).values(removed=True))
            record_event(
                connection, self._clock(), author, "comment removed", lab=of.lab,
                student=of.student, submission=stored_id,
                before={"comment": number, "line": row.line, "author": row.author}, reason=row.body,
                rows=[("comment", number)],
            )  # fmt: skip

    def comments(self, stored_id: int) -> tuple[Comment, ...]:
        """Return the comments on a submission: those on the whole of it first, then by line."""
        mine = (comment.c.submission == stored_id) & ~comment.c.removed
        names = ("id", "submission", "line", "author", "body", "at")
        query = select(*(comment.c[name] for name in names)).where(mine)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(comment.c.line, comment.c.id))
            return tuple(Comment(*row) for row in rows)

    def set_release(self, lab: str, rule: Release | None, author: str, reason: str) -> None:
        """Decide when students see a lab's grades; None: as course.yaml says."""
        given = rule or Release()
        with self._database.writing() as connection:
            now, before = self._clock(), release_of(connection, lab)
            number = _insert(
                connection, release_rule, lab=lab, moment=given.moment, held=given.held,
                author=storable(author), reason=storable(reason), at=now,
            )  # fmt: skip
            record_event(
                connection, now, author, "release", lab=lab, before=release_text(before),
                after=release_text(rule), reason=reason, rows=[("release_rule", number)],
            )  # fmt: skip

    def release(self, lab: str, written: Release) -> Release:
        """Return when students see a lab's grades; `written` is what course.yaml says."""
        with self._database.reading() as connection:
            return release_of(connection, lab) or written

    def choose(self, stored_id: int, author: str, who: str = "") -> None:
        """Choose the submission that counts for a student, where the course allows it.

        `who` is one of the group for whom it counts; "" for the one who sent it.
        """
        with self._database.writing() as connection:
            of, now = _submission(connection, stored_id), self._clock()
            who = storable(who) or of.student
            before = choices(connection, of.lab).get(who)
            if before == stored_id:
                return
            values = {"lab": of.lab, "student": who, "submission": stored_id}
            number = _insert(connection, choice, author=storable(author), at=now, **values)
            record_event(
                connection, now, author, "choose", lab=of.lab, student=who,
                submission=stored_id, before=before, after=stored_id, rows=[("choice", number)],
            )  # fmt: skip

    def choice(self, lab: str, who: str) -> int | None:
        """Return the submission that a student has chosen in a lab; None without a choice."""
        with self._database.reading() as connection:
            return choices(connection, lab).get(storable(who))

    def start_regrade(
        self, lab: str, students: Collection[str], author: str, reason: str
    ) -> Regrade:  # fmt: skip
        """Have the submissions of a lab graded again, as a proposal; of all students when none.

        Raises:
            LabFault: There is no such student, or an earlier regrade of the lab is not decided.
        """
        wanted = sorted({*map(storable, students)})
        with self._database.writing() as connection:
            known = set(connection.execute(select(student.c.id)).scalars())
            if unknown := [who for who in wanted if who not in known]:
                raise LabFault(f"there is no student `{unknown[0]}`", fix="use IDs of the roster")
            mine = (regrade.c.lab == lab) & (regrade.c.state == "open")
            if connection.execute(select(regrade.c.id).where(mine)).first() is not None:
                raise LabFault(f"a regrade of `{lab}` is open", fix="adopt or reject it first")
            now = self._clock()
            number = _insert(
                connection, regrade, lab=lab, students=json.dumps(wanted), state="open",
                author=storable(author), reason=storable(reason), at=now,
            )  # fmt: skip
            record_event(
                connection, now, author, "regrade", lab=lab, after={"students": wanted or "all"},
                reason=reason, rows=[("regrade", number)],
            )  # fmt: skip
            row = connection.execute(select(regrade).where(regrade.c.id == number)).one()
        return _regrade(row)

    def regrades(self, *, only_open: bool = False) -> tuple[Regrade, ...]:
        """Return the regrades, newest first."""
        query = select(regrade).order_by(regrade.c.id.desc())
        if only_open:
            query = query.where(regrade.c.state == "open")
        with self._database.reading() as connection:
            return tuple(map(_regrade, connection.execute(query)))

    def regrade(self, number: int) -> Regrade | None:
        """Return a regrade by its number."""
        with self._database.reading() as connection:
            row = connection.execute(select(regrade).where(regrade.c.id == number)).first()
        return None if row is None else _regrade(row)

    def pending(self, one: Regrade) -> tuple[Waiting, ...]:
        """Return what a regrade has not graded again yet, of what had a grade when it started."""
        with self._database.reading() as connection:
            return _pending(connection, one)

    def end_regrade(self, number: int, author: str, *, adopt: bool) -> int:
        """Adopt or reject the proposed grades of a regrade; return how many there are.

        Raises:
            LabFault: There is no such regrade, it is decided, or it is to be adopted while
                submissions still wait.
        """
        mine = (regrade.c.id == number) & (regrade.c.state == "open")
        state: RegradeState = "adopted" if adopt else "rejected"
        with self._database.writing() as connection:
            row = connection.execute(select(regrade).where(mine).with_for_update()).first()
            if row is None:
                raise LabFault(f"there is no open regrade {number}", fix="open the page again")
            now, one = self._clock(), _regrade(row)
            left = [waits for waits in _pending(connection, one) if not waits.stopped]
            if adopt and left:
                raise LabFault(f"{len(left)} submissions wait to be graded again", fix="wait")
            end = attempts.adopt if adopt else attempts.reject
            count = end(connection, one.proposal, author, now)
            connection.execute(update(regrade).where(mine).values(state=state))
            record_event(
                connection, now, author, f"regrade {state}", lab=one.lab, before="open",
                after={"regrade": number, "grades": count}, rows=[("regrade", number)],
            )  # fmt: skip
        return count


_REQUESTS: Select[Any] = select(
    request.c.id, request.c.submission, submission.c.lab, submission.c.student,
    *(request.c[name] for name in ("score", "most", "status", "at")),
).join(submission, submission.c.id == request.c.submission)  # fmt: skip


def choices(connection: Connection, lab: str) -> Mapping[str, int]:
    """Return the submission that each student has chosen in a lab."""
    query = select(choice.c.student, choice.c.submission).where(choice.c.lab == lab)
    return {row.student: row.submission for row in connection.execute(query.order_by(choice.c.id))}


def _submission(connection: Connection, stored_id: int) -> Any:
    """Return whose submission that is, and lock it as every writer does before the audit."""
    query = select(submission.c.lab, submission.c.student).where(submission.c.id == stored_id)
    row = connection.execute(query.with_for_update()).first()
    if row is None:
        raise LabFault("there is no such submission", fix="check its number")
    return row


def _insert(connection: Connection, table: Table, **values: Any) -> int:
    made: Sequence[Any] | None
    made = connection.execute(table.insert().values(**values)).inserted_primary_key
    return int((made or (0,))[0])


def _say(
    connection: Connection, number: int, author: str, staff: bool, text: str, now: datetime
) -> int:
    values = {"request": number, "author": storable(author), "staff": staff}
    return _insert(connection, message, body=text, at=now, **values)


def _was_said_last(connection: Connection, number: int, author: str, text: str) -> bool:
    """Whether the newest message of a request is this one, of this person."""
    said = select(message.c.author, message.c.body).where(message.c.request == number)
    row = connection.execute(said.order_by(message.c.id.desc()).limit(1)).first()
    return row is not None and (row.author, row.body) == (storable(author), text)


def release_of(connection: Connection, lab: str) -> Release | None:
    """Return what the staff have decided last about a lab; None: as course.yaml says."""
    query = select(release_rule).where(release_rule.c.lab == lab)
    row = connection.execute(query.order_by(release_rule.c.id.desc()).limit(1)).first()
    if row is None or row.moment is None and not row.held:
        return None
    return Release(row.moment, bool(row.held))


def _pending(connection: Connection, one: Regrade) -> tuple[Waiting, ...]:
    mine = (attempt.c.submission == submission.c.id) & (attempt.c.proposal == one.proposal)
    done = exists().where(mine, attempt.c.state.in_(("proposed", "accepted", "rejected")))
    faults = select(func.count()).where(mine, attempt.c.state == "fault").scalar_subquery()
    running = exists().where(mine, attempt.c.state == "running")
    query = (
        select(submission.c.id, submission.c.student)
        .add_columns(faults.label("faults"), running.label("running"))
        .where(submission.c.lab == one.lab, ~done)
        .where(exists().where(grade.c.submission == submission.c.id, grade.c.since <= one.at))
        .order_by(submission.c.received, submission.c.id)
    )
    if one.students:
        query = query.where(counts_for(one.lab, one.students))
    return tuple(
        Waiting(row.id, one.lab, row.student, k, bool(row.running), row.faults)
        for k, row in enumerate(connection.execute(query))
    )


def _regrade(row: Row[Any]) -> Regrade:
    students = tuple(json.loads(row.students))
    return Regrade(row.id, row.lab, students, row.state, row.author, row.reason, row.at)
