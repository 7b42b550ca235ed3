"""course.yaml: what it says is what the course does, and every mistake is told with its line."""

from __future__ import annotations

import hashlib
import hmac
import os
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.faults import LabFault
from grader.gradebook.course import Course, make_secret, read_course, read_secret
from grader.gradebook.policy import Grace, Penalty, Span

SECRET = b"0123456789abcdef" * 4
ROSTER = "id,name,email,login\n1,Ada Lovelace,ada@x.edu,ada\n2,Emmy Noether,emmy@x.edu,emmy\n"
FULL = """\
name: CUDA, spring 2027
timezone: Europe/Berlin
roster: roster.csv
late:
  - grace: 15 minutes
  - penalty: 10%
    per: day
    at_most: 50 %
  - cut_off: 3 days
counts: best
labs:
  tiled-matmul:
    due: 2027-03-27 23:59
    attempts: 5
    points: 10
  vector-add:
    due: 2027-03-01 12:00:00
    late: none
    counts: last
  histogram: {}
  occupancy:
    due: 2027-04-01 23:59:00+02:00
    late:
      - cut_off: 2027-04-02 23:59
"""


def course(folder: Path, text: str = FULL, *, secret: bytes = SECRET) -> Course:
    (folder / "course.yaml").write_text(text)
    (folder / "roster.csv").write_text(ROSTER)
    (folder / "course.secret").write_bytes(secret)
    (folder / "course.secret").chmod(0o600)
    return read_course(folder)


def test_every_key_is_read(tmp_path: Path) -> None:
    made = course(tmp_path)
    assert (made.name, made.timezone, len(made.students)) == (
        "CUDA, spring 2027", "Europe/Berlin", 2,
    )  # fmt: skip
    tiled = made.policy("tiled-matmul")
    assert tiled.due == datetime(2027, 3, 27, 22, 59, tzinfo=UTC)
    assert tiled.late == (Grace(Span(seconds=900), "15 minutes"), Penalty(0.1, "day", 0.5))
    # Three days of the calendar, of which one has 23 hours.
    assert tiled.cut_off == datetime(2027, 3, 30, 21, 59, tzinfo=UTC)
    assert (tiled.attempts, tiled.counts, tiled.points) == (5, "best", 10)
    vector = made.policy("vector-add")
    assert (vector.late, vector.cut_off, vector.counts) == ((), None, "last")
    assert vector.due == datetime(2027, 3, 1, 11, tzinfo=UTC)
    assert made.policy("histogram").due is made.policy("histogram").cut_off is None
    assert made.policy("occupancy").due == datetime(2027, 4, 1, 21, 59, tzinfo=UTC)
    assert made.policy("occupancy").cut_off == datetime(2027, 4, 2, 21, 59, tzinfo=UTC)


def test_the_name_of_a_group_is_that_of_the_gradebook(tmp_path: Path) -> None:
    made = course(tmp_path, LAB + '    groups: {"  A \t B ": [ada, ben]}\n')
    assert made.groups == {("tiled", "ada"): "A B", ("tiled", "ben"): "A B"}


def test_seeds_come_from_the_secret_and_the_lab(tmp_path: Path) -> None:
    made = course(tmp_path, secret=SECRET + b"\n")
    assert made.seed("tiled-matmul") == hmac.digest(SECRET, b"tiled-matmul", hashlib.sha256)
    assert made.seed("tiled-matmul") != made.seed("vector-add")
    assert SECRET.decode() not in repr(made)


@pytest.mark.parametrize(
    ("word", "who"),
    [
        ("1", "1"), ("ada", "1"), ("EMMY@x.edu", "2"), ("Ada Lovelace", "1"), ("Grace", None),
        ("", None),
    ],
)  # fmt: skip
def test_students_are_found_by_every_identifier(tmp_path: Path, word: str, who: str | None) -> None:
    found = course(tmp_path).student(word)
    assert (found.id if found else None) == who


def test_a_name_of_two_students_matches_none(tmp_path: Path) -> None:
    course(tmp_path)
    (tmp_path / "roster.csv").write_text("id,name\n1,Ada\n2,Ada\n3,\n")
    made = read_course(tmp_path)
    assert made.student("Ada") is None
    assert made.student("") is None
    assert made.student("2") is not None
    assert [one.id for one in made.matches("ada")] == ["1", "2"]
    with pytest.raises(LabFault, match=r"matches 2 students: 1 \(Ada\), 2 \(Ada\)"):
        made.student_id("Ada")
    assert (made.student_id("Ada", known=["Ada"]), made.student_id("Bob")) == ("Ada", "Bob")


def test_the_form_of_unicode_does_not_matter(tmp_path: Path) -> None:
    course(tmp_path)
    (tmp_path / "roster.csv").write_text(unicodedata.normalize("NFD", "id,name\nzoë,Zoë Ünal\n"))
    made = read_course(tmp_path)
    assert made.student("zoë") == made.student("Zoë Ünal") == made.students[0]


@pytest.mark.parametrize(
    ("word", "who"),
    [
        ("Zoë O'Brien", "1"), ("O'Brien,  ZOË", "1"), ("Ada Lovelace", None), ("Lovelace", None),
        (", ", None),
    ],
)  # fmt: skip
def test_a_name_is_found_whichever_part_comes_first(
    tmp_path: Path, word: str, who: str | None
) -> None:
    course(tmp_path)
    lines = '1,"O\'Brien, Zoë"', '2,"Lovelace, Ada"', "3,Ada Lovelace", "4,"
    (tmp_path / "roster.csv").write_text("\n".join(["id,name", *lines]))
    found = read_course(tmp_path).student(word)
    assert (found.id if found else None) == who


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "course.db"),
        ("database: grades.db", "grades.db"),
        ("database: postgresql://me@host/grades", "postgresql://me@host/grades"),
    ],
)
def test_where_the_gradebook_is(tmp_path: Path, text: str, place: str) -> None:
    made = course(tmp_path, f"name: c\ntimezone: UTC\n{text}\n")
    assert made.gradebook == (place if "://" in place else str(tmp_path / place))


