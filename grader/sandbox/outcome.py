"""Anonymous memory that a box shares with its caller: no name to guess, no file to clean up.

The caller makes it, the kernel caps it and, once sealed, keeps it as it is.
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

# What a boxed child's end means: its answer, the Fault that it raised, or how it died.
#
# The child may have been taken over by what it was given, so nothing that it wrote is believed
# before it fits: the nonce, the keys, the types.

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
    """The child ended without an answer. `detail` says how, in a few words without a capital;
    `own`: by what it did itself, and not because this machine had no memory or no core for it.
    """

    def __init__(self, reason: FailureReason, detail: str, *, own: bool = True) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: FailureReason = reason
        self.detail = detail
        self.own = own


def read_reply(fd: int, nonce: str, step: str) -> Reply:
    """The answer in `fd`. Raises the Fault or BoxDeath that the child reports instead; BoxDeath
    "protocol" for anything else than an answer to this call.
    """
    try:
        _, answer, arrays = read_message(fd, nonce)
    except MessageError as error:
        raise SandboxFailure("protocol", f"its reply cannot be read: {error}") from error
    match answer:
        case {"value": value}:
            return Reply(value, arrays)
        case {"fault": dict(told)}:
            raise _fault(told)
        case {"death": reason, "detail": str(detail)} if reason in get_args(FailureReason):
            raise SandboxFailure(cast(FailureReason, reason), detail)
        case {"error": str(text), "where": str(where)}:
            raise MachineFault(
                f"the step {step} failed: {text}",
                where=where,
                fix="this is a defect of the grader or of its installation, not of the submission",
            )
    raise SandboxFailure("protocol", "its reply is neither an answer nor a failure")


def exit_failure(status: int, errors: bytes, cpu: float, confined: bool) -> SandboxFailure:
    """Why a child with that return code died. bubblewrap reports a signal as 128 + number."""
    number = -status if status < 0 else status - 128 if confined and status > 128 else 0
    said = errors.rstrip(b"\0").decode(errors="replace").strip()
    if number == signal.SIGXCPU:
        return SandboxFailure("timeout", f"it used more than {cpu:g} s of processor time")
    if any(words in said for words in _OUT_OF_MEMORY):
        return SandboxFailure("memory", "an allocation failed")
    if number == signal.SIGKILL:
        what = "the system killed it, most likely for want of memory"
        return SandboxFailure("memory", what, own=False)
    if number == signal.SIGXFSZ:
        return SandboxFailure("output", "it wrote more than its share of the disk")
    if number in set(signal.Signals):
        return SandboxFailure("crash", f"it was ended by {signal.Signals(number).name}")
    last = said.splitlines()[-1] if said else f"it ended with status {status}"
    return SandboxFailure("crash", last)


def read_stderr(fd: int) -> bytes:
    """What the child said on its standard error, as far as it was kept."""
    return os.pread(fd, os.fstat(fd).st_size, 0)


def _fault(told: Mapping[str, Any]) -> Fault:
    kind = next((_FAULTS[n] for n in told.get("type", ()) if n in _FAULTS), None)
    texts = {name: told.get(name) for name in ("what", "where", "fix")}
    if kind is None or not all(isinstance(text, str) for text in texts.values()):
        raise SandboxFailure("protocol", "the failure that it reports has another form")
    what, where, fix = cast(tuple[str, str, str], tuple(texts.values()))
    if kind is StudentFault:
        findings = tuple(_finding(row) for row in told.get("findings", ()))
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
        raise SandboxFailure("protocol", "a finding that it reports has another form") from error


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def create_memory(name: str, size: int | None = None) -> int:
    """A descriptor of anonymous memory; with a size, of that many bytes for good."""
    fd = os.memfd_create(f"warpgrade-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    if size is not None:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return fd


def seal_memory(fd: int) -> None:
    """Make the contents final. OSError when somebody still has them mapped to write."""
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)


def seal_reply(fd: int) -> None:
    """Make a child's reply final. BoxDeath "protocol" when the child kept a hand on it."""
    try:
        seal_memory(fd)
    except OSError as error:
        raise SandboxFailure("protocol", "its reply is still being written") from error
