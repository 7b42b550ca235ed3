"""Changes outside the grader: the database refuses them, and the audit's chain shows them.

A gradebook with one damaged bit gives the same grades or a system error, never another grade.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from grader.faults import MachineFault
from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.database import connect, is_sqlite, upgrade
from grader.gradebook.ledger import Student
from grader.gradebook.values import bytes_digest
from tests.command import CommandResult, grader
from tests.gradebook.conftest import KINDS, NUMBERS
from tests.gradebook.made import NOON, a_grade
from tests.gradebook.postgresql import copied

LAB = "tiled"
BITS = {"written": 180, "zero": 20}
"""How many bits are flipped in bytes that hold something, and in others. Seven of eight bytes of a
small gradebook are the zeros of free space, where no bit is ever read."""


def fill(url: str) -> None:
    """Two students: one graded and overridden, one with two graded submissions and a regrade."""
    book = open_gradebook(url)
    book.enroll([Student("ada", "Ada L."), Student("emmy", "Emmy N.")], "me")
    for number, (who, score) in enumerate([("ada", 8.5), ("emmy", 2.0), ("emmy", 10.0)]):
        stored = book.submit(
            LAB, who, "f.cu", b"%d" % number, received=NOON + timedelta(number), answers=b"q: 1"
        )
        claim = book.claim(stored.id, "key", "worker", 60)
        assert claim and book.accept(claim, a_grade(score))
    claim = book.claim(1, "new", "worker", 60, proposal="regrade-1")
    assert claim and book.accept(claim, a_grade(0.0))
    book.override(LAB, "ada", 9.0, "me", "because")
    book.recompute(LAB, "me")
    book.close()


@pytest.fixture(scope="module")
def filled_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A filled gradebook in SQLite, made once; whoever changes one changes a copy."""
    path = tmp_path_factory.mktemp("filled") / "course.db"
    fill(str(path))
    assert [path.name] == [file.name for file in path.parent.iterdir()], "all is in one file"
    return path.read_bytes()


@pytest.fixture(scope="module")
def unchanged(postgresql: Any) -> str:
    """A filled gradebook in PostgreSQL that each test must leave as it was."""
    url: str = postgresql()
    fill(url)
    return url


@pytest.fixture(scope="module")
def filled_database(postgresql_server: str) -> Iterator[str]:
    """The name of a filled gradebook in PostgreSQL, to copy."""
    with copied(postgresql_server, "filled") as where:
        fill(where)
        yield "filled"


@pytest.fixture(params=KINDS)
def filled(request: pytest.FixtureRequest, tmp_path: Path, filled_file: bytes) -> Iterator[str]:
    """A filled gradebook of each kind."""
    if request.param == "sqlite":
        path = tmp_path / "course.db"
        path.write_bytes(filled_file)
        yield str(path)
        return
    template, server = map(request.getfixturevalue, ("filled_database", "postgresql_server"))
    with copied(server, f"changed{next(NUMBERS)}", template) as where:
        yield where


def execute(url: str, *statements: str) -> None:
    database = connect(url)
    try:
        with database.writing() as connection:
            for statement in statements:
                connection.execute(text(statement))
    finally:
        database.close()


def contents(url: str) -> dict[str, list[Any]]:
    """All rows of the tables that keep their records."""
    database = connect(url)
    try:
        with database.reading() as connection:
            return {
                table: sorted(map(repr, connection.execute(text(f"SELECT * FROM {table}"))))
                for table in REPLACED
            }
    finally:
        database.close()


def without_triggers(url: str) -> None:
    """Drop the triggers, as who owns the database can."""
    database = connect(url)
    with database.writing() as connection:
        if is_sqlite(connection):
            names = connection.execute(text("SELECT name FROM sqlite_master WHERE type='trigger'"))
            drop = [f"DROP TRIGGER {name}" for (name,) in names]
        else:
            drop = ["SET LOCAL client_min_messages = error", "DROP FUNCTION kept() CASCADE"]
        for statement in drop:
            connection.execute(text(statement))
    database.close()


