"""Start and use templates: confined processes that fork a child for each step (`template_child`).

Python and NumPy take 0.2 s of CPU time to start, a fork and its namespaces a few milliseconds. A
template is started by the first step that needs it, serves every later one that sees the same files
and environment, and ends with the grader. It never reads a request or a reply: the children get the
descriptors of both.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import socket
import struct
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from grader import dataclass
from grader.sandbox import ENDED, FAILED, STARTED, STATUS
from grader.sandbox.bubblewrap import (
    Sandbox,
    python_executable,
    python_folders,
    sandbox_environment,
)

MODULES = (
    "grader.simulator.simulate",
    "grader.simulator.core.bindings:core",
    "grader.simulator.work",
    "grader.feedback.ptx_search",
    "grader.feedback.trials",
    "grader.sandbox.user",
    "grader:compile_regexes",
)
"""What a template imports for the steps that grading takes, and calls: the core, checked once."""

COMPILER_MODULES = ("grader.compile.nvrtc",)
"""What the compiler's template imports: little, so that it starts and forks faster."""

REHEARSED_AFTER = 5  # children; to rehearse takes longer than all of them gain

MOST_TEMPLATES = 4  # at the same time; the one that was unused for longest ends first

START_SECONDS = 60.0
"""Time limit for the start of a template and of a child, on a machine under load."""

NOT_SET_UP = 1 << 16
"""The exit code, which no process has, of a child that could not be set up."""

LOST = 1 << 17
"""The exit code, which no process has, of a child whose init process ended without a report."""

_SCRATCH_BYTES = 1 << 20
_END_SECONDS = 10.0
_DEATH_SECONDS = 1.0  # between the ends of two processes that one event kills
_REPLACED = (Path("/tmp"), Path("/dev/shm"))
_START = (
    "import sys; sys.path[:0] = [sys.argv[2]]; "
    "from grader.sandbox.template_child import main; main()"
)

Rehearsal = tuple[str, Mapping[str, Any]]
"""A step and a request that has nothing of a submission; what it loads, later children find."""


class TemplateEnded(Exception):
    """There is no template: it could not be started, or ended before it forked the child."""


class ChildLost(Exception):
    """The child ended because its template did; its job has to be repeated with another one."""


class ForkedChild:
    """A child of a template, as the grader sees it.

    Attributes:
        returncode: The exit code, or minus the number of the signal that ended it; None while it
            runs.
        cpu: Its seconds of processor time, known at its end.
    """

    def __init__(self, template: Template, report: socket.socket, pidfd: int) -> None:
        self.returncode: int | None = None
        self.cpu = 0.0
        self._template = template  # it must not end before its child
        self._report = report
        self._pidfd = pidfd

    @property
    def report(self) -> int:
        """A descriptor that becomes readable when it ends."""
        return self._report.fileno()

    def ended_with_template(self) -> bool:
        """Return whether it ended because its template did, or was about to.

        No event outside the child's own namespace ends its init process but the end of the
        template and a kill from outside. A child that was killed, or could not be created, may be
        a step ahead of its template.
        """
        if self.returncode == LOST:
            self._template.dismiss()
            return True
        may_be = self.returncode in (-signal.SIGKILL, NOT_SET_UP)
        return may_be and self._template.has_ended(_DEATH_SECONDS)

    @property
    def pid(self) -> int:
        """The process id in the grader's PID namespace; -1 after its end."""
        rows = Path(f"/proc/self/fdinfo/{self._pidfd}").read_text().splitlines()
        pid = next((int(row.split()[1]) for row in rows if row.startswith("Pid:")), -1)
        if pid <= 0:  # ended, or not in the namespace of /proc; 0 in cgroup.procs is the writer
            raise ProcessLookupError("a child has no process id here")
        return pid

    def start(self) -> None:
        """Let it begin its step."""
        with suppress(OSError):  # its end is reported by `wait`
            self._report.send(b"g")

    def wait(self, seconds: float) -> bool:
        """Return whether it ends in time."""
        deadline = time.monotonic() + seconds
        while self.returncode is None:
            poll = select.poll()
            poll.register(self._report, select.POLLIN)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                return False
            self.returncode, self.cpu = _status(self._report)
        return True

    def kill(self) -> None:
        """End it and all its descendants: it is process 1 of its PID namespace."""
        if self._pidfd < 0:
            return
        try:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)  # readable after all descendants have ended
            if not poll.poll(_END_SECONDS * 1000):
                raise TimeoutError(f"a child did not end in {_END_SECONDS:g} s after SIGKILL")
            if not self.wait(0):
                self.returncode = LOST
        finally:
            self._report.close()
            os.close(self._pidfd)
            self._pidfd = -1


