"""One step of one attempt in a child process of its own, confined and under limits.

What a student wrote can make a compiler crash, hang or eat all memory. In a box that is still an
answer: `call` returns what the step returned, raises the Fault that it raised, or raises BoxDeath
with the reason why the child died. Nothing is left behind: no process, no file.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import secrets
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from grader.fault import MachineFault
from grader.walls.outcome import BoxDeath, Reply, death, reply, stderr
from grader.walls.parcel import write
from grader.walls.sandbox import (
    Sandbox,
    environment,
    find,
    interpreter,
    reachable,
    runtime,
    stranger,
)

__all__ = ["BoxDeath", "Limits", "Reply", "call", "confinement", "why_unconfined"]

_STDERR_BYTES = 64 << 10
_REAP_SECONDS = 10.0
_NO_ARRAYS: Mapping[str, NDArray[Any]] = MappingProxyType({})
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
_START = "import sys; sys.path[:0] = [sys.argv[2]]; from grader.walls.inside import main; main()"


@dataclass(frozen=True)
class Limits:
    """What one step may take: seconds of wall and processor time, bytes of address space (0: any,
    because CUDA reserves more of it than there is memory), bytes of output (its reply, and its
    private /tmp), processes and threads together."""

    wall: float = 20.0
    cpu: float = 60.0
    memory: int = 2 << 30
    output: int = 256 << 20
    processes: int = 64


@dataclass(frozen=True)
class _Order:
    """What the caller asked for, and the nonce that the answer has to carry."""

    step: str
    nonce: str
    limits: Limits
    readable: tuple[Path, ...]
    devices: tuple[Path, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True)
class _Child:
    """One started child and the anonymous memory that it shares with us."""

    process: subprocess.Popen[bytes]
    sandbox: Sandbox | None
    reply: int
    errors: int
    info: int


def call(
    step: str,
    request: Any,
    arrays: Mapping[str, NDArray[Any]] = _NO_ARRAYS,
    *,
    limits: Limits = Limits(),
    readable: tuple[Path, ...] = (),
    devices: tuple[Path, ...] = (),
    variables: Mapping[str, str] = _NO_VARIABLES,
    confine: bool | None = None,
) -> Reply:
    """Run `step`, "package.module:function", on a JSON `request` and `arrays` in a child.

    The function takes (request, arrays) and returns (JSON value, arrays). The child sees the
    interpreter, its packages, the step's own package, `readable`, and the device nodes `devices`,
    nothing else, where bubblewrap works; `confine=True` asks for that, False does without. Its
    environment has `variables` and nothing of ours. A Fault raised inside is raised here; any
    other exception becomes a MachineFault; a child that dies a BoxDeath.
    """
    sandbox = _walls(confine)
    nonce = secrets.token_hex(16)
    order = _Order(step, nonce, limits, readable, devices, variables)
    with _started(order, request, arrays, sandbox) as child:
        if not _ended(child.process, limits.wall):
            raise BoxDeath("timeout", f"it ran for more than {limits.wall:g} s")
        _kill(child)
        if child.process.returncode:
            confined = child.sandbox is not None
            raise death(child.process.returncode, stderr(child.errors), limits.cpu, confined)
        _seal_reply(child.reply)
        return reply(child.reply, nonce, step)


def confinement() -> str:
    """The sandbox that boxes use here, "bubblewrap 0.8.0 (/usr/bin/bwrap)", or ""."""
    found = find()
    return "" if isinstance(found, str) else f"{found.version} ({found.program})"


def why_unconfined() -> str:
    """Why boxes are not confined here, in one sentence; empty when they are."""
    found = find()
    return found if isinstance(found, str) else ""


def _walls(confine: bool | None) -> Sandbox | None:
    if confine is False:
        return None
    found = find()
    if isinstance(found, Sandbox):
        return found
    if confine:
        raise MachineFault(
            f"no sandbox works here: {found}",
            mend="install bubblewrap (apt-get install bubblewrap) and allow user namespaces",
        )
    return None


@contextmanager
def _started(
    order: _Order, request: Any, arrays: Mapping[str, NDArray[Any]], sandbox: Sandbox | None
) -> Iterator[_Child]:
    """A running child; whatever happens, it and its own children are gone afterwards."""
    limits = order.limits
    asked, reply, errors, info = (
        _memory("request"),
        _memory("reply", limits.output),
        _memory("errors", _STDERR_BYTES),
        _memory("info", 4096),
    )
    try:
        write(asked, order.nonce, request, arrays)
        _seal(asked)
        packages = _packages(order.step)
        shown = (*runtime(), *packages, *(p.absolute() for p in order.readable))
        told = _told(order, sandbox, shown, packages)
        told |= {"request": asked, "reply": reply, "capacity": limits.output}
        root = str(packages[0].parent)
        inner = [interpreter(), "-I", "-S", "-B", "-c", _START, json.dumps(told), root]
        if sandbox:
            inner = ["--info-fd", str(info), *inner]
            inner = sandbox.command(inner, shown, limits.output, order.devices)
        process = _spawn(inner, {**environment(), **order.variables}, (asked, reply, info), errors)
        child = _Child(process, sandbox, reply, errors, info)
        try:
            yield child
        finally:
            _kill(child)
    finally:
        for fd in (asked, reply, errors, info):
            os.close(fd)


def _memory(name: str, size: int | None = None) -> int:
    """Anonymous memory; with a size, of that many bytes for good."""
    fd = os.memfd_create(f"warpgrade-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    if size is not None:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return fd


def _seal(fd: int) -> None:
    """Make the contents final. OSError when somebody still has them mapped to write."""
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)


def _seal_reply(fd: int) -> None:
    try:
        _seal(fd)
    except OSError as error:
        raise BoxDeath("protocol", "its reply is still being written") from error


def _packages(step: str) -> list[Path]:
    """Where this package and the step's own lie; nothing else beside them is shown."""
    places = []
    for name in dict.fromkeys(("grader", step.partition(".")[0].partition(":")[0])):
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise MachineFault(f"there is no module {name} to run {step} from")
        folders = spec.submodule_search_locations
        places.append(Path(next(iter(folders)) if folders else str(spec.origin)).absolute())
    return places


