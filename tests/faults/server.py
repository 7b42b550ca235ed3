"""The process that commands are forked from: python -m tests.faults.server [MODULE...].

It imports everything once, so that a run does not pay for that. A line of JSON on standard input
starts a command, which stops itself before it does anything, until it is traced; an empty line
waits for its end. Descendants that it leaves are given to this process, which reports them.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_LEFT_SECONDS = 3.0


def main() -> None:
    """Serve until standard input is closed."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    for name in ("grader.__main__", "grader.cli.app", *sys.argv[1:]):
        with suppress(ImportError):
            importlib.import_module(name)
    while line := _line():
        pid = os.fork()
        if not pid:
            _become(json.loads(line))
            return
        os.write(1, b"%d\n" % pid)
        _line()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(1, json.dumps({"code": code, "left": _left()}).encode() + b"\n")


def _line() -> bytes:
    """Read a line without a buffer, which a forked process would have too."""
    line = b""
    while not line.endswith(b"\n") and (more := os.read(0, 1)):
        line += more
    return line


def _become(order: dict[str, Any]) -> None:
    """Run the command in this forked process."""
    os.setsid()
    os.environ.clear()
    os.environ.update(order["environment"])
    tempfile.tempdir = None
    os.chdir(order["folder"])
    text = os.open(order["text"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (text, 1), (text, 2)):
        os.dup2(source, target)
    os.closerange(3, 64)
    if order["stop_forks"]:
        os.register_at_fork(after_in_child=_stop_forked(os.getpid()))
    sys.argv[:] = ["grader", *order["words"]]
    os.kill(os.getpid(), signal.SIGSTOP)
    from grader.__main__ import main as command

    if order["modules"]:
        atexit.register(_write_modules, Path(order["modules"]))
    command()


def _write_modules(path: Path) -> None:
    """Write the names of the imported modules; the process that waits for the command is last."""
    path.write_text(json.dumps(sorted(sys.modules)))


def _stop_forked(watcher: int) -> Callable[[], None]:
    """Return what stops a forked process, unless it is the command that `watcher` starts."""

    def stop() -> None:
        if os.getppid() != watcher:
            os.kill(os.getpid(), signal.SIGSTOP)

    return stop


def _left() -> list[str]:
    """Reap and return what the command left running after some time; it is killed then."""
    deadline = time.monotonic() + _LEFT_SECONDS
    while _children() and time.monotonic() < deadline:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.005)
    left = []
    while children := _children():
        for child in children:
            line = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ")
            left.append(line.decode(errors="replace")[:200])
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return left


def _children() -> list[int]:
    me = os.getpid()
    return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]


if __name__ == "__main__":
    main()
