"""What every request goes through: who sends it, whether the person may, and how often.

A route names itself; the table of `access` decides. Forms carry a token of their session, so that
another site cannot send them; programs send a token of their own instead of a cookie.
"""

from __future__ import annotations

import hmac
import math
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from fastapi import HTTPException, Request
from fastapi.routing import APIRoute
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import FormData
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from grader import dataclass
from grader.faults import MachineFault, StudentFault
from grader.gradebook.people import Person
from grader.portal.access import Right, may_see, right_of, scope_of
from grader.portal.site import Site, unmasked
from grader.portal.task.quiz import FIELD as QUIZ_FIELD

COOKIE = "warpgrade"
FRAME_COOKIE = "warpgrade-frame"
"""The session that began in a frame of a learning platform. Browsers send it in that frame, where
they do not send the other; what protects forms there is their token and `Origin`."""

VIEW_COOKIES = {COOKIE: "warpgrade-view", FRAME_COOKIE: "warpgrade-frame-view"}
"""The student as whom one of the staff looks, in each kind of session. It gives no right: each
request asks the table."""
MAX_SHOWN = 1 << 18
"""Characters of a field that are shown again when a form is refused: those of a whole source."""
MAX_BODY = 9 << 20
"""Bytes of a request: a submission's file may have 8 MiB."""

LIMITS = {
    "sign-in": parse("6/15minutes"),
    "address": parse("600/15minutes"),
    "launch": parse("6000/15minutes"),
    "submit": parse("30/10minutes"),
    "refused": parse("300/10minutes"),
    "token": parse("600/minute"),
    "message": parse("60/10minutes"),
}
"""Requests in a time: links to sign in of one person, and all that one network address may ask
without a sign-in, which a whole class in one room shares; submissions, files that are no
submissions, and messages of one person."""

POLICY = "; ".join(
    (
        "default-src 'none'", "style-src 'self'", "script-src 'self'", "img-src 'self'",
        "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
    )
)  # fmt: skip
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"private, no-cache"),
)


@dataclass(frozen=True)
class Visitor:
    """Who sends a request: a person with a session, or with a token and its scopes.

    `viewer` is one of the staff who looks as this person; nothing can be changed then.
    """

    person: Person
    session: str = ""
    scopes: tuple[str, ...] = ()
    form_token: str = ""
    viewer: Person | None = None


class RateLimits:
    """Counts requests in memory; each server counts for itself."""

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._lock = threading.RLock()
        self._under_way: Counter[tuple[str, str]] = Counter()

    def require(self, kind: str, who: str) -> None:
        """Raise 429 with Retry-After when a limit is reached. Counts nothing."""
        limit: RateLimitItem = LIMITS[kind]
        if self._limiter.test(limit, kind, who, cost=self._under_way[kind, who] + 1):
            return
        reset = self._limiter.get_window_stats(limit, kind, who).reset_time
        wait = max(1, math.ceil(reset - time.time()))
        raise HTTPException(
            429, f"too many requests: try again in {wait} s", {"Retry-After": str(wait)}
        )

    def count(self, kind: str, who: str) -> None:
        """Count a request that was served."""
        self._limiter.hit(LIMITS[kind], kind, who)

    def spend(self, *asked: tuple[str, str]) -> None:
        """Require every limit, each a kind and who asks, and then count the request at each.

        Raises:
            HTTPException: 429 when one of them is reached; nothing is counted then.
        """
        with self._lock:
            for kind, who in asked:
                self.require(kind, who)
            for kind, who in asked:
                self.count(kind, who)

    @contextmanager
    def spending(self, kind: str, who: str) -> Iterator[None]:
        """Require a limit and count what the block does, unless it is refused or the machine fails.

        Requests at the same time count for each other while they are under way.

        Raises:
            HTTPException: 429.
        """
        with self._lock:
            self.require(kind, who)
            self._under_way[kind, who] += 1
        counts = True
        try:
            yield
        except (MachineFault, StudentFault):
            counts = False
            raise
        finally:
            with self._lock:
                self._under_way[kind, who] -= 1
                if not self._under_way[kind, who]:
                    del self._under_way[kind, who]
                if counts:
                    self.count(kind, who)


