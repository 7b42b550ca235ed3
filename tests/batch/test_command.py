"""`grader batch` as an instructor runs it: a small class of the vector addition lab."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from grader.cli.app import run
from grader.compile.source import compile_source
from grader.gradebook.book import open_gradebook
from grader.labs.reference_process import pool
from grader.sandbox import bubblewrap as box
from grader.sandbox.call import prepare_template
from tests.batch.class_folders import archive
from tests.command import ROOT, CommandResult, descendants, grader
from tests.patience import PATIENCE, until

LAB = "vector-add"
ANSWERS = ROOT / "solutions" / LAB
RIGHT = (ANSWERS / f"{LAB}.cu").read_bytes()
WRONG = (ANSWERS / "wrong/unwritten-output-last-element.cu").read_bytes()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A class of three, one of whom handed in a link to where the answers lie."""
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "ann.cu").write_bytes(RIGHT)
    (folder / "bo.cu").write_bytes(WRONG)
    (folder / "eve.cu").symlink_to(ANSWERS / f"{LAB}.cu")
    return folder


def batch(place: Path, *words: str | Path) -> CommandResult:
    """The command without a terminal; in this process, where nothing has to be loaded again."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(["batch", LAB, str(place), "--on", "sim", *map(str, words)])
    return CommandResult(code, out.getvalue(), err.getvalue())


def grades(file: Path) -> dict[str, Any]:
    return {grade["student"]: grade for grade in json.loads(file.read_text())["grades"]}


def test_a_class_is_graded_and_again_from_the_gradebook(place: Path, tmp_path: Path) -> None:
    first = grader("batch", LAB, place, "--on", "sim", "--json", tmp_path / "first.json")
    assert first.code == 1
    assert re.search(r"^ann +100/100 ", first.out, re.MULTILINE)
    assert re.search(r"^eve +0/", first.out, re.MULTILINE)
    assert first.out.startswith("student ")
    assert "no kernel: eve: this is a symbolic link, not a file" in first.out
    assert re.search(r"eve: 0 of \d+, this is a symbolic link", first.err)
    assert "3 submissions, 1 with full marks" in first.out
    assert re.search(r"^\[[123]/3\] bo: .* unwritten-output", first.err, re.MULTILINE)
    assert str(tmp_path / "class.grades.db") in first.err.replace("\n    ", "")
    second = batch(place, "--json", tmp_path / "second.json")
    assert (second.code, second.out) == (1, first.out)
    assert "nothing to grade: 3 were graded before" in second.err
    got = grades(tmp_path / "first.json")
    assert got == grades(tmp_path / "second.json")
    assert {c["visibility"] for c in got["ann"]["cases"]} == {"public", "hidden"}
    assert "a symbolic link" in got["eve"]["checks"][0]["summary"]


def test_one_more_is_graded_alone(place: Path, tmp_path: Path) -> None:
    prepare_template()  # it ends with this interpreter, as the references do
    compile_source(RIGHT, "ann.cu", cache=None)  # and so does the compiler's
    standing = descendants()
    batch(place)
    (place / "cy.cu").write_bytes(RIGHT + b"// cy\n")
    printed = batch(place, "--json", "-")
    assert "3 were graded before" in printed.err and "[1/1] cy: 100 of 100" in printed.err
    assert len(json.loads(printed.out)["grades"]) == 4
    references = {process._pid for process in pool()._idle}
    until(lambda: not descendants(standing | references))


def test_a_zip_and_a_gradebook_elsewhere(tmp_path: Path) -> None:
    zipped = archive(tmp_path / "class.zip", {"ann.cu": RIGHT, "../eve.cu": WRONG})
    printed = batch(zipped, "--db", tmp_path / "mine.db")
    assert printed.code == 0
    assert "leads out of the zip" in printed.err
    assert sorted(p.name.partition("-")[0] for p in tmp_path.iterdir()) == ["class.zip", "mine.db"]


def course(tmp_path: Path) -> Path:
    """A course of its own with the lab in it."""
    folder = tmp_path / "course"
    for part in ("labs", "solutions"):
        shutil.copytree(ROOT / part / LAB, folder / part / LAB)
    (folder / "roster.csv").write_text("id,name,email\n4711,Ann Lee,ann\nbo,Bo,bo@example.org\n")
    (folder / "course.secret").write_text("5" * 64 + "\n")
    (folder / "course.secret").chmod(0o600)
    (folder / "course.yaml").write_text(
        "name: GPU programming\ntimezone: Europe/Berlin\nroster: roster.csv\n"
        f"labs:\n  {LAB}: {{due: 2027-03-28 23:59}}\n"
    )
    return folder


def test_a_regrade_counts_only_when_accepted(place: Path, tmp_path: Path) -> None:
    school = course(tmp_path)
    first = batch(place, "--course", school)
    assert first.code == 1 and "eve: not in the roster" in first.err
    lab = school / "labs" / LAB / "lab.yaml"
    lab.write_text(lab.read_text().replace("output: {points: 50}", "output: {points: 40}"))
    result = batch(place, "--course", school)
    assert "3 of the grades were made with another lab text" in result.err
    assert "100/100" in result.out
    proposed = batch(place, "--course", school, "--regrade", "all")
    assert proposed.code == 0
    assert "4711: 100 -> 90" in proposed.out and "hidden inputs" not in proposed.err
    assert "of 3 students other points" not in result.err and re.search(
        r"^4711 Ann Lee ", result.out, re.MULTILINE
    )
    (school / "course.secret").write_text("6" * 64 + "\n")
    another = batch(place, "--course", school, "--regrade", "Ann Lee")
    assert another.code == 0 and "differ from those of 1 grade:" in another.err
    (school / "course.secret").write_text("5" * 64 + "\n")
    assert "100/100" in batch(place, "--course", school).out
    named = re.search(r"--accept (\S+)", proposed.err)
    assert named
    accepted = batch(place, "--course", school, "--accept", named[1])
    assert accepted.code == 0 and "3 grades" in accepted.err
    after = batch(place, "--course", school)
    assert "90/90" in after.out and "another lab text" not in after.err
    assert batch(place, "--course", school, "--accept", named[1]).code == 2


def test_a_course_names_its_students_and_seeds_hidden_cases(place: Path, tmp_path: Path) -> None:
    school = course(tmp_path)
    batch(place, "--course", school, "--json", tmp_path / "with.json")
    batch(place, "--json", tmp_path / "without.json")
    own, plain = grades(tmp_path / "with.json"), grades(tmp_path / "without.json")
    assert set(own) == {"4711", "bo", "eve"}
    assert own["4711"]["provenance"]["seed"] != plain["ann"]["provenance"]["seed"]
    assert "5" * 64 not in (tmp_path / "with.json").read_text()
    assert (school / "course.db").is_file()
    book = open_gradebook(str(school / "course.db"))
    assert {event.action for event in book.audit(LAB)} == {"submit", "grade"}
    assert "differ after" not in batch(place, "--course", school).err
    book.override(LAB, "4711", 7, "ada", "agreed")
    book.close()
    result = " ".join(batch(place, "--course", school).err.split())
    assert "the points of 1 student differ" in result and f"grader gradebook show {LAB}" in result


@pytest.mark.parametrize(
    ("words", "expected_text"),
    [
        (["--regrade", "anne"], "did you mean `ann`"),
        (["--accept", "regrade-1"], "no pending regrade `regrade-1`"),
        (["--db", "nonsense://x"], "this kind of database is not supported"),
        (["--json", "no/such/folder.json"], "the folder of this file does not exist"),
    ],
)
def test_wrong_options_are_reported(words: list[str], expected_text: str, place: Path) -> None:
    got = batch(place, *words)
    assert got.code == 2 and expected_text in got.err and "Traceback" not in got.err


def test_submissions_do_not_run_without_a_sandbox(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(box, "_found", lambda: "bwrap: no user namespaces")
    assert run(["batch", LAB, str(place), "--on", "sim"]) == 3
    printed = " ".join(capsys.readouterr().err.split())
    assert "no user namespaces" in printed and "--unsafe-no-sandbox" in printed
    assert not list(place.parent.glob("*.db"))
    assert run(["batch", LAB, str(place), "--on", "sim", "--unsafe-no-sandbox"]) == 1
    assert "3 submissions, 1 with full marks" in capsys.readouterr().out


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_cleanly_and_the_same_command_goes_on(
    sent: signal.Signals, tmp_path: Path
) -> None:
    place = tmp_path / "class"
    place.mkdir()
    for number in range(8):
        (place / f"s{number}.cu").write_bytes(RIGHT + b"// %d\n" % number)
    standing = descendants()
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "batch", LAB, str(place), "--on", "sim"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    lines = []
    while not lines or not lines[-1].startswith("["):
        lines.append(process.stderr.readline())
        assert lines[-1], "".join(lines)
    process.send_signal(sent)
    rest = process.communicate(timeout=PATIENCE)[1]
    assert (process.returncode, "Traceback" in rest) == (130, False)
    assert re.search(
        r"[1-8] of 8 submissions are graded.*run the same command again", rest, re.DOTALL
    )
    until(lambda: not descendants(standing))
    printed = grader("batch", LAB, place, "--on", "sim")
    assert printed.code == 0 and "8 submissions, 8 with full marks" in printed.out
    assert re.search("[1-8] (was|were) graded before", printed.err)


def test_a_bar_on_a_terminal(place: Path) -> None:
    """What a terminal shows: the count goes up, the bar is gone at the end, and the table stays."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "batch", LAB, str(place), "--on", "sim"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"},
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 4096):
            shown += chunk
    except OSError:  # how a terminal whose other end is closed says so
        pass
    out = process.communicate(timeout=PATIENCE)[0]
    os.close(leader)
    assert process.returncode == 1
    assert b"0/3" in shown and b"3/3" in shown
    assert b"3 submissions" in out
