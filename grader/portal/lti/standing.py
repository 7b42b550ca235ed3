"""How the grades stand at the learning platforms: what was sent, waits or failed, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from grader import dataclass
from grader.gradebook.lti_items import LtiItems, Target
from grader.gradebook.lti_scores import ScoreLine
from grader.portal.lti.sync import scores_of, takes_scores
from grader.portal.site import Site


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


def standings_of(site: Site, covers: Callable[[str], bool]) -> Standings:
    """Return how the scores of those students stand whom `covers` accepts, by ID."""
    scores = scores_of(site.book, site.course, site.labs)
    targets = scores.targets()
    if not targets:
        return Standings((), ())
    lines = [one for one in scores.lines() if covers(one.student)]
    return standings(targets, lines, LtiItems(site.book.database).errors())
