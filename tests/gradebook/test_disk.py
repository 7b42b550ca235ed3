"""A full disk, a read-only one, a damaged file: told, exit code 3, and nothing stored is lost."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.fault import MachineFault
from grader.gradebook.book import open_gradebook
from tests.command import ROOT
from tests.gradebook.made import NOON, a_grade

LAB = "tiled"


def boxed(words: list[str], *walls: str) -> subprocess.CompletedProcess[str]:
    """A command that sees this machine with some folders replaced."""
    bwrap = shutil.which("bwrap")
    assert bwrap, "there is no bwrap: apt-get install bubblewrap"
    return subprocess.run(
        [bwrap, "--dev-bind", "/", "/", *walls, "--chdir", str(ROOT), sys.executable, *words],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "course.db"
    book = open_gradebook(str(path))
    stored = book.submit(LAB, "ada", "f.cu", b"1", received=NOON)
    claim = book.claim(stored.id, "key", "worker", 60)
    assert claim
    assert book.accept(claim, a_grade())
    book.close()
    return path


def still_whole(path: Path) -> None:
    book = open_gradebook(str(path))
    (entry,) = book.entries(LAB)
    assert (entry.student, entry.points, entry.override) == ("ada", 8.5, None)
    book.close()


def test_read_only(db: Path) -> None:
    folder = str(db.parent)
    give = ["-m", "grader", "gradebook", "override", LAB, "ada", "5", "--reason", "x"]
    done = boxed([*give, "--db", str(db)], "--ro-bind", folder, folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert "check that its folder is there and may be written" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    still_whole(db)


FILL = """
import sys
from grader.cli.app import run
from grader.fault import MachineFault
from grader.gradebook.book import open_gradebook
from tests.gradebook.made import NOON, a_grade
book = open_gradebook(sys.argv[1])
kept = 0
try:
    while True:
        book.submit("tiled", f"student {kept}", "f.cu", bytes(20_000), received=NOON)
        kept += 1
except MachineFault as fault:
    print(fault, file=sys.stderr)
book.close()
code = run(["gradebook", "override", "tiled", "student 0", "5", "--reason", "x" * 100_000,
            "--db", sys.argv[1]])
print(kept, len(open_gradebook(sys.argv[1]).submissions("tiled")), code)
"""


def test_a_full_disk(tmp_path: Path) -> None:
    """A file system of 1.5 MB: what was stored before it was full is all there."""
    folder = str(tmp_path)
    words = ["-c", FILL, f"{folder}/course.db"]
    done = boxed(words, "--size", "1500000", "--tmpfs", folder)
    assert done.returncode == 0, done.stderr
    kept, there, code = map(int, done.stdout.split())
    assert kept == there > 5
    assert code == 3
    told = " ".join(done.stderr.split())
    assert told.count("make room on the disk; nothing that was stored is lost") == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "damage", [b"this is no database at all, " * 200, b"SQLite format 3\0" * 99]
)
def test_a_file_that_is_something_else(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "course.db"
    path.write_bytes(damage)
    with pytest.raises(MachineFault, match="name another one|restore a copy"):
        open_gradebook(str(path))
    assert path.read_bytes() == damage


def test_held_by_another_program(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.setattr("grader.gradebook.database.BUSY", 0.1)
    book = open_gradebook(str(db))
    other = sqlite3.connect(db, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(MachineFault, match="locked"):
        book.submit(LAB, "emmy", "f.cu", b"2", received=NOON)
    other.execute("ROLLBACK")
    other.close()
    book.submit(LAB, "emmy", "f.cu", b"2", received=NOON)
    assert len(book.submissions(LAB)) == 2
    book.close()
