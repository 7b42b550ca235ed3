"""One injected fault: run a command of grader under strace and evaluate how it ended.

The command first imports everything and stops itself; strace then attaches, so that the k-th call
is counted from where grading starts, and not in the interpreter's own start. Every process that
grading starts is followed and counts its calls anew.

A run is correct when it ends in the undisturbed grade, or with exit code 3 and no grade that
differs from it; when no process and no temporary file remains; and when a batch that is run again
without a fault then gives the undisturbed grades.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LAB = """\
title: Vector addition
kernel:
  name: vector_add
  parameters:
    - {name: a, type: const float*}
    - {name: b, type: const float*}
    - {name: c, type: float*}
    - {name: n, type: int}
arguments:
  a: {in: float32, shape: [n]}
  b: {in: float32, shape: [n]}
  c: {out: float32, shape: [n]}
  n: {value: n, dtype: int32}
launch:
  grid: ["ceil_div(n, 256)"]
  block: [256]
cases:
  - {name: one-block-and-one, dims: {n: 257}}
  - {name: whole-blocks, dims: {n: 2048}}
  - {name: hidden-ragged, dims: {n: 503}, visibility: hidden}
checks:
  output: {points: 60}
  memory: {points: 20}
  traffic: {points: 20, max_sectors_per_request: 4, min_bytes_per_sector: 31}
"""
KERNEL = """\
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if ({guard}) {{
        c[i] = a[i] + b[i];
    }}
}}
"""
SUBMISSIONS = {"correct": KERNEL.format(guard="i < n"), "incorrect": KERNEL.format(guard="i <= n")}
COMMANDS = ("check", "batch", "replay")

CALLS = {
    "openat": ("ENOMEM", "EMFILE", "EIO", "EINTR", "EPERM"),
    "read": ("EIO", "EINTR", "EAGAIN"),
    "pread64": ("EIO", "EINTR"),
    "write": ("ENOSPC", "EIO", "EDQUOT"),
    "pwrite64": ("ENOSPC", "EIO"),
    "mmap": ("ENOMEM", "EAGAIN", "EPERM"),
    "mprotect": ("ENOMEM",),
    "brk": ("ENOMEM",),
    "munmap": ("ENOMEM",),
    "clone": ("EAGAIN", "ENOMEM"),
    "clone3": ("EAGAIN", "ENOMEM"),
    "vfork": ("EAGAIN", "ENOMEM"),
    "execve": ("ENOMEM", "EAGAIN", "EIO", "EPERM"),
    "mount": ("ENOMEM", "ENOSPC", "EPERM"),
    "pivot_root": ("EPERM",),
    "unshare": ("ENOSPC", "EPERM"),
    "prlimit64": ("EPERM",),
    "pipe2": ("EMFILE", "ENFILE"),
    "socket": ("EMFILE", "ENOMEM"),
    "socketpair": ("EMFILE", "ENOMEM"),
    "sendmsg": ("ENOMEM", "EAGAIN"),
    "recvmsg": ("ENOMEM", "EINTR"),
    "bind": ("ENOMEM", "EPERM"),
    "memfd_create": ("ENOMEM", "EMFILE"),
    "ftruncate": ("ENOSPC", "EIO", "EINTR"),
    "fcntl": ("EPERM", "EAGAIN"),
    "rename": ("ENOSPC", "EIO", "EDQUOT"),
    "fsync": ("EIO", "ENOSPC", "EDQUOT"),
    "fdatasync": ("EIO", "ENOSPC"),
    "pidfd_open": ("EMFILE", "ENOMEM"),
    "poll": ("EINTR", "ENOMEM"),
    "wait4": ("EINTR",),
    "dup2": ("EMFILE", "EIO"),
    "newfstatat": ("ENOMEM", "EIO"),
    "getdents64": ("EIO", "ENOMEM"),
    "mkdir": ("ENOSPC", "EDQUOT", "EIO"),
    "unlink": ("EIO", "EPERM"),
    "setuid": ("EAGAIN", "EPERM"),
    "setgid": ("EPERM",),
    "setgroups": ("EPERM", "ENOMEM"),
    "chdir": ("ENOMEM", "EIO"),
}
"""The calls that grading makes, and the errors that a machine may answer them with."""

SIGNALS = ("SIGSTOP", "SIGKILL")
SIGNALED = ("openat", "read", "mmap", "clone", "clone3", "execve", "pwrite64", "poll", "exit_group")

SECONDS = 180.0
"""After which a run counts as a hang. A stopped process is continued after `STOPPED_SECONDS`."""

STOPPED_SECONDS = 1.0
_START = (
    "import grader.__main__, grader.cli.app as app, os, signal, sys;"
    "os.kill(os.getpid(), signal.SIGSTOP);"
    "code = app.run(sys.argv[1:]); sys.stdout.flush(); sys.exit(code)"
)


@dataclass(frozen=True)
class Injection:
    """One fault: what happens at the k-th call of a kind, in every process of one command."""

    command: str
    submission: str
    call: str
    fault: str
    when: int

    @property
    def expression(self) -> str:
        """The fault as strace's option -e inject."""
        kind = "signal" if self.fault.startswith("SIG") else "error"
        return f"inject={self.call}:{kind}={self.fault}:when={self.when}"

    def __str__(self) -> str:
        return f"{self.command} {self.submission}: {self.expression}"


