"""Children that stay for further calls, and those that are started before there is a call."""

from __future__ import annotations

import atexit
import os
import socket
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from subprocess import TimeoutExpired
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any

from grader import replace
from grader.faults import Fault, MachineFault
from grader.sandbox.bubblewrap import Sandbox, find_sandbox, likely_sandbox, try_by_template
from grader.sandbox.call import NO_VARIABLES, WHILE_WAITING, start_child
from grader.sandbox.message import ANSWERED, Reply, SandboxFailure
from grader.sandbox.process import START_SECONDS, Child, Job, Limits, exchange, reply_of
from grader.sandbox.template import ChildLost, TemplateEnded

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_LIKELY = Limits(cpu=600.0, memory=9 << 28, output=1 << 30)
"""Those of the simulator for arrays of up to 4 MB; a call with others gets a child of its own."""


class KeptChild:
    """A child that stays after its reply, for the next calls with the same step and limits.

    The reply to a call is final before the child gets the request of the next one. What does not
    succeed in a child that has run before is done again in a new one: the result of a call is that
    of a child of its own.

    `begin` starts a child whose first reply `has_begun` waits for, `begin_idle` one that imports
    what its step needs until there is a call.

    Args:
        waits: Whether the context waits for the child's end; else that of the command does.
    """

    def __init__(self, *, waits: bool = True) -> None:
        self._waits = waits
        self._cleanup = ExitStack()
        self._ending: Thread | None = None
        self._unread = 0  # replies that come before that of the next call, and that nobody reads
        self._begun: tuple[Job, Child, Sandbox] | None = None
        self._child: Child | None = None
        self._terms: tuple[Any, ...] = ()

    def __enter__(self) -> KeptChild:
        return self

    def __exit__(self, *error: object) -> None:
        if self._waits or self._child is None:
            self.end()
            return
        thread = Thread(target=self._end_meanwhile, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread can be started
            self.end()
        else:
            self._ending = thread
            atexit.register(self.end)

    def _end_meanwhile(self) -> None:
        with suppress(OSError, TimeoutExpired):  # the kernel ends it with the command
            self.end()

    def end(self) -> None:
        """End the child."""
        if self._ending is not None and self._ending is not current_thread():
            self._ending.join()
        self._child = self._begun = None
        self._unread = 0
        self._cleanup.close()
        atexit.unregister(self.end)

    def begin(
        self, step: str, request: Any, *, limits: Limits, readable: tuple[Path, ...],
        devices: tuple[Path, ...], variables: Mapping[str, str],
    ) -> None:  # fmt: skip
        """Start a child as a new interpreter, in the sandbox that most likely works here.

        Nothing is waited for. Call it in the main thread: the system ends a child with its thread.
        """
        sandbox = likely_sandbox(begin=False)
        job = Job(step, os.urandom(16).hex(), limits, readable, devices, variables, None)
        with suppress(MachineFault, OSError, MemoryError), ExitStack() as cleanup:
            if sandbox is not None:
                started = start_child(job, request, {}, sandbox, forks=False, stays=True)
                self._begun = job, cleanup.enter_context(started), sandbox
                self._cleanup = cleanup.pop_all()

    def has_begun(self) -> bool:
        """Return whether a child was begun in a sandbox that works, and has replied."""
        if self._begun is None:
            return False
        (job, child, sandbox), self._begun = self._begun, None
        with ExitStack() as cleanup:
            cleanup.callback(self.end)
            with suppress(Fault, SandboxFailure, OSError):
                if find_sandbox() == sandbox:
                    reply_of(child, job, sandbox)
                    self._child, self._terms = child, job.terms
                    cleanup.pop_all()
        return self._child is not None

    def begin_idle(self, step: str, limits: Limits) -> None:
        """Start a child as `begin` does, whose step gets None, and which the next calls may use.

        That it answers also tells whether the sandbox works here.
        """
        sandbox = likely_sandbox(begin=False)
        job = Job(step, os.urandom(16).hex(), limits, (), (), NO_VARIABLES, None)
        with suppress(MachineFault, OSError, MemoryError), ExitStack() as cleanup:
            if sandbox is not None:
                started = start_child(job, None, {}, sandbox, forks=False, stays=True)
                self.keep(job, cleanup.enter_context(started), cleanup.pop_all())
                self._unread = 1
                try_by_template(sandbox, self._answers)

    def _answers(self) -> bool:
        """Wait for one reply, which nobody reads."""
        self._unread -= 1
        return self._child is not None and self._child.wait_for_reply(START_SECONDS) == "answered"

    def work_ahead(self, step: str, request: Any, limits: Limits) -> None:
        """Send a request of use for the next call, whose reply nobody reads, to an idle child."""
        job = Job(step, os.urandom(16).hex(), limits, (), (), NO_VARIABLES, None)
        if self._child is not None and self._child.channel and self._terms == job.terms:
            with suppress(OSError):
                memory = exchange(job, request, {}, self._cleanup)
                socket.send_fds(self._child.channel, [ANSWERED], memory)
                self._unread += 1

    def keep(self, job: Job, child: Child, cleanup: ExitStack) -> None:
        """Take over a child that has replied to a job; `cleanup` ends it."""
        self._child, self._terms, self._cleanup = child, job.terms, cleanup

    def run(self, job: Job, request: Any, arrays: Mapping[str, NDArray[Any]]) -> Reply | None:
        """Run a job in the child; None where there is none, or where it has no result there."""
        child = self._child
        if child is None or child.channel is None or self._terms != job.terms:
            self.end()
            return None
        with ExitStack() as memory:
            try:
                order, reply = exchange(job, request, arrays, memory)
                socket.send_fds(child.channel, [ANSWERED], [order, reply])
                for begin in WHILE_WAITING.get():
                    begin()
                while self._unread > 0:
                    if not self._answers():
                        raise ChildLost
                return reply_of(replace(child, reply=reply), job, None)
            except (Fault, SandboxFailure, ChildLost, TemplateEnded, OSError):
                self.end()
                return None
            except BaseException:  # it is still at work on this call
                self.end()
                raise


def begin_child(step: str) -> None:
    """Start the idle child that `begun_child` returns; call it in the main thread."""
    child = KeptChild(waits=False)
    child.begin_idle(step, MOST_LIKELY)
    atexit.register(child.end)
    _begun_of(os.getpid()).append(child)


def has_begun() -> bool:
    """Return whether there is such a child."""
    return bool(_begun_of(os.getpid()))


def begun_child() -> KeptChild:
    """Return the child that was begun and not taken yet, else one that a call has to start."""
    begun = _begun_of(os.getpid())
    return begun.pop() if begun else KeptChild()


@cache
def _begun_of(pid: int) -> list[KeptChild]:
    """The children that were begun and not taken yet; a forked copy of the grader has none."""
    return []
