"""`grader export` as it is called: from files, from a gradebook, into files and folders."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.cli.export import report_extra_points, stems
from grader.export.container.run_autograder import CONFIG
from grader.gradebook.book import open_gradebook
from grader.grading.record import dumps
from tests.command import grader
from tests.export.rows import FAILED, PASSED, a_row, graded
from tests.gradebook.made import a_course

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
COURSE = a_course("2027-03-01 10:00", points=10)
ROSTER = """\
Student,ID,SIS User ID,SIS Login ID,Section,Email
"=cmd(), Ada",11,S1,ada,A,ada@u.edu
Emmy,12,S2,emmy,B,emmy@u.edu
Grace,13,S3,grace,B,grace@u.edu
"""


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    (tmp_path / "one.json").write_text(dumps(graded().to_json()))
    (tmp_path / "failed.json").write_text(dumps(FAILED.to_json()))
    class_ = {"grades": [graded().to_json(), PASSED.to_json()]}
    (tmp_path / "class.json").write_text(dumps(class_))
    return tmp_path


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course whose gradebook has one graded late, one overridden, one that handed nothing in."""
    (tmp_path / "course.yaml").write_text(COURSE)
    (tmp_path / "roster.csv").write_text(ROSTER)
    (tmp_path / "course.secret").write_text("5e" * 32)
    (tmp_path / "course.secret").chmod(0o600)
    book = open_gradebook(str(tmp_path / "course.db"))
    for student in ("11", "12"):
        stored = book.submit("tiled", student, "t.cu", b"// " + student.encode(), received=NOON)
        claim = book.claim(stored.id, "key", "me", 60)
        assert claim and book.accept(claim, graded().to_json())
    book.override("tiled", "12", 9.5, "prof", "a broken cable")
    book.close()
    return tmp_path


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_a_file_to_stdout(grades: Path) -> None:
    done = grader("export", "--format", "gradescope", grades / "one.json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["score"] == 70


def test_the_format_may_come_first(grades: Path) -> None:
    done = grader("export", "prairielearn", grades / "one.json", "--out", grades / "r.json")
    assert (done.code, done.out) == (0, "") and "wrote" in done.err
    assert json.loads((grades / "r.json").read_text())["gradable"]


def test_a_class_into_a_folder(grades: Path) -> None:
    out = grades / "new" / "out"
    done = grader("export", "check50", grades / "class.json", "--out", out)
    assert done.code == 0, done.err
    assert sorted(p.name for p in out.iterdir()) == ["ada.json", "ada~2.json"]


def test_a_class_needs_a_folder(grades: Path) -> None:
    done = grader("export", "check50", grades / "class.json")
    assert done.code == 2 and "name a folder with --out" in done.err


def test_points_and_column(grades: Path) -> None:
    done = grader("export", "canvas", grades / "one.json", "--points", "10", "--column", "T (7)")
    assert [row[5] for row in table(done.out)] == ["T (7)", "10.00", "8.24"]


def test_a_system_error_is_reported_and_no_file_written(grades: Path) -> None:
    done = grader("export", "gradescope", grades / "failed.json", "--out", grades / "r.json")
    assert done.code == 3 and "left out: ada: system error" in done.err
    assert not (grades / "r.json").exists()


def test_canvas_from_the_gradebook(course: Path) -> None:
    done = grader("export", "canvas", "tiled", "--course", course)
    assert done.code == 0, done.err
    assert table(done.out)[1:] == [
        ["    Points Possible", "", "", "", "", "10.00"],
        ["'=cmd(), Ada", "", "S1", "ada", "A", "7.41"],
        ["Emmy", "", "S2", "emmy", "B", "9.50"],
    ]
    assert "left out: 13 (Grace): nothing submitted" in done.err
    assert "note: Canvas will offer to create a new assignment" in done.err


def test_students_not_in_the_roster_are_left_out_and_named(course: Path) -> None:
    (course / "roster.csv").write_text(ROSTER.replace("Emmy,12", "Ivan,14"))
    for name, kept in (("canvas", 3), ("moodle", 2), ("csv", 5)):
        done = grader("export", name, "tiled", "--course", course, "--column", "T (7)")
        assert done.code == 0 and len(table(done.out)) == kept, done.out
        assert ("left out: 12: not in the roster" in done.err) == (name != "csv")
        assert "note:" not in done.err


def test_moodle_from_a_gradebook_by_its_file(course: Path) -> None:
    done = grader("export", "moodle", "tiled", "--db", course / "course.db", "--identifier", "id")
    assert done.code == 0, done.err
    assert [row[0] for row in table(done.out)] == ["ID number", "11", "12"]


WRONG = [
    (["gradscope", "one.json"], "did you mean `gradescope`"),
    (["gradescope"], "there are no grades to export"),
    (["gradescope", "missing.json"], "cannot read the file"),
    (["gradescope", "broken.json"], "not JSON"),
    (["gradescope", "other.json"], "not a grade object"),
    (["canvas", "tiled", "--db", "missing.db"], "the gradebook does not exist"),
    (["gradescope-autograder"], "one lab is needed"),
    (["gradescope-autograder", "tilde-matmul"], "did you mean tiled-matmul?"),
]


@pytest.mark.parametrize(("words", "expected_text"), WRONG, ids=[" ".join(w) for w, _ in WRONG])
def test_wrong_use_is_reported(words: list[str], expected_text: str, grades: Path) -> None:
    (grades / "broken.json").write_text("{")
    (grades / "other.json").write_text("[1]")
    done = grader("export", *words, cwd=grades)
    assert done.code == 2 and expected_text in " ".join(done.err.split()), done.err
    assert "Traceback" not in done.err and not (grades / "missing.db").exists()


def test_the_formats_are_listed() -> None:
    done = grader("export")
    assert done.code == 0
    assert {line.split()[0] for line in done.out.splitlines()} >= {
        "canvas",
        "gradescope-autograder",
    }


def test_the_autograder_has_the_course_s_seed(course: Path) -> None:
    (course / "course.yaml").write_text(COURSE + "  vector-add: {}\n")
    out = course / "auto.zip"
    done = grader("export", "gradescope-autograder", "vector-add", "--course", course, "--out", out)
    assert done.code == 0, done.err
    assert "points there" in done.err
    assert out.stat().st_mode & 0o777 == 0o600  # the hidden cases are in it
    with zipfile.ZipFile(out) as opened:
        config = json.loads(opened.read(CONFIG))
    from grader.gradebook.course import read_course

    assert config["seed"] == read_course(course).seed("vector-add").hex()


def test_file_names_are_plain_and_differ() -> None:
    ids = ["ada", "Ada", "../../etc/passwd", "a b\n", "", "Ж", "x" * 300]
    made = stems([a_row(PASSED, id=i) for i in ids])
    assert made[:3] == ["ada", "Ada~2", "etc_passwd"] and len(set(map(str.lower, made))) == len(ids)
    assert all(name and "/" not in name and len(name) < 100 for name in made)


def test_more_than_full_marks_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    ada, emmy, grace = (
        replace(a_row(graded(), id=name), points=points, out_of=10.0)
        for name, points in (("ada", 12.0), ("emmy", 10.0), ("grace", 11.0))
    )
    report_extra_points([emmy])
    assert capsys.readouterr().err == ""
    report_extra_points([ada, emmy, grace])
    said = " ".join(capsys.readouterr().err.split())
    assert "more than full marks: ada with 12 of 10 and 1 more;" in said
