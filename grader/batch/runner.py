"""Runners grade tasks: on threads of this process, or elsewhere behind the same interface."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from grader.batch.task import Answer, Task

Perform = Callable[[Task], Answer]
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Runner(Protocol):
    """Takes tasks and returns answers in any order. Never uses the gradebook."""

    @property
    def at_a_time(self) -> int:
        """How many tasks run at the same time."""

    @property
    def tools(self) -> Mapping[str, str]:
        """The versions of what compiles and runs the submissions there."""

    def submit(self, task: Task) -> None:
        """Start a task; return at once."""

    def next(self, seconds: float) -> Answer | None:
        """Return the next answer; None when none came in that time."""

    def close(self) -> None:
        """Take no more tasks, and drop those that have not started."""


class LocalRunner:
    """A Runner on threads of this process; sandboxed child processes do the work.

    The threads are daemons. When the process ends, by Ctrl-C or otherwise, the threads and their
    sandboxes end too.
    """

    def __init__(self, perform: Perform, jobs: int, tools: Mapping[str, str] = _NOTHING) -> None:
        self.at_a_time, self.tools = jobs, tools
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._perform = perform
        for number in range(jobs):
            threading.Thread(target=self._work, name=f"grade-{number}", daemon=True).start()

    def submit(self, task: Task) -> None:
        """Queue a task."""
        self._tasks.put(task)

    def next(self, seconds: float) -> Answer | None:
        """Return the next answer; None when none came in that time."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Drop the queued tasks and end the threads."""
        while not self._tasks.empty():
            self._tasks.get()
        for _ in range(self.at_a_time):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._answers.put(self._perform(task))