def problems(url: str, expect: str = "") -> list[str]:
    book = open_gradebook(url, check=False)
    found = book.verify(expect).problems
    book.close()
    return list(found)


COPY = "INTO {0} SELECT * FROM {0}"
REPLACED = ("audit", "submission", "attempt", "override", "student", "grade")


@pytest.mark.parametrize(
    "statement",
    [
        *(f"INSERT OR REPLACE {COPY.format(table)}" for table in REPLACED),
        *(f"REPLACE {COPY.format(table)}" for table in REPLACED),
        "INSERT OR REPLACE INTO audit (id, at, actor, action) VALUES (1, '2027', 'x', 'y')",
        "INSERT OR REPLACE INTO grade (submission, attempt, since) VALUES (2, 3, '2027')",
        "INSERT OR REPLACE INTO grade (submission, attempt, since) VALUES (9, 1, '2027')",
        "UPDATE OR REPLACE grade SET attempt = 3 WHERE submission = 2",
        "UPDATE OR REPLACE attempt SET id = 1 WHERE id = 3",
        "UPDATE OR REPLACE attempt SET state = 'running' WHERE id = 1",
        "UPDATE OR REPLACE audit SET id = 1 WHERE id = 2",
        "UPDATE OR REPLACE override SET points = 100",
        "UPDATE OR REPLACE student SET id = 'ada' WHERE id = 'emmy'",
        "UPDATE OR REPLACE submission SET id = 1 WHERE id = 2",
        "UPDATE attempt SET grade_sha256 = ''",
        "DELETE FROM grade",
    ],
)
def test_sqlite_refuses_to_replace_a_record(
    tmp_path: Path, filled_file: bytes, statement: str
) -> None:
    """By a connection without the grader's settings, as the sqlite3 program opens one."""
    path = tmp_path / "course.db"
    path.write_bytes(filled_file)
    with sqlite3.connect(path) as connection:
        before = list(connection.iterdump())
        with pytest.raises(sqlite3.IntegrityError, match="stay as they are"):
            connection.execute(statement)
        assert list(connection.iterdump()) == before
    connection.close()
    assert problems(str(path)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO audit SELECT * FROM audit ON CONFLICT (id) DO UPDATE SET actor = 'x'",
        "INSERT INTO override SELECT * FROM override ON CONFLICT (id) DO UPDATE SET points = 100",
        "UPDATE audit SET actor = 'x'",
        "UPDATE attempt SET grade_sha256 = ''",
        "UPDATE attempt SET key = 'x'",
        "UPDATE attempt SET state = 'running' WHERE id = 1",
        "UPDATE submission SET source = 'x'",
        "DELETE FROM grade",
        "TRUNCATE grade",
        "TRUNCATE audit",
        "TRUNCATE student CASCADE",
    ],
)
def test_postgresql_refuses_to_replace_a_record(unchanged: str, statement: str) -> None:
    before = contents(unchanged)
    assert len(before) > 4 and all(before.values())
    with pytest.raises(MachineFault, match="stay as they are"):
        execute(unchanged, statement)
    assert contents(unchanged) == before
    assert problems(unchanged) == []


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("UPDATE audit SET actor = 'x' WHERE id = 4", "line 4 of the audit (grade tiled ada)"),
        ("DELETE FROM audit WHERE id = 4", "line 5 of the audit (submit tiled emmy)"),
        ("UPDATE audit SET records = '[]' WHERE id = 5", "line 5 of the audit"),
        ("UPDATE audit SET at = '2027-01-01 00:00:00' WHERE id = 1", "line 1 of the audit"),
        ("UPDATE audit SET digest = 'x' WHERE id = 6", "line 6 of the audit"),
        ("UPDATE grade SET attempt = 4 WHERE submission = 1", "the grade of submission 1 differs"),
        ("DELETE FROM grade WHERE submission = 3", "the grade of submission 3 is in the audit"),
        ("UPDATE attempt SET grade_sha256 = 'x' WHERE id = 1", "the grade of submission 1 differs"),
        ("UPDATE attempt SET key = 'x' WHERE id = 1", "the grade of submission 1 differs"),
        ("UPDATE override SET points = 100", "override 1 differs"),
        ("DELETE FROM override", "override 1 is in the audit, but was removed"),
        ("UPDATE submission SET received = stored WHERE id = 2", "submission 2 differs"),
        ("UPDATE submission SET student = 'ada' WHERE id = 3", "submission 3 differs"),
        ("UPDATE student SET name = 'Eve' WHERE id = 'ada'", "student ada differs"),
        ("UPDATE standing SET points = 5 WHERE student = 'emmy'", "the points of tiled emmy"),
        (
            "INSERT INTO override (id, lab, student, points, author, reason, at)"
            " VALUES (7, 'tiled', 'emmy', 10, 'me', 'x', '2027-01-01 00:00:00')",
            "override 7 is not in the audit",
        ),
    ],
)
def test_a_change_without_the_triggers_is_found(filled: str, statement: str, shown: str) -> None:
    without_triggers(filled)
    assert problems(filled) == []
    execute(filled, statement)
    assert shown in problems(filled)[0]
    with pytest.raises(MachineFault, match="damaged or was changed"):
        open_gradebook(filled)
    book = open_gradebook(filled, check=False)
    for read in (book.entries, book.grades):
        with pytest.raises(MachineFault, match="damaged or was changed"):
            read(LAB)
    book.close()


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("UPDATE submission SET data = 'x' WHERE id = 2", "the bytes of submission 2 differ"),
        ("UPDATE submission SET answers = 'x' WHERE id = 2", "the answers of submission 2 differ"),
        ("UPDATE attempt SET grade_json = '{}' WHERE id = 2", "the grade of attempt 2 differs"),
    ],
)
def test_changed_contents_are_never_a_new_grade(filled: str, statement: str, shown: str) -> None:
    without_triggers(filled)
    execute(filled, statement)
    assert shown in problems(filled)[0]
    book = open_gradebook(filled)
    with pytest.raises(MachineFault, match="differ"):
        (book.submissions if "submission" in statement else book.entries)(LAB)
    with pytest.raises(MachineFault, match="differ"):
        if "submission" in statement:
            book.submit(LAB, "emmy", "f.cu", b"1", received=NOON, answers=b"q: 1")
        else:
            book.grades(LAB)
    book.close()


