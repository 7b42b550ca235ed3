"""The child's side of `call.run_sandboxed`: apply limits, run the step, write the reply.

Every graded submission starts several children, so start-up does only what is needed: NumPy is
imported only when arrays are passed, and the interpreter runs with -I -S, without the start-up
files of site-packages.
"""

from __future__ import annotations

import _thread
import errno
import gc
import importlib
import json
import os
import resource
import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from grader.faults import Fault, StudentFault
from grader.sandbox.message import (
    ANSWERED,
    RESERVED_BYTES,
    USAGE_BYTES,
    MessageTooLarge,
    aligned,
    contiguous,
    read_message,
    write_at,
    write_message,
)

OPEN_FILES = 256
STACK_BYTES = 8 << 20
"""The least stack of a child: Linux's default."""

SAMPLE_SECONDS = 0.02

_ALMOST_FULL = 1 << 20  # bytes that are free in a /tmp that counts as full

ALLOCATIONS = 50_000
"""Objects that a step makes between two garbage collections. Python's default, 700, collects
hundreds of times while PTX is decoded, which makes next to no garbage."""

Step = Callable[..., tuple[Any, Any]]

_SENDS = "sends"

_LIMITS = {
    "cpu": resource.RLIMIT_CPU,
    "memory": resource.RLIMIT_AS,
    "output": resource.RLIMIT_FSIZE,
    "processes": resource.RLIMIT_NPROC,
}


def main() -> None:
    """Run the step named by the JSON object on the command line; does not return."""
    gc.disable()  # importing makes next to no garbage, and collecting it takes a tenth of the time
    order = json.loads(sys.argv[1])
    os.umask(0o077)
    if not order["confined"]:
        _tie_to(os.getppid())
    _check_caller()
    sys.path[:0] = order["path"]
    run(order, set_limits(order["limits"]))


def run(order: dict[str, Any], reduced: list[str], inherited: int = 0) -> NoReturn:
    """Run the step that `order` names under the limits that are set, write the reply, and end.

    A child with a "channel" runs the step on further requests until its caller closes the channel.

    Args:
        order: What `call` says about the step.
        reduced: The limits that were inherited smaller (`set_limits`).
        inherited: Bytes of address space that a template's child has from it.
    """
    usage = Usage(order["reply"], order["capacity"], reduced, inherited)
    if order["channel"] is not None:
        importlib.import_module("socket")  # another user may not be able to read it
    while True:
        nonce, request, arrays = read_message(order["request"])
        os.close(order["request"])  # an #include can read /proc/self/fd
        outbox = Outbox(order["reply"], order["capacity"])
        answer, results = _answer(order, request, arrays, usage, outbox)
        _reply(order, nonce, answer, results, outbox)
        if order["channel"] is None:
            os._exit(0)  # skip teardown: it would run what native code registered
        del request, arrays, answer, results
        order |= {"request": _next_request(order["channel"], order["reply"]), "uid": 0}


def _next_request(channel: int, reply: int) -> int:
    """Say that the reply is written; return the descriptor of the next request, when it comes.

    Its reply gets the number of the last one.
    """
    import socket

    with socket.socket(fileno=os.dup(channel)) as caller:
        caller.send(ANSWERED)
        _, descriptors, _, _ = socket.recv_fds(caller, 1, 2)
    if len(descriptors) != 2:  # the caller has closed its end
        os._exit(0)
    os.dup2(descriptors[1], reply)
    os.close(descriptors[1])
    return descriptors[0]


