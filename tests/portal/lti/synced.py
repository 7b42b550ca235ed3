"""A course whose grades go to the platform of `platform.py`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from joserfc.jwk import RSAKey

from grader.gradebook.book import Gradebook, open_gradebook
from grader.gradebook.course import Course, read_course
from grader.gradebook.lti import NewRegistration
from grader.gradebook.lti_items import LtiItems
from grader.gradebook.lti_scores import LtiScores
from grader.portal.lti.keys import FILE, Keys
from grader.portal.lti.scores import next_stamp
from grader.portal.lti.sync import Report, Sync
from tests.portal.lti.platform import CLIENT, SCOPES, Platform, platform
from tests.portal.made import COURSE, LAB, grade_json, source, write_course

MOST = 100.0
STUDENTS = ("ada", "ben", "cyd")
NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that stands until it is told to go on."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


class RealClock(Clock):
    """The machine's clock, for tests with other processes; work was submitted a day before."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC) - timedelta(days=1)

    def __call__(self) -> datetime:
        return datetime.now(UTC)


class Synced:
    """A course, its gradebook and its platform, with a link to the lab."""

    def __init__(
        self, folder: Path, at: Platform, key: RSAKey, clock: Clock, url: str = ""
    ) -> None:  # fmt: skip
        self.folder, self.at, self.key, self.clock = folder, at, key, clock
        self.course: Course = read_course(folder)
        self.said: list[str] = []
        self.book: Gradebook = open_gradebook(url or self.course.gradebook, clock=clock)
        self.book.enroll(self.course.students, "test")
        lti = self.book.lti
        self.registration = lti.register(
            NewRegistration(
                at.address, CLIENT, "P", f"{at.address}/auth", at.token_url, f"{at.address}/keys"
            ),
            "test",
        )  # fmt: skip
        deployed = lti.deploy(self.registration.id, "1", "test")
        self.link = lti.new_link(deployed.id, "7", "link-1", "Vector add").id
        lti.point(self.link, LAB, "test")
        lti.note_services(self.link, "", at.items_url, at.members_url, SCOPES)
        for who in STUDENTS:
            at.members[f"sub-{who}"] = {
                "user_id": f"sub-{who}", "email": f"{who}@example.org", "roles": ["Learner"],
                "status": "Active", "name": who.title(),
            }  # fmt: skip
            lti.know(self.registration.id, f"sub-{who}", f"student:{who}", "test")
        self.sync = self.restarted()

    def restarted(self) -> Sync:
        """What a process that was just started sends with."""
        self.sync = Sync(
            self.scores, LtiItems(self.book.database, self.clock), self.book.lti.registrations,
            lambda: self.key, self.said.append, self.clock,
        )  # fmt: skip
        return self.sync

    @property
    def scores(self) -> LtiScores:
        return LtiScores(
            self.book.database, self.course, {LAB: MOST}, next_stamp, self.clock
        )  # fmt: skip

    def submit(self, who: str, number: int) -> int:
        """Store a submission, which waits."""
        self.clock.now += timedelta(minutes=1)
        stored = self.book.submit(LAB, who, "a.cu", source(number), received=self.clock.now)
        return stored.id

    def grade(self, stored: int, points: float, most: float = MOST) -> None:
        claim = self.book.claim(stored, "key", "test", 60)
        assert claim is not None
        made: Any = grade_json(LAB, points, most)
        assert self.book.accept(claim, made)

    def fail(self, stored: int) -> None:
        """Our machine fails at a submission."""
        claim = self.book.claim(stored, "key", "test", 60)
        assert claim is not None
        self.book.fault(claim, "no memory is left")

    def graded(self, who: str, points: float, number: int = 0, most: float = MOST) -> int:
        stored = self.submit(who, number)
        self.grade(stored, points, most)
        return stored

    def settle(self, passes: int = 40) -> Report:
        """Send until nothing is due any more, however long that takes."""
        for _ in range(passes):
            report = self.sync.send()
            if not any(one.standing in ("waits", "failed") for one in self.scores.lines()):
                return report
            self.clock.now += timedelta(hours=7)
        raise AssertionError(f"not settled: {self.said[-3:]} {self.at.wrong[-3:]}")


@cache
def keys_file() -> bytes:
    """Return a course's file of keys: to make a key takes 0.1 s of processor time and more."""
    with tempfile.TemporaryDirectory() as folder:
        Keys(Path(folder)).signing()
        return Path(folder, FILE).read_bytes()


@contextmanager
def synced(
    folder: Path, text: str = COURSE, key: RSAKey | None = None, clock: Clock | None = None,
    url: str = "",
) -> Iterator[Synced]:  # fmt: skip
    """A course with its platform until the block ends; `key` is the course's."""
    write_course(folder, text)
    if not (folder / FILE).exists():
        (folder / FILE).touch(mode=0o600)
        (folder / FILE).write_bytes(keys_file())
    key, clock = key or Keys(folder).signing().key, clock or Clock()
    with platform(lambda: key) as at:
        at.now = clock
        one = Synced(folder, at, key, clock, url)
        try:
            yield one
        finally:
            one.book.close()
