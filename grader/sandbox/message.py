"""Messages between a child and its caller, and what the end of a child without one means.

A message is one JSON value and named arrays in a memfd, so there is no file name to guess, no link
to follow and nothing to clean up: the kernel frees it with its last descriptor. Layout:

    8 bytes   length of the header, little endian
    header    JSON: {"nonce", "value", "arrays": [[name, dtype, shape, offset], ...]}
    arrays    raw C-order elements, each at a multiple of 64 bytes

Arrays may be written before the header (`inside.Outbox`), which is then filled up with spaces.

The kernel limits the size (F_SEAL_GROW), and a message is read only once it can no longer change
(F_SEAL_WRITE), so a reader can map it without copying. NumPy is imported only when there are
arrays: a child that compiles does not need it.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import signal
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from grader import dataclass
from grader.faults import Fault, LabFault, MachineFault, StudentFault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grader.launch import Finding

USAGE_BYTES = 256
"""Bytes after the reply in its memory, where the child records what it has used (`Usage`)."""

ANSWERED = b"a"
"""What a child that stays says when its reply is written; its next request follows."""

RESERVED_BYTES = 1 << 20
"""Bytes before the first array where arrays are written before the header."""

_ALIGNMENT = 64
_PREFIX = 8
_NUMBERS = "biufc"  # dtype kinds that are plain numbers; never objects


class MessageError(ValueError):
    """The bytes are not a message, or not the expected one."""


class MessageTooLarge(MessageError):
    """The contents need more bytes than the receiver accepts."""


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


def write_message(
    fd: int,
    nonce: str,
    value: Any,
    arrays: Mapping[str, NDArray[Any]],
    capacity: int | None = None,
    sent: Sequence[list[Any]] = (),
    offset: int = 0,
) -> None:
    """Write a message to the descriptor `fd`.

    `sent` describes arrays that are in place already, in `offset` bytes from RESERVED_BYTES on.

    Raises:
        TypeError: `value` is not JSON, or an array has elements that are not numbers.
        ValueError: `value` is not JSON.
        MessageTooLarge: The message needs more than `capacity` bytes.
    """
    blocks = {name: contiguous(array) for name, array in arrays.items()}
    index = list(sent)
    for name, block in blocks.items():
        index.append([name, block.dtype.str, list(block.shape), offset])
        offset = aligned(offset + block.nbytes)
    header = json.dumps({"nonce": nonce, "value": value, "arrays": index}).encode()
    if sent:
        header = header.ljust(RESERVED_BYTES - _PREFIX)
    start = aligned(_PREFIX + len(header))
    if capacity is not None and (start + offset > capacity or (sent and start > RESERVED_BYTES)):
        raise MessageTooLarge(f"{start + offset} bytes, at most {capacity} are accepted")
    write_at(fd, memoryview(len(header).to_bytes(_PREFIX, "little") + header), 0)
    for (_, _, _, at), block in zip(index[len(sent) :], blocks.values(), strict=True):
        if block.nbytes:
            write_at(fd, block.reshape(-1).view("uint8").data, start + at)
    if os.fstat(fd).st_size < start + offset:
        os.ftruncate(fd, start + offset)


def read_message(fd: int, nonce: str | None = None) -> tuple[str, Any, dict[str, NDArray[Any]]]:
    """Return the nonce, value and arrays of the message in `fd`.

    The arrays are private, writable maps.

    Raises:
        MessageError: The message is malformed, or its nonce is not `nonce`.
    """
    size = os.fstat(fd).st_size
    if size < _PREFIX:
        raise MessageError("nothing was written")
    block = mmap.mmap(fd, size, access=mmap.ACCESS_COPY)
    length = int.from_bytes(block[:_PREFIX], "little")
    if not 0 < length <= size - _PREFIX:
        raise MessageError("nothing was written")
    header = _header(block[_PREFIX : _PREFIX + length])
    if nonce is not None and header["nonce"] != nonce:
        raise MessageError("the nonce is not that of this call")
    start = aligned(_PREFIX + length)
    arrays = {row[0]: _array(block, start, row) for row in header["arrays"]}
    return header["nonce"], header["value"], arrays


def contiguous(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of numbers in C order."""
    import numpy as np

    block = np.ascontiguousarray(array).reshape(np.shape(array))
    if block.dtype.kind not in _NUMBERS:
        raise TypeError(f"an array of {block.dtype} cannot be sent between processes")
    return block


def aligned(offset: int) -> int:
    """Return where an array may begin, at `offset` or behind it."""
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def write_at(fd: int, data: memoryview, offset: int) -> None:
    """Write all of `data`."""
    while data:
        done = os.pwrite(fd, data, offset)
        data, offset = data[done:], offset + done


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError("the header is not JSON") from error
    if not isinstance(header, dict) or set(header) != {"nonce", "value", "arrays"}:
        raise MessageError("the header does not have exactly the keys nonce, value, arrays")
    if not isinstance(header["nonce"], str) or not isinstance(header["arrays"], list):
        raise MessageError("a key of the header has the wrong type")
    return header


def _array(block: mmap.mmap, start: int, row: Any) -> NDArray[Any]:
    import numpy as np

    try:
        name, dtype_text, shape, offset = row
        dtype = np.dtype(str(dtype_text))
        count = int(np.prod(shape, dtype=object))
        if dtype.kind not in _NUMBERS or min([offset, *shape]) < 0 or not isinstance(name, str):
            raise MessageError("an array's description is not that of an array of numbers")
        flat: NDArray[Any] = np.frombuffer(block, dtype, count, start + offset if count else 0)
        return flat.reshape(shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise MessageError("an array's description does not fit its bytes") from error


FailureReason = Literal["timeout", "memory", "crash", "output", "protocol"]

_FAULTS: Mapping[str, type[Fault]] = MappingProxyType(
    {kind.__name__: kind for kind in (StudentFault, LabFault, MachineFault)}
)
_CPU_SHARE = 0.5  # Linux counts whole ticks for its limit: under load it may end a child early
_MEMORY_SHARE = 0.5
_OWN_SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)
"""Signals that code causes by what it does. SIGBUS is a page that could not be read."""

_OUT_OF_MEMORY = ("bad_alloc", "MemoryError", "out of memory", "Cannot allocate memory")


@dataclass(frozen=True)
class Reply:
    """What a step returned: a JSON value, and arrays that the caller owns."""

    value: Any
    arrays: Mapping[str, NDArray[Any]]


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
        """Return whether the child reached that limit of processor time, as Linux counts it."""
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
    from dataclasses import fields

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
