"""A pytest plugin: run the tests in several processes, forked from one that has found all tests.

    python -m pytest -n 3

To find the tests takes five seconds of processor time, which a process of its own for each worker
would spend again; what a test module makes when it is imported is made once too. A file of tests is
the work of one process, which asks for the next file when it has run one. Reports are sent by the
batch: one message for each took longer than most tests do.
"""

from __future__ import annotations

import atexit
import mmap
import os
import pickle
import signal
import struct
import sys
import time
import traceback
import warnings
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

import pytest

BATCH_SECONDS, BATCH_REPORTS = 0.5, 60
"""When a worker sends its reports, if none has failed."""

END_SECONDS = 20.0
"""What a worker may take to end after an interruption."""

_PLACE = struct.Struct("i")
_NOWHERE = -1
_STOP = 0
"""Where all processes see that no further test is to begin; then, for each worker, its test."""


class Hooks:
    """What other plugins may define."""

    def pytest_worker_begins(self, config: pytest.Config, number: int) -> None:
        """Called in a worker before its first test."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    general = parser.getgroup("general")  # the letter is the one of pytest-xdist
    general._addoption("-n", "--workers", type=int, default=0, help="run tests in N processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests of each file in one of the workers."""
    config = session.config
    files: dict[Path, list[int]] = {}
    for number, item in enumerate(session.items):
        files.setdefault(item.path, []).append(number)
    count = min(config.getoption("workers"), len(files))
    alone = config.option.collectonly or config.option.usepdb or session.testsfailed
    if count < 1 or alone:
        return None  # as without this plugin
    with _Workers(session, count, deque(files.values())) as workers:
        workers.run()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


class _Worker:
    """A worker, as the process that hands out the work sees it."""

    def __init__(self, number: int, pid: int, connection: Connection) -> None:
        self.number, self.pid, self.connection = number, pid, connection
        self.pidfd = os.pidfd_open(pid)
        self.tests: Sequence[int] = ()
        self.done = 0
        self.has_ended = False

    def signs(self) -> list[Any]:
        """What becomes readable when it has something to tell, or is no more."""
        return [self.pidfd] if self.has_ended else [self.connection, self.pidfd]


class _Workers:
    """All workers, and what none of them has begun."""

    def __init__(self, session: pytest.Session, count: int, files: deque[list[int]]) -> None:
        self._session, self._files, self._count = session, files, count
        self._shared = mmap.mmap(-1, _PLACE.size * (count + 1))
        factory: Any = session.config._tmp_path_factory  # type: ignore[attr-defined]
        factory.getbasetemp()  # one for all workers
        self._working: dict[int, _Worker] = {}

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        """End what still runs: the tests were interrupted."""
        self._stop()
        for worker in self._working.values():
            worker.connection.close()
            for number in (signal.SIGINT, signal.SIGKILL):
                if not wait([worker.pidfd], END_SECONDS):  # a terminal has sent Ctrl-C to all
                    os.kill(worker.pid, number)
            os.waitpid(worker.pid, 0)

    def _stop(self) -> None:
        _PLACE.pack_into(self._shared, _STOP, 1)

    def run(self) -> None:
        for number in range(1, self._count + 1):
            self._begin(number, self._files.popleft() if self._files else [])
        while self._working:
            ready = {*wait([one for worker in self._working.values() for one in worker.signs()])}
            for worker in [
                one for one in self._working.values() if ready.intersection(one.signs())
            ]:
                self._receive(worker)
                if worker.pidfd in ready:
                    self._over(worker)
            if self._session.shouldfail or self._session.shouldstop:
                self._stop()

    def _begin(self, number: int, tests: Sequence[int]) -> None:
        """Fork a worker, and give it its first tests."""
        connection, theirs = Pipe()
        _PLACE.pack_into(self._shared, _PLACE.size * number, _NOWHERE)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of libraries' threads
            pid = os.fork()
        if not pid:
            for other in (connection, *(one.connection for one in self._working.values())):
                other.close()
            _work(self._session, number, theirs, self._shared)
        theirs.close()
        self._working[number] = worker = _Worker(number, pid, connection)
        self._give(worker, tests)

    def _give(self, worker: _Worker, tests: Sequence[int]) -> None:
        worker.tests, worker.done = tests, 0
        with suppress(OSError):  # its end is seen elsewhere
            worker.connection.send(list(tests))

    def _receive(self, worker: _Worker) -> None:
        """Pass on what a worker has sent, and give it the next file when it has run one."""
        with suppress(EOFError, OSError):
            while worker.connection.poll():
                worker.done, events = worker.connection.recv()
                for name, content in events:
                    getattr(self, f"_{name}")(worker, content)

    def _report(self, _: _Worker, report: Any) -> None:
        config = self._session.config
        if isinstance(report, dict):
            report = config.hook.pytest_report_from_serializable(config=config, data=report)
        config.hook.pytest_runtest_logreport(report=report)

    def _warning(self, _: _Worker, content: dict[str, Any]) -> None:
        message = warnings.WarningMessage(*content.pop("parts"))
        hook = self._session.config.hook.pytest_warning_recorded
        hook.call_historic(kwargs={"warning_message": message, **content})

    def _next(self, worker: _Worker, _: object) -> None:
        has_more = self._files and not (self._session.shouldfail or self._session.shouldstop)
        self._give(worker, self._files.popleft() if has_more else [])

    def _end(self, worker: _Worker, failure: str) -> None:
        worker.has_ended = True
        if failure:
            raise RuntimeError(f"a worker failed:\n{failure}")

    def _over(self, worker: _Worker) -> None:
        """Let another worker do what one leaves that has crashed."""
        status = os.waitpid(worker.pid, 0)[1]
        worker.connection.close()
        os.close(worker.pidfd)
        del self._working[worker.number]
        if worker.has_ended:
            return
        crashed = _PLACE.unpack_from(self._shared, _PLACE.size * worker.number)[0]
        code = os.waitstatus_to_exitcode(status)
        if crashed == _NOWHERE:
            raise RuntimeError(f"a worker ended with exit code {code} before its first test")
        item = self._session.items[crashed]
        text = f"the process of this test ended with exit code {code}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        self._report(worker, report)
        left = [number for number in worker.tests[worker.done :] if number != crashed]
        self._begin(worker.number, left)