def site_of(request: Request) -> Site:
    """Return the site of the application."""
    site: Site = request.app.state.site
    return site


def limits_of(request: Request) -> RateLimits:
    """Return the counters of the application."""
    limits: RateLimits = request.app.state.limits
    return limits


def address_of(request: Request) -> str:
    """Return the network address that a request comes from."""
    return request.client.host if request.client is not None else ""


def arrived_at(request: Request) -> datetime:
    """Return when the whole body of a request had arrived."""
    moment: datetime = request.state.arrived
    return moment


def visitor_of(request: Request) -> Visitor | None:
    """Return who sends a request; None for nobody known. Raises 401 for a wrong token."""
    site = site_of(request)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        limits_of(request).spend(("token", address_of(request)))
        found = site.people.token(token.strip())
        if found is None:
            raise HTTPException(
                401, "the token is not valid: make a new one", {"WWW-Authenticate": "Bearer"}
            )
        return Visitor(found[0], scopes=found[1])
    for cookie in (FRAME_COOKIE, COOKIE):  # the newest sign-in removes the former
        session = request.cookies.get(cookie, "")
        person = site.people.session(session) if session else None
        if person is not None:
            break
    else:
        return None
    if cookie == FRAME_COOKIE:
        allow_frames(request, site.platform_origins)
    request.state.session_cookie = cookie
    viewed = _viewed(request, person, VIEW_COOKIES[cookie])
    return Visitor(
        viewed or person, session, form_token=site.form_token(session),
        viewer=person if viewed else None,
    )  # fmt: skip


def allow_frames(request: Request, origins: Iterable[str]) -> None:
    """Let pages of these web origins show the answer in a frame; "*" for any page."""
    request.state.frames = tuple(origins)


def _viewed(request: Request, person: Person, cookie: str) -> Person | None:
    """Return the student as whom a person looks, if the person teaches that student."""
    who = unquote(request.cookies.get(cookie, ""))
    right = right_of(person, "view_as")
    student = site_of(request).people.person(f"student:{who}") if who and right else None
    if student is None or right is None:
        return None
    section = student.sections[0] if student.sections else ""
    return student if may_see(person, right, who, section) else None


VIEW_ROUTES = ("end_view", "sign_out")
"""The forms that work for one who looks as a student."""


class SignInNeeded(Exception):
    """Nobody has signed in: pages lead to the sign-in, the API answers 401."""


def visitor(request: Request) -> Visitor:
    """Return who sends a request to this route.

    Raises:
        SignInNeeded: Nobody has signed in.
        HTTPException: The role may not use the route, a form is not of this session, or a token
            has not the scope.
    """
    found = visitor_of(request)
    if found is None:
        raise SignInNeeded
    right = right_of(found.person, request.scope["route"].name)
    if right is None:
        raise HTTPException(403, "your role may not do this")
    is_api = request.url.path.startswith("/api/")
    changes = request.method not in ("GET", "HEAD")
    if changes:
        if found.viewer is not None and request.scope["route"].name not in VIEW_ROUTES:
            raise HTTPException(403, "you look as a student: nothing can be changed")
        if found.session:
            require_own_origin(request)
            if is_api and "origin" not in request.headers:
                raise HTTPException(403, "send a token: the API has no forms")
        elif not is_api:
            raise HTTPException(403, "a token sends no forms: use the API")
    scope = scope_of(right, changes=changes)
    if not found.session and scope not in found.scopes:
        raise HTTPException(
            403, f"the token has no scope `{scope}`: make another one on the page Account"
        )
    return found


def may_read(sender: Visitor) -> bool:
    """Whether what a change answers may tell more than that it is made: tokens have scopes."""
    return bool(sender.session) or "read" in sender.scopes


