"""Store the submissions of a class in the gradebook, before anything is graded."""

from __future__ import annotations

from collections.abc import Sequence

from grader import dataclass, replace
from grader.batch.task import Task
from grader.faults import Fault, StudentFault
from grader.gradebook.book import Gradebook, StoredSubmission
from grader.gradebook.course import Course
from grader.labs.model import KernelSpec
from grader.launch import Finding
from grader.submissions.gather import StudentSubmission, SubmissionSet
from grader.submissions.sources import Wanted


@dataclass(frozen=True)
class StoreResult:
    """One student's submission, under the student's ID in the gradebook.

    It is either `stored`, or `problem` says why it could not be read. `refused` says why a stored
    submission has no source to grade.
    """

    found: StudentSubmission
    student: str
    stored: StoredSubmission | None = None
    refused: Finding | None = None
    problem: Fault | None = None

    @property
    def number(self) -> int:
        """The submission's in the gradebook; 0 when it could not be stored."""
        return self.stored.id if self.stored is not None else 0

    @property
    def task(self) -> Task | None:
        """The task that grades it; None when it could not be stored."""
        if self.stored is None:
            return None
        return task_of(self.stored, self.refused)


def task_of(stored: StoredSubmission, refused: Finding | None = None) -> Task:
    """Return the task that grades a stored submission."""
    return Task(stored.id, stored.student, stored.name, stored.data, stored.answers, refused)


def store_submissions(
    lab: str,
    gathered: SubmissionSet,
    book: Gradebook,
    course: Course | None,
    kernels: Sequence[KernelSpec] = (),
) -> tuple[StoreResult, ...]:
    """Store every submission, and read each file exactly once: the stored bytes are graded.

    Of a notebook or an archive the source is stored that is graded; `kernels` are those that the
    lab asks for, which decide between several. A submission that is no regular file is stored
    without bytes and gets its verdict.

    Raises:
        MachineFault: The gradebook fails.
    """
    return tuple(
        _stored(Wanted(lab, kernels), found, roster_id(found, course), book, gathered)
        for found in gathered.submissions
    )


def _stored(
    wanted: Wanted,
    found: StudentSubmission,
    student: str,
    book: Gradebook,
    gathered: SubmissionSet,
) -> StoreResult:
    mine = StoreResult(found, student)
    data, answers, name = b"", None, found.name
    try:
        answers = _answers(found)
        submission = found.submission(wanted)
        data, name = submission.data, submission.name
    except StudentFault as fault:
        mine = replace(mine, refused=fault.findings[0])
        data = _refused_bytes(found)
    except Fault as fault:
        return replace(mine, problem=fault)
    place = found.file.path if found.file is not None else found.name
    source = f"{gathered.layout}: {place}"
    stored = book.submit(
        wanted.lab, student, name, data, received=found.received, answers=answers, source=source,
        late=found.late,
    )  # fmt: skip
    return replace(mine, stored=stored)


def _refused_bytes(found: StudentSubmission) -> bytes:
    """The first bytes of a file that has no source in it; none of a link or a special file."""
    try:
        return found.read()
    except Fault:
        return b""


def _answers(found: StudentSubmission) -> bytes | None:
    """Read the answers; a link or other special file counts as an empty sheet."""
    try:
        return found.answers()
    except StudentFault:
        return b""


def roster_id(found: StudentSubmission, course: Course | None) -> str:
    """Return the student's ID in the roster, found by the download's ID, e-mail address or name.

    Without exactly one match, return the download's ID.
    """
    if course is None:
        return found.student
    identifiers = (found.student, found.email, found.full_name)
    known = (course.student(identifier) for identifier in identifiers if identifier)
    return next((student.id for student in known if student is not None), found.student)


def missing_time_notes(
    results: Sequence[StoreResult], lab: str, course: Course | None
) -> tuple[str, ...]:
    """Say which submissions have no time, when lateness could have changed their points."""
    untimed = [one for one in results if one.found.received is None]
    late = [one.student for one in untimed if one.found.late]
    notes = []
    if late:
        names = ", ".join(late)
        notes.append(f"marked late without a time, so there is no penalty: {names}")
    if course is not None and course.policy(lab).due is not None and len(untimed) > len(late):
        whose = "the submission" if len(untimed) == 1 else f"{len(untimed)} submissions"
        notes.append(f"time of {whose} unknown: counted as in time")
    if notes:
        notes.append(f"  to deduct points: grader gradebook override {lab} STUDENT POINTS ...")
    return tuple(notes)


def resubmission_notes(
    results: Sequence[StoreResult], lab: str, book: Gradebook
) -> tuple[str, ...]:
    """Name the students whose submission equals an earlier one that is not their newest."""
    newest = {stored.student: stored.id for stored in book.submissions(lab)}
    return tuple(
        f"{one.student}: same as an earlier submission, not the newest: not a new submission"
        for one in results
        if one.stored is not None and newest[one.stored.student] != one.number
    )


def not_enrolled(results: Sequence[StoreResult], course: Course | None) -> tuple[str, ...]:
    """Name the students who submitted but are not in the course's roster."""
    if course is None or not course.students:
        return ()
    known = {student.id for student in course.students}
    return tuple(
        one.student
        + (f" ({one.found.full_name})" if one.found.full_name else "")
        + _ambiguity(one.found, course)
        for one in results
        if one.student not in known
    )


def _ambiguity(found: StudentSubmission, course: Course) -> str:
    """Return which students of the roster match a submission, when there are several."""
    for word in (found.student, found.email, found.full_name):
        if len(matches := course.matches(word)) > 1:
            return f" (matches {', '.join(student.id for student in matches)})"
    return ""