def test_the_grade_of_a_regrade_is_checked(filled: str) -> None:
    without_triggers(filled)
    execute(filled, "UPDATE attempt SET grade_json = '{}' WHERE proposal <> ''")
    book = open_gradebook(filled)
    with pytest.raises(MachineFault, match="the grade of attempt 4 differs"):
        book.changes("regrade-1")
    book.close()


LAST = "DELETE FROM audit WHERE id = {}"


def test_a_head_kept_elsewhere_finds_a_shorter_and_a_new_chain(filled: str) -> None:
    book = open_gradebook(filled)
    head = book.verify().head
    book.override(LAB, "emmy", 1.0, "me", "later")
    assert book.verify(head).problems == ()
    newest = book.verify()
    assert newest.head != head and newest.lines > 0
    book.close()
    without_triggers(filled)
    execute(filled, "DELETE FROM override WHERE id = 2", LAST.format(newest.lines))
    assert problems(filled) == [], "who owns the database can take the last line back"
    assert problems(filled, newest.head) == [f"no line of the audit has the digest {newest.head}"]


def test_an_old_gradebook_is_chained(without_tables: str) -> None:
    url = without_tables
    old = connect(url)
    grade_json = json.dumps(a_grade(7.0))
    rows = {
        "student": "(id, name) VALUES ('ada', 'Ada L.')",
        "submission": "(id, lab, student, name, sha256, data, received, stored) VALUES"
        f" (1, 'tiled', 'ada', 'f.cu', '{bytes_digest(b'x')}', :data, :now, :now)",
        "attempt": "(id, submission, key, number, token, worker, state, started, lease_until,"
        " grade_json) VALUES (1, 1, 'key', 1, 't', 'w', 'accepted', :now, :now, :made)",
        "grade": "(submission, attempt, since) VALUES (1, 1, :now)",
        "override": "(id, lab, student, points, author, reason, at)"
        " VALUES (100, 'tiled', 'ada', 9, 'me', 'x', :now)",
        "audit": "(id, at, actor, action, lab, student) VALUES"
        " (3, :now, 'me', 'a', 'tiled', 'ada'), (7, :now, 'me', 'b', 'tiled', 'ada')",
    }
    now = str(NOON.replace(tzinfo=None)) + ".000000"
    with old.writing() as connection:
        upgrade(connection, "4")
        now = now if is_sqlite(connection) else str(NOON)
        for table, row in rows.items():
            statement = text(f"INSERT INTO {table} {row}")
            given = {"now": now, "data": b"x", "made": grade_json}
            names = {name: given[name] for name in statement.compile().params}
            connection.execute(statement, names)
    old.close()
    book = open_gradebook(url)
    assert book.verify().problems == ()
    assert [event.action for event in book.audit()] == ["a", "b", "chain"]
    (entry,) = book.entries(LAB)
    assert (entry.points, entry.grade_json) == (9.0, a_grade(7.0))
    head = book.verify().head
    book.override(LAB, "ada", 5.0, "me", "later")
    assert book.verify(head).problems == ()
    book.close()
    without_triggers(url)
    execute(url, "UPDATE audit SET actor = 'x' WHERE id = 3")
    assert "line 3 of the audit (a tiled ada) does not follow" in problems(url)[0]


