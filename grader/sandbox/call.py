"""Run one step in a confined child process under limits.

A student's code can make a compiler crash, hang or use all memory. A child process turns each of
these into a result: `run_sandboxed` returns what the step returned, raises the Fault that it
raised, or raises SandboxFailure with the reason why the child died. No process and no file remains.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from grader import dataclass
from grader.faults import MachineFault, system_fault
from grader.sandbox.bubblewrap import (
    Sandbox,
    bubblewrap_programs,
    describe_sandbox,
    find_sandbox,
    likely_sandbox,
    package_folders,
    python_executable,
    python_folders,
    require_sandbox,
    sandbox_environment,
    sandbox_problem,
    suggest_fix,
)
from grader.sandbox.inside import USAGE_BYTES
from grader.sandbox.message import create_memory, seal_memory, write_message
from grader.sandbox.process import (
    Child,
    Isolation,
    Reply,
    SandboxFailure,
    exit_failure,
    isolate,
    kill_tree,
    read_reply,
    read_stderr,
    read_usage,
    seal_reply,
    start_forked,
    start_process,
)
from grader.sandbox.template import (
    COMPILER_MODULES,
    MODULES,
    NOT_SET_UP,
    ChildLost,
    ForkedChild,
    Key,
    Rehearsal,
    TemplateEnded,
    templates,
)
from grader.sandbox.user import make_private

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Limits",
    "Reply",
    "SandboxFailure",
    "describe_sandbox",
    "prepare_template",
    "readable_paths",
    "require_sandbox",
    "restrict_access",
    "run_sandboxed",
    "sandbox_problem",
]

START_SECONDS = 30.0
"""Time for a child to start: one that could not set up its sandbox may wait for ever."""

_STDERR_BYTES = 64 << 10
_BUSY_SHARE = 0.5  # of the wall time, as processor time, that makes its end the child's own
_NO_ARRAYS: Mapping[str, NDArray[Any]] = MappingProxyType({})
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
_START = "import sys; sys.path[:0] = [sys.argv[2]]; from grader.sandbox.inside import main; main()"


@dataclass(frozen=True)
class Limits:
    """What one step may use.

    Attributes:
        wall: Seconds of wall time, a backstop: a child that reaches it after little processor
            time was stopped or waited for a core, which is a system error.
        cpu: Seconds of processor time.
        memory: Bytes of address space; 0 sets no limit, because CUDA reserves more address space
            than there is memory.
        output: Bytes of the reply, and of the child's private /tmp.
        processes: Processes and threads together.
    """

    wall: float = 20.0
    cpu: float = 60.0
    memory: int = 2 << 30
    output: int = 256 << 20
    processes: int = 64


@dataclass(frozen=True)
class _Job:
    """What the caller requested, and the nonce that the reply must carry."""

    step: str
    nonce: str
    limits: Limits
    readable: tuple[Path, ...]
    devices: tuple[Path, ...]
    variables: Mapping[str, str]
    rehearsal: Rehearsal | None


def run_sandboxed(
    step: str,
    request: Any,
    arrays: Mapping[str, NDArray[Any]] = _NO_ARRAYS,
    *,
    limits: Limits = Limits(),  # noqa: B008  frozen
    readable: tuple[Path, ...] = (),
    devices: tuple[Path, ...] = (),
    variables: Mapping[str, str] = _NO_VARIABLES,
    confine: bool | None = None,
    rehearsal: Rehearsal | None = None,
) -> Reply:
    """Run a step on a request in a child process.

    Where bubblewrap works, the child sees the interpreter, its packages, the step's own package,
    `readable` and `devices`, and nothing else.

    Args:
        step: "package.module:function"; the function takes (request, arrays) and returns
            (JSON value, arrays).
        request: A JSON value.
        arrays: Named arrays of numbers.
        limits: What the child may use.
        readable: Further paths that the child may read.
        devices: Device nodes that the child may use.
        variables: The child's environment; it has none of the caller's variables.
        confine: True requires a sandbox, False uses none, None uses one where it works.
        rehearsal: What the process that forks the children may do once, to save them time.

    Raises:
        Fault: The one that the step raised; any other exception becomes a MachineFault.
        SandboxFailure: The child ended without a reply.
    """
    sandbox = _choose_sandbox(confine)
    nonce = os.urandom(16).hex()
    job = _Job(step, nonce, limits, readable, devices, variables, rehearsal)
    try:
        for _ in range(2):
            try:
                return _run(job, request, arrays, sandbox)
            except ChildLost:
                pass  # the next one has a new template
            except TemplateEnded:  # this machine forbids namespaces inside a sandbox
                templates().are_usable = False
                break
        return _run(job, request, arrays, sandbox, forks=False)
    except (OSError, MemoryError, subprocess.TimeoutExpired) as error:
        raise system_fault(error, "a child process could not be run") from error


def _run(
    job: _Job, request: Any, arrays: Mapping[str, NDArray[Any]], sandbox: Sandbox | None,
    *, forks: bool = True,
) -> Reply:  # fmt: skip
    """Run one job and return its reply; the exceptions are those of `run_sandboxed`.

    Where `forks`, a template may fork the child: TemplateEnded says that none can, ChildLost that
    the child ended because its template did.
    """
    limits = job.limits
    with _started(job, request, arrays, sandbox, forks) as child:
        start = min(limits.wall, START_SECONDS)
        ended = child.wait(start)
        if not ended and not read_usage(child.reply).began:
            raise SandboxFailure("timeout", f"it did not start in {start:g} s")
        if not ended and not child.wait(limits.wall - start):
            # A child that used little processor time was stopped, or waited for a core.
            busy = read_usage(child.reply).cpu >= min(limits.cpu, limits.wall * _BUSY_SHARE)
            detail = f"it ran for more than {limits.wall:g} s"
            raise SandboxFailure("timeout", detail, caused_by_child=busy)
        kill_tree(child)
        if child.process.returncode:
            if child.isolation.group and child.isolation.group.ran_out_of_memory():
                detail = f"its processes together needed more than {limits.memory >> 20} MB"
                raise SandboxFailure("memory", detail, caused_by_child=True)
            if isinstance(child.process, ForkedChild) and child.process.ended_with_template():
                raise ChildLost
            errors, usage = read_stderr(child.errors), read_usage(child.reply)
            status = child.process.returncode
            if status == NOT_SET_UP:
                raise TemplateEnded(errors.rstrip(b"\0").decode(errors="replace"))
            confined = sandbox is not None and not child.is_forked
            raise exit_failure(status, errors, usage, limits.cpu, limits.memory, confined)
        seal_reply(child.reply)
        return read_reply(child.reply, job.nonce, job.step, limits.memory)


def prepare_template() -> None:
    """Start the process that forks the children of most steps, so that the first need not wait.

    Where that fails, the first step starts it, or reports why it cannot run. Whether the sandbox
    works here is found out beside it; a template that needs one that does not work just ends.
    """
    with suppress(MachineFault, TemplateEnded, OSError, MemoryError):
        sandbox = likely_sandbox()
        if sandbox is not None and templates().are_usable:
            step = MODULES[0]
            packages = package_folders(step)
            templates().get(_template_key(step, sandbox, packages, _visible_paths(packages), {}))


def restrict_access(paths: Iterable[Path]) -> None:
    """Make sure that no step can read these files and folders.

    Those that a step can read are closed to all but their owner.

    Raises:
        MachineFault: A step can still read one of them.
    """
    for path in readable_paths(paths):
        make_private(path)
    if remaining := readable_paths(paths):
        raise MachineFault(
            f"a submission could read {remaining[0]} here",
            fix="run the grader as root with an interpreter that other users can read, so that it "
            "can grade as an unprivileged user; or install bubblewrap",
        )


def readable_paths(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return those of these files and folders that a step can read here, tried by a step."""
    by_name = {str(path.absolute()): path for path in paths}
    readable = run_sandboxed("grader.sandbox.user:find_readable", list(by_name)).value
    return tuple(path for name, path in by_name.items() if name in readable)


