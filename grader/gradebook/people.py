"""The people of a course and how they prove who they are: links to sign in, sessions and tokens.

Students are those of the roster; staff have accounts, each with a role. A person is named
`student:ID` or `staff:NUMBER`. Of a link, a session or a token only a digest is stored: SHA-256 for
links and sessions, which are random and short-lived, argon2id for tokens, which last for months.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Connection, Row, func, select, update

from grader import dataclass
from grader.faults import LabFault
from grader.gradebook.chain import record_event, storable
from grader.gradebook.database import Database, utc_now
from grader.gradebook.tables import account, credential, student

Role = Literal["student", "ta", "instructor", "observer"]
ROLES: tuple[Role, ...] = get_args(Role)
SCOPES = ("read", "submit", "teach")
"""What a token may be used for: to read, to change one's own things, and to change others'."""

LINK_LIFE = timedelta(minutes=15)
SESSION_LIFE = timedelta(hours=8)
TOKEN_LIFE = timedelta(days=180)
MOST_VERIFIED = 4096
"""Tokens that a process knows to be right, each by a quick digest that it keeps in memory only:
argon2id takes a tenth of a second, also for those who watch."""
_PREFIX = "wg"


@dataclass(frozen=True)
class Person:
    """A person of the course.

    Attributes:
        who: `student:ID` or `staff:NUMBER`.
        name: The name to show.
        email: The e-mail address, in lower case.
        role: What the person is in the course.
        sections: The sections that a TA teaches; none means all. A student's own section.
        student: The student's ID; "" for staff.
    """

    who: str
    name: str
    email: str
    role: Role
    sections: tuple[str, ...] = ()
    student: str = ""

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of tokens that are of use to the person: students teach nobody."""
        changes = {"student": ("submit",), "observer": ()}.get(self.role, ("teach",))
        return ("read", *changes)

    @property
    def is_staff(self) -> bool:
        """Whether the person is no student."""
        return self.role != "student"


@dataclass(frozen=True)
class Identity:
    """What somebody whom the course trusts says about who signs in.

    `who` names a person whom the course has connected with this identity before; "" for none.
    """

    email: str
    verified: bool
    source: str
    who: str = ""


@dataclass(frozen=True)
class Token:
    """A token as its owner sees it: never the secret."""

    id: int
    name: str
    scopes: tuple[str, ...]
    made: datetime
    expires: datetime


def comparable_address(text: str) -> str:
    """Return an e-mail address as addresses are compared; "" for text that can be none.

    Letter case and the form of Unicode do not matter. A mark that only becomes an ASCII letter by
    this, such as the sign for kelvin, is refused: who has that mailbox is another person.
    """
    text = text.strip()
    if not text.isprintable():  # PostgreSQL takes no NUL, and nobody takes a lone surrogate
        return ""
    if any(unicodedata.normalize("NFC", one).lower().isascii() > one.isascii() for one in text):
        return ""
    return unicodedata.normalize("NFC", text).lower()


