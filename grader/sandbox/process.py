"""One child process: its isolation, its start, its end, and the end of all its descendants."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from grader import dataclass
from grader.faults import Fault, LabFault, MachineFault, StudentFault
from grader.sandbox.bubblewrap import Sandbox
from grader.sandbox.cgroup import ControlGroup, control_group, parent_group
from grader.sandbox.inside import USAGE_BYTES
from grader.sandbox.message import MessageError, read_message, seal_memory
from grader.sandbox.template import ForkedChild
from grader.sandbox.user import is_world_readable, remove_leftovers, unprivileged_user

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grader.launch import Finding

FailureReason = Literal["timeout", "memory", "crash", "output", "protocol"]

_FAULTS: Mapping[str, type[Fault]] = MappingProxyType(
    {kind.__name__: kind for kind in (StudentFault, LabFault, MachineFault)}
)
_CPU_SHARE = 0.8
_MEMORY_SHARE = 0.5
_OWN_SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)
"""Signals that code causes by what it does. SIGBUS is a page that could not be read."""

_OUT_OF_MEMORY = ("bad_alloc", "MemoryError", "out of memory", "Cannot allocate memory")


@dataclass(frozen=True)
class Reply:
    """What a step returned: a JSON value, and arrays that the caller owns."""

    value: Any
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """What a child is known to have used when it ended; zeros when it never began its step.

    Attributes:
        cpu: Seconds of processor time.
        peak: The largest address space in bytes.
        requested: Bytes of the allocation that failed, where known.
        reduced: The limits that it inherited smaller than the requested ones.
    """

    cpu: float = 0.0
    peak: int = 0
    requested: int = 0
    reduced: frozenset[str] = frozenset()

    @property
    def began(self) -> bool:
        """Whether the child began its step."""
        return self.peak > 0

    def reached_cpu(self, seconds: float) -> bool:
        """Return whether the child reached that limit of processor time; samples lag a little."""
        return "cpu" not in self.reduced and self.cpu >= _CPU_SHARE * seconds

    def reached_memory(self, limit: int) -> bool:
        """Return whether an allocation failed because of a limit of so many bytes.

        The allocation that fails is not part of the peak, and a container that doubles its size
        fails when it holds a third of the limit; no honest step comes near half of it.
        """
        if not limit or "memory" in self.reduced:
            return False
        return self.peak + self.requested > limit or self.peak >= _MEMORY_SHARE * limit


_NOT_KNOWN = Usage()


class SandboxFailure(Exception):
    """The child ended without a reply.

    Attributes:
        reason: One of five reasons.
        detail: How it ended, in a few words without a capital letter.
        caused_by_child: Whether the child is known to have reached a limit that it was really
            given. Every other death is a system error: no memory, a kill, a lost reply.
        signal: The signal that its own code caused, such as SIGSEGV; 0 when it ended otherwise.
        usage: What it had used, where it crashed.
    """

    def __init__(
        self,
        reason: FailureReason,
        detail: str,
        *,
        caused_by_child: bool = False,
        signal: int = 0,
        usage: Usage = _NOT_KNOWN,
    ) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: FailureReason = reason
        self.detail = detail
        self.caused_by_child = caused_by_child
        self.signal = signal
        self.usage = usage


def read_usage(fd: int) -> Usage:
    """Return what the child recorded at the end of its reply's memory."""
    record = os.pread(fd, USAGE_BYTES, os.fstat(fd).st_size - USAGE_BYTES)
    try:
        used = json.loads(record)
        reduced = frozenset(map(str, used["reduced"]))
        return Usage(float(used["cpu"]), int(used["peak"]), int(used["requested"]), reduced)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return Usage()  # it never began, or what it wrote is no record: nothing is known


def read_reply(fd: int, nonce: str, step: str, memory: int = 0) -> Reply:
    """Return the reply to the call with that nonce; `memory` is the child's limit in bytes.

    Raises:
        Fault: The one that the step raised; a MachineFault when the step failed otherwise.
        SandboxFailure: The child reports one, or (reason "protocol") what it wrote is not a
            reply to this call.
    """
    try:
        _, answer, arrays = read_message(fd, nonce)
    except MessageError as wrong:
        raise SandboxFailure("protocol", f"its reply cannot be read: {wrong}") from wrong
    match answer:
        case {"value": value}:
            return Reply(value, arrays)
        case {"fault": dict(description)}:
            raise _fault(description)
        case {"failure": "memory", "detail": str(detail)}:
            proven = read_usage(fd).reached_memory(memory)
            raise SandboxFailure("memory", detail, caused_by_child=proven)
        case {"failure": "output", "detail": str(detail), "proven": bool(proven)}:
            raise SandboxFailure("output", detail, caused_by_child=proven)
        case {"error": str(text), "where": str(where)}:
            cause = "of the grader or of its installation; the submission is not the cause"
            fix = f"report this defect {cause}"
            raise MachineFault(f"the step {step} failed: {text}", where=where, fix=fix)
    raise SandboxFailure("protocol", "its reply is neither a value nor a failure")


