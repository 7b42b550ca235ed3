"""Run the real command in a process of its own, as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class CommandResult:
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
) -> CommandResult:
    """Run `grader WORDS` without a terminal; a command that hangs fails the test."""
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CI", *unset)}
    variables["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "grader", *map(str, words)],
        cwd=cwd,
        env=variables | (env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def descendants(standing: Set[int] = frozenset()) -> set[int]:
    """Return the ids of this process's running descendants; those that wait to be reaped not.

    Those of `standing` and their descendants are left out: a server or a browser that several
    tests share may start processes at any time.
    """
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
        if state not in "ZX":
            children.setdefault(int(parent), []).append(int(stat.parent.name))
    running, waiting = set(), [os.getpid()]
    while waiting:
        new = [child for child in children.get(waiting.pop(), []) if child not in standing]
        running.update(new)
        waiting += new
    return running
