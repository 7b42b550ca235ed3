"""A process that is stopped, as by a suspended machine, never costs a point."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.faults.tracing import tree
from tests.faults.workplace import Workplace, grade_summary
from tests.patience import PATIENCE, until
from tests.processes import names

SECONDS = 1.5
"""How long a process is stopped: longer than the time limit of a launch, `LIMIT`."""

LIMIT = "0.25"
STEPS = {"compile": "nvrtc:compile_v", "simulate": "simulate:run", "template": "template_child"}
"""What the name of a step's process contains, or its command line."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    folder = tmp_path_factory.mktemp("stopped")
    for one in (folder, folder.parent):
        one.chmod(0o755)
    made = Workplace(folder / "course", ("check",))
    yield made
    made.close()


@pytest.mark.parametrize("submission", ["correct", "incorrect"])
@pytest.mark.parametrize("step", [*STEPS, "reference", "command"])
def test_stopped_process(place: Workplace, tmp_path: Path, step: str, submission: str) -> None:
    words = [*place.words("check", submission, tmp_path), "--limit", LIMIT]
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", *words],
        env=os.environ | {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
    stopped = until(lambda: found(process.pid, step))
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    time.sleep(SECONDS)
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    code, expected = place.expected["check", submission]
    assert process.wait(PATIENCE) == code
    assert {"": grade_summary(json.loads((tmp_path / "result.json").read_text()))} == expected


def found(pid: int, step: str) -> list[int]:
    """Return the processes of a step in the tree of a process that run now."""
    pids = tree(pid)
    if step in STEPS:
        return [one for one in pids if STEPS[step] in names(one)]
    number = {"command": 1, "reference": 2}[step]
    return pids[number : number + 1]
