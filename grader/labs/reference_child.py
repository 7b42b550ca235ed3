"""The process that runs reference code: load the module and serve calls until it is stopped.

Reference code is the lab author's and trusted, so there is no sandbox here. It has a process of its
own because a thread cannot be stopped, and a call into a library may never return.

A message between the grader and this process is one pickled value on a Unix socket; pickle is safe
because both ends run trusted code. A large message is in anonymous memory (a memfd) together with
its arrays, and its descriptor crosses the socket: the sender copies each array once, and the
receiver maps it without a copy.
"""

from __future__ import annotations

import faulthandler
import fcntl
import gc
import importlib.util
import mmap
import os
import pickle
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any, NoReturn

import numpy as np

from grader import dataclass
from grader.faults import is_system_error
from grader.labs import model, tolerance

_ALIGNMENT = 64
_SMALL = 1 << 15
"""Bytes of the largest message that crosses the socket itself."""
_PACKET = 1 << 16
_FUNCTIONS = ("inputs", "expected", "verify")
"""The functions of a reference that can be called."""


SERVING_FAILED = 71
"""The exit code of a process that cannot serve, for example without memory (EX_OSERR)."""


@dataclass(frozen=True)
class Load:
    """A request to load a reference from its source."""

    path: str
    source: bytes


@dataclass(frozen=True)
class Call:
    """A request to call a function of the loaded reference."""

    function: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Draw:
    """A seed among the arguments of a call, in whose place the function gets a random generator."""

    seed: int

    def generator(self) -> np.random.Generator:
        """Return the generator; only the processes that draw import NumPy's random numbers."""
        return np.random.Generator(np.random.PCG64(self.seed))


@dataclass(frozen=True)
class Made:
    """An array of an argument that is a dict: what makes it, in the process that needs it."""

    make: Callable[..., Any]
    arguments: tuple[Any, ...]

    def array(self) -> Any:
        """Return the array."""
        return self.make(*self.arguments)


@dataclass(frozen=True)
class Started:
    """The process has received a request and starts to work on it; its time limit starts here."""


@dataclass(frozen=True)
class Returned:
    """The request is done.

    After Load, `value` is the tuple of functions that the module defines; after Call, it is what
    the function returned.
    """

    value: Any


@dataclass(frozen=True)
class Raised:
    """The reference failed: what happened, and the line in reference.py if it is known.

    `is_system_error` says that the machine failed it, for example without memory.
    """

    what: str
    line: int | None = None
    is_system_error: bool = False