def _choose_sandbox(confine: bool | None) -> Sandbox | None:
    if confine is False:
        return None
    sandbox = find_sandbox()
    if isinstance(sandbox, Sandbox):
        return sandbox
    if confine:
        fix = suggest_fix(any(bubblewrap_programs()))
        raise MachineFault(f"no sandbox works here: {sandbox}", fix=fix)
    return None


@contextmanager
def _started(
    job: _Job, request: Any, arrays: Mapping[str, NDArray[Any]], sandbox: Sandbox | None,
    forks: bool,
) -> Iterator[Child]:  # fmt: skip
    """Start the child; it and its descendants are gone when the context ends, however it ends."""
    limits = job.limits
    with ExitStack() as cleanup:

        def shared_memory(name: str, size: int | None = None) -> int:
            fd = create_memory(name, size)
            cleanup.callback(os.close, fd)
            return fd

        order = shared_memory("request")
        reply, errors = (
            shared_memory("reply", limits.output + USAGE_BYTES),
            shared_memory("errors", _STDERR_BYTES),
        )
        info = shared_memory("info", 4096)
        write_message(order, job.nonce, request, arrays)
        seal_memory(order)
        packages = package_folders(job.step)
        memory = limits.memory and limits.memory + limits.output
        readable = _visible_paths(packages, job.readable)
        isolation = cleanup.enter_context(isolate(sandbox, readable, memory, limits.processes))
        arguments = _child_arguments(job, isolation, packages)
        arguments |= {"request": order, "reply": reply, "capacity": limits.output}
        shared = _Shared(order, reply, errors, info)
        if sandbox and forks and not job.devices and templates().are_usable:
            key = _template_key(job.step, sandbox, packages, readable, job.variables)
            child = _forked(key, arguments, shared, isolation, job.rehearsal)
        else:
            child = _spawned(job, arguments, shared, isolation, packages, readable)
        cleanup.callback(kill_tree, child)
        if child.is_forked:
            start_forked(child)
        yield child


