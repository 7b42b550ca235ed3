"""Start, ask and stop the processes that run reference code, each for one caller at a time.

A process is forked while the grader has one thread, which takes 4 ms, and started as a new
interpreter otherwise, which takes 140 ms and is safe with other threads. It ends with the grader,
however that ends: the kernel sends it SIGIO when the grader's end of a pipe is closed.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Condition
from typing import Any

from grader import regex
from grader.faults import CHECK_RESOURCES, LabFault, MachineFault, is_system_error, system_fault
from grader.labs.reference_child import (
    SERVING_FAILED,
    Call,
    Load,
    Raised,
    Returned,
    Started,
    receive,
    send,
    serve_forked,
)

START_SECONDS = 60.0
"""Time limit for the start of a process, on a machine under load."""

BUSY_SECONDS = 0.1
"""How long to wait for a busy process before another one is started, which takes as long."""

MAX_WAITS = 10
"""The times its time limit after which a process that could hardly run is a system error."""

_SLICE_SECONDS = 0.25
_END_SECONDS = 2.0
_TRACE_BYTES = 64 << 10
_MAIN = (
    "import os, sys; sys.path[:] = sys.argv[2:]\n"
    "try: from grader.labs.reference_child import main\n"
    f"except BaseException: os._exit({SERVING_FAILED})\n"
    "main()"
)
_FRAME = regex(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)


class CallTimeout(Exception):
    """The call did not return in time, and its process was stopped.

    Attributes:
        line: The line of reference.py that was running, or None.
    """

    def __init__(self, line: int | None) -> None:
        super().__init__("the call did not return in time")
        self.line = line


class ProcessEnded(Exception):
    """The process ended during a call.

    Attributes:
        code: Its exit code; minus the signal's number when a signal ended it.
        line: The line of reference.py that was running, or None.
    """

    def __init__(self, code: int, line: int | None) -> None:
        super().__init__(f"ended with {code}")
        self.code = code
        self.line = line


class Process:
    """One process that runs reference code, for one caller at a time.

    It is stopped by `end`, by the garbage collector, and when the interpreter exits.
    """

    def __init__(self) -> None:
        """Start the process without waiting for it.

        Raises:
            MachineFault: It cannot be started.
        """
        try:
            with ExitStack() as theirs, ExitStack() as ours:
                self._start(theirs, ours)
                ours.pop_all()
        except OSError as error:
            what = f"no process could be started for the reference: {error.strerror}"
            raise MachineFault(what) from error

    def _start(self, theirs: ExitStack, ours: ExitStack) -> None:
        """Start it; `theirs` closes what only the child needs, `ours` what only we need."""
        self._channel, channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.callback(self._channel.close)
        theirs.callback(channel.close)
        lifeline, kept = os.pipe()
        ours.callback(os.close, kept)
        theirs.callback(os.close, lifeline)
        self._trace = os.memfd_create("warpgrade-trace", os.MFD_CLOEXEC)
        ours.callback(os.close, self._trace)
        passed = (channel.fileno(), lifeline, self._trace)
        started = _forked(passed) if _is_single_threaded() else _executed(passed)
        self._pid = started if isinstance(started, int) else started.pid
        self._exit = os.pidfd_open(self._pid)
        descriptors = (kept, self._trace, self._exit)
        self._end = weakref.finalize(self, _end, os.getpid(), started, self._channel, descriptors)

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._end.alive and not _is_readable(self._exit, 0)

    def ask(self, path: str, request: Load | Call, seconds: float) -> Returned | Raised:
        """Send a request and wait for its reply.

        Args:
            path: The reference.py whose running line is reported when the request fails.
            request: The request.
            seconds: The time limit.

        Returns:
            What the reference returned, or what it raised.

        Raises:
            CallTimeout: There was no reply in time; the process is stopped.
            ProcessEnded: The process ended before it replied.
            MachineFault: The process did not start, or the machine kept it from running.
        """
        try:
            send(self._channel, request)
        except ConnectionError:
            raise self._ended(path) from None
        except OSError as error:
            what = f"the arguments cannot be passed to the reference: {error.strerror}"
            raise MachineFault(what) from error
        try:
            started = self._received(path, START_SECONDS)
        except ProcessEnded as ended:
            what = f"the process for the reference ended before it started (code {ended.code})"
            raise MachineFault(what, fix=CHECK_RESOURCES) from None
        if not isinstance(started, Started):
            self.end()
            what = f"a process for the reference did not start in {START_SECONDS:g} s"
            raise MachineFault(what, fix="check the load and the free memory of this machine")
        if self._answers_in(seconds):
            reply = self._received(path, _END_SECONDS)  # it is there, but a call may be interrupted
            if isinstance(reply, Returned | Raised):
                return reply
        raise self._timeout(path)

    def end(self) -> None:
        """Stop the process and all that it has started; a second call does nothing."""
        self._end()

    def _answers_in(self, seconds: float) -> bool:
        """Whether the process answers, or ends, within seconds that it could really use.

        Wall time counts while it sleeps, as in a deadlock. Otherwise its processor time counts: a
        process that is stopped or waits for a core, and a machine that is suspended, lose nothing.

        Raises:
            MachineFault: It could not use so much time in `MAX_WAITS` times as many seconds.
        """
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._exit, select.POLLIN)
        (_, cpu), used, now = _usage(self._pid), 0.0, time.monotonic()
        deadline = now + MAX_WAITS * seconds
        while used < seconds and now < deadline:
            if poll.poll(1000 * min(_SLICE_SECONDS, seconds - used)):
                return True
            before, cpu_before = now, cpu
            (state, cpu), now = _usage(self._pid), time.monotonic()
            slept = min(now - before, _SLICE_SECONDS) if state == "S" else 0.0
            used += max(slept, cpu - cpu_before)
        if used >= seconds:
            return False
        self.end()
        what = f"the reference could run for {used:.1f} s only in {MAX_WAITS * seconds:g} s"
        raise MachineFault(what, fix="check the load of this machine")

    def _received(self, path: str, seconds: float) -> Any:
        """The next message, or None when none came in time."""
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._exit, select.POLLIN)
        ready = dict(poll.poll(seconds * 1000))
        if not ready:
            return None
        try:
            if ready.get(self._channel.fileno(), 0) & select.POLLIN:
                return receive(self._channel)
        except (EOFError, ConnectionError):
            pass
        except Exception as error:  # whatever unpickling the author's own objects raises
            if isinstance(error, OSError) or is_system_error(error):
                what = "the reference's answer cannot be received"
                raise system_fault(error, what) from error
            what = f"the reference returned something that cannot be passed on: {error}"
            return Raised(what.splitlines()[0])
        raise self._ended(path)

    def _ended(self, path: str) -> ProcessEnded:
        _is_readable(self._exit, _END_SECONDS)
        line = self._line(path)
        return ProcessEnded(self._end() or 0, line)

    def _timeout(self, path: str) -> CallTimeout:
        """Have the process write its stack and end, which works inside a library's call too."""
        with suppress(ProcessLookupError, PermissionError):
            os.kill(self._pid, signal.SIGABRT)
        _is_readable(self._exit, _END_SECONDS)
        line = self._line(path)
        self.end()
        return CallTimeout(line)

    def _line(self, path: str) -> int | None:
        """The innermost line of `path` in the stack that faulthandler wrote.

        faulthandler escapes characters of file names that are not ASCII.
        """
        text = os.pread(self._trace, _TRACE_BYTES, 0).decode(errors="replace")
        name = path.encode("ascii", "backslashreplace").decode()
        return next((int(line) for file, line in _FRAME.findall(text) if file == name), None)


