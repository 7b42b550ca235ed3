"""Connections to SQLite or PostgreSQL, transactions, migration, and the column of a moment.

SQLite: write-ahead log, every commit flushed, one writer at a time (`BEGIN IMMEDIATE` waits for its
turn at the beginning, where waiting is safe). PostgreSQL: a writer locks the submission's row.
Opening a gradebook creates its tables, or migrates those of an older version.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from sqlalchemy import (
    Connection,
    DateTime,
    Dialect,
    Engine,
    TypeDecorator,
    create_engine,
    event,
    inspect,
    text,
)
from sqlalchemy.dialects.sqlite import DATETIME as SqliteDatetime
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.types import TypeEngine

from grader.faults import LabFault, MachineFault, install_command
from grader.gradebook.values import damaged

LATEST_REVISION = "12"
"""The newest step in migrations/versions, which this code works with."""

LOCK_SECONDS = 30.0
"""Seconds that a writer waits for the previous one."""

_ONE_MIGRATION = threading.Lock()
"""Alembic keeps the running migration in module state: one at a time per process."""

MIGRATIONS = Path(__file__).parent / "migrations"
SCHEMA = MIGRATIONS / "sqlite.sql"
"""What the migrations make of an empty SQLite file; python -m tests.gradebook.schema writes it."""

_POSTGRESQL_LOCK = 0x67726164


class Database:
    """Transactions on one database; safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name = _display_name(engine.url)
        self._turn = threading.Lock()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a writing transaction: all of it is kept, or nothing. Raises MachineFault."""
        with self._faults(), self._turn_to_write(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        """Wait until no other thread writes to SQLite: without a connection, which readers need."""
        if self.engine.dialect.name != "sqlite":
            yield
            return
        if not self._turn.acquire(timeout=LOCK_SECONDS):
            raise self._fault(sqlite3.OperationalError("database is locked"))
        try:
            yield
        finally:
            self._turn.release()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a reading transaction: one snapshot, no waiting for writers. Raises MachineFault."""
        with self._faults(), self.engine.connect() as connection:
            # REPEATABLE READ: the snapshot must not change between two queries.
            level = {"isolation_level": "REPEATABLE READ"} if not is_sqlite(connection) else {}
            with connection.execution_options(reading=True, **level).begin():
                yield connection

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, PoolTimeout) as error:
            raise self._fault(getattr(error, "orig", None) or error) from error
        except UnicodeDecodeError as error:  # SQLite's own message quotes the damaged text
            fault = damaged("the file has text that is not UTF-8")
            raise MachineFault(fault.what, where=self.name, fix=fault.fix) from error
        except MachineFault as fault:
            fault.where = fault.where or self.name
            raise

    def _fault(self, error: BaseException) -> MachineFault:
        """Turn the database's error into a fault that says how to fix it."""
        message = " ".join(str(error).split())
        held = f"Another program has locked it for {LOCK_SECONDS:g} s. End it and try again."
        fixes = {
            "full": "Free disk space. Stored data is not lost.",
            "No space left": "Free disk space. Stored data is not lost.",
            "readonly": "Check the permissions of the file and its folder.",
            "read-only": "Check the permissions of the database.",
            "locked": held,
            "lock timeout": held,
            "deadlock": "Two changes blocked each other. Try again.",
            "unable to open": "Check that its folder exists and is writable.",
            "not a database": "This file is not a gradebook. Name another file.",
            "malformed": "The file is damaged. Restore a backup.",
            "connection": "Check that the server is running and that the URL is correct.",
        }
        fix = next((fixes[word] for word in fixes if word in message), "")
        return MachineFault(f"the gradebook failed: {message}", where=self.name, fix=fix)

    def backup(self, target: Path) -> None:
        """Write a copy of a SQLite gradebook as it is now, while others read and write.

        Raises:
            LabFault: The gradebook is on a server, or `target` exists or cannot be written.
        """
        if self.engine.dialect.name != "sqlite":
            what = "this gradebook is on a server, which makes its own backups"
            raise LabFault(what, where=self.name, fix="run pg_dump -Fc; pg_restore restores it")
        part = target.with_name(f"{target.name}.part")
        try:
            if target.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            # Grades are private, and a copy that was cut short must not look like one.
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
            with self._faults(), closing(sqlite3.connect(part)) as copy:
                with closing(self.engine.raw_connection()) as connection:
                    connection.driver_connection.backup(copy)  # type: ignore[union-attr]
                copy.execute("PRAGMA journal_mode = DELETE")
                copy.commit()
            with part.open("rb") as written:
                os.fsync(written.fileno())
            os.link(part, target)  # unlike a rename, it replaces nothing
        except OSError as error:
            what = f"cannot write the backup: {error.strerror}"
            raise LabFault(what, where=str(target), fix="name a new file") from None
        finally:
            part.unlink(missing_ok=True)

    @property
    def file(self) -> Path | None:
        """The file of a SQLite gradebook; None for one on a server."""
        is_file = self.engine.dialect.name == "sqlite"
        return Path(self.engine.url.database or "") if is_file else None

    def size(self) -> int:
        """Return the bytes that the database takes, with its log. Raises MachineFault."""
        if self.file is not None:
            parts = (self.file, self.file.with_name(f"{self.file.name}-wal"))
            return sum(part.stat().st_size for part in parts if part.exists())
        with self.reading() as connection:
            query = text("SELECT pg_database_size(current_database())")
            return int(connection.execute(query).scalar_one())

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def is_sqlite(connection: Connection) -> bool:
    """Whether this is SQLite, which has one writer at a time and no row locks."""
    return connection.dialect.name == "sqlite"


