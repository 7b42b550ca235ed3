"""An empty database, and one of each older version, become what the code works with."""

from __future__ import annotations

import hashlib
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Integer, MetaData, Table, text
from sqlalchemy.exc import DBAPIError

from grader.faults import MachineFault
from grader.gradebook import database
from grader.gradebook.book import open_gradebook
from grader.gradebook.chain import RowKey, record_event
from grader.gradebook.database import connect
from grader.gradebook.tables import metadata
from tests.gradebook.made import a_grade
from tests.gradebook.schema import migrated, statements
from tests.patience import PATIENCE

STEPS = Path(database.__file__).parent / "migrations"
NOW = datetime(2027, 3, 1, tzinfo=UTC)
CHAINED = 5
"""The step from which on every row has a record in the audit."""


@pytest.fixture
def url(without_tables: str) -> str:
    """A database of each kind without any table."""
    return without_tables


def differences(url: str, models: MetaData) -> list[object]:
    """What alembic would still change to make the tables those of the models."""
    database = connect(url)
    with database.reading() as connection:
        found = compare_metadata(
            MigrationContext.configure(connection, opts={"compare_type": True}), models
        )
    database.close()
    return found


def test_the_models_and_the_steps_agree(url: str) -> None:
    open_gradebook(url).close()
    assert differences(url, metadata) == []


def test_a_table_without_a_migration_is_detected(url: str) -> None:
    """The twin: without it, the comparison above could be blind."""
    open_gradebook(url).close()
    more = MetaData()
    for table in metadata.tables.values():
        table.to_metadata(more)
    Table("forgotten", more, Column("id", Integer, primary_key=True))
    more.tables["grade"].append_column(Column("extra", Integer))
    assert len(differences(url, more)) == 2


def test_a_new_file_has_what_the_steps_make(tmp_path: Path) -> None:
    """It is made from a text; `python -m tests.gradebook.schema` writes that after a new step."""
    open_gradebook(str(tmp_path / "new.db")).close()
    database = connect(str(tmp_path / "new.db"))
    with database.reading() as connection:
        found = statements(connection)
        tables = [one.split()[2].strip('"') for one in found if one.startswith("CREATE TABLE")]
        rows = {name: connection.execute(text(f'SELECT * FROM "{name}"')).all() for name in tables}
    database.close()
    assert [one.split() for one in found] == [one.split() for one in migrated()]
    assert {name for name, held in rows.items() if held} == {"alembic_version"}
    assert len(tables) == len(metadata.tables) + 1


def test_head_is_the_newest_step() -> None:
    config = Config()
    config.set_main_option("script_location", str(STEPS))
    assert ScriptDirectory.from_config(config).get_heads() == [database.LATEST_REVISION]


@pytest.mark.parametrize("version", [str(n) for n in range(1, int(database.LATEST_REVISION))])
def test_an_older_gradebook_keeps_what_is_in_it(url: str, version: str) -> None:
    old = connect(url)
    with old.writing() as connection:
        database.upgrade(connection, version)
        connection.execute(text("INSERT INTO student (id, name) VALUES ('ada', 'Ada L.')"))
        connection.execute(
            text(
                "INSERT INTO submission (lab, student, name, sha256, data, received, stored)"
                " VALUES ('tiled', 'ada', 'f.cu', :sha, :data, :now, :now)"
            ),
            {"sha": hashlib.sha256(b"\x00\xff").hexdigest(), "data": b"\x00\xff", "now": str(NOW)},
        )
        if int(version) >= CHAINED:
            rows: list[RowKey] = [("student", "ada"), ("submission", 1)]
            record_event(connection, NOW, "grader", "submit", rows=rows)
    old.close()
    book = open_gradebook(url)
    (kept,) = book.submissions("tiled")
    assert (kept.student, kept.data, kept.name) == ("ada", b"\x00\xff", "f.cu")
    book.close()
    assert differences(url, metadata) == []


def test_opened_by_many_at_once(url: str) -> None:
    faults: list[BaseException] = []

    def opened() -> None:
        try:
            open_gradebook(url).close()
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=opened) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert faults == []
    assert differences(url, metadata) == []


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("UPDATE alembic_version SET version_num = '999'", "gradebook has version 999"),
        ("DROP TABLE alembic_version", "has tables, but not those of a gradebook"),
    ],
)
def test_another_program_s_database_is_not_changed(url: str, statement: str, shown: str) -> None:
    open_gradebook(url).close()
    database = connect(url)
    with database.writing() as connection:
        connection.execute(text(statement))
    database.close()
    with pytest.raises(MachineFault, match=shown):
        open_gradebook(url)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET actor = 'nobody'",
        "DELETE FROM audit",
        "DELETE FROM submission",
        "DELETE FROM attempt",
        "UPDATE override SET points = 100",
        "UPDATE submission SET data = 'x'",
        "UPDATE submission SET student = student",
        "UPDATE attempt SET grade_json = '{}'",
        "DELETE FROM override",
    ],
)
def test_the_database_rejects_changes_of_records(url: str, statement: str) -> None:
    book = open_gradebook(url)
    stored = book.submit("tiled", "ada", "f.cu", b"1", received=NOW)
    claim = book.claim(stored.id, "key", "worker", 10)
    assert claim and book.accept(claim, a_grade())
    book.override("tiled", "ada", 1.0, "me", "because")
    before = book.audit()
    database = connect(url)
    with pytest.raises(MachineFault, match="stay as they are") as shown, database.writing() as made:
        made.execute(text(statement))
    assert isinstance(shown.value.__cause__, DBAPIError)
    database.close()
    assert book.audit() == before
    assert len(book.submissions("tiled")) == 1
    book.close()
