"""Run one step in a confined child process under limits.

A student's code can make a compiler crash, hang or use all memory. A child process turns each of
these into a result: `run_sandboxed` returns what the step returned, raises the Fault that it
raised, or raises SandboxFailure with the reason why the child died. No process and no file remains.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from grader import replace
from grader.faults import Fault, MachineFault, system_fault
from grader.sandbox.bubblewrap import (
    Sandbox,
    bubblewrap_programs,
    describe_sandbox,
    find_sandbox,
    likely_sandbox,
    package_folders,
    python_executable,
    require_sandbox,
    sandbox_environment,
    sandbox_problem,
    suggest_fix,
)
from grader.sandbox.message import ANSWERED, Reply, SandboxFailure
from grader.sandbox.process import (
    Child,
    Isolation,
    Job,
    Limits,
    child_arguments,
    exchange,
    isolate,
    kill_tree,
    reply_of,
    shared_memory,
    start_forked,
    start_process,
)
from grader.sandbox.template import (
    MODULES,
    ChildLost,
    Key,
    Rehearsal,
    TemplateEnded,
    template_key,
    templates,
    visible_paths,
)
from grader.sandbox.user import make_private

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "KeptChild",
    "Limits",
    "Reply",
    "SandboxFailure",
    "children_stay",
    "describe_sandbox",
    "prepare_template",
    "readable_paths",
    "require_sandbox",
    "restrict_access",
    "run_sandboxed",
    "sandbox_problem",
    "while_waiting",
]

_STDERR_BYTES = 64 << 10
_NO_ARRAYS: Mapping[str, NDArray[Any]] = MappingProxyType({})
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
_WHILE_WAITING: ContextVar[tuple[Callable[[], object], ...]] = ContextVar("waiting", default=())
_STAYING: ContextVar[Mapping[str, KeptChild] | None] = ContextVar("staying", default=None)
_START = "import sys; sys.path[:0] = [sys.argv[2]]; from grader.sandbox.inside import main; main()"


@contextmanager
def while_waiting(begin: Callable[[], object]) -> Iterator[None]:
    """Call `begin` whenever this thread has started a child and is about to wait for it.

    Threads of one interpreter take turns. Work that is not urgent, begun here, runs while the
    thread has nothing to do, and not beside what leads to the child's start.
    """
    token = _WHILE_WAITING.set((*_WHILE_WAITING.get(), begin))
    try:
        yield
    finally:
        _WHILE_WAITING.reset(token)


@contextmanager
def children_stay(children: Mapping[str, KeptChild]) -> Iterator[None]:
    """Have a step's calls in this thread use its child; all requests must be of one author."""
    token = _STAYING.set(children)
    try:
        yield
    finally:
        _STAYING.reset(token)


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
    kept: KeptChild | None = None,
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
        kept: Holds the child of an earlier call, which is used again where it can be.

    Raises:
        Fault: The one that the step raised; any other exception becomes a MachineFault.
        SandboxFailure: The child ended without a reply.
    """
    sandbox = _choose_sandbox(confine)
    kept = (_STAYING.get() or {}).get(step, kept)
    job = Job(step, os.urandom(16).hex(), limits, readable, devices, variables, rehearsal)
    try:
        if kept is not None and (reply := kept.run(job, request, arrays)) is not None:
            return reply
        for _ in range(2):
            try:
                return _run(job, request, arrays, sandbox, kept)
            except ChildLost:
                pass  # the next one has a new template
            except TemplateEnded:  # this machine forbids namespaces inside a sandbox
                templates().are_usable = False
                break
        return _run(job, request, arrays, sandbox, kept, forks=False)
    except (OSError, MemoryError, subprocess.TimeoutExpired) as error:
        raise system_fault(error, "a child process could not be run") from error


class KeptChild:
    """A child that stays after its reply, for the next calls with the same step and limits.

    The reply to a call is final before the child gets the request of the next one. What does not
    succeed in a child that has run before is done again in a new one: the result of a call is that
    of a child of its own.

    `begin` starts a child whose first reply `has_begun` waits for.
    """

    def __init__(self) -> None:
        self._cleanup = ExitStack()
        self._begun: tuple[Job, Child, Sandbox] | None = None
        self._child: Child | None = None
        self._terms: tuple[Any, ...] = ()

    def __enter__(self) -> KeptChild:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """End the child."""
        self._child = self._begun = None
        self._cleanup.close()

    def begin(
        self, step: str, request: Any, *, limits: Limits, readable: tuple[Path, ...],
        devices: tuple[Path, ...], variables: Mapping[str, str],
    ) -> None:  # fmt: skip
        """Start a child as a new interpreter, in the sandbox that most likely works here.

        Nothing is waited for. Call it in the main thread: the system ends a child with its thread.
        """
        sandbox = likely_sandbox(begin=False)
        job = Job(step, os.urandom(16).hex(), limits, readable, devices, variables, None)
        with suppress(MachineFault, OSError, MemoryError), ExitStack() as cleanup:
            if sandbox is not None:
                started = _started(job, request, {}, sandbox, forks=False, stays=True)
                self._begun = job, cleanup.enter_context(started), sandbox
                self._cleanup = cleanup.pop_all()

    def has_begun(self) -> bool:
        """Return whether a child was begun in a sandbox that works, and has replied."""
        if self._begun is None:
            return False
        (job, child, sandbox), self._begun = self._begun, None
        with ExitStack() as cleanup:
            cleanup.callback(self.end)
            with suppress(Fault, SandboxFailure, OSError):
                if find_sandbox() == sandbox:
                    reply_of(child, job, sandbox)
                    self._child, self._terms = child, job.terms
                    cleanup.pop_all()
        return self._child is not None

    def keep(self, job: Job, child: Child, cleanup: ExitStack) -> None:
        """Take over a child that has replied to a job; `cleanup` ends it."""
        self._child, self._terms, self._cleanup = child, job.terms, cleanup

    def run(self, job: Job, request: Any, arrays: Mapping[str, NDArray[Any]]) -> Reply | None:
        """Run a job in the child; None where there is none, or where it has no result there."""
        child = self._child
        if child is None or child.channel is None or self._terms != job.terms:
            self.end()
            return None
        with ExitStack() as memory:
            try:
                order, reply = exchange(job, request, arrays, memory)
                socket.send_fds(child.channel, [ANSWERED], [order, reply])
                return reply_of(replace(child, reply=reply), job, None)
            except (Fault, SandboxFailure, ChildLost, TemplateEnded, OSError):
                self.end()
                return None
            except BaseException:  # it is still at work on this call
                self.end()
                raise


def _run(
    job: Job, request: Any, arrays: Mapping[str, NDArray[Any]], sandbox: Sandbox | None,
    kept: KeptChild | None, *, forks: bool = True,
) -> Reply:  # fmt: skip
    """Run one job and return its reply; the exceptions are those of `run_sandboxed`.

    Where `forks`, a template may fork the child: TemplateEnded says that none can, ChildLost that
    the child ended because its template did.
    """
    with ExitStack() as cleanup:
        stays = kept is not None
        started = _started(job, request, arrays, sandbox, forks=forks, stays=stays)
        child = cleanup.enter_context(started)
        for begin in _WHILE_WAITING.get():
            begin()
        reply = reply_of(child, job, sandbox)
        if kept is not None:
            kept.keep(job, child, cleanup.pop_all())
        return reply


def prepare_template(step: str = MODULES[0]) -> None:
    """Start the process that forks the children of a step, so that the first need not wait.

    Where that fails, the first step starts it, or reports why it cannot run. Whether the sandbox
    works here is found out beside it; a template that needs one that does not work just ends.
    """
    with suppress(MachineFault, TemplateEnded, OSError, MemoryError):
        sandbox = likely_sandbox(begin=False)
        if sandbox is not None and templates().are_usable:
            packages = package_folders(step)
            templates().get(template_key(step, sandbox, packages, visible_paths(packages), {}))
            likely_sandbox()  # begun after the template, which takes longer


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
    job: Job, request: Any, arrays: Mapping[str, NDArray[Any]], sandbox: Sandbox | None, *,
    forks: bool, stays: bool,
) -> Iterator[Child]:  # fmt: skip
    """Start the child; it and its descendants are gone when the context ends, however it ends."""
    limits = job.limits
    with ExitStack() as cleanup:
        order, reply = exchange(job, request, arrays, cleanup)
        errors = shared_memory(cleanup, "errors", _STDERR_BYTES)
        info = shared_memory(cleanup, "info", 4096)
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) if stays else (None, None)
        ours, theirs = (cleanup.enter_context(one) if one else None for one in pair)
        packages = package_folders(job.step)
        memory = limits.memory and limits.memory + limits.output
        readable = visible_paths(packages, job.readable)
        isolation = cleanup.enter_context(isolate(sandbox, readable, memory, limits.processes))
        arguments = child_arguments(job, isolation, packages)
        arguments |= {"request": order, "reply": reply, "capacity": limits.output}
        arguments |= {"channel": theirs.fileno() if theirs is not None else None}
        shared = (order, reply, *(() if theirs is None else (theirs.fileno(),)))
        if sandbox and forks and not job.devices and templates().are_usable:
            key = template_key(job.step, sandbox, packages, readable, job.variables)
            child = _forked(key, arguments, (*shared, errors), isolation, job.rehearsal)
        else:
            kept = (*shared, info, errors)
            child = _spawned(job, arguments, kept, isolation, packages, readable)
        cleanup.callback(kill_tree, child)
        if theirs is not None:
            theirs.close()
        if child.is_forked:
            start_forked(child)
        yield replace(child, channel=ours)


def _forked(
    key: Key, arguments: Mapping[str, Any], shared: tuple[int, ...], isolation: Isolation,
    rehearsal: Rehearsal | None,
) -> Child:  # fmt: skip
    """Fork the child from a template. It waits for `start_forked`.

    Args:
        key: What the child can see.
        arguments: What `inside.run` needs.
        shared: The descriptors that it has: request, reply, channel if it stays, and errors.
        isolation: Its isolation.
        rehearsal: What the template may do once.

    Raises:
        TemplateEnded: Neither the template nor a new one could fork it.
    """
    request, reply, *channel, errors = shared
    descriptors = (request, reply, errors, *channel)
    own = {**arguments, "uid": 0}
    how = (own, descriptors, isolation.uid, arguments["capacity"], rehearsal)
    try:
        process = templates().get(key).fork(*how)
    except TemplateEnded:  # the system may have ended it; the next one is new
        process = templates().get(key).fork(*how)
    return Child(process, isolation, reply, errors)


def _spawned(
    job: Job, arguments: Mapping[str, Any], shared: tuple[int, ...], isolation: Isolation,
    packages: list[Path], readable: tuple[Path, ...],
) -> Child:  # fmt: skip
    """Start it as a new interpreter; `shared` as for `_forked`, with bubblewrap's before errors."""
    *inherited, info, errors = shared
    _, reply, *_ = inherited
    root = str(packages[0].parent)
    inner = [python_executable(), "-I", "-S", "-B", "-c", _START, json.dumps(arguments), root]
    if isolation.sandbox:
        inner = ["--info-fd", str(info), *inner]
        inner = isolation.sandbox.command(inner, readable, job.limits.output, job.devices)
    if isolation.group:
        inner = isolation.group.enter_command(inner)
    variables = {**sandbox_environment(), **job.variables}
    process = start_process(inner, variables, (*inherited, info), errors)
    return Child(process, isolation, reply, errors, info)
