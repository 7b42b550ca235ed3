"""The entry point of `grader` and `python -m grader`.

The command runs in a forked process, and this one waits for it. Native code of libraries may crash,
or end the process with any exit code, when memory runs out; the system may kill it for the same
reason. The exit code would then say nothing, or that a check fails. Here it becomes a system error.
And whatever outlives the command, because what would have ended it was killed too, is ended here.
"""

from __future__ import annotations

import sys

from grader import import_numpy_faster

if sys.platform != "linux":  # where some of the modules below do not exist
    from grader.faults import NOT_LINUX, other_system

    sys.exit(f"{NOT_LINUX}, and this is {sys.platform}.\n  {other_system(sys.platform)}")

import atexit
import fcntl
import gc
import os
import select
import signal
from contextlib import suppress
from typing import NoReturn

MACHINE = 3
INTERRUPTED = 130

ALLOCATIONS = 100_000
"""Objects that are made between two garbage collections. Python's default, 700, collects hundreds
of times while modules are imported, where next to nothing is garbage."""


GRADING = (
    *(("check",), ("batch",), ("explain",), ("replay",), ("worker",), ("lsp",)),
    ("labs", "check"),
)
"""The commands that call a lab's reference."""

REFERENCES = 2
"""Processes for the reference where a GPU may be used: one prepares the cases while the other
prepares the timed launch."""

_DEBUG = "--debug"
_CHECK_MEMORY = "check the free memory of this machine and its limits (ulimit -a)"
_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_WATCHED = (*_REQUESTS, signal.SIGCHLD)
_END_SECONDS = 20
"""How long the command may take to end when its exit code is known; the kernel ends it then. What
is done at exit waits for locks, and a thread that ended for want of memory may hold one."""
_SET_CHILD_SUBREAPER = 36  # of prctl, see linux/prctl.h
_THREAD_BYTES = 32 << 20
"""The memory that must be left for a thread: its stack of 8 MiB, and what Python allocates."""
_FORWARD_SECONDS = 0.2
"""A terminal or a shell often sends a signal to both processes: it is forwarded only when the
command still runs after this time."""


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    gc.set_threshold(ALLOCATIONS)
    # NumPy reads this once, when it is imported. With one thread, sums of the references are the
    # same on every machine, and no thread of NumPy competes with those of the simulator.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Else pydantic asks each installed package for plugins when the first lab is read.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    code = MACHINE
    try:
        code = _run_or_explain(sys.argv[1:])
        _end(code)
    finally:  # without memory each call may fail, and the interpreter would tell of that
        os._exit(code)


def _run_or_explain(words: list[str]) -> int:
    try:
        return _run_watched(words)
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:  # noqa: BLE001  without memory even a call fails
        return _cannot_start(error)


