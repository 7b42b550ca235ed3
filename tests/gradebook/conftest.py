"""Gradebooks to test: each test gets an empty database of its own, in SQLite and in PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.gradebook.book import Gradebook, open_gradebook
from tests.gradebook.postgresql import new_schema, program, server

KINDS = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[], str]]:
    """Gives the URL of a new empty schema of a server that runs for this session."""
    if program("initdb") is None:
        pytest.skip("there is no PostgreSQL server here: apt-get install postgresql")
    numbers = itertools.count(1)
    with server() as folder:
        yield lambda: new_schema(folder, f"book{next(numbers)}")


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
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