def send(channel: socket.socket, value: Any) -> None:
    """Send one value.

    Raises:
        OSError: The other end is closed, or there is no memory.
        Exception: `value` cannot be pickled; nothing was sent.
    """
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(value, 5, buffer_callback=buffers.append)
    blocks = [memoryview(text), *(buffer.raw() for buffer in buffers)]
    if sum(block.nbytes for block in blocks) <= _SMALL:
        channel.send(pickle.dumps(value, 5))
        return
    index: list[tuple[int, int]] = []
    memory = os.memfd_create("warpgrade-reference", os.MFD_CLOEXEC)
    with open(memory, "wb") as file:
        for block in blocks:
            start = -(-file.tell() // _ALIGNMENT) * _ALIGNMENT
            file.seek(start)
            file.write(block)
            index.append((start, block.nbytes))
        file.flush()
        socket.send_fds(channel, [pickle.dumps(index)], [memory])


def receive(channel: socket.socket) -> Any:
    """Receive one value; its arrays are private and writable.

    Raises:
        EOFError: The other end is closed.
        Exception: The value cannot be unpickled here.
    """
    flags = socket.MSG_CMSG_CLOEXEC
    packet, descriptors, _, _ = socket.recv_fds(channel, _PACKET, 1, flags)
    if not packet:
        raise EOFError
    if not descriptors:
        return pickle.loads(packet)
    try:
        whole = memoryview(mmap.mmap(descriptors[0], 0, access=mmap.ACCESS_COPY))
    finally:
        os.close(descriptors[0])
    text, *buffers = (whole[start : start + size] for start, size in pickle.loads(packet))
    return pickle.loads(text, buffers=buffers)


def main() -> NoReturn:
    """Serve on the descriptors that the command line names, in a new interpreter."""
    try:
        channel, lifeline, trace = map(int, sys.argv[1].split(","))
        serve(channel, lifeline, trace)
    finally:
        os._exit(SERVING_FAILED)


def serve_forked(channel: int, lifeline: int, trace: int) -> NoReturn:
    """Serve in a forked process, after closing what belongs to its parent."""
    try:
        os.setsid()
        gc.freeze()  # a finalizer of the parent's objects would close descriptors of this process
        signal.set_wakeup_fd(-1)
        kept = sorted({2, channel, lifeline, trace})
        for low, high in zip(kept, [*kept[1:], os.sysconf("SC_OPEN_MAX")], strict=True):
            os.closerange(low + 1, high)
        serve(channel, lifeline, trace)
    finally:
        os._exit(SERVING_FAILED)


def serve(channel: int, lifeline: int, trace: int) -> NoReturn:
    """Answer requests until the other end is closed.

    Args:
        channel: The socket that messages cross.
        lifeline: The read end of a pipe whose write end only the grader has open.
        trace: A file that receives the stack when this process is aborted or crashes.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGIO):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(trace, all_threads=True)
    _end_with(lifeline)
    _redirect()
    _accept_former_names()
    import numpy.random  # noqa: F401  NumPy defers it, and most references draw their inputs

    with socket.socket(fileno=channel) as connected:
        _answer_all(connected)
    os._exit(0)


def _end_with(lifeline: int) -> None:
    """Have the kernel end this process when the pipe's other end is closed, whatever runs here.

    SIGIO ends a process that does not handle it. PR_SET_PDEATHSIG does not serve here: it acts
    already when the thread that started the process ends.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(lifeline, select.POLLHUP)
    if poll.poll(0):
        os._exit(1)


def _redirect() -> None:
    """Read nothing, and print to standard error, because standard output is the grader's."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115


def _accept_former_names() -> None:
    """Let references of older labs import `grader.lab` and `grader.tolerance`, the former names."""
    sys.modules.setdefault("grader.lab", model)
    sys.modules.setdefault("grader.tolerance", tolerance)


def _answer_all(channel: socket.socket) -> None:
    module = ModuleType("reference")
    while True:
        try:
            request = receive(channel)
        except (EOFError, ConnectionError):
            return
        send(channel, Started())
        if isinstance(request, Load):
            module = ModuleType("reference")
            module.__file__ = request.path
            answer = _load(request, module)
        else:
            answer = _call(request, module)
        try:
            send(channel, answer)
        except Exception as error:  # whatever pickling the author's own objects raises
            what = f"the reference returned something that cannot be passed on: {error}"
            send(channel, Raised(what.splitlines()[0], is_system_error=is_system_error(error)))
        del request, answer  # their arrays would stay in memory until the next request


def _load(request: Load, module: ModuleType) -> Returned | Raised:
    """Execute the source in a new module."""
    try:
        code = _compiled(request.path, request.source)
    except SyntaxError as error:
        return Raised(f"not valid Python: {error.msg}", error.lineno)
    except ValueError as error:  # a null byte
        return Raised(f"not valid Python: {error}")
    try:
        exec(code, module.__dict__)
    except BaseException as error:  # SystemExit too: a call of sys.exit() is the author's mistake
        return _raised(request.path, error)
    return Returned(tuple(n for n in _FUNCTIONS if callable(getattr(module, n, None))))


@lru_cache(maxsize=16)
def _compiled(path: str, source: bytes) -> CodeType:
    return compile(source, path, "exec")


def _call(request: Call, module: ModuleType) -> Returned | Raised:
    try:
        given = map(_given, request.arguments)
        value: Any = getattr(module, request.function)(*given)
    except BaseException as error:
        return _raised(module.__file__ or "", error)
    return Returned(value)


def _given(argument: Any) -> Any:
    """Return what the function gets for an argument of a call."""
    if isinstance(argument, Draw):
        return argument.generator()
    if isinstance(argument, dict):
        return {k: v.array() if isinstance(v, Made) else v for k, v in argument.items()}
    return argument


def _raised(path: str, error: BaseException) -> Raised:
    """The reply for an exception, with the innermost line of the reference."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == path]
    text = f"{type(error).__name__}: {error}".rstrip(": ").splitlines()[0]
    line = lines[-1] if lines else None
    is_system = is_system_error(error) or _is_failed_import(error, frames[-1:], path)
    return Raised(f"the reference raised {text}", line, is_system)


def _is_failed_import(
    error: BaseException, innermost: list[traceback.FrameSummary], path: str
) -> bool:
    """Return whether a module is there, but could not be read.

    Python reports a folder that it cannot list as a missing module. A library that cannot import a
    part of itself could not read a file.
    """
    if isinstance(error, ModuleNotFoundError):
        importlib.invalidate_caches()
        with suppress(ImportError, ValueError):
            return error.name is not None and importlib.util.find_spec(error.name) is not None
        return False
    is_library = any(frame.filename != path for frame in innermost)
    return isinstance(error, ImportError) and is_library
