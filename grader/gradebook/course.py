"""A course: course.yaml read and checked, its roster, and its secret file.

The models of `course_schema` are the file's schema; `read_course` turns them into a frozen Course.
The secret file is readable by its owner only; hidden inputs are drawn from it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader import dataclass
from grader.faults import LabFault, did_you_mean, file_fault
from grader.gradebook.chain import storable
from grader.gradebook.course_schema import (
    MAX_TEAM,
    CourseLab,
    CourseModel,
    LateRule,
    PortalSettings,
    read_moment,
)
from grader.gradebook.ledger import Student, match_students, read_roster
from grader.gradebook.policy import (
    FeedbackPolicy,
    Grace,
    LabPolicy,
    Penalty,
    Release,
    Rule,
    Span,
    later_moment,
)
from grader.gradebook.values import ExtensionRow
from grader.grading.record import HiddenFeedback
from grader.labs.files import Document, read_document

__all__ = [
    "Course",
    "CourseLab",
    "CourseModel",
    "LateRule",
    "make_secret",
    "read_course",
    "read_moment",
    "read_secret",
    "secret_file",
]

COURSE_FILE = "course.yaml"
DATABASE = "course.db"

MIN_SECRET_BYTES = 32
"""Minimum size of the secret file: only this secret keeps hidden inputs hidden."""


def read_secret(path: Path) -> bytes:
    """Return the secret, without surrounding white space.

    Raises:
        LabFault: The file is missing, too short, or readable by other users of this machine.
    """
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            data = stream.read(1 << 16).strip()
    except OSError as error:
        fix = (
            "Restore your copy of it: without it no grade can be reproduced. For a new course, "
            f"create one: grader gradebook secret --course {path.parent}"
        )
        if not isinstance(error, FileNotFoundError):
            fix = "Check the file's name and permissions."
        what = f"cannot read the course's secret: {error.strerror}"
        raise file_fault(error, what, where=str(path), fix=fix) from None
    if stat.S_IMODE(mode) & 0o027:
        what = f"other users may read the course's secret (mode {stat.S_IMODE(mode):o})"
        raise LabFault(what, where=str(path), fix=f"Run `chmod 600 {path}`.")
    if len(data) < MIN_SECRET_BYTES:
        what = f"the course's secret has {len(data)} bytes, fewer than {MIN_SECRET_BYTES}"
        raise LabFault(what, where=str(path), fix="Delete the file and create a new one.")
    return data


def make_secret(path: Path) -> None:
    """Write a new secret, readable by its owner only.

    Raises:
        LabFault: There is a secret already. With another secret no grade could be reproduced,
            because hidden inputs are drawn from it.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        fix = "Keep it. With another secret no grade can be reproduced."
        raise LabFault("the course already has a secret", where=str(path), fix=fix) from None
    except OSError as error:
        raise LabFault(f"cannot write the secret: {error.strerror}", where=str(path)) from None
    with os.fdopen(handle, "wb") as stream:
        stream.write(secrets.token_hex(32).encode() + b"\n")
        stream.flush()
        os.fsync(handle)


@dataclass(frozen=True)
class Course:
    """A course. `database` is a URL or a path; "" is course.db in the course's folder.

    `extensions` and `groups` are those of course.yaml; `groups` maps a lab and a student to the
    group's name. The gradebook has what counts.
    """

    name: str
    timezone: str
    students: tuple[Student, ...]
    labs: Mapping[str, LabPolicy]
    secret: bytes = field(repr=False)
    folder: Path
    database: str = ""
    feedback: FeedbackPolicy = FeedbackPolicy()
    portal: PortalSettings = PortalSettings()
    extensions: tuple[ExtensionRow, ...] = ()
    groups: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def hidden_feedback(self, lab: str, moment: datetime) -> HiddenFeedback:
        """Return what students read about a lab's hidden cases at a moment."""
        return (self.labs[lab].feedback if lab in self.labs else self.feedback).at(moment)

    def seed(self, lab: str) -> bytes:
        """Return the seed of a lab's hidden inputs: HMAC-SHA256 of its name. Never show it."""
        return hmac.digest(self.secret, lab.encode(), hashlib.sha256)

    def policy(self, lab: str) -> LabPolicy:
        """Return how a lab counts. Raises LabFault when course.yaml does not have it."""
        if lab in self.labs:
            return self.labs[lab]
        fix = did_you_mean(lab, self.labs) or f"it has: {', '.join(self.labs) or 'no labs'}"
        what = f"the course has no lab `{lab}`"
        raise LabFault(what, where=str(self.folder / COURSE_FILE), fix=fix)

    def student(self, word: str) -> Student | None:
        """Return the one student whom `matches` finds; None without exactly one."""
        matches = self.matches(word)
        return matches[0] if len(matches) == 1 else None

    def matches(self, word: str) -> tuple[Student, ...]:
        """Return the students whom a word names, as `match_students` finds them."""
        return match_students(self.students, word)

    def student_id(self, word: str, known: Collection[str] = ()) -> str:
        """Return the ID of the student whom a word on the command line names.

        Args:
            word: An ID, a login, an e-mail address or a name.
            known: Further IDs, such as those in a gradebook.

        Returns:
            The student's ID, or the word itself when no student of the roster matches.

        Raises:
            LabFault: Several students match.
        """
        matches = self.matches(word)
        if len(matches) > 1 and word not in known:
            named = ", ".join(f"{s.id} ({s.name})" if s.name else s.id for s in matches)
            what = f"`{word}` matches {len(matches)} students: {named}"
            raise LabFault(what, fix="use the ID of the one that you mean")
        return matches[0].id if len(matches) == 1 else word

    def moment(self, written: datetime) -> datetime:
        """Return a time that was written in the course's time zone, or with an offset.

        Of a time that occurs twice, the second counts. Raises LabFault for one that the clocks
        skip.
        """
        return local_moment(written, ZoneInfo(self.timezone))

    @property
    def gradebook(self) -> str:
        """The URL or path of the gradebook; a relative path starts at the course's folder."""
        if "://" in self.database:
            return self.database
        return str(self.folder / (self.database or DATABASE))


