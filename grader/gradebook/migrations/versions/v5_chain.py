"""The audit is a chain of digests, and the database refuses what would replace a record.

`INSERT OR REPLACE` and `UPDATE OR REPLACE` of SQLite delete the row in their way without a trigger
on DELETE, so a trigger refuses every row whose unique values another row has.
"""

from __future__ import annotations

from datetime import UTC, datetime

from alembic import op
from sqlalchemy import Column, String, Text

from grader.gradebook.chain import chain_existing

revision = "5"
down_revision = "4"

UNIQUE = {
    "student": (("id",),),
    "submission": (("id",), ("lab", "student", "sha256", "answers_sha256")),
    "attempt": (("id",), ("token",), ("submission", "number")),
    "grade": (("submission",), ("attempt",)),
    "override": (("id",),),
    "audit": (("id",),),
}

RECORDED = ("student", "submission", "grade", "override", "standing")
"""The tables whose rows the chain records."""

LANES = ("state = 'running'", "state IN ('accepted', 'proposed')")
"""At most one attempt in these states for each submission, key and proposal."""

KEPT = {
    "student": ("id", "OLD.id <> NEW.id"),
    "submission": ("id, name, stored, source", ""),
    "attempt": ("id, submission, key, proposal, number, token, worker, started", ""),
    "grade": ("submission", ""),
}

REFUSED = {"grade": ("DELETE",), "student": ("DELETE",)}


def upgrade() -> None:
    """Add the digests, chain what is there, and create the triggers."""
    op.add_column("audit", Column("records", Text(), nullable=False, server_default="[]"))
    op.add_column("audit", Column("digest", String(64), nullable=False, server_default=""))
    op.add_column("attempt", Column("grade_sha256", String(64), nullable=False, server_default=""))
    postgresql = op.get_bind().dialect.name == "postgresql"
    op.execute(f"DROP TRIGGER {'kept_update ON audit' if postgresql else 'audit_kept_update'}")
    chain_existing(op.get_bind(), RECORDED, datetime.now(UTC))
    _trigger("audit", "update", "UPDATE", "")
    for table, (columns, condition) in KEPT.items():
        _trigger(table, "identity", f"UPDATE OF {columns}", condition)
    _trigger("attempt", "digest", "UPDATE OF grade_sha256", "OLD.grade_sha256 <> ''")
    _trigger("attempt", "accepted", "UPDATE OF state", "OLD.state IN ('accepted', 'rejected')")
    for table, verbs in REFUSED.items():
        for verb in verbs:
            _trigger(table, verb.lower(), verb, "")
        if postgresql:
            op.execute(
                f"CREATE TRIGGER kept_truncate BEFORE TRUNCATE ON {table}"
                " FOR EACH STATEMENT EXECUTE FUNCTION kept()"
            )
    if not postgresql:
        for table, uniques in UNIQUE.items():
            _trigger(table, "insert", "INSERT", _conflict(table, uniques, ""))
        for table in ("attempt", "grade"):
            other = "rowid <> OLD.rowid AND "
            _trigger(table, "replace", "UPDATE", _conflict(table, UNIQUE[table], other))


def _conflict(table: str, uniques: tuple[tuple[str, ...], ...], other: str) -> str:
    """Return the condition that another row has the unique values of the new one."""
    wheres = [" AND ".join(f"{name} = NEW.{name}" for name in names) for names in uniques]
    if table == "attempt":
        lane = " AND ".join(f"{name} = NEW.{name}" for name in ("submission", "key", "proposal"))
        wheres += [f"{lane} AND {states} AND NEW.{states}" for states in LANES]
    return " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE {other}{where})" for where in wheres)


def _trigger(table: str, name: str, verb: str, condition: str) -> None:
    """Create a trigger that refuses a statement on a row, under a condition."""
    when = f" WHEN ({condition})" if condition else ""
    on = f"BEFORE {verb} ON {table} FOR EACH ROW{when}"
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"CREATE TRIGGER kept_{name} {on} EXECUTE FUNCTION kept()")
    else:
        body = f"SELECT RAISE(ABORT, 'rows of {table} stay as they are')"
        op.execute(f"CREATE TRIGGER {table}_kept_{name} {on} BEGIN {body}; END")
