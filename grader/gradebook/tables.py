"""The tables of the gradebook.

A row of `grade` names the one attempt that is a submission's grade. When a submission's time is not
`told`, `received` is when it was stored, for the order only.

Constraints enforce what the code promises: one submission for the same bytes, one running and one
accepted attempt for each key, one token for each attempt. A line of `audit` has in `records` the
digests of the rows that it is about, and in `digest` that of the line before it and its own content
(chain.py). `attempt.grade_sha256` is the digest of the attempt and its `grade_json`.

`account` has the staff; students are in `student`. A `credential` is a link to sign in, a session
or a token of a person, of which only a digest is stored. `progress` is what happens to a submission
until it is graded; its numbers grow.

A `request` is a student's question about a grade, with its `message` rows; a `comment` is what
staff write to a submission, on a line or (0) as a whole. The newest row of `release_rule` says when
students see a lab's grades (neither `moment` nor `held`: as course.yaml says), that of `choice`
which submission a student has chosen. A `regrade` names the attempts that are proposed by it. A
`worker` is a process that grades what waits, and when it was last `seen`.

A `board_entry` is a student's part in the leaderboard of a lab: `folded`, NULL for one who has
left, is the pseudonym as it is compared, and `at` is when the student joined. `board_mark` has what
the lab's own kernels reach there.

An `extension` is what staff decided; a `course_extension` is what course.yaml said when it was last
applied. The newest row of a `membership` with or without `staff` says which group of a lab a
student is in, as staff decided ("" for none, NULL for what course.yaml says) or as course.yaml
says. A `coauthor` is a student, other than the one who sent it, for whom a submission counts;
`since` is NULL when it did so from the beginning.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from grader.gradebook.database import Instant as Instant

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

student = Table(
    "student",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False, server_default=""),
    Column("email", String, nullable=False, server_default=""),
    Column("sis_id", String, nullable=False, server_default=""),
    Column("login", String, nullable=False, server_default=""),
    Column("section", String, nullable=False, server_default=""),
    Column("enrolled", Boolean(), nullable=False, server_default=text("false")),
)

submission = Table(
    "submission",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("student", ForeignKey("student.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("answers", LargeBinary),
    Column("answers_sha256", String(64), nullable=False, server_default=""),
    Column("received", Instant, nullable=False),
    Column("told", Boolean(), nullable=False, server_default=text("true")),
    Column("late", Boolean(), nullable=False, server_default=text("false")),
    Column("stored", Instant, nullable=False),
    Column("source", String, nullable=False, server_default=""),
    UniqueConstraint("lab", "student", "sha256", "answers_sha256"),
    Index("ix_submission_sha256", "sha256"),
)

attempt = Table(
    "attempt",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("key", String, nullable=False),
    Column("proposal", String, nullable=False, server_default=""),
    Column("number", Integer, nullable=False),
    Column("token", String(32), nullable=False, unique=True),
    Column("worker", String, nullable=False),
    Column("state", String(16), nullable=False),
    Column("started", Instant, nullable=False),
    Column("lease_until", Instant, nullable=False),
    Column("ended", Instant),
    Column("grade_json", Text),
    Column("grade_sha256", String(64), nullable=False, server_default=""),
    Column("reason", Text, nullable=False, server_default=""),
    UniqueConstraint("submission", "number"),
    CheckConstraint(
        "state IN ('running', 'accepted', 'proposed', 'fault', 'forgiven', 'released',"
        " 'expired', 'rejected')",
        name="state",
    ),
    CheckConstraint(
        "state NOT IN ('accepted', 'proposed') OR grade_json IS NOT NULL", name="graded"
    ),
    CheckConstraint("state <> 'proposed' OR proposal <> ''", name="proposed"),
)

_RUNNING = text("state = 'running'")
_KEPT = text("state IN ('accepted', 'proposed')")
_LANE = (attempt.c.submission, attempt.c.key, attempt.c.proposal)
Index("uq_attempt_running", *_LANE, unique=True, sqlite_where=_RUNNING, postgresql_where=_RUNNING)
Index("uq_attempt_kept", *_LANE, unique=True, sqlite_where=_KEPT, postgresql_where=_KEPT)

grade = Table(
    "grade",
    metadata,
    Column("submission", ForeignKey("submission.id"), primary_key=True),
    Column("attempt", ForeignKey("attempt.id"), nullable=False, unique=True),
    Column("since", Instant, nullable=False),
)

override = Table(
    "override",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("student", ForeignKey("student.id"), nullable=False),
    Column("points", Float),
    Column("author", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_override_lab_student", "lab", "student"),
)

standing = Table(
    "standing",
    metadata,
    Column("lab", String, primary_key=True),
    Column("student", ForeignKey("student.id"), primary_key=True),
    Column("points", Float),
    Column("note", Text, nullable=False, server_default=""),
    Column("at", Instant, nullable=False),
)

account = Table(
    "account",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("email", String, nullable=False),
    Column("name", String, nullable=False, server_default=""),
    Column("role", String(16), nullable=False),
    Column("sections", Text, nullable=False, server_default="[]"),
    Column("active", Boolean(), nullable=False, server_default=text("true")),
    UniqueConstraint("email"),
)

credential = Table(
    "credential",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("who", String, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("name", String, nullable=False, server_default=""),
    Column("digest", String, nullable=False),
    Column("scopes", Text, nullable=False, server_default="[]"),
    Column("made", Instant, nullable=False),
    Column("expires", Instant, nullable=False),
    Column("ended", Instant),
    Index("ix_credential_digest", "digest"),
    Index("ix_credential_who", "who"),
)

extension = Table(
    "extension",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("student", ForeignKey("student.id"), nullable=False),
    Column("due", Instant),
    Column("author", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_extension_lab_student", "lab", "student"),
)

course_extension = Table(
    "course_extension",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("student", ForeignKey("student.id"), nullable=False),
    Column("due", Instant),
    Column("reason", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_course_extension_lab_student", "lab", "student"),
)

membership = Table(
    "membership",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("student", ForeignKey("student.id"), nullable=False),
    Column("team", String),
    Column("staff", Boolean(), nullable=False),
    Column("author", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_membership_lab_student", "lab", "student"),
)

coauthor = Table(
    "coauthor",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("student", ForeignKey("student.id"), nullable=False),
    Column("since", Instant),
    UniqueConstraint("submission", "student"),
    Index("ix_coauthor_student", "student"),
)

progress = Table(
    "progress",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("body", Text, nullable=False, server_default="{}"),
    Column("at", Instant, nullable=False),
    Index("ix_progress_submission", "submission"),
)

request = Table(
    "request",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("score", Float, nullable=False),
    Column("most", Float, nullable=False),
    Column("status", String(16), nullable=False),
    Column("at", Instant, nullable=False),
    CheckConstraint("status IN ('open', 'answered', 'closed')", name="status"),
    Index("ix_request_submission", "submission"),
)

message = Table(
    "message",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("request", ForeignKey("request.id"), nullable=False),
    Column("author", String, nullable=False),
    Column("staff", Boolean(), nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_message_request", "request"),
)

comment = Table(
    "comment",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("line", Integer, nullable=False),
    Column("author", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("removed", Boolean(), nullable=False, server_default=text("false")),
    Index("ix_comment_submission", "submission"),
)

release_rule = Table(
    "release_rule",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("moment", Instant),
    Column("held", Boolean(), nullable=False),
    Column("author", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_release_rule_lab", "lab"),
)

choice = Table(
    "choice",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("student", ForeignKey("student.id"), nullable=False),
    Column("submission", ForeignKey("submission.id"), nullable=False),
    Column("author", String, nullable=False),
    Column("at", Instant, nullable=False),
    Index("ix_choice_lab_student", "lab", "student"),
)

regrade = Table(
    "regrade",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("lab", String, nullable=False),
    Column("students", Text, nullable=False, server_default="[]"),
    Column("state", String(16), nullable=False),
    Column("author", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Instant, nullable=False),
    CheckConstraint("state IN ('open', 'adopted', 'rejected')", name="state"),
)

worker = Table(
    "worker",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("backend", String(16), nullable=False),
    Column("device", String, nullable=False, server_default=""),
    Column("jobs", Integer, nullable=False),
    Column("version", String, nullable=False),
    Column("started", Instant, nullable=False),
    Column("seen", Instant, nullable=False),
    Column("ended", Instant),
    Column("note", Text, nullable=False, server_default=""),
    UniqueConstraint("name"),
)

board_entry = Table(
    "board_entry",
    metadata,
    Column("lab", String, primary_key=True),
    Column("student", ForeignKey("student.id"), primary_key=True),
    Column("pseudonym", String, nullable=False, server_default=""),
    Column("folded", String),
    Column("hidden", Boolean(), nullable=False, server_default=text("false")),
    Column("reason", Text, nullable=False, server_default=""),
    Column("at", Instant, nullable=False),
    UniqueConstraint("lab", "folded"),
)

board_mark = Table(
    "board_mark",
    metadata,
    Column("lab", String, primary_key=True),
    Column("lab_sha256", String(64), nullable=False),
    Column("marks", Text, nullable=False),
    Column("at", Instant, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("actor", String, nullable=False),
    Column("action", String, nullable=False),
    Column("lab", String, nullable=False, server_default=""),
    Column("student", String, nullable=False, server_default=""),
    Column("submission", Integer),
    Column("attempt", Integer),
    Column("before", Text),
    Column("after", Text),
    Column("reason", Text, nullable=False, server_default=""),
    Column("records", Text, nullable=False, server_default="[]"),
    Column("digest", String(64), nullable=False, server_default=""),
    Index("ix_audit_lab_student", "lab", "student"),
)
