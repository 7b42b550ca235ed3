"""LTI 1.3: registrations at platforms, deployments, links to labs, people, nonces and scores."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
    text,
)

from grader.gradebook.database import Instant

revision = "11"
down_revision = "10"


def upgrade() -> None:
    """Create the tables; the rows that the audit records cannot be deleted."""
    _platforms()
    _links()
    _used_once()
    op.create_table(
        "lti_score",
        _of("lti_score", "link", "lti_link"),
        _of("lti_score", "person", "lti_person"),
        Column("points", Float),
        Column("most", Float),
        Column("at", Instant),
        Column("sent", String(64), nullable=False, server_default=""),
        Column("wanted", String(64), nullable=False, server_default=""),
        Column("tries", Integer, nullable=False, server_default=text("0")),
        Column("next_try", Instant),
        _text("error", Text()),
        PrimaryKeyConstraint("link", "person", name="pk_lti_score"),
    )
    op.create_index("ix_lti_score_next_try", "lti_score", ["next_try"])
    for table in ("lti_registration", "lti_deployment", "lti_link", "lti_person"):
        _refuse_deletion(table)


def _platforms() -> None:
    op.create_table(
        "lti_registration",
        Column("id", Integer, primary_key=True),
        *(
            Column(name, String, nullable=False)
            for name in ("issuer", "client_id", "name", "auth_url", "token_url", "jwks_url")
        ),
        _text("audience"),
        Column("origins", Text, nullable=False, server_default="[]"),
        Column("active", Boolean(), nullable=False, server_default=text("true")),
        UniqueConstraint("issuer", "client_id", name="uq_lti_registration_issuer_client_id"),
    )
    op.create_table(
        "lti_deployment",
        Column("id", Integer, primary_key=True),
        _of("lti_deployment", "registration", "lti_registration"),
        Column("deployment", String, nullable=False),
        Column("active", Boolean(), nullable=False, server_default=text("true")),
        UniqueConstraint(
            "registration", "deployment", name="uq_lti_deployment_registration_deployment"
        ),
    )


def _links() -> None:
    op.create_table(
        "lti_link",
        Column("id", Integer, primary_key=True),
        _of("lti_link", "deployment", "lti_deployment"),
        Column("context", String, nullable=False),
        Column("resource", String, nullable=False),
        *map(_text, ("lab", "title", "line_item", "line_items", "members_url")),
        Column("scopes", Text, nullable=False, server_default="[]"),
        Column("at", Instant, nullable=False),
        UniqueConstraint(
            "deployment", "context", "resource", name="uq_lti_link_deployment_context_resource"
        ),
    )
    op.create_table(
        "lti_person",
        Column("id", Integer, primary_key=True),
        _of("lti_person", "registration", "lti_registration"),
        Column("sub", String, nullable=False),
        Column("who", String, nullable=False),
        Column("at", Instant, nullable=False),
        UniqueConstraint("registration", "sub", name="uq_lti_person_registration_sub"),
    )
    op.create_index("ix_lti_person_who", "lti_person", ["who"])


def _used_once() -> None:
    op.create_table(
        "lti_nonce",
        _of("lti_nonce", "registration", "lti_registration"),
        Column("digest", String(64), nullable=False),
        Column("expires", Instant, nullable=False),
        PrimaryKeyConstraint("registration", "digest", name="pk_lti_nonce"),
    )
    op.create_index("ix_lti_nonce_expires", "lti_nonce", ["expires"])
    op.create_table(
        "lti_invite",
        Column("id", Integer, primary_key=True),
        Column("digest", String(64), nullable=False),
        Column("author", String, nullable=False),
        Column("expires", Instant, nullable=False),
        Column("used", Instant),
        UniqueConstraint("digest", name="uq_lti_invite_digest"),
    )


def _text(name: str, kind: String | None = None) -> Column[str]:
    return Column(name, kind or String(), nullable=False, server_default="")


def _of(table: str, name: str, other: str) -> Column[int]:
    key = ForeignKey(f"{other}.id", name=f"fk_{table}_{name}")
    return Column(name, Integer, key, nullable=False)


def _refuse_deletion(table: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            f"CREATE TRIGGER kept_delete BEFORE DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION kept()"
        )
    else:
        op.execute(
            f"CREATE TRIGGER {table}_kept_delete BEFORE DELETE ON {table}"
            f" BEGIN SELECT RAISE(ABORT, 'rows of {table} stay as they are'); END"
        )
