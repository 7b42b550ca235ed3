"""A short run of `python -m tests.batch.kill_batches`: each activity is killed twice."""

from __future__ import annotations

import subprocess
import sys

from tests.command import ROOT
from tests.patience import PATIENCE


def test_killed_twice_in_each_activity() -> None:
    """In a process of its own, which becomes the parent of every orphan."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.batch.kill_batches",
            "--times",
            "8",
            "--count",
            "12",
            "--seed",
            "1",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  killed ") == 8
