"""A full disk, a read-only one, a damaged file: told, exit code 3, and nothing stored is lost."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from grader.faults import MachineFault
from grader.gradebook.book import open_gradebook
from grader.gradebook.database import connect
from tests.command import ROOT
from tests.gradebook.made import NOON, a_grade
from tests.patience import PATIENCE

LAB = "tiled"


def boxed(words: list[str], *walls: str) -> subprocess.CompletedProcess[str]:
    """A command that sees this machine with some folders replaced."""
    bwrap = shutil.which("bwrap")
    assert bwrap, "there is no bwrap: apt-get install bubblewrap"
    return subprocess.run(
        [bwrap, "--dev-bind", "/", "/", *walls, "--chdir", str(ROOT), sys.executable, *words],
        capture_output=True, text=True, timeout=PATIENCE,
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
    assert "Check that its folder exists and is writable." in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    still_whole(db)


FILL = """
import sys
from grader.cli.app import run
from grader.faults import MachineFault
from grader.gradebook.book import open_gradebook
from grader.gradebook.database import connect
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
    shown = " ".join(done.stderr.split())
    assert shown.count("Free disk space. Stored data is not lost.") == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "damage", [b"this is no database at all, " * 200, b"SQLite format 3\0" * 99]
)
def test_a_file_that_is_no_gradebook_is_rejected(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "course.db"
    path.write_bytes(damage)
    with pytest.raises(MachineFault, match="Name another file|Restore a backup"):
        open_gradebook(str(path))
    assert path.read_bytes() == damage


def test_a_lock_of_another_program_is_reported(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_gradebook(url).close()
    monkeypatch.setattr("grader.gradebook.database.LOCK_SECONDS", 0.6)
    book, other = open_gradebook(url), connect(url)
    stored = book.submit(LAB, "ada", "f.cu", b"1", received=NOON)
    with other.writing() as connection:
        connection.execute(text("UPDATE submission SET late = late"))
        with pytest.raises(MachineFault, match="Another program has locked it for 0.6 s"):
            book.claim(stored.id, "key", "worker", 60)
    assert book.claim(stored.id, "key", "worker", 60)
    book.close()
    other.close()


def test_readers_do_not_wait_for_threads_that_wait_to_write(tmp_path: Path) -> None:
    """However many wait for a lock of another program: they hold no connection."""
    book, other = open_gradebook(str(tmp_path / "g.db")), connect(str(tmp_path / "g.db"))
    started = []

    def write(student: str) -> None:
        started.append(student)
        book.submit(LAB, student, "f.cu", b"1", received=NOON)

    writers = [threading.Thread(target=write, args=(f"s{k}",), daemon=True) for k in range(40)]
    with other.writing():
        for writer in writers:
            writer.start()
        end = time.monotonic() + PATIENCE
        while len(started) < len(writers) and time.monotonic() < end:
            time.sleep(0.01)
        assert [book.submissions(LAB) for _ in range(20)] == [()] * 20
    for writer in writers:
        writer.join(PATIENCE)
    assert len(book.submissions(LAB)) == len(writers)
    book.close()
    other.close()


def test_a_deadlock_is_reported(postgresql: Callable[[], str]) -> None:
    """A deadlock, made by hand: one of the two is told, and the other goes on."""
    book = open_gradebook(postgresql())
    for name in ("ada", "emmy"):
        book.submit(LAB, name, "f.cu", name.encode(), received=NOON)
    met, shown = threading.Barrier(2), []

    def take(first: str, second: str) -> None:
        try:
            with book._database.writing() as connection:
                for name in (first, second):
                    hold = "SELECT id FROM submission WHERE student = :name FOR UPDATE"
                    connection.execute(text(hold), {"name": name})
                    if name == first:
                        met.wait(PATIENCE)
        except MachineFault as fault:
            shown.append(str(fault))

    pairs = (("ada", "emmy"), ("emmy", "ada"))
    threads = [threading.Thread(target=take, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(shown) == 1
    assert "deadlock" in shown[0]
    assert len(book.submissions(LAB)) == 2
    book.close()
