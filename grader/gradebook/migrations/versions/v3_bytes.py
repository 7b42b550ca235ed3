"""What was handed in, and a grade once it is there, stay as they are: the database holds it."""

from __future__ import annotations

from alembic import op

revision = "3"
down_revision = "2"

KEPT = {
    "submission": ("lab, student, sha256, data, answers, answers_sha256", ""),
    "attempt": ("grade_json", "OLD.grade_json IS NOT NULL"),
}


def upgrade() -> None:
    """A trigger for each table, on the columns that are not changed any more."""
    postgresql = op.get_bind().dialect.name == "postgresql"
    for table, (columns, condition) in KEPT.items():
        when = f" WHEN ({condition})" if condition else ""
        on = f"BEFORE UPDATE OF {columns} ON {table} FOR EACH ROW{when}"
        if postgresql:
            op.execute(f"CREATE TRIGGER kept_columns {on} EXECUTE FUNCTION kept()")
        else:
            told = f"rows of {table} stay as they are"
            op.execute(
                f"CREATE TRIGGER {table}_kept_columns {on} BEGIN SELECT RAISE(ABORT, '{told}'); END"
            )