@dataclass(frozen=True)
class Key:
    """What the children of one template have in common: all that they can see."""

    sandbox: Sandbox
    readable: tuple[Path, ...]
    packages: tuple[Path, ...]
    modules: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]


def template_key(
    step: str, sandbox: Sandbox, packages: list[Path], readable: tuple[Path, ...],
    variables: Mapping[str, str],
) -> Key:  # fmt: skip
    """Return what the children of a step have in common, which sees these paths."""
    module = step.partition(":")[0]
    groups = (group for group in (MODULES, COMPILER_MODULES) if module in group)
    modules = next(groups, (*MODULES, module))
    return Key(sandbox, readable, tuple(packages), modules, tuple(sorted(variables.items())))


def visible_paths(packages: list[Path], readable: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Return the paths that a child sees besides the system's."""
    return (*python_folders(), *packages, *(path.absolute() for path in readable))


class Template:
    """One template process."""

    def __init__(self, key: Key) -> None:
        """Start it without waiting for it.

        Raises:
            TemplateEnded: It cannot be started.
            OSError: There is no descriptor or no memory for it.
        """
        self._has_failed = False
        self._numbers = itertools.count(1)
        self._new_user = not key.sandbox.drops_root
        self._visible = [str(p) for p in key.readable if {*_REPLACED} & {*p.parents}]
        with ExitStack() as cleanup:
            self._errors = os.memfd_create("warpgrade-template", os.MFD_CLOEXEC)
            cleanup.callback(os.close, self._errors)
            self._channel, channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            cleanup.enter_context(self._channel)
            with channel:
                command = _command(key, channel.fileno())
                self._process = _started(command, key, channel, self._errors)
            cleanup.pop_all()
        self._end = weakref.finalize(
            self, _end, os.getpid(), self._process, self._channel, self._errors
        )

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._end.alive and not self._has_failed and not _has_ended(self._process)

    def dismiss(self) -> None:
        """Fork no more children; it ends with its last child."""
        self._has_failed = True

    def has_ended(self, seconds: float) -> bool:
        """Return whether it ends in time; no more children are forked then."""
        poll = select.poll()
        poll.register(self._channel, 0)  # POLLHUP: no process has the other end
        if not poll.poll(seconds * 1000):
            return False
        self.dismiss()
        return True

    def fork(
        self, arguments: Mapping[str, Any], descriptors: Sequence[int], uid: int,
        scratch: int, rehearsal: Rehearsal | None = None,
    ) -> ForkedChild:  # fmt: skip
        """Create a child that waits for `start`.

        Args:
            arguments: What `inside.run` needs.
            descriptors: The request, the reply, the errors, and the channel of one that stays.
            uid: The user that it becomes; 0 for the template's.
            scratch: Bytes of its private /tmp.
            rehearsal: What the template does once, after REHEARSED_AFTER children.

        Raises:
            TemplateEnded: The template has ended.
            OSError: A descriptor cannot be sent.
        """
        order = {
            "arguments": dict(arguments), "uid": uid, "scratch": scratch,
            "new_user": self._new_user, "visible": self._visible,
        }  # fmt: skip
        report, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                fds = [theirs.fileno(), *descriptors]
                if next(self._numbers) == REHEARSED_AFTER + 1 and rehearsal is not None:
                    self._channel.send(json.dumps(rehearsal).encode())
                socket.send_fds(self._channel, [json.dumps(order).encode()], fds)
            return ForkedChild(self, report, _pidfd(report))
        except (ConnectionError, TemplateEnded):
            self.dismiss()  # the next step gets another one
            report.close()
            detail = os.pread(self._errors, 4096, 0).decode(errors="replace").strip()
            raise TemplateEnded(detail.splitlines()[-1] if detail else "it ended") from None
        except BaseException:
            report.close()
            raise

    def end(self) -> None:
        """End it and all its children."""
        self._end()


class Templates:
    """The templates of this process.

    Attributes:
        are_usable: False once one of them could not give a child its namespaces, which some
            machines forbid inside a sandbox; every step then starts a new interpreter.
    """

    def __init__(self) -> None:
        self.are_usable = True
        self._lock = Lock()
        self._by_key: dict[Key, Template] = {}

    def get(self, key: Key) -> Template:
        """Return the template for `key`; start it unless there is one that runs.

        Raises:
            TemplateEnded: It cannot be started.
            OSError: There is no descriptor or no memory for it.
        """
        with self._lock:
            template = self._by_key.pop(key, None)
            if template is None or not template.is_alive:
                template = Template(key)
            self._by_key[key] = template  # the last one is the one that was used last
            while len(self._by_key) > MOST_TEMPLATES:
                self._by_key.pop(next(iter(self._by_key)))  # it ends with its last child
            return template


def templates() -> Templates:
    """Return the templates of this process; a forked copy of the grader has its own."""
    return _templates_of(os.getpid())


@cache
def _templates_of(pid: int) -> Templates:
    return Templates()


def _command(key: Key, channel: int) -> list[str]:
    sites = [str(p) for p in python_folders() if p.name.endswith("-packages")]
    order = {
        "channel": channel,
        "path": [*(str(p.parent) for p in key.packages[1:]), *sites],
        "modules": key.modules,
    }
    root = str(key.packages[0].parent)
    inner = [python_executable(), "-I", "-S", "-B", "-c", _START, json.dumps(order), root]
    return key.sandbox.command(inner, key.readable, _SCRATCH_BYTES, is_template=True)


def _started(
    command: list[str], key: Key, channel: socket.socket, errors: int
) -> subprocess.Popen[bytes]:
    """Start the process. It ends when the other end of its channel is closed."""
    own, none = {**sandbox_environment(), **dict(key.variables)}, subprocess.DEVNULL
    try:
        return subprocess.Popen(
            command, env=own, cwd="/", stdin=none, stdout=none, stderr=errors,
            pass_fds=(channel.fileno(),), start_new_session=True)  # fmt: skip
    except OSError as error:
        raise TemplateEnded(str(error)) from error


def _pidfd(report: socket.socket) -> int:
    """Wait for the host's first message, and return the child's pidfd."""
    poll = select.poll()
    poll.register(report, select.POLLIN)
    if not poll.poll(START_SECONDS * 1000):
        raise TemplateEnded
    message, descriptors, _, _ = socket.recv_fds(report, 16, 1, socket.MSG_CMSG_CLOEXEC)
    if message != STARTED or not descriptors:
        raise TemplateEnded
    return descriptors[0]


def _status(report: socket.socket) -> tuple[int, float]:
    """Return the exit code and the seconds of processor time that the host reports."""
    with suppress(OSError, struct.error):
        message = report.recv(32)
        if message == FAILED:
            return NOT_SET_UP, 0.0
        if message[:1] == STATUS:
            return struct.unpack(ENDED, message[1:])
    return LOST, 0.0


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether it has ended. Its number stays its own until `_end`."""
    with suppress(ChildProcessError):
        how = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return bool(os.waitid(os.P_PID, process.pid, how))
    return True


def _end(owner: int, process: subprocess.Popen[bytes], channel: socket.socket, errors: int) -> None:
    if os.getpid() != owner:
        return
    with suppress(OSError):
        channel.close()  # the template ends by itself, and its namespace with it
    with suppress(OSError):  # its group may outlive it: what it started before it was killed
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    with suppress(OSError):
        os.close(errors)
