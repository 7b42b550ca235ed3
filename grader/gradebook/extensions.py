"""Extensions: a student's own deadline in a lab, given by staff or in course.yaml.

What staff decide on a page, by the API or by a command counts before what course.yaml says, until
they remove it. The gradebook keeps what course.yaml said when it was last applied, so that a change
of the file is a line of the audit and every program counts by the same deadlines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, select, true

from grader.faults import LabFault
from grader.gradebook.chain import insert_new, record_event, storable
from grader.gradebook.course import Course
from grader.gradebook.course_schema import read_moment
from grader.gradebook.ledger import read_rows
from grader.gradebook.tables import course_extension, extension, student
from grader.gradebook.values import Extension, ExtensionRow

FILE = "course.yaml"
"""The origin of what the file of the course says."""

COLUMNS = ("student", "lab", "due", "reason")
"""The columns of a file of extensions."""


def extensions(
    connection: Connection, lab: str, only: Collection[str] | None = None
) -> dict[str, Extension]:
    """Return the extension that counts for each student: that of staff before course.yaml's.

    With `only`, those of these students.
    """
    both = {**_written(connection, lab, only), **_given(connection, lab, only)}
    return {who: both[who] for who in sorted(both)}


def one_of(column: ColumnElement[str], only: Collection[str] | None) -> ColumnElement[bool]:
    """Select the rows of these students; all of them without `only`."""
    return true() if only is None else column.in_([storable(who) for who in only])


def _given(
    connection: Connection, lab: str, only: Collection[str] | None = None
) -> dict[str, Extension]:
    """Return what staff decided and have not removed, with `only` for these students."""
    of = extension.c
    mine = (of.lab == lab) & one_of(of.student, only)
    rows = connection.execute(select(extension).where(mine).order_by(of.id))
    newest = {row.student: Extension(row.due, row.author, row.reason, row.at) for row in rows}
    return {name: one for name, one in newest.items() if one.due is not None}


def _written(
    connection: Connection, lab: str, only: Collection[str] | None = None
) -> dict[str, Extension]:
    """Return what course.yaml says, as it was last applied, with `only` for these students."""
    of = course_extension.c
    mine = (of.lab == lab) & one_of(of.student, only)
    rows = connection.execute(select(course_extension).where(mine).order_by(of.id))
    newest = {row.student: Extension(row.due, FILE, row.reason, row.at, FILE) for row in rows}
    return {name: one for name, one in newest.items() if one.due is not None}


def set_extension(
    connection: Connection, lab: str, who: str, due: datetime | None, author: str, reason: str,
    now: datetime,
) -> None:  # fmt: skip
    """Give a student another deadline in a lab; `due` of None removes what staff decided.

    Raises:
        LabFault: There is no such student, or no extension to remove.
    """
    who = storable(who)
    _set(
        connection, ExtensionRow(lab, who, due, reason), author, now, _given(connection, lab, [who])
    )


def _set(
    connection: Connection, one: ExtensionRow, author: str, now: datetime,
    known: dict[str, Extension],
) -> None:  # fmt: skip
    """Record one extension after the `known` ones of its lab, and put it among them."""
    lab, who, due, reason = one.lab, storable(one.student), one.due, one.reason
    before = known.get(who)
    if due is None and before is None:
        fix = "list the class of the lab"
        if who in _written(connection, lab, [who]):
            fix = f"{FILE} gives one: remove it there, or give another deadline here"
        raise LabFault(f"`{who}` has no extension in `{lab}`", fix=fix)
    if connection.execute(select(student.c.id).where(student.c.id == who)).first() is None:
        raise LabFault(f"there is no student `{who}`", fix="use an ID of the roster")
    new = Extension(due, storable(author), storable(reason), now)
    values = {"due": due, "author": new.author, "reason": new.reason, "at": now}
    made = connection.execute(extension.insert().values(lab=lab, student=who, **values))
    known.pop(who, None)
    if due is not None:
        known[who] = new
    record_event(
        connection, now, author, "extension" if due is not None else "extension removed",
        lab=lab, student=who, reason=reason, before=_due(before), after=_iso(due),
        rows=[("extension", *(made.inserted_primary_key or ()))],
    )  # fmt: skip


def extend_all(
    connection: Connection, rows: Iterable[ExtensionRow], author: str, now: datetime
) -> Sequence[ExtensionRow]:
    """Set several extensions, all or none; return those that were not so before.

    Raises:
        LabFault: There is no such student.
    """
    rows, changed = tuple(rows), []
    given = {lab: _given(connection, lab) for lab in {one.lab for one in rows}}
    for one in rows:
        before = given[one.lab].get(storable(one.student))
        is_same = before is None or before.reason == storable(one.reason)
        if (before and before.due) == one.due and is_same:
            continue
        _set(connection, one, author, now, given[one.lab])
        changed.append(one)
    return tuple(changed)


def apply_extensions(
    connection: Connection, course: Course, author: str, now: datetime, *, dry: bool = False
) -> Sequence[str]:
    """Record what course.yaml says now; return a line for each change.

    Nothing is written when `dry`.
    """
    wanted = {(one.lab, storable(one.student)): one for one in course.extensions}
    labs = connection.execute(select(course_extension.c.lab).distinct()).scalars()
    known: Mapping[tuple[str, str], Extension] = {
        (lab, who): one for lab in labs.all() for who, one in _written(connection, lab).items()
    }
    lines = []
    for lab, who in sorted(wanted.keys() | known.keys()):
        new, old = wanted.get((lab, who)), known.get((lab, who))
        if (new and (new.due, storable(new.reason))) == (old and (old.due, old.reason)):
            continue
        due = new.due if new else None
        lines.append(f"{FILE}: {lab} {who}: {f'due {_iso(due)}' if due else 'no extension'}")
        if not dry:
            _write(connection, lab, who, new, old, author, now)
    return lines


def _write(
    connection: Connection, lab: str, who: str, new: ExtensionRow | None, old: Extension | None,
    author: str, now: datetime,
) -> None:  # fmt: skip
    is_first = insert_new(connection, student, student.c.id == who, id=who)
    reason, due = storable(new.reason) if new else "", new.due if new else None
    made = connection.execute(
        course_extension.insert().values(lab=lab, student=who, due=due, reason=reason, at=now)
    ).inserted_primary_key
    rows = [("student", who)] if is_first else []
    record_event(
        connection, now, author, f"extension in {FILE}" + ("" if new else " removed"), lab=lab,
        student=who, reason=reason, before=_due(old), after=_iso(due),
        rows=[*rows, ("course_extension", *(made or ()))],
    )  # fmt: skip


def _due(one: Extension | None) -> str | None:
    return None if one is None else _iso(one.due)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def read_extensions(path: Path, course: Course) -> tuple[ExtensionRow, ...]:
    """Read a CSV file with the columns of COLUMNS; `due` is a time, or `none` to remove one.

    Raises:
        LabFault: A line is wrong: it names no student of the roster or no lab with a deadline, has
            no time or no reason, or a student is listed twice for a lab.
    """
    rows = read_rows(path, "the file of extensions", "Check the file's name.")
    heads, line = next(rows, ([], 1))
    plain = [head.strip().lower() for head in heads]
    if missing := [name for name in COLUMNS if name not in plain]:
        what = f"there is no column {' and no column '.join(missing)}"
        fix = f"Write the columns in the first line: {','.join(COLUMNS)}"
        raise LabFault(what, where=f"{path}:{line}", fix=fix)
    found: dict[tuple[str, str], ExtensionRow] = {}
    for one, at in _lines(rows, plain, course, path):
        if (one.lab, one.student) in found:
            what = f"`{one.student}` is listed twice for `{one.lab}`"
            raise LabFault(what, where=f"{path}:{at}", fix="Remove one of the lines.")
        found[one.lab, one.student] = one
    return tuple(found.values())


def _lines(
    rows: Iterator[tuple[list[str], int]], heads: Sequence[str], course: Course, path: Path
) -> Iterator[tuple[ExtensionRow, int]]:
    for cells, at in rows:
        where = f"{path}:{at}"
        values = dict(zip(heads, [*cells, *[""] * len(heads)], strict=False))
        try:
            yield _row(values, course), at
        except LabFault as fault:
            raise LabFault(fault.what, where=where, fix=fault.fix) from None
        except ValueError as error:
            what = f"`{values['due']}` is not a date and time: {error}"
            raise LabFault(what, where=where) from None


def _row(values: Mapping[str, str], course: Course) -> ExtensionRow:
    if course.policy(values["lab"]).due is None:
        raise LabFault(f"`{values['lab']}` has no deadline", fix="Add `due` to course.yaml.")
    known = course.matches(values["student"])
    if len(known) != 1:
        count = f"{len(known)} students" if known else "no student"
        what = f"`{values['student']}` is {count} of the roster"
        raise LabFault(what, fix="Use the ID of a student.")
    if not values["reason"]:
        raise LabFault("an extension needs a reason", fix="Write why; the audit keeps it.")
    if values["due"].lower() == "none":
        return ExtensionRow(values["lab"], known[0].id, None, values["reason"])
    due = course.moment(read_moment(values["due"]))
    return ExtensionRow(values["lab"], known[0].id, due, values["reason"])
