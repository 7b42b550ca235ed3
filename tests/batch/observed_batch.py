"""`grader batch` that reports its activity, for the test that kills it.

    python -m tests.batch.observed_batch PIPE AIM NUMBER WORDS...

The NUMBER-th time that the activity AIM begins, a byte is written to the descriptor PIPE, and the
activity does not end before the process is killed: a kill at any later time meets it. AIM is one of
AIMS, or empty. The command itself is unchanged.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from grader.cli.app import run
from grader.gradebook.book import Gradebook
from grader.grading import cases
from grader.grading import pipeline as grade

AIMS = ("compile", "simulate", "record", "between")
"""`between`: a grade was recorded, and nothing else is going on."""


class Activities:
    """What is going on, and the activity in which the command waits to be killed."""

    def __init__(self, pipe: int, aim: str, number: int) -> None:
        """Take the descriptor for the byte, the activity, and which of its beginnings counts."""
        self.pipe, self.aim, self.left = pipe, aim, number
        self.lock = threading.Lock()
        self.going_on = 0
        self.reached = threading.Event()
        self.killed = threading.Event()  # never set

    def _begins(self, name: str) -> bool:
        """Count one beginning; whether it is the one to be killed in."""
        if name != self.aim:
            return False
        self.left -= 1
        if self.left:
            return False
        self.reached.set()
        os.write(self.pipe, b"x")
        return True

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Do one activity; wait in it, or between two, once the aim is reached."""
        if self.aim == "between" and self.reached.is_set():
            self.killed.wait()
        with self.lock:
            self.going_on += 1
            here = self._begins(name)
        try:
            yield
        finally:
            if here:
                self.killed.wait()
            with self.lock:
                self.going_on -= 1
                between = name == "record" and not self.going_on and self._begins("between")
            if between:
                self.killed.wait()

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose calls are an activity."""

        def inner(*args: Any, **options: Any) -> Any:
            with self.during(name):
                return function(*args, **options)

        return inner


def main(pipe: int, aim: str, number: int, words: list[str]) -> int:
    """Run the command until its end, or until it waits to be killed."""
    os.set_inheritable(pipe, False)
    activities = Activities(pipe, aim, number)
    with ExitStack() as patches:
        for place, function, name in (
            (grade, "compile_source", "compile"),
            (cases, "run_all", "simulate"),
            (Gradebook, "accept", "record"),
        ):
            seen = activities.watched(name, getattr(place, function))
            patches.enter_context(patch.object(place, function, seen))
        return run(words)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]))
