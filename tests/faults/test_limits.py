"""Limits of the machine: no memory, files, processes or disk space costs a point.

Each command ends in the undisturbed grade, or with exit code 3, a message and no other grade; the
same batch without the limit then gives the undisturbed grade.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.command import ROOT, CommandResult, grader
from tests.faults.workplace import Workplace, grade_summary, stored_grades
from tests.patience import PATIENCE

LIMITS = {
    "memory for nothing": "ulimit -v 60000",
    "memory without threads": "ulimit -v 200000",
    "memory without the compiler": "ulimit -v 700000",
    "memory without the simulator": "ulimit -v 1500000",
    "data": "ulimit -d 50000",
    "more data": "ulimit -d 200000",
    "200 open files": "ulimit -n 200",
    "12 open files": "ulimit -n 12",
    "8 open files": "ulimit -n 8",
    "files of one block": "ulimit -f 1",
    "files of 50 kB": "ulimit -f 100",
    "files of 1 MB": "ulimit -f 2000",
    "a small stack": "ulimit -s 256",
    "little processor time": "ulimit -t 1",
    "a clock that jumps": "export PYTHONPATH=$CLOCK:$PYTHONPATH",
}
VARIABLES = {
    "no home": ("HOME", None),
    "a home that is missing": ("HOME", "/nonexistent/home"),
    "a home without a path": ("HOME", ""),
    "no folder for temporary files": ("TMPDIR", "/nonexistent"),
}
"""What holds for a command that is forked too, which costs less than to start it."""

WITH_THE_GRADE = ("200 open files", *VARIABLES, "a clock that jumps")
"""Those in which everything can be graded."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    folder = tmp_path_factory.mktemp("limits")
    for one in (folder, folder.parent):
        one.chmod(0o755)
    made = Workplace(folder / "course", ("check", "batch"), ("correct",))
    yield made
    made.close()


