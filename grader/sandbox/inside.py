"""The child's side of `call.run_sandboxed`: apply limits, run the step, write the reply.

Every graded submission starts several children, so start-up does only what is needed: NumPy is
imported only when arrays are passed, and the interpreter runs with -I -S, without the start-up
files of site-packages.
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
    """Run the step named by the JSON object on the command line; does not return."""
    order = json.loads(sys.argv[1])
    os.umask(0o077)
    if not order["confined"]:
        _tie_to(os.getppid())
    _check_caller()
    set_limits(order["limits"])
    sys.path[:0] = order["path"]
    nonce, request, arrays = read_message(order["request"])
    os.close(order["request"])  # an #include can read /proc/self/fd
    answer, results = _answer(order, request, arrays)
    _reply(order, nonce, answer, results)
    os._exit(0)  # skip teardown: it would run what native code registered


def set_limits(limits: dict[str, int]) -> None:
    """Set resource limits by name, and always those of open files and core dumps."""
    for name, value in limits.items():
        grace = 1 if name == "cpu" else 0  # SIGXCPU, which names the reason, precedes SIGKILL
        resource.setrlimit(_LIMITS[name], (value, value + grace))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def drop(uid: int) -> None:
    """Become the user and group `uid` permanently; only root can."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def _answer(order: dict[str, Any], request: Any, arrays: Any) -> tuple[dict[str, Any], Any]:
    try:
        step = _load_step(order["step"])
        if order["uid"]:
            parent = os.getppid()
            drop(order["uid"])
            if not order["confined"]:
                _tie_to(parent)  # the kernel resets this when a process changes its user
        value, results = step(request, arrays)
        return {"value": value}, results
    except Fault as fault:
        return {"fault": _describe_fault(fault)}, {}
    except MemoryError:
        return {"failure": "memory", "detail": "an allocation failed"}, {}
    except BaseException as error:  # noqa: BLE001  a step that raises SystemExit has no result
        return _failure(error), {}


def _load_step(step: str) -> Callable[[Any, Any], tuple[Any, Any]]:
    module, _, function = step.partition(":")
    loaded: Callable[[Any, Any], tuple[Any, Any]] = getattr(
        importlib.import_module(module), function
    )
    return loaded


def _reply(order: dict[str, Any], nonce: str, answer: dict[str, Any], results: Any) -> None:
    try:
        write_message(order["reply"], nonce, answer, results, order["capacity"])
    except MessageTooLarge as error:
        write_message(order["reply"], nonce, {"failure": "output", "detail": str(error)}, {})
    except (TypeError, ValueError) as error:
        write_message(order["reply"], nonce, _failure(error), {})


def _failure(error: BaseException) -> dict[str, Any]:
    """Describe an exception: a full /tmp or a file over its limit is the step's own failure.

    Any other exception is a defect of the grader.
    """
    if isinstance(error, OSError) and error.errno in (errno.EFBIG, errno.ENOSPC):
        return {"failure": "output", "detail": "it wrote more than its limit to disk"}
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
