"""Kill `grader batch` with SIGKILL at random moments, and run the same command again.

    python -m tests.batch.kill_batches [--times N] [--count SUBMISSIONS] [--seed S]

Every second kill hits the command alone, the others its whole session. The moment depends on the
command's activity (compile, simulate, record a grade, between two) and on chance. The activity is
read while the command is stopped, so that the count is exact. After each kill the same command
starts again. In the end there is one grade for each submission, equal to that of an undisturbed
run, and no process or file is left behind.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.batch import LAB, made_class
from grader.gradebook.book import open_gradebook
from grader.sandbox.user import DYNAMIC_USERS
from tests.batch.observed_batch import STATES, reading
from tests.command import ROOT, descendants

AIMS = ("compile", "simulate", "record", "between")
PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 120.0
"""Seconds after which a state that does not come is no longer waited for."""


@dataclass
class Range:
    """The folder where it all happens, and what was hit so far."""

    place: Path
    chance: random.Random
    hits: Counter[str] = field(default_factory=Counter)

    @property
    def scratch(self) -> Path:
        return self.place / "tmp"

    def start(self, name: str, jobs: int) -> subprocess.Popen[bytes]:
        """The command on the class, its gradebook called `name`."""
        (self.place / "state").write_bytes(bytes(len(STATES)))
        words = ["-m", "tests.batch.observed_batch", str(self.place / "state"), "batch", LAB]
        words += [str(self.place / "class"), "--on", "sim", "--jobs", str(jobs)]
        around = {"TMPDIR": str(self.scratch), "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [sys.executable, *words, "--db", str(self.place / name)],
            env={**os.environ, **around, "XDG_CACHE_HOME": str(self.place / f"cache-{name}")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.place / "stderr").open("wb"),
            start_new_session=True,
        )


def whole_run(range_: Range, name: str, jobs: int = 2) -> None:
    """The command undisturbed to its end, which must be that some fell short."""
    code = range_.start(name, jobs).wait()
    if code != 1:
        text = (range_.place / "stderr").read_text()
        sys.exit(f"tests.batch.kill_batches: the command ended with {code}:\n{text}")


def shoot(range_: Range, name: str, aim: str, *, group: bool) -> bool:
    """Start the command, wait until it is at `aim`, and kill it; False when it ended before."""
    jobs = 1 if aim == "between" else range_.chance.choice((1, 2))
    process = range_.start(name, jobs)
    skip = range_.chance.randrange(1, 4)
    end = time.monotonic() + PATIENCE
    with (range_.place / "state").open("rb") as file:
        board = mmap.mmap(file.fileno(), len(STATES), access=mmap.ACCESS_READ)
        was = ""
        while process.poll() is None and time.monotonic() < end:
            now = reading(board[:])
            skip -= now == aim and was != aim  # not always the first time
            was = now
            if now == aim and skip < 1:
                break
        if aim in ("compile", "simulate"):
            time.sleep(range_.chance.uniform(0, 0.1))  # a step may take no longer
        if process.poll() is not None:
            return False
        os.kill(process.pid, signal.SIGSTOP)
        hit = reading(board[:])
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    range_.hits[hit] += 1
    print(f"  killed {'with its session' if group else 'alone'} at: {hit}", flush=True)
    return True


def gone(seconds: float = 10.0) -> set[int]:
    """The processes that are left of what was started here, after some patience."""
    end = time.monotonic() + seconds
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
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans become ours, and are seen
    range_ = Range(place, random.Random(seed))
    for name in ("class", "tmp"):
        (place / name).mkdir()
    made_class(place / "class", count)
    before = shared()
    whole_run(range_, "due.db")
    wrong = []
    for number in range(times):
        aim = min(AIMS, key=lambda state: (range_.hits[state], range_.chance.random()))
        if not shoot(range_, "got.db", aim, group=number % 2 == 0):
            print(f"  it ended before kill {number + 1}: take more submissions", flush=True)
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
    with tempfile.TemporaryDirectory(prefix="warpgrade-kill-") as name:
        hits, wrong = campaign(Path(name), asked.times, asked.count, asked.seed)
    print("hit: " + ", ".join(f"{state} {hits[state]}" for state in (*AIMS, "outside")))
    for problem in wrong:
        print(f"WRONG: {problem}")
    thin = [state for state in AIMS if hits[state] < min(3, asked.times // 5)]
    if thin:
        print(f"too few kills at: {', '.join(thin)}")
    held = not wrong and not thin
    if held:
        print(
            f"{asked.count} grades, each once, equal to an undisturbed run's; nothing left behind"
        )
    return int(not held)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
