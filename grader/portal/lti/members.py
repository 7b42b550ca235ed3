"""The members of a platform's course (Names and Role Provisioning Services 2.0), beside the roster.

The platform never adds anybody to the course: the roster decides who takes it. What is read here
shows who is in one list only, which accounts are whose, and to whom scores of a link may be sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from grader import dataclass
from grader.export.fields import csv_text, spreadsheet_safe
from grader.gradebook.ledger import Student
from grader.portal.lti.client import Client, PlatformFault

MEMBERS_SCOPE = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
MEMBERS_KIND = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
MAX_MEMBERS = 20_000
MAX_TEXT = 320

_LEARNER = "http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"


@dataclass(frozen=True)
class Member:
    """A learner in a platform's course; `email`, `name` and `source` are "" when it keeps them.

    `source` is the ID of the person in the institution's register.
    """

    sub: str
    email: str = ""
    name: str = ""
    source: str = ""


@dataclass(frozen=True)
class Compared:
    """The members of a platform's course beside the roster.

    Attributes:
        connected: The members whose account is known to be a student's, with the student's ID.
        matching: Those whose e-mail address is that of one student who has no account yet.
        missing_here: The members who are no students of the roster.
        missing_there: The IDs of the students who are no members.
    """

    connected: tuple[tuple[Member, str], ...]
    matching: tuple[tuple[Member, str], ...]
    missing_here: tuple[Member, ...]
    missing_there: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "connected": [{**vars(one), "student": who} for one, who in self.connected],
            "matching": [{**vars(one), "student": who} for one, who in self.matching],
            "missing_here": [vars(one) for one in self.missing_here],
            "missing_there": list(self.missing_there),
        }


def read_members(client: Client, address: str) -> tuple[Member, ...]:
    """Return the active learners of a platform's course. Raises PlatformFault."""
    found: dict[str, Member] = {}
    for page in client.pages(address, MEMBERS_SCOPE, MEMBERS_KIND):
        rows = page.get("members") if isinstance(page, dict) else None
        if not isinstance(rows, list):
            raise PlatformFault("the platform sends no list of members", temporary=True)
        for row in rows:
            if isinstance(row, dict) and (member := _member(row)) is not None:
                found[member.sub] = member
        if len(found) > MAX_MEMBERS:
            raise PlatformFault(f"more than {MAX_MEMBERS} members", temporary=False)
    return tuple(found.values())


def _member(row: Mapping[str, Any]) -> Member | None:
    """Return an active learner; None for anybody else."""
    roles = row.get("roles")
    is_learner = isinstance(roles, list) and ("Learner" in roles or _LEARNER in roles)
    sub = row.get("user_id")
    if not is_learner or row.get("status", "Active") != "Active":
        return None
    if isinstance(sub, int) and not isinstance(sub, bool):
        sub = str(sub)
    if not isinstance(sub, str) or not sub:
        return None
    text = {name: _text(row.get(name)) for name in ("email", "name", "lis_person_sourcedid")}
    return Member(sub[:MAX_TEXT], text["email"].lower(), text["name"], text["lis_person_sourcedid"])


def _text(value: object) -> str:
    """Return one printable line of what a platform says."""
    shown = value[:MAX_TEXT] if isinstance(value, str) else ""
    return " ".join("".join(one if one.isprintable() else " " for one in shown).split())


def compare(
    members: Iterable[Member], students: Sequence[Student], known: Mapping[str, str]
) -> Compared:
    """Compare the members of a platform's course with the roster.

    Args:
        members: The members.
        students: The roster.
        known: The student's ID by the account's `sub`, for those that are connected.
    """
    ids = {one.id for one in students}
    by_email: dict[str, list[str]] = {}
    for student in students:
        if student.email:
            by_email.setdefault(student.email.lower(), []).append(student.id)
    taken, connected, matching, others = set(known.values()), [], [], []
    for member in members:
        named = by_email.get(member.email, []) if member.email else []
        if known.get(member.sub) in ids:
            connected.append((member, known[member.sub]))
        elif len(named) == 1 and named[0] not in taken and member.sub not in known:
            taken.add(named[0])
            matching.append((member, named[0]))
        else:
            others.append(member)
    there = {who for _, who in (*connected, *matching)}
    return Compared(
        tuple(connected), tuple(matching), tuple(others),
        tuple(one.id for one in students if one.id not in there),
    )  # fmt: skip


def roster_csv(members: Iterable[Member]) -> str:
    """Return members as a roster file, which the instructor may add to the course's."""
    rows = [
        (one.source or one.email or one.sub, one.name, one.email) for one in members
    ]  # fmt: skip
    cells = [[spreadsheet_safe(cell) for cell in row] for row in rows]
    return csv_text([["id", "name", "email"], *cells])