def read_course(folder: Path) -> Course:
    """Read the course of a folder with a course.yaml.

    Raises:
        LabFault: course.yaml, the roster or the secret is wrong; with file, line, key and fix.
    """
    document = read_document(folder / COURSE_FILE, CourseModel)
    model: CourseModel = document.model
    students = read_roster(folder / model.roster) if model.roster else ()
    return Course(
        name=model.name,
        timezone=model.timezone,
        students=students,
        labs={name: _policy(name, lab, document) for name, lab in model.labs.items()},
        secret=read_secret(secret_file(folder, model)),
        folder=folder,
        database=model.database,
        feedback=_feedback(None, document, ()),
        portal=model.portal,
        extensions=tuple(_extensions(document, students)),
        groups=_groups(document, students),
    )


def secret_file(folder: Path, model: CourseModel | None = None) -> Path:
    """Return the path of a course's secret file. Raises LabFault."""
    model = model or read_document(folder / COURSE_FILE, CourseModel).model
    return folder / model.secret


def _policy(name: str, lab: CourseLab, document: Document) -> LabPolicy:
    course: CourseModel = document.model
    zone = ZoneInfo(course.timezone)
    rules = course.late if lab.late is None else lab.late
    due = _moment(lab.due, zone, document, ("labs", name, "due")) if lab.due else None
    key = ("labs", name, "late") if lab.late is not None else ("late",)
    if lab.late and due is None:
        what = f"`{name}` has rules for lateness but no deadline"
        raise LabFault(what, where=document.where(key), fix="Add `due`.")
    return LabPolicy(
        due=due,
        late=tuple(kept for rule in rules if (kept := _rule(rule)) is not None),
        cut_off=_cut_off(rules, due, zone, document, key),
        attempts=lab.attempts or course.attempts,
        counts=lab.counts or course.counts,
        points=lab.points,
        feedback=_feedback(lab, document, ("labs", name)),
        release=_release(lab.release, zone, document, ("labs", name, "release")),
        leaderboard=course.leaderboard if lab.leaderboard is None else lab.leaderboard,
        opens=_moment(lab.opens, zone, document, ("labs", name, "opens")) if lab.opens else None,
    )


def _extensions(document: Document, students: tuple[Student, ...]) -> Iterator[ExtensionRow]:
    """Yield the extensions of course.yaml. Raises LabFault for one that cannot be given."""
    course: CourseModel = document.model
    zone = ZoneInfo(course.timezone)
    for name, lab in course.labs.items():
        seen = set()
        for k, one in enumerate(lab.extensions):
            key = ("labs", name, "extensions", k)
            if lab.due is None:
                what = f"`{name}` has extensions but no deadline"
                raise LabFault(what, where=document.where(key), fix="Add `due`.")
            who = _known(one.student, students, document, (*key, "student"))
            if who in seen:
                what = f"`{who}` has two extensions in `{name}`"
                raise LabFault(what, where=document.where(key), fix="Remove one of them.")
            seen.add(who)
            due = _moment(one.due, zone, document, (*key, "due"))
            yield ExtensionRow(name, who, due, one.reason.strip())


