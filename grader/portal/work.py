"""What a student hands in and sees: the values that the pages and the API both show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from fastapi import HTTPException, Request

from grader import dataclass, replace
from grader.faults import LabFault, StudentFault
from grader.gradebook.course_schema import read_moment
from grader.gradebook.people import Person
from grader.gradebook.policy import LabPolicy, lateness, within_attempts
from grader.gradebook.progress import Waiting
from grader.gradebook.values import Entry, GradeJson, Handed, StoredSubmission, verdict
from grader.grading.record import Grade, grade_from_json
from grader.labs.model import Lab
from grader.labs.quiz import ANSWERS_FILE, MAX_SHEET_BYTES
from grader.portal.requests import (
    Visitor,
    arrived_at,
    is_id,
    limits_of,
    may_watch,
    require_one_of,
    site_of,
)
from grader.portal.site import Site
from grader.reports.classes import ReportRow
from grader.reports.page.student import student_view
from grader.reports.redact import redact


@dataclass(frozen=True)
class LabLine:
    """A lab of the course for one student: its deadline and what counts so far.

    `mates` are the others of the student's group.
    """

    lab: Lab
    policy: LabPolicy
    entry: Entry
    mates: tuple[str, ...] = ()

    def counts(self, number: int) -> bool:
        """Whether a submission is the one that counts."""
        return self.entry.submission == number and self.entry.status != "refused"


@dataclass(frozen=True)
class HandedLine:
    """One submission in a student's list.

    Attributes:
        handed: The submission.
        score: Its points and the most; "" while it has no grade.
        verdict: `pass`, what fails, or why there is no grade yet.
        late: What lateness says of it.
        counts: Whether it is the one that counts.
        by: The name of another student of the group who sent it; "" for the student.
    """

    handed: Handed
    score: str
    verdict: str
    late: str
    counts: bool
    by: str = ""


Mark = tuple[int, str, str]
"""A finding at a line of a text: the line from 1, its severity, what it says."""


@dataclass(frozen=True)
class Draft:
    """What the form for the next submission begins with; `edited` is the submission it is from."""

    text: str = ""
    marks: tuple[Mark, ...] = ()
    edited: Handed | None = None


def lab_of(site: Site, name: str) -> Lab:
    """Return a lab of the course. Raises 404."""
    if name not in site.labs:
        raise HTTPException(404, "the course has no such lab")
    return site.labs[name]


def person_of(site: Site, student: str) -> Person:
    """Return a student of the course. Raises 404."""
    person = site.people.person(f"student:{student}")
    if person is None:
        raise HTTPException(404, "there is no such page")
    return person


def stored_of(request: Request, me: Visitor, number: int) -> StoredSubmission:
    """Return a submission that a person may see: of a group's, everybody in it. Raises 404."""
    site = site_of(request)
    stored = site.book.submission(number) if is_id(number) else None
    if stored is None or stored.lab not in site.labs:
        raise HTTPException(404, "there is no such page")
    require_one_of(request, me, site.book.groups.owners(number))
    return stored


def seen_for(request: Request, me: Visitor, owners: Sequence[str]) -> str:
    """Return the student for whom a person sees what these students share: a student, the own one.

    One of the staff sees it for the first of them whom the person teaches: a submission's sender
    may be of another section, and what the sender has besides is for others.
    """
    if me.person.student:
        return me.person.student
    return next((one for one in owners if may_watch(request, me.person, one)), owners[0])


def is_open(site: Site, me: Visitor, lab: str) -> bool:
    """Whether a person may see what a lab asks for: staff always may."""
    return me.person.is_staff or site.course.policy(lab).is_open(site.now())


def require_open(site: Site, me: Visitor, lab: str) -> None:
    """Refuse a student as long as a lab is not open. Raises StudentFault."""
    if not is_open(site, me, lab):
        opens = site.format_moment(site.course.policy(lab).opens)
        raise StudentFault(f"this lab opens on {opens}", fix="submit after that")


def place_of(site: Site, number: int) -> Waiting | None:
    """Return the place of a submission in the queue; None when it does not wait."""
    return next((one for one in site.progress.waiting(site.labs) if one.id == number), None)


def policy_of(site: Site, lab: str, student: str) -> LabPolicy:
    """Return the rules of a lab for one student, with the student's extension."""
    own = site.book.extensions(lab).get(student)
    return site.course.policy(lab).extended(own.due if own else None)


def shown_grade(site: Site, me: Visitor, lab: str, made: GradeJson) -> Grade:
    """Return a grade as a person may see it: a student's has no hidden values."""
    grade = grade_from_json(made)
    if me.person.is_staff:
        return grade
    own = policy_of(site, lab, me.person.student)
    return redact(grade, own.feedback.at(site.now()))


def is_held(site: Site, me: Visitor, lab: str) -> bool:
    """Whether this person may not see the grades of a lab yet: staff always may."""
    return not me.person.is_staff and site.holds(lab)


def lab_line(site: Site, me: Visitor, name: str, student: str) -> LabLine:
    """Return the line of a lab in a student's overview, as a person may see it."""
    entry = site.entry(name, student)
    if is_held(site, me, name):
        entry = _concealed(entry)
    mates = site.book.groups.mates(name, student)
    return LabLine(site.labs[name], policy_of(site, name, student), entry, mates)


def _concealed(entry: Entry) -> Entry:
    """Return what a student sees of an entry while the grades are held: that there is one.

    Which submission is the best one tells about its points too.
    """
    status = "held" if entry.status in ("graded", "overridden") else entry.status
    return Entry(
        entry.lab, entry.student, entry.name, status, None, None, attempts=entry.attempts,
        team=entry.team,
    )  # fmt: skip


