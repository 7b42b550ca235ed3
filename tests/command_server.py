"""The process that commands are forked from: python -m tests.command_server.

Starting Python and importing what a command needs takes ten times as long as most commands do. Here
it is done once: this process runs commands, each in a forked child, and imports afterwards what the
last one imported. A child begins as `python -m grader` does: with these words, this folder, these
variables and these streams, and nothing else of the test that runs it.

Its sandboxed steps are forked from templates (`grader.sandbox.template`). Those that a command has
started end with it. This process then starts its own of the same kind and lends them to all later
commands that are waited for; the children of a template would outlive a command that is killed.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import itertools
import json
import os
import pickle
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from grader.__main__ import main as command
from tests.processes import command_line, tree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLOSED = -1
"""In place of a descriptor: the command starts without this stream."""

MESSAGE_BYTES = 100_000
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_STREAMS = ("stdin", "stdout", "stderr")

MOST_TEMPLATES = 3
REHEARSING = 8
"""The command that has a template load what each child of the compiler needs."""

_TEMPLATE_MODULE = "grader.sandbox.template"
_TEMPLATE_SECONDS = 10.0


def main() -> None:
    """Serve one command after the other, until the socket on standard input is closed."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests end this process
    requests = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    lent = _Lent()
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
            if not order["session"]:
                lent.lend()
            _become(order, descriptors, report)
        for descriptor in (*descriptors, report):
            os.close(descriptor)
        requests.send(b"%d" % pid)
        status = os.waitpid(pid, 0)[1]
        os.set_blocking(reports, False)  # whatever outlives the command has its other end too
        with open(reports, "rb", buffering=0) as told:
            lines = (told.read(MESSAGE_BYTES) or b"").splitlines()
        ends = [json.loads(line) for line in lines]
        _import([name for end in ends for name in end["modules"]])
        if not order["session"]:
            lent.start([key for end in ends for key in pickle.loads(bytes.fromhex(end["keys"]))])
        code = os.waitstatus_to_exitcode(status)
        requests.send(" ".join(map(str, (code, *lent.processes))).encode())
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
    """Tell what was imported and which templates there are.

    The command tells it, and then the process that waits for it, which has none.
    """
    with suppress(OSError, KeyError):
        module = sys.modules.get(_TEMPLATE_MODULE)
        keys = [*module.templates()._by_key] if module else []
        told = {"modules": [*sys.modules], "keys": pickle.dumps(keys).hex()}
        os.set_blocking(report, False)
        os.write(report, json.dumps(told).encode() + b"\n")


class _Lent:
    """The templates of this process, and which processes they are."""

    def __init__(self) -> None:
        self._templates: dict[Any, Any] = {}
        self.processes: list[int] = []
        self._commands = 0

    def start(self, keys: list[Any]) -> None:
        """Start templates like those that a command has used, and wait for their processes."""
        self._commands += 1
        for key in dict.fromkeys(keys):
            is_lasting = not any(
                path.is_relative_to(tempfile.gettempdir()) for path in key.readable
            )
            if key in self._templates or len(self._templates) == MOST_TEMPLATES or not is_lasting:
                continue
            template = sys.modules[_TEMPLATE_MODULE].Template(key)
            end = time.monotonic() + _TEMPLATE_SECONDS
            while not (processes := _of_template(template._process.pid)):
                if time.monotonic() > end or not template.is_alive:
                    template.end()
                    return
                time.sleep(0.005)
            self._templates[key] = template
            self.processes += processes

    def lend(self) -> None:
        """Let the process of a command, and those that are forked from it, use the templates."""
        if not self._templates:
            return
        module = sys.modules[_TEMPLATE_MODULE]
        first = module.REHEARSED_AFTER + 1 + (self._commands != REHEARSING)

        class Borrowed(module.Template):
            """A template that is the child of another process."""

            def __init__(self, own: Any) -> None:
                vars(self).update(vars(own))
                self._numbers = itertools.count(first)

            @property
            def is_alive(self) -> bool:
                return not self._has_failed and not self.has_ended(0)

        class Templates(module.Templates):
            """The templates of a process, which begins with those that are lent."""

            def __init__(self) -> None:
                super().__init__()
                self._by_key.update(borrowed)

        borrowed = {key: Borrowed(own) for key, own in self._templates.items()}
        module.Templates = Templates


def _of_template(pid: int) -> list[int]:
    """Return a template's processes once it runs: bubblewrap's, and the last, which forks."""
    found = tree(pid)
    is_python = [Path(command_line(one).partition(" ")[0]).name.startswith("py") for one in found]
    return found if any(is_python) else []


def _import(names: list[str]) -> None:
    """Import what the command imported, in its order, for the next one."""
    for name in dict.fromkeys(names):
        if name not in sys.modules and not name.startswith(("__", "tests")):
            with suppress(Exception):  # a module that is no file, such as a lab's reference
                importlib.import_module(name)


if __name__ == "__main__":
    main()
