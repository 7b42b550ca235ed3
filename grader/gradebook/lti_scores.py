"""What platforms are to show of the grades, and what they have accepted.

What a link is to show for a person is a function of the gradebook: `wanted_score`. A row of
`lti_score` has the digest of what the platform has last accepted, or "" when nobody knows: from the
claim, which comes before anything is sent, until the answer. So whatever is due is found by
comparing, after any crash, and sending it again changes nothing.

A claim is a lease with a token, as that of an attempt (attempts.py). It computes what is wanted
again, in its own transaction, and stores the time that the message has: the next message, whoever
sends it, has a later one, and a platform refuses the older.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, Row, func, select, update

from grader import dataclass, replace
from grader.gradebook import entries as counting
from grader.gradebook.chain import insert_new, record_event, storable
from grader.gradebook.course import Course
from grader.gradebook.database import Database, utc_now
from grader.gradebook.lti_items import FREE, LEASE, Target, is_leased, targets_of
from grader.gradebook.lti_news import SENT, Changes, News, changes
from grader.gradebook.lti_tables import (
    item,
    link,
    member,
    person,
    score,
)
from grader.gradebook.tables import audit
from grader.gradebook.teaching import release_of
from grader.gradebook.values import Entry

State = Literal["graded", "overridden", "none", "keep"]
Standing = Literal["sent", "waits", "failed", "nothing"]


@dataclass(frozen=True)
class Wanted:
    """What a link is to show for a person.

    Attributes:
        state: Where the points come from; `none` for no score, `keep` for what it shows already.
        points: The points; None for none.
        most: The points of full marks.
        submission: The submission that counts; None without one.
        submitted: When it was received; None when that is unknown.
    """

    state: State
    points: float | None
    most: float
    submission: int | None = None
    submitted: datetime | None = None

    @property
    def digest(self) -> str:
        """What two of them that look the same at the platform have in common."""
        shown = None if self.points is None else [self.points, self.most]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def wanted_score(entry: Entry, held: bool, most: float, before: str) -> Wanted:
    """Return what a link is to show of an entry: what its student's page shows.

    A grade that waits, or that a machine has failed at, changes nothing: the last score stays. Only
    points that the staff have taken back are removed.

    Args:
        entry: What counts for the student.
        held: Whether students may not see the grades of the lab yet.
        most: The lab's points of full marks, for an entry that has none.
        before: The state of what was last sent; "" for nothing.
    """
    full = entry.max_points if entry.max_points else most
    if not held and entry.points is not None and full > 0:
        state: State = "overridden" if entry.status == "overridden" else "graded"
        return Wanted(state, entry.points, full, entry.submission, entry.received)
    if entry.status in ("waiting", "incomplete") and not held and before != "overridden":
        return Wanted("keep", None, full)
    return Wanted("none", None, full)


@dataclass(frozen=True)
class ScoreLine:
    """A person at a link: what is wanted, and how it stands.

    Attributes:
        standing: `sent`, `waits`, `failed`, or `nothing` when there is nothing to show.
        due: Whether it is to be sent now.
        error: Why it was not accepted, in the platform's words.
        tries: How often it was not accepted.
        at: When the platform has last accepted a score.
    """

    target: Target
    person: int
    sub: str
    student: str
    wanted: Wanted
    standing: Standing
    due: bool
    error: str = ""
    tries: int = 0
    at: datetime | None = None
    next_try: datetime | None = None


@dataclass(frozen=True)
class ScoreClaim:
    """The right to send one score to a line item, until a time.

    `stamp` is the time of the message; `is_new`: the platform knows no score of the submission.
    """

    line: ScoreLine
    item: str
    token: str
    stamp: datetime
    is_new: bool
    until: datetime


class LtiScores:
    """The scores of one course at the platforms.

    Every method is one transaction, and raises MachineFault when the database fails. `most` has the
    points of full marks of each lab; `next_stamp` returns the time of a message after another.
    """

    def __init__(
        self, database: Database, course: Course, most: Mapping[str, float],
        next_stamp: Callable[[datetime, datetime | None], datetime],
        clock: Callable[[], datetime] = utc_now,
    ) -> None:  # fmt: skip
        self._database, self._course, self.most = database, course, most
        self._stamp, self._clock = next_stamp, clock

    def targets(self, lab: str | None = None) -> Sequence[Target]:
        """Return the links of active platforms that lead to labs of the course."""
        with self._database.reading() as connection:
            return tuple(one for one in targets_of(connection) if self._is_mine(one, lab))

    def people(self, number: int) -> int:
        """Return how many accounts of a registration are connected."""
        with self._database.reading() as connection:
            return sum(one.registration == number for one in _people(connection))

    def _is_mine(self, one: Target, lab: str | None) -> bool:
        return one.lab in self.most and lab in (None, one.lab)

    def lines(
        self, lab: str | None = None, only: Collection[str] | None = None
    ) -> Sequence[ScoreLine]:
        """Return how each person stands at each link, as one snapshot; `only` these students."""
        now = self._clock()
        with self._database.reading() as connection:
            found: list[ScoreLine] = []
            people = [
                one for one in _people(connection) if only is None or _student(one.who) in only
            ]
            for target in targets_of(connection):
                if self._is_mine(target, lab):
                    found += self._lines(connection, target, people, now)
        return found

    def _lines(
        self, connection: Connection, target: Target, people: Sequence[Row[Any]], now: datetime
    ) -> Iterator[ScoreLine]:
        known = _members(connection, target)
        mine = [
            one for one in people
            if one.registration == target.registration and (known is None or one.id in known)
        ]  # fmt: skip
        only = {_student(one.who): one for one in mine}
        held = self._holds(connection, target.lab, now)
        rows = {
            row.person: row
            for row in connection.execute(select(score).where(score.c.link == target.link))
        }
        for entry in counting.entries(connection, target.lab, self._course, [*only]):
            one = only[entry.student]
            yield self._line(target, one, entry, held, rows.get(one.id), now)

    def _line(
        self, target: Target, one: Row[Any], entry: Entry, held: bool, row: Row[Any] | None,
        now: datetime,
    ) -> ScoreLine:  # fmt: skip
        row = row if row is not None and row.stamp is not None else None  # nothing was sent yet
        before = row.state if row is not None else ""
        wanted = wanted_score(entry, held, self.most[target.lab], before)
        line = ScoreLine(target, one.id, one.sub, entry.student, wanted, "waits", True)
        if row is not None:
            line = replace(line, at=row.at, next_try=row.next_try)
        if wanted.state == "keep" or row is None and wanted.state == "none":
            is_sent = row is not None and bool(row.sent)
            return replace(line, standing="sent" if is_sent else "nothing", due=False)
        if row is None:
            return line
        if row.sent == wanted.digest:
            return replace(line, standing="sent", due=False)
        if row.wanted != wanted.digest:
            return line
        standing: Standing = "failed" if row.failed else "waits"
        rests = row.next_try is not None and row.next_try > now
        return replace(line, standing=standing, due=not rests, error=row.error, tries=row.tries)

    def _holds(self, connection: Connection, lab: str, now: datetime) -> bool:
        rule = release_of(connection, lab) or self._course.policy(lab).release
        return rule.holds(now)

    def news(self, last: News | None) -> tuple[News, Changes | None]:
        """Return how it is now, for the next look, and what may have become due since the last.

        None when everything may be.
        """
        now = self._clock()
        with self._database.reading() as connection:
            shape = json.dumps([
                [self._holds(connection, lab, now) for lab in sorted(self.most)],
                [sorted(map(str, vars(one).values())) for one in targets_of(connection)],
                connection.execute(select(func.count()).select_from(member)).scalar(),
                len(_people(connection)),
            ])  # fmt: skip
            newest = connection.execute(select(func.max(audit.c.id))).scalar() or 0
            new = News(newest, now, shape)
            return new, changes(connection, last, new)

    def claim(self, line: ScoreLine, at: str, worker: str) -> ScoreClaim | None:
        """Claim a score for the line item `at`.

        Returns:
            None when it is not due any more, or another process is at it.
        """
        now, token = self._clock(), secrets.token_hex(16)
        same = (score.c.link == line.target.link) & (score.c.person == line.person)
        with self._database.writing() as connection:
            insert_new(connection, score, same, link=line.target.link, person=line.person)
            row = connection.execute(select(score).where(same).with_for_update()).one()
            if is_leased(row, now):
                return None
            fresh = self._again(connection, line, row, now)
            if fresh is None:
                return None
            stamp = self._stamp(now, row.stamp)
            connection.execute(
                update(score).where(same).values(
                    worker=storable(worker), lease_until=now + LEASE, token=token, stamp=stamp,
                    sent="", wanted=fresh.wanted.digest, state=fresh.wanted.state,
                    tries=fresh.tries, failed=False,
                )
            )  # fmt: skip
        is_new = fresh.wanted.submission not in (None, row.submission)
        return ScoreClaim(fresh, at, token, stamp, is_new, now + LEASE)

    def _again(
        self, connection: Connection, line: ScoreLine, row: Row[Any], now: datetime
    ) -> ScoreLine | None:
        """Return the line as it is now; None when it is not due."""
        known = select(person).where(person.c.id == line.person, person.c.who != "")
        one = connection.execute(known).first()
        if one is None or line.target not in targets_of(connection):
            return None
        entry = counting.entries(connection, line.target.lab, self._course, [_student(one.who)])[0]
        held = self._holds(connection, line.target.lab, now)
        fresh = self._line(line.target, one, entry, held, row, now)
        return fresh if fresh.due else None

    def accepted(self, claim: ScoreClaim, worker: str) -> bool:
        """Record that the platform has accepted a score; False when another process took over."""
        line, now = claim.line, self._clock()
        same = (score.c.link == line.target.link) & (score.c.person == line.person)
        wanted = line.wanted
        with self._database.writing() as connection:
            mine = same & (score.c.token == claim.token)
            row = connection.execute(select(score).where(mine).with_for_update()).first()
            if row is None:
                return False
            there = select(item.c.address).where(item.c.link == line.target.link)
            is_there = connection.execute(there).scalar() == claim.item
            values: dict[str, Any] = {"sent": wanted.digest if is_there else ""}
            values |= {"points": wanted.points, "most": wanted.most}
            values |= {"tries": 0, "next_try": None, "error": "", **FREE}
            values |= {"at": now, "submission": wanted.submission}
            connection.execute(update(score).where(same).values(**values))
            record_event(
                connection, now, worker, SENT, lab=line.target.lab, student=line.student,
                submission=wanted.submission, before=_shown(row.points, row.most),
                after=_shown(wanted.points, wanted.most), reason=f"link {line.target.link}",
            )  # fmt: skip
        return True

    def refused(self, claim: ScoreClaim, why: str, wait: timedelta, *, failed: bool) -> None:
        """Record that a score was not accepted, or not shown, and when to try again.

        `failed`: it will not be accepted as long as nothing changes.
        """
        now = self._clock()
        mine = (score.c.link == claim.line.target.link) & (score.c.person == claim.line.person)
        with self._database.writing() as connection:
            values = {"tries": claim.line.tries + 1, "next_try": now + wait, "failed": failed}
            connection.execute(
                update(score)
                .where(mine, score.c.token == claim.token)
                .values(error=storable(why), **values, **FREE)
            )

    def again(self, lab: str | None = None) -> int:
        """Try at once what was not accepted; return the number of scores and line items."""
        mine = link.c.id == score.c.link
        query = select(score.c.link, score.c.person).join(link, mine).where(score.c.error != "")
        query = query if lab is None else query.where(link.c.lab == lab)
        with self._database.writing() as connection:
            rows = connection.execute(query).all()
            for row in rows:
                same = (score.c.link == row.link) & (score.c.person == row.person)
                connection.execute(update(score).where(same).values(next_try=None))
            items = update(item).where(item.c.error != "").values(next_try=None)
            return len(rows) + connection.execute(items).rowcount

    def set_members(self, targets: Collection[Target], subs: Collection[str]) -> None:
        """Record who is a member where links of one platform are, of the connected people."""
        now, given = self._clock(), {*map(storable, subs)}
        numbers = sorted(one.link for one in targets)
        of = {one.registration for one in targets}
        with self._database.writing() as connection:
            query = select(person.c.id, person.c.sub).where(person.c.registration.in_(of))
            here = [row.id for row in connection.execute(query) if row.sub in given]
            connection.execute(member.delete().where(member.c.link.in_(numbers)))
            rows = [{"link": k, "person": one, "at": now} for k in numbers for one in here]
            if rows:
                connection.execute(member.insert(), rows)


def _shown(points: float | None, most: float | None) -> Any:
    return None if points is None else {"points": points, "most": most}


def _student(who: str) -> str:
    return who.partition(":")[2]


def _people(connection: Connection) -> Sequence[Row[Any]]:
    """Return the connected accounts of students."""
    query = select(person).where(person.c.who.startswith("student:", autoescape=True))
    return connection.execute(query.order_by(person.c.id)).all()


def _members(connection: Connection, target: Target) -> set[int] | None:
    """Return who is known to be where a link is; None when anybody of the platform may be.

    It matters only where a platform has several courses that lead here.
    """
    places = {one.place for one in targets_of(connection)}
    if sum(place[0] == target.registration for place in places) < 2:
        return None
    query = select(member.c.person).where(member.c.link == target.link)
    return set(connection.execute(query).scalars()) or None
