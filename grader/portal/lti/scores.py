"""The line item and the scores of one link, in the Assignment and Grade Services 2.0.

What platforms are strict about is kept for all of them: a user, both progress fields, a time with
its zone that is later than any before (by a second: some keep no fractions), and for Canvas when
the work was submitted. `scoreGiven` is absolute. A line item is looked for before one is made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from grader import dataclass
from grader.portal.lti.client import Client, PlatformFault, joined, require_safe

_SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/"
ITEMS_SCOPE = _SCOPE + "lineitem"
ITEMS_READ_SCOPE = _SCOPE + "lineitem.readonly"
SCORE_SCOPE = _SCOPE + "score"
RESULT_SCOPE = _SCOPE + "result.readonly"

_KIND = "application/vnd.ims.lis."
ITEM_KIND = _KIND + "v2.lineitem+json"
ITEMS_KIND = _KIND + "v2.lineitemcontainer+json"
SCORE_KIND = _KIND + "v1.score+json"
RESULTS_KIND = _KIND + "v2.resultcontainer+json"

CANVAS_SUBMISSION = "https://canvas.instructure.com/lti/submission"
TAG = "warpgrade"
MAX_LABEL = 100
"""Characters of a line item's label that every platform takes."""

TOLERANCE = 0.006
"""How far the share of points that a platform shows may be from ours: some keep two decimals."""

STEP = timedelta(seconds=1)
"""The smallest distance between the times of two scores."""


@dataclass(frozen=True)
class Place:
    """Where the scores of one link go.

    Attributes:
        resource: The link's ID at the platform.
        item: The line item that the platform has made for the link; "" for none.
        items: Where line items are listed and made; "" when the platform offers neither.
        scopes: What the platform allows.
        resource_id: Our own name of the line item, which no other link has.
        label: What a new line item is called.
        most: The points of full marks of a new line item.
    """

    resource: str
    item: str
    items: str
    scopes: frozenset[str]
    resource_id: str
    label: str
    most: float


@dataclass(frozen=True)
class Score:
    """What a platform is to show for one person at one link.

    Attributes:
        points: The points; None for no score.
        most: The points of full marks, more than 0.
        submitted: When the submission that counts was received; None when there is none, or the
            time is unknown.
        is_new: Whether the platform has not accepted a score of this submission yet.
    """

    points: float | None
    most: float
    submitted: datetime | None = None
    is_new: bool = False


def resource_id(lab: str, deployment: str, context: str, resource: str) -> str:
    """Return our name of a link's line item, in at most 255 characters."""
    digest = hashlib.sha256(f"{deployment}\n{context}\n{resource}".encode()).hexdigest()
    return f"{TAG}:{lab[:200]}:{digest[:16]}"


def next_stamp(now: datetime, last: datetime | None) -> datetime:
    """Return the time of the next score: now, and at least STEP after the last one."""
    now = now.astimezone(UTC).replace(microsecond=0)
    return now if last is None else max(now, last.astimezone(UTC).replace(microsecond=0) + STEP)


