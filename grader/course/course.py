"""course.yaml read and checked, and turned into a frozen Course."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.course.model import CourseLab, CourseModel, LateRule
from grader.course.policy import Grace, LabPolicy, Penalty, Rule, Span, later_of
from grader.course.roster import Student, read_roster
from grader.course.secret import read_secret
from grader.fault import LabFault
from grader.nearest import did_you_mean
from grader.yamlfile import Document, read_document

FILE = "course.yaml"
DATABASE = "course.db"


@dataclass(frozen=True)
class Course:
    """A course as course.yaml says it. `database` is a URL or a path; "" is course.db beside it."""

    name: str
    timezone: str
    students: tuple[Student, ...]
    labs: Mapping[str, LabPolicy]
    secret: bytes = field(repr=False)
    folder: Path
    database: str = ""

    def seed(self, lab: str) -> bytes:
        """What hidden inputs of that lab are drawn from: HMAC-SHA256 of its name. Never shown."""
        return hmac.digest(self.secret, lab.encode(), hashlib.sha256)

    def policy(self, lab: str) -> LabPolicy:
        """How that lab counts. Raises LabFault when course.yaml does not have it."""
        if lab in self.labs:
            return self.labs[lab]
        mend = did_you_mean(lab, self.labs) or f"it has: {', '.join(self.labs) or 'no labs'}"
        what = f"the course has no lab `{lab}`"
        raise LabFault(what, where=str(self.folder / FILE), mend=mend)

    def student(self, word: str) -> Student | None:
        """The one student with that ID, SIS ID, login or e-mail address, letter case aside; by
        name when exactly one has it, `Last, First` being `First Last`. None: nobody, or more than
        one."""
        if not word:
            return None
        for said in (lambda s: (s.id,), lambda s: s.words):
            found = [s for s in self.students if word.casefold() in map(str.casefold, said(s))]
            if found:
                return found[0] if len(found) == 1 else None
        spoken = _given_first(word)
        alike = [s for s in self.students if spoken and _given_first(s.name) == spoken]
        return alike[0] if len(alike) == 1 else None

    @property
    def gradebook(self) -> str:
        """The URL or the path of the gradebook; a relative path is meant from the course's
        folder."""
        if "://" in self.database:
            return self.database
        return str(self.folder / (self.database or DATABASE))


def read_course(folder: Path) -> Course:
    """The course of a folder with a course.yaml.

    Raises LabFault with file, line, key and how to mend it: course.yaml, the roster or the secret
    does not hold.
    """
    document = read_document(folder / FILE, CourseModel)
    model: CourseModel = document.model
    return Course(
        name=model.name,
        timezone=model.timezone,
        students=read_roster(folder / model.roster) if model.roster else (),
        labs={name: _policy(name, lab, document) for name, lab in model.labs.items()},
        secret=read_secret(secret_file(folder, model)),
        folder=folder,
        database=model.database,
    )


def secret_file(folder: Path, model: CourseModel | None = None) -> Path:
    """Where the secret of the course in that folder lies. Raises LabFault."""
    model = model or read_document(folder / FILE, CourseModel).model
    return folder / model.secret


def _given_first(name: str) -> str:
    """A name as it is spoken, for comparing: `Noether, Emmy` is `emmy noether`."""
    last, _, first = name.casefold().partition(",")
    return " ".join(f"{first} {last}".split())


def _policy(name: str, lab: CourseLab, document: Document) -> LabPolicy:
    course: CourseModel = document.model
    zone = ZoneInfo(course.timezone)
    rules = course.late if lab.late is None else lab.late
    due = _moment(lab.due, zone, document, ("labs", name, "due")) if lab.due else None
    key = ("labs", name, "late") if lab.late is not None else ("late",)
    if lab.late and due is None:
        what = f"`{name}` has rules for lateness and no deadline"
        raise LabFault(what, where=document.where(key), mend="give it `due`")
    return LabPolicy(
        due=due,
        late=tuple(kept for rule in rules if (kept := _rule(rule)) is not None),
        cut_off=_cut_off(rules, due, zone, document, key),
        attempts=lab.attempts or course.attempts,
        counts=lab.counts or course.counts,
        points=lab.points,
    )


def _moment(
    said: datetime, zone: ZoneInfo, document: Document, key: tuple[str, ...]
) -> datetime:  # fmt: skip
    """A time as it was written, in the course's zone. One that the clocks skip is a mistake."""
    if said.tzinfo is not None:
        return said.astimezone(zone)
    moment = later_of(said, datetime(1970, 1, 1, tzinfo=zone)).astimezone(zone)
    if moment.replace(tzinfo=None) != said:
        what = f"there is no {said:%H:%M} on {said:%Y-%m-%d} in {zone.key}: the clocks skip it"
        raise LabFault(what, where=document.where(key), mend=f"write {moment:%H:%M}")
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
    said = next((rule.cut_off for rule in rules if rule.cut_off is not None), None)
    if said is None or due is None:
        return None
    if isinstance(said, Span):
        return said.after(due)
    moment = _moment(said, zone, document, key).astimezone(UTC)
    if moment < due:
        told, due_at = (f"{at.astimezone(zone):%Y-%m-%d %H:%M}" for at in (moment, due))
        what = f"the cut-off {told} is before the deadline {due_at}"
        raise LabFault(what, where=document.where(key), mend="name a later moment, or a span")
    return moment
