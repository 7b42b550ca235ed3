"""What the end of a child means: its reply, the Fault that it raised, or how it died.

Untrusted code may have taken the child over, so nothing that it wrote is accepted before the
nonce, the keys and the types match. The reply is in anonymous memory: the caller creates it, the
kernel limits its size and, once it is sealed, keeps it from changing.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

from numpy.typing import NDArray

from grader.faults import Fault, LabFault, MachineFault, StudentFault
from grader.launch import Finding, OtherAccess
from grader.sandbox.message import MessageError, read_message

FailureReason = Literal["timeout", "memory", "crash", "output", "protocol"]

_FAULTS: Mapping[str, type[Fault]] = MappingProxyType(
    {kind.__name__: kind for kind in (StudentFault, LabFault, MachineFault)}
)
_OUT_OF_MEMORY = ("bad_alloc", "MemoryError", "out of memory", "Cannot allocate memory")


@dataclass(frozen=True)
class Reply:
    """What a step returned: a JSON value, and arrays that the caller owns."""

    value: Any
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


class SandboxFailure(Exception):
    """The child ended without a reply.

    Attributes:
        reason: One of five reasons.
        detail: How it ended, in a few words without a capital letter.
        caused_by_child: False when this machine had no memory or no processor time for the child.
    """

    def __init__(self, reason: FailureReason, detail: str, *, caused_by_child: bool = True) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: FailureReason = reason
        self.detail = detail
        self.caused_by_child = caused_by_child


def read_reply(fd: int, nonce: str, step: str) -> Reply:
    """Return the reply to the call with that nonce.

    Raises:
        Fault: The one that the step raised; a MachineFault when the step failed otherwise.
        SandboxFailure: The child reports one, or (reason "protocol") what it wrote is not a
            reply to this call.
    """
    try:
        _, answer, arrays = read_message(fd, nonce)
    except MessageError as error:
        raise SandboxFailure("protocol", f"its reply cannot be read: {error}") from error
    match answer:
        case {"value": value}:
            return Reply(value, arrays)
        case {"fault": dict(description)}:
            raise _fault(description)
        case {"failure": reason, "detail": str(detail)} if reason in get_args(FailureReason):
            raise SandboxFailure(cast(FailureReason, reason), detail)
        case {"error": str(text), "where": str(where)}:
            raise MachineFault(
                f"the step {step} failed: {text}",
                where=where,
                fix="report this defect of the grader or of its installation; "
                "the submission is not the cause",
            )
    raise SandboxFailure("protocol", "its reply is neither a value nor a failure")


def exit_failure(status: int, errors: bytes, cpu: float, confined: bool) -> SandboxFailure:
    """Return why a child with a nonzero exit status died.

    Args:
        status: The return code; bubblewrap reports a signal as 128 + its number.
        errors: What the child wrote to standard error.
        cpu: The limit of processor time in seconds.
        confined: Whether the child ran in bubblewrap.
    """
    number = -status if status < 0 else status - 128 if confined and status > 128 else 0
    text = errors.rstrip(b"\0").decode(errors="replace").strip()
    if number == signal.SIGXCPU:
        return SandboxFailure("timeout", f"it used more than {cpu:g} s of processor time")
    if any(words in text for words in _OUT_OF_MEMORY):
        return SandboxFailure("memory", "an allocation failed")
    if number == signal.SIGKILL:
        what = "the system killed it, most likely because memory ran out"
        return SandboxFailure("memory", what, caused_by_child=False)
    if number == signal.SIGXFSZ:
        return SandboxFailure("output", "it wrote more than its limit to disk")
    if number in set(signal.Signals):
        return SandboxFailure("crash", f"signal {signal.Signals(number).name} ended it")
    last = text.splitlines()[-1] if text else f"it ended with status {status}"
    return SandboxFailure("crash", last)


def read_stderr(fd: int) -> bytes:
    """Return what the child wrote to standard error, up to the size of its buffer."""
    return os.pread(fd, os.fstat(fd).st_size, 0)


def create_memory(name: str, size: int | None = None) -> int:
    """Return a descriptor of new anonymous memory; with `size` it can neither grow nor shrink."""
    fd = os.memfd_create(f"warpgrade-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    if size is not None:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return fd


def seal_memory(fd: int) -> None:
    """Make the contents final.

    Raises:
        OSError: A process still has them mapped for writing.
    """
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)


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
