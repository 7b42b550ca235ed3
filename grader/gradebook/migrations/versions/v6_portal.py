"""What the portal stores: accounts of staff, ways to sign in, extensions and progress."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Boolean, Column, ForeignKey, Integer, String, Text, UniqueConstraint, text

from grader.gradebook.tables import Instant

revision = "6"
down_revision = "5"

_NO = text("false")


def upgrade() -> None:
    """Create the tables, and the triggers that keep what the audit records."""
    op.create_table(
        "account",
        Column("id", Integer, primary_key=True),
        Column("email", String, nullable=False),
        Column("name", String, nullable=False, server_default=""),
        Column("role", String(16), nullable=False),
        Column("sections", Text, nullable=False, server_default="[]"),
        Column("active", Boolean(), nullable=False, server_default=text("true")),
        UniqueConstraint("email", name="uq_account_email"),
    )
    op.create_table(
        "credential",
        Column("id", Integer, primary_key=True),
        Column("who", String, nullable=False),
        Column("kind", String(16), nullable=False),
        Column("name", String, nullable=False, server_default=""),
        Column("digest", String, nullable=False),
        Column("scopes", Text, nullable=False, server_default="[]"),
        Column("made", Instant, nullable=False),
        Column("expires", Instant, nullable=False),
        Column("ended", Instant),
    )
    op.create_index("ix_credential_digest", "credential", ["digest"])
    op.create_index("ix_credential_who", "credential", ["who"])
    op.create_table(
        "extension",
        Column("id", Integer, primary_key=True),
        Column("lab", String, nullable=False),
        Column(
            "student", String, ForeignKey("student.id", name="fk_extension_student"), nullable=False
        ),
        Column("due", Instant),
        Column("author", String, nullable=False),
        Column("reason", Text, nullable=False),
        Column("at", Instant, nullable=False),
    )
    op.create_index("ix_extension_lab_student", "extension", ["lab", "student"])
    op.create_table(
        "progress",
        Column("id", Integer, primary_key=True),
        Column(
            "submission", Integer, ForeignKey("submission.id", name="fk_progress_submission"),
            nullable=False,
        ),
        Column("kind", String(16), nullable=False),
        Column("body", Text, nullable=False, server_default="{}"),
        Column("at", Instant, nullable=False),
    )  # fmt: skip
    op.create_index("ix_progress_submission", "progress", ["submission"])
    for verb in ("UPDATE", "DELETE"):
        _keep(verb)


def _keep(verb: str) -> None:
    """Refuse changes of extensions: a new one takes the place of an old one."""
    name, on = f"kept_{verb.lower()}", f"BEFORE {verb} ON extension"
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"CREATE TRIGGER {name} {on} FOR EACH ROW EXECUTE FUNCTION kept()")
    else:
        body = "SELECT RAISE(ABORT, 'rows of extension stay as they are')"
        op.execute(f"CREATE TRIGGER extension_{name} {on} BEGIN {body}; END")
