"""The column type of a moment, which SQLite and PostgreSQL store differently."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import DateTime, Dialect, TypeDecorator
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
                raise damaged(f"`{value!r}` is not a date and time") from None

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
