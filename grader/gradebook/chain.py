"""The audit as a chain of digests, which the rows of the gradebook have to agree with.

A line of the audit has the SHA-256 of the previous line's digest and its own content, so that a
change of a line is found at the first line that does not follow. `records` of a line are the
digests of the rows that the line is about, as they are after it. The newest record of a row is what
the row must be; a row without a record was not written by the grader.

The last digest is the head. The owner of the database can also write a new chain, so a head
that is kept elsewhere proves that the lines up to it are unchanged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Select,
    Table,
    TextClause,
    select,
    text,
    type_coerce,
    update,
)
from sqlalchemy.types import NullType

from grader import dataclass
from grader.gradebook.database import is_sqlite
from grader.gradebook.lti_tables import metadata
from grader.gradebook.tables import attempt, audit, grade, submission
from grader.gradebook.values import bytes_digest, damaged, grade_digest

RowKey = tuple[str, *tuple[Any, ...]]
"""A table's name and the primary key of one of its rows."""

_KEYS = {
    "student": ("id",),
    "submission": ("id",),
    "grade": ("submission",),
    "override": ("id",),
    "standing": ("lab", "student"),
    "account": ("id",),
    "extension": ("id",),
    "request": ("id",),
    "message": ("id",),
    "comment": ("id",),
    "release_rule": ("id",),
    "choice": ("id",),
    "regrade": ("id",),
    "board_entry": ("lab", "student"),
    "course_extension": ("id",),
    "membership": ("id",),
    "coauthor": ("id",),
    "lti_registration": ("id",),
    "lti_deployment": ("id",),
    "lti_link": ("id",),
    "lti_person": ("id",),
}

_RECORDED = {
    "student": ("id", "name", "email", "sis_id", "login", "section", "enrolled"),
    "submission": (
        "id", "lab", "student", "name", "sha256", "answers_sha256", "received", "told", "late",
        "stored", "source",
    ),
    "grade": ("submission", "attempt", "since"),
    "override": ("id", "lab", "student", "points", "author", "reason", "at"),
    "standing": ("lab", "student", "points", "note", "at"),
    "account": ("id", "email", "name", "role", "sections", "active"),
    "extension": ("id", "lab", "student", "due", "author", "reason", "at"),
    "request": ("id", "submission", "score", "most", "status", "at"),
    "message": ("id", "request", "author", "staff", "body", "at"),
    "comment": ("id", "submission", "line", "author", "body", "at", "removed"),
    "release_rule": ("id", "lab", "moment", "held", "author", "reason", "at"),
    "choice": ("id", "lab", "student", "submission", "author", "at"),
    "regrade": ("id", "lab", "students", "state", "author", "reason", "at"),
    "board_entry": ("lab", "student", "pseudonym", "folded", "hidden", "reason", "at"),
    "course_extension": ("id", "lab", "student", "due", "reason", "at"),
    "membership": ("id", "lab", "student", "team", "staff", "author", "reason", "at"),
    "coauthor": ("id", "submission", "student", "since"),
    "lti_registration": (
        "id", "issuer", "client_id", "name", "auth_url", "token_url", "jwks_url", "audience",
        "origins", "active",
    ),
    "lti_deployment": ("id", "registration", "deployment", "active"),
    "lti_link": ("id", "deployment", "context", "resource", "lab", "title", "at"),
    "lti_person": ("id", "registration", "sub", "who", "at"),
}  # fmt: skip
"""The columns that a record covers. A step of the migrations that changes them chains anew."""

_GRADED = ("submission", "key", "proposal", "number", "state", "grade_sha256")
"""The columns of its attempt that the record of a grade covers."""

_LINE = (
    "id", "at", "actor", "action", "lab", "student", "submission", "attempt", "before", "after",
    "reason", "records",
)  # fmt: skip

_LOCK = 0x61756474
_MAX_PROBLEMS = 20


