"""The step that bench.box runs in a sandbox: it returns its start on the system-wide clock."""

from __future__ import annotations

import importlib
import time
from typing import Any


def began(request: Any, arrays: Any) -> tuple[float, dict[str, Any]]:
    """The time of the first instruction, after importing the module `request` names, if any."""
    if request:
        importlib.import_module(request)
    return time.monotonic(), {}
