"""The line items of links: where at a platform their scores go.

A platform makes a second line item when it is asked twice. So one process at a time looks for the
line item of a link and makes it: a claim is a lease with a token, and what was found is stored. A
process that is killed in between has stored nothing, and the next one looks first.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, select, update

from grader import dataclass
from grader.gradebook.attempts import is_dead
from grader.gradebook.chain import insert_new, storable
from grader.gradebook.database import Database, utc_now
from grader.gradebook.lti_tables import deployment, item, link, registration, score

LEASE = timedelta(seconds=180)
"""How long one process may be at a score or a line item: longer than its requests may take."""

FREE: Mapping[str, Any] = {"worker": "", "lease_until": None, "token": ""}
"""The columns of a lease that has ended."""


def is_leased(row: Row[Any], now: datetime) -> bool:
    """Whether a live process has the lease of a row."""
    return row.lease_until is not None and row.lease_until > now and not is_dead(row.worker)


@dataclass(frozen=True)
class ItemClaim:
    """The line item of a link: its address, or with a token the right to find or make it."""

    link: int
    address: str
    token: str = ""
    until: datetime | None = None


@dataclass(frozen=True)
class Target:
    """A link with the platform that it belongs to, as a score goes there."""

    link: int
    lab: str
    registration: int
    deployment: str
    context: str
    resource: str
    title: str
    line_item: str
    line_items: str
    members_url: str
    scopes: frozenset[str]

    @property
    def place(self) -> tuple[int, str, str]:
        """The platform's course that the link is in."""
        return self.registration, self.deployment, self.context


def targets_of(connection: Connection) -> Sequence[Target]:
    """Return the links of active platforms that lead to labs."""
    query = (
        select(link, deployment.c.registration, deployment.c.deployment.label("deployed"))
        .join(deployment, deployment.c.id == link.c.deployment)
        .join(registration, registration.c.id == deployment.c.registration)
        .where(link.c.lab != "", deployment.c.active, registration.c.active)
        .order_by(link.c.id)
    )
    return [
        Target(
            row.id, row.lab, row.registration, row.deployed, row.context, row.resource, row.title,
            row.line_item, row.line_items, row.members_url, frozenset(json.loads(row.scopes)),
        )
        for row in connection.execute(query)
    ]  # fmt: skip


class LtiItems:
    """The line items of one gradebook.

    Every method is one transaction, and raises MachineFault when the database fails.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database, self._clock = database, clock

    def claim(self, number: int, named: str, worker: str) -> ItemClaim | None:
        """Return the line item of a link, or the right to find it.

        Args:
            number: The number of the link.
            named: The line item that the platform has named; "" for none.
            worker: The process.

        Returns:
            None when another process looks for it, or it is not yet time to try again.
        """
        now, token, same = self._clock(), secrets.token_hex(16), item.c.link == number
        with self._database.reading() as connection:
            row = connection.execute(select(item).where(same)).first()
        if row is not None and row.address and row.address == (named or row.address):
            return ItemClaim(number, row.address)
        with self._database.writing() as connection:
            insert_new(connection, item, same, link=number)
            row = connection.execute(select(item).where(same).with_for_update()).one()
            if row.address and row.address == (named or row.address):  # found since
                return ItemClaim(number, row.address)
            rests = row.next_try is not None and row.next_try > now
            if is_leased(row, now) or rests:
                return None
            values = {"worker": storable(worker), "lease_until": now + LEASE, "token": token}
            connection.execute(update(item).where(same).values(**values))
        return ItemClaim(number, "", token, now + LEASE)

    def found(self, claim: ItemClaim, address: str) -> bool:
        """Record the address of a line item; at another one than before, nothing was sent yet."""
        same = item.c.link == claim.link
        with self._database.writing() as connection:
            mine = same & (item.c.token == claim.token)
            row = connection.execute(select(item).where(mine).with_for_update()).first()
            if row is None:
                return False
            values = {"address": storable(address), "tries": 0, "next_try": None, "error": ""}
            connection.execute(update(item).where(same).values(**values, **FREE))
            connection.execute(update(score).where(score.c.link == claim.link).values(sent=""))
        return True

    def missing(self, claim: ItemClaim, why: str, waits: Callable[[int], timedelta]) -> None:
        """Record that there is no line item, and when to try again; `waits` takes the tries."""
        mine = (item.c.link == claim.link) & (item.c.token == claim.token)
        with self._database.writing() as connection:
            row = connection.execute(select(item).where(mine).with_for_update()).first()
            if row is not None:
                again = self._clock() + waits(row.tries)
                values = {"tries": row.tries + 1, "next_try": again, "error": storable(why)}
                connection.execute(update(item).where(mine).values(**values, **FREE))

    def forget(self, number: int, address: str) -> None:
        """Look for the line item of a link again: the platform has none at its address."""
        mine = (item.c.link == number) & (item.c.address == storable(address))
        with self._database.writing() as connection:
            connection.execute(update(item).where(mine).values(address="", next_try=None))

    def errors(self) -> Mapping[int, str]:
        """Return why links have no line item, by the number of the link."""
        with self._database.reading() as connection:
            rows = connection.execute(select(item.c.link, item.c.error).where(item.c.error != ""))
            return {row.link: row.error for row in rows}
