"""Steps for the tests of the sandbox: replies, and every way to die."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from grader.faults import LabFault, StudentFault
from grader.sandbox.inside import Outbox, sending

Step = tuple[Any, dict[str, Any]]

HOUR = 3600
"""Seconds: longer than a test waits for the end of what must not remain."""


def echo(request: Any, arrays: dict[str, Any]) -> Step:
    return request, arrays


def modules(request: Any, arrays: dict[str, Any]) -> Step:
    return sorted(sys.modules), {}


def loads_the_core(request: Any, arrays: dict[str, Any]) -> Step:
    """Whether a call of `core` finds it loaded."""
    from grader.simulator.core.bindings import core

    core()
    return core.cache_info().hits == 1, {}


def student(request: Any, arrays: dict[str, Any]) -> Step:
    from grader.launch import Finding, OtherAccess

    other = OtherAccess(14, (0, 1, 0), (0, 0, 0), "read", "x = y;")
    finding = Finding(
        "race", "error", "hazard", line=9, thread=(1, 1, 0), other=other, cases=("a",)
    )
    raise StudentFault("it races", where="a.cu:9", fix="add a barrier", findings=(finding,))


def lab(request: Any, arrays: dict[str, Any]) -> Step:
    raise LabFault("bad lab", where="lab.yaml:3", fix="fix it")


def defect(request: Any, arrays: dict[str, Any]) -> Step:
    return {}["missing"], {}


def sleep(request: Any, arrays: dict[str, Any]) -> Step:
    time.sleep(HOUR)
    return None, {}


def family(request: Any, arrays: dict[str, Any]) -> Step:
    """Start sleeping processes with one mark, one of them outside the process group."""
    for detached in (False, True) if request["detach"] else (False,):
        mark = ["/bin/sh", "-c", f"sleep {HOUR}; : {request['mark']}"]
        subprocess.Popen(mark, start_new_session=detached)
    if request["wait"]:
        time.sleep(HOUR)
    return "started", {}


def sleeps_as(request: Any, arrays: dict[str, Any]) -> Step:
    """Write this process's id to a file of that name, and stay."""
    Path(f"/tmp/{request}.new").write_text(str(os.getpid()))
    os.rename(f"/tmp/{request}.new", f"/tmp/{request}")
    time.sleep(HOUR)
    return None, {}


def spin(request: Any, arrays: dict[str, Any]) -> Step:
    while True:
        pass


def spin_in_c(request: Any, arrays: dict[str, Any]) -> Step:
    """Spin without ever letting another thread of this process run, such as that of samples."""
    sum(itertools.repeat(0))
    return None, {}


def memory(request: Any, arrays: dict[str, Any]) -> Step:
    """Allocate until no more is granted."""
    held = []
    while True:
        held.append(bytes(64 << 20))


def one_allocation(request: Any, arrays: dict[str, Any]) -> Step:
    """Ask for so many bytes at once, with Python's own or with NumPy's allocator."""
    import numpy as np

    return len(np.ones(request["bytes"], "u1") if request["numpy"] else bytes(request["bytes"])), {}


def no_memory(request: Any, arrays: dict[str, Any]) -> Step:
    """Fail as when the machine has no memory left, far below every limit."""
    raise MemoryError


def cpu_signal(request: Any, arrays: dict[str, Any]) -> Step:
    """Get the signal of the limit of processor time without having used any."""
    os.kill(os.getpid(), signal.SIGXCPU)
    return None, {}


def native_memory(request: Any, arrays: dict[str, Any]) -> Step:
    sys.stderr.write("terminate called after throwing an instance of 'std::bad_alloc'\n")
    sys.stderr.flush()
    os.abort()


def killed(request: Any, arrays: dict[str, Any]) -> Step:
    os.kill(os.getpid(), 9)
    return None, {}


def segfault(request: Any, arrays: dict[str, Any]) -> Step:
    ctypes.string_at(0)
    return None, {}


@sending
def sends(request: Any, arrays: dict[str, Any], outbox: Outbox) -> Step:
    """Send each array, which is overwritten then; raise or return one more array."""
    for name, array in arrays.items():
        outbox.send(name, array)
        array[...] = 0
    if request == "raises":
        raise LabFault("no output is wanted")
    return request, {"last": arrays["first"]}


REMEMBERED: list[Any] = []


def remember(request: Any, arrays: dict[str, Any]) -> Step:
    REMEMBERED.append(request["value"])
    if request["raises"]:
        raise ValueError
    return list(REMEMBERED), {}


def remembered(request: Any, arrays: dict[str, Any]) -> Step:
    return list(REMEMBERED), {}


def pid_and_calls(request: Any, arrays: dict[str, Any]) -> Step:
    REMEMBERED.append(request)
    return [os.getpid(), len(REMEMBERED)], {}


