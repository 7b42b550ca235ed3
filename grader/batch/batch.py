"""A class through the gradebook: whatever is killed and whenever, the same command again ends with
every submission graded once.

A submission is claimed, graded, and its grade kept in one transaction; what was claimed and not
kept is claimed anew. Only this process talks to the gradebook.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.batch.leases import Leases
from grader.batch.runner import Runner
from grader.batch.task import Answer, Task
from grader.fault import MachineFault
from grader.gradebook.book import FAULTS, Gradebook
from grader.gradebook.worker import this_worker

IN_A_ROW = 8
"""Submissions one after the other at which the machine fails before it is taken for broken."""

POLL = 0.5
"""Seconds between two looks at what others are grading."""


@dataclass(frozen=True)
class Step:
    """One submission dealt with: `done` of `total` are. `again` when the machine failed and it is
    to be tried once more."""

    task: Task
    answer: Answer
    done: int
    total: int
    again: bool = False


@dataclass(frozen=True)
class Outcome:
    """How many were graded in this run; the failures that are left, by the submission's number."""

    graded: int
    failures: tuple[tuple[int, Answer], ...] = ()


Told = Callable[[Step], None]


def run_batch(
    lab: str, key: str, tasks: Sequence[Task], book: Gradebook, runner: Runner, *,
    proposal: str = "", told: Told = lambda step: None,
) -> Outcome:  # fmt: skip
    """Grade all the tasks and keep their grades under `key`; as a proposal when one is named.

    A fault of the machine is tried FAULTS times in all, then it is among the failures. Raises
    MachineFault when the gradebook fails, or the machine at one submission after the other; the
    grades before it are kept.
    """
    with Leases(book) as leases:
        batch = _Batch(lab, key, proposal, book, runner, leases, told)
        return batch.run(tasks)


class _Batch:
    """One run: what waits, what is being graded, and what came of it."""

    def __init__(
        self, lab: str, key: str, proposal: str, book: Gradebook, runner: Runner, leases: Leases,
        told: Told,
    ) -> None:  # fmt: skip
        self._lane = (lab, key, proposal)
        self._book, self._runner, self._leases, self._told = book, runner, leases, told
        self._worker = this_worker("batch")
        self._waiting: deque[Task] = deque()
        self._elsewhere: list[Task] = []
        self._running: dict[int, Task] = {}
        self._failures: dict[int, Answer] = {}
        self._graded = self._done = self._total = 0
        self._in_a_row: set[int] = set()

    def run(self, tasks: Sequence[Task]) -> Outcome:
        self._waiting.extend(tasks)
        self._total = len(tasks)
        while self._waiting or self._running or self._elsewhere:
            self._hand_out()
            if self._running:
                answer = self._runner.next(POLL)
                if answer is not None:
                    self._take(self._running.pop(answer.number), answer)
            elif self._elsewhere:
                self._look_elsewhere()
        return Outcome(self._graded, tuple(self._failures.items()))

    def _hand_out(self) -> None:
        _, key, proposal = self._lane
        while self._waiting and len(self._running) < self._runner.at_a_time:
            task = self._waiting.popleft()
            if self._leases.claim(task.number, key, self._worker, proposal):
                self._running[task.number] = task
                self._runner.submit(task)
            else:
                self._elsewhere.append(task)

    def _look_elsewhere(self) -> None:
        """What another process had: graded there by now, or to be claimed here."""
        lab, key, proposal = self._lane
        time.sleep(POLL)
        open_ = {stored.id for stored in self._book.wanted(lab, key, proposal=proposal)}
        self._waiting.extend(task for task in self._elsewhere if task.number in open_)
        self._total -= sum(task.number not in open_ for task in self._elsewhere)
        self._elsewhere.clear()

    def _take(self, task: Task, answer: Answer) -> None:
        claim = self._leases.end(task.number)
        again = False
        if answer.is_labs:
            self._book.release(claim)
            self._failures[task.number] = answer
        elif answer.grade is not None and answer.is_graded:
            self._graded += self._book.accept(claim, answer.grade)
            self._in_a_row.clear()
        else:
            count = self._book.fault(claim, answer.grade or answer.failure)
            again = count < FAULTS and not answer.is_final
            if again:
                self._waiting.append(task)
            else:
                self._failures[task.number] = answer
            self._in_a_row.add(task.number)
        self._done += not again
        self._told(Step(task, answer, self._done, self._total, again))
        if len(self._in_a_row) >= IN_A_ROW:
            raise _broken(answer)


def _broken(answer: Answer) -> MachineFault:
    what = f"the machine fails at one submission after the other: {answer.reason}"
    mend = "`grader doctor` looks at it; when it is mended, the same command goes on"
    return MachineFault(what, mend=mend)
