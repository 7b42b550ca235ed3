"""Run a command under strace: with one fault, or to count the calls that its processes make."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults.injection import CALLS, SIGNALED, Injection
from tests.patience import PATIENCE
from tests.processes import state

ROOT = Path(__file__).parents[2]
SECONDS = PATIENCE
"""After which a run counts as a hang. A stopped process is continued after `STOPPED_SECONDS`."""

STOPPED_SECONDS = 1.0
TIMED_OUT = 9999

_POLL_SECONDS = 0.02
_BWRAP = """\
#!/bin/sh
case "$*" in
*compile_variants*) step=compile ;;
*simulate:run*) step=simulate ;;
*) step=probe ;;
esac
case " {steps} " in
*" $step "*) exec {strace} "$@" ;;
esac
exec {bwrap} "$@"
"""
_CALL = re.compile(r"^(\w+)\(", re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (TIMED_OUT for a hang), its text, what still runs."""

    code: int
    text: str
    left: tuple[str, ...]


def strace_problem() -> str:
    """Return why faults cannot be injected here, in one sentence; empty when they can."""
    if shutil.which("strace") is None:
        return "strace is not installed: apt-get install strace"
    with subprocess.Popen(["sleep", "30"]) as sleeping:
        command = ["strace", "-o", os.devnull, "-p", str(sleeping.pid)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            while not (attached := _is_traced(sleeping.pid)) and strace.poll() is None:
                time.sleep(0.005)
            sleeping.kill()
            said = strace.communicate()[1].strip()
    return "" if attached else f"strace cannot attach to a process here: {said}"


@dataclass(frozen=True)
class Trace:
    """What strace does with which process.

    Attributes:
        process: "all" that the command starts, with itself; the "reference"; or the names of
            sandboxed steps, separated by blanks.
        options: The options of strace; "STEP" in them becomes the name of the step.
        stops: Whether processes are stopped, which have to be continued.
    """

    process: str
    options: tuple[str, ...]
    stops: bool = False

    @classmethod
    def of(cls, one: Injection) -> Trace:
        """Return the trace that injects a fault."""
        options = ("-o", os.devnull, "-e", f"trace={one.call}", "-e", one.expression)
        return cls(one.process, options, stops=one.fault == "SIGSTOP")

    @classmethod
    def counting(cls, process: str, folder: Path) -> Trace:
        """Return the trace that writes all calls of each process into a folder."""
        calls = ",".join(f"?{call}" for call in sorted({*CALLS, *SIGNALED}))
        name = "STEP" if process not in ("all", "reference") else process
        return cls(process, ("-ff", "-o", str(folder / name), "-e", f"trace={calls}"))


class Server:
    """A process that commands are forked from; one command at a time."""

    def __init__(self, modules: Sequence[str] = ()) -> None:
        """Start it; it imports those modules."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.server", *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**_kept_environment(), "OPENBLAS_NUM_THREADS": "1"},
        )

    def close(self) -> None:
        """End it."""
        with self._process as process:
            process.stdin.close()  # type: ignore[union-attr]

    def run(
        self, words: Sequence[str], place: Path, trace: Trace | None = None, modules: str = ""
    ) -> Ended:
        """Run a command of grader.

        Args:
            words: Its arguments.
            place: Its folder, which has its home and its temporary files.
            trace: How to trace it.
            modules: The file to write the names of all imported modules to.
        """
        process = trace.process if trace else ""
        in_sandbox = trace is not None and process not in ("all", "reference")
        tools = _write_tracing_bwrap(place, trace) if trace and in_sandbox else None
        order = {
            "words": list(words),
            "folder": str(place),
            "text": str(place / "text"),
            "environment": _environment(place, tools),
            "stop_forks": process == "reference",
            "modules": modules,
        }
        pid = int(self._ask(json.dumps(order)))
        while state(pid) != "T":
            time.sleep(0.001)
        run = _Run(pid, trace)
        if process == "all":
            run.attach(pid)
        os.kill(pid, signal.SIGCONT)
        in_time = run.wait()
        ended = json.loads(self._ask(""))
        text = (place / "text").read_text(errors="replace")
        return Ended(ended["code"] if in_time else TIMED_OUT, text, tuple(ended["left"]))

    def _ask(self, line: str) -> str:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(line + "\n")
        stdin.flush()
        answer = stdout.readline()
        assert answer, "the server of commands ended"
        return answer


def counted_calls(folder: Path) -> dict[str, Counter[str]]:
    """Return how often one process makes each call at most, by the step in the files' names."""
    most: dict[str, Counter[str]] = {}
    for file in folder.iterdir():
        step = file.name.partition(".")[0]
        most.setdefault(step, Counter())
        most[step] |= Counter(_CALL.findall(file.read_text(errors="replace")))
    return most


class _Run:
    """One running command and the straces attached to its processes."""

    def __init__(self, pid: int, trace: Trace | None) -> None:
        self._pid, self._trace = pid, trace
        self._straces: list[subprocess.Popen[bytes]] = []
        self._attached: set[int] = set()
        self._stopped: dict[int, float] = {}

    def attach(self, pid: int) -> None:
        """Trace a process and those that it starts."""
        assert self._trace is not None
        options = [option.replace("STEP", "all") for option in self._trace.options]
        command = ["strace", "-f", "-qq", *options, "-p", str(pid)]
        strace = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._straces.append(strace)
        self._attached.add(pid)
        while not _is_traced(pid):
            if strace.poll() is not None:
                assert state(pid) in ("", "Z"), "strace could not attach"
                return
            time.sleep(0.002)

    def wait(self) -> bool:
        """Return whether the command ends in time; it is killed otherwise."""
        deadline = time.monotonic() + SECONDS
        watches = self._trace is not None and (self._trace.stops or self._trace.process == _FORKED)
        pidfd = os.pidfd_open(self._pid)
        try:
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            while time.monotonic() < deadline:
                if poll.poll(1000 * (_POLL_SECONDS if watches else SECONDS)):
                    return True
                self._look_after_stopped()
            for pid in reversed(tree(self._pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return False
        finally:
            os.close(pidfd)
            for strace in self._straces:
                strace.terminate()
                try:
                    strace.wait(SECONDS)
                except subprocess.TimeoutExpired:  # it may wait for a process that was killed
                    strace.kill()
                    strace.wait()

    def _look_after_stopped(self) -> None:
        """Trace forked processes that wait for it, and continue those that a fault stopped."""
        assert self._trace is not None
        for pid in tree(self._pid):
            if self._trace.process == _FORKED and pid not in self._attached | {self._pid}:
                if state(pid) == "T":
                    self.attach(pid)
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)
            elif self._trace.stops:
                since = self._stopped.setdefault(pid, time.monotonic())
                if time.monotonic() - since > STOPPED_SECONDS:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)


_FORKED = "reference"


def _write_tracing_bwrap(place: Path, trace: Trace) -> Path:
    """Write a `bwrap` that starts the real one under strace; return its folder."""
    bwrap = shutil.which("bwrap") or "bwrap"
    tools = place / "tools"
    tools.mkdir()
    options = [shlex.quote(option).replace("STEP", '"$step"') for option in trace.options]
    strace = shlex.join(["strace", "-D", "-f", "-qq", "--seccomp-bpf"])
    strace = " ".join([strace, *options, bwrap])
    script = tools / "bwrap"
    script.write_text(_BWRAP.format(steps=trace.process, strace=strace, bwrap=bwrap))
    script.chmod(0o755)
    return tools


def _kept_environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LD_LIBRARY_PATH")}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}


def _environment(place: Path, tools: Path | None) -> dict[str, str]:
    kept = _kept_environment()
    path = f"{tools}:{kept['PATH']}" if tools else kept["PATH"]
    folders = {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp")}
    return {**kept, **folders, "PATH": path, "OPENBLAS_NUM_THREADS": "1"}


def _is_traced(pid: int) -> bool:
    with suppress(OSError):
        return "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text()
    return False


def tree(pid: int) -> list[int]:
    """Return a process and its descendants."""
    tree = [pid]
    for one in tree:
        with suppress(OSError):  # it has ended
            for task in Path(f"/proc/{one}/task").glob("*/children"):
                tree += map(int, task.read_text().split())
    return tree