def second_fails(request: Any, arrays: dict[str, Any]) -> Step:
    """Return the number of calls, or run another step."""
    REMEMBERED.append(request)
    name, argument = request
    if not argument:
        return [0, len(REMEMBERED)], {}
    step: Step = globals()[name.partition(":")[2]](argument, arrays)
    return step


def fails_when_used(request: Any, arrays: dict[str, Any]) -> Step:
    """Return the request in a new process; fail as it says in one that has run before."""
    REMEMBERED.append(request)
    if len(REMEMBERED) == 1:
        return request, {}
    if request == "leave":
        os._exit(0)
    if request == "memory":
        raise MemoryError
    while request == "exceed its time":
        pass
    raise ValueError


def leave(request: Any, arrays: dict[str, Any]) -> Step:
    os._exit(request)


def long_reply(request: Any, arrays: dict[str, Any]) -> Step:
    return "x" * request, {}


def big_file(request: Any, arrays: dict[str, Any]) -> Step:
    with open("/tmp/warpgrade-big", "wb") as file:
        os.unlink("/tmp/warpgrade-big")
        file.write(bytes(request))
    return None, {}


def not_json(request: Any, arrays: dict[str, Any]) -> Step:
    return object(), {}


def objects(request: Any, arrays: dict[str, Any]) -> Step:
    import numpy as np

    return None, {"x": np.array([object()])}


def reply_descriptor() -> int:
    """Return the descriptor that this process writes its reply to."""
    number: int = json.loads(sys.argv[1]).get("reply", 4)  # a template has none
    return number


def forged(request: Any, arrays: dict[str, Any]) -> Step:
    """Write a reply without the nonce, as injected native code would, and exit."""
    body = json.dumps({"nonce": request, "value": {"value": "pass"}, "arrays": []}).encode()
    os.pwrite(reply_descriptor(), len(body).to_bytes(8, "little") + body, 0)
    os._exit(0)


def garbage(request: Any, arrays: dict[str, Any]) -> Step:
    os.pwrite(reply_descriptor(), bytes.fromhex(request), 0)
    os._exit(0)


def open_reply(request: Any, arrays: dict[str, Any]) -> Step:
    """Try to grow the reply beyond its limit."""
    os.ftruncate(reply_descriptor(), 1 << 40)
    return None, {}


def look(request: Any, arrays: dict[str, Any]) -> Step:
    """Return the file's text, or the type of the error."""
    try:
        return Path(request).read_text(), {}
    except OSError as error:
        return type(error).__name__, {}


def deface(request: Any, arrays: dict[str, Any]) -> Step:
    try:
        with open(request, "a") as file:
            file.write("x")
    except OSError as error:
        return type(error).__name__, {}
    return "written", {}


def identity(request: Any, arrays: dict[str, Any]) -> Step:
    table = Path("/proc/net/dev").read_text().splitlines()
    interfaces = sorted(line.split(":")[0].strip() for line in table if ":" in line)
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    own = {"uid": os.geteuid(), "environment": dict(os.environ), "interfaces": interfaces}
    return own | {"processes": len(processes)}, {}


def forks(request: Any, arrays: dict[str, Any]) -> Step:
    """Return how many children can run at a time, up to the requested number."""
    children = []
    try:
        for _ in range(request):
            child = os.fork()
            if not child:
                time.sleep(HOUR)
                os._exit(0)
            children.append(child)
    except BlockingIOError:
        pass  # the limit is reached
    return len(children), {}


def threads(request: Any, arrays: dict[str, Any]) -> Step:
    import numpy as np

    arrays["x"] *= 2
    return int(np.sum(arrays["x"])), {"x": arrays["x"][::2], "y": arrays["x"] > 4}


def groups(request: Any, arrays: dict[str, Any]) -> Step:
    """Return the control group (version 2) of this process."""
    rows = Path("/proc/self/cgroup").read_text().splitlines()
    return next(row for row in rows if row.startswith("0::")), {}


def hoard(request: Any, arrays: dict[str, Any]) -> Step:
    """Start processes that each hold so many bytes; return how many succeeded."""
    reading, writing = os.pipe()
    for _ in range(request["processes"]):
        if not os.fork():
            held = bytearray(b"\1") * request["bytes"]
            os.write(writing, held[-1:])
            time.sleep(HOUR)
    return sum(len(os.read(reading, 1)) for _ in range(request["processes"])), {}


def crash_on_request(request: Any, arrays: dict[str, Any]) -> Step:
    """Die as a compiler would that a source `// signal N` crashes."""
    number = int(request["source"].split()[2])
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
    time.sleep(HOUR)
    return None, {}


def crash(request: Any, arrays: dict[str, Any]) -> Step:
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(HOUR)
    return None, {}
