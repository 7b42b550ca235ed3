"""The tables of the gradebook.

A row of `grade` names the one attempt that is a submission's grade. When a submission's time is not
`told`, `received` is when it was stored, for the order only.

Constraints enforce what the code promises: one submission for the same bytes, one running and one
accepted attempt for each key, one token for each attempt. A line of `audit` has in `records` the
digests of the rows that it is about, and in `digest` that of the line before it and its own content
(chain.py). `attempt.grade_sha256` is the digest of the attempt and its `grade_json`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.sqlite import DATETIME as SqliteDatetime
from sqlalchemy.types import TypeEngine

from grader.gradebook.values import damaged


class _SqliteInstant(SqliteDatetime):
    """SQLite's text of a moment; text that is none is a system error."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that converts the text."""
        convert: Any = super().result_processor(dialect, coltype)

        def moment(value: object) -> datetime | None:
            try:
                return cast(datetime | None, convert(value))
            except (ValueError, TypeError):
                raise damaged(f"`{value!r}` is no time") from None

        return moment


class Instant(TypeDecorator[datetime]):
    """A moment in UTC, to the microsecond; stored without an offset in SQLite, which has none."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that the database has for it."""
        sqlite: TypeEngine[Any] = _SqliteInstant()  # type: ignore[no-untyped-call]
        kind = sqlite if dialect.name == "sqlite" else self.impl_instance
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a moment to UTC for the database. Raises ValueError without a time zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs its time zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert the database's value to a moment in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

student = Table(
    "student",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False, server_default=""),
    Column("email", String, nullable=False, server_default=""),
    Column("sis_id", String, nullable=False, server_default=""),
    Column("login", String, nullable=False, server_default=""),
    Column("section", String, nullable=False, server_default=""),
    Column("enrolled", Boolean(), nullable=False, server_default=text("false")),
)

submission = Table(
    "submission",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("student", ForeignKey("student.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("answers", LargeBinary),
    Column("answers_sha256", String(64), nullable=False, server_default=""),
    Column("received", Instant, nullable=False),
    Column("told", Boolean(), nullable=False, server_default=text("true")),
    Column("late", Boolean(), nullable=False, server_default=text("false")),
    Column("stored", Instant, nullable=False),
    Column("source", String, nullable=False, server_default=""),
    UniqueConstraint("lab", "student", "sha256", "answers_sha256"),
    Index("ix_submission_sha256", "sha256"),
)

attempt = Table(
    "attempt",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("key", String, nullable=False),
    Column("proposal", String, nullable=False, server_default=""),
    Column("number", Integer, nullable=False),
    Column("token", String(32), nullable=False, unique=True),
    Column("worker", String, nullable=False),
    Column("state", String(16), nullable=False),
    Column("started", Instant, nullable=False),
    Column("lease_until", Instant, nullable=False),
    Column("ended", Instant),
    Column("grade_json", Text),
    Column("grade_sha256", String(64), nullable=False, server_default=""),
    Column("reason", Text, nullable=False, server_default=""),
    UniqueConstraint("submission", "number"),
    CheckConstraint(
        "state IN ('running', 'accepted', 'proposed', 'fault', 'forgiven', 'released',"
        " 'expired', 'rejected')",
        name="state",
    ),
    CheckConstraint(
        "state NOT IN ('accepted', 'proposed') OR grade_json IS NOT NULL", name="graded"
    ),
    CheckConstraint("state <> 'proposed' OR proposal <> ''", name="proposed"),
)

_RUNNING = text("state = 'running'")
_KEPT = text("state IN ('accepted', 'proposed')")
_LANE = (attempt.c.submission, attempt.c.key, attempt.c.proposal)
Index("uq_attempt_running", *_LANE, unique=True, sqlite_where=_RUNNING, postgresql_where=_RUNNING)
Index("uq_attempt_kept", *_LANE, unique=True, sqlite_where=_KEPT, postgresql_where=_KEPT)

grade = Table(
    "grade",
    metadata,
    Column("submission", ForeignKey("submission.id"), primary_key=True),
    Column("attempt", ForeignKey("attempt.id"), nullable=False, unique=True),
    Column("since", Instant, nullable=False),
)

override = Table(
    "override",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("student", ForeignKey("student.id"), nullable=False),
    Column("points", Float),
    Column("author", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_override_lab_student", "lab", "student"),
)

standing = Table(
    "standing",
    metadata,
    Column("lab", String, primary_key=True),
    Column("student", ForeignKey("student.id"), primary_key=True),
    Column("points", Float),
    Column("note", Text, nullable=False, server_default=""),
    Column("at", Instant, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("actor", String, nullable=False),
    Column("action", String, nullable=False),
    Column("lab", String, nullable=False, server_default=""),
    Column("student", String, nullable=False, server_default=""),
    Column("submission", Integer),
    Column("attempt", Integer),
    Column("before", Text),
    Column("after", Text),
    Column("reason", Text, nullable=False, server_default=""),
    Column("records", Text, nullable=False, server_default="[]"),
    Column("digest", String(64), nullable=False, server_default=""),
    Index("ix_audit_lab_student", "lab", "student"),
)
