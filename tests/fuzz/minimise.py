"""Roughly minimize an input that kills the process: halves of its lines, then single ones."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.build import environment
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


def ended(core: Path, *paths: Path) -> str:
    """The error output of a process that executed the input and failed; empty if it did not."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.child", str(core), *map(str, paths)],
        env=environment(core),
        cwd=ROOT,
        capture_output=True,
        timeout=PATIENCE,
    )
    output = done.stderr.decode(errors="replace")
    return "" if done.returncode == 0 else output or f"ended with {done.returncode}"


def dies(core: Path, path: Path) -> bool:
    """Whether this input kills its process, by a signal or a sanitiser."""
    output = ended(core, path)
    return "Sanitizer" in output or "runtime error" in output or output.startswith("ended with")


def minimised(core: Path, path: Path, seconds: float = 20.0) -> None:
    """Shortens the file in place as far as it still kills, within `seconds`."""
    ends, trial = time.monotonic() + seconds, path.with_suffix(".trial")
    header, *lines = path.read_text(errors="surrogateescape").split("\n")
    size = len(lines) // 2
    while size and time.monotonic() < ends:
        at = 0
        while at < len(lines) and time.monotonic() < ends:
            shorter = lines[:at] + lines[at + size :]
            trial.write_text("\n".join([header, *shorter]), errors="surrogateescape")
            if dies(core, trial):
                lines = shorter
            else:
                at += size
        size //= 2
    trial.unlink(missing_ok=True)
    path.write_text("\n".join([header, *lines]), errors="surrogateescape")
