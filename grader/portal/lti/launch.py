"""Launches: a platform leads a browser here, says who it is, and the portal opens the lab.

    /lti/login    the platform begins (OpenID Connect, third-party initiated); GET or POST
    /lti/launch   the browser brings the platform's message
    /lti/proof    the same, with the proof from the platform's storage, where no cookie came
    /lti/keys     the course's public keys

What a browser keeps in a frame is found out by a script on the page that begins a launch; without
scripts, the page has a button for either way.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from grader.faults import LabFault
from grader.gradebook.lti import Deployment, Registration
from grader.gradebook.people import Identity, Person
from grader.portal.lti.cookies import add_framed_cookie, drop_framed_cookie
from grader.portal.lti.deep_linking import choose_for_link, choose_for_platform
from grader.portal.lti.entering import ANYWHERE, NO_STORE, Given, Sent, enter, sealed_of
from grader.portal.lti.flow import FLOW_SECONDS, Flow, begin, flow_of
from grader.portal.lti.messages import (
    DEEP_LINK,
    MAX_AGE_SECONDS,
    SKEW_SECONDS,
    Message,
    is_ours,
    origin_of,
    read_message,
)
from grader.portal.lti.refusals import Refused
from grader.portal.requests import (
    address_of,
    allow_frames,
    limits_of,
    require_own_origin,
    site_of,
    visitor_of,
)
from grader.portal.signin import admit
from grader.portal.site import Site

router = APIRouter(include_in_schema=False)


@router.get("/lti/keys", name="lti_keys")
def keys(request: Request) -> Response:
    """Send the course's public keys."""
    headers = {"Cache-Control": "max-age=300", "Access-Control-Allow-Origin": "*"}
    return JSONResponse(site_of(request).lti_keys.published(), headers=headers)


@router.get("/lti/login", name="lti_login")
def login(
    request: Request, iss: Given = "", login_hint: Given = "", target_link_uri: Given = "",
    lti_message_hint: Given = "", client_id: Given = "", lti_deployment_id: Given = "",
    lti_storage_target: Given = "",
) -> Response:  # fmt: skip
    """Begin a launch: lead to the platform's sign-in, with a new state and nonce."""
    given = {
        "iss": iss, "login_hint": login_hint, "target_link_uri": target_link_uri,
        "lti_message_hint": lti_message_hint, "client_id": client_id,
        "lti_deployment_id": lti_deployment_id, "lti_storage_target": lti_storage_target,
    }  # fmt: skip
    return _begin(request, given)


@router.post("/lti/login", name="lti_login_form")
def login_form(
    request: Request, iss: Sent = "", login_hint: Sent = "", target_link_uri: Sent = "",
    lti_message_hint: Sent = "", client_id: Sent = "", lti_deployment_id: Sent = "",
    lti_storage_target: Sent = "",
) -> Response:  # fmt: skip
    """Begin a launch with a form."""
    return login(
        request, iss, login_hint, target_link_uri, lti_message_hint, client_id, lti_deployment_id,
        lti_storage_target,
    )  # fmt: skip


def _begin(request: Request, given: dict[str, str]) -> Response:
    site = site_of(request)
    limits_of(request).spend(("launch", address_of(request)))
    one = _client(site, given["iss"], given["client_id"])
    if not given["login_hint"]:
        raise Refused("login-hint")
    if not is_ours(given["target_link_uri"], site.url):
        raise Refused("target-unknown")
    if given["lti_deployment_id"]:
        deployment_of(site, one, given["lti_deployment_id"])
    flow, proof = begin(sealed_of(site), one.id, given["lti_storage_target"][:200])
    asked = {
        "scope": "openid", "response_type": "id_token", "response_mode": "form_post",
        "prompt": "none", "client_id": one.client_id, "redirect_uri": f"{site.url}/lti/launch",
        "login_hint": given["login_hint"], "state": flow.state, "nonce": flow.nonce,
    }  # fmt: skip
    if given["lti_message_hint"]:
        asked["lti_message_hint"] = given["lti_message_hint"]
    to = f"{one.auth_url}{'&' if '?' in one.auth_url else '?'}{urlencode(asked)}"
    if flow.storage or request.headers.get("sec-fetch-dest") in ("iframe", "frame"):
        allow_frames(request, ANYWHERE)
        left_out = ("lti_storage_target",)  # a link: `form-action` also holds for where forms lead
        again = urlencode({k: v for k, v in given.items() if v and k not in left_out})
        page = site.page(
            "lti_begin.html", me=None, to=to, flow=flow, proof=proof, again=again,
            origin=origin_of(one.auth_url),
        )  # fmt: skip
        answer: Response = HTMLResponse(page, headers=NO_STORE)
    else:
        answer = RedirectResponse(to, 303, NO_STORE)
    add_framed_cookie(answer, site.url, flow.cookie, proof, FLOW_SECONDS, "/lti")
    return answer


def _client(site: Site, issuer: str, client_id: str) -> Registration:
    """Return the registration that a platform begins a launch for. Raises Refused."""
    known = site.lti.clients_of(issuer) if issuer else ()
    if not known:
        raise Refused("issuer-unknown", issuer and f"It calls itself {issuer}")
    if not client_id:
        if len(known) > 1:
            raise Refused("client-ambiguous")
        return known[0]
    for one in known:
        if one.client_id == client_id:
            return one
    raise Refused("client-unknown", f"It is {client_id}")


