"""The gradebook as one object: every method is one transaction, and safe to call from any thread
or process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import select

from grader.gradebook import attempts, ledger, submissions
from grader.gradebook import attempts as proposals
from grader.gradebook import entries as counting
from grader.gradebook.course import Course
from grader.gradebook.database import Database, connect, migrate
from grader.gradebook.roster import Student
from grader.gradebook.submissions import COLUMNS, MAX_FAULTS, NewSubmission, lab_query
from grader.gradebook.tables import student, submission
from grader.gradebook.values import (
    AuditEvent,
    Claim,
    Entry,
    GradeJson,
    Override,
    PointsChange,
    ProposedChange,
    Status,
    StoredSubmission,
)

__all__ = [
    "AuditEvent",
    "Claim",
    "Entry",
    "Gradebook",
    "MAX_FAULTS",
    "Override",
    "PointsChange",
    "ProposedChange",
    "Status",
    "StoredSubmission",
    "open_gradebook",
]


def _now() -> datetime:
    return datetime.now(UTC)


class Gradebook:
    """Submissions, attempts and grades of a class. Raises MachineFault wherever the database
    fails; what was stored before is kept. `clock` gives the time in UTC, for leases and records.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock

    @property
    def name(self) -> str:
        """The database's URL as it may be shown: without a password."""
        return self._database.name

    def close(self) -> None:
        """Give the connections back; the gradebook opens new ones when it is used again."""
        self._database.close()

    def submit(
        self, lab: str, student: str, name: str, data: bytes, *,
        received: datetime | None, answers: bytes | None = None, source: str = "",
        late: bool = False,
    ) -> StoredSubmission:  # fmt: skip
        """Store a submission: the same lab, student, bytes and answers give the same row, which
        keeps the earliest time. `received` needs a time zone; None: nobody told it. `late`: the
        course's site marked it so.
        """
        new = NewSubmission(lab, student, name, data, received, answers, source, late)
        with self._database.writing() as connection:
            return submissions.store(connection, new, self._clock())

    def submissions(
        self, lab: str, *, students: Collection[str] | None = None
    ) -> Sequence[StoredSubmission]:
        """A lab's submissions, oldest first."""
        with self._database.reading() as connection:
            return tuple(
                map(submissions.stored_submission, connection.execute(lab_query(lab, students)))
            )

    def submission(self, stored_id: int) -> StoredSubmission | None:
        """The submission with that number."""
        return self._one(submission.c.id == stored_id)

    def source(self, sha256: str) -> StoredSubmission | None:
        """A submission with those bytes: the first that was stored."""
        return self._one(submission.c.sha256 == sha256)

    def _one(self, which: object) -> StoredSubmission | None:
        query = select(*COLUMNS).where(which).order_by(submission.c.id)  # type: ignore[arg-type]
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else submissions.stored_submission(row)

    def wanted(
        self, lab: str, key: str, *, students: Collection[str] | None = None, proposal: str = ""
    ) -> Sequence[StoredSubmission]:
        """What is still to be graded under `key`: no attempt kept, fewer than MAX_FAULTS faults of
        the machine; those leased to others are among them.
        """
        with self._database.reading() as connection:
            return submissions.wanted(connection, lab, key, students, proposal)

    def grades(self, lab: str) -> Mapping[int, tuple[str, GradeJson]]:
        """By a submission's number, the key that its grade was made with, and the grade."""
        with self._database.reading() as connection:
            return submissions.grades(connection, lab)

    def claim(
        self, stored_id: int, key: str, worker: str, lease: float, *, proposal: str = ""
    ) -> Claim | None:
        """The right to grade a submission for `lease` seconds. None: its grade is kept already,
        or another that lives has the right. With `proposal`, what is accepted waits for `adopt`.
        """
        with self._database.writing() as connection:
            return attempts.claim(
                connection, stored_id, key, worker, lease, proposal, self._clock()
            )

    def renew(self, claim: Claim, lease: float) -> bool:
        """Hold the claim for `lease` seconds from now; False: someone else took over."""
        with self._database.writing() as connection:
            return attempts.renew(connection, claim, lease, self._clock())

    def release(self, claim: Claim) -> bool:
        """Give the claim back with nothing done; False: someone else took over before."""
        with self._database.writing() as connection:
            return attempts.release(connection, claim, self._clock())

    def accept(self, claim: Claim, grade_json: GradeJson) -> bool:
        """Keep a grade that is complete. False: the token is stale, someone else took over."""
        with self._database.writing() as connection:
            return attempts.accept(connection, claim, grade_json, self._clock())

    def fault(self, claim: Claim, why: GradeJson | str) -> int:
        """Count a fault of the machine: an incomplete grade, or words. How many this key has had;
        a grade that stands is never touched.
        """
        with self._database.writing() as connection:
            return attempts.fault(connection, claim, why, self._clock())

    def forgive(self, lab: str, author: str, *, students: Collection[str] | None = None) -> int:
        """Count the machine's faults so far no longer: what they stopped is wanted again. How many
        submissions that are.
        """
        with self._database.writing() as connection:
            return attempts.forgive(connection, lab, students, author, self._clock())

    def changes(self, proposal: str) -> Sequence[ProposedChange]:
        """What adopting that regrade would change, by student; the same grade again included."""
        with self._database.reading() as connection:
            return proposals.changes(connection, proposal)

    def adopt(self, proposal: str, author: str) -> int:
        """Make all grades of that regrade count, all at once. How many there were."""
        with self._database.writing() as connection:
            return proposals.adopt(connection, proposal, author, self._clock())

    def reject(self, proposal: str, author: str) -> int:
        """Drop the grades of that regrade. How many there were."""
        with self._database.writing() as connection:
            return proposals.reject(connection, proposal, author, self._clock())

    def entries(self, lab: str, *, course: Course | None = None) -> Sequence[Entry]:
        """What counts for each student. Without a course, the last submission counts and nothing
        is late. Raises LabFault when the course does not have the lab.
        """
        with self._database.reading() as connection:
            return counting.entries(connection, lab, course)

    def override(
        self, lab: str, student: str, points: float | None, author: str, reason: str
    ) -> None:
        """Give points instead of the computed ones; None takes an override back. Raises LabFault
        when there is none to take back.
        """
        with self._database.writing() as connection:
            ledger.set_override(connection, lab, student, points, author, reason, self._clock())

    def enroll(self, students: Sequence[Student], author: str) -> Sequence[str]:
        """Import a roster: who is new, changed or left, a line each."""
        with self._database.writing() as connection:
            return ledger.enroll(connection, students, author, self._clock())

    def labs(self) -> Sequence[str]:
        """The labs of which something was handed in."""
        query = select(submission.c.lab).distinct().order_by(submission.c.lab)
        with self._database.reading() as connection:
            return tuple(connection.execute(query).scalars())

    def students(self) -> Sequence[str]:
        """The ids of all who are enrolled or have handed something in."""
        with self._database.reading() as connection:
            return tuple(connection.execute(select(student.c.id).order_by(student.c.id)).scalars())

    def recompute(
        self, lab: str, author: str, *, course: Course | None = None
    ) -> Sequence[PointsChange]:
        """Work all points out again, after the rules or a grade have changed; whose moved."""
        with self._database.writing() as connection:
            return counting.recompute(connection, lab, course, author, self._clock())

    def audit(self, lab: str | None = None, student: str | None = None) -> Sequence[AuditEvent]:
        """Every change that was ever made, oldest first."""
        with self._database.reading() as connection:
            return ledger.events(connection, lab, student)


def open_gradebook(
    url: str, *, create: bool = True, clock: Callable[[], datetime] = _now
) -> Gradebook:
    """The gradebook at a database URL or in a SQLite file; an empty database gets its tables, and
    with `create` a file that is not there is made.

    Raises LabFault when `url` is neither, MachineFault when the database cannot be used.
    """
    database = connect(url, create=create)
    migrate(database)
    return Gradebook(database, clock)
