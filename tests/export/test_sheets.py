"""Canvas, Moodle and the plain table: read back by csv, held against what the importers do."""

from __future__ import annotations

import csv
import html
import io
import re
from dataclasses import replace
from typing import Any

import pytest

from grader.export.fields import csv_text, spreadsheet_safe
from grader.export.formats import ExportRow, Options
from grader.gradebook.ledger import Student
from tests.export.rows import FAILED, HOSTILE, PASSED, a_row, graded, hostile_rows, made

FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_no_cell_is_a_formula(name: str) -> None:
    cell = spreadsheet_safe(name)
    assert not FORMULA.match(cell) and cell.isprintable() or "\u200d" in cell
    assert cells(csv_text([[cell, "x"]])) == [[cell, "x"]]


def test_the_pattern_matches_formulas() -> None:
    assert all(FORMULA.match(name) for name in HOSTILE[:7])


@pytest.mark.parametrize(
    "name", ["Ada Lovelace", "Jean-Luc", "O'Brien", "محمد‌رضا", "陳大文", "a=b"]
)
def test_honest_names_stay(name: str) -> None:
    assert spreadsheet_safe(name) == name


# -- Canvas ----------------------------------------------------------------------------------------


def canvas(*rows: ExportRow, column: str = "Tiled (4711)") -> list[list[str]]:
    return cells(made("canvas", *rows, options=Options(column=column))[0])


def students(table: list[list[str]]) -> list[list[str]]:
    """The rows that Canvas' importer takes for students: those without Points Possible in them."""
    return [row for row in table[1:] if "Points Possible" not in row[0]]


def test_canvas_head_and_points() -> None:
    table = canvas(a_row(graded(), sis_id="S1", login="ada", section="A"))
    assert table == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Tiled (4711)"],
        ["    Points Possible", "", "", "", "", "85.00"],
        ["Ada", "", "S1", "ada", "A", "70.00"],
    ]


def test_canvas_reads_every_hostile_student() -> None:
    rows = hostile_rows()
    table = canvas(*rows)
    assert [row[2] for row in students(table)] == [row.student.sis_id for row in rows]
    assert {len(row) for row in table} == {6}
    assert not any(FORMULA.match(cell) for row in table[2:] for cell in row)


def test_a_student_called_points_possible_sets_no_maximum() -> None:
    table = canvas(a_row(graded(), name="Points Possible", sis_id="S1"))
    assert len(students(table)) == 1
    assert sum("Points Possible" in row[0] for row in table) == 1


KNOWN = [
    (Student("4711"), ("4711", "", "")),
    (Student("4711", sis_id="S9"), ("", "S9", "")),
    (Student("4711", login="ada"), ("", "", "ada")),
    (Student("ada"), ("", "", "ada")),
    (Student("٤٧"), ("", "", "٤٧")),
]


@pytest.mark.parametrize(("student", "expected"), KNOWN, ids=range(len(KNOWN)))
def test_canvas_identifiers_of_a_student(student: Student, expected: tuple[str, str, str]) -> None:
    table = canvas(replace(a_row(PASSED), student=student))
    assert tuple(table[2][1:4]) == expected


@pytest.mark.parametrize(
    ("student", "why"),
    [
        (Student("ada@u.edu", email="ada@u.edu"), "the roster has no Canvas ID"),
        (Student("7", login="=1+1"), "formula"),
        (Student("+49", name="Ada"), "formula for a spreadsheet: use another"),
        (Student("bad\nname"), "`bad name` contains a line break: fix it in the roster"),
        (Student("7", login="a\u202eb"), "`ab` contains extra spaces or invisible characters"),
    ],
)
def test_students_that_canvas_could_confuse_are_left_out(student: Student, why: str) -> None:
    text, (left,) = made("canvas", replace(a_row(PASSED), student=student))
    assert not text and why in left.why


def test_canvas_gets_no_row_after_a_system_error() -> None:
    text, left = made("canvas", a_row(FAILED), a_row(PASSED, id="7"))
    assert [row[1] for row in students(cells(text))] == ["7"] and len(left) == 1


@pytest.mark.parametrize("name", ["canvas", "moodle"])
def test_two_grades_of_one_student_are_both_left_out(name: str) -> None:
    text, left = made(name, a_row(PASSED), a_row(graded()), a_row(PASSED, id="7", email="b@u.edu"))
    assert [item.row.student.id for item in left] == ["4242", "4242"]
    assert len(cells(text)) == (3 if name == "canvas" else 2)
    assert all("export from a gradebook" in item.why for item in left)


# -- Moodle ----------------------------------------------------------------------------------------


def test_moodle_has_identifier_grade_and_feedback() -> None:
    row = replace(a_row(graded()), note="late by 2 h: -10 %", points=63.0)
    table = cells(made("moodle", row, options=Options(column="Tiled"))[0])
    assert table[0] == ["Email address", "Tiled", "Tiled (feedback)"]
    assert table[1][:2] == ["ada@u.edu", "63.00"]
    printed = html.unescape(table[1][2])
    assert printed.startswith(
        "late by 2 h: -10 %; main finding: race; output 40 of 40: output evaluated"
    )


def test_moodle_by_id_number() -> None:
    table = cells(made("moodle", a_row(PASSED), options=Options(identifier="id"))[0])
    assert [row[0] for row in table] == ["ID number", "4242"]


@pytest.mark.parametrize(
    ("enrolled", "why"),
    [(True, "the roster has no e-mail address"), (None, "name the course with --course DIR")],
)
def test_a_missing_address_names_the_roster_only_when_there_is_one(
    enrolled: bool | None, why: str
) -> None:
    _, (left,) = made("moodle", replace(a_row(PASSED, email=""), enrolled=enrolled))
    assert why in left.why


def test_students_unknown_to_moodle_are_left_out() -> None:
    text, left = made("moodle", a_row(PASSED, email=""), a_row(PASSED, id="7", email="=x@u.edu"))
    assert not text and [("e-mail" in item.why, "formula" in item.why) for item in left] == [
        (True, False), (False, True),
    ]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_feedback_is_harmless_html(name: str) -> None:
    row = replace(a_row(graded()), note=name)
    (_, line) = cells(made("moodle", row)[0])
    assert not re.search("[<>]", line[2]) and not FORMULA.match(line[2])
    assert len(line[2]) <= 5 * 2_000


# -- the plain table -------------------------------------------------------------------------------


def test_the_table_has_every_student_and_check() -> None:
    missing = ExportRow(Student("7"), None, None, 85.0, why="missing")
    table = cells(made("csv", a_row(graded()), a_row(FAILED, id="8"), missing)[0])
    rows: list[dict[str, Any]] = [dict(zip(table[0], row, strict=True)) for row in table[1:]]
    assert [row["id"] for row in rows] == ["4242", "8", "7"]
    assert rows[0]["points"] == "70.00" and rows[0]["speed"] == "unjudged"
    assert (rows[0]["sync"], rows[0]["main finding"]) == ("15.00", "race")
    assert rows[1]["points"] == "" and "system error" in rows[1]["status"]
    assert rows[1]["output"] == "error"
    assert (rows[2]["status"], rows[2]["points"]) == ("missing", "")


def test_the_table_of_hostile_names() -> None:
    table = cells(made("csv", *hostile_rows())[0])
    assert len(table) == len(HOSTILE) + 1 and len({len(row) for row in table}) == 1
    assert not any(FORMULA.match(cell) for row in table for cell in row)
