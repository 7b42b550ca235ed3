"""Groups: students who submit together in a lab, and for whom a submission counts.

A submission counts for the student who sent it and for those who were in the student's group at
that moment. A later change of the group neither takes a submission from anybody nor gives one,
unless staff say that the earlier ones count for the whole group too. What staff decide about a
student's group counts before what course.yaml says, until they give the decision back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    exists,
    func,
    select,
    text,
    true,
    tuple_,
)

from grader.faults import LabFault
from grader.gradebook.chain import RowKey, insert_new, record_event, storable
from grader.gradebook.course import Course, team_name
from grader.gradebook.database import Database, is_sqlite, utc_now
from grader.gradebook.extensions import FILE
from grader.gradebook.tables import coauthor, membership, student, submission
from grader.gradebook.values import Membership, StoredSubmission

_LOCK = 0x7465616D

_SENT, _THEIRS, _STORED = submission.alias(), submission.alias(), submission.alias()
_SHARED, _EVER = coauthor.alias(), membership.alias()
"""The tables that a query reads a second time. An alias makes its columns anew, which took a third
of the time in which a student's entry is read."""


class Groups:
    """The groups of one gradebook.

    Every method is one transaction, and raises MachineFault when the database fails.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database, self._clock = database, clock

    def members(self, lab: str) -> Mapping[str, Membership]:
        """Return the membership of each student of a lab who is in a group, or was taken out."""
        with self._database.reading() as connection:
            return memberships(connection, lab)

    def mates(self, lab: str, who: str) -> tuple[str, ...]:
        """Return the other students of a student's group in a lab."""
        with self._database.reading() as connection:
            return mates(connection, lab, who)

    def owners(self, stored_id: int) -> tuple[str, ...]:
        """Return the students for whom a submission counts, the one who sent it first."""
        with self._database.reading() as connection:
            return owners(connection, stored_id)

    def owners_of(self, numbers: Collection[int]) -> Mapping[int, tuple[str, ...]]:
        """Return `owners` of each of these submissions that other students share."""
        with self._database.reading() as connection:
            return _shared(connection, coauthor.c.submission.in_(numbers)) if numbers else {}

    def owners_of_all(self, stored: Collection[StoredSubmission]) -> frozenset[str]:
        """Return the students for whom each of these counts; none if they are of several labs."""
        if len({one.lab for one in stored}) != 1:
            return frozenset()
        return frozenset.intersection(*(frozenset(self.owners(one.id)) for one in stored))

    def together(self, lab: str) -> frozenset[frozenset[str]]:
        """Return the pairs of students who are in one group of a lab, or share a submission."""
        known = self.members(lab)
        with self._database.reading() as connection:
            shared = _shared(connection, submission.c.lab == lab)
        sets = [{*names} for names in shared.values()]
        teams = {one.team for one in known.values() if one.team}
        sets += [{who for who, one in known.items() if one.team == team} for team in teams]
        return frozenset(frozenset(pair) for one in sets for pair in combinations(sorted(one), 2))

    def put(
        self, lab: str, who: str, team: str | None, author: str, reason: str, *,
        earlier: bool = False,
    ) -> int:  # fmt: skip
        """Put a student into a group of a lab: "" for none, None for what course.yaml says.

        With `earlier`, what the students of the group have submitted so far counts for all of
        them from now on. Otherwise it counts for those for whom it counts already. The same
        decision for the same reason is not recorded twice.

        Returns:
            The number of submissions that count for more students than before.

        Raises:
            LabFault: There is no such student, or the name is too long.
        """
        who, name = storable(who), None if team is None else team_name(team)
        with self._database.writing() as connection:
            if connection.execute(select(student.c.id).where(student.c.id == who)).first() is None:
                raise LabFault(f"there is no student `{who}`", fix="use an ID of the roster")
            now = self._clock()
            if earlier:  # a transaction locks its submissions before the audit
                mine = select(submission.c.id).where(submission.c.lab == lab)
                connection.execute(mine.order_by(submission.c.id).with_for_update()).all()
            _decide(connection, lab, who, name, author, reason, now)
            return _share_earlier(connection, lab, who, author, now) if earlier else 0


