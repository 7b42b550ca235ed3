"""A course: course.yaml read and checked, its roster, and its secret file.

The pydantic models are the file's schema; `read_course` turns them into a frozen Course. The secret
file is readable by its owner only; hidden inputs are drawn from it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field, StrictInt, field_validator, model_validator

from grader import dataclass
from grader.faults import LabFault, did_you_mean, file_fault
from grader.gradebook.ledger import Student, match_students, read_roster
from grader.gradebook.policy import (
    FeedbackPolicy,
    Grace,
    LabPolicy,
    Penalty,
    Rule,
    Span,
    later_moment,
    read_span,
)
from grader.grading.record import HiddenFeedback
from grader.labs.files import Document, read_document
from grader.labs.schema import Label, Strict

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
        fix = f"Create one: grader gradebook secret --course {path.parent}"
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


_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?) *%", re.ASCII)


def read_share(value: Any) -> float:
    """Parse `10%` as 0.1. Raises ValueError."""
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None or float(match[1]) > 100:
        raise ValueError(f"`{value}` is not a share from 0% to 100%: write it as `10%`")
    return float(match[1]) / 100


def read_moment(value: Any) -> datetime:
    """Parse a date with its time; without an offset it is local time. Raises ValueError."""
    if isinstance(value, str):
        try:
            day = len(value.strip()) <= len("2027-03-28")
            value = (date if day else datetime).fromisoformat(value.strip())
        except ValueError as error:
            raise ValueError(
                f"write a date and a time such as `2027-03-28 23:59`: {error}"
            ) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        raise ValueError(f"write the time too: `{value} 23:59`")
    if not isinstance(value, datetime):
        raise ValueError("write a date and a time such as `2027-03-28 23:59`")
    return value.replace(microsecond=0)


def read_length(value: Any) -> tuple[str, Span]:
    """Parse a length of time; return its text and its value. Raises ValueError."""
    text = str(value).strip()
    return text, read_span(text)


def read_cut_off(value: Any) -> datetime | Span:
    """Parse a moment, or a length of time after the deadline. Raises ValueError."""
    if isinstance(value, str) and not value[:4].isdigit():
        return read_span(value.strip())
    return read_moment(value)


Share = Annotated[float, BeforeValidator(read_share)]
Moment = Annotated[datetime, BeforeValidator(read_moment)]
Length = Annotated[tuple[str, Span], BeforeValidator(read_length)]


class LateRule(Strict):
    """One of `grace`, `penalty` (with `per`, and `at_most`) and `cut_off`."""

    grace: Length | None = Field(None, description="no penalty for this long: 15 minutes")
    penalty: Share | None = Field(
        None, description="the share of the earned points that is lost: 10%"
    )
    per: Literal["hour", "day"] | None = Field(
        None, description="`penalty` for each hour or day begun"
    )
    at_most: Share | None = Field(None, description="the most that lateness costs: 50%")
    cut_off: Annotated[datetime | Span, BeforeValidator(read_cut_off)] | None = Field(
        None, description="nothing counts after it: 3 days after the deadline, or a date"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(x is not None for x in (self.grace, self.penalty, self.cut_off)) != 1:
            raise ValueError("a rule is exactly one of `grace`, `penalty` and `cut_off`")
        if (self.penalty is None) != (self.per is None):
            raise ValueError("a penalty needs `per: hour` or `per: day`, and nothing else has it")
        if self.at_most is not None and self.penalty is None:
            raise ValueError("only a penalty has `at_most`")
        return self


def read_rules(value: Any) -> Any:
    """Parse rules; `none` is no rule. Raises ValueError for a rule given twice."""
    if value == "none":
        return ()
    kinds = [
        kind
        for rule in (value if isinstance(value, list) else ())
        for kind in ("grace", "penalty", "cut_off")
        if isinstance(rule, dict) and kind in rule
    ]
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if twice:
        raise ValueError(f"`{twice}` is given twice: remove one of them")
    return value


Late = Annotated[tuple[LateRule, ...], BeforeValidator(read_rules)]


class CourseLab(Strict):
    """A lab's deadline and how it counts; what is not given here is the course's."""

    due: Moment | None = Field(None, description="2027-03-28 23:59, in the course's time zone")
    late: Late | None = Field(None, description="none, or rules instead of the course's")
    attempts: Annotated[StrictInt, Field(ge=1)] | None = Field(
        None, description="how many submissions count; all when not given"
    )
    counts: Literal["best", "last"] | None = Field(None, description="which submission counts")
    points: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None, description="what full marks are worth; the lab's own points when not given"
    )
    hidden_feedback: HiddenFeedback | None = Field(
        None, description="what students read about hidden cases: score, kind or full"
    )
    full_feedback_from: Moment | None = Field(
        None, description="students read everything from then on: 2027-04-05 00:00"
    )


class CourseModel(Strict):
    """course.yaml: a course's name, time zone, roster, secret, and its labs' deadlines."""

    name: str = Field(min_length=1, max_length=120)
    timezone: str = Field(description="an IANA name, such as Europe/Berlin")
    roster: str = Field("", description="a CSV file in the folder of course.yaml")
    secret: str = Field("course.secret", min_length=1, description="the file of the secret")
    database: str = Field("", description="a URL or a file; course.db when not given")
    late: Late = ()
    attempts: Annotated[StrictInt, Field(ge=1)] | None = None
    counts: Literal["best", "last"] = "last"
    hidden_feedback: HiddenFeedback = Field(
        "score", description="what students read about hidden cases: score, kind or full"
    )
    full_feedback_from: Moment | None = Field(
        None, description="students read everything from then on: 2027-04-05 00:00"
    )
    labs: dict[Label, CourseLab] = Field(default_factory=dict)

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f"there is no time zone `{name}`: IANA names are such as `Europe/Berlin` or `UTC`"
            ) from None
        return name


@dataclass(frozen=True)
class Course:
    """A course. `database` is a URL or a path; "" is course.db in the course's folder."""

    name: str
    timezone: str
    students: tuple[Student, ...]
    labs: Mapping[str, LabPolicy]
    secret: bytes = field(repr=False)
    folder: Path
    database: str = ""
    feedback: FeedbackPolicy = FeedbackPolicy()

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
    return Course(
        name=model.name,
        timezone=model.timezone,
        students=read_roster(folder / model.roster) if model.roster else (),
        labs={name: _policy(name, lab, document) for name, lab in model.labs.items()},
        secret=read_secret(secret_file(folder, model)),
        folder=folder,
        database=model.database,
        feedback=_feedback(None, document, ()),
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
    )


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
    written: datetime, zone: ZoneInfo, document: Document, key: tuple[str, ...]
) -> datetime:  # fmt: skip
    """Return a time in the course's zone. Raises LabFault for one that the clocks skip."""
    if written.tzinfo is not None:
        return written.astimezone(zone)
    moment = later_moment(written, datetime(1970, 1, 1, tzinfo=zone)).astimezone(zone)
    if moment.replace(tzinfo=None) != written:
        what = f"{written:%H:%M} on {written:%Y-%m-%d} does not exist in {zone.key}"
        fix = f"The clocks skip this time. Write {moment:%H:%M}."
        raise LabFault(what, where=document.where(key), fix=fix)
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
