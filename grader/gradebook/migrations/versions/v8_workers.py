"""The workers that grade what waits, with the time when each was last heard of."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer, String, Text, UniqueConstraint

from grader.gradebook.tables import Instant

revision = "8"
down_revision = "7"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "worker",
        Column("id", Integer, primary_key=True),
        Column("name", String, nullable=False),
        Column("backend", String(16), nullable=False),
        Column("device", String, nullable=False, server_default=""),
        Column("jobs", Integer, nullable=False),
        Column("version", String, nullable=False),
        Column("started", Instant, nullable=False),
        Column("seen", Instant, nullable=False),
        Column("ended", Instant),
        Column("note", Text, nullable=False, server_default=""),
        UniqueConstraint("name", name="uq_worker_name"),
    )
