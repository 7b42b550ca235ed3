"""One child process: its isolation, its start, its end, and the end of all its descendants."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from grader import dataclass, replace
from grader.faults import MachineFault
from grader.sandbox.bubblewrap import Sandbox, python_folders
from grader.sandbox.cgroup import ControlGroup, control_group, parent_group
from grader.sandbox.message import (
    ANSWERED,
    USAGE_BYTES,
    Reply,
    SandboxFailure,
    create_memory,
    exit_failure,
    read_reply,
    read_stderr,
    read_usage,
    seal_memory,
    seal_reply,
    write_message,
)
from grader.sandbox.template import NOT_SET_UP, ChildLost, ForkedChild, Rehearsal, TemplateEnded
from grader.sandbox.user import is_world_readable, remove_leftovers, unprivileged_user

if TYPE_CHECKING:
    from numpy.typing import NDArray

START_SECONDS = 30.0
"""Time for a child to start: one that could not set up its sandbox may wait for ever."""

_REAP_SECONDS = 10.0
_BUSY_SHARE = 0.5  # of the wall time, as processor time, that makes its end the child's own
_OWN_PROCESSES = 4  # in a control group: the shell that enters it, bubblewrap, and its two halves


class Interrupted(BaseException):
    """The result of the steps that run is no longer wanted; no fault, and no result."""


class Interruption:
    """Ends all steps of this process, in whichever thread, while it is requested.

    An editor asks for a new result with every change of a source. What waits for a child raises
    Interrupted; the child ends as it does after any exception, and templates stay.

    Attributes:
        descriptor: Readable while it is requested.
    """

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def request(self) -> None:
        """End the steps that run, and those that begin until `clear`."""
        os.eventfd_write(self.descriptor, 1)

    def clear(self) -> None:
        """Let steps run again."""
        with suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)

    def check(self) -> None:
        """Raise Interrupted when it is requested."""
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        if poll.poll(0):
            raise Interrupted


def interruption() -> Interruption:
    """Return that of this process; a forked copy has its own."""
    return _interruption_of(os.getpid())


@cache
def _interruption_of(pid: int) -> Interruption:
    return Interruption()


@dataclass(frozen=True)
class Limits:
    """What one step may use.

    Attributes:
        wall: Seconds of wall time, a backstop: a child that reaches it after little processor
            time was stopped or waited for a core, which is a system error.
        cpu: Seconds of processor time.
        memory: Bytes of address space; 0 sets no limit, because CUDA reserves more address space
            than there is memory.
        output: Bytes of the reply, and of the child's private /tmp.
        processes: Processes and threads together.
    """

    wall: float = 20.0
    cpu: float = 60.0
    memory: int = 2 << 30
    output: int = 256 << 20
    processes: int = 64


@dataclass(frozen=True)
class Job:
    """What the caller requested, and the nonce that the reply must carry."""

    step: str
    nonce: str
    limits: Limits
    readable: tuple[Path, ...]
    devices: tuple[Path, ...]
    variables: Mapping[str, str]
    rehearsal: Rehearsal | None

    @property
    def terms(self) -> tuple[Any, ...]:
        """What has to be equal in two jobs of one child, besides its time."""
        limits = replace(self.limits, wall=0.0, cpu=0.0)
        return self.step, limits, self.readable, self.devices, dict(self.variables)


@dataclass(frozen=True)
class Isolation:
    """What isolates one child: a sandbox, an unprivileged user (0: the caller's), a group."""

    sandbox: Sandbox | None
    uid: int
    group: ControlGroup | None


@dataclass(frozen=True)
class Child:
    """One started child, its isolation, and the anonymous memory that it shares with the caller.

    `channel` leads to a child that stays for further requests.
    """

    process: subprocess.Popen[bytes] | ForkedChild
    isolation: Isolation
    reply: int
    errors: int
    info: int = -1
    channel: socket.socket | None = None

    @property
    def is_forked(self) -> bool:
        """Whether a template forked it."""
        return isinstance(self.process, ForkedChild)

    def wait(self, seconds: float) -> bool:
        """Return whether it ends in time; a new interpreter is not reaped."""
        if isinstance(self.process, ForkedChild):
            return self.process.wait(seconds)
        return wait_for_exit(self.process, seconds)

    def wait_for_reply(self, seconds: float) -> Literal["", "answered", "ended"]:
        """Return whether it answers, which only one that stays does, or ends in time.

        Raises:
            Interrupted: The steps of this process are interrupted.
        """
        deadline = time.monotonic() + seconds
        with self._end() as end:
            poll = select.poll()
            for descriptor in (end, interruption().descriptor):
                poll.register(descriptor, select.POLLIN)
            if self.channel is not None:
                poll.register(self.channel, select.POLLIN)
            poll.poll(seconds * 1000)
        interruption().check()
        if self.channel is None:
            return "ended" if self.wait(max(0.0, deadline - time.monotonic())) else ""
        with suppress(BlockingIOError, ConnectionError):
            if self.channel.recv(len(ANSWERED), socket.MSG_DONTWAIT) == ANSWERED:
                return "answered"
        return "ended" if self.wait(max(0.0, deadline - time.monotonic())) else ""

    @contextmanager
    def _end(self) -> Iterator[int]:
        """Lend a descriptor that becomes readable when it ends."""
        if isinstance(self.process, ForkedChild):
            yield self.process.report
            return
        pidfd = os.pidfd_open(self.process.pid)
        try:
            yield pidfd
        finally:
            os.close(pidfd)


def child_arguments(job: Job, isolation: Isolation, packages: list[Path]) -> dict[str, Any]:
    """Return what the child reads from its command line; the nonce is not among it."""
    limits = job.limits
    bounds = {"cpu": int(-(-limits.cpu // 1)), "output": limits.output + USAGE_BYTES}
    if limits.memory:
        bounds["memory"] = limits.memory
    if isolation.uid or (isolation.sandbox and os.geteuid() != 0):
        bounds["processes"] = limits.processes
    sites = [str(p) for p in python_folders() if p.name.endswith("-packages")]
    return {
        "step": job.step,
        "limits": bounds,
        "path": [*(str(p.parent) for p in packages[1:]), *sites],
        "uid": isolation.uid,
        "confined": isolation.sandbox is not None,
    }


def exchange(
    job: Job, request: Any, arrays: Mapping[str, NDArray[Any]], cleanup: ExitStack
) -> tuple[int, int]:
    """Return the descriptors of a request and of its reply's memory, until `cleanup`."""
    order = shared_memory(cleanup, "request")
    reply = shared_memory(cleanup, "reply", job.limits.output + USAGE_BYTES)
    write_message(order, job.nonce, request, arrays)
    seal_memory(order)
    return order, reply


def shared_memory(cleanup: ExitStack, name: str, size: int | None = None) -> int:
    """Return the descriptor of new anonymous memory, which `cleanup` closes."""
    fd = create_memory(name, size)
    cleanup.callback(os.close, fd)
    return fd


@contextmanager
def isolate(
    sandbox: Sandbox | None, readable: tuple[Path, ...], memory: int, processes: int
) -> Iterator[Isolation]:
    """Prepare the isolation of one child, and remove it at the end.

    A control group is used in addition to resource limits where one can be created.

    Args:
        sandbox: The sandbox to use, if any.
        readable: The paths that the child has to read.
        memory: The most bytes of its whole process tree; 0 sets no limit.
        processes: The most processes of its whole process tree.
    """
    drops = sandbox.drops_root if sandbox else os.geteuid() == 0 and is_world_readable(readable)
    with ExitStack() as cleanup:
        uid = cleanup.enter_context(unprivileged_user()) if drops else 0
        if uid and not sandbox:
            cleanup.callback(remove_leftovers, uid)
        group = None
        parent = parent_group()
        if isinstance(parent, Path):
            with suppress(OSError):
                group = cleanup.enter_context(
                    control_group(parent, memory, processes + _OWN_PROCESSES)
                )
        yield Isolation(sandbox, uid, group)


def start_process(
    command: list[str], variables: Mapping[str, str], shared: tuple[int, ...], errors: int
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own.

    Args:
        command: The program and its arguments.
        variables: Its whole environment.
        shared: The descriptors that it inherits.
        errors: The descriptor for its standard error.

    Raises:
        MachineFault: The process cannot be started.
    """
    try:
        return subprocess.Popen(
            command,
            env=variables,
            cwd="/",
            stdin=subprocess.PIPE,  # closed when the caller ends, which the child checks
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=shared,
            start_new_session=True,
        )
    except OSError as error:
        raise MachineFault(f"a child process could not be started: {error.strerror}") from error


def wait_for_exit(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Return whether the process ends in time.

    It is not reaped, so that its process group's number is not used again.
    """
    pidfd = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(pidfd)


def start_forked(child: Child) -> None:
    """Put a child that a template has forked into its control group, and let it begin."""
    assert isinstance(child.process, ForkedChild)
    try:
        if child.isolation.group:
            child.isolation.group.add(child.process.pid)
    except ProcessLookupError:
        if not child.wait(_REAP_SECONDS):  # it runs, but outside its control group
            raise
        return
    child.process.start()


def kill_tree(child: Child) -> None:
    """End all processes of the child's tree and reap it; a second call does nothing."""
    if isinstance(child.process, ForkedChild):
        child.process.kill()
        if child.isolation.group:
            child.isolation.group.kill()
        return
    if child.process.returncode is not None:
        return
    if child.isolation.sandbox:
        _kill_namespace(child)
    if child.isolation.group:
        child.isolation.group.kill()
    with suppress(ProcessLookupError):
        os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait(_REAP_SECONDS)
    if child.process.stdin:
        child.process.stdin.close()


def _kill_namespace(child: Child) -> None:
    """Kill the namespace's first process.

    The kernel then kills the others, and bubblewrap, its parent, reaps it and ends.
    """
    assert not isinstance(child.process, ForkedChild)
    with suppress(ValueError, KeyError, ProcessLookupError):
        info = os.pread(child.info, 4096, 0).rstrip(b"\0")
        first = json.loads(info)["child-pid"]
        if wait_for_exit(child.process, 0):
            return
        os.kill(first, signal.SIGKILL)
        wait_for_exit(child.process, _REAP_SECONDS)


def reply_of(child: Child, job: Job, sandbox: Sandbox | None) -> Reply:
    """Wait for a child's reply or its end, and return its reply; or why there is none."""
    limits = job.limits
    start = min(limits.wall, START_SECONDS)
    state = child.wait_for_reply(start)
    if not state and not read_usage(child.reply).began:
        raise SandboxFailure("timeout", f"it did not start in {start:g} s")
    state = state or child.wait_for_reply(limits.wall - start)
    if not state:
        # A child that used little processor time was stopped, or waited for a core.
        busy = read_usage(child.reply).cpu >= min(limits.cpu, limits.wall * _BUSY_SHARE)
        detail = f"it ran for more than {limits.wall:g} s"
        raise SandboxFailure("timeout", detail, caused_by_child=busy)
    if state == "ended":
        kill_tree(child)
        _raise_failure(child, limits, sandbox)
    seal_reply(child.reply)
    return read_reply(child.reply, job.nonce, job.step, limits.memory)


def _raise_failure(child: Child, limits: Limits, sandbox: Sandbox | None) -> None:
    """Raise why a child that has ended has no reply, if it has none."""
    status = child.process.returncode
    if not status:
        return
    if child.isolation.group and child.isolation.group.ran_out_of_memory():
        detail = f"its processes together needed more than {limits.memory >> 20} MB"
        raise SandboxFailure("memory", detail, caused_by_child=True)
    if isinstance(child.process, ForkedChild) and child.process.ended_with_template():
        raise ChildLost
    errors, usage = read_stderr(child.errors), read_usage(child.reply)
    if isinstance(child.process, ForkedChild) and usage.began:  # its samples lag under load
        usage = replace(usage, cpu=max(usage.cpu, child.process.cpu))
    if status == NOT_SET_UP:
        raise TemplateEnded(errors.rstrip(b"\0").decode(errors="replace"))
    confined = sandbox is not None and not child.is_forked
    raise exit_failure(status, errors, usage, limits.cpu, limits.memory, confined)