def verified(url: str, *words: str) -> CommandResult:
    return grader("gradebook", "audit", "--verify", *words, "--db", url)


def test_the_command_prints_the_head_and_what_differs(filled: str, tmp_path: Path) -> None:
    done = verified(filled, "--json", str(tmp_path / "found.json"))
    assert (done.code, "Traceback" in done.err) == (0, False)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["intact"] and f"head: {found['head']}" in done.out
    assert "submission: 3, grade: 3, override: 1" in done.out
    assert verified(filled, "--expect", found["head"].upper()).code == 0
    wrong = verified(filled, "--expect", "0" * 64)
    assert (wrong.code, "no line of the audit has the digest 0000" in wrong.out) == (3, True)
    without_triggers(filled)
    execute(filled, "UPDATE override SET points = 100")
    done = verified(filled)
    assert (done.code, done.out.split(" in ")[0]) == (3, "override 1 differs from its record")
    shown = grader("gradebook", "show", LAB, "--db", filled)
    assert (shown.code, shown.out) == (3, "")
    assert "override 1 differs" in shown.err and "Traceback" not in shown.err
    assert grader("gradebook", "audit", LAB, "--verify", "--db", filled).code == 2


def everything(path: Path) -> Any:
    """What a class and a student see of a gradebook."""
    book = open_gradebook(str(path), create=False)
    try:
        return _everything(book)
    finally:
        book.close()


def _everything(book: Gradebook) -> Any:
    return (
        book.entries(LAB), book.grades(LAB), book.submissions(LAB), book.changes("regrade-1"),
        book.labs(), book.students(), book.audit(), book.wanted(LAB, "key"),
    )  # fmt: skip


def test_random_bits_of_a_gradebook_never_change_a_grade(
    tmp_path: Path, filled_file: bytes
) -> None:
    path = tmp_path / "course.db"
    path.write_bytes(filled_file)
    whole, right = filled_file, everything(path)
    dice = random.Random(13)
    places = {
        "written": [place for place, byte in enumerate(whole) if byte],
        "zero": [place for place, byte in enumerate(whole) if not byte],
    }
    chosen = [dice.choice(places[kind]) for kind, count in BITS.items() for _ in range(count)]
    detected = 0
    for place in chosen:
        bit = dice.randrange(8)
        flipped = bytearray(whole)
        flipped[place] ^= 1 << bit
        for rest in tmp_path.glob("course.db*"):
            rest.unlink()
        path.write_bytes(flipped)
        try:
            assert everything(path) == right, (place, bit)
        except MachineFault:
            detected += 1
    assert detected > BITS["written"] / 2