@dataclass(frozen=True)
class _Shared:
    """The descriptors of the anonymous memory that a child shares with its caller."""

    request: int
    reply: int
    errors: int
    info: int


def _visible_paths(packages: list[Path], readable: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Return the paths that a child sees besides the system's."""
    return (*python_folders(), *packages, *(path.absolute() for path in readable))


def _template_key(
    step: str, sandbox: Sandbox, packages: list[Path], readable: tuple[Path, ...],
    variables: Mapping[str, str],
) -> Key:  # fmt: skip
    module = step.partition(":")[0]
    groups = (group for group in (MODULES, COMPILER_MODULES) if module in group)
    modules = next(groups, (*MODULES, module))
    return Key(sandbox, readable, tuple(packages), modules, tuple(sorted(variables.items())))


def _forked(
    key: Key, arguments: Mapping[str, Any], shared: _Shared, isolation: Isolation,
    rehearsal: Rehearsal | None,
) -> Child:  # fmt: skip
    """Fork the child from a template. It waits for `start_forked`.

    Raises:
        TemplateEnded: Neither the template nor a new one could fork it.
    """
    descriptors = (shared.request, shared.reply, shared.errors)
    own = {**arguments, "uid": 0}
    how = (own, descriptors, isolation.uid, arguments["capacity"], rehearsal)
    try:
        process = templates().get(key).fork(*how)
    except TemplateEnded:  # the system may have ended it; the next one is new
        process = templates().get(key).fork(*how)
    return Child(process, isolation, shared.reply, shared.errors)


def _spawned(
    job: _Job, arguments: Mapping[str, Any], shared: _Shared, isolation: Isolation,
    packages: list[Path], readable: tuple[Path, ...],
) -> Child:  # fmt: skip
    """Start the child as a new interpreter."""
    root = str(packages[0].parent)
    inner = [python_executable(), "-I", "-S", "-B", "-c", _START, json.dumps(arguments), root]
    if isolation.sandbox:
        inner = ["--info-fd", str(shared.info), *inner]
        inner = isolation.sandbox.command(inner, readable, job.limits.output, job.devices)
    if isolation.group:
        inner = isolation.group.enter_command(inner)
    variables = {**sandbox_environment(), **job.variables}
    descriptors = (shared.request, shared.reply, shared.info)
    process = start_process(inner, variables, descriptors, shared.errors)
    return Child(process, isolation, shared.reply, shared.errors, shared.info)


def _child_arguments(job: _Job, isolation: Isolation, packages: list[Path]) -> dict[str, Any]:
    """Return what the child reads from its command line; the nonce is not among it."""
    limits = job.limits
    bounds = {"cpu": int(-(-limits.cpu // 1)), "output": limits.output + USAGE_BYTES}
    if limits.memory:
        bounds["memory"] = limits.memory
    if isolation.uid or (isolation.sandbox and os.geteuid() != 0):
        bounds["processes"] = limits.processes
    sites = [str(p) for p in python_folders() if p.name.endswith("-packages")]
    return {
        "step": job.step,
        "limits": bounds,
        "path": [*(str(p.parent) for p in packages[1:]), *sites],
        "uid": isolation.uid,
        "confined": isolation.sandbox is not None,
    }
