"""Tables made, and those of an older version brought up to date, when a gradebook is opened."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from grader.faults import LabFault, MachineFault, install_command

# A connection to SQLite or PostgreSQL, and the two kinds of transaction: reading and writing.
#
# SQLite: write-ahead log, every commit flushed, one writer at a time (`BEGIN IMMEDIATE` waits for
# its turn at the beginning, where waiting is safe). PostgreSQL: a writer locks the submission's
# row.

LOCK_SECONDS = 30.0
"""Seconds that a writer waits for the one before it."""


class Database:
    """Transactions on one database; safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name = _display_name(engine.url)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that changes things: all of it is kept, or nothing. Raises MachineFault."""
        with self._faults(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment and never waits for writers. Raises MachineFault."""
        with self._faults(), self.engine.connect() as connection:
            # Both at once: the snapshot must not move between two questions.
            level = {"isolation_level": "REPEATABLE READ"} if not is_sqlite(connection) else {}
            with connection.execution_options(reading=True, **level).begin():
                yield connection

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, PoolTimeout) as error:
            raise self._fault(getattr(error, "orig", None) or error) from error

    def _fault(self, error: BaseException) -> MachineFault:
        """What the database said, as a fault that says how to mend it."""
        said = " ".join(str(error).split())
        held = f"another program has held it for {LOCK_SECONDS:g} s; end it, and try again"
        mends = {
            "full": "make room on the disk; nothing that was stored is lost",
            "No space left": "make room on the disk; nothing that was stored is lost",
            "readonly": "check the rights of the file and of its folder",
            "read-only": "check the rights of the database",
            "locked": held,
            "lock timeout": held,
            "deadlock": "two changes stood in each other's way; try the same again",
            "unable to open": "check that its folder is there and may be written",
            "not a database": "this file is something else; name another one",
            "malformed": "the file is damaged; restore a copy of it",
            "connection": "check that the server runs and that the URL is right",
        }
        fix = next((mends[word] for word in mends if word in said), "")
        return MachineFault(f"the gradebook failed: {said}", where=self.name, fix=fix)

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


def is_sqlite(connection: Connection) -> bool:
    """Whether this is SQLite, which has one writer at a time and knows no row locks."""
    return connection.dialect.name == "sqlite"


def connect(url: str, *, create: bool = True) -> Database:
    """A database by its URL, or a SQLite file by its path. Raises LabFault for what is neither,
    and for a file that is not there when none is to be made.
    """
    where = _url(url)
    try:
        if where.get_backend_name() == "sqlite":
            _check_file(where, create)
            return Database(_sqlite(where))
        return Database(_postgresql(where))
    except ModuleNotFoundError as missing:
        what = f"the database cannot be reached: there is no Python package {missing.name}"
        raise MachineFault(
            what, where=_display_name(where), fix=install_command("postgres")
        ) from None


def _url(url: str) -> URL:
    if "://" not in url:
        return URL.create("sqlite", database=str(Path(url).absolute()))
    try:
        where = make_url(url)
    except (ArgumentError, ValueError):
        fix = "a URL is such as postgresql://USER@HOST/NAME"
        raise LabFault("this is not a database's URL", where=url.split("://")[0], fix=fix) from None
    if where.drivername in ("postgres", "postgresql"):
        return where.set(drivername="postgresql+psycopg")
    if where.drivername not in ("sqlite", "postgresql+psycopg"):
        fix = "name a SQLite file, or postgresql://USER@HOST/NAME"
        raise LabFault("no such kind of database", where=_display_name(where), fix=fix)
    return where


def _display_name(url: URL) -> str:
    """As it may be told: a file's path, or a URL without its password."""
    if url.get_backend_name() == "sqlite":
        return url.database or ""
    return url.render_as_string(hide_password=True)


def _postgresql(url: URL) -> Engine:
    waiting = {} if "connect_timeout" in url.query else {"connect_timeout": round(LOCK_SECONDS)}
    engine = create_engine(url, pool_pre_ping=True, connect_args=waiting)

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, record: object) -> None:
        connection.execute(f"SET lock_timeout = {round(LOCK_SECONDS * 1000)}")
        connection.commit()

    return engine


def _check_file(url: URL, create: bool) -> None:
    """Refuse a place where no gradebook can be, and make an empty file where one is to be."""
    path = Path(url.database or "").absolute()
    if not path.parent.is_dir():
        what = "there is no folder to keep the gradebook in"
        raise LabFault(what, where=str(path), fix=f"make {path.parent} first")
    if path.is_dir():
        raise LabFault("this is a folder", where=str(path), fix="name a file in it")
    if path.exists():
        return
    if not create:
        fix = "check the name; `grader batch` and `grader gradebook roster` make one"
        raise LabFault("there is no gradebook here yet", where=str(path), fix=fix)
    try:
        # Grades and everybody's work: the owner's alone, as are the files SQLite keeps beside it.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        what = f"cannot make the gradebook: {error.strerror}"
        raise MachineFault(what, where=str(path), fix="check the folder's rights") from None


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": LOCK_SECONDS})

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, record: object) -> None:
        # The driver must not open transactions of its own: `_begun` does.
        connection.isolation_level = None
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        reading = connection.get_execution_options().get("reading")
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _write_ahead(connection: Any) -> None:
    """Switch to the write-ahead log. Two that do it at once are told `locked` without waiting."""
    end = time.monotonic() + LOCK_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)


LATEST_REVISION = "4"
"""The newest step in migrations/versions: what this code works with."""

_ONE_MIGRATION = threading.Lock()
"""Alembic keeps the migration that runs in a module of its own: one at a time in a process."""

_POSTGRESQL_LOCK = 0x67726164


def migrate(database: Database) -> None:
    """Bring the tables to HEAD: all of it, or nothing. Whoever opens at the same time waits.

    Raises MachineFault: the gradebook was written by a newer version, or it is some other
    program's database.
    """
    with database.reading() as connection:
        if revision(connection) == LATEST_REVISION:
            return
    with _ONE_MIGRATION, database.writing() as connection:
        if not is_sqlite(connection):
            connection.execute(
                text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRESQL_LOCK}
            )
        was = revision(connection)
        if was is None and inspect(connection).get_table_names():
            what = "this database has tables, but no gradebook's"
            raise MachineFault(what, where=database.name, fix="name an empty one")
        if was is not None and int(was) > int(LATEST_REVISION):
            what = f"this gradebook is of version {was}; this grader knows {LATEST_REVISION}"
            raise MachineFault(what, where=database.name, fix="install the newer grader")
        if was != LATEST_REVISION:
            upgrade(connection)


def revision(connection: Connection) -> str | None:
    """The newest step that was made; None for a database that is no gradebook."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def upgrade(connection: Connection, to: str = "head") -> None:
    """Take the steps up to that one, in the transaction of the connection."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    command.upgrade(config, to)
