"""Deadlines and what lateness costs: pure, and right when the clocks change.

A day is a day of the calendar where the course is taught: a day after Saturday 23:59 is Sunday
23:59, be it 23, 24 or 25 hours later. Hours, minutes and seconds are elapsed time. Where local time
names two moments (the clocks go back) or none (they go forward), the later one is meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

Counts = Literal["best", "last"]

_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAYS = {"day": 1, "week": 7}
_PART = re.compile(r"(\d{1,6}) *(second|minute|hour|day|week)s?(?: +|$)", re.ASCII)


@dataclass(frozen=True)
class Span:
    """A length of time: days of the calendar, then seconds of elapsed time."""

    days: int = 0
    seconds: int = 0

    def after(self, moment: datetime) -> datetime:
        """The moment that much later, in UTC; days are counted in the zone of `moment`."""
        local = moment.replace(tzinfo=None) + timedelta(days=self.days)
        return later_moment(local, moment) + timedelta(seconds=self.seconds)


def read_span(text: str) -> Span:
    """`15 minutes`, `1 day 12 hours`, `1 week`. Raises ValueError."""
    days = seconds = at = 0
    while found := _PART.match(text, at):
        number, unit = int(found[1]), found[2]
        days += number * _DAYS.get(unit, 0)
        seconds += number * _SECONDS.get(unit, 0)
        at = found.end()
    if at == 0 or at < len(text):
        raise ValueError(f"write a length of time such as `15 minutes` or `2 days`, not `{text}`")
    return Span(days, seconds)


def later_moment(local: datetime, like: datetime) -> datetime:
    """The moment that a wall clock in the zone of `like` shows as `local`, in UTC."""
    both = (local.replace(tzinfo=like.tzinfo, fold=fold) for fold in (0, 1))
    return max(moment.astimezone(UTC) for moment in both)


@dataclass(frozen=True)
class Grace:
    """Up to that long after the deadline nothing is lost; later, lateness counts from the
    deadline.
    """

    length: Span
    text: str


@dataclass(frozen=True)
class Penalty:
    """`share` of the earned points, from 0 to 1, is lost for each hour or day that has begun, and
    never more than `at_most` in all.
    """

    share: float
    per: Literal["hour", "day"]
    at_most: float = 1.0


Rule = Grace | Penalty


@dataclass(frozen=True)
class LabPolicy:
    """When a lab is due and how its submissions count.

    `due` is in the course's time zone; None: never. After `cut_off`, in UTC, nothing counts.
    `late` are rules, in any order; without one, lateness costs nothing. Only the first
    `attempts` submissions count; None: all. `points` is what full marks are worth in the course;
    None: the lab's own.
    """

    due: datetime | None = None
    late: tuple[Rule, ...] = ()
    cut_off: datetime | None = None
    attempts: int | None = None
    counts: Counts = "last"
    points: float | None = None


@dataclass(frozen=True)
class Lateness:
    """The share of the earned points that is kept, from 0 to 1, and why; `note` is empty for a
    submission in time. One after the cut-off is not `accepted`.
    """

    share_kept: float
    note: str = ""
    accepted: bool = True


def lateness(policy: LabPolicy, received: datetime) -> Lateness:
    """What being received then costs. Parts of a second are dropped: 23:59:00.9 is 23:59:00."""
    at = received.astimezone(UTC).replace(microsecond=0)
    if policy.due is None:
        return Lateness(1.0)
    late = at - policy.due.astimezone(UTC)
    if late <= timedelta(0):
        return Lateness(1.0)
    by = f"late by {format_duration(late)}"
    if policy.cut_off is not None and at > policy.cut_off:
        return Lateness(0.0, f"{by}, after the cut-off", accepted=False)
    kept, why = 1.0, ""
    for rule in policy.late:
        if isinstance(rule, Penalty):
            units = _periods_begun(rule, policy.due, at)
            kept = 1 - min(units * rule.share, rule.at_most)
            why = f": -{100 * (1 - kept):.4g} %"
        elif at <= rule.length.after(policy.due):
            return Lateness(1.0, f"{by}, within the grace of {rule.text}")
    return Lateness(max(round(kept, 9), 0.0), by + why)


def _periods_begun(rule: Penalty, due: datetime, at: datetime) -> int:
    """How many hours or days have begun between the two; one that has just ended is counted
    alone.
    """
    if rule.per == "hour":
        return -(-int((at - due.astimezone(UTC)).total_seconds()) // 3600)
    days = max((at.astimezone(due.tzinfo).date() - due.date()).days - 1, 1)
    while at > Span(days=days).after(due):
        days += 1
    return days


def format_duration(length: timedelta) -> str:
    """A length of time in its two largest units: `1 d 2 h`, `4 min 10 s`."""
    rest = int(length.total_seconds())
    parts: list[tuple[int, str]] = []
    for unit, seconds in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, seconds)
        if number or parts:
            parts.append((number, unit))
    return " ".join(f"{number} {unit}" for number, unit in parts[:2] if number) or "0 s"