def _shared(
    connection: Connection, which: ColumnElement[bool]
) -> Mapping[int, tuple[str, ...]]:  # fmt: skip
    """Return the students of each of these submissions that several share, its sender first."""
    query = (
        select(coauthor.c.submission, submission.c.student.label("by"), coauthor.c.student)
        .join(submission, submission.c.id == coauthor.c.submission)
        .where(which)
        .order_by(coauthor.c.id)
    )
    found: dict[int, tuple[str, ...]] = {}
    for number, sender, who in connection.execute(query):
        found[number] = (*found.get(number, (sender,)), who)
    return found


def memberships(
    connection: Connection, lab: str, whom: ColumnElement[bool] | None = None
) -> dict[str, Membership]:
    """Return what counts of each student's group: the newest decision of staff, else the file's.

    With `whom`, a condition on the table's students, only theirs.
    """
    written, given = _decisions(connection, lab, true() if whom is None else whom)
    both = {**written, **given}
    kept = (who for who in sorted(both) if both[who].team or both[who].origin != FILE)
    return {who: both[who] for who in kept}


def _decisions(
    connection: Connection, lab: str, whom: ColumnElement[bool]
) -> tuple[dict[str, Membership], dict[str, Membership]]:
    """Return what course.yaml says of each student's group, and what staff decided."""
    query = select(membership).where(membership.c.lab == lab, whom).order_by(membership.c.id)
    given: dict[str, Membership] = {}
    written: dict[str, Membership] = {}
    for row in connection.execute(query):
        one = Membership(
            row.student, row.team or "", "staff" if row.staff else FILE, row.author, row.reason,
            row.at,
        )  # fmt: skip
        if not row.staff:
            written[row.student] = one
        elif row.team is None:
            given.pop(row.student, None)
        else:
            given[row.student] = one
    return written, given


def mates(connection: Connection, lab: str, who: str) -> tuple[str, ...]:
    """Return the other students of a student's group in a lab."""
    who = storable(who)
    own = memberships(connection, lab, membership.c.student == who).get(who)
    if own is None or not own.team:
        return ()
    # who was ever put there; the newest row of each decides
    named = select(_EVER.c.student).where(_EVER.c.lab == lab, _EVER.c.team == own.team)
    known = memberships(connection, lab, membership.c.student.in_(named))
    return tuple(one for one in known if known[one].team == own.team and one != who)


def owners(connection: Connection, stored_id: int) -> tuple[str, ...]:
    """Return the students for whom a submission counts, the one who sent it first."""
    sender = select(submission.c.student).where(submission.c.id == stored_id)
    others = select(coauthor.c.student).where(coauthor.c.submission == stored_id)
    others = others.order_by(coauthor.c.id)
    return (*connection.execute(sender).scalars(), *connection.execute(others).scalars())


def counts_for(
    lab: str | ScalarSelect[str], students: Collection[str]
) -> ColumnElement[bool]:  # fmt: skip
    """Select the submissions that count for one of these students, of a lab.

    One list of numbers, each half of which has an index: with OR, or another condition on the lab,
    a database reads the whole lab.
    """
    named = [storable(who) for who in students]
    own = select(_SENT.c.id).where(_SENT.c.lab == lab, _SENT.c.student.in_(named))
    of_lab = exists().where(_THEIRS.c.id == _SHARED.c.submission, _THEIRS.c.lab == lab)
    others = select(_SHARED.c.submission).where(_SHARED.c.student.in_(named), of_lab)
    return submission.c.id.in_(own.union_all(others))


def lock_group(connection: Connection, lab: str, group: Collection[str]) -> None:
    """Let one of a group store at a time, so that two who send the same file make one."""
    if len(group) > 1 and not is_sqlite(connection):
        query = text("SELECT pg_advisory_xact_lock(:key, hashtext(:name))")
        connection.execute(query, {"key": _LOCK, "name": f"{lab}\n{min(group)}"})


