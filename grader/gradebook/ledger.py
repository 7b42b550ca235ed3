"""The audit, the roster and overrides: what people change in a gradebook, all of it recorded."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, update

from grader import dataclass
from grader.faults import LabFault
from grader.gradebook.chain import record_event, storable
from grader.gradebook.tables import audit, override, student
from grader.gradebook.values import AuditEvent, Override

MAX_BYTES = 16 << 20
MAX_TEXT = 4000
"""Characters of a message or a comment."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "student id", "sid", "id number", "canvas id"),
    "name": ("name", "student", "student name", "full name"),
    "first": ("first name", "given name", "firstname"),
    "last": ("last name", "surname", "family name", "lastname"),
    "email": ("email", "email address", "e-mail"),
    "sis_id": ("sis user id", "sis id"),
    "login": ("sis login id", "login", "login id", "username"),
    "role": ("role",),
    "section": ("section", "sections", "section name", "groups", "group"),
}
"""The accepted headings of each column, ignoring letter case and `_`."""

_IDENTIFIERS = ("id", "sis_id", "login", "email")
_KNOWN = (
    "ID", "Student ID", "SID", "ID number", "SIS User ID", "SIS Login ID", "Login", "Username",
    "Email", "Email address",
)  # fmt: skip
_NOT_STUDENTS = ("points possible", "manual posting", "student, test")
"""Names in Canvas' export that are not students; the last is Canvas' test student."""


@dataclass(frozen=True)
class Student:
    """One student of the roster.

    `id` is the gradebook's unique identifier: the first that the file has of ID, SIS ID, login and
    e-mail address.
    """

    id: str
    name: str = ""
    email: str = ""
    sis_id: str = ""
    login: str = ""
    section: str = ""

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The student's identifiers, in the order in which they are tried."""
        return tuple(filter(None, (self.id, self.sis_id, self.login, self.email)))


def read_roster(path: Path) -> tuple[Student, ...]:
    """Read the students of a CSV file in its order; lines with another role are skipped.

    Raises:
        LabFault: The file is missing or not UTF-8, no heading names an identifier, a line has no
            identifier, or an identifier occurs twice.
    """
    fix = "Create the file, or correct `roster:` in course.yaml."
    rows = read_rows(path, "the roster", fix)
    heads, line = next(rows, ([], 1))
    if not heads:
        fix = "Write the columns in the first line and one student in each other line."
        raise LabFault("the roster is empty", where=str(path), fix=fix)
    columns = _columns(heads)
    if not any(name in columns for name in _IDENTIFIERS):
        raise LabFault(
            "no column identifies the students",
            where=f"{path}:{line}",
            fix="Add one of these columns: " + ", ".join(_KNOWN),
        )
    students: dict[str, Student] = {}
    for cells, at in rows:
        student = _student(cells, columns, f"{path}:{at}")
        if student is None:
            continue
        if student.id in students:
            what = f"the student `{student.id}` is listed twice"
            raise LabFault(what, where=f"{path}:{at}", fix="Remove one of the lines.")
        students[student.id] = student
    return tuple(students.values())


def match_students(students: Sequence[Student], word: str) -> tuple[Student, ...]:
    """Return the students with that ID; else with that SIS ID, login or e-mail; else name.

    Letter case and the form of Unicode do not matter; `Last, First` is the same name as
    `First Last`.
    """
    wanted = _comparable(word)
    if not wanted:
        return ()
    for keys in (lambda s: (s.id,), lambda s: s.identifiers):
        found = tuple(s for s in students if wanted in map(_comparable, keys(s)))
        if found:
            return found
    name = _spoken_name(word)
    return tuple(s for s in students if name and _spoken_name(s.name) == name)