def around(place: Path) -> dict[str, str]:
    """Make a home and a folder for temporary files, and return the variables that name them."""
    for name in ("home", "tmp"):
        (place / name).mkdir(parents=True, exist_ok=True)
    return {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp")}


def keep(place: Workplace, folder: Path, *kinds: str) -> None:
    """Put what an undisturbed run has kept into the home of another."""
    kept = place.folder / "expected-batch-correct" / "home" / ".cache" / "warpgrade"
    for kind in kinds:
        shutil.copytree(kept / kind, folder / "home" / ".cache" / "warpgrade" / kind)


def run_limited(place: Workplace, command: str, folder: Path, limit: str) -> CommandResult:
    """Run a command on the correct submission under a limit."""
    if limit not in VARIABLES:
        done = run(f"{LIMITS[limit]}; {words_of(place, command, folder)}", folder)
        return CommandResult(done.returncode, done.stdout, done.stderr)
    name, value = VARIABLES[limit]
    variables = {k: v for k, v in {**around(folder), name: value}.items() if v is not None}
    words = place.words(command, "correct", folder)
    return grader(*words, cwd=folder, env=variables, unset=() if value is not None else (name,))


def run(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    clock = str(ROOT / "tests" / "faults" / "clock")
    return subprocess.run(
        ["sh", "-c", command],
        cwd=place,
        env={**os.environ, **around(place), "PYTHONPATH": str(ROOT), "CLOCK": clock},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def words_of(place: Workplace, command: str, folder: Path) -> str:
    words = place.words(command, "correct", folder)
    return shlex.join([sys.executable, "-m", "grader", *words])


def checked(place: Workplace, folder: Path, code: int, said: str) -> None:
    """Assert that the grade of a check is the undisturbed one, or that there is none."""
    assert "Traceback" not in said and "grader failed" not in said, said
    assert code in (0, 3), said
    assert said.strip()
    result = folder / "result.json"
    if code == 0:
        assert (
            grade_summary(json.loads(result.read_text()))
            == place.expected["check", "correct"][1][""]
        )
    elif result.exists():
        assert json.loads(result.read_text())["status"] == "incomplete"


@pytest.mark.parametrize("limit", [*LIMITS, *VARIABLES])
def test_check_under_a_limit(place: Workplace, tmp_path: Path, limit: str) -> None:
    done = run_limited(place, "check", tmp_path, limit)
    checked(place, tmp_path, done.code, done.out + done.err)
    if limit in WITH_THE_GRADE:
        assert done.code == 0, done.err


@pytest.mark.parametrize("limit", [*LIMITS, *VARIABLES])
def test_batch_under_a_limit_and_then_without(place: Workplace, tmp_path: Path, limit: str) -> None:
    keep(place, tmp_path, "baseline")  # which a check measures under the same limit
    done = run_limited(place, "batch", tmp_path, limit)
    said = done.out + done.err
    assert done.code in (0, 3), said
    assert "Traceback" not in said and said.strip()
    if limit in WITH_THE_GRADE:
        assert done.code == 0, said
    regraded(place, tmp_path)


def regraded(place: Workplace, folder: Path) -> None:
    """Assert that the gradebook has no other grade, and that the batch can be finished."""
    database = folder / "grades.db"
    code, expected = place.expected["batch", "correct"]
    assert stored_grades(database) in ({}, expected)
    again = grader(*place.words("batch", "correct", folder), cwd=folder, env=around(folder))
    assert again.code == code, again.err
    assert stored_grades(database) == expected


@pytest.mark.parametrize("processes", [1, 2, 3, 5, 9, 40])
def test_few_processes(place: Workplace, tmp_path: Path, processes: int) -> None:
    """The limit does not hold for root: the calls that it would make fail are injected then."""
    if os.geteuid():
        limit = f"ulimit -u {processes + own_processes()}; "
    else:
        calls = "clone,clone3,vfork"
        fault = f"inject={calls}:error=EAGAIN:when={processes}+"
        limit = shlex.join([*STRACE, f"-etrace={calls}", f"-e{fault}"]) + " "
    command = f"exec bash -c {shlex.quote(limit + words_of(place, 'check', tmp_path))}"
    done = run(command, tmp_path)
    checked(place, tmp_path, done.returncode, done.stdout + done.stderr)


INJECTED = ("getcwd:error=ENOMEM:when=1+", "kill:error=EPERM:when=1+", "poll:error=EINTR:when=15")


@pytest.mark.parametrize("fault", INJECTED)
def test_fault_that_was_found_by_injection(place: Workplace, tmp_path: Path, fault: str) -> None:
    """No message without a folder; a process that may not be killed; an interrupted wait."""
    call = fault.partition(":")[0]
    strace = [*STRACE, f"-etrace={call}", f"-einject={fault}"]
    command = words_of(place, "batch", tmp_path)
    done = run(f"exec {shlex.join(strace)} {command}", tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == (3 if call == "getcwd" else 0), said
    assert "Traceback" not in said and said.strip()
    regraded(place, tmp_path)


def own_processes() -> int:
    """Return the number of this user's processes and threads."""
    count, me = 0, os.getuid()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended
            count += len(os.listdir(process / "task")) if process.stat().st_uid == me else 0
    return count


STRACE = ("strace", "--seccomp-bpf", "-fqqo", os.devnull)
"""It stops a process at the calls alone that it traces."""

SMALL_DISK = "mount -t tmpfs -o size={size} none {folder}"


@pytest.mark.parametrize("size", ["4k", "64k"])
def test_full_home_and_temporary_folder(place: Workplace, tmp_path: Path, size: str) -> None:
    mounts = [SMALL_DISK.format(size=size, folder=tmp_path / name) for name in ("home", "tmp")]
    done = run(mounted(mounts, words_of(place, "check", tmp_path)), tmp_path)
    checked(place, tmp_path, done.returncode, done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("size", ["8k", "64k", "100k", "128k", "160k", "200k", "300k", "1m"])
def test_gradebook_on_a_full_disk(place: Workplace, tmp_path: Path, size: str) -> None:
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    kept.mkdir()
    mounts = [SMALL_DISK.format(size=size, folder=small)]
    keep(place, tmp_path, "baseline", "compiled")
    batch = words_of(place, "batch", small)
    done = run(mounted(mounts, f"{batch}; code=$?; cp {small}/* {kept}; exit $code"), tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode in (0, 3), said
    assert "Traceback" not in said and said.strip()
    regraded(place, kept)


def mounted(mounts: list[str], command: str) -> str:
    """Return a command in a mount namespace of its own."""
    unshare = "unshare -m" if os.geteuid() == 0 else "unshare -Urm"
    return f"exec {unshare} sh -c {shlex.quote(' && '.join([*mounts, command]))}"


def test_read_only_home(place: Workplace, tmp_path: Path) -> None:
    home = tmp_path / "home"
    mounts = [SMALL_DISK.format(size="1m,ro", folder=home)]
    done = run(mounted(mounts, words_of(place, "batch", tmp_path)), tmp_path)
    assert done.returncode == 0, done.stderr
    assert stored_grades(tmp_path / "grades.db") == place.expected["batch", "correct"][1]


START = """
import resource, sys, threading
from grader.__main__ import refuse_threads_without_memory

def fill(size):
    try:
        while True:
            held.append(bytes(size))
    except MemoryError:
        return

refuse_threads_without_memory()
threading.stack_size(8 << 20)
held, thread = [], threading.Thread(target=len, args=("",))
rows = dict(row.split(":", 1) for row in open("/proc/self/status"))
taken = int(rows["VmSize"].split()[0]) << 10
for room in (0, int(sys.argv[1]) << 20):
    resource.setrlimit(resource.RLIMIT_AS, (taken + room + 4096, resource.RLIM_INFINITY))
    for size in (1 << 16, 1 << 12, 500, 100, 40) if not room else ():
        fill(size)
thread.start()
thread.join()
"""
"""Starts a thread with so many MiB of memory left, of which its stack takes 8."""


@pytest.mark.parametrize(("room", "starts"), [(8, False), (64, True)])
def test_a_thread_that_would_find_no_memory_is_not_started(room: int, starts: bool) -> None:
    """Python itself waits without end for such a thread."""
    command = [sys.executable, "-c", START, str(room)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == (0 if starts else 1), done.stderr
    assert starts or "RuntimeError: can't start new thread" in done.stderr
