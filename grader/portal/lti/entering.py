"""The end of a launch: a session, in the platform's frame or in a window of its own.

A frame keeps a session only where the browser keeps its cookie. A script on the page that ends the
launch finds that out; without scripts, the page has a button for either way. The window gets its
session for a text that the portal has sealed, once.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, Response

from grader.gradebook.people import SESSION_LIFE, Person
from grader.portal.lti.cookies import add_framed_cookie
from grader.portal.lti.flow import FLOW_SECONDS, PAGE_SECONDS, Sealed
from grader.portal.lti.refusals import Refused
from grader.portal.requests import (
    FRAME_COOKIE,
    address_of,
    allow_frames,
    limits_of,
    require_own_origin,
    site_of,
)
from grader.portal.signin import end_views, start_session
from grader.portal.site import Site

router = APIRouter(include_in_schema=False)

ANYWHERE = ("*",)
"""Pages before a session, and refusals, have nothing of anybody: any platform's page may show them,
also one whose address is not known yet."""

NO_STORE = {"Cache-Control": "no-store"}
Given = Annotated[str, Query()]
Sent = Annotated[str, Form()]


def sealed_of(site: Site) -> Sealed:
    """Return what seals the texts of launches."""
    return Sealed(site.course.secret)


def refused(request: Request, error: Exception) -> Response:
    """Answer a refused launch with its reason, in words; log the reason alone."""
    assert isinstance(error, Refused)
    allow_frames(request, ANYWHERE)
    site = site_of(request)
    site.say(f"LTI {request.scope['route'].path}: {error.reason}")
    page = site.page("lti_refused.html", me=None, what=error.what, reason=error.reason)
    return HTMLResponse(page, error.status, NO_STORE)


def enter(request: Request, number: int, person: Person, lab: str) -> Response:
    """Open a lab for a person, in this frame if the browser keeps a session there.

    In a window, the launch is answered with an ordinary session.

    Args:
        request: The request that ends the launch.
        number: The number of the registration.
        person: Who launches.
        lab: The lab's name.
    """
    site = site_of(request)
    to = f"/class/{lab}" if person.is_staff else f"/labs/{lab}"
    if request.headers.get("sec-fetch-dest") == "document":
        return start_session(site, person, to)
    values = {"of": number, "who": person.who, "to": to, "once": secrets.token_urlsafe(16)}
    key = sealed_of(site).seal("enter", values, FLOW_SECONDS)
    allow_frames(request, ANYWHERE)
    answer = HTMLResponse(site.page("lti_enter.html", me=None, to=to, key=key), headers=NO_STORE)
    life = int(SESSION_LIFE.total_seconds())
    secret = site.people.new_session(person.who)
    end_views(site, answer)
    add_framed_cookie(answer, site.url, FRAME_COOKIE, secret, life)
    return answer


@router.post("/lti/enter", name="lti_enter")
def enter_window(request: Request, key: Sent = "") -> Response:
    """Start an ordinary session in a new window, once for each launch."""
    site = site_of(request)
    values = page_values(request, "enter", key)
    require_once(site, values)
    person = site.people.person(values["who"])
    if person is None:
        raise Refused("left")
    return start_session(site, person, values["to"])


def page_values(request: Request, kind: str, key: str) -> Any:
    """Return the values of the sealed text of the own page's form. Raises Refused."""
    limits_of(request).spend(("launch", address_of(request)))
    require_own_origin(request)
    values = sealed_of(site_of(request)).opened(kind, key)
    if values is None:
        raise Refused("page-old")
    return values


def require_once(site: Site, values: Any) -> None:
    """Refuse a sealed text that was used before. Raises Refused."""
    ends = datetime.now(UTC) + timedelta(seconds=2 * PAGE_SECONDS)
    if not site.lti.use_nonce(values["of"], values["once"], ends):
        raise Refused("page-old")
