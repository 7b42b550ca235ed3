"""The roster: a CSV file with the usual columns of Canvas, Moodle and Gradescope exports."""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from grader.faults import LabFault

MAX_BYTES = 16 << 20

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
"""What a column's head may read, letter case and `_` aside."""

_IDENTIFIERS = ("id", "sis_id", "login", "email")
_KNOWN = (
    "ID", "Student ID", "SID", "ID number", "SIS User ID", "SIS Login ID", "Login", "Username",
    "Email", "Email address",
)  # fmt: skip
_NOT_STUDENTS = ("points possible", "manual posting", "student, test")
"""Names in Canvas' export that are nobody's: the last is its own test student."""


@dataclass(frozen=True)
class Student:
    """One line of the roster. `id` is what the gradebook knows the student by: unique, and the
    first that the file gives of an ID, an SIS ID, a login and an e-mail address.
    """

    id: str
    name: str = ""
    email: str = ""
    sis_id: str = ""
    login: str = ""
    section: str = ""

    @property
    def identifiers(self) -> tuple[str, ...]:
        """All that tells this student from the others, in the order in which it is tried."""
        return tuple(filter(None, (self.id, self.sis_id, self.login, self.email)))


def read_roster(path: Path) -> tuple[Student, ...]:
    """The students of a CSV file in its order; lines of another role are passed over.

    Raises LabFault: no such file, not UTF-8, no line of heads with a known column, a line without
    any identifier, an identifier twice.
    """
    rows = _rows(path, _text(path))
    heads, line = next(rows, ([], 1))
    if not heads:
        fix = "its first line names the columns, the others the students"
        raise LabFault("the roster is empty", where=str(path), fix=fix)
    columns = _columns(heads)
    if not any(name in columns for name in _IDENTIFIERS):
        raise LabFault(
            "no column names the students",
            where=f"{path}:{line}",
            fix="the first line needs one of: " + ", ".join(_KNOWN),
        )
    students: dict[str, Student] = {}
    for cells, at in rows:
        student = _student(cells, columns, f"{path}:{at}")
        if student is None:
            continue
        if student.id in students:
            raise LabFault(f"the student `{student.id}` stands here twice", where=f"{path}:{at}")
        students[student.id] = student
    return tuple(students.values())


def _text(path: Path) -> str:
    try:
        # A FIFO without a writer would make a plain open wait for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise LabFault("this is not a regular file", where=str(path))
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        fix = "put it there, or mend its name: in course.yaml that is `roster:`"
        fix = fix if isinstance(error, FileNotFoundError) else "check its name and its rights"
        raise LabFault(f"cannot read the roster: {reason}", where=str(path), fix=fix) from None
    if len(data) > MAX_BYTES:
        raise LabFault(f"the roster is larger than {MAX_BYTES >> 20} MiB", where=str(path))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = error.start - data.rfind(b"\n", 0, error.start)
        what = f"not UTF-8 text: byte {byte} of the line is 0x{data[error.start]:02x}"
        raise LabFault(what, where=f"{path}:{line}", fix="save the file as CSV UTF-8") from None


def _rows(path: Path, text: str) -> Iterator[tuple[list[str], int]]:
    """Each row that is not blank, with the line at which it starts."""
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
        fix = "a quote inside a cell is written twice, and the cell is quoted"
        raise LabFault(f"not CSV: {error}", where=f"{path}:{line}", fix=fix) from None


def _columns(heads: Sequence[str]) -> dict[str, int]:
    """Where each thing that is known of a student stands; the first of equal heads counts."""
    plain = [" ".join(head.lower().replace("_", " ").split()) for head in heads]
    return {
        name: plain.index(head)
        for name, known in COLUMNS.items()
        for head in reversed(known)
        if head in plain
    }


def _student(cells: Sequence[str], columns: Mapping[str, int], where: str) -> Student | None:
    said = {name: cells[at] if at < len(cells) else "" for name, at in columns.items()}
    if said.get("name", "").lower() in _NOT_STUDENTS:
        return None
    if said.get("role", "").lower() not in ("", "student"):
        return None
    if any("\0" in cell for cell in said.values()):
        raise LabFault("a NUL character in a cell", where=where, fix="save the file as CSV UTF-8")
    if not said.get("name"):
        said["name"] = f"{said.get('first', '')} {said.get('last', '')}".strip()
    said["id"] = next((said[name] for name in _IDENTIFIERS if said.get(name)), "")
    if not said["id"]:
        what = "this line names no student: no ID, login or e-mail address"
        raise LabFault(what, where=where, fix="give it one, or take the line out")
    return Student(**{f.name: said.get(f.name, "") for f in fields(Student)})
