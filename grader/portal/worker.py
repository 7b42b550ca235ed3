"""Grade what waits in a course's gradebook, oldest first, until told to end.

The gradebook's leases decide who grades what. So any number of workers, on any machine that reaches
the database, share one queue, and a worker that was killed loses nothing.
"""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType

from grader import __version__, dataclass, replace
from grader.batch.batch import MAX_CONSECUTIVE_FAULTS, Leases
from grader.batch.store import task_of
from grader.batch.task import Answer, BatchOptions, Task, batch_key, grade_task, local_tools
from grader.faults import MachineFault
from grader.gradebook.attempts import this_worker
from grader.gradebook.book import Gradebook
from grader.gradebook.course import Course
from grader.gradebook.progress import Waiting
from grader.gradebook.workers import BEAT_SECONDS, WorkerEntry
from grader.grading.pipeline import Progress
from grader.labs.model import Lab

POLL_SECONDS = 0.05
"""Seconds between two looks for a new event: the delay of the first step of a grading."""

LOOK_SECONDS = 1.0
"""Seconds between two looks at the whole queue without one: leases end, and regrades begin, without
an event."""

REST_SECONDS = 30.0
"""Seconds without work after MAX_CONSECUTIVE_FAULTS: the machine is broken, others may not be."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds before a worker that ended is started again, doubled while it keeps ending."""

Perform = Callable[[Lab, Task, BatchOptions, Progress], Answer]
Say = Callable[[str], None]


@dataclass(frozen=True)
class GradedLab:
    """A lab of the course as this machine grades it.

    Attributes:
        lab: The lab.
        options: How it is graded.
        key: The key of its grades.
        device: The model of the GPU; "" without one.
    """

    lab: Lab
    options: BatchOptions
    key: str
    device: str = ""


def graded_labs(
    course: Course, labs: Mapping[str, Lab], options: BatchOptions
) -> Mapping[str, GradedLab]:
    """Return how each lab is graded here. Raises MachineFault without a compiler or the GPU."""
    tools = local_tools(options.on)
    found = {}
    for name, lab in labs.items():
        own = replace(options, seed=course.seed(name))
        key = batch_key(lab, own.on, own.seed, tools)
        found[name] = GradedLab(lab, own, key, tools.get("device", ""))
    return found


class Heartbeat:
    """A thread that says in the gradebook that this worker lives, and why it rests.

    A database error does not stop it: the row only tells staff how the machine is.
    """

    def __init__(self, book: Gradebook, entry: WorkerEntry, say: Say) -> None:
        self._book, self._entry, self._say = book, entry, say
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._beat()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """Say that the worker has ended."""
        self._ended.set()
        self._thread.join()
        try:
            self._book.workers.end(self._entry.name)
        except MachineFault as fault:
            self._say(str(fault))

    def note(self, why: str) -> None:
        """Say why the worker rests; "" when it works again."""
        self._entry = replace(self._entry, note=why)
        self._beat()

    def _beat(self) -> None:
        try:
            self._book.workers.beat(self._entry)
        except MachineFault as fault:
            self._say(str(fault))

    def _repeat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            self._beat()


