"""The line items of LTI links, the members there, and who is at a score that is sent."""

from __future__ import annotations

from typing import Any

from alembic import op
from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Integer,
    PrimaryKeyConstraint,
    String,
    Text,
    text,
)

from grader.gradebook.database import Instant

revision = "12"
down_revision = "11"


def upgrade() -> None:
    """Create the tables, and add to those of the scores; nothing was sent before."""
    op.create_table(
        "lti_item",
        Column(
            "link", Integer, ForeignKey("lti_link.id", name="fk_lti_item_link"), primary_key=True
        ),
        _text("address"),
        Column("tries", Integer, nullable=False, server_default=text("0")),
        Column("next_try", Instant),
        Column("error", Text, nullable=False, server_default=""),
        *_lease(),
    )
    op.create_table(
        "lti_member",
        _of("link"),
        _of("person"),
        Column("at", Instant, nullable=False),
        PrimaryKeyConstraint("link", "person", name="pk_lti_member"),
    )
    added: tuple[Column[Any], ...] = (
        Column("state", String(16), nullable=False, server_default=""),
        Column("submission", Integer),
        Column("stamp", Instant),
        Column("failed", Boolean(), nullable=False, server_default=text("false")),
        *_lease(),
    )
    for column in added:
        op.add_column("lti_score", column)


def _of(name: str) -> Column[int]:
    key = ForeignKey(f"lti_{name}.id", name=f"fk_lti_member_{name}")
    return Column(name, Integer, key, nullable=False)


def _text(name: str) -> Column[str]:
    return Column(name, String, nullable=False, server_default="")


def _lease() -> tuple[Column[Any], ...]:
    token = Column("token", String(32), nullable=False, server_default="")
    return _text("worker"), Column("lease_until", Instant), token
