"""Where tasks are performed: on threads here, or elsewhere behind the same few calls."""

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
    """Takes tasks and gives answers, in whatever order they come. Never touches the gradebook."""

    @property
    def at_a_time(self) -> int:
        """How many tasks it is worth handing over before the first answer is back."""

    @property
    def tools(self) -> Mapping[str, str]:
        """What compiles and runs the submissions there."""

    def submit(self, task: Task) -> None:
        """Take a task over; returns at once."""

    def next(self, seconds: float) -> Answer | None:
        """The next answer; None when none came in that time."""

    def close(self) -> None:
        """Take no more tasks, and drop those that have not begun."""


class LocalRunner:
    """Threads of this process: what takes long is done by child processes.

    The threads are daemons. When the process ends, by Ctrl-C or otherwise, so do they, and with
    them the boxes that they wait for.
    """

    def __init__(self, perform: Perform, jobs: int, tools: Mapping[str, str] = _NOTHING) -> None:
        self.at_a_time, self.tools = jobs, tools
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._perform = perform
        for number in range(jobs):
            threading.Thread(target=self._work, name=f"grade-{number}", daemon=True).start()

    def submit(self, task: Task) -> None:
        self._tasks.put(task)

    def next(self, seconds: float) -> Answer | None:
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def close(self) -> None:
        while not self._tasks.empty():
            self._tasks.get()
        for _ in range(self.at_a_time):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._answers.put(self._perform(task))
