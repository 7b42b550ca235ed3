"""Tables made, and those of an older version brought up to date, when a gradebook is opened."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from grader.fault import MachineFault
from grader.gradebook.database import Database, is_sqlite

HEAD = "4"
"""The newest step in migrations/versions: what this code works with."""

_ALONE = threading.Lock()
"""Alembic keeps the migration that runs in a module of its own: one at a time in a process."""

_POSTGRESQL_LOCK = 0x67726164


def migrate(database: Database) -> None:
    """Bring the tables to HEAD: all of it, or nothing. Whoever opens at the same time waits.

    Raises MachineFault: the gradebook was written by a newer version, or it is some other
    program's database.
    """
    with database.reading() as connection:
        if revision(connection) == HEAD:
            return
    with _ALONE, database.writing() as connection:
        if not is_sqlite(connection):
            connection.execute(
                text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRESQL_LOCK}
            )
        was = revision(connection)
        if was is None and inspect(connection).get_table_names():
            what = "this database has tables, but no gradebook's"
            raise MachineFault(what, where=database.name, mend="name an empty one")
        if was is not None and int(was) > int(HEAD):
            what = f"this gradebook is of version {was}; this grader knows {HEAD}"
            raise MachineFault(what, where=database.name, mend="install the newer grader")
        if was != HEAD:
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
