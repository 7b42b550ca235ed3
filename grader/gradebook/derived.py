"""What pages show of grades, computed once: by the grade, or until a lab has a newer change.

The grade of an attempt never changes, so what follows from it alone is kept by the attempt's
number. What counts in a lab changes only with a line of the audit, so that is kept with the numbers
of the newest lines. The cost of a page then does not grow with what was submitted before.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, TypeVar

from sqlalchemy import Connection, func, select

from grader.gradebook.course import Course
from grader.gradebook.database import Database
from grader.gradebook.entries import entries
from grader.gradebook.ledger import events
from grader.gradebook.tables import attempt, audit
from grader.gradebook.values import AuditEvent, Entry, GradeJson, Score, read_grade

T = TypeVar("T")

State = tuple[int, int]
"""The numbers of the newest lines of the audit about a lab, and about no lab; 0 for none."""

CHUNK = 500
"""Grades that one query reads: databases limit the values of a condition."""


class Derived(Generic[T]):
    """What a function returns for grades, each of which is read and verified once.

    Safe to share between threads; one object belongs to one gradebook.
    """

    def __init__(self, derive: Callable[[GradeJson], T]) -> None:
        self._derive = derive
        self._known: dict[int, T] = {}

    def of(self, connection: Connection, attempts: Collection[int]) -> Mapping[int, T]:
        """Return the value of each of these attempts, which have a grade.

        Raises:
            MachineFault: A grade differs from its SHA-256.
        """
        missing = sorted({*attempts} - self._known.keys())
        names = ("id", "grade_json", "grade_sha256")
        for begin in range(0, len(missing), CHUNK):
            mine = attempt.c.id.in_(missing[begin : begin + CHUNK])
            for row in connection.execute(select(*(attempt.c[name] for name in names)).where(mine)):
                self._known[row.id] = self._derive(read_grade(*row))
        return {number: self._known[number] for number in attempts}


class Kept(Generic[T]):
    """The newest value of each name, computed again when its state is another one.

    Of several threads that want the same new value, one computes it and the others wait.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._known: dict[str, tuple[object, T]] = {}

    def of(self, name: str, state: object, make: Callable[[], T]) -> T:
        """Return the value of a name; `state` was read before anything that it depends on."""
        with self._lock:
            own = self._locks[name]
        with own:
            known = self._known.get(name)
            if known is None or known[0] != state:
                known = self._known[name] = (state, make())
            return known[1]


class Views:
    """What pages show of one gradebook, without verifying the whole audit.

    Every method is one transaction, and raises MachineFault when the database fails.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(
        self, lab: str, scores: Derived[Score], course: Course | None = None,
        only: Collection[str] | None = None,
    ) -> Sequence[Entry]:  # fmt: skip
        """Return what counts for each student, or for some, without the grades.

        `scores` keeps what was read of grades, each of which is verified when it is read first.

        Raises:
            LabFault: The course does not have the lab.
        """
        with self._database.reading() as connection:
            return entries(connection, lab, course, only, scores.of)

    def derived(self, kept: Derived[T], attempts: Collection[int]) -> Mapping[int, T]:
        """Return what follows from the grades of these attempts; those not known yet are read."""
        with self._database.reading() as connection:
            return kept.of(connection, attempts)

    def state(self, lab: str) -> State:
        """Return what changes with everything that counts in a lab."""
        newest = select(func.max(audit.c.id))
        with self._database.reading() as connection:
            of_lab, of_none = (
                connection.execute(newest.where(audit.c.lab == which)).scalar()
                for which in (lab, "")
            )
        return of_lab or 0, of_none or 0

    def newest_events(self, count: int) -> Sequence[AuditEvent]:
        """Return the newest lines of the audit, oldest first."""
        with self._database.reading() as connection:
            return events(connection, newest=count)
