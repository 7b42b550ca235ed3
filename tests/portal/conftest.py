"""A served course for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.portal.made import Served, served


@pytest.fixture
def course(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as one:
        yield one


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One course for all tests of a module, which must not disturb each other."""
    with served(tmp_path_factory.mktemp("course")) as one:
        yield one
