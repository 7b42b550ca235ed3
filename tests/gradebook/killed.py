"""Kill a writer inside each change of the gradebook, before and after each of its statements.

    python -m tests.gradebook.killed URL

Prints one JSON line for each death: what was being done, where it ended, and what the same command
by a worker that lives then found and made of it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import event, text

from grader.gradebook.attempts import this_worker
from grader.gradebook.book import Gradebook, open_gradebook
from tests.gradebook.made import NOON, a_grade

LAB, KEY = "tiled", "key"
LEASE = 3600.0
"""Seconds: longer than the test. A worker that is dead holds nothing, whatever its lease says."""

COMMIT, AFTER = "commit", "after"
Point = int | str
"""The statement, from 1, before which the process dies, or one of the two above."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def armed(book: Gradebook, point: Point) -> None:
    """Let this process die at that point of what it does next."""
    engine = book._database.engine
    begun = iter(range(1, 10**6))

    def statement(*_: object) -> None:
        if next(begun) == point:
            die()

    def commit(*_: object) -> None:
        if point == COMMIT:
            die()

    event.listen(engine, "before_cursor_execute", statement)
    event.listen(engine, "commit", commit)


def submit(book: Gradebook, who: str, point: Point) -> None:
    armed(book, point)
    book.submit(LAB, who, "f.cu", who.encode(), received=NOON)


def claimed(act: str, book: Gradebook, who: str, point: Point) -> None:
    """Claim and go on with `accept`, `fault` or `release`; or die while claiming."""
    stored = book.submit(LAB, who, "f.cu", who.encode(), received=NOON)
    if act == "claim":
        armed(book, point)
    claim = book.claim(stored.id, KEY, this_worker(), LEASE)
    assert claim
    if act == "claim":
        return
    armed(book, point)
    ends: Mapping[str, Callable[[], object]] = {
        "accept": lambda: book.accept(claim, a_grade(10.0)),
        "fault": lambda: book.fault(claim, "no GPU"),
        "release": lambda: book.release(claim),
        "renew": lambda: book.renew(claim, LEASE),
    }
    ends[act]()


ACTS: Mapping[str, Callable[[Gradebook, str, Point], None]] = {
    "submit": submit,
    **{
        act: lambda book, who, point, act=act: claimed(act, book, who, point)
        for act in ("claim", "accept", "fault", "release", "renew")
    },
}


def killed(book: Gradebook, act: str, who: str, point: Point) -> bool:
    """Do it in a process of its own, which opens connections of its own; whether that was killed,
    or got past the last statement.
    """
    book.close()
    child = os.fork()
    if child == 0:
        ACTS[act](book, who, point)
        if point == AFTER:
            die()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0, f"{act} failed at {point}"
    return os.WIFSIGNALED(status)


def finished(book: Gradebook, who: str) -> dict[str, Any]:
    """The same command again, by a worker that lives: what it found and what it made of it."""
    stored = book.submit(LAB, who, "f.cu", who.encode(), received=NOON)
    before = [entry.points for entry in book.entries(LAB) if entry.student == who]
    claim = book.claim(stored.id, KEY, this_worker(), LEASE)
    accepted = claim is not None and book.accept(claim, a_grade(10.0))
    after = [entry.points for entry in book.entries(LAB) if entry.student == who]
    rows = [row.id for row in book.submissions(LAB, students=[who])]
    return {"before": before, "accepted": accepted, "after": after, "rows": len(rows)}


def whole(book: Gradebook) -> bool:
    """Whether the database says of itself that it holds together, and nobody holds a lock."""
    with book._database.writing() as connection:
        if connection.dialect.name != "sqlite":
            return True
        integrity = connection.execute(text("PRAGMA integrity_check")).scalar()
        return integrity == "ok" and not connection.execute(text("PRAGMA foreign_key_check")).all()


def main(url: str) -> None:
    book = open_gradebook(url)
    finished(book, "warm up: children need not compile the statements again")
    for act in ACTS:
        points: list[Point] = [*range(1, 100), COMMIT, AFTER]
        while points:
            point = points.pop(0)
            who = f"{act} {point}"
            if not killed(book, act, who, point):
                points = [p for p in points if isinstance(p, str)]
                continue
            shown = {"act": act, "point": point, "whole": whole(book), **finished(book, who)}
            print(json.dumps(shown), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
