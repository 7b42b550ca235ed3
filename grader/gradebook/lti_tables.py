"""The tables of LTI 1.3: platforms, deployments and links, the people there, and their scores.

An `lti_registration` is this course as one client of a learning platform; `origins` is a JSON list
of the web origins that may show the portal in a frame. An `lti_deployment` is where the platform
has placed it, an `lti_link` a place in a course of the platform that leads to a lab, "" as long as
none is chosen. An `lti_person` says that `sub` at a platform is the person `who` (people.py), ""
for one who was disconnected. Rows of these four are never deleted: the audit has their digests.

An `lti_nonce` was used by a launch until it `expires`. An `lti_invite` lets one platform register
itself.

An `lti_item` is the line item of a link. An `lti_member` is a person whom the platform lists where
a link is. An `lti_score` is what was last sent of a person's grade to a link: `wanted` is the
digest of what was tried, `sent` that of what the platform has accepted, "" while nobody knows;
`stamp` is the time of the last message, `points`, `most` and `submission` are of the last one that
was accepted. `worker`, `lease_until` and `token` say which process is at a row.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from grader.gradebook.database import Instant
from grader.gradebook.tables import metadata as metadata

registration = Table(
    "lti_registration",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("issuer", String, nullable=False),
    Column("client_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("auth_url", String, nullable=False),
    Column("token_url", String, nullable=False),
    Column("jwks_url", String, nullable=False),
    Column("audience", String, nullable=False, server_default=""),
    Column("origins", Text, nullable=False, server_default="[]"),
    Column("active", Boolean(), nullable=False, server_default=text("true")),
    UniqueConstraint("issuer", "client_id"),
)

deployment = Table(
    "lti_deployment",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("registration", ForeignKey("lti_registration.id"), nullable=False),
    Column("deployment", String, nullable=False),
    Column("active", Boolean(), nullable=False, server_default=text("true")),
    UniqueConstraint("registration", "deployment"),
)

link = Table(
    "lti_link",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("deployment", ForeignKey("lti_deployment.id"), nullable=False),
    Column("context", String, nullable=False),
    Column("resource", String, nullable=False),
    Column("lab", String, nullable=False, server_default=""),
    Column("title", String, nullable=False, server_default=""),
    Column("line_item", String, nullable=False, server_default=""),
    Column("line_items", String, nullable=False, server_default=""),
    Column("members_url", String, nullable=False, server_default=""),
    Column("scopes", Text, nullable=False, server_default="[]"),
    Column("at", Instant, nullable=False),
    UniqueConstraint("deployment", "context", "resource"),
)

person = Table(
    "lti_person",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("registration", ForeignKey("lti_registration.id"), nullable=False),
    Column("sub", String, nullable=False),
    Column("who", String, nullable=False),
    Column("at", Instant, nullable=False),
    UniqueConstraint("registration", "sub"),
    Index("ix_lti_person_who", "who"),
)

nonce = Table(
    "lti_nonce",
    metadata,
    Column("registration", ForeignKey("lti_registration.id"), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("expires", Instant, nullable=False),
    Index("ix_lti_nonce_expires", "expires"),
)

invite = Table(
    "lti_invite",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("author", String, nullable=False),
    Column("expires", Instant, nullable=False),
    Column("used", Instant),
    UniqueConstraint("digest"),
)

item = Table(
    "lti_item",
    metadata,
    Column("link", ForeignKey("lti_link.id"), primary_key=True),
    Column("address", String, nullable=False, server_default=""),
    Column("tries", Integer, nullable=False, server_default=text("0")),
    Column("next_try", Instant),
    Column("error", Text, nullable=False, server_default=""),
    Column("worker", String, nullable=False, server_default=""),
    Column("lease_until", Instant),
    Column("token", String(32), nullable=False, server_default=""),
)

member = Table(
    "lti_member",
    metadata,
    Column("link", ForeignKey("lti_link.id"), primary_key=True),
    Column("person", ForeignKey("lti_person.id"), primary_key=True),
    Column("at", Instant, nullable=False),
)

score = Table(
    "lti_score",
    metadata,
    Column("link", ForeignKey("lti_link.id"), primary_key=True),
    Column("person", ForeignKey("lti_person.id"), primary_key=True),
    Column("points", Float),
    Column("most", Float),
    Column("at", Instant),
    Column("sent", String(64), nullable=False, server_default=""),
    Column("wanted", String(64), nullable=False, server_default=""),
    Column("tries", Integer, nullable=False, server_default=text("0")),
    Column("next_try", Instant),
    Column("error", Text, nullable=False, server_default=""),
    Column("state", String(16), nullable=False, server_default=""),
    Column("submission", Integer),
    Column("stamp", Instant),
    Column("failed", Boolean(), nullable=False, server_default=text("false")),
    Column("worker", String, nullable=False, server_default=""),
    Column("lease_until", Instant),
    Column("token", String(32), nullable=False, server_default=""),
    Index("ix_lti_score_next_try", "next_try"),
)
