"""`grader batch` that reports its activity, for the test that kills it.

    python -m tests.batch.observed_batch STATE WORDS...

STATE is a file with one byte per activity; a byte counts how many are going on now. The command
itself is unchanged.
"""

from __future__ import annotations

import mmap
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from grader.cli.app import run
from grader.gradebook.book import Gradebook
from grader.grading import cases
from grader.grading import pipeline as grade

STATES = ("compile", "simulate", "record", "batch")
"""`batch`: grading has begun; none of the others then is `between`."""


def main(state: Path, words: list[str]) -> int:
    """Run the command with its states written down."""
    with state.open("r+b") as file, mmap.mmap(file.fileno(), len(STATES)) as board:
        lock = threading.Lock()

        @contextmanager
        def at(name: str) -> Iterator[None]:
            index = STATES.index(name)
            with lock:
                board[index] += 1
            try:
                yield
            finally:
                with lock:
                    board[index] -= 1

        def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
            def inner(*args: Any, **options: Any) -> Any:
                with at(name):
                    return function(*args, **options)

            return inner

        from grader.batch import batch

        with (
            patch.object(grade, "compile_source", watched("compile", grade.compile_source)),
            patch.object(cases, "run_all", watched("simulate", cases.run_all)),
            patch.object(Gradebook, "accept", watched("record", Gradebook.accept)),
            patch.object(batch, "run_batch", watched("batch", batch.run_batch)),
        ):
            return run(words)


def reading(board: bytes) -> str:
    """What was going on by those bytes: the rarest first, since several things go on at once."""
    on = dict(zip(STATES, board, strict=True))
    if not on["batch"]:
        return "outside"
    for name in ("record", "compile", "simulate"):
        if on[name]:
            return name
    return "between"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
