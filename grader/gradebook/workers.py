"""The workers of a course, what they do, and how the queue and the machine are.

A worker writes a row when it starts and renews it while it lives. Which submission it grades is in
the attempts, whose worker's name begins with that of the row. Nothing here decides who grades what:
the leases of the attempts do.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, delete, literal_column, select, update

from grader import __version__, dataclass
from grader.faults import pluralize
from grader.gradebook.attempts import is_dead
from grader.gradebook.chain import storable
from grader.gradebook.database import LATEST_REVISION, Database, utc_now
from grader.gradebook.progress import ProgressLog, Waiting
from grader.gradebook.tables import attempt, submission, worker

BEAT_SECONDS = 10.0
"""Seconds between two renewals of a worker's row."""

SILENT = timedelta(seconds=3 * BEAT_SECONDS)
"""A worker that was not heard of for this long may have ended."""

KEPT = timedelta(days=1)
"""How long ended workers and the errors of machines are shown."""

LOW_BYTES = 1 << 30
"""Free bytes of a disk below which it is soon full."""

MOST_ERRORS = 200
"""Errors of machines that are listed: a broken machine has many."""

WorkerStatus = Literal["grading", "idle", "resting", "silent", "ended"]


@dataclass(frozen=True)
class WorkerEntry:
    """What a worker says about itself.

    Attributes:
        name: The process, as `attempts.this_worker` names it.
        backend: `sim` or `gpu`.
        device: The model of its GPU; "" without one.
        jobs: How many submissions it grades at a time.
        version: The version of the grader.
        note: Why it takes no submission now; "" when it takes some.
    """

    name: str
    backend: str
    device: str
    jobs: int
    version: str
    note: str = ""


@dataclass(frozen=True)
class Work:
    """A submission that is being graded, for a regrade or for the queue, and since when."""

    submission: int
    lab: str
    student: str
    since: datetime
    is_regrade: bool


@dataclass(frozen=True)
class WorkerState:
    """A worker as the gradebook knows it."""

    entry: WorkerEntry
    started: datetime
    seen: datetime
    status: WorkerStatus
    works: tuple[Work, ...]

    @property
    def host(self) -> str:
        """The machine that it runs on."""
        return self.entry.name.partition("/")[0]

    @property
    def pid(self) -> str:
        """The number of its process there."""
        return [*self.entry.name.split("/"), "", "", "", ""][3]

    @property
    def is_alive(self) -> bool:
        """Whether it is known to work."""
        return self.status in ("grading", "idle", "resting")


@dataclass(frozen=True)
class MachineError:
    """An attempt that ended with a system error, and why."""

    submission: int
    lab: str
    student: str
    host: str
    reason: str
    at: datetime
    is_regrade: bool