def deployment_of(site: Site, one: Registration, name: str) -> Deployment:
    """Return a deployment of a registration by the platform's name. Raises Refused."""
    for deployment in site.lti.deployments(one.id):
        if deployment.deployment == name:
            return deployment
    what = f"An instructor adds it: grader portal lti deploy {one.id} {name}"
    raise Refused("deployment-unknown", what)


@router.get("/lti/kept", name="lti_kept")
def kept(request: Request, flow: Given = "") -> Response:
    """Say whether the browser sends the cookie of a launch; without one, that of a session."""
    name = f"warpgrade-lti-{flow}"
    found = name in request.cookies if flow else visitor_of(request) is not None
    return JSONResponse({"kept": found}, headers=NO_STORE)


@router.post("/lti/launch", name="lti_launch")
def launch(request: Request, state: Sent = "", id_token: Sent = "", error: Sent = "") -> Response:
    """Take the platform's message, if this browser has begun the launch."""
    site = site_of(request)
    limits_of(request).spend(("launch", address_of(request)))
    flow = flow_of(sealed_of(site), state)
    if error:
        raise Refused("platform-error", f"It says: {error}")
    if not flow.is_proven(request.cookies.get(flow.cookie, "")):
        one = site.lti.registration(flow.registration)
        if not flow.storage or flow.cookie in request.cookies or one is None:
            raise Refused("state-mismatch")
        allow_frames(request, ANYWHERE)
        page = site.page(
            "lti_proof.html", me=None, flow=flow, id_token=id_token,
            origin=origin_of(one.auth_url),
        )  # fmt: skip
        return HTMLResponse(page, headers=NO_STORE)
    return _received(request, flow, id_token)


@router.post("/lti/proof", name="lti_proof")
def prove(request: Request, state: Sent = "", id_token: Sent = "", proof: Sent = "") -> Response:
    """Take the message that the own page sends with the proof from the platform's storage.

    Only the own page may: another site could send its own launch, with its own proof.
    """
    site = site_of(request)
    limits_of(request).spend(("launch", address_of(request)))
    if "origin" not in request.headers:
        raise Refused("state-mismatch")
    try:
        require_own_origin(request)
    except HTTPException:
        raise Refused("state-mismatch") from None
    flow = flow_of(sealed_of(site), state)
    if not flow.is_proven(proof):
        raise Refused("state-mismatch")
    return _received(request, flow, id_token)


def _received(request: Request, flow: Flow, id_token: str) -> Response:
    """Verify a message and do what it asks for."""
    site, now = site_of(request), datetime.now(UTC)
    one = site.lti.registration(flow.registration)
    if one is None or not one.active:
        raise Refused("issuer-unknown")
    message = read_message(id_token, one, flow.nonce, site.url, site.platform_keys, now)
    deployment = deployment_of(site, one, message.deployment)
    ends = now + timedelta(seconds=MAX_AGE_SECONDS + FLOW_SECONDS + SKEW_SECONDS)
    if not site.lti.use_nonce(one.id, flow.nonce, ends):
        raise Refused("nonce-replayed")
    person = person_of(site, message)
    if message.origin and message.origin not in site.platform_origins:
        site.lti.add_origin(one.id, message.origin)
    if message.kind == DEEP_LINK:
        answer = choose_for_platform(request, message, person)
    else:
        answer = _open(request, message, deployment, person)
    drop_framed_cookie(answer, site.url, flow.cookie, "/lti")
    return answer


def _open(
    request: Request, message: Message, deployment: Deployment, person: Person
) -> Response:  # fmt: skip
    """Open the lab of a link; a link that has none asks an instructor for it."""
    site, one = site_of(request), message.registration
    link = site.lti.new_link(deployment.id, message.context, message.resource, message.title)
    site.lti.note_services(
        link.id, message.line_item, message.line_items, message.members_url, message.scopes
    )
    labs = site.course.labs
    if message.lab and message.lab != link.lab and message.lab in labs:
        link = site.lti.point(link.id, message.lab, one.name)
    if link.lab in labs:
        return enter(request, one.id, person, link.lab)
    if person.role != "instructor":
        raise Refused("lab-unknown" if link.lab or message.lab else "no-lab")
    return choose_for_link(request, one.id, link, person)


def person_of(site: Site, message: Message) -> Person:
    """Return the person of the course who launches; a new account is connected with it.

    An account that the course knows is that person, whatever its address is now. One of staff is
    connected only when the platform, too, says that it teaches: addresses of students can be
    changed at some platforms.

    Raises:
        Refused: It is nobody of the course.
    """
    one, sub = message.registration, message.sub
    if message.is_test:
        raise Refused("test-user")
    who = site.lti.who(one.id, sub)
    if not who and not message.email:
        raise Refused("no-email")
    try:
        person = admit(site, Identity(message.email, bool(message.email), one.name, who))
    except HTTPException:
        raise Refused("left" if who else "not-in-roster") from None
    if not who:
        if person.is_staff and not message.is_staff:
            raise Refused("role-mismatch")
        try:
            site.lti.know(one.id, sub, person.who, one.name)
        except LabFault:
            raise Refused("other-account") from None
    return person