def _usage(pid: int) -> tuple[str, float]:
    """Return the state of a process, as /proc/PID/stat names it, and its processor time."""
    with suppress(OSError):  # it ended
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return "", 0.0


def _is_single_threaded() -> bool:
    """Whether this process has one thread, those of libraries included: only then is fork safe."""
    return len(os.listdir("/proc/self/task")) == 1


def _forked(passed: tuple[int, int, int]) -> int:
    """Fork a copy of this process that serves; return its process id."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
            stream.flush()
    pid = os.fork()
    if not pid:
        serve_forked(*passed)
    return pid


def _executed(passed: tuple[int, int, int]) -> subprocess.Popen[bytes]:
    """Start a new interpreter that serves, with the module search path of this one."""
    numbers = ",".join(map(str, passed))
    return subprocess.Popen(
        [sys.executable, "-c", _MAIN, numbers, *sys.path],
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
        stdin=subprocess.DEVNULL,
        pass_fds=passed,
        start_new_session=True,
    )


def _is_readable(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _end(
    owner: int,
    started: int | subprocess.Popen[bytes],
    channel: socket.socket,
    descriptors: tuple[int, ...],
) -> int:
    """Kill the process group, reap its leader and close its descriptors.

    A copy of the grader made by fork does nothing, because the process is not its child.

    Returns:
        The exit code as subprocess reports it.
    """
    if os.getpid() != owner:
        return 0
    pid = started if isinstance(started, int) else started.pid
    for kill in (os.killpg, os.kill):  # and the leader alone: its group may not exist yet
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    with suppress(OSError):  # it is closed all the same
        channel.close()  # a process that may not be killed ends when it reads from it
    if isinstance(started, int):
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    else:
        code = started.wait()
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)
    return code


class Pool:
    """The idle processes, and the count of busy ones."""

    def __init__(self, most: int) -> None:
        """Create a pool of at most `most` busy processes."""
        self._most = most
        self._idle: list[Process] = []
        self._busy = 0
        self._changed = Condition()

    def prepare(self, count: int) -> None:
        """Start processes without waiting for them, until there are `count`, busy ones included.

        Raises:
            MachineFault: One cannot be started.
        """
        with self._changed:
            while len(self._idle) + self._busy < min(count, self._most):
                self._idle.append(Process())

    @contextmanager
    def acquire(self) -> Iterator[Process]:
        """Lend a process to the caller.

        It is used again unless something other than the lab failed meanwhile.

        Raises:
            MachineFault: No process can be started.
        """
        process = self._take()
        try:
            yield process
        except LabFault:
            self._give_back(process)
            raise
        except BaseException:  # the next caller must not get a reply that is still pending
            process.end()
            self._give_back(process)
            raise
        else:
            self._give_back(process)

    def _take(self) -> Process:
        with self._changed:
            while not self._idle:
                freed = self._busy and self._changed.wait_for(
                    lambda: bool(self._idle), BUSY_SECONDS
                )
                if not freed and self._busy < self._most:
                    self._idle.append(Process())
            process = self._idle.pop()
            if not process.is_alive:  # it ended while it was idle
                process.end()
                process = Process()
            self._busy += 1
            return process

    def _give_back(self, process: Process) -> None:
        with self._changed:
            self._busy -= 1
            if process.is_alive:
                self._idle.append(process)
            else:
                process.end()
            self._changed.notify()


def pool() -> Pool:
    """Return the pool of this process."""
    return _pool_of(os.getpid())


@cache
def _pool_of(pid: int) -> Pool:
    """Create a pool for each process id: a forked copy of the grader starts its own processes.

    The processes end with the interpreter (`weakref.finalize`).
    """
    return Pool(os.cpu_count() or 1)
