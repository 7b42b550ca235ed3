"""The real command in a process of its own, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Said:
    """What a command printed, and the code it exited with."""

    code: int
    out: str
    err: str


def grader(
    *words: str | Path,
    cwd: Path = ROOT,
    env: dict[str, str] | None = None,
    unset: Sequence[str] = (),
    timeout: float = 60,
) -> Said:
    """Run `grader WORDS` without a terminal; a command that hangs fails the test."""
    around = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CI", *unset)}
    around["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "grader", *map(str, words)],
        cwd=cwd,
        env=around | (env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def descendants(standing: Set[int] = frozenset()) -> set[int]:
    """The living processes that came from this one, however deep; but none of `standing`, nor what
    came from those: a server or a browser that other tests share starts processes when it likes.
    One that has ended and waits to be reaped is none.
    """
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):  # it ended while we looked
            continue
        if state not in "ZX":
            children.setdefault(int(parent), []).append(int(stat.parent.name))
    found, waiting = set(), [os.getpid()]
    while waiting:
        new = [child for child in children.get(waiting.pop(), []) if child not in standing]
        found.update(new)
        waiting += new
    return found