class Worker:
    """Threads that grade; each takes the submission that has waited longest."""

    def __init__(
        self, book: Gradebook, labs: Mapping[str, GradedLab], say: Say, *,
        perform: Perform = grade_task,
    ) -> None:  # fmt: skip
        self._book, self._labs, self._say, self._perform = book, labs, say, perform
        self._ended = threading.Event()
        self._choosing = threading.Lock()
        self._newest, self._looked = -1, -math.inf
        self._faults = 0

    def run(self, jobs: int) -> None:
        """Grade with `jobs` threads until `end`."""
        with (
            Leases(self._book) as leases,
            Heartbeat(self._book, self._entry(jobs), self._say) as own,
        ):
            threads = [
                threading.Thread(target=self._work, args=(leases, own, k), name=f"grade-{k}")
                for k in range(jobs)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def end(self) -> None:
        """Take no more submissions; `run` returns when those that are being graded are done."""
        self._ended.set()

    def _entry(self, jobs: int) -> WorkerEntry:
        """Return what this worker says about itself."""
        one = next(iter(self._labs.values()), None)
        backend, device = ("sim", "") if one is None else (one.options.on, one.device)
        return WorkerEntry(this_worker("worker"), backend, device, jobs, __version__)

    def _work(self, leases: Leases, own: Heartbeat, number: int) -> None:
        worker = this_worker(f"worker-{number}")
        while not self._ended.is_set():
            try:
                found = self._next(leases, worker)
                if found is not None:
                    self._grade(leases, *found)
            except MachineFault as fault:  # the gradebook's: it may be reached again
                self._say(str(fault))
                self._ended.wait(REST_SECONDS / 10)
            if self._faults >= MAX_CONSECUTIVE_FAULTS:
                why = f"system errors at many submissions in a row: resting {REST_SECONDS:g} s"
                self._say(why)
                own.note(why)
                self._faults = 0
                self._ended.wait(REST_SECONDS)
                own.note("")

    def _next(self, leases: Leases, worker: str) -> tuple[Waiting, str] | None:
        """Claim the first submission that nobody else grades; those of regrades come last.

        Without one, wait for POLL_SECONDS: one thread asks the database, the others wait for it.
        The number of the newest event is quick to read, the queue of a large course is not.

        Returns:
            The submission, and the name of the regrade's proposal or "".
        """
        with self._choosing:
            newest = self._book.progress.newest()
            if newest != self._newest or time.monotonic() - self._looked >= LOOK_SECONDS:
                if found := self._claimed(leases, worker):
                    return found
                self._newest, self._looked = newest, time.monotonic()
            self._ended.wait(POLL_SECONDS)
        return None

    def _claimed(self, leases: Leases, worker: str) -> tuple[Waiting, str] | None:
        """Return the first of the queue that can be claimed, and claim it."""
        for one, proposal in self._queue():
            if one.stopped or leases.holds(one.id):
                continue
            if leases.claim(one.id, self._labs[one.lab].key, worker, proposal):
                return one, proposal
        return None

    def _queue(self) -> Iterator[tuple[Waiting, str]]:
        for one in self._book.progress.waiting(self._labs):
            yield one, ""
        teaching = self._book.teaching
        for regrade in reversed(teaching.regrades(only_open=True)):
            if regrade.lab in self._labs:
                for one in teaching.pending(regrade):
                    yield one, regrade.proposal

    def _grade(self, leases: Leases, one: Waiting, proposal: str) -> None:
        graded, log = self._labs[one.lab], self._book.progress
        stored = self._book.submission(one.id)
        begun = time.monotonic()

        def progress(step: str, number: int, steps: int) -> None:
            if not proposal:  # its student watches the grade that counts
                log.add(one.id, "step", step=step, number=number, steps=steps)

        assert stored is not None
        answer = self._perform(graded.lab, task_of(stored), graded.options, progress)
        claim = leases.end(one.id)
        if answer.grade is not None and answer.is_graded:
            self._book.accept(claim, answer.grade)
            self._faults = 0
            points = f"{answer.grade['score']:g} of {answer.grade['judged_max']:g}"
            took = time.monotonic() - begun
            self._say(f"{one.lab}: {one.student}: {points} in {took:.1f} s")
            return
        self._book.fault(claim, answer.grade or answer.failure)
        self._faults += 1
        self._say(f"{one.lab}: {one.student}: not graded: {answer.reason}")


class KeptWorker:
    """A process that grades beside a server. When it ends, it is started again.

    It has a process session of its own, so that Ctrl-C ends it through the server. It ends itself
    when its standard input does (`--attached`): the server may be killed.
    """

    def __init__(self, words: Sequence[str], say: Say, pause: float = FIRST_PAUSE) -> None:
        self._words, self._say, self._pause = [*words, "--attached"], say, pause
        self._ended, self._lock = threading.Event(), threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name="worker", daemon=True)

    def __enter__(self) -> KeptWorker:
        self._start()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Have the worker finish what it is grading, and wait for it."""
        with self._lock:
            self._ended.set()
            if self._process is not None:
                self._process.send_signal(signal.SIGTERM)
        self._thread.join()

    def _start(self) -> None:
        with self._lock:
            if not self._ended.is_set():
                self._process = subprocess.Popen(
                    self._words, stdin=subprocess.PIPE, start_new_session=True
                )

    def _keep(self) -> None:
        pause = self._pause
        while self._process is not None:
            begun = time.monotonic()
            code = self._process.wait()
            if self._ended.is_set():
                return
            if time.monotonic() - begun > LONGEST_PAUSE:
                pause = self._pause
            self._say(f"the worker ended ({code}); another one starts in {pause:g} s")
            self._ended.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            try:
                self._start()
            except OSError as error:  # no memory now: the one that ended is waited for again
                self._say(f"no worker could be started: {error.strerror}")


def worker_beside(folder: Path, jobs: int, on: str, say: Say) -> AbstractContextManager[object]:
    """Keep a worker of that many jobs beside a server; none for 0 jobs."""
    words = [sys.executable, "-m", "grader", "worker", "--course", str(folder)]
    return KeptWorker([*words, "--jobs", str(jobs), "--on", on], say) if jobs > 0 else nullcontext()
