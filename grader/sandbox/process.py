"""One child process: its isolation, its start, its end, and the end of all its descendants."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from grader.faults import MachineFault
from grader.sandbox.bubblewrap import Sandbox
from grader.sandbox.cgroup import ControlGroup, control_group, parent_group
from grader.sandbox.user import is_world_readable, remove_leftovers, unprivileged_user

_REAP_SECONDS = 10.0
_OWN_PROCESSES = 4  # in a control group: the shell that enters it, bubblewrap, and its two halves


@dataclass(frozen=True)
class Isolation:
    """What isolates one child: a sandbox, an unprivileged user (0: the caller's), a group."""

    sandbox: Sandbox | None
    uid: int
    group: ControlGroup | None


@dataclass(frozen=True)
class Child:
    """One started child, its isolation, and the anonymous memory that it shares with the caller."""

    process: subprocess.Popen[bytes]
    isolation: Isolation
    reply: int
    errors: int
    info: int


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


def kill_tree(child: Child) -> None:
    """End all processes of the child's tree and reap it; a second call does nothing."""
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
    with suppress(ValueError, KeyError, ProcessLookupError):
        info = os.pread(child.info, 4096, 0).rstrip(b"\0")
        first = json.loads(info)["child-pid"]
        if wait_for_exit(child.process, 0):
            return
        os.kill(first, signal.SIGKILL)
        wait_for_exit(child.process, _REAP_SECONDS)