def storable(text: str) -> str:
    """Return `text` as every database can store it: NUL and what is not UTF-8 are escaped."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def insert_new(
    connection: Connection, table: Table, same: ColumnElement[bool], **values: Any
) -> bool:
    """Insert a row unless there is one already; return whether it is new.

    `same` selects the row with the same unique values.
    """
    if is_sqlite(connection):  # the only writer; its triggers refuse every conflict
        if connection.execute(select(1).select_from(table).where(same)).first() is not None:
            return False
        connection.execute(table.insert().values(**values))
        return True
    from sqlalchemy.dialects.postgresql import insert  # slow, and SQLite does not need it

    query = insert(table).values(**values).on_conflict_do_nothing()
    # SQLAlchemy asks PostgreSQL for the new row's id and would discard the row count.
    return connection.execute(query, execution_options={"preserve_rowcount": True}).rowcount == 1


def lock_audit(connection: Connection) -> None:
    """Let no other transaction add a line until this one ends.

    A transaction locks its submissions before the audit, never the other way round.
    """
    if not is_sqlite(connection):
        query = text("SELECT pg_advisory_xact_lock(:key, hashtext(current_schema()))")
        connection.execute(query, {"key": _LOCK})


def record_event(
    connection: Connection, at: datetime, actor: str, action: str, *, lab: str = "",
    student: str = "", submission: int | None = None, attempt: int | None = None,
    before: Any = None, after: Any = None, reason: str = "", rows: Iterable[RowKey] = (),
) -> None:  # fmt: skip
    """Add a line to the audit, in the transaction that makes the change.

    `rows` are the rows that changed; they must have been written before.
    """
    lock_audit(connection)
    last = connection.execute(
        select(audit.c.id, audit.c.digest).order_by(audit.c.id.desc()).limit(1)
    ).first()
    number, previous = (0, "") if last is None else last
    records = [[*row, _row_digest(connection, row)] for row in rows]
    values = {
        "id": number + 1,
        "at": at,
        "actor": storable(actor),
        "action": action,
        "lab": lab,
        "student": student,
        "submission": submission,
        "attempt": attempt,
        "before": None if before is None else json.dumps(before, sort_keys=True),
        "after": None if after is None else json.dumps(after, sort_keys=True),
        "reason": storable(reason),
        "records": json.dumps(records),
    }
    digest = _digest(previous, *(values[name] for name in _LINE))
    connection.execute(audit.insert().values(**values, digest=digest))


def _digest(*values: Any) -> str:
    """Return the SHA-256 of values as SQLite and PostgreSQL both have them."""
    return hashlib.sha256(json.dumps([*map(_plain, values)], default=repr).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        moment = value.astimezone(UTC) if value.tzinfo else value
        return moment.replace(tzinfo=None).isoformat(" ", "microseconds")
    return int(value) if isinstance(value, bool) else value


def _raw(table: Table, names: Iterable[str]) -> list[ColumnElement[Any]]:
    """Return columns whose values are not converted: damaged ones must reach the digest."""
    return [type_coerce(table.c[name], NullType()).label(f"{table.name}_{name}") for name in names]


@cache
def _rows(kind: str) -> Select[Any]:
    """Select the recorded values of a table's rows, each after its primary key."""
    table = metadata.tables[kind]
    key = [type_coerce(table.c[name], NullType()) for name in _KEYS[kind]]
    columns = _raw(table, _RECORDED[kind])
    if kind != "grade":
        return select(*[*key, *columns])
    joined = grade.outerjoin(attempt, attempt.c.id == grade.c.attempt)
    return select(*[*key, *columns, *_raw(attempt, _GRADED)]).select_from(joined)


@cache
def _rows_text(kind: str, database: str) -> TextClause:
    """Return the text of `_rows`: each engine would make it anew, in half the time of a check."""
    dialect = URL.create(database).get_dialect()
    return text(str(_rows(kind).compile(dialect=dialect())))


def _row_digest(connection: Connection, row: RowKey) -> str:
    kind, *key = row
    query = _rows(kind)
    for name, value in zip(_KEYS[kind], key, strict=True):
        query = query.where(metadata.tables[kind].c[name] == value)
    found = connection.execute(query).one()
    return _digest(kind, *found[len(key) :])


@dataclass(frozen=True)
class Verification:
    """Whether the audit is a chain, and the gradebook agrees with it.

    Attributes:
        lines: The number of lines of the audit.
        head: The digest of the last line; "" without lines.
        records: The number of rows that agree with the audit, by table.
        problems: What does not follow or agree; empty for an intact gradebook.
    """

    lines: int
    head: str
    records: Mapping[str, int]
    problems: tuple[str, ...]


def verify(connection: Connection, *, expect: str = "", contents: bool = True) -> Verification:
    """Verify the chain, every recorded row and, with `contents`, every stored byte.

    Args:
        connection: A reading transaction.
        expect: A head that was printed before; it must be the digest of a line.
        contents: Whether to read the submissions' bytes and the grades, too.
    """
    chain = _Chain()
    problems = list(_structure(connection)) or [
        *chain.read(connection),
        *_disagreements(connection, chain.records),
        *(_contents(connection) if contents else ()),
    ]
    if expect and expect not in chain.digests:
        problems.insert(0, f"no line of the audit has the digest {expect}")
    kinds = [kind for kind, *_ in chain.records]
    counts = {kind: kinds.count(kind) for kind in _KEYS}
    head = chain.digests[-1] if chain.digests else ""
    return Verification(len(chain.digests), head, counts, tuple(problems[:_MAX_PROBLEMS]))


