"""Kill `grader batch` with SIGKILL in each of its activities, and run the same command again.

    python -m tests.batch.kill_batches [--times N] [--count SUBMISSIONS] [--seed S]

Every second kill hits the command alone, the others its whole session. Each pair of kills is in
another activity (compile, simulate, record a grade, between two): the command says when it has
begun and does not end it, so that the kill meets it at any load. How many went before, and when in
the activity the kill comes, depends on chance. After each kill the same command
starts again. In the end there is one grade for each submission, equal to that of an undisturbed
run, and no process or file is left behind.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

from bench.batch import LAB, made_class
from grader.gradebook.book import open_gradebook
from grader.sandbox.user import DYNAMIC_USERS
from tests.batch import observed_batch
from tests.batch.observed_batch import AIMS
from tests.command import ROOT, descendants
from tests.patience import PATIENCE

PR_SET_CHILD_SUBREAPER = 36


Started = tuple[int, FileIO]
"""The command, and the pipe in which it says that it can be killed; at its end the pipe ends."""

IMPORTED = (
    "grader.cli.batch",
    "grader.batch.batch",
    "grader.feedback.grade",
    "grader.sandbox.call",
)
"""What the command imports. It is imported before they are forked: to start Python takes long."""


@dataclass
class Range:
    """The folder where it all happens, and what was hit so far."""

    place: Path
    chance: random.Random
    hits: Counter[str] = field(default_factory=Counter)

    @property
    def scratch(self) -> Path:
        return self.place / "tmp"

    def start(self, name: str, jobs: int, aim: str = "", number: int = 0) -> Started:
        """The command on the class, its gradebook called `name`; it has to be killed in `aim`.

        An undisturbed run compiles with the user's cache, the others with an empty one. It is
        forked from this process, as `tests.command_server` forks commands.
        """
        around = {"TMPDIR": str(self.scratch), "PYTHONPATH": str(ROOT)}
        if aim:
            around["XDG_CACHE_HOME"] = str(self.place / "cache")
        reader, writer = os.pipe()
        words = ["batch", LAB, str(self.place / "class"), "--on", "sim", "--jobs", str(jobs)]
        words += ["--db", str(self.place / name)]
        pid = os.fork()
        if not pid:
            os.close(reader)
            self._become(around, writer, aim, number, words)
        os.close(writer)
        return pid, open(reader, "rb", buffering=0)

    def _become(self, around: dict[str, str], *order: Any) -> NoReturn:
        """Run the command in this forked process, in a session of its own and without streams."""
        code = 70
        try:
            os.setsid()
            os.environ.update(around)
            tempfile.tempdir = None
            for number, path in ((0, os.devnull), (1, os.devnull), (2, self.place / "stderr")):
                file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
                os.dup2(file, number)
                os.close(file)
            code = observed_batch.main(*order)
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(BaseException):
                atexit._run_exitfuncs()
            os._exit(code)


def whole_run(range_: Range, name: str, jobs: int = 2) -> None:
    """The command undisturbed to its end, which must be that some fell short."""
    pid, pipe = range_.start(name, jobs)
    with pipe:
        code = ended(pid)
    if code != 1:
        text = (range_.place / "stderr").read_text()
        sys.exit(f"tests.batch.kill_batches: the command ended with {code}:\n{text}")


def shoot(range_: Range, name: str, aim: str, *, group: bool) -> bool:
    """Start the command, wait until it is at `aim`, and kill it; False when it ended before."""
    jobs = 1 if aim == "between" else range_.chance.choice((1, 2))
    number = range_.chance.randrange(1, 3)
    pid, pipe = range_.start(name, jobs, aim, number)
    with pipe:
        if not pipe.read(1):
            ended(pid)
            return False
    if aim in ("compile", "simulate"):
        time.sleep(range_.chance.uniform(0, 0.1))  # at any moment of the step
    if group:
        os.killpg(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)
    ended(pid)
    range_.hits[aim] += 1
    print(f"  killed {'with its session' if group else 'alone'} at: {aim}", flush=True)
    return True


def ended(pid: int) -> int:
    """Wait for the end of a command; return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def gone() -> set[int]:
    """The processes that are left of what was started here, after some patience."""
    end = time.monotonic() + PATIENCE
    while (left := descendants()) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def grades(file: Path) -> dict[str, Any]:
    """Each student's grade, less when it was made."""
    book = open_gradebook(str(file))
    found = {}
    for entry in book.entries(LAB):
        made = json.loads(json.dumps(entry.grade_json))
        for key in ("started", "seconds"):
            del made["provenance"][key]
        found[entry.student] = made
    book.close()
    return found


def times_graded(file: Path) -> Counter[str]:
    """How often each student got a grade, by the audit."""
    book = open_gradebook(str(file))
    events = book.audit(LAB)
    book.close()
    return Counter(event.student for event in events if event.action == "grade")


def problems(range_: Range, count: int, before: set[str]) -> list[str]:
    """What is not as after an undisturbed run; nothing is expected."""
    due, got = grades(range_.place / "due.db"), grades(range_.place / "got.db")
    found = []
    if len(got) != count:
        found.append(f"{len(got)} grades, not {count}")
    found += [f"{who}: another grade" for who in due if got.get(who) != due[who]]
    often = times_graded(range_.place / "got.db")
    found += [f"{who}: graded {n} times" for who, n in often.items() if n != 1]
    found += [f"left behind: {path}" for path in range_.scratch.iterdir()]
    found += [f"left behind: /dev/shm/{name}" for name in shared() - before]
    found += [f"still running: {pid}" for pid in gone()]
    return found


def shared() -> set[str]:
    """Names in shared memory that are ours, or of our boxes."""
    users = {os.getuid(), *DYNAMIC_USERS}
    found = set()
    for path in Path("/dev/shm").iterdir():
        with suppress(FileNotFoundError):
            if ("warpgrade" in path.name or "grader" in path.name) and path.stat().st_uid in users:
                found.add(path.name)
    return found


def campaign(place: Path, times: int, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Kill it so many times; what was hit, and what is wrong at the end."""
    for module in IMPORTED:
        importlib.import_module(module)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans become ours, and are seen
    range_ = Range(place, random.Random(seed))
    for name in ("class", "tmp"):
        (place / name).mkdir()
    made_class(place / "class", count)
    before = shared()
    whole_run(range_, "due.db")
    wrong = []
    for number in range(times):
        aim = AIMS[number // 2 % len(AIMS)]
        if not shoot(range_, "got.db", aim, group=number % 2 == 0):
            wrong.append(f"it ended before kill {number + 1}: take more submissions")
            break
        if left := gone():
            wrong.append(f"still running after kill {number + 1}: {left}")
    whole_run(range_, "got.db")
    return range_.hits, wrong + problems(range_, count, before)


def main(words: Sequence[str]) -> int:
    """Print what was hit, and the verdict."""
    parser = argparse.ArgumentParser(prog="tests.batch.kill_batches")
    parser.add_argument("--times", type=int, default=25)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    asked = parser.parse_args(words)
    print(f"{asked.times} kills, {asked.count} submissions, --seed {asked.seed}")
    place = Path(tempfile.mkdtemp(prefix="warpgrade-kill-"))  # no forked process removes it
    try:
        hits, wrong = campaign(place, asked.times, asked.count, asked.seed)
    finally:
        shutil.rmtree(place)
    print("hit: " + ", ".join(f"{state} {hits[state]}" for state in AIMS))
    for problem in wrong:
        print(f"WRONG: {problem}")
    if not wrong:
        print(
            f"{asked.count} grades, each once, equal to an undisturbed run's; nothing left behind"
        )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
