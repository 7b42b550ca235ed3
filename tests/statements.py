"""Share the compiled SQL statements of all gradebooks of a test process.

SQLAlchemy keeps them for one engine, and each test opens a gradebook, so an engine, of its own: to
compile the same statements again took a fifth of the processor time of such tests. A command and a
server have one engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import URL, Engine, create_engine, event

from grader.gradebook import database

_CONNECTED: dict[str, Engine] = {}
"""The first engine of each kind of database that reached its server, and so knows its version."""


def sharing(url: URL, **options: Any) -> Engine:
    """Make an engine that compiles no statement that an earlier one has compiled."""
    engine = create_engine(url, **options)
    kind = engine.dialect.name
    if first := _CONNECTED.get(kind):
        # A compiled statement belongs to the object that describes the kind of database.
        engine.dialect, engine._compiled_cache = first.dialect, first._compiled_cache
        return engine

    @event.listens_for(engine, "connect", once=True)
    def _connected(connection: Any, record: object) -> None:
        _CONNECTED.setdefault(kind, engine)

    return engine


@pytest.fixture(scope="session", autouse=True)
def shared_statements() -> Iterator[None]:
    """Have gradebooks share their statements; `create_engine` of SQLAlchemy is as before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "create_engine", sharing)
        yield
