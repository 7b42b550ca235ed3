"""How `grader` ends: by a signal, by a library, and what it ends with itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT
from tests.patience import PATIENCE, until
from tests.processes import is_running

LAB = "vector-add"
SOLUTION = ROOT / "solutions" / LAB / f"{LAB}.cu"


def started(process: subprocess.Popen[Any]) -> int:
    """Wait for the process of the command, and return its ID."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(until(lambda: children.read_text().split())[0])


@pytest.mark.parametrize("seconds", [0.0, 0.03, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("to_both", [False, True], ids=["one", "both"])
def test_interrupt_ends_at_once_or_not_at_all(seconds: float, to_both: bool) -> None:
    """At any moment, by `kill` or by a terminal: no traceback, and no wait for what was left."""
    words = [sys.executable, "-m", "grader", "check", LAB, str(SOLUTION)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with process:
        pid = started(process)
        time.sleep(seconds)
        if to_both:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE)[1]
    assert (process.returncode, said) in [(130, "stopped\n"), (0, "")]


def test_interrupt_that_is_ignored_stays_ignored() -> None:
    """As for the background jobs of a shell."""
    words = [sys.executable, "-m", "grader", "check", LAB, str(SOLUTION)]
    ignored = ["env", "--ignore-signal=INT", *words]
    process = subprocess.Popen(ignored, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with process:
        os.kill(started(process), signal.SIGINT)
        assert process.communicate(timeout=PATIENCE)[1] == b""
    assert process.returncode == 0


NEVER_ENDING = """\
import atexit, sys, threading, time
from importlib.abc import MetaPathFinder
from grader import __main__ as command
class Hangs(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == 'grader.cli.check':
            threading.Thread(target=time.sleep, args=(300,)).start()
            atexit.register(time.sleep, 300)
            atexit.register(lambda: 1 / 0)
sys.meta_path.insert(0, Hangs())
command._END_SECONDS = 1
command.main()
"""
"""A command of which a thread, and what is done at exit, do not end; and an error at exit."""


def test_end_that_hangs_keeps_the_exit_code() -> None:
    words = [sys.executable, "-c", NEVER_ENDING, "check", LAB, str(SOLUTION)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "score 100 of 100" in done.stdout


ENDING = """\
import os, subprocess, sys
from importlib.abc import MetaPathFinder
class Ends(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == 'numpy':
            subprocess.run(['sh', '-c', 'exec setsid sleep 300 >/dev/null 2>&1 & echo $! > left'])
            os._exit(1)
sys.meta_path.insert(0, Ends())
"""
"""A sitecustomize.py: a library that starts a process in a new session and ends this one."""


def test_command_that_a_library_ends_is_a_system_error(tmp_path: Path) -> None:
    """Exit code 1 of a library would mean that a check fails. Nothing that it started remains."""
    (tmp_path / "sitecustomize.py").write_text(ENDING)
    line = 'sleep 300 >/dev/null 2>&1 & echo $! > before; exec "$@"'
    words = ["sh", "-c", line, "sh", sys.executable, "-m", "grader", "check", LAB, str(SOLUTION)]
    path = f"{tmp_path}:{ROOT}"
    done = subprocess.run(
        words, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, cwd=tmp_path
    )
    before, left = (int((tmp_path / name).read_text()) for name in ("before", "left"))
    os.kill(before, signal.SIGKILL)  # not the command's own
    assert done.returncode == 3
    assert "grader was ended by a library, with code 1" in done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(left, 0)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, 3), (signal.SIGSEGV, 3), (signal.SIGTERM, -15), (signal.SIGHUP, -1)],
)
def test_end_of_the_command_by_a_signal(number: int, code: int) -> None:
    """The command has the default signals: under nohup the tests ignore one of them."""
    words = ["env", "--default-signal", sys.executable, "-m", "grader", "check", LAB, str(SOLUTION)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        os.kill(started(process), number)
        assert process.wait(PATIENCE) == code
        said = process.stderr.read().decode() if process.stderr else ""
    assert (f"ended by signal {signal.Signals(number).name}" in said) == (code == 3)


def test_command_ends_with_the_process_that_waits_for_it(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "grader", "check", LAB, str(SOLUTION)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        pid = started(process)
        time.sleep(0.1)
        process.kill()
    until(lambda: not is_running(pid))
