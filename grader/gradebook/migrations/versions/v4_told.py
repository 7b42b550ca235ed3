"""A submission's time may be unknown; the course's site may still have marked it late."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Boolean, Column, text

revision = "4"
down_revision = "3"


def upgrade() -> None:
    """Add the columns; stored submissions keep their time."""
    for name, default in (("told", "true"), ("late", "false")):
        column: Column[bool] = Column(name, Boolean(), nullable=False, server_default=text(default))
        op.add_column("submission", column)
