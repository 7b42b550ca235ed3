"""URLs and files, many threads on one gradebook, and what a database is not allowed to do."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.sql.compiler import SQLCompiler

from grader.faults import LabFault, MachineFault
from grader.gradebook import database
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.database import connect, is_sqlite
from tests.gradebook.made import NOON, a_grade
from tests.patience import PATIENCE

LAB = "tiled"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("mysql://me@host/grades", "this kind of database is not supported"),
        ("oracle://me:hunter2@host/grades", "this kind of database is not supported"),
        ("postgresql+nonsense://host/grades", "this kind of database is not supported"),
        ("://", "not a database URL"),
        ("postgresql://host:port/x", "not a database URL"),
        ("/no/such/folder/course.db", "Create /no/such/folder first"),
        ("/", "this is a folder"),
        ("sqlite:////no/such/folder/course.db", "Create /no/such/folder first"),
    ],
)
def test_no_database(url: str, shown: str) -> None:
    with pytest.raises(LabFault) as fault:
        connect(url)
    assert shown in str(fault.value)
    assert "hunter2" not in str(fault.value)


@pytest.mark.parametrize("folder", ["a b", "ünï", "100%", "a?b#c", "it's"])
def test_any_file_name(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / "course.db"
    open_gradebook(str(path)).close()
    assert path.stat().st_size > 0
    assert [found.name for found in (tmp_path / folder).iterdir()] == ["course.db"]


def test_a_query_of_the_check_is_made_once_and_not_at_each_opening(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "create_engine", create_engine)  # with statements of its own
    open_gradebook(url).close()
    made = selects_made(monkeypatch)
    open_gradebook(url).close()
    assert 0 < len(made) <= 2, "the lines of the audit; PostgreSQL's tables"


def selects_made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list that gets each query that is compiled from now on."""
    made: list[object] = []
    visit = SQLCompiler.visit_select

    def counted(self: SQLCompiler, select: object, *args: object, **options: object) -> object:
        made.append(select)
        return visit(self, select, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(SQLCompiler, "visit_select", counted)
    return made


def test_the_gradebooks_of_tests_share_their_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(name: str) -> None:
        book = open_gradebook(str(tmp_path / name))
        assert book.entries("lab") == ()
        book.close()

    read("one.db")
    made = selects_made(monkeypatch)
    read("other.db")
    assert made == []


def test_a_gradebook_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        book = open_gradebook(str(tmp_path / "course.db"))
        book.submit(LAB, "ada", "f.cu", b"1", received=NOON)
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        book.close()
    finally:
        os.umask(before)
    assert modes == {"course.db": 0o600, "course.db-wal": 0o600, "course.db-shm": 0o600}


def test_sqlite_flushes_every_commit_and_holds_its_references(tmp_path: Path) -> None:
    database = connect(str(tmp_path / "course.db"))
    with database.reading() as connection:
        assert is_sqlite(connection)
        asked = ("journal_mode", "synchronous", "foreign_keys")
        shown = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in asked]
    assert shown == ["wal", 2, 1]
    database.close()


def test_one_gradebook_in_many_threads(book: Gradebook) -> None:
    """Twelve threads: each hands in, grades what it can get, and looks at everything."""
    accepted: list[int] = []
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            book.submit(LAB, f"student {number}", "f.cu", b"%d" % number, received=NOON)
            for stored in book.wanted(LAB, "key"):
                claim = book.claim(stored.id, "key", f"thread {number}", 60)
                if claim and book.renew(claim, 60) and book.accept(claim, a_grade()):
                    accepted.append(stored.id)
            book.entries(LAB)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert faults == []
    assert sorted(accepted) == sorted(stored.id for stored in book.submissions(LAB))
    assert len(set(accepted)) == len(accepted) == 12


def test_a_change_that_fails_leaves_nothing_behind(book: Gradebook) -> None:
    """The submission and its line in the audit come together or not at all."""
    database = book._database
    with pytest.raises(ZeroDivisionError), database.writing() as connection:
        connection.execute(text("INSERT INTO student (id) VALUES ('half')"))
        raise ZeroDivisionError
    with pytest.raises(MachineFault), database.writing() as connection:
        connection.execute(text("INSERT INTO student (id) VALUES ('half')"))
        connection.execute(text("INSERT INTO nowhere VALUES (1)"))
    assert book.students() == ()
    book.submit(LAB, "ada", "f.cu", b"1", received=NOON)
    assert book.students() == ("ada",)


def test_readers_do_not_wait_for_a_writer(book: Gradebook) -> None:
    book.submit(LAB, "ada", "f.cu", b"1", received=NOON)
    with book._database.writing() as connection:
        connection.execute(text("INSERT INTO student (id) VALUES ('half')"))
        assert book.students() == ("ada",)
    assert book.students() == ("ada", "half")