HEAD = "name: c\ntimezone: Europe/Berlin\n"
LAB = HEAD + "labs:\n  tiled:\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("name: c\n", "the key `timezone` is missing"),
        ("name: c\ntimezone: Mars/Olympus\n", "2: timezone: there is no time zone `Mars/Olympus`"),
        ("name: c\ntimezone: ../../etc/passwd\n", "there is no time zone"),
        (HEAD + "rooster: r.csv\n", "did you mean `roster`"),
        (HEAD + "roster: nowhere.csv\n", "nowhere.csv: cannot read the roster"),
        (LAB + "    due: tomorrow\n", "course.yaml:5: labs.tiled.due: write a date and a time"),
        (LAB + "    due: 2027-03-28\n", "write the time too: `2027-03-28 23:59`"),
        (LAB + "    due: '2027-03-28'\n", "write the time too: `2027-03-28 23:59`"),
        (LAB + "    due: '23:59'\n", "write a date and a time"),
        (LAB + "    late:\n      - grace: 1 day\n", "5: labs.tiled.late: `tiled` has rules for"),
        (LAB + "    due: 2027-02-29 23:59\n", "write a date and a time"),
        (LAB + "    due: 2027-02-29 23:59:00\n", "not valid YAML"),
        (
            LAB + "    due: 2027-03-28 02:30\n",
            "5: labs.tiled.due: 02:30 on 2027-03-28 does not exist",
        ),
        (LAB + "    due: 20270328\n", "write a date and a time"),
        (LAB + "    late:\n      - grace: soon\n", "write a length of time"),
        (LAB + "    late:\n      - penalty: 10\n        per: day\n", "write it as `10%`"),
        (LAB + "    late:\n      - penalty: 110%\n        per: day\n", "write it as `10%`"),
        (LAB + "    late:\n      - penalty: 10%\n", "a penalty needs `per: hour` or `per: day`"),
        (LAB + "    late:\n      - penalty: 10%\n        per: week\n", "'hour' or 'day'"),
        (LAB + "    late:\n      - grace: 1 day\n        cut_off: 2 days\n", "exactly one of"),
        (LAB + "    late: [{grace: 1 day}, {grace: 2 days}]\n", "`grace` is given twice"),
        (LAB + "    late:\n      - grce: 1 day\n", "did you mean `grace`"),
        (LAB + "    late: never\n", "late"),
        (
            LAB + "    due: 2027-03-28 23:59\n    late:\n      - cut_off: 2027-03-01 23:59\n",
            "the cut-off 2027-03-01 23:59 is before the deadline 2027-03-28 23:59",
        ),
        (LAB + "    groups: {' ': [ada]}\n", "groups"),
        (LAB + '    groups: {"a\\u202eb": [ada]}\n', "5: labs.tiled.groups.a"),
        (LAB + "    attempts: 0\n", "greater than or equal to 1"),
        (LAB + "    points: .nan\n", "points"),
        (LAB + "    counts: worst\n", "'last' or 'chosen'"),
        (HEAD + "labs:\n  Tiled Matmul: {}\n", "labs"),
        ("timezone: Mars\nlabs:\n  a: {points: -1}\n", "`UTC`; more mistakes on line 1, 3"),
        ("name: c\nlabs:\n\ta: {}\n", "3:1: not valid YAML: a tab where only spaces are allowed"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_with_file_and_line(tmp_path: Path, text: str, shown: str) -> None:
    with pytest.raises(LabFault) as fault:
        course(tmp_path, text)
    assert shown in str(fault.value)


def test_a_lab_that_is_not_in_it(tmp_path: Path) -> None:
    with pytest.raises(LabFault, match="did you mean `tiled-matmul`"):
        course(tmp_path).policy("tiled-matmull")


def test_no_course(tmp_path: Path) -> None:
    with pytest.raises(LabFault, match="course.yaml: cannot read the file"):
        read_course(tmp_path)


def test_a_new_secret_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "course.secret"
    before = os.umask(0)
    try:
        make_secret(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(read_secret(path)) == 64
    with pytest.raises(LabFault, match="the course already has a secret"):
        make_secret(path)


def test_no_two_secrets_are_alike(tmp_path: Path) -> None:
    for name in "ab":
        make_secret(tmp_path / name)
    assert read_secret(tmp_path / "a") != read_secret(tmp_path / "b")


@pytest.mark.parametrize(
    ("mode", "data", "shown"),
    [
        (0o644, SECRET, "other users may read"),
        (0o604, SECRET, "other users may read"),
        (0o660, SECRET, "other users may read"),
        (0o600, b"short\n", "has 5 bytes"),
        (0o600, b" " * 64, "has 0 bytes"),
    ],
)
def test_invalid_secrets_are_rejected(tmp_path: Path, mode: int, data: bytes, shown: str) -> None:
    path = tmp_path / "course.secret"
    path.write_bytes(data)
    path.chmod(mode)
    with pytest.raises(LabFault, match=shown):
        read_secret(path)


def test_a_missing_secret_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(LabFault, match="grader gradebook secret --course"):
        read_secret(tmp_path / "course.secret")
