"""What counts for a student: which submission, in whose points, late, overridden or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from grader.faults import LabFault
from grader.gradebook.book import MAX_FAULTS, Entry, Gradebook, StoredSubmission, open_gradebook
from grader.gradebook.course import Course
from grader.gradebook.entries import MARKED_LATE, entry_table
from grader.gradebook.ledger import Student
from grader.gradebook.policy import LabPolicy, Penalty
from tests.gradebook.made import NOON, a_grade

LAB = "tiled"
DAY = Penalty(0.25, "day")
LATE = LabPolicy(due=NOON, late=(DAY,))
CUT = replace(LATE, cut_off=NOON + timedelta(days=2))


@dataclass(frozen=True)
class Sent:
    """A submission `days` after noon: its score, None while it is not graded; or a fault."""

    days: float
    score: float | None = None
    fault: bool = False
    faults: int = 1


STOPPED = Sent(0, fault=True, faults=MAX_FAULTS)
AFTER_ALL = Sent(0, 9, fault=True, faults=MAX_FAULTS)
"""Stopped by errors of the machine, and graded when staff have mended it."""


def send(book: Gradebook, student: str, *sent: Sent) -> None:
    for one in sent:
        received = NOON + timedelta(days=one.days)
        data = f"{student} {one}".encode()
        stored = book.submit(LAB, student, f"{one.days}.cu", data, received=received)
        if one.score is None and not one.fault:
            continue
        for _ in range(one.faults if one.fault else 0):
            claim = book.claim(stored.id, "key", "worker", 60)
            assert claim
            book.fault(claim, "no GPU")
        if one.score is not None:
            if one.fault:
                book.forgive(LAB, "staff", students=[student])
            claim = book.claim(stored.id, "key", "worker", 60)
            assert claim
            assert book.accept(claim, a_grade(one.score))


def a_course(policy: LabPolicy, *students: Student) -> Course:
    return Course("c", "UTC", students, {LAB: policy}, b"", Path())


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Gradebook]:
    book = open_gradebook(str(tmp_path / "course.db"))
    yield book
    book.close()


BEST = {"counts": "best"}


@pytest.mark.parametrize(
    ("policy", "sent", "shown"),
    [
        # The last one counts, whatever came before it.
        (LabPolicy(), [Sent(0, 9), Sent(1, 4)], {"points": 4, "number": 2, "attempts": 2}),
        (LabPolicy(), [Sent(1, 9), Sent(0, 4)], {"points": 9, "number": 2}),
        (LabPolicy(), [Sent(0, 9), Sent(1)], {"points": None, "status": "waiting"}),
        (LabPolicy(), [Sent(0, 9), Sent(1, fault=True)], {"status": "incomplete", "faults": 1}),
        # The best: after lateness, the earliest of equals; one without a grade cannot win.
        (LabPolicy(**BEST), [Sent(0, 9), Sent(1, 4)], {"points": 9, "number": 1}),
        (LabPolicy(**BEST), [Sent(0, 9), Sent(1, 9)], {"number": 1}),
        (LabPolicy(**BEST), [Sent(0, 3), Sent(1)], {"points": 3, "status": "graded"}),
        (LabPolicy(**BEST), [Sent(0, fault=True), Sent(1)], {"status": "waiting", "number": 2}),
        (replace(LATE, counts="best"), [Sent(0, 8), Sent(1, 10)], {"points": 8, "number": 1}),
        (replace(LATE, counts="best"), [Sent(0, 7), Sent(1, 10)], {"points": 7.5, "number": 2}),
        # Only the first so many count.
        (LabPolicy(attempts=2), [Sent(0, 1), Sent(1, 2), Sent(2, 10)], {"points": 2, "number": 2}),
        (LabPolicy(attempts=1, **BEST), [Sent(0, 1), Sent(1, 10)], {"points": 1, "attempts": 2}),
        (LabPolicy(attempts=1), [STOPPED, Sent(1, 8)], {"points": 8, "status": "graded"}),
        (LabPolicy(attempts=1), [STOPPED, Sent(1, 8), Sent(2, 10)], {"points": 8, "number": 2}),
        (LabPolicy(attempts=1), [STOPPED], {"status": "incomplete", "points": None}),
        (LabPolicy(attempts=1, **BEST), [AFTER_ALL, Sent(1, 8)], {"points": 9, "number": 1}),
        (LabPolicy(attempts=1), [AFTER_ALL, Sent(1, 8)], {"points": 8, "number": 2}),
        # Late, and after the cut-off: that one is as if it had not come.
        (LATE, [Sent(1, 10)], {"points": 7.5, "share_kept": 0.75, "note": "late by 1 d: -25 %"}),
        (CUT, [Sent(1, 10), Sent(3, 10)], {"points": 7.5, "number": 1}),
        (CUT, [Sent(3, 10)], {"points": 0, "status": "refused", "share_kept": 0}),
        (CUT, [Sent(3)], {"points": 0, "status": "refused"}),
        # In the course's points, full marks are all that was judged.
        (LabPolicy(points=20), [Sent(0, 7.5)], {"points": 15, "max_points": 20}),
        (replace(LATE, points=3), [Sent(1, 10)], {"points": 2.25, "max_points": 3}),
        (LabPolicy(), [Sent(0, 7.5)], {"points": 7.5, "max_points": 10}),
        (LabPolicy(points=20), [], {"points": None, "status": "missing", "max_points": 20}),
    ],
)  # fmt: skip
def test_what_counts(
    sqlite: Gradebook, policy: LabPolicy, sent: list[Sent], shown: dict[str, Any]
) -> None:
    send(sqlite, "ada", *sent)
    (entry,) = sqlite.entries(LAB, course=a_course(policy, Student("ada")))
    assert {name: getattr(entry, name) for name in shown} == shown


def test_without_evaluated_checks_there_are_no_points(sqlite: Gradebook) -> None:
    stored = sqlite.submit(LAB, "ada", "f.cu", b"1", received=NOON)
    claim = sqlite.claim(stored.id, "key", "worker", 60)
    assert claim and sqlite.accept(claim, a_grade(0.0, judged=0.0))
    (entry,) = sqlite.entries(LAB, course=a_course(LabPolicy(points=20)))
    assert (entry.points, entry.max_points) == (0.0, 20)


def test_an_override_counts_as_it_is(book: Gradebook) -> None:
    send(book, "ada", Sent(1, 10))
    course = a_course(LATE)
    book.override(LAB, "ada", 1.0, "emmy", "first")
    book.override(LAB, "ada", 9.5, "emmy", "was ill")
    (entry,) = book.entries(LAB, course=course)
    assert (entry.status, entry.points, entry.share_kept) == ("overridden", 9.5, 0.75)
    assert entry.override and (entry.override.author, entry.override.reason) == ("emmy", "was ill")
    book.override(LAB, "ada", None, "emmy", "was not ill")
    (entry,) = book.entries(LAB, course=course)
    assert (entry.status, entry.points, entry.override) == ("graded", 7.5, None)
    given = [
        (e.before, e.after, e.reason)
        for e in book.audit(LAB, "ada")
        if e.action.startswith("override")
    ]
    assert given == [(None, 1.0, "first"), (1.0, 9.5, "was ill"), (9.5, None, "was not ill")]


def test_an_override_without_a_submission_counts(book: Gradebook) -> None:
    book.enroll([Student("ada")], "me")
    book.override(LAB, "ada", 4.0, "emmy", "on paper")
    (entry,) = book.entries(LAB)
    assert (entry.points, entry.status, entry.submission) == (4.0, "overridden", None)


def test_the_roster_comes_first_and_in_its_order(book: Gradebook) -> None:
    for student in ("zoe", "stranger", "ada"):
        send(book, student, Sent(0, 5))
    course = a_course(LabPolicy(), Student("zoe", "Zoe Z."), Student("gone"), Student("ada"))
    shown = [
        (entry.student, entry.name, entry.status) for entry in book.entries(LAB, course=course)
    ]
    assert shown == [
        ("zoe", "Zoe Z.", "graded"), ("gone", "", "missing"), ("ada", "", "graded"),
        ("stranger", "", "graded"),
    ]  # fmt: skip


def test_a_lab_that_the_course_does_not_have(sqlite: Gradebook) -> None:
    with pytest.raises(LabFault, match="the course has no lab `other`"):
        sqlite.entries("other", course=a_course(LabPolicy()))


def test_a_regrade_counts_when_it_is_adopted(book: Gradebook) -> None:
    send(book, "ada", Sent(0, 5))
    (stored,) = book.submissions(LAB)
    claim = book.claim(stored.id, "newer", "worker", 60, proposal="run")
    assert claim and book.accept(claim, a_grade(10.0))
    (change,) = book.changes("run")
    assert (change.old_score, change.new_score, change.differs) == (5.0, 10.0, True)
    assert (change.old_verdict, change.new_verdict) == ("fail: output", "pass")
    assert points(book) == [5.0]
    assert book.adopt("run", "emmy") == 1
    assert points(book) == [10.0]
    assert (book.adopt("run", "emmy"), book.reject("run", "emmy")) == (0, 0)
    assert book.audit(LAB)[-1].action == "adopt run"


def points(book: Gradebook) -> list[float | None]:
    return [entry.points for entry in book.entries(LAB)]


def test_a_regrade_that_fails_or_is_rejected_changes_nothing(book: Gradebook) -> None:
    send(book, "ada", Sent(0, 5))
    (stored,) = book.submissions(LAB)
    for run in ("one", "two"):
        claim = book.claim(stored.id, "key", "worker", 60, proposal=run)
        assert claim
        if run == "one":
            assert book.fault(claim, {"status": "incomplete", "score": 0}) == 1
        else:
            assert book.accept(claim, a_grade(0.0))
    assert book.changes("one") == ()
    assert book.reject("two", "emmy") == 1
    (entry,) = book.entries(LAB)
    assert (entry.points, entry.status, entry.faults) == (5.0, "graded", 0)


def test_an_incomplete_grade_is_never_accepted(book: Gradebook) -> None:
    stored = book.submit(LAB, "ada", "f.cu", b"1", received=NOON)
    claim = book.claim(stored.id, "key", "worker", 60)
    assert claim
    with pytest.raises(ValueError, match="is a system error"):
        book.accept(claim, a_grade(status="incomplete"))
    assert book.accept(claim, a_grade())


@pytest.mark.parametrize(
    "text",
    ["\0", "a\0b", "\udcff\udc80", "'; DROP TABLE grade;--", "%s{}:x", "\u202eevil", "Ω" * 500],
)
def test_hostile_names_and_bytes(book: Gradebook, text: str) -> None:
    data = bytes(range(256)) * 10
    stored = book.submit(LAB, text, text + ".cu", data, received=NOON, answers=b"\0", source=text)
    assert (stored.data, stored.answers) == (data, b"\0")
    again = book.submit(LAB, text, "other.cu", data, received=NOON, answers=b"\0")
    assert again == stored
    claim = book.claim(stored.id, "key", text, 60)
    assert claim and book.accept(claim, a_grade(checks=[{"name": text, "status": "fail"}]))
    book.override(LAB, text, 1.0, text, text)
    (entry,) = book.entries(LAB)
    assert entry.grade_json and entry.grade_json["checks"][0]["name"] == text
    assert entry.override
    assert "\0" not in entry.student + entry.file + entry.override.reason
    assert [stored.id for stored in book.submissions(LAB, students=[text])] == [entry.submission]
    assert len(book.audit(LAB, entry.student)) == 3


def test_times_keep_their_microsecond_and_come_back_in_utc(book: Gradebook) -> None:
    zone = datetime.fromisoformat("2027-03-28T03:00:00.123456+02:00")
    stored = book.submit(LAB, "ada", "f.cu", b"1", received=zone)
    assert stored.received == zone
    assert stored.received.tzinfo is UTC
    with pytest.raises(ValueError, match="time zone"):
        book.submit(LAB, "ada", "f.cu", b"2", received=datetime(2027, 3, 28))


def test_entries_are_values(sqlite: Gradebook) -> None:
    send(sqlite, "ada", Sent(0, 5))
    (entry,) = sqlite.entries(LAB)
    assert isinstance(entry, Entry)
    assert sqlite.entries(LAB) == (entry,)


@pytest.mark.parametrize("late", [False, True])
def test_an_unknown_time_counts_as_in_time(book: Gradebook, late: bool) -> None:
    stored = book.submit(LAB, "ada", "f.cu", b"1", received=None, late=late)
    claim = book.claim(stored.id, "key", "worker", 60)
    assert claim and book.accept(claim, a_grade(8.0))
    for due in (NOON, datetime(2001, 1, 1, tzinfo=UTC)):
        (entry,) = book.entries(LAB, course=a_course(replace(CUT, due=due, cut_off=due)))
        assert (entry.status, entry.points, entry.received) == ("graded", 8.0, None)
        assert entry.note == (MARKED_LATE if late else "")
    assert "unknown" in entry_table([entry], UTC).plain
    (submitted,) = [event for event in book.audit(LAB) if event.action == "submit"]
    assert submitted.after["received"] == "not told"


def test_a_time_known_later_is_stored(book: Gradebook) -> None:
    def again(received: datetime | None, late: bool) -> StoredSubmission:
        return book.submit(LAB, "ada", "f.cu", b"1", received=received, late=late)

    assert again(None, True).received is None
    assert again(NOON + timedelta(days=1), True).received == NOON + timedelta(days=1)
    assert again(None, True).received == NOON + timedelta(days=1)
    assert again(NOON, False).received == NOON
    (entry,) = book.entries(LAB, course=a_course(LATE))
    assert (entry.received, entry.note, entry.attempts) == (NOON, "", 1)
    assert [event.action for event in book.audit(LAB)] == [
        "submit", "received earlier", "received earlier"
    ]  # fmt: skip


def test_a_late_mark_disappears_with_a_copy_in_time(sqlite: Gradebook) -> None:
    for late, note in ((True, MARKED_LATE), (False, ""), (True, "")):
        sqlite.submit(LAB, "ada", "f.cu", b"1", received=None, late=late)
        (entry,) = sqlite.entries(LAB)
        assert entry.note == note
