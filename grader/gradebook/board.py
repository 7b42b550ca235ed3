"""Leaderboards: which students take part, with which pseudonym, and which entries staff hide.

A student takes part by choosing a pseudonym and leaves at any time. An entry that staff have hidden
stays hidden, also when its student leaves and comes back. Each change is a line of the audit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from grader import dataclass, regex
from grader.faults import LabFault
from grader.gradebook.chain import insert_new, lock_audit, record_event, storable
from grader.gradebook.database import Database, utc_now
from grader.gradebook.tables import board_entry, board_mark, student

SHORTEST, LONGEST = 2, 24
"""Characters of a pseudonym."""

RESERVED = ("baseline", "solution", "staff", "teacher", "instructor", "admin", "observer", "grader")
"""What no pseudonym may be or begin with: rows of the board, and people who have other roles."""

_PSEUDONYM = regex(r"[A-Za-z0-9](?:[A-Za-z0-9]|[ ._-](?=[A-Za-z0-9]))*", re.ASCII)


@dataclass(frozen=True)
class Member:
    """A student's part in a leaderboard; `pseudonym` is "" for one who has left.

    `hidden`: staff have hidden the entry, for the `reason` that only staff read. `since`: when the
    student began to take part.
    """

    student: str
    pseudonym: str
    hidden: bool = False
    reason: str = ""
    since: datetime | None = None


@dataclass(frozen=True)
class Marks:
    """What a lab's own kernels reach: grade values by `baseline` and `solution`.

    `lab_sha256` is the digest of the lab's files that they were measured with.
    """

    lab_sha256: str
    values: Mapping[str, Any]

    @property
    def is_timed(self) -> bool:
        """Whether a GPU has measured it."""
        return bool(self.values.get("backend") == "gpu")


def read_pseudonym(text: str) -> str:
    """Return a pseudonym without the spaces around it.

    Only characters that look the same to everybody are accepted, so that nobody can imitate
    another's with a letter of another alphabet, or change how the rest of a page is read.

    Raises:
        LabFault: It is too short or too long, has another character, or is reserved.
    """
    name = text.strip(" ")
    if not SHORTEST <= len(name) <= LONGEST:
        raise LabFault(
            f"a pseudonym has {SHORTEST} to {LONGEST} characters", fix="choose another one"
        )
    if not _PSEUDONYM.fullmatch(name):
        what = "a pseudonym has letters from A to Z and digits, and between them ` `, `.`, `_`, `-`"
        raise LabFault(what, fix="choose another one")
    if folded(name).startswith(RESERVED):
        raise LabFault("this pseudonym is reserved", fix="choose another one")
    return name


def folded(name: str) -> str:
    """Return a pseudonym as it is compared: without case and without what separates words."""
    return re.sub(r"[ ._-]", "", name.lower(), flags=re.ASCII)


class Board:
    """The leaderboards of one gradebook.

    Every method is one transaction, and raises MachineFault when the database fails.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database, self._clock = database, clock

    def join(self, lab: str, who: str, pseudonym: str, author: str) -> str:
        """Take part with a pseudonym, or change it; return it as it is stored.

        Raises:
            LabFault: It is not valid, or another student of the lab has it.
        """
        name = read_pseudonym(pseudonym)
        with self._database.writing() as connection:
            lock_audit(connection)  # of two who want the same pseudonym, the second sees the first
            _require_student(connection, who)
            mine = (board_entry.c.lab == lab) & (board_entry.c.student == storable(who))
            new = {"lab": lab, "student": storable(who), "at": self._clock()}
            insert_new(connection, board_entry, mine, **new)
            row = connection.execute(select(board_entry).where(mine).with_for_update()).one()
            taken = (board_entry.c.lab == lab) & (board_entry.c.folded == folded(name)) & ~mine
            if connection.execute(select(board_entry.c.student).where(taken)).first() is not None:
                raise LabFault(f"the pseudonym `{name}` is taken", fix="choose another one")
            if row.pseudonym != name:
                since = row.at if row.pseudonym else self._clock()
                self._set(
                    connection, row, "board", author,
                    pseudonym=name, folded=folded(name), at=since,
                )  # fmt: skip
        return name

    def leave(self, lab: str, who: str, author: str) -> None:
        """End a student's part; the pseudonym is free again. Nothing happens without one."""
        with self._database.writing() as connection:
            row = _locked(connection, lab, who)
            if row is not None and row.pseudonym:
                self._set(connection, row, "board left", author, pseudonym="", folded=None)

    def hide(self, lab: str, who: str, author: str, reason: str) -> None:
        """Hide a student's entry from everybody but staff.

        Raises:
            LabFault: The student takes no part, the entry is hidden already, or there is no reason.
        """
        self._show(lab, who, author, reason, hidden=True)

    def show(self, lab: str, who: str, author: str, reason: str) -> None:
        """Show a hidden entry again. Raises LabFault when it is not hidden, or without a reason."""
        self._show(lab, who, author, reason, hidden=False)

    def _show(self, lab: str, who: str, author: str, reason: str, *, hidden: bool) -> None:
        why = storable(reason.strip())
        if not why:
            raise LabFault("this needs a reason", fix="say why; the audit keeps it")
        with self._database.writing() as connection:
            row = _locked(connection, lab, who)
            if row is None or hidden and not row.pseudonym:
                raise LabFault(f"`{who}` takes no part in this board", fix="open the page again")
            if bool(row.hidden) == hidden:
                state = "hidden already" if hidden else "not hidden"
                raise LabFault(f"the entry of `{who}` is {state}", fix="open the page again")
            action = "board hidden" if hidden else "board shown"
            kept = why if hidden else ""
            self._set(connection, row, action, author, why=why, hidden=hidden, reason=kept)

    def _set(
        self, connection: Connection, row: Row[Any], action: str, author: str, *, why: str = "",
        **values: Any,
    ) -> None:  # fmt: skip
        now = self._clock()
        mine = (board_entry.c.lab == row.lab) & (board_entry.c.student == row.student)
        connection.execute(update(board_entry).where(mine).values(**values))
        shown = {"pseudonym": row.pseudonym, "hidden": bool(row.hidden)}
        record_event(
            connection, now, author, action, lab=row.lab, student=row.student, before=shown,
            after=shown | {k: v for k, v in values.items() if k in shown},
            reason=why, rows=[("board_entry", row.lab, row.student)],
        )  # fmt: skip

    def members(self, lab: str) -> Mapping[str, Member]:
        """Return everybody who takes part or is hidden, by the student's ID."""
        with self._database.reading() as connection:
            return _members(connection, lab)

    def marks(self, lab: str) -> Marks | None:
        """Return what the lab's own kernels reach; None before a worker has measured it."""
        query = select(board_mark).where(board_mark.c.lab == lab)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else Marks(row.lab_sha256, json.loads(row.marks))

    def set_marks(self, lab: str, marks: Marks) -> None:
        """Store what the lab's own kernels reach; a simulation does not replace a GPU's time.

        A worker that simulates may end after one with a GPU that began later.
        """
        mine = board_mark.c.lab == lab
        values = {"lab_sha256": marks.lab_sha256, "marks": json.dumps(dict(marks.values))}
        with self._database.writing() as connection:
            now = self._clock()
            if not insert_new(connection, board_mark, mine, lab=lab, at=now, **values):
                row = connection.execute(select(board_mark).where(mine).with_for_update()).one()
                known = Marks(row.lab_sha256, json.loads(row.marks))
                if known.lab_sha256 == marks.lab_sha256 and known.is_timed and not marks.is_timed:
                    return
                connection.execute(update(board_mark).where(mine).values(at=now, **values))


def _members(connection: Connection, lab: str) -> Mapping[str, Member]:
    rows: Sequence[Row[Any]]
    rows = connection.execute(select(board_entry).where(board_entry.c.lab == lab)).all()
    return {
        row.student: Member(row.student, row.pseudonym, bool(row.hidden), row.reason, row.at)
        for row in rows
    }


def _locked(connection: Connection, lab: str, who: str) -> Row[Any] | None:
    lock_audit(connection)  # before the row, as `join` does: two that wait for each other fail
    mine = (board_entry.c.lab == lab) & (board_entry.c.student == storable(who))
    return connection.execute(select(board_entry).where(mine).with_for_update()).first()


def _require_student(connection: Connection, who: str) -> None:
    query = select(student.c.id).where(student.c.id == storable(who), student.c.enrolled)
    if connection.execute(query).first() is None:
        raise LabFault(f"there is no student `{who}`", fix="use an ID of the roster")
