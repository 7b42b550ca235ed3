"""Many writers at once lose no attempt and double none: real processes, a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import text

from grader.gradebook.database import connect
from tests.command import ROOT

SUBMISSIONS = 30


def graded(url: str, writers: int, *more: str, submissions: int = SUBMISSIONS) -> dict[str, dict]:
    words = ["-m", "tests.gradebook.writers", url, str(writers), str(submissions), *more]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=150
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def held(url: str, query: str) -> dict[str, int]:
    """Counts that the database itself gives, by submission."""
    database = connect(url)
    with database.reading() as connection:
        rows = {str(number): count for number, count in connection.execute(text(query))}
    database.close()
    return rows


ATTEMPTS = "SELECT submission, count(*) FROM attempt {} GROUP BY submission"
ACCEPTED = ATTEMPTS.format("WHERE state = 'accepted'")


def check(url: str, writers: int) -> None:
    seen = graded(url, writers)
    once = {str(number + 1): 1 for number in range(SUBMISSIONS)}
    assert seen["accepted"].keys() == once.keys()
    assert set(seen["accepted"].values()) == {1}, "a submission was accepted twice"
    assert held(url, ACCEPTED) == once
    assert held(url, ATTEMPTS.format("")) == seen["claimed"], "an attempt was lost"
    assert held(url, "SELECT submission, count(*) FROM grade GROUP BY submission") == once
    assert (
        held(url, "SELECT submission, max(number) FROM attempt GROUP BY submission")
        == (seen["claimed"])
    )
    grades = "SELECT submission, count(*) FROM audit WHERE action = 'grade' GROUP BY submission"
    assert held(url, grades) == once
    assert sum(seen["claimed"].values()) > SUBMISSIONS, "no claim was ever lost: nothing was tried"


def test_8_writers_on_sqlite(tmp_path: Path) -> None:
    check(str(tmp_path / "course.db"), 8)


def test_50_writers_on_postgresql(postgresql: Callable[[], str]) -> None:
    check(postgresql(), 50)


def test_without_the_fence_grades_are_doubled(tmp_path: Path) -> None:
    """The wrong twin."""
    seen = graded(str(tmp_path / "course.db"), 8, "--unfenced", submissions=10)
    assert max(seen["accepted"].values()) > 1
    assert max(held(str(tmp_path / "course.db"), ACCEPTED).values()) > 1
