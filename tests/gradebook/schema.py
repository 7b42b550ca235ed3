"""The schema that the migrations make of an empty SQLite file: python -m tests.gradebook.schema.

The command writes it to the file from which new gradebooks are made.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from sqlalchemy import Connection, text

from grader.gradebook.database import SCHEMA, connect, upgrade

HEAD = "-- Made from the migrations by: python -m tests.gradebook.schema"


def statements(connection: Connection) -> list[str]:
    """The statements that make the tables, their indexes and triggers, in order."""
    rows = connection.execute(text("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"))
    version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    insertion = f"INSERT INTO alembic_version VALUES ('{version}')"
    return ["\n".join(map(str.strip, row[0].splitlines())) for row in rows] + [insertion]


def migrated() -> list[str]:
    """What all migrations make of an empty file."""
    with tempfile.TemporaryDirectory() as folder:
        database = connect(str(Path(folder) / "new.db"))
        with database.writing() as connection:
            upgrade(connection)
            found = statements(connection)
        database.close()
    return found


if __name__ == "__main__":
    SCHEMA.write_text("\n\n".join([HEAD, *migrated()]) + "\n")
