"""Jobs of which only the newest of each key counts."""

from __future__ import annotations

import time
from threading import Condition
from typing import Generic, TypeVar

from grader.sandbox.process import interruption

Key = TypeVar("Key")
Job = TypeVar("Job")


class NewestJobs(Generic[Key, Job]):
    """The jobs that wait, by key, for the one thread that takes and does them.

    A new job replaces the one of its key that waits, and interrupts the one that is being done:
    what waits for a sandboxed step raises `grader.sandbox.process.Interrupted`.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: dict[Key, tuple[float, Job]] = {}
        self._taken: Key | None = None

    def offer(self, key: Key, job: Job, delay: float = 0.0) -> None:
        """Let a job wait, for at least so many seconds: text that is typed on replaces it."""
        with self._changed:
            self._waiting[key] = time.monotonic() + delay, job
            self._interrupt(key)
            self._changed.notify_all()

    def withdraw(self, key: Key) -> None:
        """Drop the job of a key, whether it waits or is being done."""
        with self._changed:
            self._waiting.pop(key, None)
            self._interrupt(key)

    def take(self) -> tuple[Key, Job]:
        """Wait for a job that is due, and return it with its key. The last one is then done."""
        with self._changed:
            self._taken = None
            while True:
                now = time.monotonic()
                due = min(self._waiting, key=lambda key: self._waiting[key][0], default=None)
                if due is not None and self._waiting[due][0] <= now:
                    interruption().clear()
                    self._taken = due
                    return due, self._waiting.pop(due)[1]
                self._changed.wait(None if due is None else self._waiting[due][0] - now)

    def _interrupt(self, key: Key) -> None:
        if self._taken == key:
            interruption().request()
