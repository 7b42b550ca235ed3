"""A short run of `python -m tests.batch.kill_batches`: five kills, then the same grades."""

from __future__ import annotations

import subprocess
import sys

from tests.command import ROOT


def test_killed_five_times() -> None:
    """In a process of its own, which becomes the parent of every orphan."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.batch.kill_batches", "--times", "5", "--count", "8"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  killed ") == 5