@dataclass(frozen=True)
class Health:
    """How a course's server is.

    Attributes:
        at: The time of all of this.
        workers: The workers, the newest first; ended ones for a day.
        queue: What waits for a grade.
        errors: The system errors of the last day, the newest first.
        size: Bytes of the database.
        free: Bytes that are free on the disk of the database, or of this machine when the
            database is on a server.
        version: The version of the gradebook's tables.
    """

    at: datetime
    workers: tuple[WorkerState, ...]
    queue: tuple[Waiting, ...]
    errors: tuple[MachineError, ...]
    size: int
    free: int
    version: str = LATEST_REVISION

    @property
    def problems(self) -> tuple[str, ...]:
        """What needs attention, most urgent first."""
        waits, stopped = len(self.waiting), len(self.stopped)
        others = {one.entry.version for one in self.workers if one.is_alive} - {__version__}
        found = {
            f"no worker lives for {pluralize(waits, 'submission')}": waits and not self.alive,
            f"only {self.free / 2**30:.1f} GiB are free on the disk": self.free < LOW_BYTES,
            f"{pluralize(stopped, 'submission')} stopped after system errors": stopped,
            f"a worker has another version: {', '.join(sorted(others))}": others,
        }
        return tuple(what for what, holds in found.items() if holds)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values; times are ISO 8601 in UTC."""
        return {
            "at": self.at.isoformat(), "grader": __version__, "tables": self.version,
            "problems": list(self.problems),
            "workers": [_worker_json(one) for one in self.workers],
            "waiting": len(self.waiting), "running": self.running,
            "head_seconds": self.head_seconds,
            "stopped": [
                {"submission": one.id, "lab": one.lab, "student": one.student, "faults": one.faults}
                for one in self.stopped
            ],
            "errors": [
                {"submission": one.submission, "lab": one.lab, "student": one.student,
                 "host": one.host, "reason": one.reason, "at": one.at.isoformat(),
                 "regrade": one.is_regrade}
                for one in self.errors
            ],
            "database_bytes": self.size, "free_bytes": self.free,
        }  # fmt: skip

    @property
    def alive(self) -> int:
        """The number of workers that are known to work."""
        return sum(one.is_alive for one in self.workers)

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """What waits to be graded, the next one first."""
        return tuple(one for one in self.queue if not one.running and not one.stopped)

    @property
    def stopped(self) -> tuple[Waiting, ...]:
        """What is not tried again until staff start it."""
        return tuple(one for one in self.queue if one.stopped)

    @property
    def running(self) -> int:
        """The number of submissions of the queue that are being graded."""
        return sum(one.running for one in self.queue)

    @property
    def head_seconds(self) -> float | None:
        """How long the next submission has waited; None when none waits."""
        stored = next((one.stored for one in self.waiting), None)
        return None if stored is None else max(0.0, (self.at - stored).total_seconds())


def _worker_json(one: WorkerState) -> dict[str, Any]:
    entry = one.entry
    return {
        "host": one.host, "pid": one.pid, "status": one.status, "backend": entry.backend,
        "device": entry.device, "jobs": entry.jobs, "version": entry.version, "note": entry.note,
        "started": one.started.isoformat(), "seen": one.seen.isoformat(),
        "works": [
            {"submission": work.submission, "lab": work.lab, "student": work.student,
             "since": work.since.isoformat(), "regrade": work.is_regrade}
            for work in one.works
        ],
    }  # fmt: skip


class Workers:
    """The workers of one gradebook.

    Every method is one transaction or more, and raises MachineFault when the database fails.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database, self._clock = database, clock

    def beat(self, entry: WorkerEntry) -> None:
        """Say that a worker lives; its first beat makes its row and removes those of long ago."""
        now = self._clock()
        said: dict[str, Any] = {"seen": now, "ended": None, "jobs": entry.jobs}
        said["note"] = storable(entry.note)
        with self._database.writing() as connection:
            mine = worker.c.name == storable(entry.name)
            if connection.execute(update(worker).where(mine).values(**said)).rowcount:
                return
            connection.execute(delete(worker).where(worker.c.seen < now - KEPT))
            named = ("name", "version", "backend", "device")
            own = {name: storable(getattr(entry, name)) for name in named}
            connection.execute(worker.insert().values(started=now, **own, **said))

    def end(self, name: str) -> None:
        """Say that a worker has ended."""
        now = self._clock()
        with self._database.writing() as connection:
            mine = worker.c.name == storable(name)
            connection.execute(update(worker).where(mine).values(seen=now, ended=now))

    def health(self, labs: Collection[str], folder: Path) -> Health:
        """Return how the server is; `folder` is the course's, on whose disk it is."""
        now = self._clock()
        with self._database.reading() as connection:
            workers = _workers(connection, now)
            errors = tuple(map(_error, connection.execute(_errors(now - KEPT))))
        queue = tuple(ProgressLog(self._database, self._clock).waiting(labs))
        place = self._database.file or folder
        free = shutil.disk_usage(place if place.is_dir() else place.parent).free
        return Health(now, workers, queue, errors, self._database.size(), free)


def _workers(connection: Connection, now: datetime) -> tuple[WorkerState, ...]:
    running: dict[str, list[Work]] = {}
    for row in connection.execute(_running()):
        own = Work(row.submission, row.lab, row.student, row.started, bool(row.proposal))
        running.setdefault(_process(row.worker), []).append(own)
    query = select(worker).where(worker.c.seen >= now - KEPT).order_by(worker.c.id.desc())
    rows = connection.execute(query)
    return tuple(_state(row, running.get(_process(row.name), ()), now) for row in rows)


def _process(name: str) -> str:
    """Return the part of a worker's name that all threads of its process have."""
    return name.rpartition("/")[0]


def _state(row: Row[Any], works: Sequence[Work], now: datetime) -> WorkerState:
    fields = ("name", "backend", "device", "jobs", "version", "note")
    entry = WorkerEntry(*(getattr(row, name) for name in fields))
    status: WorkerStatus = "grading" if works else "resting" if row.note else "idle"
    if row.ended is not None:
        status = "ended"
    elif is_dead(row.name) or now - row.seen > SILENT:
        status = "silent"
    return WorkerState(entry, row.started, row.seen, status, tuple(works))


def _running() -> Select[Any]:
    """Select what is being graded, by the partial index of running attempts."""
    columns = (attempt.c[name] for name in ("submission", "worker", "started", "proposal"))
    return (
        select(*columns, submission.c.lab, submission.c.student)
        .join(submission, submission.c.id == attempt.c.submission)
        .where(attempt.c.state == literal_column("'running'"), attempt.c.submission > 0)
        .order_by(attempt.c.id)
    )


def _errors(since: datetime) -> Select[Any]:
    columns = (attempt.c[name] for name in ("submission", "worker", "reason", "ended", "proposal"))
    return (
        select(*columns, submission.c.lab, submission.c.student)
        .join(submission, submission.c.id == attempt.c.submission)
        .where(attempt.c.state.in_(("fault", "forgiven")), attempt.c.ended >= since)
        .order_by(attempt.c.ended.desc(), attempt.c.id.desc())
        .limit(MOST_ERRORS)
    )


def _error(row: Row[Any]) -> MachineError:
    host = row.worker.partition("/")[0]
    is_regrade = bool(row.proposal)
    return MachineError(
        row.submission, row.lab, row.student, host, row.reason, row.ended, is_regrade
    )