class People:
    """The people of one gradebook.

    Every method is one transaction, and raises MachineFault when the database fails.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database, self._clock = database, clock
        self._verified: dict[str, str] = {}

    def add_staff(
        self, email: str, role: Role, author: str, *, name: str = "", sections: Sequence[str] = ()
    ) -> Person:
        """Make an account, or change the one with that address.

        Raises:
            LabFault: `email` is no address, or `role` is none of staff.
        """
        given, email = email, comparable_address(email)
        if email.count("@") != 1 or email.strip("@") != email:
            raise LabFault(f"`{given}` is no e-mail address", fix="write it as name@example.org")
        if role not in ROLES or role == "student":
            roles = ", ".join(one for one in ROLES if one != "student")
            fix = f"use one of {roles}; students are those of the roster"
            raise LabFault(f"`{role}` is no role of staff", fix=fix)
        values: dict[str, Any] = {"email": storable(email), "name": storable(name), "role": role}
        values |= {"sections": json.dumps(sorted({*map(storable, sections)})), "active": True}
        with self._database.writing() as connection:
            return _staff(_set_account(connection, values, author, self._clock()))

    def remove_staff(self, email: str, author: str) -> None:
        """End an account with its sessions and tokens. Raises LabFault when there is none."""
        with self._database.writing() as connection:
            mine = account.c.email == comparable_address(email)
            row = connection.execute(select(account).where(mine, account.c.active)).first()
            if row is None:
                fix = "list the accounts with `grader portal staff`"
                raise LabFault(f"there is no account of `{email}`", fix=fix)
            now = self._clock()
            _set_account(connection, {"email": row.email, "active": False}, author, now)
            owned = credential.c.who == f"staff:{row.id}"
            connection.execute(
                update(credential).where(owned, credential.c.ended.is_(None)).values(ended=now)
            )

    def staff(self) -> tuple[Person, ...]:
        """Return the accounts of the staff, by role and address."""
        with self._database.reading() as connection:
            rows = connection.execute(select(account).where(account.c.active))
            found = map(_staff, rows)
            return tuple(sorted(found, key=lambda one: (ROLES.index(one.role), one.email)))

    def find(self, email: str) -> Person | None:
        """Return the person with that address: staff first; None without exactly one."""
        email = comparable_address(email)
        if not email:
            return None
        with self._database.reading() as connection:
            mine = (account.c.email == email) & account.c.active
            row = connection.execute(select(account).where(mine)).first()
            if row is not None:
                return _staff(row)
            same = student.c.enrolled & (student.c.email != "")
            if email.isascii():  # of other letters SQLite knows no lower case
                same &= func.lower(student.c.email) == email
            rows = connection.execute(select(student).where(same)).all()
            rows = [row for row in rows if comparable_address(row.email) == email]
            return _student(rows[0]) if len(rows) == 1 else None

    def shared_addresses(self) -> Mapping[str, tuple[str, ...]]:
        """Return the addresses that several students have, with the students' IDs.

        None of them can sign in: an address names one person.
        """
        query = select(student.c.id, student.c.email).where(student.c.enrolled)
        found: dict[str, tuple[str, ...]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(query.order_by(student.c.id)):
                key = comparable_address(row.email)
                found[key] = (*found.get(key, ()), row.id)
        return {key: ids for key, ids in found.items() if key and len(ids) > 1}

    def person(self, who: str) -> Person | None:
        """Return a person by name; None for one who has left."""
        with self._database.reading() as connection:
            return _person(connection, who)

    def sections(self) -> Mapping[str, str]:
        """Return the section of each enrolled student, by ID; "" for none."""
        with self._database.reading() as connection:
            rows = connection.execute(
                select(student.c.id, student.c.section).where(student.c.enrolled)
            )
            return {row.id: row.section or "" for row in rows}

    def new_link(self, who: str) -> str:
        """Return the secret of a new link to sign in, valid once and for LINK_LIFE."""
        return self._random(who, "link", LINK_LIFE)

    def use_link(self, secret: str) -> Person | None:
        """Return whose link that is, and end it; None when it is not valid any more."""
        with self._database.writing() as connection:
            row = self._valid(connection, "link", secret)
            if row is None:
                return None
            _end(connection, row.id, self._clock())
            return _person(connection, row.who)

    def new_session(self, who: str) -> str:
        """Return the secret of a new session, for a cookie; it is valid for SESSION_LIFE."""
        return self._random(who, "session", SESSION_LIFE)

    def session(self, secret: str) -> Person | None:
        """Return whose session that is; None when it has ended."""
        with self._database.reading() as connection:
            row = self._valid(connection, "session", secret)
            return None if row is None else _person(connection, row.who)

    def end_session(self, secret: str) -> None:
        """Sign out."""
        with self._database.writing() as connection:
            row = self._valid(connection, "session", secret)
            if row is not None:
                _end(connection, row.id, self._clock())

    def _random(self, who: str, kind: str, life: timedelta) -> str:
        secret, now = secrets.token_urlsafe(32), self._clock()
        with self._database.writing() as connection:
            connection.execute(
                credential.insert().values(
                    who=who, kind=kind, digest=_sha256(secret), made=now, expires=now + life
                )
            )
        return secret

    def _valid(self, connection: Connection, kind: str, secret: str) -> Row[Any] | None:
        mine = (credential.c.digest == _sha256(secret)) & (credential.c.kind == kind)
        return connection.execute(select(credential).where(mine, self._lives())).first()

    def _lives(self) -> ColumnElement[bool]:
        """Return the condition that a credential has neither ended nor expired."""
        return credential.c.ended.is_(None) & (credential.c.expires > self._clock())

    def new_token(self, who: str, name: str, scopes: Sequence[str], author: str) -> str:
        """Return a new token, which is shown this once; it is valid for TOKEN_LIFE.

        Raises:
            LabFault: A scope is none of SCOPES.
        """
        from argon2 import PasswordHasher

        unknown = [scope for scope in scopes if scope not in SCOPES]
        if unknown or not scopes:
            what = f"`{unknown[0]}` is no scope" if unknown else "a token needs a scope"
            raise LabFault(what, fix=f"use {' or '.join(SCOPES)}")
        secret, now = secrets.token_urlsafe(32), self._clock()
        digest = PasswordHasher().hash(secret)  # slow on purpose: before the transaction
        with self._database.writing() as connection:
            made = connection.execute(
                credential.insert().values(
                    who=who, kind="token", name=storable(name), digest=digest, made=now,
                    scopes=json.dumps(sorted({*scopes})), expires=now + TOKEN_LIFE,
                )
            ).inserted_primary_key  # fmt: skip
            number = (made or (0,))[0]
            after = {"token": number, "name": storable(name), "of": who}
            record_event(connection, now, author, "token", after=after)
        return f"{_PREFIX}_{number}_{secret}"

    def token(self, text: str) -> tuple[Person, tuple[str, ...]] | None:
        """Return whose token that is and its scopes; None when it is not valid."""
        from argon2 import PasswordHasher
        from argon2.exceptions import Argon2Error, InvalidHashError

        prefix, _, rest = text.partition("_")
        number, _, secret = rest.partition("_")
        if prefix != _PREFIX or not (number.isascii() and number.isdecimal()) or len(number) > 18:
            return None
        mine = (credential.c.id == int(number)) & (credential.c.kind == "token")
        with self._database.reading() as connection:
            row = connection.execute(select(credential).where(mine, self._lives())).first()
            person = None if row is None else _person(connection, row.who)
        if row is None or person is None:
            return None
        digest = _sha256(secret)
        if not hmac.compare_digest(self._verified.get(row.digest, ""), digest):
            try:
                PasswordHasher().verify(row.digest, secret)
            except (Argon2Error, InvalidHashError):
                return None
            if len(self._verified) >= MOST_VERIFIED:
                self._verified.clear()
            self._verified[row.digest] = digest
        return person, tuple(json.loads(row.scopes))

    def tokens(self, who: str) -> tuple[Token, ...]:
        """Return a person's valid tokens, oldest first."""
        mine = (credential.c.who == who) & (credential.c.kind == "token") & self._lives()
        with self._database.reading() as connection:
            rows = connection.execute(select(credential).where(mine).order_by(credential.c.id))
            return tuple(
                Token(row.id, row.name, tuple(json.loads(row.scopes)), row.made, row.expires)
                for row in rows
            )

    def revoke(self, who: str, number: int, author: str) -> bool:
        """End a token of a person; False when the person has no such token."""
        mine = (credential.c.id == number) & (credential.c.who == who)
        mine &= (credential.c.kind == "token") & credential.c.ended.is_(None)
        with self._database.writing() as connection:
            if connection.execute(select(credential.c.id).where(mine)).first() is None:
                return False
            now = self._clock()
            _end(connection, number, now)
            record_event(connection, now, author, "token revoked", before={"token": number})
        return True


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _end(connection: Connection, number: int, now: datetime) -> None:
    connection.execute(update(credential).where(credential.c.id == number).values(ended=now))