def utc_now() -> datetime:
    """Return the time; what has a clock uses this one where no other is given."""
    return datetime.now(UTC)


def connect(url: str, *, create: bool = True) -> Database:
    """Connect to a database by its URL, or to a SQLite file by its path.

    Raises:
        LabFault: `url` is neither, or the file does not exist and `create` is False.
        MachineFault: The database's driver is not installed, or the file cannot be created.
    """
    where = _url(url)
    try:
        if where.get_backend_name() == "sqlite":
            _check_file(where, create)
            return Database(_sqlite(where))
        return Database(_postgresql(where))
    except ModuleNotFoundError as missing:
        what = f"cannot connect to the database: the Python package {missing.name} is missing"
        raise MachineFault(
            what, where=_display_name(where), fix=install_command("postgres")
        ) from None


def _url(url: str) -> URL:
    if "://" not in url:
        return URL.create("sqlite", database=str(Path(url).absolute()))
    try:
        where = make_url(url)
    except (ArgumentError, ValueError):
        fix = "Write a URL such as postgresql://USER@HOST/NAME."
        raise LabFault("this is not a database URL", where=url.split("://")[0], fix=fix) from None
    if where.drivername in ("postgres", "postgresql"):
        return where.set(drivername="postgresql+psycopg")
    if where.drivername not in ("sqlite", "postgresql+psycopg"):
        fix = "Name a SQLite file, or postgresql://USER@HOST/NAME."
        raise LabFault(
            "this kind of database is not supported", where=_display_name(where), fix=fix
        )
    return where


def _display_name(url: URL) -> str:
    """Return a file's path, or a URL without its password."""
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
    """Reject a path where no gradebook can be, and create an empty file when allowed."""
    path = Path(url.database or "").absolute()
    if not path.parent.is_dir():
        what = "the gradebook's folder does not exist"
        raise LabFault(what, where=str(path), fix=f"Create {path.parent} first.")
    if path.is_dir():
        raise LabFault("this is a folder", where=str(path), fix="Name a file in it.")
    if path.exists():
        return
    if not create:
        fix = "Check the name. `grader batch` and `grader gradebook roster` create a gradebook."
        raise LabFault("there is no gradebook here", where=str(path), fix=fix)
    try:
        # Grades and submissions are private: SQLite's other files get the same permissions.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        what = f"cannot create the gradebook: {error.strerror}"
        raise MachineFault(what, where=str(path), fix="Check the folder's permissions.") from None


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": LOCK_SECONDS})

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, record: object) -> None:
        # `_begun` opens the transactions, so the driver must not.
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
    """Switch to the write-ahead log; SQLite reports `locked` at once when two processes do."""
    end = time.monotonic() + LOCK_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)


def migrate(database: Database) -> None:
    """Migrate the tables to LATEST_REVISION in one transaction; other processes wait.

    Raises:
        MachineFault: A newer version wrote the gradebook, or the database is another program's.
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
            what = "this database has tables, but not those of a gradebook"
            raise MachineFault(what, where=database.name, fix="Name an empty database.")
        if was is not None and not was.isdecimal():
            raise damaged(f"it has version `{was}`")
        if was is not None and int(was) > int(LATEST_REVISION):
            what = f"the gradebook has version {was}, this grader supports {LATEST_REVISION}"
            raise MachineFault(what, where=database.name, fix="Install the newer grader.")
        if was is None and is_sqlite(connection):
            _create_tables(connection)
        elif was != LATEST_REVISION:
            upgrade(connection)


def revision(connection: Connection) -> str | None:
    """Return the schema's revision; None for a database that is no gradebook."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _create_tables(connection: Connection) -> None:
    """Make in an empty file what all migrations make, without alembic, in a quarter of the time."""
    for statement in SCHEMA.read_text().split("\n\n")[1:]:
        connection.exec_driver_sql(statement)


def upgrade(connection: Connection, to: str = "head") -> None:
    """Run the migrations up to that revision, in the transaction of the connection."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS))
    command.upgrade(config, to)


class _SqliteInstant(SqliteDatetime):
    """SQLite's text of a moment; text that is none is a system error."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return the function that converts the text."""
        convert: Any = super().result_processor(dialect, coltype)

        def moment(value: object) -> datetime | None:
            try:
                return cast(datetime | None, convert(value))
            except (ValueError, TypeError):
                raise damaged(f"`{value!r}` is not a date and time") from None

        return moment


class Instant(TypeDecorator[datetime]):
    """A moment in UTC, to the microsecond; stored without an offset in SQLite, which has none."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that the database has for it."""
        sqlite: TypeEngine[Any] = _SqliteInstant()  # type: ignore[no-untyped-call]
        kind = sqlite if dialect.name == "sqlite" else self.impl_instance
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a moment to UTC for the database. Raises ValueError without a time zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs its time zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert the database's value to a moment in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
