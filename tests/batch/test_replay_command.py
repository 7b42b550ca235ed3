"""`grader replay` as it is called: where it takes the source from, what it says, how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from grader.cli.app import run as run_command
from grader.feedback.grade import grade
from grader.gradebook.book import open_gradebook
from grader.gradebook.course import read_course
from grader.grading.record import dumps, grade_from_json
from grader.labs.quiz import AnswerSheet
from grader.labs.reading import load_lab
from grader.submissions.files import read_submission
from tests.command import ROOT, grader

LAB = "vector-add"
SOLUTION = ROOT / "solutions" / LAB / f"{LAB}.cu"
NO_ANSWERS = AnswerSheet(exists=False)
COURSE = "name: CUDA\ntimezone: UTC\nroster: roster.csv\nlabs:\n  vector-add: {}\n"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that was graded; no answers to the quiz lie beside it."""
    file = tmp_path_factory.mktemp("source") / SOLUTION.name
    file.write_bytes(SOLUTION.read_bytes())
    return file


@pytest.fixture(scope="module")
def record(source: Path) -> Path:
    """What `grader check --json` writes."""
    file = source.with_name("grade.json")
    made = grade(load_lab(LAB), read_submission(source), answers=NO_ANSWERS, threads=1)
    file.write_text(dumps(made.to_json()))
    return file


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with a secret, and a gradebook that has the submission."""
    (tmp_path / "course.yaml").write_text(COURSE)
    (tmp_path / "roster.csv").write_text("id,name\nada,Ada\n")
    secret = tmp_path / "course.secret"
    secret.write_text("s" * 64)
    secret.chmod(0o600)
    book = open_gradebook(str(tmp_path / "course.db"))
    book.submit(LAB, "ada", SOLUTION.name, SOLUTION.read_bytes(), received=datetime.now(UTC))
    book.close()
    return tmp_path


def edited(record: Path, place: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    held = json.loads(record.read_text())
    edit(held)
    file = place / "edited.json"
    file.write_text(json.dumps(held))
    return file


def test_an_unchanged_grade_is_reproduced(record: Path, source: Path) -> None:
    output = grader("replay", record, "--source", source)
    assert (output.code, output.err) == (0, "")
    assert output.out.startswith("the same result: score ")


def test_differences_are_listed(record: Path, source: Path, tmp_path: Path) -> None:
    def forge(held: dict[str, Any]) -> None:
        held["checks"][1]["points"] += 1
        held["provenance"]["grader_version"] = "9.9.9"

    output = grader("replay", edited(record, tmp_path, forge), "--source", source)
    assert output.code == 1
    name = json.loads(record.read_text())["checks"][1]["name"]
    assert f"  checks.{name}.points: " in output.out
    assert "  grader version: 9.9.9 in the record, 0.1.0 now\n" in output.out
    assert output.out.endswith("the verdict differs\n")


def test_the_source_comes_from_the_gradebook(record: Path, course: Path) -> None:
    output = grader("replay", record, "--db", course / "course.db", "--json", "-")
    assert output.code == 0
    shown = json.loads(output.out)
    assert shown["same"] is True and shown["conditions"] == shown["verdict"] == []
    assert (
        grade_from_json(shown["grade"]).checks
        == grade_from_json(json.loads(record.read_text())).checks
    )


def test_the_courses_seed_is_used_and_never_printed(
    course: Path, source: Path, tmp_path: Path
) -> None:
    seed = read_course(course).seed(LAB)
    made = grade(
        load_lab(LAB), read_submission(SOLUTION), visibility="all", seed=seed, threads=1,
        answers=NO_ANSWERS,
    )  # fmt: skip
    file = tmp_path / "hidden.json"
    file.write_text(dumps(made.to_json()))
    output = grader("replay", file, "--course", course)
    assert (output.code, output.err) == (0, "")
    without = grader("replay", file, "--source", source)
    assert without.code == 2
    assert "secret of a course" in without.err and "add --course DIR" in without.err
    assert seed.hex() not in output.out + without.out


@pytest.fixture
def many(record: Path, tmp_path: Path) -> Path:
    """What a batch writes: one grade as it was, one edited, one that the machine failed."""
    one = json.loads(record.read_text())
    file = tmp_path / "grades.json"
    students = [
        one | {"student": "ada"},
        one | {"student": "bob", "score": 1.0},
        one | {"student": "eve", "status": "incomplete"},
    ]
    file.write_text(json.dumps({"grades": students}))
    return file


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = run_command(["replay", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def test_every_grade_of_a_file_is_replayed(
    many: Path, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, many, "--db", course / "course.db")
    assert (code, err) == (2, "")
    assert "ada: the same result: score " in out
    assert "\n  score.points: 1 in the record, " in out and "\nbob: the verdict differs\n" in out
    assert "\neve: cannot be replayed: the grade is incomplete" in out
    code, out, _ = run(capsys, many, "--db", course / "course.db", "--json", "-")
    shown = json.loads(out)
    assert (code, shown["same"]) == (2, False)
    assert [(r["student"], r["same"]) for r in shown["replays"]] == [
        ("ada", True), ("bob", False), ("eve", False),
    ]  # fmt: skip


def test_one_students_grade_is_replayed(
    many: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, many, "--source", source, "--student", "ada")[0] == 0
    assert run(capsys, many, "--source", source, "--student", "bob")[0] == 1
    code, out, err = run(capsys, many, "--source", source)
    assert (code, out) == (2, "") and "--student" in err
    code, _, err = run(capsys, many, "--source", source, "--student", "adda")
    assert code == 2 and "did you mean `ada`?" in err


Made = Callable[[Path, Path], tuple[str | Path, ...]]
WRONG: list[tuple[str, Made]] = [
    ("No such file", lambda record, place: (place / "none.json",)),
    ("not JSON", lambda record, place: (written(place, "{"),)),
    ("not JSON", lambda record, place: (written(place, "[" * 100_000),)),
    ("not a grade object", lambda record, place: (written(place, "[1, 2]"),)),
    ("not a grade object", lambda record, place: (written(place, '{"grades": "x"}'),)),
    ("not JSON", lambda record, place: (written(place, "\udcff"),)),
    ("checks.0.status", lambda record, place: (
        edited(record, place, lambda h: h["checks"][0].update(status="won")),)),
    ("there is no lab", lambda record, place: (
        edited(record, place, lambda h: h.update(lab="vector-ad")),)),
    ("--source FILE.cu", lambda record, place: (record,)),
    ("there is no such file", lambda record, place: (record, "--source", place / "none.cu")),
    ("there is no gradebook", lambda record, place: (record, "--db", place / "new.db")),
    ("the folder of this file does not exist", lambda record, place: (
        record, "--source", SOLUTION, "--json", place / "none" / "x.json")),
]  # fmt: skip


def written(place: Path, text: str) -> Path:
    file = place / "given.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    return file


@pytest.mark.parametrize(("expected_text", "words"), WRONG, ids=[f"{n}" for n in range(len(WRONG))])
def test_wrong_usage_is_explained(
    expected_text: str,
    words: Made,
    record: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, *words(record, tmp_path))
    assert (code, out) == (2, ""), err
    assert expected_text in " ".join(err.split()) and "Traceback" not in err


def test_a_student_is_found_by_the_roster_s_identifiers(
    many: Path, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [many, "--course", course, "--student"]
    code, out, err = run(capsys, *words, "Ada")
    assert (code, err) == (0, "") and out.startswith("the same result: ")
    assert run(capsys, *words, "Zoe")[0] == 2


def test_a_gradebook_without_the_source_is_reported(
    record: Path, course: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = edited(record, tmp_path, lambda held: held.update(submission_sha256="5e" * 32))
    code, _, err = run(capsys, file, "--db", course / "course.db")
    assert code == 2 and "no submission has the SHA-256" in " ".join(err.split())
