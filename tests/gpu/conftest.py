"""What a GPU test measured goes into the table of `make test-gpu`."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def row(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Call it with what the table is to say of this test."""
    return lambda text: record_property("row", text)
