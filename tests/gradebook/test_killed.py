"""kill -9 inside each change: the database stays whole, and the same command again ends with one
grade. A grade whose commit had come is not lost, and one whose commit had not is not half there.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from grader.gradebook.attempts import is_dead, this_worker
from grader.gradebook.book import open_gradebook
from tests.command import ROOT
from tests.gradebook.made import NOON, Clock, a_grade
from tests.patience import PATIENCE


def test_every_submission_is_graded_once_wherever_a_worker_is_killed(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.gradebook.killed", url],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    deaths = [json.loads(line) for line in done.stdout.splitlines()]
    for death in deaths:
        graded = death["act"] == "accept" and death["point"] == "after"
        assert death["whole"], death
        assert death["before"] == [10.0 if graded else None], death
        assert death["accepted"] is not graded, death
        assert (death["after"], death["rows"]) == ([10.0], 1), death
    hit = {act: [d["point"] for d in deaths if d["act"] == act] for act in ACTS}
    for act, points in hit.items():
        assert points[-2:] == ["commit", "after"], (act, points)
        assert len(points) >= 4, (act, points)


ACTS = ("submit", "claim", "accept", "fault", "release", "renew")


def test_live_workers_keep_their_claims_and_dead_ones_lose_them(tmp_path: Path) -> None:
    clock = Clock()
    book = open_gradebook(str(tmp_path / "course.db"), clock=clock)
    stored = book.submit("tiled", "ada", "f.cu", b"1", received=NOON)
    sleeper = subprocess.Popen([sys.executable, "-c", NAMED], cwd=ROOT, stdout=subprocess.PIPE)
    assert sleeper.stdout
    name = sleeper.stdout.readline().decode().strip()
    held = book.claim(stored.id, "key", name, 60)
    assert held
    assert not is_dead(name)
    assert book.claim(stored.id, "key", this_worker(), 60) is None
    sleeper.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(name), "a zombie holds nothing"
    sleeper.wait()
    assert is_dead(name)
    taken = book.claim(stored.id, "key", this_worker(), 60)
    assert taken
    assert not book.accept(held, a_grade(1.0)), "its token is stale"
    assert book.accept(taken, a_grade(10.0))
    book.close()


NAMED = """
import time
from grader.gradebook.attempts import this_worker
print(this_worker("part/one"), flush=True)
time.sleep(60)
"""


def test_only_a_provably_dead_worker_is_dead() -> None:
    host, boot, space, pid, start, part = this_worker("thread").split("/")
    assert (host != "", part) == (True, "thread")
    assert not is_dead(f"{host}/{boot}/{space}/{pid}/{start}/thread")
    assert is_dead(f"{host}/{boot}/{space}/{pid}/1/thread"), "another process with its number"
    assert not is_dead(f"{host}/another-boot/{space}/{pid}/1/thread")
    assert not is_dead(f"{host}/{boot}/another-namespace/{pid}/1/thread")
    for name in ("", "worker", "a/b/c/d/e/f", f"{host}/{boot}/{space}/{pid}/0/"):
        assert not is_dead(name), name