def _told(
    order: _Order, sandbox: Sandbox | None, shown: tuple[Path, ...], packages: list[Path]
) -> dict[str, Any]:
    """What the child is told on its command line; the nonce is not among it."""
    limits, root = order.limits, os.geteuid() == 0
    drops = sandbox.drops if sandbox else root and reachable(shown)
    bounds = {"cpu": int(-(-limits.cpu // 1)), "output": limits.output}
    if limits.memory:
        bounds["memory"] = limits.memory
    if drops or (sandbox and not root):
        bounds["processes"] = limits.processes
    sites = [str(p) for p in runtime() if p.name.endswith("-packages")]
    return {
        "step": order.step,
        "limits": bounds,
        "path": [*(str(p.parent) for p in packages[1:]), *sites],
        "uid": stranger() if drops else 0,
        "parent": 0 if sandbox else os.getpid(),
    }


def _spawn(
    command: list[str], variables: Mapping[str, str], shared: tuple[int, ...], errors: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            env=variables,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=shared,
            start_new_session=True,
        )
    except OSError as error:
        raise MachineFault(f"a child process could not be started: {error.strerror}") from error


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end without reaping: until then the process keeps its group's number."""
    pidfd = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(pidfd)


def _kill(child: _Child) -> None:
    """End whatever of the child's tree still runs, and reap it. A second time does nothing."""
    if child.process.returncode is not None:
        return
    if child.sandbox:
        _kill_namespace(child)
    with suppress(ProcessLookupError):
        os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait(_REAP_SECONDS)


def _kill_namespace(child: _Child) -> None:
    """Kill the namespace's first process: the kernel then kills the rest, and bubblewrap, which
    is its parent, reaps it and ends by itself."""
    with suppress(ValueError, KeyError, ProcessLookupError):
        told = os.pread(child.info, 4096, 0).rstrip(b"\0")
        first = json.loads(told)["child-pid"]
        if _ended(child.process, 0):
            return
        os.kill(first, signal.SIGKILL)
        _ended(child.process, _REAP_SECONDS)
