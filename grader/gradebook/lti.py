"""LTI 1.3: the platforms that lead to a course, what their links lead to, and who launches.

A registration is this course as a client of a platform (its issuer and client ID; one issuer may
have several). A deployment is where the platform has placed that client; a launch names both. A
link is a place in a course of the platform: the key is the deployment, the platform's context and
its resource link. It leads to one lab, and keeps the addresses of the services that the platform
named at the last launch: `line_item` and `line_items` (Assignment and Grade Services, with
`scopes`) and `members_url` (Names and Roles). Who is `sub` at a platform is decided once: then the
person of the course is found by registration and `sub`, whatever the platform says of the e-mail
address later.

The private keys of the course are not here, since gradebooks are copied and exported: they are in
a file beside course.yaml (grader/portal/lti/keys.py). The scores of links are in lti_scores.py.

What decides who gets where (registrations, deployments, the labs of links, people) is in the audit
and its chain. Addresses of services change with every launch and are not.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, delete, select, update

from grader import dataclass
from grader.faults import LabFault
from grader.gradebook.chain import insert_new, lock_audit, record_event, storable
from grader.gradebook.database import Database, utc_now
from grader.gradebook.lti_tables import deployment, invite, link, nonce, person, registration

INVITE_LIFE = timedelta(hours=24)
MAX_ORIGINS = 16
"""Web origins of one platform that may show the portal in a frame."""


@dataclass(frozen=True)
class NewRegistration:
    """What a platform and this course agree on.

    Attributes:
        name: The platform as people call it.
        audience: What a request for an access token is addressed to; "" for `token_url`.
        origins: Further web origins that may show the portal in a frame.
    """

    issuer: str
    client_id: str
    name: str
    auth_url: str
    token_url: str
    jwks_url: str
    audience: str = ""
    origins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Registration(NewRegistration):
    """A registration that is stored; one that is not `active` is refused and asks for nothing."""

    id: int = 0
    active: bool = True


@dataclass(frozen=True)
class Deployment:
    """A deployment of a registration; `deployment` is the platform's name for it."""

    id: int
    registration: int
    deployment: str
    active: bool


@dataclass(frozen=True)
class Link:
    """A place in a course of a platform; `lab` is "" as long as nobody has chosen one.

    Attributes:
        deployment: The number of its deployment.
        context: The platform's ID of its course; "" when the platform names none.
        resource: The platform's ID of the link.
        line_item: Where its scores go; "" when the platform named none.
        line_items: Where line items of the context are listed and made; "" for nowhere.
        members_url: Where the members of the context are listed; "" for nowhere.
        scopes: What the platform lets this course do there, as URLs of scopes.
    """

    id: int
    deployment: int
    context: str
    resource: str
    lab: str
    title: str
    line_item: str = ""
    line_items: str = ""
    members_url: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlatformPerson:
    """Who a `sub` at a platform is; `who` names a person of the course, "" for nobody any more."""

    id: int
    registration: int
    sub: str
    who: str


