"""What the routes of one server share: the course, its gradebook, the pages and the mail."""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import smtplib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from email.message import EmailMessage
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from string import hexdigits
from time import monotonic
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from jinja2 import Environment
from markupsafe import Markup

from grader import dataclass
from grader.faults import MachineFault
from grader.gradebook.book import Gradebook
from grader.gradebook.course import Course
from grader.gradebook.derived import Derived, Kept
from grader.gradebook.people import Person
from grader.gradebook.policy import Release
from grader.gradebook.values import Entry
from grader.labs.model import Lab
from grader.portal.access import may_see, right_of
from grader.portal.ranking import Place, Standing
from grader.portal.task.handouts import Handouts
from grader.reports.page.write import page_environment
from grader.reports.printable import printable
from grader.submissions.sources import Wanted, open_submission

if TYPE_CHECKING:
    from grader.gradebook.lti import Lti
    from grader.portal.lti.keys import Keys
    from grader.portal.lti.platform_keys import PlatformKeys
    from grader.portal.openid import OpenId

MAIL_SECONDS = 10.0

_TYPES = {
    "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain",
}  # fmt: skip

SendLink = Callable[[Person, str], None]
"""Sends a person the address of a link to sign in."""


@dataclass(frozen=True)
class Upload:
    """The file of a submission as it is stored: the source that is graded, in UTF-8."""

    name: str
    data: bytes


class Site:
    """One course on one server; safe to share between threads.

    Attributes:
        boards: The leaderboards of the labs, as those see them who may know everything.
        results: What the grades of each lab are ranked by.
        sections_seconds: How long the students' sections and the platforms' origins are kept
            between two reads.
    """

    sections_seconds = 1.0

    def __init__(
        self, course: Course, labs: Mapping[str, Lab], book: Gradebook, url: str,
        send_link: SendLink,
    ) -> None:  # fmt: skip
        self.course, self.labs, self.book, self.url = course, labs, book, url.rstrip("/")
        self.people, self.progress, self.send_link = book.people, book.progress, send_link
        self._sections: tuple[float, Mapping[str, str]] = (-math.inf, {})
        self._origins: tuple[float, tuple[str, ...]] = (-math.inf, ())
        self.zone = ZoneInfo(course.timezone)
        self._scores = Derived(lambda made: (float(made["score"]), float(made["judged_max"])))
        self._counted = Kept[Sequence[Entry]]()
        self.boards = Kept[tuple[Place, ...]]()
        self.results = Kept[Derived[Standing | str]]()

    @cached_property
    def handouts(self) -> Handouts:
        """The built handouts of the labs."""
        return Handouts(self.course)

    @cached_property
    def openid(self) -> OpenId | None:
        """The sign-in at a provider that course.yaml names; None without one.

        Raises:
            LabFault: Its secret cannot be read.
        """
        from grader.portal.openid import openid_of

        return openid_of(self.course)

    @cached_property
    def lti(self) -> Lti:
        """The learning platforms that lead to the course."""
        return self.book.lti

    @cached_property
    def lti_keys(self) -> Keys:
        """The keys with which the course signs what it sends to platforms."""
        from grader.portal.lti.keys import Keys

        return Keys(self.course.folder)

    @cached_property
    def platform_keys(self) -> PlatformKeys:
        """The public keys of the platforms."""
        from grader.portal.lti.platform_keys import PlatformKeys

        return PlatformKeys()

    @property
    def platform_origins(self) -> tuple[str, ...]:
        """The web origins of the platforms, which may show a session of theirs in a frame."""
        read, found = self._origins
        if monotonic() - read >= self.sections_seconds:
            from grader.portal.lti.messages import origins_of

            read, found = self._origins = monotonic(), origins_of(self.lti.registrations())
        return found

    def say(self, text: str) -> None:
        """Tell whoever runs the server."""
        print(text, file=sys.stderr, flush=True)

    @cached_property
    def templates(self) -> Environment:
        """The pages of the portal; the report's own pages get the portal's frame."""
        environment = page_environment("grader.portal", "grader.reports.page")
        environment.filters["moment"] = self.format_moment
        environment.filters["points"] = _format_points
        environment.filters["lines"] = _with_lines
        environment.filters["bytes"] = format_bytes
        environment.filters["duration"] = format_duration
        environment.filters["count"] = _format_count
        environment.filters["number"] = _format_number
        environment.filters["speedup"] = _format_speedup
        environment.filters["name_of"] = self.name_of
        return environment

    @cached_property
    def static(self) -> Mapping[str, tuple[str, bytes]]:
        """The files that pages load, by name: their type and content."""
        own = {one.name: one.read_bytes() for one in (files("grader.portal") / "static").iterdir()}
        report = files("grader.reports.page") / "templates" / "page.css"
        similar = files("grader.batch") / "templates" / "similarity.css"
        own["portal.css"] = report.read_bytes() + similar.read_bytes() + own["portal.css"]
        return {name: (_TYPES[name.rpartition(".")[2]], data) for name, data in own.items()}

    def asset(self, name: str) -> str:
        """Return the address of a file that pages load: another one when its content changes."""
        digest = hashlib.sha256(self.static[name][1]).hexdigest()
        return f"/static/{name}?v={digest[:12]}"

    def format_moment(self, moment: datetime | None) -> str:
        """Return a time in the course's time zone; "" for none."""
        return "" if moment is None else f"{moment.astimezone(self.zone):%Y-%m-%d %H:%M}"

    def form_token(self, session: str) -> str:
        """Return what a form of a session has to send back, so that no other site can send it.

        Each answer has it under another mask: the sizes of compressed pages, which hold what
        others may choose too, tell nothing about it.
        """
        key = hmac.digest(self.course.secret, b"portal form", hashlib.sha256)
        token = hmac.digest(key, session.encode(), hashlib.sha256)
        mask = secrets.token_bytes(len(token))
        return (mask + _xor(mask, token)).hex()

    def page(self, name: str, **values: Any) -> str:
        """Return a filled template."""
        return self.templates.get_template(name).render(site=self, **values)

    def read_upload(self, lab: Lab, name: str, data: bytes) -> Upload:
        """Return the source in an uploaded file, as `grader check` reads it.

        Raises:
            StudentFault: There is no source in it, or more than one.
        """
        name = name.replace("\\", "/").rpartition("/")[2] or f"{lab.name}.cu"
        submission = open_submission(data, name, Wanted.by(lab))
        return Upload(submission.name, submission.data)

    def counted(self, lab: str) -> Sequence[Entry]:
        """Return what counts for each student of a lab, without the grades."""
        return self._counted.of(
            lab, self.book.views.state(lab),
            lambda: self.book.views.entries(lab, self._scores, self.course),
        )  # fmt: skip

    def entry(self, lab: str, student: str) -> Entry:
        """Return what counts for one student of a lab, without the grade."""
        return self.book.views.entries(lab, self._scores, self.course, [student])[0]

    @property
    def sections(self) -> Mapping[str, str]:
        """The section of each enrolled student by ID; "" for none."""
        read, found = self._sections
        if monotonic() - read >= self.sections_seconds:
            read, found = self._sections = monotonic(), self.people.sections()
        return found

    def covers(self, person: Person, route: str, student: str) -> bool:
        """Whether a person may use a route for the things of a student of the roster."""
        right = right_of(person, route)
        section = self.sections.get(student, "")
        return right is not None and may_see(person, right, student, section)

    def covers_one(self, person: Person, route: str, students: Iterable[str]) -> bool:
        """Whether a person may use a route for the things of one of these students."""
        return any(self.covers(person, route, who) for who in students)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of each student of the roster by ID."""
        return {one.id: one.name or one.id for one in self.course.students}

    def name_of(self, student: str) -> str:
        """Return a student's name; the ID of one who is not in the roster."""
        return self.names.get(student, student)

    def section_of(self, student: str) -> str:
        """Return the section of a student; "" for none."""
        person = self.people.person(f"student:{student}")
        return person.sections[0] if person is not None and person.sections else ""

    def release(self, lab: str) -> Release:
        """Return when students see the grades of a lab."""
        return self.book.teaching.release(lab, self.course.policy(lab).release)

    def holds(self, lab: str) -> bool:
        """Whether students may not see the grades of a lab yet."""
        return self.release(lab).holds(self.now())

    def open_requests(self, person: Person) -> int:
        """Return how many requests wait for an answer of one of the staff."""
        waiting = self.book.teaching.waiting_requests()
        owners = self.book.groups.owners_of({number for number, _ in waiting})
        return sum(
            self.covers_one(person, "requests", owners.get(number, (who,)))
            for number, who in waiting
        )

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def unmasked(form_token: str) -> bytes:
    """Return the token of a session from what a form sent; what is none gives random bytes."""
    if len(form_token) == 128 and set(form_token) <= set(hexdigits):
        both = bytes.fromhex(form_token)
        return _xor(both[:32], both[32:])
    return secrets.token_bytes(32)