def _work(session: pytest.Session, number: int, connection: Connection, shared: mmap.mmap) -> None:
    """Be a worker: run the tests that are given, and end this process."""
    failure = ""
    try:
        reports = _Reports(session, number, connection)
        with suppress(EOFError, KeyboardInterrupt):
            while (tests := connection.recv()) and reports.run(tests, shared):
                pass
        session._setupstate.teardown_exact(None)  # of the session's fixtures
    except BaseException:
        failure = traceback.format_exc()
        sys.stderr.write(failure)
    with suppress(BaseException):
        reports.end(failure)
    with suppress(BaseException):
        atexit._run_exitfuncs()
    os._exit(1 if failure else 0)


class _Reports:
    """The worker's plugin: it runs tests, and sends their reports."""

    def __init__(self, session: pytest.Session, number: int, connection: Connection) -> None:
        """Make what was one process's a worker's own: captured output, temporary files, reports."""
        self._session, self._config, self._number = session, session.config, number
        self._connection = connection
        self._events: list[tuple[str, Any]] = []
        self._sent = time.monotonic()
        config = self._config
        for one in list(weakref.finalize._registry):  # files of the first process, which it removes
            one.detach()
        config.pluginmanager.unregister(name="terminalreporter")
        capture: Any = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture(in_=False)
        factory: Any = config._tmp_path_factory  # type: ignore[attr-defined]
        base = factory.getbasetemp() / f"worker-{number}"
        base.mkdir(mode=0o700, exist_ok=True)
        factory._basetemp = base
        atexit.unregister(factory._exit_stack.close)  # the first process removes old folders
        config.pluginmanager.register(self, "worker")
        config.hook.pytest_worker_begins(config=config, number=number)

    def run(self, tests: Sequence[int], shared: mmap.mmap) -> bool:
        """Run tests of one file; return whether to go on."""
        session = self._session
        items = [session.items[test] for test in tests]
        after: list[Any] = [*items[1:], session]  # only its fixtures remain for another file
        for done, (item, following) in enumerate(zip(items, after, strict=True), 1):
            if _PLACE.unpack_from(shared, _STOP)[0]:
                return False
            _PLACE.pack_into(shared, _PLACE.size * self._number, tests[done - 1])
            self._config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                return False
            late = time.monotonic() > self._sent + BATCH_SECONDS
            if late or len(self._events) > BATCH_REPORTS:
                self._send(done)
        self._events.append(("next", None))
        self._send(len(items))
        return True

    def end(self, failure: str) -> None:
        """Send what is left, and what prevented a usual end."""
        self._events.append(("end", failure))
        self._send(0)

    def _send(self, done: int) -> None:
        self._connection.send((done, self._events))
        self._events, self._sent = [], time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self._config
        data = report if report.passed else None
        if data is None:  # a traceback has any objects
            data = config.hook.pytest_report_to_serializable(config=config, report=report)
        self._events.append(("report", data))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        one = warning_message
        category: Any = one.category
        try:
            pickle.dumps(category)
        except Exception:  # a class of a test
            category = UserWarning
        parts = (str(one.message), category, one.filename, one.lineno)
        content = {"parts": parts, "when": when, "nodeid": nodeid, "location": location}
        self._events.append(("warning", content))
