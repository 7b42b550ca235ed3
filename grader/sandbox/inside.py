"""The inside of a box: what the child process of `box.call` does.

Start-up is kept to what it needs, because every attempt pays for it several times: no NumPy
unless arrays are passed, no site packages' start-up files (the interpreter runs with -I -S).
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import resource
import select
import sys
from collections.abc import Callable
from typing import Any

from grader.faults import Fault, StudentFault
from grader.sandbox.message import MessageTooLarge, read_message, write_message

OPEN_FILES = 256

_LIMITS = {
    "cpu": resource.RLIMIT_CPU,
    "memory": resource.RLIMIT_AS,
    "output": resource.RLIMIT_FSIZE,
    "processes": resource.RLIMIT_NPROC,
}


def main() -> None:
    """Run the step that the order on the command line names; never returns."""
    order = json.loads(sys.argv[1])
    os.umask(0o077)
    if not order["confined"]:
        _tie_to(os.getppid())
    _hold_on()
    limit(order["limits"])
    sys.path[:0] = order["path"]
    nonce, request, arrays = read_message(order["request"])
    os.close(order["request"])  # /proc/self/fd is a place that an #include can reach
    answer, results = _answer(order, request, arrays)
    _reply(order, nonce, answer, results)
    os._exit(0)  # no teardown: whatever native code left behind ends here


def limit(limits: dict[str, int]) -> None:
    """Set the resource limits named; those of open files and core dumps always."""
    for name, value in limits.items():
        grace = 1 if name == "cpu" else 0  # between SIGXCPU, which names the reason, and SIGKILL
        resource.setrlimit(_LIMITS[name], (value, value + grace))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def drop(uid: int) -> None:
    """Become the user and group `uid` for good; only root can."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def _answer(order: dict[str, Any], request: Any, arrays: Any) -> tuple[dict[str, Any], Any]:
    try:
        step = _find(order["step"])
        if order["uid"]:
            parent = os.getppid()
            drop(order["uid"])
            if not order["confined"]:
                _tie_to(parent)  # the kernel unties who becomes another user
        value, results = step(request, arrays)
        return {"value": value}, results
    except Fault as fault:
        return {"fault": _described(fault)}, {}
    except MemoryError:
        return {"death": "memory", "detail": "an allocation failed"}, {}
    except BaseException as error:  # noqa: BLE001  SystemExit too: who leaves has not answered
        return _failure(error), {}


def _find(step: str) -> Callable[[Any, Any], tuple[Any, Any]]:
    module, _, function = step.partition(":")
    found: Callable[[Any, Any], tuple[Any, Any]] = getattr(
        importlib.import_module(module), function
    )
    return found


def _reply(order: dict[str, Any], nonce: str, answer: dict[str, Any], results: Any) -> None:
    try:
        write_message(order["reply"], nonce, answer, results, order["capacity"])
    except MessageTooLarge as error:
        write_message(order["reply"], nonce, {"death": "output", "detail": str(error)}, {})
    except (TypeError, ValueError) as error:
        write_message(order["reply"], nonce, _failure(error), {})


def _failure(error: BaseException) -> dict[str, Any]:
    """A full /tmp and a file over its limit are the attempt's doing; all else is our defect."""
    if isinstance(error, OSError) and error.errno in (errno.EFBIG, errno.ENOSPC):
        return {"death": "output", "detail": "it wrote more than its share of the disk"}
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = ""
    if place is not None:
        where = f"{os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno}"
    return {"error": f"{type(error).__name__}: {error}".rstrip(": "), "where": where}


def _described(fault: Fault) -> dict[str, Any]:
    names = [c.__name__ for c in type(fault).__mro__]
    told: dict[str, Any] = {
        "type": names,
        "what": fault.what,
        "where": fault.where,
        "fix": fault.fix,
    }
    if isinstance(fault, StudentFault) and fault.findings:
        from dataclasses import asdict

        told["findings"] = [asdict(finding) for finding in fault.findings]
    return told


def _tie_to(parent: int) -> None:
    """What a sandbox would do: have this process end with its parent, and gain no rights by any
    program that it starts.
    """
    import ctypes
    import signal

    pr_set_pdeathsig, pr_set_no_new_privs = 1, 38
    prctl = ctypes.CDLL(None).prctl
    prctl(pr_set_pdeathsig, signal.SIGKILL)
    prctl(pr_set_no_new_privs, 1, 0, 0, 0)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)


def _hold_on() -> None:
    """End when the caller ended before this process was tied to it: its end of the pipe that is
    our standard input is closed then. Whatever is started from here reads nothing.
    """
    lifeline = select.poll()
    lifeline.register(0, select.POLLHUP)
    if lifeline.poll(0):
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