def _set_account(
    connection: Connection, values: dict[str, Any], author: str, now: datetime
) -> Row[Any]:
    """Write an account and record the change; an account like that stays as it is."""
    query = select(account).where(account.c.email == values["email"])
    old = connection.execute(query.with_for_update()).first()
    before = None if old is None else dict(old._mapping)
    if old is not None and before is not None and before == before | values:
        return old
    if before is None:
        connection.execute(account.insert().values(**values))
    else:
        connection.execute(update(account).where(account.c.id == before["id"]).values(**values))
    row = connection.execute(query).one()
    after = dict(row._mapping)
    record_event(
        connection, now, author, "account", before=before, after=after, rows=[("account", row.id)]
    )
    return row


def _person(connection: Connection, who: str) -> Person | None:
    kind, _, key = who.partition(":")
    if kind == "student":
        mine = (student.c.id == storable(key)) & student.c.enrolled
        row = connection.execute(select(student).where(mine)).first()
        return None if row is None else _student(row)
    mine = (account.c.id == int(key)) & account.c.active
    row = connection.execute(select(account).where(mine)).first()
    return None if row is None else _staff(row)


def _student(row: Row[Any]) -> Person:
    sections = (row.section,) if row.section else ()
    name = row.name or row.id
    return Person(f"student:{row.id}", name, row.email.lower(), "student", sections, row.id)


def _staff(row: Row[Any]) -> Person:
    sections = tuple(json.loads(row.sections))
    return Person(f"staff:{row.id}", row.name or row.email, row.email, row.role, sections)
