"""A served course for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import argon2
import pytest

from tests.portal.made import Served, served
from tests.statements import shared_statements as shared_statements

SLOW = argon2.PasswordHasher
"""What the product makes the digests of tokens with."""


@pytest.fixture(scope="module", autouse=True)
def quick_tokens() -> Iterator[None]:
    """Make the digests of tokens with argon2's least cost.

    One of full cost takes 0.2 s of processor time and 64 MiB, and a test makes some. A digest names
    its cost, so that the product reads both; `test_signin` looks at one of full cost.
    """
    least = partial(SLOW, time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argon2, "PasswordHasher", least)
        yield


@pytest.fixture
def course(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as one:
        yield one


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One course for all tests of a module, which must not disturb each other."""
    with served(tmp_path_factory.mktemp("course")) as one:
        yield one