def _comparable(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _spoken_name(name: str) -> str:
    """Return a name as it is spoken, for comparing: `Noether, Emmy` is `emmy noether`."""
    last, _, first = _comparable(name).partition(",")
    return " ".join(f"{first} {last}".split())


def read_rows(path: Path, what: str, fix: str) -> Iterator[tuple[list[str], int]]:
    """Read a CSV file: each row that is not blank, with its first line's number.

    Args:
        path: The file.
        what: What it is, for the messages.
        fix: What to do when it does not exist.

    Raises:
        LabFault: The file cannot be read, is no text in UTF-8, or no CSV.
    """
    return _rows(path, _text(path, what, fix))


def _text(path: Path, what: str, missing: str) -> str:
    try:
        # O_NONBLOCK: opening a FIFO without a writer would block forever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise LabFault(f"{what} is not a regular file", where=str(path))
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        fix = missing
        if not isinstance(error, FileNotFoundError):
            fix = "Check the file's name and permissions."
        raise LabFault(f"cannot read {what}: {reason}", where=str(path), fix=fix) from None
    if len(data) > MAX_BYTES:
        raise LabFault(f"{what} is larger than {MAX_BYTES >> 20} MiB", where=str(path))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = error.start - data.rfind(b"\n", 0, error.start)
        wrong = f"not UTF-8 text: byte {byte} of the line is 0x{data[error.start]:02x}"
        raise LabFault(wrong, where=f"{path}:{line}", fix="Save the file as CSV UTF-8.") from None


def _rows(path: Path, text: str) -> Iterator[tuple[list[str], int]]:
    """Yield each row that is not blank, with its first line's number."""
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield [cell.strip() for cell in cells], line
            line = reader.line_num + 1
    except csv.Error as error:
        fix = "Quote the cell, and double each quote inside it."
        raise LabFault(f"not CSV: {error}", where=f"{path}:{line}", fix=fix) from None


def _columns(heads: Sequence[str]) -> dict[str, int]:
    """Map each known field to its column; the first of equal headings counts."""
    plain = [" ".join(head.lower().replace("_", " ").split()) for head in heads]
    return {
        name: plain.index(head)
        for name, known in COLUMNS.items()
        for head in reversed(known)
        if head in plain
    }


def _student(cells: Sequence[str], columns: Mapping[str, int], where: str) -> Student | None:
    values = {name: cells[at] if at < len(cells) else "" for name, at in columns.items()}
    if values.get("name", "").lower() in _NOT_STUDENTS:
        return None
    if values.get("role", "").lower() not in ("", "student"):
        return None
    if any("\0" in cell for cell in values.values()):
        raise LabFault("a NUL character in a cell", where=where, fix="Save the file as CSV UTF-8.")
    if not values.get("name"):
        values["name"] = f"{values.get('first', '')} {values.get('last', '')}".strip()
    values["id"] = next((values[name] for name in _IDENTIFIERS if values.get(name)), "")
    if not values["id"]:
        what = "this line identifies no student: it has no ID, login or e-mail address"
        raise LabFault(what, where=where, fix="Add an identifier, or remove the line.")
    return Student(**{f.name: values.get(f.name, "") for f in fields(Student)})


def events(
    connection: Connection, lab: str | None = None, student: str | None = None,
    newest: int | None = None,
) -> Sequence[AuditEvent]:  # fmt: skip
    """Return the audit, oldest first; of one lab or student, or the newest lines when given."""
    query = select(audit).order_by(audit.c.id.desc()).limit(newest)
    query = query if lab is None else query.where(audit.c.lab == lab)
    query = query if student is None else query.where(audit.c.student == storable(student))
    return tuple(
        AuditEvent(
            row.id, row.at, row.actor, row.action, row.lab, row.student, row.submission,
            None if row.before is None else json.loads(row.before),
            None if row.after is None else json.loads(row.after),
            row.reason,
        )
        for row in reversed(connection.execute(query).all())
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


def message_text(body: str) -> str:
    """Return what a person wrote as it is stored. Raises LabFault when it is empty or too long."""
    text = storable(body.replace("\r\n", "\n").strip())
    if not text:
        raise LabFault("there is no text", fix="write what you mean")
    if len(text) > MAX_TEXT:
        raise LabFault(f"the text has {len(text)} characters", fix=f"use at most {MAX_TEXT}")
    return text


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
