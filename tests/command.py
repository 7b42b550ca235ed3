"""Run the command as a user does: in a process of its own, with its own folder and variables.

That process is forked from one that has imported what commands need; `real_start`, or a variable
that is read when a process starts, begins `python -m grader` anew.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests import processes
from tests.command_server import CLOSED, MESSAGE_BYTES
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "OPENBLAS_")
"""How variables begin that Python or a library reads once in a process."""


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
    timeout: float = PATIENCE,
    real_start: bool = False,
) -> CommandResult:
    """Run `grader WORDS` without a terminal; a command that hangs fails the test."""
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CI", *unset)}
    variables = {**variables, "PYTHONPATH": str(ROOT), **(env or {})}
    if real_start or any(name.startswith(READ_AT_START) for name in (*(env or {}), *unset)):
        done = subprocess.run(
            [sys.executable, "-m", "grader", *map(str, words)],
            cwd=cwd,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return CommandResult(done.returncode, done.stdout, done.stderr)
    with ExitStack() as files:
        nothing = files.enter_context(open(os.devnull, "rb"))
        out, err = (
            files.enter_context(open(os.memfd_create(name), "w+", encoding="utf-8"))
            for name in ("out", "err")
        )
        streams = (nothing.fileno(), out.fileno(), err.fileno())
        code = forked(words, cwd, variables, streams, timeout)
        texts = [file.read() for file in (out, err) if not file.seek(0)]
    return CommandResult(code, *texts)


def forked(
    words: Sequence[str | Path],
    cwd: Path,
    variables: dict[str, str],
    streams: tuple[int, int, int],
    timeout: float = PATIENCE,
) -> int:
    """Run `grader WORDS` with these descriptors, some of them CLOSED, and return its exit code."""
    try:
        server = _IDLE.get_nowait()
    except queue.Empty:
        server = _Server()
    order = _order(words, cwd, variables, streams)
    code = server.run(order, [number for number in streams if number != CLOSED], timeout)
    _IDLE.put(server)
    return code


def _order(
    words: Sequence[str | Path], cwd: Path, variables: dict[str, str], streams: Sequence[int]
) -> dict[str, object]:
    return {
        "words": list(map(str, words)),
        "folder": str(cwd),
        "environment": variables,
        "streams": streams,
        "modules": (),
        "session": False,
    }


class Begun:
    """A `grader WORDS` that goes on, in a session of its own, without streams.

    `modules` are imported before it is forked, and for all later ones: a command that is killed
    does not tell what it imported.
    """

    def __init__(self, *words: str, modules: Sequence[str] = ()) -> None:
        try:
            self._server = _LASTING.get_nowait()
        except queue.Empty:
            self._server = _Server()
        variables = {**os.environ, "PYTHONPATH": str(ROOT)}
        with open(os.devnull, "r+b") as nothing:
            streams = (nothing.fileno(),) * 3
            order = _order(words, ROOT, variables, streams)
            order |= {"modules": modules, "session": True}
            self.pid = self._server.begin(order, streams)
        self._code: int | None = None

    def wait(self, timeout: float = PATIENCE) -> int:
        """Return its exit code. Raises TimeoutError when it does not end."""
        if self._code is None:
            self._code = self._server.end(timeout)
            _LASTING.put(self._server)
        return self._code


class _Server:
    """A process that runs one command after the other; it ends with this one."""

    def __init__(self) -> None:
        self._socket, served = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with served:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.command_server"],
                stdin=served.fileno(),
                stdout=subprocess.DEVNULL,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        _SERVERS.append(self)

    def begin(self, order: dict[str, object], descriptors: Sequence[int]) -> int:
        message = json.dumps(order).encode()
        assert len(message) < MESSAGE_BYTES
        self._socket.settimeout(None)
        socket.send_fds(self._socket, [message], descriptors)
        return int(self._socket.recv(64))

    def end(self, timeout: float) -> int:
        self._socket.settimeout(timeout)
        return int(self._socket.recv(64))

    def run(self, order: dict[str, object], descriptors: list[int], timeout: float) -> int:
        pid = self.begin(order, descriptors)
        try:
            return self.end(timeout)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            words = order["words"]
            raise subprocess.TimeoutExpired(f"grader {words}", timeout) from None


_SERVERS: list[_Server] = []
_IDLE: queue.SimpleQueue[_Server] = queue.SimpleQueue()
_LASTING: queue.SimpleQueue[_Server] = queue.SimpleQueue()
"""Those of commands that go on, which have imported more."""


def descendants(standing: Set[int] = frozenset()) -> set[int]:
    """Return the ids of this process's running descendants; those that wait to be reaped not.

    What commands are forked from does not count, but what they leave, its child, does.

    Those of `standing` and their descendants are left out: a server or a browser that several
    tests share may start processes at any time.
    """
    children: dict[int, list[int]] = {}
    for pid in processes.ids():
        if processes.is_running(pid) and (parent := processes.parent_of(pid)) is not None:
            children.setdefault(parent, []).append(pid)
    servers = {server.process.pid for server in _SERVERS}
    running, waiting = set(), [os.getpid()]
    while waiting:
        new = [child for child in children.get(waiting.pop(), []) if child not in standing]
        running.update(set(new) - servers)
        waiting += new
    return running