def exit_failure(
    status: int, errors: bytes, usage: Usage, cpu: float, memory: int, confined: bool
) -> SandboxFailure:
    """Return why a child with a nonzero exit status died, and whether a limit is proved.

    Args:
        status: The return code; bubblewrap reports a signal as 128 + its number.
        errors: What the child wrote to standard error.
        usage: What it had used.
        cpu: The limit of processor time in seconds.
        memory: The limit of address space in bytes; 0 for none.
        confined: Whether the child ran in bubblewrap.
    """
    number = -status if status < 0 else status - 128 if confined and status > 128 else 0
    text = errors.rstrip(b"\0").decode(errors="replace").strip()
    if number == signal.SIGXCPU or (number == signal.SIGKILL and usage.cpu >= cpu):
        proven = usage.reached_cpu(cpu)
        detail = f"it used more than {cpu:g} s of processor time"
        return SandboxFailure("timeout", detail, caused_by_child=proven)
    if any(words in text for words in _OUT_OF_MEMORY):
        proven = usage.reached_memory(memory)
        return SandboxFailure("memory", "an allocation failed", caused_by_child=proven)
    if number == signal.SIGKILL:
        what = "the system killed it, most likely because memory ran out"
        return SandboxFailure("memory", what)
    if number == signal.SIGXFSZ:
        proven = usage.began and "output" not in usage.reduced
        detail = "it wrote more than its limit to disk"
        return SandboxFailure("output", detail, caused_by_child=proven)
    if number and usage.reached_memory(memory):  # native code that does not check an allocation
        detail = f"signal {signal.Signals(number).name} ended it at its limit of memory"
        return SandboxFailure("memory", detail, caused_by_child=True)
    if number in set(signal.Signals):
        own = number if number in _OWN_SIGNALS and usage.began else 0
        detail = f"signal {signal.Signals(number).name} ended it"
        return SandboxFailure("crash", detail, signal=own, usage=usage)
    last = text.splitlines()[-1] if text else f"it ended with status {status}"
    return SandboxFailure("crash", last)


def read_stderr(fd: int) -> bytes:
    """Return what the child wrote to standard error, up to the size of its buffer."""
    return os.pread(fd, os.fstat(fd).st_size, 0)


def seal_reply(fd: int) -> None:
    """Make a child's reply final.

    Raises:
        SandboxFailure: A process can still write to it; the reason is "protocol".
    """
    try:
        seal_memory(fd)
    except OSError as error:
        raise SandboxFailure("protocol", "its reply is still being written") from error


def _fault(description: Mapping[str, Any]) -> Fault:
    kind = next((_FAULTS[n] for n in description.get("type", ()) if n in _FAULTS), None)
    texts = {name: description.get(name) for name in ("what", "where", "fix")}
    if kind is None or not all(isinstance(text, str) for text in texts.values()):
        raise SandboxFailure("protocol", "the fault that it reports is malformed")
    what, where, fix = cast(tuple[str, str, str], tuple(texts.values()))
    if kind is StudentFault:
        findings = tuple(_finding(row) for row in description.get("findings", ()))
        return StudentFault(what, where=where, fix=fix, findings=findings)
    return kind(what, where=where, fix=fix)


def _finding(row: Any) -> Finding:
    from grader.launch import Finding, OtherAccess  # needs NumPy

    try:
        values = {name: _frozen(value) for name, value in row.items()}
        if values.get("other"):
            values["other"] = OtherAccess(**{n: _frozen(v) for n, v in values["other"].items()})
        known = {f.name for f in fields(Finding)}
        return Finding(**{name: value for name, value in values.items() if name in known})
    except (TypeError, AttributeError) as error:
        raise SandboxFailure("protocol", "a finding that it reports is malformed") from error


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


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

    process: subprocess.Popen[bytes] | ForkedChild
    isolation: Isolation
    reply: int
    errors: int
    info: int = -1

    @property
    def is_forked(self) -> bool:
        """Whether a template forked it."""
        return isinstance(self.process, ForkedChild)

    def wait(self, seconds: float) -> bool:
        """Return whether it ends in time; a new interpreter is not reaped."""
        if isinstance(self.process, ForkedChild):
            return self.process.wait(seconds)
        return wait_for_exit(self.process, seconds)


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
