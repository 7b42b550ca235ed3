"""What was found in a folder, stored in the gradebook before anything is graded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.batch.task import Task
from grader.faults import Fault, StudentFault
from grader.gradebook.book import Gradebook, StoredSubmission
from grader.gradebook.course import Course
from grader.launch import Finding
from grader.submissions.gather import StudentSubmission, SubmissionSet


@dataclass(frozen=True)
class StoreResult:
    """One found submission under the name that the gradebook has for the student: as it is
    `stored`, or the `problem` why its bytes could not be had.
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
        if self.stored is None:
            return None
        return task_of(self.stored, self.refused)


def task_of(stored: StoredSubmission, refused: Finding | None = None) -> Task:
    """What it takes to grade a stored submission."""
    return Task(stored.id, stored.student, stored.name, stored.data, stored.answers, refused)


def store_submissions(
    lab: str, gathered: SubmissionSet, book: Gradebook, course: Course | None
) -> tuple[StoreResult, ...]:
    """Store every submission. Each file is read once, here: what is graded is what was stored.

    A thing that is no file is stored without bytes, and gets its verdict. Raises MachineFault when
    the gradebook fails.
    """
    return tuple(
        _stored(lab, found, roster_id(found, course), book, gathered)
        for found in gathered.submissions
    )


def _stored(
    lab: str, found: StudentSubmission, student: str, book: Gradebook, gathered: SubmissionSet
) -> StoreResult:
    mine = StoreResult(found, student)
    data, answers = b"", None
    try:
        answers = _answers(found)
        data = found.read()
    except StudentFault as fault:
        mine = replace(mine, refused=fault.findings[0])
    except Fault as fault:
        return replace(mine, problem=fault)
    place = found.file.path if found.file is not None else found.name
    source = f"{gathered.layout}: {place}"
    stored = book.submit(
        lab, student, found.name, data, received=found.received, answers=answers, source=source,
        late=found.late,
    )  # fmt: skip
    return replace(mine, stored=stored)


def _answers(found: StudentSubmission) -> bytes | None:
    """What is no file, a link for instance, is an empty sheet: the kernel beside it counts."""
    try:
        return found.answers()
    except StudentFault:
        return b""


def roster_id(found: StudentSubmission, course: Course | None) -> str:
    """The student's identifier in the roster; what the download calls them when that, their e-mail
    address and their name are no student's there, or more than one's.
    """
    if course is None:
        return found.student
    words = (found.student, found.email, found.full_name)
    known = (course.student(word) for word in words if word)
    return next((student.id for student in known if student is not None), found.student)


def missing_time_notes(
    handed: Sequence[StoreResult], lab: str, course: Course | None
) -> tuple[str, ...]:
    """What is said of submissions whose time nobody told, where it could have mattered."""
    none = [one for one in handed if one.found.received is None]
    late = [one.student for one in none if one.found.late]
    said = []
    if late:
        names = ", ".join(late)
        said.append(f"marked late, by how much is not told, so nothing is taken off: {names}")
    if course is not None and course.policy(lab).due is not None and len(none) > len(late):
        whose = "the submission" if len(none) == 1 else f"{len(none)} submissions"
        said.append(f"time of {whose} not told: counted as in time")
    if said:
        said.append(f"  to take points off: grader gradebook override {lab} STUDENT POINTS ...")
    return tuple(said)


def resubmission_notes(handed: Sequence[StoreResult], lab: str, book: Gradebook) -> tuple[str, ...]:
    """Who handed in again what they had before something else: it keeps its place."""
    newest = {stored.student: stored.id for stored in book.submissions(lab)}
    return tuple(
        f"{one.student}: handed this in before, and something else after it: no new submission"
        for one in handed
        if one.stored is not None and newest[one.stored.student] != one.number
    )


def not_enrolled(handed: Sequence[StoreResult], course: Course | None) -> tuple[str, ...]:
    """Who handed in and is not in the course's roster, with the name that the download tells."""
    if course is None or not course.students:
        return ()
    known = {student.id for student in course.students}
    return tuple(
        one.student + (f" ({one.found.full_name})" if one.found.full_name else "")
        for one in handed
        if one.student not in known
    )