def share(
    connection: Connection, stored_id: int, others: Iterable[str], since: datetime | None
) -> list[RowKey]:
    """Let a submission count for more students; return the rows, which the caller records.

    A student who has submitted the same bytes, or for whom they count already, is left out.
    """
    same = select(*_IDENTITY).where(submission.c.id == stored_id)
    lab = select(_STORED.c.lab).where(_STORED.c.id == stored_id).scalar_subquery()
    rows: list[RowKey] = []
    for who in others:
        has = select(submission.c.id).where(tuple_(*_IDENTITY).in_(same), counts_for(lab, [who]))
        if connection.execute(has).first() is None:
            values = {"submission": stored_id, "student": who, "since": since}
            made = connection.execute(coauthor.insert().values(**values)).inserted_primary_key
            rows.append(("coauthor", *(made or ())))
    return rows


_IDENTITY = tuple(submission.c[name] for name in ("lab", "sha256", "answers_sha256"))


def _decide(
    connection: Connection, lab: str, who: str, team: str | None, author: str, reason: str,
    now: datetime,
) -> None:  # fmt: skip
    """Record what staff decide about a student's group, unless it is what they decided last."""
    written, given = _decisions(connection, lab, membership.c.student == who)
    old, of_file = given.get(who), _team(written.get(who))
    if (old and (old.team, old.reason)) == (team if team is None else (team, storable(reason))):
        return
    before, after = old.team if old else of_file, of_file if team is None else team
    _put(connection, lab, who, team, author, reason, now, (before, after))


def _put(
    connection: Connection, lab: str, who: str, team: str | None, author: str, reason: str,
    now: datetime, moved: tuple[str, str], *, staff: bool = True,
) -> None:  # fmt: skip
    """Record a decision; `moved` are the groups that count before and after it."""
    values = {"lab": lab, "student": who, "team": team, "staff": staff, "at": now}
    values |= {"author": storable(author), "reason": storable(reason)}
    made = connection.execute(membership.insert().values(**values)).inserted_primary_key
    record_event(
        connection, now, author, "group" if staff else f"group in {FILE}", lab=lab, student=who,
        reason=reason, before=moved[0], after=moved[1], rows=[("membership", *(made or ()))],
    )  # fmt: skip


def _team(one: Membership | None) -> str:
    return one.team if one is not None else ""


def _share_earlier(connection: Connection, lab: str, who: str, author: str, now: datetime) -> int:
    """Let what a group has submitted so far count for all of it; return how many did not."""
    group = (who, *mates(connection, lab, who))
    query = select(submission.c.id).where(counts_for(lab, group))
    count = 0
    for number in connection.execute(query.order_by(submission.c.received)).scalars().all():
        rows = share(connection, number, group, now)
        count += bool(rows)
        for row in rows:
            new = select(coauthor.c.student).where(coauthor.c.id == row[1])
            record_event(
                connection, now, author, "group submission", lab=lab, submission=number,
                student=connection.execute(new).scalar_one(), rows=[row],
            )  # fmt: skip
    return count


def apply_groups(
    connection: Connection, course: Course, author: str, now: datetime, *, dry: bool = False
) -> Sequence[str]:
    """Record the groups that course.yaml has now; return a line for each change.

    Nothing is written when `dry`.
    """
    wanted = {(lab, storable(who)): team for (lab, who), team in course.groups.items()}
    newest = select(func.max(membership.c.id)).where(~membership.c.staff)
    newest = newest.group_by(membership.c.lab, membership.c.student)
    rows = connection.execute(select(membership).where(membership.c.id.in_(newest)))
    known = {(row.lab, row.student): row.team or "" for row in rows}
    keys = sorted(wanted.keys() | known.keys())
    keys = [key for key in keys if wanted.get(key, "") != known.get(key, "")]
    counting = {} if dry else {lab: memberships(connection, lab) for lab in dict(keys)}
    lines = []
    for lab, who in keys:
        new, old = wanted.get((lab, who), ""), known.get((lab, who), "")
        lines.append(f"{FILE}: {lab} {who}: {f'group {new}' if new else 'no group'}")
        if dry:
            continue
        if insert_new(connection, student, student.c.id == who, id=who):
            record_event(connection, now, author, "student", student=who, rows=[("student", who)])
        own = counting[lab].get(who)
        moved = (old, new) if own is None or own.origin == FILE else (own.team, own.team)
        _put(connection, lab, who, new, author, "", now, moved, staff=False)
    return lines