def handed_lines(site: Site, me: Visitor, line: LabLine) -> Sequence[HandedLine]:
    """Return a student's submissions of a lab, newest first, as a person may see them."""
    held = is_held(site, me, line.lab.name)
    who = line.entry.student
    history = site.book.history(line.lab.name, who)
    waits = any(one.grade is None for one in history)
    queue = site.progress.waiting([line.lab.name]) if waits else ()
    waiting = {one.id: one for one in queue}
    return tuple(
        replace(_handed(line, one, waiting, held), by=site.name_of(one.by) if one.by != who else "")
        for one in reversed(history)
    )


def _handed(line: LabLine, one: Handed, waiting: Mapping[int, Any], held: bool) -> HandedLine:
    late = lateness(line.policy, one.received).note if one.received else ""
    counts = line.counts(one.id)
    if one.grade is not None and held:
        return HandedLine(replace(one, grade=None), "", "graded, not released yet", late, counts)
    if one.grade is not None:
        score = f"{one.grade['score']:g} of {one.grade['judged_max']:g}"
        return HandedLine(one, score, verdict(one.grade), late, counts)
    place = waiting.get(one.id)
    said = "graded now" if place is None or place.running else "waits"
    if place is not None and place.stopped:
        said = "system error: the staff will have it graded again"
    return HandedLine(one, "", said, late, counts)


def may_count(policy: LabPolicy, history: Sequence[Handed]) -> Sequence[Handed]:
    """Return the submissions of a student that may count: the first ones, before the cut-off."""
    first = within_attempts(history, policy.attempts, lambda one: one.was_stopped)
    return [one for one in first if one.received is None or lateness(policy, one.received).accepted]


def choose(site: Site, stored: StoredSubmission, author: str, student: str = "") -> None:
    """Choose the submission that counts for a student; "" for the one who sent it.

    Raises:
        LabFault: The lab counts another way, or this submission cannot count.
    """
    student = student or stored.student
    policy = policy_of(site, stored.lab, student)
    if policy.counts != "chosen":
        raise LabFault(f"in `{stored.lab}` the {policy.counts} submission counts")
    history = site.book.history(stored.lab, student)
    if stored.id not in {one.id for one in may_count(policy, history)}:
        raise LabFault("this submission cannot count", fix="it is late, or after the first ones")
    site.book.teaching.choose(stored.id, author, student)


def draft_of(site: Site, me: Visitor, lines: Sequence[HandedLine], number: int) -> Draft:
    """Return the text of one of the listed submissions, with its findings as marks. Raises 404.

    A line of the list has a grade only when the person may see it, and so have the marks.
    """
    handed = next((one.handed for one in lines if one.handed.id == number), None)
    stored = site.book.submission(number) if handed is not None else None
    if handed is None or stored is None:
        raise HTTPException(404, "there is no such page")
    text = stored.data.decode("utf-8", "replace").removeprefix("\ufeff")
    made = site.book.grade(number) if handed.grade is not None else None
    if made is None:
        return Draft(text, edited=handed)
    grade = shown_grade(site, me, stored.lab, made)
    view = student_view(ReportRow(handed.name, grade, text), with_seed=False)
    marks = tuple(
        (line, note.severity, f"{note.kind}: {note.message}")
        for line, row in enumerate(view.source.rows if view.source else (), start=1)
        for note in row.notes
    )
    return Draft(text, marks, handed)


def hand_in(
    request: Request, me: Visitor, lab: Lab, name: str, data: bytes, answers: bytes | None
) -> StoredSubmission:
    """Store a submission of the student who sends it.

    Raises:
        StudentFault: There is no source in the file, or the answers are too long.
        HTTPException: 429, too many submissions in a short time.
    """
    site, limits, who = site_of(request), limits_of(request), me.person.student
    require_open(site, me, lab.name)
    if not lab.quiz:
        answers = None  # nothing reads them, and with others the same kernel were a new submission
    if answers is not None and len(answers) > MAX_SHEET_BYTES:
        what = f"{ANSWERS_FILE} has more than {MAX_SHEET_BYTES >> 10} KiB"
        raise StudentFault(what, fix="write shorter answers")
    limits.require("refused", who)
    with limits.spending("submit", who):
        try:
            upload = site.read_upload(lab, name, data)
        except StudentFault:  # costs no submission, but reading it costs time
            limits.count("refused", who)
            raise
        return site.book.submit(
            lab.name, who, upload.name, upload.data, received=arrived_at(request),
            answers=answers, source="portal",
        )  # fmt: skip


def refusal(fault: StudentFault | LabFault) -> str:
    """Return why a file is not taken, with what to do."""
    return f"{fault.what}: {fault.fix}" if fault.fix else fault.what


@contextmanager
def refusing(code: int = 422) -> Iterator[None]:
    """Answer with the reason where the block makes a change that is not possible.

    Raises:
        HTTPException: `code`, in place of LabFault and StudentFault.
    """
    try:
        yield
    except (LabFault, StudentFault) as fault:
        raise HTTPException(code, refusal(fault)) from None


def moment_of(site: Site, text: str) -> datetime:
    """Return a time that staff wrote in the course's time zone. Raises 422."""
    try:
        return site.course.moment(read_moment(text))
    except (ValueError, LabFault) as error:
        why = error.what if isinstance(error, LabFault) else str(error)
        raise HTTPException(422, f"write the time as 2027-03-28 23:59: {why}") from None


def required(reason: str, what: str) -> str:
    """Return the reason of a change. Raises 422 with `what` when there is none."""
    if not reason.strip():
        raise HTTPException(422, what)
    return reason.strip()