def require_own_origin(request: Request) -> None:
    """Refuse a form that another site sends. Raises 403."""
    origin = request.headers.get("origin")
    host = request.headers.get("host", "")
    if origin is not None and origin.partition("://")[2] != host:
        raise HTTPException(403, "the form comes from another site")


TYPED = {
    "source": "Text of the submission",
    "body": "Text",
    "reason": "Reason",
    "points": "Points",
    "due": "Deadline",
    "moment": "Time",
    "team": "Group",
    "students": "Students",
    "pseudonym": "Pseudonym",
    "name": "Name",
}
"""The fields of forms that a person fills in, with their labels; those of a quiz besides."""


def typed_in(request: Request) -> tuple[tuple[str, str], ...]:
    """Return what a person has typed into the form of a request, each with its label.

    A page that refuses the form shows it, so that nobody has to write it again. What another site
    sends is left out.
    """
    try:
        require_own_origin(request)
    except HTTPException:
        return ()
    form: FormData | None = getattr(request, "_form", None)  # None: there is none, or it is broken
    found = []
    for name, value in form.multi_items() if form else ():
        label = TYPED.get(name) or name.removeprefix(QUIZ_FIELD) * name.startswith(QUIZ_FIELD)
        if label and isinstance(value, str) and value.strip():
            found.append((label, value[:MAX_SHOWN]))
    return tuple(found)


def require_form(request: Request, given: str, sender: Visitor) -> None:
    """Refuse a form that does not have the token of its session. Raises 403."""
    if not hmac.compare_digest(unmasked(given), unmasked(sender.form_token)):
        raise HTTPException(403, "the form is out of date: open the page again")


def is_id(number: int) -> bool:
    """Whether a number can be that of a row: databases take no larger ones."""
    return 0 < number < 1 << 62


def require_student(request: Request, sender: Visitor, student: str) -> None:
    """Refuse a person who may not use this route for a student's things.

    Raises:
        HTTPException: 404, which does not tell whether there is such a thing.
    """
    require_one_of(request, sender, (student,))


def require_one_of(request: Request, sender: Visitor, students: Iterable[str]) -> None:
    """Refuse a person who may use this route for the things of none of these students.

    Raises:
        HTTPException: 404, as `require_student`.
    """
    if not any(may_watch(request, sender.person, student) for student in students):
        raise HTTPException(404, "there is no such page")


def may_watch(request: Request, person: Person, student: str) -> bool:
    """Whether a person may use this route for a student's things now."""
    right: Right | None = right_of(person, request.scope["route"].name)
    section = site_of(request).section_of(student) if right == "section" else ""
    return right is not None and may_see(person, right, student, section)


def headers_for(frames: Iterable[str]) -> Iterable[tuple[bytes, bytes]]:
    """Return the security headers of a page that these web origins may show in a frame."""
    named = " ".join(frames)
    if not named:
        return HEADERS
    policy = POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {named}")
    return ((HEADERS[0][0], policy.encode()), *HEADERS[1:])


class Guard:
    """Adds the security headers to every answer, and refuses bodies that are too large.

    It notes when the last part of a body arrived: what the server itself waits for after that, a
    thread or the database, costs no student the deadline.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        taken = 0

        async def limited() -> MutableMapping[str, Any]:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > MAX_BODY:
                raise HTTPException(413, "the file is too large: at most 8 MiB")
            scope.setdefault("state", {})["arrived"] = scope["app"].state.site.now()
            return message

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                frames = scope.get("state", {}).get("frames", ())
                message["headers"] = [
                    *message["headers"],
                    *(pair for pair in headers_for(frames) if pair[0] not in own),
                ]
            await send(message)

        await self._app(scope, limited, with_headers)


def require_rules(routes: Iterable[BaseRoute], rules: frozenset[str]) -> None:
    """Raise ValueError for a route that the table of access does not have."""
    names = {route.name for route in routes if isinstance(route, Route | APIRoute)}
    if missing := sorted(names - rules):
        raise ValueError(f"routes without a row in the table of access: {', '.join(missing)}")
