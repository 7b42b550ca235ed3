"""Deadlines and penalties for lateness, correct when the clocks change.

A day is a calendar day in the course's time zone: a day after Saturday 23:59 is Sunday 23:59, 23,
24 or 25 hours later. Hours, minutes and seconds are elapsed time. When a local time names two
moments (the clocks go back) or none (they go forward), the later one counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar, get_args

from grader import dataclass, regex, replace
from grader.grading.record import HiddenFeedback

Counts = Literal["best", "last", "chosen"]

_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAYS = {"day": 1, "week": 7}
_PART = regex(r"(\d{1,6}) *(second|minute|hour|day|week)s?(?: +|$)", re.ASCII)


@dataclass(frozen=True)
class Span:
    """A length of time: calendar days, then seconds of elapsed time."""

    days: int = 0
    seconds: int = 0

    def after(self, moment: datetime) -> datetime:
        """Return the moment that much later, in UTC; days count in the zone of `moment`."""
        local = moment.replace(tzinfo=None) + timedelta(days=self.days)
        return later_moment(local, moment) + timedelta(seconds=self.seconds)


def read_span(text: str) -> Span:
    """Parse `15 minutes`, `1 day 12 hours` or `1 week`. Raises ValueError."""
    days = seconds = at = 0
    while match := _PART.match(text, at):
        number, unit = int(match[1]), match[2]
        days += number * _DAYS.get(unit, 0)
        seconds += number * _SECONDS.get(unit, 0)
        at = match.end()
    if at == 0 or at < len(text):
        raise ValueError(f"write a length of time such as `15 minutes` or `2 days`, not `{text}`")
    return Span(days, seconds)


def later_moment(local: datetime, like: datetime) -> datetime:
    """Return the moment in UTC that a clock in the zone of `like` shows as `local`."""
    both = (local.replace(tzinfo=like.tzinfo, fold=fold) for fold in (0, 1))
    return max(moment.astimezone(UTC) for moment in both)


@dataclass(frozen=True)
class Grace:
    """A grace period: no penalty within it; after it, lateness counts from the deadline."""

    length: Span
    text: str


@dataclass(frozen=True)
class Penalty:
    """A penalty for each hour or day begun: a share of the earned points, from 0 to 1.

    `at_most` limits the sum.
    """

    share: float
    per: Literal["hour", "day"]
    at_most: float = 1.0


Rule = Grace | Penalty


@dataclass(frozen=True)
class FeedbackPolicy:
    """What students read about hidden cases: `hidden`, and everything from `full_from` on."""

    hidden: HiddenFeedback = "score"
    full_from: datetime | None = None

    def at(self, moment: datetime) -> HiddenFeedback:
        """Return what students read at a moment."""
        if self.full_from is not None and moment >= self.full_from:
            return "full"
        return self.hidden

    def to_json(self) -> dict[str, str]:
        """Return the policy as plain values, for a file that is read elsewhere."""
        until = {"full_from": self.full_from.isoformat()} if self.full_from else {}
        return {"hidden": self.hidden, **until}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FeedbackPolicy:
        """Read what `to_json` returned. Raises ValueError."""
        hidden = value.get("hidden", "score")
        if hidden not in get_args(HiddenFeedback):
            raise ValueError(f"hidden feedback `{hidden}`")
        moment = value.get("full_from")
        return cls(hidden, datetime.fromisoformat(moment) if moment else None)


@dataclass(frozen=True)
class Release:
    """When students may see grades: from `moment` on; `held`: not before staff release them."""

    moment: datetime | None = None
    held: bool = False

    def holds(self, now: datetime) -> bool:
        """Whether students may not see grades yet."""
        return self.held or (self.moment is not None and now < self.moment)


def release_text(rule: Release | None) -> str:
    """Return how the audit names a rule; None is what course.yaml says."""
    if rule is None:
        return "as course.yaml says"
    return "held" if rule.held or rule.moment is None else f"from {rule.moment.isoformat()}"


@dataclass(frozen=True)
class LabPolicy:
    """A lab's deadline and how its submissions count.

    Attributes:
        due: The deadline in the course's time zone; None for no deadline.
        opens: The portal shows and takes nothing of the lab before; None for always.
        late: The rules, in any order; without one, lateness has no penalty.
        cut_off: The moment in UTC after which submissions do not count.
        attempts: How many submissions count, the first ones; None for all.
        counts: Which submission counts: the best, the last, or the one that the student chose, the
            last without a choice.
        points: The points of full marks in the course; None for the lab's own.
        feedback: What students read about hidden cases.
        release: When students may see grades.
        leaderboard: Whether students may take part in a leaderboard.
    """

    due: datetime | None = None
    late: tuple[Rule, ...] = ()
    cut_off: datetime | None = None
    attempts: int | None = None
    counts: Counts = "last"
    points: float | None = None
    feedback: FeedbackPolicy = FeedbackPolicy()
    release: Release = Release()
    leaderboard: bool = False
    opens: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Whether students may see the lab and submit."""
        return self.opens is None or now >= self.opens

    def extended(self, due: datetime | None) -> LabPolicy:
        """Return the policy of a student whose deadline is `due`, when that is later.

        The cut-off moves with the deadline, and so does when the student reads everything about the
        hidden cases. None, or a lab without a deadline, changes nothing.
        """
        if due is None or self.due is None or due <= self.due:
            return self
        more = due - self.due
        cut_off = None if self.cut_off is None else self.cut_off + more
        told = self.feedback.full_from
        feedback = replace(self.feedback, full_from=None if told is None else told + more)
        due = due.astimezone(self.due.tzinfo)
        return replace(self, due=due, cut_off=cut_off, feedback=feedback)


T = TypeVar("T")


def within_attempts(
    submitted: Sequence[T], attempts: int | None, stopped: Callable[[T], bool]
) -> list[T]:
    """Return the submissions that may count, of all of a student's, oldest first.

    One that errors of our machines have stopped uses up no attempt, and may count as well when it
    has been graded after all.
    """
    found: list[T] = []
    left = len(submitted) if attempts is None else attempts
    for one in submitted:
        if not left:
            break
        left -= not stopped(one)
        found.append(one)
    return found


@dataclass(frozen=True)
class Lateness:
    """The share of the earned points that is kept, from 0 to 1, and why.

    `note` is empty for a submission in time. A submission after the cut-off is not `accepted`.
    """

    share_kept: float
    note: str = ""
    accepted: bool = True


def lateness(policy: LabPolicy, received: datetime) -> Lateness:
    """Return the lateness of a submission; fractions of a second are dropped."""
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
    """Count the hours or days begun since the deadline; exactly one hour or day counts as one."""
    if rule.per == "hour":
        return -(-int((at - due.astimezone(UTC)).total_seconds()) // 3600)
    days = max((at.astimezone(due.tzinfo).date() - due.date()).days - 1, 1)
    while at > Span(days=days).after(due):
        days += 1
    return days


def format_duration(length: timedelta) -> str:
    """Return a length of time in its two largest units: `1 d 2 h`, `4 min 10 s`."""
    rest = int(length.total_seconds())
    parts: list[tuple[int, str]] = []
    for unit, seconds in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, seconds)
        if number or parts:
            parts.append((number, unit))
    return " ".join(f"{number} {unit}" for number, unit in parts[:2] if number) or "0 s"
