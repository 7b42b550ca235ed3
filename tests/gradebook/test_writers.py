"""Many writers at once lose no attempt and double none: real processes, a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import text

from grader.gradebook.book import open_gradebook
from grader.gradebook.database import connect
from tests.command import ROOT
from tests.patience import PATIENCE

SUBMISSIONS = 20


def graded(url: str, writers: int, *more: str, submissions: int = SUBMISSIONS) -> dict[str, dict]:
    words = ["-m", "tests.gradebook.writers", url, str(writers), str(submissions), *more]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
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


COUNT = "SELECT {} FROM {} x JOIN submission s ON s.id = x.submission WHERE s.lab = 'tiled'{}"
GROUPED = " GROUP BY x.submission"
ATTEMPTS = COUNT.format("x.submission, count(*)", "attempt", GROUPED)
NUMBERS = COUNT.format("x.submission, max(x.number)", "attempt", GROUPED)
ACCEPTED = COUNT.format("x.submission, count(*)", "attempt", " AND state = 'accepted'" + GROUPED)
GRADES = COUNT.format("x.submission, count(*)", "grade", GROUPED)
AUDITED = COUNT.format("x.submission, count(*)", "audit", " AND action = 'grade'" + GROUPED)


def check(url: str, writers: int) -> None:
    observed = graded(url, writers)
    once = {str(number + 1): 1 for number in range(SUBMISSIONS)}
    assert observed["accepted"].keys() == once.keys()
    assert set(observed["accepted"].values()) == {1}, "a submission was accepted twice"
    assert held(url, ACCEPTED) == once
    assert held(url, ATTEMPTS) == held(url, NUMBERS) == observed["claimed"], "an attempt was lost"
    assert held(url, GRADES) == held(url, AUDITED) == once
    book = open_gradebook(url)
    assert book.verify().problems == (), "the writers broke the chain"
    book.close()
    # Every other writer sleeps until its first claim is lost; one in ten then gives up.
    assert sum(observed["late"].values()) >= 2, "the fence was hardly tried"


def test_8_writers_on_sqlite(tmp_path: Path) -> None:
    check(str(tmp_path / "course.db"), 8)


def test_50_writers_on_postgresql(postgresql: Callable[[], str]) -> None:
    check(postgresql(), 50)


def test_without_the_fence_grades_are_doubled(tmp_path: Path) -> None:
    """The wrong twin."""
    observed = graded(str(tmp_path / "course.db"), 8, "--unfenced", submissions=10)
    assert max(observed["accepted"].values()) > 1
    assert max(held(str(tmp_path / "course.db"), ACCEPTED).values()) > 1
