"""Send to platforms what they are to show of the grades, as long as the server runs.

Everything that decides is in the gradebook (lti_scores.py): what is due, who is at it, when to try
again. So any number of servers and commands may do this, and each may be killed at any moment. What
is kept here only saves requests: access tokens, and which platform rests after an error.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta

from joserfc.jwk import Key

from grader import dataclass
from grader.faults import Fault
from grader.gradebook.attempts import this_worker
from grader.gradebook.book import Gradebook
from grader.gradebook.course import Course
from grader.gradebook.lti import Registration
from grader.gradebook.lti_items import ItemClaim, LtiItems, Target
from grader.gradebook.lti_news import News
from grader.gradebook.lti_scores import LtiScores, ScoreClaim, ScoreLine
from grader.labs.model import Lab
from grader.portal.lti.client import Access, Client, PlatformFault
from grader.portal.lti.keys import Keys
from grader.portal.lti.members import read_members
from grader.portal.lti.scores import (
    SCORE_SCOPE,
    Grades,
    Place,
    Score,
    next_stamp,
    resource_id,
    score_message,
)

POLL_SECONDS = 2.0
"""Seconds between two looks for changes of the gradebook."""

LOOK_SECONDS = 120.0
"""Seconds after which everything is compared in any case."""

FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=5), timedelta(hours=1)
PERMANENT_WAIT = timedelta(hours=6)
"""Until what a platform has refused is tried again although nothing has changed."""

SENDING = timedelta(seconds=120)
"""What a claim must have left when its message is sent: longer than sending may take."""

MEMBERS_KEPT = timedelta(minutes=15)
"""How long a list of members is used."""

MAX_DOUBTS = 3
"""How often a score is sent again that the platform shows otherwise."""

MAX_IN_A_ROW = 3
"""Temporary errors in a row after which a platform rests."""

Say = Callable[[str], None]


def wait_after(tries: int) -> timedelta:
    """Return how long to wait after that many failed tries."""
    factor: int = 2 ** min(tries, 20)
    return min(FIRST_WAIT * factor, LONGEST_WAIT)


@dataclass(frozen=True)
class Report:
    """What one pass did: scores accepted, refused for good, and left for later."""

    sent: int = 0
    failed: int = 0
    left: int = 0


class _Platform:
    """What this process knows of a platform: its client, and until when it rests."""

    def __init__(self, client: Client, key: str) -> None:
        self.client, self.key = client, key
        self.rests: datetime | None = None
        self.row = 0

    def fails(self, fault: PlatformFault, now: datetime) -> bool:
        """Note an error; return whether the platform rests from now on."""
        self.row += fault.temporary
        alone = fault.temporary and fault.status in (0, 429, 503)
        if not (fault.whole or alone or self.row >= MAX_IN_A_ROW and fault.temporary):
            return False
        wait = wait_after(self.row) if fault.temporary else LONGEST_WAIT
        self.rests = now + max(wait, timedelta(seconds=fault.wait or 0))
        return True


class Sync:
    """Sends the scores of one course; one thread uses it."""

    def __init__(
        self, scores: LtiScores, items: LtiItems,
        registrations: Callable[[], tuple[Registration, ...]], key: Callable[[], Key], say: Say,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        titles: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self._titles = titles or {}
        self.scores, self._items, self._say = scores, items, say
        self._registrations, self._key, self._clock = registrations, key, clock
        self._platforms: dict[Registration, _Platform] = {}
        self._listed: dict[tuple[int, str, str], tuple[datetime | None, int]] = {}
        self._worker, self._ended = this_worker("lti"), threading.Event()
        self._thread = threading.Thread(target=self.run, name="lti", daemon=True)

    def start(self) -> None:
        """Send in a thread of its own, until `end`."""
        self._thread.start()

    def end(self) -> None:
        """Stop; a request that is under way is not waited for: its claim is taken over."""
        self._ended.set()

    def run(self) -> None:
        """Send what becomes due, until `end`."""
        last: News | None = None
        looked, failed = -LOOK_SECONDS, ""
        while not self._ended.is_set():
            try:
                last, changes = self.scores.news(last)
                rests = [one.rests for one in self._platforms.values() if one.rests]
                late = time.monotonic() - looked >= LOOK_SECONDS
                if changes is None or late or any(one <= self._clock() for one in rests):
                    looked, changes = time.monotonic(), {}
                    self.send()
                for lab, students in changes.items():
                    self.send(lab, students)
                failed = ""
            except Fault as fault:  # of the gradebook or the keys: they may be read again
                last, before, failed = None, failed, fault.what
                if failed != before:
                    self._say(f"grades for platforms: {failed}")
            self._ended.wait(POLL_SECONDS)

    def send(self, lab: str | None = None, only: Collection[str] | None = None) -> Report:
        """Send what is due now, each once; `only` that of these students. Raises MachineFault."""
        self._open()
        self._list_members()
        lines = [
            one for one in self.scores.lines(lab, only) if one.due and takes_scores(one.target)
        ]
        done = {"sent": 0, "failed": 0, "left": 0}
        for line in sorted(lines, key=lambda one: one.tries):  # one that fails holds nobody up
            if self._ended.is_set():
                break
            done[self._deliver(line)] += 1
        return Report(**done)

    def _open(self) -> None:
        """Have a client for each active platform, with the key that signs now."""
        known, self._platforms = self._platforms, {}
        active = [one for one in self._registrations() if one.active]
        if not active:  # most courses: they need no key
            return
        key = self._key()
        for one in active:
            platform = known.get(one)
            if platform is None or platform.key != key.kid:
                access = Access(one.client_id, one.token_url, one.audience, key)
                platform = _Platform(Client(access), str(key.kid))
            if platform.rests is not None and platform.rests <= self._clock():
                platform.rests = None
            self._platforms[one] = platform

    def _list_members(self) -> None:
        """Ask a platform with several courses that lead here who is in which.

        Without an answer, the scores go to each course, and the platform refuses the wrong ones.
        """
        places: dict[tuple[int, str, str], list[Target]] = {}
        for one in self.scores.targets():
            places.setdefault(one.place, []).append(one)
        for place, targets in places.items():
            several = sum(other[0] == place[0] for other in places) > 1
            address = next((one.members_url for one in targets if one.members_url), "")
            platform, known = self._of(place[0]), self.scores.people(place[0])
            before, count = self._listed.get(place, (None, 0))
            is_new = before is None or self._clock() - before > MEMBERS_KEPT or count != known
            if several and address and platform is not None and not platform.rests and is_new:
                self._listed[place] = (self._clock(), known)
                try:
                    members = read_members(platform.client, address)
                except PlatformFault as fault:
                    self._say(f"grades for platforms: no list of members: {fault.what}")
                    continue
                self.scores.set_members(targets, [one.sub for one in members])

    def client(self, number: int) -> Client | None:
        """Return the client of a registration; None for one that is not active."""
        self._open()
        found = self._of(number)
        return None if found is None else found.client

    def _of(self, number: int) -> _Platform | None:
        return next((p for one, p in self._platforms.items() if one.id == number), None)

    def _deliver(self, line: ScoreLine) -> str:
        """Send one score; return what became of it: `sent`, `failed` or `left`."""
        platform = self._of(line.target.registration)
        if platform is None or platform.rests is not None:
            return "left"
        grades = Grades(platform.client, self._place(line.target))
        address = self._item(platform, grades, line.target)
        claim = self.scores.claim(line, address, self._worker) if address else None
        if claim is None:
            return "left"
        try:
            self._post(grades, claim)
            said = self._doubt(grades, claim)
        except PlatformFault as fault:
            return self._refused(platform, claim, fault)
        platform.row = 0
        if said:
            return self._differs(claim, said)
        taken = self.scores.accepted(claim, self._worker)
        return "sent" if taken else "left"

    def _post(self, grades: Grades, claim: ScoreClaim) -> None:
        """Send a claimed score, unless so much time has passed that another process may."""
        if claim.until - self._clock() < SENDING:
            raise PlatformFault("the claim of the score is too old", temporary=True)
        grades.send(claim.item, score_message(claim.line.sub, score_of(claim), claim.stamp))

    def _doubt(self, grades: Grades, claim: ScoreClaim) -> str:
        """Return what the platform shows instead of the score; "" for the same.

        Where it refuses to tell, its acceptance is all there is.
        """
        try:
            return grades.differs(claim.item, claim.line.sub, score_of(claim))
        except PlatformFault as fault:
            if fault.temporary:
                raise
            return ""

    def _refused(self, platform: _Platform, claim: ScoreClaim, fault: PlatformFault) -> str:
        """Record an error of the platform."""
        line = claim.line
        if fault.status == 404 and not line.target.line_item:
            self._items.forget(line.target.link, claim.item)
        wait = max(wait_after(line.tries), timedelta(seconds=fault.wait or 0))
        if not fault.temporary:
            wait = LONGEST_WAIT if fault.whole else PERMANENT_WAIT
        self.scores.refused(claim, fault.what, wait, failed=not fault.temporary)
        if platform.fails(fault, self._clock()) or not fault.temporary:
            self._say(f"grades for platforms: {line.target.lab}: {line.student}: {fault.what}")
        return "left" if fault.temporary else "failed"

    def _differs(self, claim: ScoreClaim, said: str) -> str:
        failed = claim.line.tries + 1 >= MAX_DOUBTS
        wait = PERMANENT_WAIT if failed else wait_after(claim.line.tries)
        self.scores.refused(claim, said, wait, failed=failed)
        return "failed" if failed else "left"

    def _item(self, platform: _Platform, grades: Grades, target: Target) -> str:
        """Return the address of a link's line item; "" when there is none now."""
        claim = self._items.claim(target.link, target.line_item, self._worker)
        if claim is None or claim.address:
            return "" if claim is None else claim.address
        try:
            address = grades.line_item(lambda: self._may_make(claim))
        except PlatformFault as fault:
            waits = wait_after if fault.temporary else lambda tries: PERMANENT_WAIT
            self._items.missing(claim, fault.what, waits)
            platform.fails(fault, self._clock())
            self._say(f"grades for platforms: {target.lab}: no line item: {fault.what}")
            return ""
        return address if self._items.found(claim, address) else ""

    def _place(self, target: Target) -> Place:
        """Return where the scores of a link go."""
        name = resource_id(target.lab, target.deployment, target.context, target.resource)
        return Place(
            target.resource, target.line_item, target.line_items, target.scopes, name,
            target.title or self._titles.get(target.lab, target.lab), self.scores.most[target.lab],
        )  # fmt: skip

    def _may_make(self, claim: ItemClaim) -> bool:
        return claim.until is not None and claim.until - self._clock() >= SENDING


def sync_for(book: Gradebook, course: Course, labs: Mapping[str, Lab], say: Say) -> Sync:
    """Return what sends the scores of a course."""
    keys = Keys(course.folder)
    return Sync(
        scores_of(book, course, labs), LtiItems(book.database), book.lti.registrations,
        lambda: keys.signing().key, say,
        titles={name: lab.title for name, lab in labs.items()},
    )  # fmt: skip


def scores_of(book: Gradebook, course: Course, labs: Mapping[str, Lab]) -> LtiScores:
    """Return the scores of a course for platforms."""
    most = {name: course.policy(name).points or lab.max_score for name, lab in labs.items()}
    return LtiScores(book.database, course, most, next_stamp)


def score_of(claim: ScoreClaim) -> Score:
    """Return the score of a claim as it is sent."""
    wanted = claim.line.wanted
    return Score(wanted.points, wanted.most, wanted.submitted, claim.is_new)


def takes_scores(target: Target) -> bool:
    """Whether a platform takes scores for a link."""
    return SCORE_SCOPE in target.scopes and bool(target.line_item or target.line_items)