class Lti:
    """The platforms of one gradebook.

    Every method is one transaction, and raises MachineFault when the database fails.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database, self._clock = database, clock

    def register(self, new: NewRegistration, author: str) -> Registration:
        """Add a registration, or change the one with that issuer and client ID."""
        values: dict[str, Any] = {
            name: storable(value) for name, value in vars(new).items() if isinstance(value, str)
        }
        values |= {"origins": json.dumps(sorted({*new.origins})), "active": True}
        with self._database.writing() as connection:
            same = (registration.c.issuer == values["issuer"]) & (
                registration.c.client_id == values["client_id"]
            )
            row = self._put(connection, registration, same, values, author, "lti registration")
            return _registration(row)

    def remove(self, number: int, author: str) -> None:
        """End a registration; its links and people are kept. Raises LabFault without one."""
        self._switch_off(registration, registration.c.id == number, author, "lti registration")

    def registrations(self) -> tuple[Registration, ...]:
        """Return the registrations, by number."""
        with self._database.reading() as connection:
            rows = connection.execute(select(registration).order_by(registration.c.id))
            return tuple(map(_registration, rows))

    def registration(self, number: int) -> Registration | None:
        """Return a registration by its number."""
        with self._database.reading() as connection:
            query = select(registration).where(registration.c.id == number)
            row = connection.execute(query).first()
            return None if row is None else _registration(row)

    def clients_of(self, issuer: str) -> tuple[Registration, ...]:
        """Return the active registrations at an issuer."""
        mine = (registration.c.issuer == storable(issuer)) & registration.c.active
        with self._database.reading() as connection:
            rows = connection.execute(select(registration).where(mine).order_by(registration.c.id))
            return tuple(map(_registration, rows))

    def add_origin(self, number: int, origin: str) -> None:
        """Let a web origin that the platform has signed show the portal in a frame."""
        with self._database.writing() as connection:
            mine = registration.c.id == number
            found = connection.execute(select(registration).where(mine).with_for_update()).one()
            known = json.loads(found.origins)
            if origin not in known and len(known) < MAX_ORIGINS:
                values = {"origins": json.dumps(sorted([*known, storable(origin)]))}
                self._put(connection, registration, mine, values, "grader", "lti registration")

    def deploy(self, number: int, name: str, author: str) -> Deployment:
        """Add a deployment of a registration, or switch it on again."""
        values = {"registration": number, "deployment": storable(name), "active": True}
        with self._database.writing() as connection:
            same = (deployment.c.registration == number) & (
                deployment.c.deployment == values["deployment"]
            )
            row = self._put(connection, deployment, same, values, author, "lti deployment")
            return Deployment(**row._mapping)

    def remove_deployment(self, number: int, author: str) -> None:
        """End a deployment by its number. Raises LabFault without one."""
        self._switch_off(deployment, deployment.c.id == number, author, "lti deployment")

    def deployments(self, number: int) -> tuple[Deployment, ...]:
        """Return the active deployments of a registration."""
        mine = (deployment.c.registration == number) & deployment.c.active
        query = select(deployment).where(mine).order_by(deployment.c.id)
        with self._database.reading() as connection:
            return tuple(Deployment(*row) for row in connection.execute(query))

    def use_nonce(self, number: int, text: str, expires: datetime) -> bool:
        """Use a nonce of a registration until a time; False when it was used before."""
        digest, now = _sha256(text), self._clock()
        same = (nonce.c.registration == number) & (nonce.c.digest == digest)
        with self._database.writing() as connection:
            connection.execute(delete(nonce).where(nonce.c.expires < now))
            return insert_new(
                connection, nonce, same, registration=number, digest=digest, expires=expires
            )

    def new_link(self, number: int, context: str, resource: str, title: str) -> Link:
        """Return the link of a deployment with that context and resource; a new one has no lab."""
        values = {"deployment": number, "context": storable(context)}
        values["resource"] = storable(resource)
        same = (link.c.deployment == number) & (link.c.context == values["context"])
        same &= link.c.resource == values["resource"]
        with self._database.writing() as connection:
            row = connection.execute(select(link).where(same)).first()
            if row is None:
                values |= {"title": storable(title), "lab": "", "at": self._clock()}
                row = self._put(connection, link, same, values, "grader", "lti link")
            return _link(row)

    def point(self, number: int, lab: str, author: str) -> Link:
        """Have a link lead to a lab. Raises LabFault without such a link."""
        with self._database.writing() as connection:
            values = {"lab": lab, "at": self._clock()}
            mine = link.c.id == number
            found = connection.execute(select(link).where(mine).with_for_update()).first()
            if found is None:
                raise LabFault(f"there is no link {number}", fix="open it in the platform first")
            if found.lab == lab:
                return _link(found)
            return _link(self._put(connection, link, mine, values, author, "lti link", lab=lab))

    def note_services(
        self, number: int, line_item: str, line_items: str, members_url: str,
        scopes: Collection[str],
    ) -> None:  # fmt: skip
        """Keep the addresses of the services that the platform named at a launch of a link.

        "" keeps the address that is known: not every launch names each service.
        """
        given = {"line_item": line_item, "line_items": line_items, "members_url": members_url}
        values = {name: storable(value) for name, value in given.items() if value}
        if scopes:
            values["scopes"] = json.dumps(sorted({*map(storable, scopes)}))
        if values:
            with self._database.writing() as connection:
                connection.execute(update(link).where(link.c.id == number).values(**values))

    def links(self, lab: str | None = None) -> tuple[Link, ...]:
        """Return the links, those of one lab when given, by number."""
        query = select(link).order_by(link.c.id)
        if lab is not None:
            query = query.where(link.c.lab == lab)
        with self._database.reading() as connection:
            return tuple(map(_link, connection.execute(query)))

    def link(self, number: int) -> Link | None:
        """Return a link by its number."""
        with self._database.reading() as connection:
            row = connection.execute(select(link).where(link.c.id == number)).first()
            return None if row is None else _link(row)

    def who(self, number: int, sub: str) -> str:
        """Return the person that a `sub` at a registration is; "" for nobody known."""
        mine = (person.c.registration == number) & (person.c.sub == storable(sub))
        with self._database.reading() as connection:
            return connection.execute(select(person.c.who).where(mine)).scalar() or ""

    def know(self, number: int, sub: str, who: str, author: str) -> PlatformPerson:
        """Decide that a `sub` at a registration is a person of the course.

        Raises:
            LabFault: It is another person already, or the person is another `sub` there.
        """
        values: dict[str, Any] = {"registration": number, "sub": storable(sub), "who": who}
        same = (person.c.registration == number) & (person.c.sub == values["sub"])
        with self._database.writing() as connection:
            lock_audit(connection)  # of two at the same moment, one sees the other
            mine = (person.c.registration == number) & (same | (person.c.who == who))
            for row in connection.execute(select(person).where(mine, person.c.who != "")):
                if (row.sub, row.who) == (values["sub"], who):
                    return PlatformPerson(row.id, row.registration, row.sub, row.who)
                what = "this person has another account at the platform"
                if row.sub == values["sub"]:
                    what = "this account of the platform is another person"
                raise LabFault(what, fix=f"disconnect account {row.id} first")
            values["at"] = self._clock()
            row = self._put(connection, person, same, values, author, "lti person")
            return PlatformPerson(row.id, row.registration, row.sub, row.who)

    def forget(self, number: int, author: str) -> None:
        """Disconnect an account of a platform by its number. Raises LabFault without one."""
        mine = person.c.id == number
        with self._database.writing() as connection:
            found = connection.execute(select(person).where(mine, person.c.who != "")).first()
            if found is None:
                raise LabFault(f"there is no account {number}", fix="grader portal lti people")
            values = {"who": "", "at": self._clock()}
            self._put(connection, person, mine, values, author, "lti person")

    def people(self, number: int | None = None) -> tuple[PlatformPerson, ...]:
        """Return the connected accounts, of one registration when given."""
        query = select(person).where(person.c.who != "").order_by(person.c.id)
        if number is not None:
            query = query.where(person.c.registration == number)
        with self._database.reading() as connection:
            rows = connection.execute(query)
            return tuple(PlatformPerson(row.id, row.registration, row.sub, row.who) for row in rows)

    def invite(self, author: str) -> str:
        """Return a secret with which one platform may register itself within INVITE_LIFE."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        with self._database.writing() as connection:
            values = {"digest": _sha256(secret), "author": storable(author)}
            connection.execute(invite.insert().values(**values, expires=now + INVITE_LIFE))
            record_event(connection, now, author, "lti invite")
        return secret

    def invited(self, secret: str) -> str:
        """Return who has made an invitation that is still good; "" for none."""
        with self._database.reading() as connection:
            return connection.execute(self._good(secret)).scalar() or ""

    def use_invite(self, secret: str) -> str:
        """Return who has made an invitation, and end it; "" when it is not good any more."""
        mine = invite.c.digest == _sha256(secret)
        with self._database.writing() as connection:
            author: str = connection.execute(self._good(secret).with_for_update()).scalar() or ""
            connection.execute(update(invite).where(mine).values(used=self._clock()))
        return author

    def note_key(self, name: str, author: str) -> None:
        """Record that the course signs with a new key, by its ID."""
        with self._database.writing() as connection:
            record_event(connection, self._clock(), author, "lti key", after={"key": name})

    def _good(self, secret: str) -> Any:
        mine = (invite.c.digest == _sha256(secret)) & invite.c.used.is_(None)
        return select(invite.c.author).where(mine, invite.c.expires > self._clock())

    def _switch_off(
        self, table: Table, mine: ColumnElement[bool], author: str, action: str
    ) -> None:
        with self._database.writing() as connection:
            if connection.execute(select(table.c.id).where(mine, table.c.active)).first() is None:
                raise LabFault(f"there is no such {action}", fix="grader portal lti list")
            self._put(connection, table, mine, {"active": False}, author, action)

    def _put(
        self, connection: Connection, table: Table, same: ColumnElement[bool],
        values: dict[str, Any], author: str, action: str, *, lab: str = "",
    ) -> Row[Any]:  # fmt: skip
        """Write the row that `same` selects and record the change; equal values change nothing."""
        query = select(table).where(same)
        old = connection.execute(query.with_for_update()).first()
        before = None if old is None else dict(old._mapping)
        if old is not None and before is not None and before == before | values:
            return old
        if before is None:
            connection.execute(table.insert().values(**values))
        else:
            connection.execute(update(table).where(table.c.id == before["id"]).values(**values))
        row = connection.execute(query).one()
        record_event(
            connection, self._clock(), author, action, lab=lab, before=_shown(before),
            after=_shown(dict(row._mapping)), rows=[(table.name, row.id)],
        )  # fmt: skip
        return row


def _shown(values: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the values of a row for the audit, without its time, which the line has."""
    return None if values is None else {k: v for k, v in values.items() if k != "at"}


def _registration(row: Row[Any]) -> Registration:
    values = dict(row._mapping)
    return Registration(**(values | {"origins": tuple(json.loads(values["origins"]))}))


def _link(row: Row[Any]) -> Link:
    values = dict(row._mapping)
    del values["at"]
    return Link(**(values | {"scopes": tuple(json.loads(values["scopes"]))}))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
