"""The gradebook as one object.

Every method is one transaction and safe to call from any thread or process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, select

from grader.faults import LabFault
from grader.gradebook import attempts, chain, extensions, ledger, submissions
from grader.gradebook import entries as counting
from grader.gradebook.board import Board
from grader.gradebook.course import Course
from grader.gradebook.database import Database, connect, migrate, utc_now
from grader.gradebook.derived import Views
from grader.gradebook.groups import Groups, apply_groups
from grader.gradebook.ledger import Student
from grader.gradebook.lti import Lti
from grader.gradebook.people import People
from grader.gradebook.progress import ProgressLog
from grader.gradebook.submissions import COLUMNS, NewSubmission, lab_query
from grader.gradebook.tables import student, submission
from grader.gradebook.teaching import Teaching
from grader.gradebook.values import (
    MAX_FAULTS,
    AuditEvent,
    Claim,
    Entry,
    Extension,
    ExtensionRow,
    GradeJson,
    Handed,
    Override,
    PointsChange,
    ProposedChange,
    Status,
    StoredSubmission,
)
from grader.gradebook.workers import Workers

__all__ = [
    "AuditEvent", "Claim", "Entry", "Gradebook", "MAX_FAULTS", "Override", "PointsChange",
    "ProposedChange", "Status", "StoredSubmission", "open_gradebook",
]  # fmt: skip


class Gradebook:
    """Submissions, attempts and grades of a class.

    Every method raises MachineFault when the database fails; earlier data is kept. `clock` returns
    the time in UTC, for leases and records; `database` is where it is stored.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self._database = self.database = database
        self._clock = clock

    @property
    def name(self) -> str:
        """The database's URL without its password, or the file's path."""
        return self._database.name

    @property
    def people(self) -> People:
        """The people of the course."""
        return People(self._database, self._clock)

    @property
    def progress(self) -> ProgressLog:
        """What happens to submissions until they are graded."""
        return ProgressLog(self._database, self._clock)

    @property
    def teaching(self) -> Teaching:
        """What staff and students say and decide about grades."""
        return Teaching(self._database, self._clock)

    @property
    def workers(self) -> Workers:
        """The workers that grade, and how the queue and the machine are."""
        return Workers(self._database, self._clock)

    @property
    def board(self) -> Board:
        """The leaderboards of its labs."""
        return Board(self._database, self._clock)

    @property
    def views(self) -> Views:
        """What pages show of it, at a cost that does not grow with what was submitted before."""
        return Views(self._database)

    @property
    def groups(self) -> Groups:
        """The students who submit together."""
        return Groups(self._database, self._clock)

    @property
    def lti(self) -> Lti:
        """The learning platforms that lead to the course."""
        return Lti(self._database, self._clock)

    def close(self) -> None:
        """Close the connections; the gradebook opens new ones when it is used again."""
        self._database.close()

    def submit(
        self, lab: str, student: str, name: str, data: bytes, *,
        received: datetime | None, answers: bytes | None = None, source: str = "",
        late: bool = False,
    ) -> StoredSubmission:  # fmt: skip
        """Store a submission once.

        The same lab, student, bytes and answers give the same row, which keeps the earliest time.

        Args:
            lab: The lab's name.
            student: The student's ID.
            name: The file's name.
            data: The file's bytes.
            received: When it was received, with a time zone; None when the time is unknown.
            answers: The bytes of the answers to the quiz.
            source: The place that it was read from.
            late: Whether the course's site marked it late.
        """
        new = NewSubmission(lab, student, name, data, received, answers, source, late)
        with self._database.writing() as connection:
            return submissions.store(connection, new, self._clock())

    def submissions(
        self, lab: str, *, students: Collection[str] | None = None
    ) -> Sequence[StoredSubmission]:
        """Return a lab's submissions, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(lab_query(lab, students))
            return tuple(map(submissions.stored_submission, rows))

    def submission(self, stored_id: int) -> StoredSubmission | None:
        """Return the submission with that number."""
        return self._one(submission.c.id == stored_id)

    def source(self, sha256: str) -> StoredSubmission | None:
        """Return the first stored submission with those bytes."""
        return self._one(submission.c.sha256 == sha256)

    def _one(self, which: object) -> StoredSubmission | None:
        query = select(*COLUMNS).where(which).order_by(submission.c.id)  # type: ignore[arg-type]
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else submissions.stored_submission(row)

    def wanted(
        self, lab: str, key: str, *, students: Collection[str] | None = None, proposal: str = ""
    ) -> Sequence[StoredSubmission]:
        """Return the submissions still to be graded under `key`, also those leased to others.

        They have no kept attempt and fewer than MAX_FAULTS system errors.
        """
        with self._database.reading() as connection:
            return submissions.wanted(connection, lab, key, students, proposal)

    def grades(self, lab: str) -> Mapping[int, tuple[str, GradeJson]]:
        """Map a submission's number to the key that its grade was made with, and the grade."""
        with self._database.reading() as connection:
            chain.require_intact(connection)
            return submissions.grades(connection, lab)

    def claim(
        self, stored_id: int, key: str, worker: str, lease: float, *, proposal: str = ""
    ) -> Claim | None:
        """Claim a submission for `lease` seconds.

        With `proposal`, an accepted grade waits for `adopt`.

        Returns:
            None when the submission has a grade, or a live worker has claimed it.
        """
        with self._database.writing() as connection:
            return attempts.claim(
                connection, stored_id, key, worker, lease, proposal, self._clock()
            )

    def renew(self, claim: Claim, lease: float) -> bool:
        """Extend the claim to `lease` seconds from now; False when another worker took over."""
        with self._database.writing() as connection:
            return attempts.renew(connection, claim, lease, self._clock())

    def release(self, claim: Claim) -> bool:
        """Give the claim back without a result; False when another worker took over."""
        with self._database.writing() as connection:
            return attempts.release(connection, claim, self._clock())

    def accept(self, claim: Claim, grade_json: GradeJson) -> bool:
        """Store a complete grade; False when the token is stale: another worker took over."""
        with self._database.writing() as connection:
            return attempts.accept(connection, claim, grade_json, self._clock())

    def fault(self, claim: Claim, why: GradeJson | str) -> int:
        """Count a system error, given as an incomplete grade or as text; grades do not change.

        Returns:
            The number of system errors under this key.
        """
        with self._database.writing() as connection:
            return attempts.fault(connection, claim, why, self._clock())

    def forgive(
        self, lab: str, author: str, *, students: Collection[str] | None = None,
        proposal: str | None = None,
    ) -> int:  # fmt: skip
        """Reset the count of system errors, so that the submissions are graded again.

        Args:
            lab: The lab.
            author: Who has them graded again.
            students: Whose submissions; None for all.
            proposal: The regrade whose attempts failed, "" for those outside a regrade; None for
                both.

        Returns:
            The number of submissions.
        """
        with self._database.writing() as connection:
            return attempts.forgive(connection, lab, students, author, self._clock(), proposal)

    def retry_regrade(self, number: int, author: str) -> int:
        """Have those submissions of a regrade graded again that ended with system errors.

        Returns:
            The number of submissions.

        Raises:
            LabFault: There is no such regrade, or it is decided.
        """
        one = self.teaching.regrade(number)
        if one is None or one.state != "open":
            raise LabFault(f"there is no open regrade {number}", fix="open the page again")
        return self.forgive(one.lab, author, proposal=one.proposal)

    def changes(self, proposal: str) -> Sequence[ProposedChange]:
        """Return the old and new grades of a regrade by student, equal ones included."""
        with self._database.reading() as connection:
            chain.require_intact(connection)
            return attempts.changes(connection, proposal)

    def adopt(self, proposal: str, author: str) -> int:
        """Make all grades of a regrade count at once, and return their number."""
        with self._database.writing() as connection:
            return attempts.adopt(connection, proposal, author, self._clock())

    def reject(self, proposal: str, author: str) -> int:
        """Reject the grades of a regrade, and return their number."""
        with self._database.writing() as connection:
            return attempts.reject(connection, proposal, author, self._clock())

    def entries(self, lab: str, *, course: Course | None = None) -> Sequence[Entry]:
        """Return what counts for each student.

        Without a course, the last submission counts and nothing is late.

        Raises:
            LabFault: The course does not have the lab.
        """
        with self._database.reading() as connection:
            chain.require_intact(connection)
            return counting.entries(connection, lab, course)

    def entry(self, lab: str, student: str, *, course: Course | None = None) -> Entry:
        """Return what counts for one student, without verifying the whole audit.

        Raises:
            LabFault: The course does not have the lab.
        """
        with self._database.reading() as connection:
            return counting.entries(connection, lab, course, [student])[0]

    def history(self, lab: str, student: str) -> Sequence[Handed]:
        """Return a student's submissions of a lab, oldest first, each with its grade."""
        with self._database.reading() as connection:
            return submissions.history(connection, lab, student)

    def grade(self, stored_id: int) -> GradeJson | None:
        """Return the grade of a submission; None without one."""
        with self._database.reading() as connection:
            return submissions.grade_of(connection, stored_id)

    def override(
        self, lab: str, student: str, points: float | None, author: str, reason: str
    ) -> None:
        """Set points instead of the computed ones; None removes an override.

        Raises:
            LabFault: There is no override to remove.
        """
        with self._database.writing() as connection:
            ledger.set_override(connection, lab, student, points, author, reason, self._clock())

    def extend(
        self, lab: str, student: str, due: datetime | None, author: str, reason: str
    ) -> None:
        """Give a student another deadline in a lab; None removes it.

        Raises:
            LabFault: There is no such student, or no extension to remove.
        """
        with self._database.writing() as connection:
            extensions.set_extension(connection, lab, student, due, author, reason, self._clock())

    def extend_all(self, rows: Sequence[ExtensionRow], author: str) -> Sequence[ExtensionRow]:
        """Set several extensions, all or none; return those that were not so before.

        Raises:
            LabFault: There is no such student.
        """
        with self._database.writing() as connection:
            return extensions.extend_all(connection, rows, author, self._clock())

    def extensions(self, lab: str) -> Mapping[str, Extension]:
        """Return the extension that counts for each student of a lab, by the student's ID."""
        with self._database.reading() as connection:
            return extensions.extensions(connection, lab)

    def apply(self, course: Course, author: str) -> Sequence[str]:
        """Record the extensions and groups that course.yaml has now; return a line per change."""

        def applied(connection: Connection, dry: bool) -> Sequence[str]:
            now = self._clock()
            steps = (extensions.apply_extensions, apply_groups)
            return [line for s in steps for line in s(connection, course, author, now, dry=dry)]

        with self._database.reading() as connection:
            if not applied(connection, True):
                return ()
        with self._database.writing() as connection:
            return applied(connection, False)

    def enroll(self, students: Sequence[Student], author: str) -> Sequence[str]:
        """Import a roster; return a line for each student who is new, changed or left."""
        with self._database.writing() as connection:
            return ledger.enroll(connection, students, author, self._clock())

    def labs(self) -> Sequence[str]:
        """Return the labs that have submissions."""
        query = select(submission.c.lab).distinct().order_by(submission.c.lab)
        with self._database.reading() as connection:
            return tuple(connection.execute(query).scalars())

    def students(self) -> Sequence[str]:
        """Return the IDs of all students who are enrolled or have submitted."""
        with self._database.reading() as connection:
            return tuple(connection.execute(select(student.c.id).order_by(student.c.id)).scalars())

    def recompute(
        self, lab: str, author: str, *, course: Course | None = None
    ) -> Sequence[PointsChange]:
        """Compute all points again after a change of rules or grades; return the changes."""
        with self._database.writing() as connection:
            chain.require_intact(connection)
            return counting.recompute(connection, lab, course, author, self._clock())

    def audit(self, lab: str | None = None, student: str | None = None) -> Sequence[AuditEvent]:
        """Return every recorded change, oldest first."""
        with self._database.reading() as connection:
            return ledger.events(connection, lab, student)

    def verify(self, expect: str = "") -> chain.Verification:
        """Verify the chain of the audit, every recorded row and every stored byte.

        `expect` is a head that was printed before, of which the audit must be a continuation.
        """
        with self._database.reading() as connection:
            return chain.verify(connection, expect=expect)


def open_gradebook(
    url: str, *, create: bool = True, check: bool = True, clock: Callable[[], datetime] = utc_now
) -> Gradebook:
    """Open the gradebook at a database URL or in a SQLite file.

    An empty database gets its tables; with `create`, a missing file is created. With `check`, the
    rows must agree with the audit; contents are checked when they are read.

    Raises:
        LabFault: `url` is neither.
        MachineFault: The database cannot be used, or it is damaged.
    """
    database = connect(url, create=create)
    migrate(database)
    if check:
        with database.reading() as connection:
            chain.require_intact(connection)
    return Gradebook(database, clock)
