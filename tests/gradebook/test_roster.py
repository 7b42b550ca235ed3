"""Rosters as Canvas, Moodle and Gradescope export them, and as hostile students would."""

from __future__ import annotations

import csv
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.faults import LabFault
from grader.gradebook.ledger import Student, read_roster

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,tiled-matmul (991)
    Points Possible,,,,,10
"Lovelace, Ada",4711,s100,ada@x.edu,CS 1,
"Noether, Emmy",4712,s101,emmy@x.edu,CS 1,
"Student, Test",4713,,9f8e7d6c,CS 1,
"""
MOODLE = """\
First name,Last name,ID number,Email address,Groups
Ada,Lovelace,100,ada@x.edu,A
"""
GRADESCOPE = """\
First Name,Last Name,SID,Email,Role,Sections
Grace,Hopper,,grace@x.edu,Instructor,
Alan,Turing,,alan@x.edu,TA,
Ada,Lovelace,100,ada@x.edu,Student,
"""
SEMICOLONS = "Name;Email\nAda Lovelace;ada@x.edu\n"
LOGINS = "login\tname\nada\tAda Lovelace\n"

HOSTILE = [
    "Ünïcödé Ω 李四 \U0001f980",
    'Quote " and, comma',
    "Line\nbreak",
    "=cmd|'/c calc'!A1",
    "+1", "-1", "@SUM(A1)",
    "\u202egnol\u202c", "\x1b[31mred\x1b[0m",
    "<script>alert(1)</script>", "Robert'); DROP TABLE student;--",
    "x" * 10_000,
]  # fmt: skip


def read(tmp_path: Path, text: str | bytes) -> tuple[Student, ...]:
    path = tmp_path / "roster.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_roster(path)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (CANVAS, Student("4711", "Lovelace, Ada", "", "s100", "ada@x.edu", "CS 1")),
        (MOODLE, Student("100", "Ada Lovelace", "ada@x.edu", section="A")),
        (GRADESCOPE, Student("100", "Ada Lovelace", "ada@x.edu")),
        (SEMICOLONS, Student("ada@x.edu", "Ada Lovelace", "ada@x.edu")),
        (LOGINS, Student("ada", "Ada Lovelace", login="ada")),
        ("\ufeff" + LOGINS, Student("ada", "Ada Lovelace", login="ada")),
        (LOGINS.replace("\n", "\r\n"), Student("ada", "Ada Lovelace", login="ada")),
        ("ID,Student_ID\n1,2\n", Student("1")),
        ("id,email\n,e@x\n", Student("e@x", email="e@x")),
        ("\n\nid\n\n 7 \n", Student("7")),
    ],
)
def test_columns(tmp_path: Path, text: str, first: Student) -> None:
    assert read(tmp_path, text)[0] == first


def test_rows_that_are_no_students_are_left_out(tmp_path: Path) -> None:
    assert [student.id for student in read(tmp_path, CANVAS)] == ["4711", "4712"]
    assert [student.id for student in read(tmp_path, GRADESCOPE)] == ["100"]


def test_hostile_names_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["id", "name"], *enumerate(HOSTILE)])
    assert [student.name for student in read_roster(path)] == HOSTILE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "roster.csv: the roster is empty"),
        ("\n \n", "roster.csv: the roster is empty"),
        ("Name\nAda\n", "one of these columns: ID, Student ID, SID, ID number, .*Email address"),
        ("Name,Section\nAda,1\n", "roster.csv:1: no column identifies the students"),
        ("id\n1\n2\n1\n", "roster.csv:4: the student `1` is listed twice"),
        ('id,name\n1,"a\nb"\n1,c\n', "roster.csv:4: the student `1` is listed twice"),
        ("id,name\n1,Ada\n,Emmy\n", "roster.csv:3: this line identifies no student"),
        ('id,name\n1,"Ada" L\n', "roster.csv:2: not CSV"),
        ('id,name\n1,"Ada\n', "roster.csv:2: not CSV"),
        (b"id,name\n1,\xff\n", "roster.csv:2: not UTF-8 text: byte 3 of the line is 0xff"),
        (b"\xff", "roster.csv:1: not UTF-8 text: byte 1 of the line is 0xff"),
        ("id,name\n1,a\0b\n", "NUL"),
        (b"\xff\xfe" + "id\n1\n".encode("utf-16-le"), "not UTF-8"),
        (b"id\n" + b"1" * (17 << 20), "larger than 16 MiB"),
    ],
)
def test_mistakes_are_reported_with_their_line(
    tmp_path: Path, text: str | bytes, shown: str
) -> None:
    with pytest.raises(LabFault, match=shown.replace("roster.csv", r"roster\.csv")):
        read(tmp_path, text)


def test_no_such_file_a_folder_and_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, shown in (("missing", "Create the file"), ("folder", "folder"), ("pipe", "pipe")):
        with pytest.raises(LabFault, match=name) as raised:
            read_roster(tmp_path / name)
        assert shown in str(raised.value)


CELL = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@given(st.lists(st.tuples(CELL, CELL), max_size=6), st.sampled_from(",;\t"))
def test_every_written_roster_is_read(names: list[tuple[str, str]], delimiter: str) -> None:
    """Any text in a cell comes back, but for the white space around it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "roster.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            written = csv.writer(stream, delimiter=delimiter)
            written.writerows([["id", "name", "section"], *((i, *n) for i, n in enumerate(names))])
        read = read_roster(path)
    kept = [(s.id, s.name, s.section) for s in read]
    expected = [(str(i), name.strip(), part.strip()) for i, (name, part) in enumerate(names)]
    assert kept == [row for row in expected if row[1].lower() not in NOT_STUDENTS]


NOT_STUDENTS = ("points possible", "manual posting", "student, test")
