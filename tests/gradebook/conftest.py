"""Gradebooks to test: each test gets an empty database of its own, in SQLite and in PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from grader.gradebook.book import Gradebook, open_gradebook
from tests.gradebook.postgresql import copied, new_schema, program, server
from tests.statements import shared_statements as shared_statements

KINDS = ("sqlite", "postgresql")


NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The folder of a server that runs for this session."""
    if program("initdb") is None:
        pytest.skip("there is no PostgreSQL server here: apt-get install postgresql")
    with server() as folder:
        yield folder


@pytest.fixture(scope="session")
def postgresql(postgresql_server: str) -> Callable[[], str]:
    """Gives the URL of a new empty schema."""
    return lambda: new_schema(postgresql_server, f"book{next(NUMBERS)}")


@pytest.fixture(scope="session")
def postgresql_gradebook(postgresql_server: str) -> Iterator[str]:
    """The name of a database that is an empty gradebook, to copy."""
    with copied(postgresql_server, "gradebook") as where:
        open_gradebook(where).close()
        yield "gradebook"


@pytest.fixture(scope="session")
def postgresql_copy(
    postgresql_server: str, postgresql_gradebook: str
) -> Callable[[], AbstractContextManager[str]]:
    """Gives the URL of an empty gradebook, until the block ends."""
    return lambda: copied(postgresql_server, f"copy{next(NUMBERS)}", postgresql_gradebook)


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty gradebook of each kind; a file that does not exist is one."""
    if request.param == "sqlite":
        yield str(tmp_path / "course.db")
        return
    copy: Callable[[], AbstractContextManager[str]] = request.getfixturevalue("postgresql_copy")
    with copy() as where:
        yield where


@pytest.fixture(params=KINDS)
def without_tables(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of each kind that is no gradebook yet."""
    if request.param == "sqlite":
        return str(tmp_path / "course.db")
    made: Callable[[], str] = request.getfixturevalue("postgresql")
    return made()


@pytest.fixture
def book(url: str) -> Iterator[Gradebook]:
    """An empty gradebook of each kind."""
    opened = open_gradebook(url)
    yield opened
    opened.close()
