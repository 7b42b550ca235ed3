"""Records are permanent: the database itself rejects changes and deletions."""

from __future__ import annotations

from alembic import op

revision = "2"
down_revision = "1"

KEPT = {
    "audit": ("UPDATE", "DELETE"),
    "override": ("UPDATE", "DELETE"),
    "submission": ("DELETE",),
    "attempt": ("DELETE",),
}


def upgrade() -> None:
    """Create a trigger for each table and each operation that it rejects."""
    postgresql = op.get_bind().dialect.name == "postgresql"
    if postgresql:
        op.execute(
            "CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE EXCEPTION 'rows of % stay as they are', TG_TABLE_NAME; END $$"
        )
    for table, refused in KEPT.items():
        for verb in refused:
            op.execute(_row_trigger(table, verb, postgresql))
        if postgresql:
            op.execute(
                f"CREATE TRIGGER kept_truncate BEFORE TRUNCATE ON {table}"
                " FOR EACH STATEMENT EXECUTE FUNCTION kept()"
            )


def _row_trigger(table: str, verb: str, postgresql: bool) -> str:
    name = f"kept_{verb.lower()}"
    if postgresql:
        return (
            f"CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW EXECUTE FUNCTION kept()"
        )
    return (
        f"CREATE TRIGGER {table}_{name} BEFORE {verb} ON {table}"
        f" BEGIN SELECT RAISE(ABORT, 'rows of {table} stay as they are'); END"
    )
