"""The process that commands are forked from: python -m tests.command_server.

Starting Python and importing what a command needs takes ten times as long as most commands do. Here
it is done once: this process runs commands, each in a forked child, and imports afterwards what the
last one imported. A child begins as `python -m grader` does: with these words, this folder, these
variables and these streams, and nothing else of the test that runs it.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from typing import Any

from grader.__main__ import main as command

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLOSED = -1
"""In place of a descriptor: the command starts without this stream."""

MESSAGE_BYTES = 100_000
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_STREAMS = ("stdin", "stdout", "stderr")


def main() -> None:
    """Serve one command after the other, until the socket on standard input is closed."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests end this process
    requests = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, MESSAGE_BYTES, 3)
        if not message:
            return
        order = json.loads(message)
        _import(order["modules"])
        reports, report = os.pipe()
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGINT, interrupt)
            for other in (requests.detach(), reports, nothing):
                os.close(other)
            _become(order, descriptors, report)
        for descriptor in (*descriptors, report):
            os.close(descriptor)
        requests.send(b"%d" % pid)
        status = os.waitpid(pid, 0)[1]
        requests.send(b"%d" % os.waitstatus_to_exitcode(status))
        os.set_blocking(reports, False)  # whatever outlives the command has its other end too
        with open(reports, "rb", buffering=0) as names:
            _import((names.read(MESSAGE_BYTES) or b"").decode().split("\n")[:-1])
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _become(order: dict[str, Any], descriptors: list[int], report: int) -> None:
    """Run the command in this forked process."""
    if order["session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(order["environment"])
    tempfile.tempdir = None
    os.chdir(order["folder"])
    sys.path[0] = order["folder"]
    left = iter(descriptors)
    for number, given in enumerate(order["streams"]):
        if given == CLOSED:
            os.close(number)
            setattr(sys, _STREAMS[number], None)  # as Python's start does it
        else:
            os.dup2(next(left), number)
    for descriptor in descriptors:
        os.close(descriptor)
    sys.argv[:] = [os.path.join(ROOT, "grader", "__main__.py"), *order["words"]]
    atexit.register(_tell_modules, report)
    command()


def _tell_modules(report: int) -> None:
    """Tell what was imported: by the command, and then by the process that waits for it."""
    with suppress(OSError):
        os.set_blocking(report, False)
        os.write(report, "\n".join([*sys.modules, ""]).encode())


def _import(names: list[str]) -> None:
    """Import what the command imported, in its order, for the next one."""
    for name in dict.fromkeys(names):
        if name not in sys.modules and not name.startswith(("__", "tests")):
            with suppress(Exception):  # a module that is no file, such as a lab's reference
                importlib.import_module(name)


if __name__ == "__main__":
    main()