def format_time(moment: datetime) -> str:
    """Return a time in UTC with its zone and with milliseconds, as platforms take it."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def score_message(user: str, score: Score, stamp: datetime) -> dict[str, Any]:
    """Return the message that makes a platform show a score, or none."""
    message: dict[str, Any] = {"userId": user, "timestamp": format_time(stamp)}
    if score.points is None:
        return {**message, "activityProgress": "Submitted", "gradingProgress": "Pending"}
    message |= {"scoreGiven": score.points, "scoreMaximum": score.most}
    message |= {"activityProgress": "Completed", "gradingProgress": "FullyGraded"}
    work: dict[str, Any] = {"new_submission": score.is_new}
    if score.submitted is not None:
        work["submitted_at"] = format_time(score.submitted)
    return {**message, CANVAS_SUBMISSION: work}


class Grades:
    """The services of one link. Every method raises PlatformFault."""

    def __init__(self, client: Client, place: Place) -> None:
        self._client, self._place = client, place

    def line_item(self, may_make: Callable[[], bool]) -> str:
        """Return the address of the link's line item; make one when the platform has none.

        `may_make` says, just before it is made, whether nobody else can be making one.
        """
        place = self._place
        if place.item:
            return require_safe(place.item)
        if not place.items:
            raise PlatformFault("the platform offers no line item for this link", temporary=False)
        require_safe(place.items)
        found = self._found()
        if found:
            return found
        if ITEMS_SCOPE not in place.scopes:
            what = "the platform has no line item for this link and lets nobody make one"
            raise PlatformFault(what, temporary=False)
        if not may_make():
            raise PlatformFault("looking for the line item took too long", temporary=True)
        return self._made()

    def _found(self) -> str:
        """Return the link's line item: one with our name, else one of this link; "" for none.

        A platform that ignores the parameters sends all line items, so each is looked at.
        """
        place = self._place
        scope = ITEMS_SCOPE if ITEMS_SCOPE in place.scopes else ITEMS_READ_SCOPE
        ours = [one for one in self._listed(scope, resource_id=place.resource_id)
                if one.get("resourceId") == place.resource_id]  # fmt: skip
        if not ours:
            ours = [one for one in self._listed(scope, resource_link_id=place.resource)
                    if one.get("resourceLinkId") == place.resource]  # fmt: skip
            marked = [one for one in ours if one.get("tag") == TAG]
            ours = marked or (ours if len(ours) == 1 else [])
        return min((self._address(one) for one in ours), default="")

    def _listed(self, scope: str, **parameters: str) -> Iterator[Mapping[str, Any]]:
        address = _with(self._place.items, parameters)
        for page in self._client.pages(address, scope, ITEMS_KIND):
            yield from _records(page, "line items")

    def _made(self) -> str:
        place = self._place
        value = {
            "label": place.label[:MAX_LABEL], "scoreMaximum": _number(place.most),
            "resourceId": place.resource_id, "tag": TAG, "resourceLinkId": place.resource,
        }  # fmt: skip
        made = self._client.post(place.items, ITEMS_SCOPE, ITEM_KIND, value).json()
        return self._address(made if isinstance(made, dict) else {})

    def _address(self, item: Mapping[str, Any]) -> str:
        """Return where a line item is. Raises PlatformFault for none, or for another host."""
        text = item.get("id")
        if not isinstance(text, str) or not text:
            raise PlatformFault("a line item has no address", temporary=True)
        return joined(self._place.items, text)

    def send(self, item: str, message: Mapping[str, Any]) -> None:
        """Send a score to a line item."""
        self._client.post(_below(item, "scores"), SCORE_SCOPE, SCORE_KIND, message)

    def differs(self, item: str, user: str, score: Score) -> str:
        """Return what the platform shows instead of a score that it has accepted; "" for the same.

        Where a platform does not let the course read results, it is "".
        """
        if RESULT_SCOPE not in self._place.scopes:
            return ""
        shown = self._shown(item, user)
        if score.points is None:
            return "" if shown is None else f"the platform still shows {shown[0]:g}"
        if shown is None:
            return "the platform accepted the score and shows none"
        share, ours = shown[0] / shown[1], score.points / score.most
        if abs(share - ours) <= TOLERANCE or share >= 1 <= ours:
            return ""
        return f"the platform shows {shown[0]:g} of {shown[1]:g}"

    def _shown(self, item: str, user: str) -> tuple[float, float] | None:
        address = _with(_below(item, "results"), {"user_id": user})
        for page in self._client.pages(address, RESULT_SCOPE, RESULTS_KIND):
            for one in _records(page, "results"):
                if str(one.get("userId")) == user and one.get("resultScore") is not None:
                    return _read_result(one)
        return None


def _read_result(one: Mapping[str, Any]) -> tuple[float, float]:
    """Return the score and the maximum of a result. Raises PlatformFault."""
    try:
        score, most = float(one["resultScore"]), float(one.get("resultMaximum") or 1)
    except (TypeError, ValueError):
        raise PlatformFault("a result of the platform is no number", temporary=True) from None
    if not most > 0:
        raise PlatformFault("a result of the platform has no maximum", temporary=True)
    return score, most


def _records(page: Any, what: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a page, which is a list of them. Raises PlatformFault."""
    if not isinstance(page, list) or not all(isinstance(one, dict) for one in page):
        raise PlatformFault(f"the platform sends no list of {what}", temporary=True)
    yield from page


def _number(value: float) -> float | int:
    """Return a whole number as an integer: some platforms take no other for a line item."""
    return int(value) if value == int(value) else value


def _below(address: str, name: str) -> str:
    """Return the address of a part of a line item, whose own address may have a query."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{name}"))


def _with(address: str, parameters: Mapping[str, str]) -> str:
    """Return an address with more parameters."""
    parts = urlsplit(address)
    query = [*parse_qsl(parts.query, keep_blank_values=True), *parameters.items()]
    return urlunsplit(parts._replace(query=urlencode(query)))