def _groups(document: Document, students: tuple[Student, ...]) -> Mapping[tuple[str, str], str]:
    """Return the group of each student by lab. Raises LabFault for one who is in two."""
    course: CourseModel = document.model
    found: dict[tuple[str, str], str] = {}
    for name, lab in course.labs.items():
        for written, words in lab.groups.items():
            try:
                team = team_name(written)
            except LabFault as fault:
                where = document.where(("labs", name, "groups", written))
                raise LabFault(fault.what, where=where, fix=fault.fix) from None
            for k, word in enumerate(words):
                key = ("labs", name, "groups", written, k)
                who = _known(word, students, document, key)
                if (name, who) in found:
                    what = f"`{who}` is in two groups of `{name}`, or in one twice"
                    raise LabFault(what, where=document.where(key), fix="Remove one of them.")
                found[name, who] = team
    return found


def team_name(text: str) -> str:
    """Return a group's name as it is stored, without surrounding or repeated white space.

    Raises:
        LabFault: The name is too long or not printable.
    """
    name = storable(" ".join(text.split()))
    if len(name) > MAX_TEAM or not name.isprintable():
        what = f"the name of a group has at most {MAX_TEAM} printable characters"
        raise LabFault(what, fix="write a shorter name")
    return name


def _known(
    word: str, students: tuple[Student, ...], document: Document, key: tuple[str | int, ...]
) -> str:
    """Return the ID of the student of the roster whom a word names; without one, the word."""
    if not students:
        return word
    found = match_students(students, word)
    if len(found) == 1:
        return found[0].id
    what = f"`{word}` is {f'{len(found)} students' if found else 'no student'} of the roster"
    fix = "Use the ID of a student; quote it when it starts with 0."
    raise LabFault(what, where=document.where(key), fix=fix)


def _release(
    written: datetime | str | None, zone: ZoneInfo, document: Document, key: tuple[str, ...]
) -> Release:  # fmt: skip
    if isinstance(written, datetime):
        return Release(_moment(written, zone, document, key))
    return Release(held=written is not None)


def _feedback(lab: CourseLab | None, document: Document, key: tuple[str, ...]) -> FeedbackPolicy:
    """Return what students read about a lab's hidden cases; the course's for what it leaves out."""
    course: CourseModel = document.model
    written, where = lab and lab.full_feedback_from, (*key, "full_feedback_from")
    if written is None:
        written, where = course.full_feedback_from, ("full_feedback_from",)
    moment = _moment(written, ZoneInfo(course.timezone), document, where) if written else None
    hidden = lab and lab.hidden_feedback
    return FeedbackPolicy(hidden or course.hidden_feedback, moment)


def _moment(
    written: datetime, zone: ZoneInfo, document: Document, key: tuple[str | int, ...]
) -> datetime:  # fmt: skip
    """Return a time in the course's zone. Raises LabFault for one that the clocks skip."""
    try:
        return local_moment(written, zone)
    except LabFault as fault:
        raise LabFault(fault.what, where=document.where(key), fix=fault.fix) from None


def local_moment(written: datetime, zone: ZoneInfo) -> datetime:
    """Return a time that was written without an offset as a moment in a zone.

    Of a time that occurs twice, the second counts. Raises LabFault for one that the clocks skip.
    """
    if written.tzinfo is not None:
        return written.astimezone(zone)
    moment = later_moment(written, datetime(1970, 1, 1, tzinfo=zone)).astimezone(zone)
    if moment.replace(tzinfo=None) != written:
        what = f"{written:%H:%M} on {written:%Y-%m-%d} does not exist in {zone.key}"
        raise LabFault(what, fix=f"The clocks skip this time. Write {moment:%H:%M}.")
    return moment


def _rule(rule: LateRule) -> Rule | None:
    if rule.grace is not None:
        return Grace(rule.grace[1], rule.grace[0])
    if rule.penalty is not None and rule.per is not None:
        return Penalty(rule.penalty, rule.per, 1.0 if rule.at_most is None else rule.at_most)
    return None


def _cut_off(
    rules: tuple[LateRule, ...], due: datetime | None, zone: ZoneInfo, document: Document,
    key: tuple[str, ...],
) -> datetime | None:  # fmt: skip
    written = next((rule.cut_off for rule in rules if rule.cut_off is not None), None)
    if written is None or due is None:
        return None
    if isinstance(written, Span):
        return written.after(due)
    moment = _moment(written, zone, document, key).astimezone(UTC)
    if moment < due:
        ends, due_at = (f"{at.astimezone(zone):%Y-%m-%d %H:%M}" for at in (moment, due))
        what = f"the cut-off {ends} is before the deadline {due_at}"
        fix = "Write a later time, or a length of time after the deadline."
        raise LabFault(what, where=document.where(key), fix=fix)
    return moment
