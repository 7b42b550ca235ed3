"""Submissions and stored grades are immutable: the database rejects changes."""

from __future__ import annotations

from alembic import op

revision = "3"
down_revision = "2"

KEPT = {
    "submission": ("lab, student, sha256, data, answers, answers_sha256", ""),
    "attempt": ("grade_json", "OLD.grade_json IS NOT NULL"),
}


def upgrade() -> None:
    """Create a trigger for each table on its immutable columns."""
    postgresql = op.get_bind().dialect.name == "postgresql"
    for table, (columns, condition) in KEPT.items():
        when = f" WHEN ({condition})" if condition else ""
        on = f"BEFORE UPDATE OF {columns} ON {table} FOR EACH ROW{when}"
        if postgresql:
            op.execute(f"CREATE TRIGGER kept_columns {on} EXECUTE FUNCTION kept()")
        else:
            error = f"rows of {table} stay as they are"
            body = f"SELECT RAISE(ABORT, '{error}')"
            op.execute(f"CREATE TRIGGER {table}_kept_columns {on} BEGIN {body}; END")
