"""Grade a class through the gradebook, durable and idempotent.

Whichever process is killed, running the same command again grades every submission once. A
submission is claimed, then graded, and its grade is stored in one transaction; a claim without a
grade expires and is claimed again. Only this process uses the gradebook.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from grader import dataclass
from grader.batch.store import StoreResult
from grader.batch.task import Answer, Task
from grader.faults import MachineFault
from grader.gradebook.attempts import this_worker
from grader.gradebook.book import MAX_FAULTS, AuditEvent, Claim, Gradebook

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


LEASE_SECONDS = 60.0
"""Seconds without a renewal after which another worker takes a submission over. A dead worker on
the same machine is detected at once."""

MAX_CONSECUTIVE_FAULTS = 8
"""System errors at different submissions in a row after which the machine counts as broken."""

POLL_SECONDS = 0.5
"""Seconds between two checks of what other workers are grading."""


class Leases:
    """A thread that renews its claims three times per lease.

    A database error does not stop it: a claim that was lost is detected when its grade is stored.
    """

    def __init__(self, book: Gradebook, lease: float = LEASE_SECONDS) -> None:
        self._book, self._lease = book, lease
        self._claims: dict[int, Claim] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="leases", daemon=True)

    def __enter__(self) -> Leases:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop renewing, and release the remaining claims so that other workers need not wait."""
        self._ended.set()
        self._thread.join()
        for claim in self._claims.values():
            self._book.release(claim)

    def claim(self, number: int, key: str, worker: str, proposal: str) -> bool:
        """Claim a submission and renew the claim until `end`; False when it is not available."""
        claim = self._book.claim(number, key, worker, self._lease, proposal=proposal)
        if claim is None:
            return False
        with self._lock:
            self._claims[number] = claim
        return True

    def holds(self, number: int) -> bool:
        """Whether a submission is claimed here."""
        with self._lock:
            return number in self._claims

    def end(self, number: int) -> Claim:
        """Stop renewing a claim and return it."""
        with self._lock:
            return self._claims.pop(number)

    def _renew(self) -> None:
        while not self._ended.wait(self._lease / 3):
            with self._lock:
                claims = list(self._claims.values())
            for claim in claims:
                try:
                    self._book.renew(claim, self._lease)
                except MachineFault:
                    break  # tried again in a third of a lease


@dataclass(frozen=True)
class Plan:
    """What is left to grade.

    Attributes:
        tasks: The submissions to grade.
        graded: The numbers of those graded before.
        outdated: The numbers of those graded with another lab text, seed or toolchain.
    """

    tasks: tuple[Task, ...]
    graded: tuple[int, ...]
    outdated: tuple[int, ...]


def plan(
    results: Sequence[StoreResult],
    grades: Mapping[int, tuple[str, Any]],
    wanted: Collection[int],
    key: str,
) -> Plan:
    """Choose the submissions to grade.

    A submission with a grade is never graded again, even when its key has changed: the instructor
    must ask for a regrade and review it.
    """
    tasks = {one.task.number: one.task for one in results if one.task is not None}
    held = [number for number in tasks if number in grades]
    new = [number for number in tasks if number not in grades]
    return Plan(
        tasks=tuple(tasks[number] for number in new if number in wanted),
        graded=tuple(held),
        outdated=tuple(number for number in held if grades[number][0] != key),
    )


def proposal_name(key: str, audit: Iterable[AuditEvent]) -> str:
    """Return the name of the regrade under that key.

    The name stays the same until the regrade is adopted, so that a stopped one continues.
    """
    stem = f"regrade-{key[:8]}"
    adopted = {event.action for event in audit if event.action.startswith(f"adopt {stem}-")}
    return f"{stem}-{len(adopted) + 1}"


@dataclass(frozen=True)
class Step:
    """One submission processed, `done` of `total`; `again`: a system error, it is tried again."""

    task: Task
    answer: Answer
    done: int
    total: int
    again: bool = False


@dataclass(frozen=True)
class Outcome:
    """The number graded in this run, and the failures by the submission's number."""

    graded: int
    failures: tuple[tuple[int, Answer], ...] = ()


OnStep = Callable[[Step], None]


def run_batch(
    lab: str, key: str, tasks: Sequence[Task], book: Gradebook, runner: Runner, *,
    proposal: str = "", on_step: OnStep = lambda step: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Outcome:  # fmt: skip
    """Grade all the tasks and store their grades under `key`, as a proposal when one is named.

    A submission with a system error is graded up to MAX_FAULTS times, then it is a failure.
    `is_stopped` is asked after each answer, and every POLL_SECONDS.

    Raises:
        KeyboardInterrupt: It is stopped. The grades stored before are kept, the claims released.
        MachineFault: The gradebook fails, or many submissions in a row have system errors. The
            grades stored before are kept.
    """
    with Leases(book) as leases:
        batch = _Batch(lab, key, proposal, book, runner, leases, on_step)
        return batch.run(tasks, is_stopped)


class _Batch:
    """One run: the waiting tasks, the running ones, and the results."""

    def __init__(
        self, lab: str, key: str, proposal: str, book: Gradebook, runner: Runner, leases: Leases,
        on_step: OnStep,
    ) -> None:  # fmt: skip
        self._lane = (lab, key, proposal)
        self._book, self._runner, self._leases, self._on_step = book, runner, leases, on_step
        self._worker = this_worker("batch")
        self._waiting: deque[Task] = deque()
        self._elsewhere: list[Task] = []
        self._running: dict[int, Task] = {}
        self._failures: dict[int, Answer] = {}
        self._graded = self._done = self._total = 0
        self._in_a_row: set[int] = set()

    def run(self, tasks: Sequence[Task], is_stopped: Callable[[], bool]) -> Outcome:
        self._waiting.extend(tasks)
        self._total = len(tasks)
        while self._waiting or self._running or self._elsewhere:
            self._hand_out()
            if self._running:
                answer = self._runner.next(POLL_SECONDS)
                if answer is not None:
                    self._take(self._running.pop(answer.number), answer)
            elif self._elsewhere:
                self._look_elsewhere()
            if is_stopped():
                raise KeyboardInterrupt
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
        """Recheck submissions claimed by other processes: drop the graded ones, queue the rest."""
        lab, key, proposal = self._lane
        time.sleep(POLL_SECONDS)
        open_ = {stored.id for stored in self._book.wanted(lab, key, proposal=proposal)}
        self._waiting.extend(task for task in self._elsewhere if task.number in open_)
        self._total -= sum(task.number not in open_ for task in self._elsewhere)
        self._elsewhere.clear()

    def _take(self, task: Task, answer: Answer) -> None:
        claim = self._leases.end(task.number)
        again = False
        if answer.is_lab_fault:
            self._book.release(claim)
            self._failures[task.number] = answer
        elif answer.grade is not None and answer.is_graded:
            self._graded += self._book.accept(claim, answer.grade)
            self._in_a_row.clear()
        else:
            count = self._book.fault(claim, answer.grade or answer.failure)
            again = count < MAX_FAULTS and not answer.is_final
            if again:
                self._waiting.append(task)
            else:
                self._failures[task.number] = answer
            self._in_a_row.add(task.number)
        self._done += not again
        self._on_step(Step(task, answer, self._done, self._total, again))
        if len(self._in_a_row) >= MAX_CONSECUTIVE_FAULTS:
            raise _broken_machine(answer)


def _broken_machine(answer: Answer) -> MachineFault:
    what = f"system errors at many submissions in a row: {answer.reason}"
    fix = "Run `grader doctor`, fix the problem, and run the same command again to continue."
    return MachineFault(what, fix=fix)