def _end(code: int) -> NoReturn:
    """Call what libraries have registered for the exit, and end the process.

    The interpreter's own end would free object by object what nothing reads, for 10 ms, and wait
    for threads. Without memory, either would show tracebacks below the command's message.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            with suppress(OSError):  # told by the command, which flushes too
                stream.flush()
    if _DEBUG not in sys.argv:
        with suppress(OSError):  # no descriptor is left
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        atexit._run_exitfuncs()
    finally:
        os._exit(code)


def _run_watched(words: list[str]) -> int:
    """Run the command in a forked process; return its exit code, in both processes."""
    from grader.cli.terminal import open_standard_streams

    open_standard_streams()
    report, reported = os.pipe()
    lifeline, kept = os.pipe()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    others = _children()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    pid = os.fork()
    if pid:
        os.close(reported)
        os.close(lifeline)
        _adopt()
        status = _wait(pid)
        _end_remaining(others)
        return _exit_code(status, report)
    os.close(report)
    os.close(kept)
    _end_on_interrupt()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _end_with(lifeline)
    try:
        code = _run(words)
    except Exception as error:  # noqa: BLE001  without memory even a call fails
        code = _cannot_start(error)
    signal.alarm(_END_SECONDS)
    with suppress(OSError):  # the watching process has ended
        os.write(reported, b"%d" % code)
    return code


def _end_on_interrupt() -> None:
    """Have SIGINT end this process, unless it is ignored; the other process says so.

    Python would raise KeyboardInterrupt at any instruction. Inside an import, a lock or the
    interpreter's exit it leaves locked what others wait for, or a traceback, or it is lost.
    A command that ends its work in order handles the signal itself, see `grader.cli.interrupts`.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end_with(lifeline: int) -> None:
    """Have the kernel end this process, with SIGIO, when the pipe's other end is closed."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_RDONLY | os.O_ASYNC)
    poll = select.poll()
    poll.register(lifeline, select.POLLHUP)
    if poll.poll(0):
        os._exit(MACHINE)


def _adopt() -> None:
    """Have the kernel give this process, not init, each descendant whose parent ends."""
    import ctypes  # takes 2 ms, in which the command goes on

    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children() -> set[int]:
    """The processes whose parent this process is, as far as the kernel says."""
    with suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return set(map(int, file.read().split()))
    return set()


def _end_remaining(others: set[int]) -> None:
    """Kill the command's descendants, which are this process's children now.

    For example a sandbox that waits for the process that would set it up, which was killed.

    Args:
        others: The children that this process had before it ran the command.
    """
    while remaining := _children() - others:
        for pid in remaining:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:  # another user's, which ends with its namespace
                others = others | {pid}
            else:
                os.waitpid(pid, 0)


def _wait(pid: int) -> int:
    """Wait for the command, and return its status. Requests to end are forwarded to it."""
    requests: list[int] = []
    while True:
        if requests:
            info = signal.sigtimedwait(_WATCHED, _FORWARD_SECONDS)
        else:
            info = signal.sigwaitinfo(_WATCHED)
        ended, status = os.waitpid(-1, os.WNOHANG)
        while ended not in (0, pid):  # one that was adopted
            ended, status = os.waitpid(-1, os.WNOHANG)
        if ended:
            return status
        if info is None:
            for number in requests:
                os.kill(pid, number)
            requests.clear()
        elif info.si_signo in _REQUESTS and info.si_code <= 0:  # sent by a process
            requests.append(info.si_signo)


def _exit_code(status: int, report: int) -> int:
    """Return the exit code that the command reported before it ended, or MACHINE if it did not."""
    os.set_blocking(report, False)
    with suppress(BlockingIOError, ValueError):
        return int(os.read(report, 8))
    code = os.waitstatus_to_exitcode(status)
    if -code == signal.SIGINT:
        return _interrupted()
    if -code in _REQUESTS:  # end in the same way
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
        os.kill(os.getpid(), -code)
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"a library, with code {code}"
    _say(f"grader was ended by {how}: most likely no memory was left", _CHECK_MEMORY)
    return MACHINE


def refuse_threads_without_memory() -> None:
    """Let threads start only where there is memory for them.

    Python waits without end for the start of a thread that finds none to begin with.
    """
    import threading

    start = threading.Thread.start

    def checked(thread: threading.Thread) -> None:
        try:
            bytes(_THREAD_BYTES)  # the system only counts it
        except MemoryError:
            raise RuntimeError("can't start new thread") from None  # as Python says it
        start(thread)

    setattr(threading.Thread, "start", checked)  # noqa: B010  mypy refuses an assignment


def _run(words: list[str]) -> int:
    try:
        refuse_threads_without_memory()
        grades = _grades(words)
        if grades:
            # The template imports NumPy on one core while this process does on the other.
            from grader.sandbox.call import prepare_template

            prepare_template()
            import_numpy_faster()
        may_use_gpu = _may_use_gpu(words)
        if may_use_gpu:
            # They take as long as all that comes before the first launch.
            from grader.gpu.process import begin_children

            begin_children()
        import logging

        # hashlib, for one, logs a traceback when one of its libraries cannot be loaded.
        logging.getLogger().addHandler(logging.NullHandler())
        if grades:
            # Forked while this process is small: later, each page that both use would be copied.
            from grader.labs.reference import prepare_processes

            prepare_processes(REFERENCES if may_use_gpu else 1)
        from grader.cli.app import run
    except BaseException as error:  # noqa: BLE001  without memory, the compiler raises anything
        return _cannot_start(error)
    return run(words)


def _grades(words: list[str]) -> bool:
    """Whether these words of the command line call a lab's reference, as far as is known."""
    known = any(tuple(words[: len(command)]) == command for command in GRADING)
    return known and not {"-h", "--help"} & set(words)


def _may_use_gpu(words: list[str]) -> bool:
    """Whether these words of the command line grade one submission on a GPU of this machine."""
    if words[:1] != ["check"] or {"sim", "--on=sim", "-h", "--help"} & set(words):
        return False
    from grader.gpu.devices import devices

    return bool(devices())


def _cannot_start(error: BaseException) -> int:
    if _DEBUG in sys.argv:
        import traceback

        traceback.print_exc()
    incomplete = isinstance(error, ModuleNotFoundError)
    fix = "install grader again, with what it needs" if incomplete else _CHECK_MEMORY
    _say(f"grader cannot start: {type(error).__name__}: {error}", fix)
    return MACHINE


def _interrupted() -> int:
    _say("stopped")
    return INTERRUPTED


def _say(what: str, fix: str = "") -> None:
    text = f"{what}\n  {fix}\n" if fix else f"{what}\n"
    with suppress(OSError):
        os.write(2, text.encode(errors="replace"))


if __name__ == "__main__":
    main()
