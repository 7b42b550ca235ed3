"""What is stored of a class before it is graded, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.batch.store import (
    missing_time_notes,
    not_enrolled,
    resubmission_notes,
    store_submissions,
)
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import Course
from grader.gradebook.ledger import Student
from grader.gradebook.policy import LabPolicy
from grader.submissions.gather import find_submissions

LAB = "tiled"
PAST = datetime(2001, 1, 1, tzinfo=UTC)
COURSE = Course("c", "UTC", (), {LAB: LabPolicy(due=PAST, cut_off=PAST)}, b"", Path())
UNTOLD = "time of 2 submissions unknown: counted as in time"
LATE = "marked late without a time, so there is no penalty: 102"
MEND = f"  to deduct points: grader gradebook override {LAB} STUDENT POINTS ..."


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Gradebook]:
    opened = open_gradebook(str(tmp_path / "course.db"))
    yield opened
    opened.close()


def folder(tmp_path: Path, *names: str) -> Path:
    made = tmp_path / "class"
    made.mkdir(exist_ok=True)
    for name in names:
        (made / name).write_text(f"// {name}\n")
    return made


CANVAS = ("adalovelace_101_1_f.cu", "emmynoether_LATE_102_2_f.cu")


@pytest.mark.parametrize(
    ("names", "due", "expected_text"),
    [
        (("ada.cu", "emmy.cu"), PAST, (UNTOLD, MEND)),
        (("ada.cu", "emmy.cu"), None, ()),
        (CANVAS, PAST, (LATE, UNTOLD, MEND)),
        (CANVAS, None, (LATE, MEND)),
    ],
)
def test_an_unknown_time_is_stored_and_reported(
    tmp_path: Path, book: Gradebook, names: tuple[str, ...], due: datetime | None,
    expected_text: tuple[str, ...],
) -> None:  # fmt: skip
    course = replace(COURSE, labs={LAB: LabPolicy(due=due, cut_off=due)})
    handed = store_submissions(LAB, find_submissions(folder(tmp_path, *names), LAB), book, course)
    assert missing_time_notes(handed, LAB, course) == expected_text
    entries = book.entries(LAB, course=course)
    assert [(e.status, e.received) for e in entries] == [("waiting", None)] * 2
    assert [e.student for e in entries if "marked late" in e.note] == ["102"] * (names == CANVAS)


def test_the_same_bytes_are_not_a_new_submission(tmp_path: Path, book: Gradebook) -> None:
    output = []
    for text in ("A", "B", "B", "A"):
        place = folder(tmp_path, "emmy.cu")
        (place / "ada.cu").write_text(text)
        output.append(
            resubmission_notes(
                store_submissions(LAB, find_submissions(place, LAB), book, None), LAB, book
            )
        )
    assert output[:3] == [(), (), ()]
    (shown,) = output[3]
    assert shown.startswith("ada: same as an earlier submission")
    (counted, _) = book.entries(LAB)
    assert (counted.number, counted.attempts) == (2, 2)


def test_students_not_in_the_roster_are_named(book: Gradebook, tmp_path: Path) -> None:
    names = (f"{who}_assignsubmission_file_k.cu" for who in ("Zoë O'Brien_1", "Ivan Ito_2"))
    course = replace(COURSE, students=(Student("77", "O'Brien, Zoë"),))
    handed = store_submissions(LAB, find_submissions(folder(tmp_path, *names), LAB), book, course)
    assert sorted(one.student for one in handed) == ["2", "77"]
    assert not_enrolled(handed, course) == ("2 (Ivan Ito)",)
