"""What lateness costs, to the second, across changes of the clocks and leap days."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from grader.gradebook.policy import (
    FeedbackPolicy,
    Grace,
    LabPolicy,
    Penalty,
    Rule,
    Span,
    format_duration,
    lateness,
    later_moment,
    read_span,
    within_attempts,
)

BERLIN = ZoneInfo("Europe/Berlin")
"""Forward at 2027-03-28 02:00 +01:00, back at 2027-10-31 03:00 +02:00."""

DAY = Penalty(0.10, "day")
HOUR = Penalty(0.05, "hour")
GRACE = Grace(Span(seconds=900), "15 minutes")


def berlin(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


def policy(due: str, *late: Rule, **more: datetime) -> LabPolicy:
    return LabPolicy(due=berlin(due), late=late, **more)


PLAIN = policy("2027-05-10 23:59:00", DAY)
SPRING = policy("2027-03-27 23:59:00", DAY)
AUTUMN = policy("2027-10-30 23:59:00", DAY)
LEAP = policy("2028-02-28 23:59:00", DAY)
NOT_LEAP = policy("2027-02-28 23:59:00", DAY)
NEW_YEAR = policy("2027-12-31 23:59:00", DAY)
HOURLY = policy("2027-05-10 23:59:00", HOUR)
SPRING_HOURLY = policy("2027-03-28 01:30:00", HOUR)
AUTUMN_HOURLY = policy("2027-10-31 01:30:00", HOUR)


TABLE: list[tuple[LabPolicy, str, float]] = [
    # Second boundaries; parts of a second are dropped.
    (PLAIN, "2027-05-10T21:58:59+00:00", 1.0),
    (PLAIN, "2027-05-10T21:59:00+00:00", 1.0),
    (PLAIN, "2027-05-10T21:59:00.999999+00:00", 1.0),
    (PLAIN, "2027-05-10T21:59:01+00:00", 0.9),
    (PLAIN, "2027-05-11T21:59:00+00:00", 0.9),
    (PLAIN, "2027-05-11T21:59:01+00:00", 0.8),
    # The same moment, said in other zones.
    (PLAIN, "2027-05-11T06:59:00+09:00", 1.0),
    (PLAIN, "2027-05-10T14:59:01-07:00", 0.9),
    # Ten days cost everything, and no more than that.
    (PLAIN, "2027-05-20T21:59:00+00:00", 0.0),
    (PLAIN, "2027-06-20T21:59:00+00:00", 0.0),
    # Clocks go forward: the first day late has 23 hours.
    (SPRING, "2027-03-27T22:59:00+00:00", 1.0),
    (SPRING, "2027-03-28T21:59:00+00:00", 0.9),
    (SPRING, "2027-03-28T21:59:01+00:00", 0.8),
    (SPRING, "2027-03-29T21:59:00+00:00", 0.8),
    # Clocks go back: the first day late has 25 hours.
    (AUTUMN, "2027-10-30T21:59:00+00:00", 1.0),
    (AUTUMN, "2027-10-31T21:59:01+00:00", 0.9),
    (AUTUMN, "2027-10-31T22:59:00+00:00", 0.9),
    (AUTUMN, "2027-10-31T22:59:01+00:00", 0.8),
    # Leap day, the same days of another year, and the turn of the year.
    (LEAP, "2028-02-29T22:59:00+00:00", 0.9),
    (LEAP, "2028-03-01T22:59:00+00:00", 0.8),
    (NOT_LEAP, "2027-03-01T22:59:00+00:00", 0.9),
    (NEW_YEAR, "2028-01-01T22:59:00+00:00", 0.9),
    (NEW_YEAR, "2028-01-01T22:59:01+00:00", 0.8),
    # Hours are elapsed time, whatever the clocks on the wall say.
    (HOURLY, "2027-05-10T21:59:01+00:00", 0.95),
    (HOURLY, "2027-05-10T22:59:00+00:00", 0.95),
    (HOURLY, "2027-05-10T22:59:01+00:00", 0.90),
    (SPRING_HOURLY, "2027-03-28T03:30:00+02:00", 0.95),
    (SPRING_HOURLY, "2027-03-28T03:30:01+02:00", 0.90),
    (AUTUMN_HOURLY, "2027-10-31T02:30:00+02:00", 0.95),
    (AUTUMN_HOURLY, "2027-10-31T02:30:00+01:00", 0.90),
    # Grace forgives up to its end; after it, lateness counts from the deadline.
    (policy("2027-05-10 23:59", GRACE, DAY), "2027-05-10T22:14:00+00:00", 1.0),
    (policy("2027-05-10 23:59", GRACE, DAY), "2027-05-10T22:14:01+00:00", 0.9),
    (policy("2027-05-10 23:59", DAY, GRACE), "2027-05-10T22:14:00+00:00", 1.0),
    (policy("2027-05-10 23:59", GRACE, HOUR), "2027-05-10T22:59:01+00:00", 0.9),
    # A penalty with an end, no rule, no deadline.
    (policy("2027-05-10 23:59", Penalty(0.3, "day", 0.5)), "2027-05-12T21:59:00+00:00", 0.5),
    (policy("2027-05-10 23:59"), "2027-06-10T21:59:00+00:00", 1.0),
    (LabPolicy(), "2099-01-01T00:00:00+00:00", 1.0),
]


@pytest.mark.parametrize(("rules", "received", "kept"), TABLE)
def test_share_kept(rules: LabPolicy, received: str, kept: float) -> None:
    assert lateness(rules, datetime.fromisoformat(received)).share_kept == kept


def days_of_24_hours(rule: Penalty, due: datetime, at: datetime) -> int:
    """A wrong twin: every day is as long as the next."""
    length = 3600 if rule.per == "hour" else 86400
    return math.ceil((at - due.astimezone(UTC)).total_seconds() / length)


def days_on_the_wall(rule: Penalty, due: datetime, at: datetime) -> int:
    """A wrong twin: hours too are those of the clock on the wall."""
    late = at.astimezone(due.tzinfo).replace(tzinfo=None) - due.replace(tzinfo=None)
    return math.ceil(late / timedelta(**{f"{rule.per}s": 1}))


@pytest.mark.parametrize("twin", [days_of_24_hours, days_on_the_wall])
def test_wrong_day_arithmetic_fails_the_table(
    twin: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.gradebook.policy._periods_begun", twin)
    wrong = [
        received
        for rules, received, kept in TABLE
        if lateness(rules, datetime.fromisoformat(received)).share_kept != kept
    ]
    assert wrong
    assert all("-03-28T" in received or "-10-31T" in received for received in wrong), wrong


@pytest.mark.parametrize(
    ("received", "kept", "accepted", "note"),
    [
        ("2027-05-10T21:59:00+00:00", 1.0, True, ""),
        ("2027-05-10T21:59:40+00:00", 0.9, True, "late by 40 s: -10 %"),
        ("2027-05-12T23:00:00+00:00", 0.7, True, "late by 2 d 1 h: -30 %"),
        ("2027-05-13T21:59:00+00:00", 0.7, True, "late by 3 d: -30 %"),
        ("2027-05-13T21:59:01+00:00", 0.0, False, "late by 3 d, after the cut-off"),
    ],
)
def test_the_note_says_what_happened(received: str, kept: float, accepted: bool, note: str) -> None:
    rules = policy("2027-05-10 23:59", DAY, cut_off=berlin("2027-05-13 23:59").astimezone(UTC))
    got = lateness(rules, datetime.fromisoformat(received))
    assert (got.share_kept, got.accepted, got.note) == (kept, accepted, note)


def test_grace_is_named() -> None:
    got = lateness(policy("2027-05-10 23:59", GRACE), berlin("2027-05-11 00:10"))
    assert got.note == "late by 11 min, within the grace of 15 minutes"


@pytest.mark.parametrize(
    ("span", "start", "end"),
    [
        (Span(days=1), "2027-03-27T02:30:00+01:00", "2027-03-28T03:30:00+02:00"),
        (Span(days=1), "2027-10-30T02:30:00+02:00", "2027-10-31T02:30:00+01:00"),
        (Span(days=1, seconds=3600), "2027-03-27T12:00:00+01:00", "2027-03-28T13:00:00+02:00"),
        (Span(seconds=86400), "2027-03-27T12:00:00+01:00", "2027-03-28T13:00:00+02:00"),
        (Span(days=366), "2027-02-28T12:00:00+01:00", "2028-02-29T12:00:00+01:00"),
    ],
)
def test_a_span_later(span: Span, start: str, end: str) -> None:
    moment = datetime.fromisoformat(start).astimezone(BERLIN)
    assert span.after(moment) == datetime.fromisoformat(end)


def test_a_time_that_comes_twice_is_the_later_one() -> None:
    twice = datetime(2027, 10, 31, 2, 30)
    assert later_moment(twice, berlin("2027-01-01")) == datetime(2027, 10, 31, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("15 minutes", Span(seconds=900)),
        ("1 minute", Span(seconds=60)),
        ("2 days", Span(days=2)),
        ("1 day 12 hours", Span(days=1, seconds=43200)),
        ("1 week", Span(days=7)),
        ("0 seconds", Span()),
    ],
)
def test_spans_are_read(text: str, span: Span) -> None:
    assert read_span(text) == span


@pytest.mark.parametrize(
    "text", ["", "15", "minutes", "15 parsecs", "-1 days", "1.5 hours", "1 day,", "1 day and more"]
)
def test_no_span(text: str) -> None:
    with pytest.raises(ValueError, match="a length of time such as"):
        read_span(text)


def test_lateness_never_rises_with_time() -> None:
    """Over every hour of the weeks around both changes of the clocks."""
    for rules in (SPRING, AUTUMN, policy("2027-10-29 02:30", GRACE, HOUR)):
        assert rules.due is not None
        start = rules.due.astimezone(UTC) - timedelta(hours=3)
        kept = [lateness(rules, start + timedelta(hours=n)).share_kept for n in range(200)]
        assert kept == sorted(kept, reverse=True)


@pytest.mark.parametrize(
    ("seconds", "expected_text"),
    [(0, "0 s"), (1, "1 s"), (61, "1 min 1 s"), (3600, "1 h"), (90061, "1 d 1 h")],
)
def test_durations_are_formatted(seconds: int, expected_text: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == expected_text


@pytest.mark.parametrize(
    ("submitted", "attempts", "may_count"),
    [
        ("abc", None, "abc"), ("abc", 2, "ab"), ("", 1, ""),
        ("Xab", 1, "Xa"), ("aXb", 1, "a"), ("aXb", 2, "aXb"), ("XYZ", 1, "XYZ"), ("XYab", 1, "XYa"),
    ],
)  # fmt: skip
def test_what_our_machines_stopped_uses_up_no_attempt(
    submitted: str, attempts: int | None, may_count: str
) -> None:
    """Capitals were stopped; each may count too, when it is graded after all."""
    assert "".join(within_attempts(submitted, attempts, str.isupper)) == may_count


def test_an_extension_moves_when_hidden_cases_are_told() -> None:
    due, told = datetime(2027, 3, 1, tzinfo=UTC), datetime(2027, 3, 8, tzinfo=UTC)
    policy = LabPolicy(due=due, feedback=FeedbackPolicy("score", told))
    longer = policy.extended(due + timedelta(days=3))
    assert longer.feedback == FeedbackPolicy("score", told + timedelta(days=3))
    assert policy.extended(None).feedback == policy.feedback
    assert LabPolicy(due=due).extended(due + timedelta(days=3)).feedback.full_from is None
