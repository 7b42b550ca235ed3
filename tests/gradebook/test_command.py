"""`grader gradebook` as an instructor runs it: what it shows, changes and refuses."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from grader.cli.app import run as run_command
from grader.gradebook.book import open_gradebook
from tests.command import CommandResult, grader
from tests.gradebook.made import a_course, a_grade

LAB = "tiled"
COURSE = a_course("2027-03-27 23:59", points=20)
HOSTILE = [
    ("1", "Ada Lovelace"),
    ("2", "=cmd|'/c calc'!A1"),
    ("3", "\x1b[31mred \u202eevil"),
    ("4", 'Quote " comma, line\nbreak'),
    ("5", "李四 \U0001f980"),
]


def course(folder: Path, text: str = COURSE) -> Path:
    (folder / "course.yaml").write_text(text)
    (folder / "course.secret").write_text("s" * 64)
    (folder / "course.secret").chmod(0o600)
    with (folder / "roster.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("id", "name"), *HOSTILE])
    return folder


def handed_in(db: Path, student: str, score: float | None, received: datetime) -> None:
    book = open_gradebook(str(db))
    stored = book.submit(LAB, student, "f.cu", student.encode(), received=received)
    claim = book.claim(stored.id, "key", "worker", 60)
    assert claim
    if score is None:
        book.fault(claim, "no GPU")
    else:
        book.accept(claim, a_grade(score))
    book.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course of five, of whom one is in time, one a day late, and one met a broken machine."""
    folder = course(tmp_path_factory.mktemp("course"))
    assert grader("gradebook", "roster", "--author", "me", cwd=folder).code == 0
    handed_in(folder / "course.db", "1", 10.0, datetime(2027, 3, 27, 22, 59, tzinfo=UTC))
    handed_in(folder / "course.db", "2", 5.0, datetime(2027, 3, 28, 21, 59, tzinfo=UTC))
    handed_in(folder / "course.db", "3", None, datetime(2027, 3, 27, 20, 0, tzinfo=UTC))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that course, as the current folder."""
    copied = shutil.copytree(made, tmp_path / "course")
    monkeypatch.chdir(copied)
    return copied


Command = Callable[..., CommandResult]


@pytest.fixture
def book_command(capsys: pytest.CaptureFixture[str]) -> Command:
    """`grader gradebook WORDS` in this process."""

    def run(*words: str) -> CommandResult:
        changes = words[0] in ("roster", "override", "recompute")
        code = run_command(["gradebook", *words, *(["--author", "me"] if changes else [])])
        return CommandResult(code, *capsys.readouterr())

    return run


def test_show(folder: Path, book_command: Command) -> None:
    output = book_command("show", LAB)
    assert (output.code, output.err) == (0, "")
    assert output.out.splitlines() == [
        "student                   points  counts  received          note",
        "1 Ada Lovelace             20/20  1 of 1  2027-03-27 23:59",
        "2 =cmd|'/c calc'!A1         9/20  1 of 1  2027-03-28 23:59  late by 23 h: -10 %",
        "3 \\x1b[31mred \\u202eevil    -/20  1 of 1  2027-03-27 21:00  system errors: 1",
        '4 Quote " comma, line...    -/20  -                         nothing submitted',
        "5 李四 \U0001f980                   -/20  -                         nothing submitted",
        "",
        "5 students, 2 with points, mean 14.5, 1 incomplete, 2 missing; times are",
        "  Europe/Berlin",
    ]


def test_show_as_json(folder: Path, book_command: Command) -> None:
    output = book_command("show", LAB, "--json", "-")
    shown = json.loads(output.out)
    assert (output.code, output.err, shown["lab"]) == (0, "", LAB)
    assert [entry["name"] for entry in shown["entries"]] == [name for _, name in HOSTILE]
    assert [entry["points"] for entry in shown["entries"]] == [20.0, 9.0, None, None, None]
    second = shown["entries"][1]
    assert (second["received"], second["share_kept"]) == ("2027-03-28T21:59:00Z", 0.9)
    assert second["grade"] == {"score": 5.0, "judged_max": 10.0, "status": "graded"}


def test_override_and_back(folder: Path, book_command: Command) -> None:
    output = book_command("override", LAB, "Ada Lovelace", "7.5", "--reason", "=1+1")
    assert (output.code, output.out) == (0, "")
    entry = shown(book_command)["1"]
    assert (entry["status"], entry["points"], entry["override"]["author"]) == (
        "overridden", 7.5, "me",
    )  # fmt: skip
    back = book_command("override", LAB, "1", "--remove", "--reason", "mistaken")
    assert back.code == 0
    assert (shown(book_command)["1"]["points"], shown(book_command)["1"]["override"]) == (
        20.0,
        None,
    )
    result = book_command("audit", LAB, "--student", "1").out
    assert "override: tiled 1, - -> 7.5, by me: =1+1" in result
    assert "override removed: tiled 1, 7.5 -> -, by me: mistaken" in result


@pytest.mark.parametrize(("points", "warned"), [("20", False), ("20.5", True), ("0", False)])
def test_more_than_full_marks_is_remarked(
    folder: Path, book_command: Command, points: str, warned: bool
) -> None:
    output = book_command("override", LAB, "4", points, "--reason", "x")
    assert output.code == 0
    assert ("more than the full points of the lab, 20" in output.err) is warned


def test_a_long_reason_is_shown_whole(folder: Path, book_command: Command) -> None:
    reason = " ".join(f"word{n}" for n in range(30))
    book_command("override", LAB, "2", "3", "--reason", reason)
    result = book_command("show", LAB).out
    assert f"by me: {reason}; late by 23 h: -10 %" in " ".join(result.split())
    assert max(map(cell_len, result.splitlines())) <= 80


def test_the_course_in_this_folder_counts_for_a_named_gradebook(
    folder: Path, book_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = book_command("show", LAB, "--db", "course.db")
    assert named.out == book_command("show", LAB).out
    monkeypatch.chdir(folder.parent)
    db = str(folder / "course.db")
    assert "late by" not in book_command("show", LAB, "--db", db).out
    assert "no grades of lab `tiledd`" in book_command("show", "tiledd", "--db", db).err


def shown(book_command: Command) -> dict[str, dict]:
    entries = json.loads(book_command("show", LAB, "--json", "-").out)["entries"]
    return {entry["student"]: entry for entry in entries}


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["override", LAB, "1", "5"], "an override needs a reason"),
        (["override", LAB, "1", "--reason", "x"], "give either POINTS or --remove"),
        (["override", LAB, "1", "5", "--remove", "--reason", "x"], "give either POINTS"),
        (["override", LAB, "1", "-5", "--reason", "x"], "-5"),
        (["override", LAB, "1", "nan", "--reason", "x"], "POINTS"),
        (["override", LAB, "nobody", "5", "--reason", "x"], "there is no student `nobody`"),
        (["override", LAB, "Ada Lovelac", "5", "--reason", "x"], "there is no student"),
        (["show", "tiledd"], "did you mean `tiled`"),
        (["override", "tilde", "1", "5", "--reason", "x"], "the course has no lab `tilde`"),
        (["show", "tiledd", "--db", "course.db"], "the course has no lab `tiledd`"),
        (["recompute", "tiledd", "--db", "course.db"], "did you mean `tiled`"),
        (["override", LAB, "1", "--remove", "--reason", "x"], "`1` has no override"),
        (["show", LAB, "--db", "nowhere.db"], "there is no gradebook here"),
        (["show", LAB, "--db", "no/where.db"], "the gradebook's folder does not exist"),
        (["show", LAB, "--db", "."], "this is a folder"),
        (["show", LAB, "--db", "oracle://x"], "this kind of database is not supported"),
        (["show", LAB, "--json", "no/where.json"], "the folder of this file does not exist"),
        (["roster", "nowhere.csv"], "cannot read the roster"),
        (["secret"], "the course already has a secret"),
    ],
)
def test_wrong_use_is_reported(
    folder: Path, book_command: Command, words: list[str], result: str
) -> None:
    before = (folder / "course.db").read_bytes()
    output = book_command(*words)
    assert (output.code, output.out) == (2, "")
    assert result in " ".join(output.err.split())
    assert (folder / "course.db").read_bytes() == before
    assert not (folder / "nowhere.db").exists()


def test_no_gradebook_is_named(tmp_path: Path) -> None:
    output = grader("gradebook", "show", LAB, cwd=tmp_path)
    assert output.code == 2
    assert "--course DIR or --db URL" in output.err


def test_roster_again(folder: Path, book_command: Command) -> None:
    assert "5 students are enrolled" in book_command("roster").err
    (folder / "roster.csv").write_text("id,name\n1,Ada King\n6,Emmy\n")
    result = book_command("roster").err.splitlines()
    assert result[:2] == ["changed: 1 Ada King", "new: 6 Emmy"]
    left = sorted(line for line in result if line.startswith("left: "))
    assert [line[:7] for line in left] == [f"left: {n}" for n in "2345"]
    assert left[0] == "left: 2 =cmd|'/c calc'!A1"
    assert "2 students are enrolled" in " ".join(result)
    assert set(shown(book_command)) == {"1", "2", "3", "6"}, "who left keeps what was handed in"
    (folder / "roster.csv").write_text("id,name\n1,Ada King\n")
    assert "1 student is enrolled" in book_command("roster").err


def test_recompute_lists_changed_points(folder: Path, book_command: Command) -> None:
    first = book_command("recompute", LAB)
    assert first.out.splitlines() == ["no points have changed", "recorded for the first time: 2"]
    assert book_command("recompute", LAB).out == "no points have changed\n"
    (folder / "course.yaml").write_text(COURSE.replace("10%", "50%"))
    again = book_command("recompute", LAB)
    assert again.out == "2: 9 -> 5  (late by 23 h: -50 %)\n"
    assert "recompute: tiled 2, 9 -> 5, by me" in book_command("audit").out


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    (tmp_path / "course.yaml").write_text("name: c\ntimezone: UTC\n")
    output = grader("gradebook", "secret", cwd=tmp_path)
    path = tmp_path / "course.secret"
    assert (output.code, path.stat().st_mode & 0o777) == (0, 0o600)
    assert path.read_text().strip() not in output.out + output.err
    kept = path.read_text()
    assert grader("gradebook", "secret", "--course", tmp_path).code == 2
    assert path.read_text() == kept


def test_postgresql(postgresql, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "roster.csv").write_text("id,name\n1,Ada\n")
    url = postgresql()
    output = grader("gradebook", "roster", "roster.csv", "--db", url, cwd=tmp_path)
    assert output.code == 0, output.err
    book = open_gradebook(url)
    book.submit(LAB, "1", "f.cu", b"1", received=datetime(2027, 3, 27, tzinfo=UTC))
    book.close()
    shown = grader("gradebook", "show", LAB, "--db", url, cwd=tmp_path)
    assert "1 Ada" in shown.out


def test_a_server_that_is_not_there_and_a_password_that_is_not_shown(tmp_path: Path) -> None:
    url = f"postgresql://me:hunter2@/grades?host={tmp_path}"
    output = grader("gradebook", "show", LAB, "--db", url)
    assert (output.code, output.out) == (3, "")
    assert "Check that the server is running" in " ".join(output.err.split())
    assert "hunter2" not in output.err
    assert "Traceback" not in output.err
