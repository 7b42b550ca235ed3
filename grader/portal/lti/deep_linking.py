"""Choosing labs: for links that the platform then has (Deep Linking), or for one that has none yet.

The pages may stand in a frame where the browser keeps no session. Their forms carry a sealed text
that names the instructor, who is looked up again when the form is sent.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, Response
from joserfc import jws

from grader.gradebook.course_schema import is_private_or_https
from grader.gradebook.lti import Link, Registration
from grader.gradebook.people import Person
from grader.portal.lti.entering import (
    NO_STORE,
    Sent,
    enter,
    page_values,
    require_once,
    sealed_of,
)
from grader.portal.lti.flow import PAGE_SECONDS
from grader.portal.lti.keys import ALGORITHM
from grader.portal.lti.messages import DEEP_LINKING, LTI, VERSION, Message, origin_of
from grader.portal.lti.refusals import Refused
from grader.portal.requests import POLICY, allow_frames, site_of
from grader.portal.site import Site

router = APIRouter(include_in_schema=False)

RESPONSE_SECONDS = 300
Labs = Annotated[list[str], Form()]


def choose_for_platform(request: Request, message: Message, person: Person) -> Response:
    """Answer a deep linking request: ask which labs the platform shall have links to.

    Raises:
        Refused: The person is no instructor, or the platform takes no links.
    """
    if person.role != "instructor":
        raise Refused("not-instructor")
    settings = message.settings or {}
    to, kinds = settings.get("deep_link_return_url"), settings.get("accept_types")
    if not isinstance(to, str) or not is_private_or_https(to) or not origin_of(to):
        raise Refused("settings")
    if not isinstance(kinds, list) or "ltiResourceLink" not in kinds:
        raise Refused("accept-types")
    values = {
        "of": message.registration.id, "deployment": message.deployment, "who": person.who,
        "to": to, "many": settings.get("accept_multiple") in (True, "true"),
        "scores": settings.get("accept_lineitem") not in (False, "false"),
        "data": settings.get("data"), "once": secrets.token_urlsafe(16),
    }  # fmt: skip
    return _page(request, "choose", values, person, many=bool(values["many"]))


def choose_for_link(request: Request, number: int, link: Link, person: Person) -> Response:
    """Ask the instructor to which lab a link of a registration leads. Raises Refused."""
    if person.role != "instructor":
        raise Refused("no-lab")
    once = secrets.token_urlsafe(16)
    values = {"of": number, "link": link.id, "who": person.who, "once": once}
    return _page(request, "point", values, person, many=False, title=link.title)


def _page(
    request: Request, kind: str, values: Mapping[str, Any], person: Person, *, many: bool,
    title: str = "",
) -> Response:  # fmt: skip
    site = site_of(request)
    allow_frames(request, site.platform_origins)
    page = site.page(
        "lti_choose.html", me=None, key=sealed_of(site).seal(kind, values, PAGE_SECONDS),
        kind=kind, many=many, title=title, person=person,
        labs=[(name, site.labs[name].title) for name in site.course.labs],
    )  # fmt: skip
    return HTMLResponse(page, headers=NO_STORE)


def _chosen(site: Site, values: Mapping[str, Any], labs: Sequence[str]) -> Person:
    """Return the instructor who has chosen labs of the course. Raises Refused."""
    person = site.people.person(values["who"])
    if person is None or person.role != "instructor":
        raise Refused("not-instructor")
    if not set(labs) <= set(site.course.labs):
        raise Refused("lab-unknown")
    return person


@router.post("/lti/choose", name="lti_choose")
def choose(
    request: Request, key: Sent = "", lab: Labs = [], cancel: Sent = ""  # noqa: B006
) -> Response:  # fmt: skip
    """Send the platform the links to the labs that were chosen: a page that sends itself."""
    site = site_of(request)
    values = page_values(request, "choose", key)
    labs = [] if cancel else list(dict.fromkeys(lab))
    _chosen(site, values, labs)
    if len(labs) > 1 and not values["many"]:
        raise Refused("claim", "The platform takes one link at a time.")
    one = site.lti.registration(values["of"])
    if one is None or not one.active:
        raise Refused("issuer-unknown")
    require_once(site, values)
    text = _response(site, one, values, labs)
    page = site.page("lti_return.html", me=None, to=values["to"], text=text, count=len(labs))
    answer = HTMLResponse(page, headers=NO_STORE)
    allow_frames(request, site.platform_origins)
    _let_form_lead_to(answer, origin_of(values["to"]), site)
    return answer


def _let_form_lead_to(answer: Response, origin: str, site: Site) -> None:
    """Let the one form of a page send to the platform; it may then lead on within HTTPS."""
    frames = " ".join(site.platform_origins) or "'none'"
    policy = POLICY.replace("form-action 'self'", f"form-action {origin} https:")
    policy = policy.replace("frame-ancestors 'none'", f"frame-ancestors {frames}")
    answer.headers["Content-Security-Policy"] = policy


def _response(site: Site, one: Registration, values: Mapping[str, Any], labs: Sequence[str]) -> str:
    """Return the signed message with the chosen links (LTI Deep Linking 2.0, 4.4)."""
    key, now = site.lti_keys.signing(), int(time.time())
    claims: dict[str, Any] = {
        "iss": one.client_id, "aud": one.issuer, "azp": one.issuer, "iat": now,
        "exp": now + RESPONSE_SECONDS, "nonce": secrets.token_urlsafe(32),
        f"{LTI}deployment_id": values["deployment"],
        f"{LTI}message_type": "LtiDeepLinkingResponse",
        f"{LTI}version": VERSION,
        f"{DEEP_LINKING}content_items": [
            _item(site, name, with_scores=values["scores"]) for name in labs
        ],
    }  # fmt: skip
    if values["data"] is not None:
        claims[f"{DEEP_LINKING}data"] = values["data"]
    header = {"alg": ALGORITHM, "kid": key.id, "typ": "JWT"}
    body = json.dumps(claims).encode()  # ASCII: `data` may be no Unicode
    return jws.serialize_compact(header, body, key.key, algorithms=[ALGORITHM])


def _item(site: Site, name: str, *, with_scores: bool) -> dict[str, Any]:
    """Return the link to a lab as the platform stores it."""
    lab, points = site.labs[name], site.course.policy(name).points
    item: dict[str, Any] = {
        "type": "ltiResourceLink", "title": lab.title, "url": f"{site.url}/lti/launch",
        "custom": {"lab": name},
    }  # fmt: skip
    if with_scores:
        most = lab.max_score if points is None else points
        item["lineItem"] = {"scoreMaximum": most, "label": lab.title, "resourceId": name}
    return item


@router.post("/lti/point", name="lti_point")
def point(request: Request, key: Sent = "", lab: Sent = "") -> Response:
    """Have a link lead to the lab that was chosen, and open it."""
    site = site_of(request)
    values = page_values(request, "point", key)
    person = _chosen(site, values, [lab])
    require_once(site, values)
    site.lti.point(values["link"], lab, person.email)
    return enter(request, values["of"], person, lab)
