"""The name that was most likely meant, for messages about a name that nothing has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """Of `names` the one most like `name`, or "" when none reaches `likeness`, from 0 to 1:
    difflib's ratio of the letters that match."""
    return next(iter(difflib.get_close_matches(name, list(names), 1, likeness)), "")


def did_you_mean(name: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """A question that names the nearest, or "" when nothing is near."""
    near = nearest(name, names, likeness)
    return f"did you mean `{near}`?" if near else ""
