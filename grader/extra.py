"""How to get what one of the package's extras needs, for the Python that runs here."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires

_OF_EXTRA = re.compile(r"^(?P<needed>[^;]+);.*\bextra == [\"'](?P<extra>[\w-]+)[\"']")


def install(extra: str) -> str:
    """The command that installs what `extra` needs. It names the packages themselves: `pip` alone
    may be another Python's, and the package index has none of our name."""
    try:
        rows = [_OF_EXTRA.match(row) for row in requires("warpgrade") or ()]
    except PackageNotFoundError:
        rows = []
    needed = [row["needed"].strip() for row in rows if row and row["extra"] == extra]
    return shlex.join([sys.executable, "-m", "pip", "install", *(needed or [f".[{extra}]"])])
