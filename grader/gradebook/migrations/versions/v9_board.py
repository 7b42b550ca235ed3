"""Leaderboards: who takes part with which pseudonym, and what the lab's own kernels reach."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
    text,
)

from grader.gradebook.tables import Instant

revision = "9"
down_revision = "8"


def upgrade() -> None:
    """Create the tables; the rows that the audit records cannot be deleted."""
    op.create_table(
        "board_entry",
        Column("lab", String, nullable=False),
        Column(
            "student",
            String,
            ForeignKey("student.id", name="fk_board_entry_student"),
            nullable=False,
        ),
        Column("pseudonym", String, nullable=False, server_default=""),
        Column("folded", String),
        Column("hidden", Boolean(), nullable=False, server_default=text("false")),
        Column("reason", Text, nullable=False, server_default=""),
        Column("at", Instant, nullable=False),
        PrimaryKeyConstraint("lab", "student", name="pk_board_entry"),
        UniqueConstraint("lab", "folded", name="uq_board_entry_lab_folded"),
    )
    op.create_table(
        "board_mark",
        Column("lab", String, nullable=False),
        Column("lab_sha256", String(64), nullable=False),
        Column("marks", Text, nullable=False),
        Column("at", Instant, nullable=False),
        PrimaryKeyConstraint("lab", name="pk_board_mark"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TRIGGER kept_delete BEFORE DELETE ON board_entry"
            " FOR EACH ROW EXECUTE FUNCTION kept()"
        )
    else:
        op.execute(
            "CREATE TRIGGER board_entry_kept_delete BEFORE DELETE ON board_entry"
            " BEGIN SELECT RAISE(ABORT, 'rows of board_entry stay as they are'); END"
        )