def require_intact(connection: Connection) -> None:
    """Check the chain and the recorded rows. Raises MachineFault for a damaged gradebook."""
    problems = verify(connection, contents=False).problems
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise damaged(problems[0] + more)


def _structure(connection: Connection) -> Iterator[str]:
    """Yield what SQLite finds wrong with its file: an index could hide a row."""
    if is_sqlite(connection):
        for row in connection.execute(text("PRAGMA integrity_check(3)")):
            if row[0] != "ok":
                yield f"SQLite reports: {' '.join(str(row[0]).split())}"
        for row in connection.execute(text("PRAGMA foreign_key_check")):
            yield f"a row of {row[0]} names a row of {row[2]} that does not exist"


class _Chain:
    """The lines' digests, and the newest record of each row."""

    def __init__(self) -> None:
        self.digests: list[str] = []
        self.records: dict[RowKey, str] = {}

    def read(self, connection: Connection) -> Iterator[str]:
        """Read the lines; yield the first one that does not follow from the previous one."""
        previous, follows = "", True
        for *values, digest in connection.execute(_lines()):
            if follows and _digest(previous, *values) != digest:
                follows = False
                what = " ".join(str(values[_LINE.index(n)]) for n in ("action", "lab", "student"))
                line = f"line {values[0]} of the audit ({what.strip()})"
                yield f"{line} does not follow from the line before"
            previous = str(digest)
            self.digests.append(previous)
            self._take(values[-1])

    def _take(self, records: Any) -> None:
        try:
            for *row, digest in json.loads(records):
                self.records[tuple(row)] = digest
        except (ValueError, TypeError):
            return  # the line does not follow: its digest covers its records


def _lines() -> Select[Any]:
    return select(*_raw(audit, (*_LINE, "digest"))).order_by(audit.c.id)


def _disagreements(connection: Connection, records: Mapping[RowKey, str]) -> Iterator[str]:
    """Yield the rows that differ from their record, have none, or are gone."""
    left = dict(records)
    for kind, key in _KEYS.items():
        for row in connection.execute(_rows_text(kind, connection.dialect.name)):
            name: RowKey = (kind, *row[: len(key)])
            record = left.pop(name, None)
            if record is None:
                yield f"{_name(name)} is not in the audit"
            elif record != _digest(kind, *row[len(key) :]):
                yield f"{_name(name)} differs from its record in the audit"
    yield from (f"{_name(row)} is in the audit, but was removed" for row in left)


def _name(row: RowKey) -> str:
    kind, *key = row
    of = {"grade": "the grade of submission", "standing": "the points of"}.get(kind, kind)
    return " ".join((of, *map(str, key)))


def _contents(connection: Connection) -> Iterator[str]:
    """Yield the submissions and the grades whose content differs from its SHA-256."""
    names = ("id", "data", "sha256", "answers", "answers_sha256")
    for number, data, sha256, answers, answers_sha256 in connection.execute(
        select(*_raw(submission, names)).order_by(submission.c.id)
    ):
        if bytes_digest(data) != sha256:
            yield f"the bytes of submission {number} differ from their SHA-256"
        if bytes_digest(answers) != answers_sha256:
            yield f"the answers of submission {number} differ from their SHA-256"
    for number, body, digest in connection.execute(_grades()):
        if grade_digest(number, str(body)) != digest:
            yield f"the grade of attempt {number} differs from its SHA-256"


def _grades() -> Select[Any]:
    query = select(*_raw(attempt, ("id", "grade_json", "grade_sha256")))
    return query.where(attempt.c.grade_json.is_not(None)).order_by(attempt.c.id)


def chain_existing(connection: Connection, kinds: Iterable[str], now: datetime) -> None:
    """Chain the audit of a gradebook that had no chain, and record its rows in one new line.

    `kinds` are the tables that it has.
    """
    for number, body, _ in connection.execute(_grades()).all():
        digest = grade_digest(number, body)
        connection.execute(
            update(attempt).where(attempt.c.id == number).values(grade_sha256=digest)
        )
    previous = ""
    for *values, _ in connection.execute(_lines()).all():
        previous = _digest(previous, *values)
        connection.execute(update(audit).where(audit.c.id == values[0]).values(digest=previous))
    rows = [
        (kind, *row[: len(_KEYS[kind])])
        for kind in kinds
        for row in connection.execute(_rows(kind)).all()
    ]
    if rows or previous:
        reason = "records of an older version of the grader"
        record_event(connection, now, "grader", "chain", reason=reason, rows=rows)