def set_limits(limits: dict[str, int], inherited: int = 0) -> list[str]:
    """Set resource limits by name, and always those of open files and core dumps.

    Args:
        limits: The limits.
        inherited: Bytes of address space that a template's child has from it, which do not count.

    Returns:
        The names of those that this process inherited smaller and that stay so: a child that
        reaches one of them has not reached a limit of the grader's.
    """
    reduced = []
    for name, limit in limits.items():
        value = limit + (inherited if name == "memory" else 0)
        grace = 1 if name == "cpu" else 0  # SIGXCPU, which names the reason, precedes SIGKILL
        if not _set_limit(_LIMITS[name], value, value + grace):
            reduced.append(name)
    for name, kind, needed in (
        ("stack", resource.RLIMIT_STACK, STACK_BYTES),
        ("memory", resource.RLIMIT_DATA, limits.get("memory", 0) and limits["memory"] + inherited),
    ):
        if needed and not _allow(kind, needed):
            reduced.append(name)
    _set_limit(resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return reduced


def _set_limit(kind: int, soft: int, hard: int) -> bool:
    """Set one limit; False when a smaller one was inherited, which is kept."""
    try:
        resource.setrlimit(kind, (soft, hard))
    except ValueError:  # only a privileged process may raise a limit
        inherited = resource.getrlimit(kind)[1]
        if inherited != resource.RLIM_INFINITY:
            soft, hard = min(soft, inherited), min(hard, inherited)
        resource.setrlimit(kind, (soft, hard))
        return False
    return True


def _allow(kind: int, needed: int) -> bool:
    """Raise a soft limit that is smaller than needed; False when the hard limit is smaller too."""
    soft, hard = resource.getrlimit(kind)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return True
    enough = hard == resource.RLIM_INFINITY or hard >= needed
    resource.setrlimit(kind, (needed if enough else hard, hard))
    return enough


class Outbox:
    """Writes arrays to a reply's memory while its step runs, so that they need not be kept."""

    def __init__(self, fd: int, capacity: int) -> None:
        self.sent: list[list[Any]] = []
        self.end = 0
        self._fd, self._room = fd, capacity - RESERVED_BYTES

    def send(self, name: str, array: Any) -> None:
        """Add an array to the reply; it may change afterwards.

        Raises:
            MessageTooLarge: The reply has no room for it.
        """
        block = contiguous(array)
        if self.end + block.nbytes > self._room:
            raise MessageTooLarge(f"no room for {block.nbytes} bytes more")
        if block.nbytes:
            write_at(self._fd, block.reshape(-1).view("uint8").data, RESERVED_BYTES + self.end)
        self.sent.append([name, block.dtype.str, list(block.shape), self.end])
        self.end = aligned(self.end + block.nbytes)


def sending(step: Step) -> Step:
    """Mark a step that takes an Outbox besides its request and its arrays."""
    setattr(step, _SENDS, True)
    return step


class Usage:
    """The record of what this process has used, which outlives it however it ends.

    The parent needs it to tell a child that reached its limits from one that the machine ended.
    Native code can end the process at any moment, so a thread writes a sample every 20 ms.
    """

    def __init__(self, fd: int, offset: int, reduced: list[str], inherited: int) -> None:
        self.reduced, self._is_sampled = reduced, False
        self._fd, self._offset, self._inherited = fd, offset, inherited

    def start(self) -> None:
        """Write a first sample, and keep writing samples in a thread."""
        self.write()
        if not self._is_sampled:
            _thread.start_new_thread(self._sample, ())
        self._is_sampled = True

    def write(self, requested: int = 0) -> None:
        """Write a sample; `requested` is the size in bytes of an allocation that failed."""
        peak = max(1, address_space("VmPeak") - self._inherited)  # 0 says that it never began
        used = {"cpu": time.process_time(), "peak": peak, "requested": requested}
        record = json.dumps({**used, "reduced": self.reduced}).encode()
        os.pwrite(self._fd, record.ljust(USAGE_BYTES, b" "), self._offset)

    def _sample(self) -> None:
        while True:
            time.sleep(SAMPLE_SECONDS)
            with suppress(OSError, MemoryError):  # the last sample stands: the reply was taken
                self.write()


def address_space(row: str) -> int:
    """Return the bytes of address space of this process: "VmSize" now, "VmPeak" at most so far."""
    status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(status, 4096)
    finally:
        os.close(status)
    _, _, rest = text.partition(row.encode() + b":")
    return int(rest.split(maxsplit=1)[0]) << 10


def drop(uid: int) -> None:
    """Become the user and group `uid` permanently; only root can."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def _answer(
    order: dict[str, Any], request: Any, arrays: Any, usage: Usage, outbox: Outbox
) -> tuple[dict[str, Any], Any]:
    try:
        step = load_step(order["step"])
        if order["uid"]:
            parent = os.getppid()
            drop(order["uid"])
            if not order["confined"]:
                _tie_to(parent)  # the kernel resets this when a process changes its user
        usage.start()
        gc.set_threshold(ALLOCATIONS)
        gc.enable()
        more = (outbox,) if hasattr(step, _SENDS) else ()
        value, results = step(request, arrays, *more)
        return {"value": value}, results
    except Fault as fault:
        return {"fault": _describe_fault(fault)}, {}
    except MemoryError as error:
        with suppress(OSError, MemoryError):
            usage.write(getattr(error, "_total_size", 0))  # NumPy's errors have the size
        return {"failure": "memory", "detail": "an allocation failed"}, {}
    except MessageTooLarge as error:
        return _too_large(error), {}
    except BaseException as error:  # noqa: BLE001  a step that raises SystemExit has no result
        return _failure(error, proven=_is_output_full(error, order, usage.reduced)), {}


def load_step(step: str) -> Step:
    """Return the function that "package.module:function" names."""
    module, _, function = step.partition(":")
    loaded: Step = getattr(importlib.import_module(module), function)
    return loaded


def _reply(
    order: dict[str, Any], nonce: str, answer: dict[str, Any], results: Any, outbox: Outbox
) -> None:
    sent, end = (outbox.sent, outbox.end) if "value" in answer else ([], 0)
    try:
        write_message(order["reply"], nonce, answer, results, order["capacity"], sent, end)
    except MessageTooLarge as error:
        write_message(order["reply"], nonce, _too_large(error), {})
    except (TypeError, ValueError) as error:
        write_message(order["reply"], nonce, _failure(error), {})


def _too_large(error: MessageTooLarge) -> dict[str, Any]:
    return {"failure": "output", "detail": str(error), "proven": True}


def _is_output_full(error: BaseException, order: dict[str, Any], reduced: list[str]) -> bool:
    """Return whether a file reached the limit that this child was given, or /tmp is full."""
    if not isinstance(error, OSError) or "output" in reduced:
        return False
    if error.errno == errno.EFBIG:
        return True
    with suppress(OSError):
        free = os.statvfs("/tmp")
        return bool(order["confined"] and free.f_bavail * free.f_frsize < _ALMOST_FULL)
    return False


def _failure(error: BaseException, *, proven: bool = False) -> dict[str, Any]:
    """Describe an exception: a full /tmp or a file over its limit, or a defect of the grader.

    `proven` is whether the limit that was reached is the child's own.
    """
    if isinstance(error, OSError) and error.errno in (errno.EFBIG, errno.ENOSPC):
        detail = "it wrote more than its limit to disk"
        return {"failure": "output", "detail": detail, "proven": proven}
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = ""
    if frame is not None:
        where = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}"
    return {"error": f"{type(error).__name__}: {error}".rstrip(": "), "where": where}


def _describe_fault(fault: Fault) -> dict[str, Any]:
    names = [c.__name__ for c in type(fault).__mro__]
    description: dict[str, Any] = {
        "type": names,
        "what": fault.what,
        "where": fault.where,
        "fix": fault.fix,
    }
    if isinstance(fault, StudentFault) and fault.findings:
        from dataclasses import asdict

        description["findings"] = [asdict(finding) for finding in fault.findings]
    return description


def _tie_to(parent: int) -> None:
    """Do what a sandbox would: end this process with its parent, and let it gain no privileges.

    Without this, a set-user-ID program that the process starts could have more privileges.
    """
    import ctypes
    import signal

    pr_set_pdeathsig, pr_set_no_new_privs = 1, 38
    prctl = ctypes.CDLL(None).prctl
    prctl(pr_set_pdeathsig, signal.SIGKILL)
    prctl(pr_set_no_new_privs, 1, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the request took effect
        os._exit(1)


def _check_caller() -> None:
    """Exit when the caller is gone, which closes its end of the pipe that is our standard input.

    It may have ended before this process was tied to it. Afterwards standard input is empty.
    """
    caller = select.poll()
    caller.register(0, select.POLLHUP)
    if caller.poll(0):
        os._exit(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
