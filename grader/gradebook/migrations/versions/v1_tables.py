"""The first tables."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
    text,
)

revision = "1"
down_revision = None

INSTANT = DateTime(timezone=True)


def upgrade() -> None:
    """Create every table, those that others refer to first."""
    _student()
    _submission()
    _attempt()
    _grade()
    _override()
    _standing()
    _audit()


def _text(name: str, kind: type[String] = String) -> Column[str]:
    return Column(name, kind(), nullable=False, server_default="")


def _student() -> None:
    op.create_table(
        "student",
        Column("id", String(), nullable=False),
        *(_text(name) for name in ("name", "email", "sis_id", "login", "section")),
        Column("enrolled", Boolean(), nullable=False, server_default=text("false")),
        PrimaryKeyConstraint("id", name="pk_student"),
    )


def _submission() -> None:
    op.create_table(
        "submission",
        Column("id", Integer(), nullable=False),
        Column("lab", String(), nullable=False),
        Column("student", String(), nullable=False),
        Column("name", String(), nullable=False),
        Column("sha256", String(64), nullable=False),
        Column("data", LargeBinary(), nullable=False),
        Column("answers", LargeBinary()),
        Column("answers_sha256", String(64), nullable=False, server_default=""),
        Column("received", INSTANT, nullable=False),
        Column("stored", INSTANT, nullable=False),
        _text("source"),
        PrimaryKeyConstraint("id", name="pk_submission"),
        ForeignKeyConstraint(["student"], ["student.id"], name="fk_submission_student"),
        UniqueConstraint(
            "lab", "student", "sha256", "answers_sha256",
            name="uq_submission_lab_student_sha256_answers_sha256",
        ),
    )  # fmt: skip
    op.create_index("ix_submission_sha256", "submission", ["sha256"])


def _attempt() -> None:
    states = (
        "'running', 'accepted', 'proposed', 'fault', 'forgiven', 'released', 'expired', 'rejected'"
    )
    op.create_table(
        "attempt",
        Column("id", Integer(), nullable=False),
        Column("submission", Integer(), nullable=False),
        Column("key", String(), nullable=False),
        _text("proposal"),
        Column("number", Integer(), nullable=False),
        Column("token", String(32), nullable=False),
        Column("worker", String(), nullable=False),
        Column("state", String(16), nullable=False),
        Column("started", INSTANT, nullable=False),
        Column("lease_until", INSTANT, nullable=False),
        Column("ended", INSTANT),
        Column("grade_json", Text()),
        _text("reason", Text),
        PrimaryKeyConstraint("id", name="pk_attempt"),
        ForeignKeyConstraint(["submission"], ["submission.id"], name="fk_attempt_submission"),
        UniqueConstraint("token", name="uq_attempt_token"),
        UniqueConstraint("submission", "number", name="uq_attempt_submission_number"),
        CheckConstraint(f"state IN ({states})", name="ck_attempt_state"),
        CheckConstraint(
            "state NOT IN ('accepted', 'proposed') OR grade_json IS NOT NULL",
            name="ck_attempt_graded",
        ),
        CheckConstraint("state <> 'proposed' OR proposal <> ''", name="ck_attempt_proposed"),
    )
    _lane("uq_attempt_running", "state = 'running'")
    _lane("uq_attempt_kept", "state IN ('accepted', 'proposed')")


def _lane(name: str, where: str) -> None:
    """Allow at most one attempt in those states for each submission, key and proposal."""
    lane = ["submission", "key", "proposal"]
    only = text(where)
    op.create_index(name, "attempt", lane, unique=True, sqlite_where=only, postgresql_where=only)


def _grade() -> None:
    op.create_table(
        "grade",
        Column("submission", Integer(), nullable=False),
        Column("attempt", Integer(), nullable=False),
        Column("since", INSTANT, nullable=False),
        PrimaryKeyConstraint("submission", name="pk_grade"),
        ForeignKeyConstraint(["submission"], ["submission.id"], name="fk_grade_submission"),
        ForeignKeyConstraint(["attempt"], ["attempt.id"], name="fk_grade_attempt"),
        UniqueConstraint("attempt", name="uq_grade_attempt"),
    )


def _override() -> None:
    op.create_table(
        "override",
        Column("id", Integer(), nullable=False),
        Column("lab", String(), nullable=False),
        Column("student", String(), nullable=False),
        Column("points", Float()),
        Column("author", String(), nullable=False),
        Column("reason", Text(), nullable=False),
        Column("at", INSTANT, nullable=False),
        PrimaryKeyConstraint("id", name="pk_override"),
        ForeignKeyConstraint(["student"], ["student.id"], name="fk_override_student"),
    )
    op.create_index("ix_override_lab_student", "override", ["lab", "student"])


def _standing() -> None:
    op.create_table(
        "standing",
        Column("lab", String(), nullable=False),
        Column("student", String(), nullable=False),
        Column("points", Float()),
        _text("note", Text),
        Column("at", INSTANT, nullable=False),
        PrimaryKeyConstraint("lab", "student", name="pk_standing"),
        ForeignKeyConstraint(["student"], ["student.id"], name="fk_standing_student"),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        Column("id", Integer(), nullable=False),
        Column("at", INSTANT, nullable=False),
        Column("actor", String(), nullable=False),
        Column("action", String(), nullable=False),
        _text("lab"),
        _text("student"),
        Column("submission", Integer()),
        Column("attempt", Integer()),
        Column("before", Text()),
        Column("after", Text()),
        _text("reason", Text),
        PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_lab_student", "audit", ["lab", "student"])