def _one_line(text: str) -> str:
    """Return a text for a header of a message: one line of printable characters."""
    shown = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(shown.split())


def _with_lines(text: str) -> Markup:
    """Return what a person wrote with its line ends; other control characters are escaped."""
    return Markup("\n").join(printable(line) for line in text.splitlines())


def format_bytes(count: int) -> str:
    """Return a size in MiB, or in GiB from one on."""
    return f"{count / 2**30:.1f} GiB" if count >= 1 << 30 else f"{count / 2**20:.1f} MiB"


def format_duration(seconds: float) -> str:
    """Return a time in its largest unit: s, min, h or days."""
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _format_points(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _format_count(value: float) -> str:
    return f"{value:,.0f}"


def _format_number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.6g}"


def _format_speedup(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


@dataclass(frozen=True)
class MailServer:
    """The server that sends the links to sign in. `password` is "" for none."""

    host: str
    sender: str
    port: int = 587
    user: str = ""
    password: str = field(default="", repr=False)
    encrypted: bool = True

    def send_link(self, course: str, person: Person, address: str) -> None:
        """Send a link. Raises MachineFault when the server does not take it."""
        message = EmailMessage()
        named = _one_line(course)
        message["Subject"], message["From"] = f"Sign in to {named}", self.sender
        message["To"] = person.email
        message.set_content(
            f"Open this address to sign in to {named}:\n\n{address}\n\n"
            "It works once, for 15 minutes. If you did not ask for it, ignore this message.\n"
        )
        try:
            with smtplib.SMTP(self.host, self.port, timeout=MAIL_SECONDS) as server:
                if self.encrypted:
                    server.starttls()
                if self.user:
                    server.login(self.user, self.password)
                server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:
            what = f"the mail server did not take the message: {type(error).__name__}"
            fix = "check `portal: mail` in course.yaml"
            raise MachineFault(what, where=self.host, fix=fix) from error


def labs_of(course: Course) -> Mapping[str, Lab]:
    """Load the labs of a course. Raises LabFault for one that does not exist."""
    from grader.labs.reading import lab_roots, load_lab

    own: Path | None = course.folder if (course.folder / "labs").is_dir() else None
    return {name: load_lab(name, lab_roots(own)) for name in course.labs}
