"""The function that bench.sandbox runs in a child: it returns its start on the system clock."""

from __future__ import annotations

import importlib
import time
from typing import Any


def start_time(request: Any, arrays: Any) -> tuple[float, dict[str, Any]]:
    """Return the time after importing the module that `request` names; "" for none."""
    if request:
        importlib.import_module(request)
    return time.monotonic(), {}
