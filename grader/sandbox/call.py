"""One step of one attempt in a child process of its own, confined and under limits.

What a student wrote can make a compiler crash, hang or eat all memory. In a box that is still an
answer: `call` returns what the step returned, raises the Fault that it raised, or raises BoxDeath
with the reason why the child died. Nothing is left behind: no process, no file.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from grader.faults import MachineFault
from grader.sandbox.bubblewrap import (
    Sandbox,
    bubblewrap_programs,
    find_sandbox,
    python_executable,
    python_folders,
    sandbox_environment,
    suggest_fix,
)
from grader.sandbox.message import write_message
from grader.sandbox.outcome import (
    Reply,
    SandboxFailure,
    create_memory,
    exit_failure,
    read_reply,
    read_stderr,
    seal_memory,
    seal_reply,
)
from grader.sandbox.process import (
    Child,
    Isolation,
    isolate,
    kill_tree,
    start_process,
    wait_for_exit,
)
from grader.sandbox.user import make_private

__all__ = [
    "Limits",
    "Reply",
    "SandboxFailure",
    "describe_sandbox",
    "readable_paths",
    "require_sandbox",
    "restrict_access",
    "run_sandboxed",
    "sandbox_problem",
]

_STDERR_BYTES = 64 << 10
_NO_ARRAYS: Mapping[str, NDArray[Any]] = MappingProxyType({})
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
_START = "import sys; sys.path[:0] = [sys.argv[2]]; from grader.sandbox.inside import main; main()"


@dataclass(frozen=True)
class Limits:
    """What one step may take: seconds of wall and processor time (where the latter are fewer, who
    comes to the end of the former has waited for a core), bytes of address space (0: any, because
    CUDA reserves more of it than there is memory), bytes of output (its reply, and its private
    /tmp), processes and threads together.
    """

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


def run_sandboxed(
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
    sandbox = _sandbox(confine)
    nonce = secrets.token_hex(16)
    order = _Order(step, nonce, limits, readable, devices, variables)
    with _started(order, request, arrays, sandbox) as child:
        if not wait_for_exit(child.process, limits.wall):
            waited = limits.cpu < limits.wall  # else its processor time had been up before
            raise SandboxFailure(
                "timeout", f"it ran for more than {limits.wall:g} s", own=not waited
            )
        kill_tree(child)
        if child.process.returncode:
            if child.walls.group and child.walls.group.starved():
                raise SandboxFailure(
                    "memory", f"all of it needed more than {limits.memory >> 20} MB"
                )
            confined = sandbox is not None
            raise exit_failure(
                child.process.returncode, read_stderr(child.errors), limits.cpu, confined
            )
        seal_reply(child.reply)
        return read_reply(child.reply, nonce, step)


def describe_sandbox() -> str:
    """The sandbox that boxes use here, "bubblewrap 0.8.0 (/usr/bin/bwrap), each box as another
    user", or "".
    """
    found = find_sandbox()
    if isinstance(found, str):
        return ""
    inside = "each box as another user" if found.drops else "each box in a user namespace"
    return f"{found.version} ({found.program}), {inside}"


def sandbox_problem() -> str:
    """Why boxes are not confined here, in one sentence; empty when they are."""
    found = find_sandbox()
    return found if isinstance(found, str) else ""


def require_sandbox(*, unsafe: bool = False) -> None:
    """Other people's work is not graded without a sandbox: MachineFault, with how to get one,
    where none works, unless the user asked for it (`--unsafe-no-sandbox`).
    """
    found = find_sandbox()
    if isinstance(found, str) and not unsafe:
        raise MachineFault(
            f"other people's work is not graded without a sandbox, and none works here: {found}",
            fix=f"{suggest_fix(bool(bubblewrap_programs()))}, or use --unsafe-no-sandbox",
        )


def restrict_access(paths: Iterable[Path]) -> None:
    """Make sure that no step can read these files and folders, where there is a sandbox and where
    there is only another user: what is readable is closed to all but its owner. MachineFault when
    that does not help.
    """
    for path in readable_paths(paths):
        make_private(path)
    if left := readable_paths(paths):
        raise MachineFault(
            f"a submission could read {left[0]} here",
            fix="run the grader as root, so that it can grade as another user, with the "
            "interpreter where others can read it; or install bubblewrap",
        )


def readable_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Those of these files and folders that a step can read here, asked from inside a box."""
    asked = {str(path.absolute()): path for path in paths}
    told = run_sandboxed("grader.sandbox.user:find_readable", list(asked)).value
    return tuple(path for name, path in asked.items() if name in told)


def _sandbox(confine: bool | None) -> Sandbox | None:
    if confine is False:
        return None
    found = find_sandbox()
    if isinstance(found, Sandbox):
        return found
    if confine:
        raise MachineFault(
            f"no sandbox works here: {found}", fix=suggest_fix(bool(bubblewrap_programs()))
        )
    return None


@contextmanager
def _started(
    order: _Order, request: Any, arrays: Mapping[str, NDArray[Any]], sandbox: Sandbox | None
) -> Iterator[Child]:
    """A running child; whatever happens, it and its own children are gone afterwards."""
    limits = order.limits
    with ExitStack() as held:

        def shared(name: str, size: int | None = None) -> int:
            fd = create_memory(name, size)
            held.callback(os.close, fd)
            return fd

        asked = shared("request")
        read_reply, errors = shared("reply", limits.output), shared("errors", _STDERR_BYTES)
        info = shared("info", 4096)
        write_message(asked, order.nonce, request, arrays)
        seal_memory(asked)
        packages = _packages(order.step)
        most = limits.memory and limits.memory + limits.output
        shown = (*python_folders(), *packages, *(p.absolute() for p in order.readable))
        walls = held.enter_context(isolate(sandbox, shown, most, limits.processes))
        told = _told(order, walls, packages)
        told |= {"request": asked, "reply": read_reply, "capacity": limits.output}
        root = str(packages[0].parent)
        inner = [python_executable(), "-I", "-S", "-B", "-c", _START, json.dumps(told), root]
        if sandbox:
            inner = ["--info-fd", str(info), *inner]
            inner = sandbox.command(inner, shown, limits.output, order.devices)
        if walls.group:
            inner = walls.group.entering(inner)
        variables = {**sandbox_environment(), **order.variables}
        process = start_process(inner, variables, (asked, read_reply, info), errors)
        child = Child(process, walls, read_reply, errors, info)
        held.callback(kill_tree, child)
        yield child


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


def _told(order: _Order, walls: Isolation, packages: list[Path]) -> dict[str, Any]:
    """What the child is told on its command line; the nonce is not among it."""
    limits = order.limits
    bounds = {"cpu": int(-(-limits.cpu // 1)), "output": limits.output}
    if limits.memory:
        bounds["memory"] = limits.memory
    if walls.uid or (walls.sandbox and os.geteuid() != 0):
        bounds["processes"] = limits.processes
    sites = [str(p) for p in python_folders() if p.name.endswith("-packages")]
    return {
        "step": order.step,
        "limits": bounds,
        "path": [*(str(p.parent) for p in packages[1:]), *sites],
        "uid": walls.uid,
        "confined": walls.sandbox is not None,
    }
