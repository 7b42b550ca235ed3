"""Wait for a condition with one long patience, so that no outcome depends on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

PATIENCE = 300
"""Seconds after which a wait fails a test; no outcome depends on it, on however busy a machine."""


def until(condition: Callable[[], Value]) -> Value:
    """Return the first true value of a condition. Raises TimeoutError after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)
    return value