@dataclass(frozen=True)
class Result:
    """How a run ended: "same", "error" or "killed", and the rules that it broke."""

    injection: Injection
    outcome: str
    violations: tuple[str, ...]
    text: str = ""


def strace_problem() -> str:
    """Return why faults cannot be injected here, in one sentence; empty when they can."""
    if shutil.which("strace") is None:
        return "strace is not installed: apt-get install strace"
    done = subprocess.run(
        ["strace", "-f", "-o", os.devnull, "/bin/true"], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else f"strace does not work here: {done.stderr.strip()}"


class Workplace:
    """A course, its submissions and their undisturbed results, in one folder."""

    def __init__(
        self,
        folder: Path,
        commands: Sequence[str] = COMMANDS,
        submissions: Sequence[str] = tuple(SUBMISSIONS),
    ) -> None:
        self.folder = folder
        lab = folder / "course" / "labs" / "adds"
        lab.mkdir(parents=True)
        (lab / "lab.yaml").write_text(LAB)
        shutil.copy(ROOT / "labs" / "vector-add" / "reference.py", lab)
        shutil.copy(ROOT / "labs" / "vector-add" / "baseline.cu", lab)
        shutil.copy(ROOT / "labs" / "vector-add" / "vector-add.cu", lab / "adds.cu")
        (lab / "adds.cu").write_text(SUBMISSIONS["correct"])
        self.expected: dict[tuple[str, str], Any] = {}
        for name in submissions:
            (folder / name / "ada").mkdir(parents=True)
            (folder / name / "ada" / "adds.cu").write_text(SUBMISSIONS[name])
            for command in commands:
                place = self.prepared(command, name, f"expected-{command}-{name}")
                code, text = _undisturbed(place, self.words(command, name, place))
                self.expected[command, name] = (code, _outcome(command, place))
                if code not in (0, 1):
                    raise AssertionError(f"{command} {name} ended with {code}: {text}")

    def words(self, command: str, submission: str, place: Path) -> list[str]:
        """Return the command line of grader."""
        result, db = str(place / "result.json"), f"sqlite:///{place / 'grades.db'}"
        course = ["--course", str(self.folder / "course"), "--json", result]
        source = self.folder / submission
        if command == "check":
            return ["check", "adds", str(source / "ada" / "adds.cu"), "--threads", "2", *course]
        if command == "batch":
            return ["batch", "adds", str(source), "--db", db, "--jobs", "1", *course]
        recorded = str(self.folder / f"expected-check-{submission}" / "result.json")
        return ["replay", recorded, "--source", str(source / "ada" / "adds.cu"), *course]

    def prepared(self, command: str, submission: str, name: str) -> Path:
        """Return a new folder for one run."""
        place = self.folder / name
        for part in ("home", "tmp"):
            (place / part).mkdir(parents=True)
        return place

    def run(self, injection: Injection, name: str) -> Result:
        """Run one injection in a folder of that name, which is removed when no rule is broken."""
        place = self.prepared(injection.command, injection.submission, name)
        words = self.words(injection.command, injection.submission, place)
        code, text = _disturbed(place, words, injection)
        violations = list(self._violations(injection, place, code, text))
        if not violations:
            violations += self._continued(injection, place, words)
        outcome = "killed" if code < 0 else "error" if code == 3 else "same"
        if not violations:
            shutil.rmtree(place, ignore_errors=True)
        return Result(injection, outcome, tuple(violations), text)

    def _violations(self, one: Injection, place: Path, code: int, text: str) -> Iterator[str]:
        expected_code, expected = self.expected[one.command, one.submission]
        killed = code in (-9, 137) and one.fault == "SIGKILL"
        if code == TIMED_OUT:
            yield "it hangs"
        elif code not in (expected_code, 3) and not killed:
            yield f"exit code {code} in place of {expected_code}"
        elif code == expected_code and _outcome(one.command, place) != expected:
            yield f"another result: {_outcome(one.command, place)} in place of {expected}"
        elif code == 3 and one.command != "replay":
            for key, grade in _outcome(one.command, place).items():
                if grade["status"] == "graded" and grade != expected[key]:
                    yield f"another grade: {grade} in place of {expected[key]}"
        if "Traceback" in text:
            yield "a traceback"
        if remaining := _processes_of(place):
            yield f"{len(remaining)} processes remain: {remaining[0][1]}"
            for pid, _ in remaining:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if not killed and (files := sorted(f.name for f in (place / "tmp").iterdir())):
            yield f"files remain: {files}"

    def _continued(self, one: Injection, place: Path, words: list[str]) -> list[str]:
        """Return what is wrong with the same command's result when nothing is injected.

        A check and a replay leave nothing behind but caches, which are tried with a batch too.
        """
        if one.command != "batch":
            return []
        code, _ = _undisturbed(place, words)
        after = _outcome(one.command, place)
        expected_code, expected = self.expected[one.command, one.submission]
        if (code, after) == (expected_code, expected):
            return []
        return [f"continued without a fault it gives {code}, {after}"]


TIMED_OUT = 9999


def _environment(place: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LD_LIBRARY_PATH")}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "NO_COLOR": "1",
    }


def _undisturbed(place: Path, words: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "grader", *words],
        env=_environment(place),
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return done.returncode, done.stdout + done.stderr


def _disturbed(place: Path, words: list[str], one: Injection) -> tuple[int, str]:
    """Run the command with the fault; return its exit code (TIMED_OUT for a hang) and its text."""
    with open(place / "text", "w+") as text:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, *words],
            env=_environment(place),
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=text,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        trace = ["strace", "-f", "-qq", "-o", os.devnull]
        trace += ["-e", f"trace={one.call}", "-e", one.expression, "-p", str(process.pid)]
        with subprocess.Popen(trace, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as strace:
            _wait_for_tracer(process.pid, strace)
            os.kill(process.pid, signal.SIGCONT)
            code = _wait(process, stops=one.fault == "SIGSTOP")
            strace.terminate()
        process.wait()
        text.seek(0)
        return code, text.read()


def _wait_for_tracer(pid: int, strace: subprocess.Popen[bytes]) -> None:
    while strace.poll() is None:
        status = Path(f"/proc/{pid}/status").read_text()
        if "TracerPid:\t0\n" not in status:
            return
        time.sleep(0.005)
    raise AssertionError("strace could not attach")


def _wait(process: subprocess.Popen[bytes], *, stops: bool) -> int:
    """Wait for the exit code, and continue processes that were stopped."""
    deadline = time.monotonic() + SECONDS
    stopped: dict[int, float] = {}
    while time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(0.1)
        for pid in _tree(process.pid) if stops else ():
            if time.monotonic() - stopped.setdefault(pid, time.monotonic()) > STOPPED_SECONDS:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
    for pid in reversed(_tree(process.pid)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    return TIMED_OUT


def _tree(pid: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    tree = [pid]
    for one in tree:
        tree += children.get(one, [])
    return tree


def _processes_of(place: Path) -> list[tuple[int, str]]:
    """Return the processes that this run started and that still run after two seconds."""
    mark = f"HOME={place / 'home'}\0".encode()
    deadline = time.monotonic() + 2
    while True:
        running = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes():
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    running.append((int(entry.name), line.decode(errors="replace")[:120]))
        if not running or time.monotonic() > deadline:
            return running
        time.sleep(0.05)


def _outcome(command: str, place: Path) -> dict[str, Any]:
    """Return what a run left: {student: grade} of a check or a batch, or the replay's verdict."""
    if command == "batch":
        return _stored_grades(place / "grades.db")
    try:
        result = json.loads((place / "result.json").read_text())
    except FileNotFoundError:
        return {}
    if command == "check":
        return {"": grade_summary(result)}
    rows = result if isinstance(result, list) else [result]
    return {row["student"]: {"same": row["same"], **grade_summary(row["grade"])} for row in rows}


def grade_summary(grade: Any) -> dict[str, Any]:
    """Return what must be equal in two grades of one submission."""
    checks = [(c["name"], c["status"], c["points"], c["max_points"]) for c in grade["checks"]]
    return {"status": grade["status"], "score": grade["score"], "checks": checks}


def _stored_grades(db: Path) -> dict[str, Any]:
    from grader.gradebook.book import open_gradebook

    if not db.exists():
        return {}
    book = open_gradebook(f"sqlite:///{db}", create=False)
    try:
        grades = [grade for _, grade in book.grades("adds").values()]
        return {grade["student"]: grade_summary(grade) for grade in grades}
    finally:
        book.close()
