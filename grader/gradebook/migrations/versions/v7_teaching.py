"""What staff and students say about grades: requests, comments, release, choices and regrades."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Integer,
    String,
    Text,
    text,
)

from grader.gradebook.tables import Instant

revision = "7"
down_revision = "6"

KEPT = ("message", "release_rule", "choice")
"""The tables whose rows stay as they are."""


def upgrade() -> None:
    """Create the tables, and the triggers that keep what the audit records."""
    _talk()
    _rules()
    for table in KEPT:
        for verb in ("UPDATE", "DELETE"):
            _refuse(table, verb)
    for table in ("request", "comment", "regrade"):
        _refuse(table, "DELETE")


def _talk() -> None:
    """Create the tables of requests and comments."""
    op.create_table(
        "request",
        Column("id", Integer, primary_key=True),
        Column(
            "submission",
            Integer,
            ForeignKey("submission.id", name="fk_request_submission"),
            nullable=False,
        ),
        Column("score", Float, nullable=False),
        Column("most", Float, nullable=False),
        Column("status", String(16), nullable=False),
        Column("at", Instant, nullable=False),
        CheckConstraint("status IN ('open', 'answered', 'closed')", name="ck_request_status"),
    )
    op.create_index("ix_request_submission", "request", ["submission"])
    op.create_table(
        "message",
        Column("id", Integer, primary_key=True),
        Column(
            "request", Integer, ForeignKey("request.id", name="fk_message_request"), nullable=False
        ),
        Column("author", String, nullable=False),
        Column("staff", Boolean(), nullable=False),
        Column("body", Text, nullable=False),
        Column("at", Instant, nullable=False),
    )
    op.create_index("ix_message_request", "message", ["request"])
    op.create_table(
        "comment",
        Column("id", Integer, primary_key=True),
        Column(
            "submission",
            Integer,
            ForeignKey("submission.id", name="fk_comment_submission"),
            nullable=False,
        ),
        Column("line", Integer, nullable=False),
        Column("author", String, nullable=False),
        Column("body", Text, nullable=False),
        Column("at", Instant, nullable=False),
        Column("removed", Boolean(), nullable=False, server_default=text("false")),
    )
    op.create_index("ix_comment_submission", "comment", ["submission"])


def _rules() -> None:
    """Create the tables of what staff and students decide."""
    op.create_table(
        "release_rule",
        Column("id", Integer, primary_key=True),
        Column("lab", String, nullable=False),
        Column("moment", Instant),
        Column("held", Boolean(), nullable=False),
        Column("author", String, nullable=False),
        Column("reason", Text, nullable=False),
        Column("at", Instant, nullable=False),
    )
    op.create_index("ix_release_rule_lab", "release_rule", ["lab"])
    op.create_table(
        "choice",
        Column("id", Integer, primary_key=True),
        Column("lab", String, nullable=False),
        Column(
            "student", String, ForeignKey("student.id", name="fk_choice_student"), nullable=False
        ),
        Column(
            "submission",
            Integer,
            ForeignKey("submission.id", name="fk_choice_submission"),
            nullable=False,
        ),
        Column("author", String, nullable=False),
        Column("at", Instant, nullable=False),
    )
    op.create_index("ix_choice_lab_student", "choice", ["lab", "student"])
    op.create_table(
        "regrade",
        Column("id", Integer, primary_key=True),
        Column("lab", String, nullable=False),
        Column("students", Text, nullable=False, server_default="[]"),
        Column("state", String(16), nullable=False),
        Column("author", String, nullable=False),
        Column("reason", Text, nullable=False),
        Column("at", Instant, nullable=False),
        CheckConstraint("state IN ('open', 'adopted', 'rejected')", name="ck_regrade_state"),
    )


def _refuse(table: str, verb: str) -> None:
    name, on = f"kept_{verb.lower()}", f"BEFORE {verb} ON {table}"
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"CREATE TRIGGER {name} {on} FOR EACH ROW EXECUTE FUNCTION kept()")
    else:
        body = f"SELECT RAISE(ABORT, 'rows of {table} stay as they are')"
        op.execute(f"CREATE TRIGGER {table}_{name} {on} BEGIN {body}; END")
