"""Groups of students that submit together, and the extensions that course.yaml gives."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Boolean, Column, ForeignKey, Integer, String, Text, UniqueConstraint

from grader.gradebook.database import Instant

revision = "10"
down_revision = "9"


def upgrade() -> None:
    """Create the tables, and the triggers that keep their rows as they are."""
    op.create_table(
        "course_extension",
        Column("id", Integer, primary_key=True),
        Column("lab", String, nullable=False),
        _student("course_extension"),
        Column("due", Instant),
        Column("reason", Text, nullable=False),
        Column("at", Instant, nullable=False),
    )
    op.create_index("ix_course_extension_lab_student", "course_extension", ["lab", "student"])
    op.create_table(
        "membership",
        Column("id", Integer, primary_key=True),
        Column("lab", String, nullable=False),
        _student("membership"),
        Column("team", String),
        Column("staff", Boolean(), nullable=False),
        Column("author", String, nullable=False),
        Column("reason", Text, nullable=False),
        Column("at", Instant, nullable=False),
    )
    op.create_index("ix_membership_lab_student", "membership", ["lab", "student"])
    op.create_table(
        "coauthor",
        Column("id", Integer, primary_key=True),
        Column(
            "submission",
            Integer,
            ForeignKey("submission.id", name="fk_coauthor_submission"),
            nullable=False,
        ),
        _student("coauthor"),
        Column("since", Instant),
        UniqueConstraint("submission", "student", name="uq_coauthor_submission_student"),
    )
    op.create_index("ix_coauthor_student", "coauthor", ["student"])
    for table in ("course_extension", "membership", "coauthor"):
        for verb in ("UPDATE", "DELETE"):
            _refuse(table, verb)


def _student(table: str) -> Column[str]:
    name = f"fk_{table}_student"
    return Column("student", String, ForeignKey("student.id", name=name), nullable=False)


def _refuse(table: str, verb: str) -> None:
    name, on = f"kept_{verb.lower()}", f"BEFORE {verb} ON {table}"
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"CREATE TRIGGER {name} {on} FOR EACH ROW EXECUTE FUNCTION kept()")
    else:
        body = f"SELECT RAISE(ABORT, 'rows of {table} stay as they are')"
        op.execute(f"CREATE TRIGGER {table}_{name} {on} BEGIN {body}; END")
