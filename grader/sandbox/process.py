"""One child of a box: the walls around it, its start, its end, and the end of all its kin."""

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
_OWN_PROCESSES = 4  # of a control group's: the shell that enters it, bubblewrap, its two halves


@dataclass(frozen=True)
class Isolation:
    """What stands around one child: a sandbox, a user of its own (0: it stays who we are), a
    control group.
    """

    sandbox: Sandbox | None
    uid: int
    group: ControlGroup | None


@dataclass(frozen=True)
class Child:
    """One started child, the walls around it, and the anonymous memory that it shares with us."""

    process: subprocess.Popen[bytes]
    walls: Isolation
    reply: int
    errors: int
    info: int


@contextmanager
def isolate(
    sandbox: Sandbox | None, shown: tuple[Path, ...], memory: int, processes: int
) -> Iterator[Isolation]:
    """What stands around one child that sees the paths `shown`: bytes (0: any) and processes of
    its whole tree. A control group comes on top: where none can be made, limits stand alone.
    """
    drops = sandbox.drops if sandbox else os.geteuid() == 0 and is_world_readable(shown)
    with ExitStack() as held:
        uid = held.enter_context(unprivileged_user()) if drops else 0
        if uid and not sandbox:
            held.callback(remove_leftovers, uid)
        bound = None
        parent = parent_group()
        if isinstance(parent, Path):
            with suppress(OSError):
                bound = held.enter_context(
                    control_group(parent, memory, processes + _OWN_PROCESSES)
                )
        yield Isolation(sandbox, uid, bound)


def start_process(
    command: list[str], variables: Mapping[str, str], shared: tuple[int, ...], errors: int
) -> subprocess.Popen[bytes]:
    """`command` with these variables alone, the descriptors `shared`, and `errors` for what it
    says on its standard error. MachineFault when there is no process to be had.
    """
    try:
        return subprocess.Popen(
            command,
            env=variables,
            cwd="/",
            stdin=subprocess.PIPE,  # its end tells the child that we have gone
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=shared,
            start_new_session=True,
        )
    except OSError as error:
        raise MachineFault(f"a child process could not be started: {error.strerror}") from error


def wait_for_exit(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end without reaping: until then the process keeps its group's number."""
    pidfd = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(pidfd)


def kill_tree(child: Child) -> None:
    """End whatever of the child's tree still runs, and reap it. A second time does nothing."""
    if child.process.returncode is not None:
        return
    if child.walls.sandbox:
        _kill_namespace(child)
    if child.walls.group:
        child.walls.group.kill()
    with suppress(ProcessLookupError):
        os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait(_REAP_SECONDS)
    if child.process.stdin:
        child.process.stdin.close()


def _kill_namespace(child: Child) -> None:
    """Kill the namespace's first process: the kernel then kills the rest, and bubblewrap, which
    is its parent, reaps it and ends by itself.
    """
    with suppress(ValueError, KeyError, ProcessLookupError):
        told = os.pread(child.info, 4096, 0).rstrip(b"\0")
        first = json.loads(told)["child-pid"]
        if wait_for_exit(child.process, 0):
            return
        os.kill(first, signal.SIGKILL)
        wait_for_exit(child.process, _REAP_SECONDS)
