"""How the grades stand at the learning platforms: what was sent, waits or failed, and why."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from grader import dataclass
from grader.gradebook.lti_items import LtiItems, Target
from grader.gradebook.lti_scores import ScoreLine
from grader.portal.lti.sync import scores_of, takes_scores
from grader.portal.site import Site

KEPT_SECONDS = 15.0
"""How long what was read is shown: it takes seconds in a large course."""


@dataclass(frozen=True)
class LinkStanding:
    """A link to a lab and its scores; `problem` says why none can be sent, "" for nothing."""

    target: Target
    sent: int
    waits: int
    failed: int
    problem: str


@dataclass(frozen=True)
class Standings:
    """The links of a course, and the scores that were not accepted."""

    links: tuple[LinkStanding, ...]
    errors: tuple[ScoreLine, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What needs attention."""
        refused = sum(one.failed for one in self.links)
        found = [f"link {one.target.link}: {one.problem}" for one in self.links if one.problem]
        return (f"platforms refuse {refused} grades", *found) if refused else tuple(found)


def standings(
    targets: Sequence[Target], lines: Sequence[ScoreLine], errors: Mapping[int, str]
) -> Standings:
    """Return how the scores of links stand; `errors` say why links have no line item."""
    counts = Counter((one.target.link, one.standing) for one in lines)
    links = tuple(
        LinkStanding(
            one, counts[one.link, "sent"], counts[one.link, "waits"], counts[one.link, "failed"],
            _problem(one, errors),
        )
        for one in targets
    )  # fmt: skip
    return Standings(links, tuple(one for one in lines if one.error))


def _problem(target: Target, errors: Mapping[int, str]) -> str:
    if not takes_scores(target):
        return "the platform takes no grades for it"
    return f"no line item: {errors[target.link]}" if target.link in errors else ""


class KeptStandings:
    """How the scores of a course stand, read at most every KEPT_SECONDS; safe between threads."""

    def __init__(self, site: Site) -> None:
        self._scores = scores_of(site.book, site.course, site.labs)
        self._items, self._lock = LtiItems(site.book.database), threading.Lock()
        self._read = -math.inf
        self._found: tuple[Sequence[Target], Sequence[ScoreLine], Mapping[int, str]] = ((), (), {})

    def of(self, covers: Callable[[str], bool]) -> Standings:
        """Return how the scores of those students stand whom `covers` accepts, by ID."""
        with self._lock:  # the page asks again every few seconds, for each who looks at it
            if time.monotonic() - self._read >= KEPT_SECONDS:
                targets = self._scores.targets()
                lines = self._scores.lines() if targets else ()
                self._found = (targets, lines, self._items.errors())
                self._read = time.monotonic()
            targets, lines, errors = self._found
        return standings(targets, [one for one in lines if covers(one.student)], errors)
