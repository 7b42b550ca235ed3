"""Signing in by a link or at a provider of OpenID Connect; sessions; tokens for programs."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Cookie, Depends, Form, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.background import BackgroundTask

from grader.faults import LabFault, MachineFault
from grader.gradebook.people import (
    SCOPES,
    SESSION_LIFE,
    Identity,
    Person,
    comparable_address,
)
from grader.portal.lti.cookies import add_framed_cookie, drop_framed_cookie
from grader.portal.openid import FLOW_SECONDS, OpenId, ProviderFault
from grader.portal.requests import (
    COOKIE,
    FRAME_COOKIE,
    VIEW_COOKIES,
    Visitor,
    address_of,
    is_id,
    limits_of,
    require_form,
    require_own_origin,
    site_of,
    visitor,
    visitor_of,
)
from grader.portal.site import Site

router = APIRouter(include_in_schema=False)

FLOW_COOKIE = "warpgrade-sign-in"

SENT = (
    "If this address is on the course's list, a link is on its way. It works for 15 minutes. "
    "If no message comes, look for it among the spam, or ask the staff which address they have."
)
"""The same for every address, so that nobody learns who takes the course."""

Signed = Annotated[Visitor, Depends(visitor)]
Text = Annotated[str, Form(max_length=320)]


def admit(site: Site, identity: Identity) -> Person:
    """Return the person of the course with that identity; the roster alone decides who that is.

    Every way to sign in at somebody else's goes through here.

    Raises:
        HTTPException: 403 for an address that is not verified, or of no person in the course.
    """
    if identity.who:
        person = site.people.person(identity.who)
        if person is None:
            raise HTTPException(403, "you are not in the course any more: ask your instructor")
        return person
    if not identity.verified or not identity.email or not identity.email.isprintable():
        raise HTTPException(403, f"{identity.source} did not confirm your e-mail address")
    person = site.people.find(identity.email)
    if person is None:
        what = f"there is no person with the address {identity.email} in the course"
        raise HTTPException(403, f"{what}: ask your instructor")
    return person


def start_session(site: Site, person: Person, to: str = "/") -> Response:
    """Return the answer that signs a person in and leads to a page."""
    answer = RedirectResponse(to, 303)
    answer.set_cookie(
        COOKIE, site.people.new_session(person.who), max_age=int(SESSION_LIFE.total_seconds()),
        httponly=True, samesite="lax", secure=site.url.startswith("https:"),
    )  # fmt: skip
    drop_framed_cookie(answer, site.url, FRAME_COOKIE)
    end_views(site, answer)  # of whoever looked as a student in this browser before
    return answer


def start_view(request: Request, answer: Response, student: str) -> None:
    """Have this session look as a student, in the kind of page that it is used in."""
    site, who = site_of(request), quote(student, safe="")
    if request.state.session_cookie == FRAME_COOKIE:
        life = int(SESSION_LIFE.total_seconds())
        add_framed_cookie(answer, site.url, VIEW_COOKIES[FRAME_COOKIE], who, life)
        return
    answer.set_cookie(
        VIEW_COOKIES[COOKIE], who, httponly=True, samesite="lax",
        secure=site.url.startswith("https:"),
    )  # fmt: skip


def end_views(site: Site, answer: Response) -> None:
    """Have no session of this browser look as a student."""
    answer.delete_cookie(VIEW_COOKIES[COOKIE])
    drop_framed_cookie(answer, site.url, VIEW_COOKIES[FRAME_COOKIE])


@router.get("/sign-in", name="sign_in")
def sign_in(request: Request) -> Response:
    """Ask for the address."""
    if visitor_of(request) is not None:
        return RedirectResponse("/", 303)
    return HTMLResponse(site_of(request).page("sign_in.html", said="", me=None))


@router.post("/sign-in", name="send_link")
def send_link(request: Request, email: Text) -> Response:
    """Send a link to a person of the course; the answer is the same for everybody.

    It is given before anybody looks who that is: neither its time nor a mail server that fails
    tells whether the address is in the course.
    """
    require_own_origin(request)
    site, who = site_of(request), comparable_address(email)
    limits_of(request).spend(("address", address_of(request)), ("sign-in", who))
    page = site.page("sign_in.html", said=SENT, me=None)
    return HTMLResponse(page, background=BackgroundTask(_send_link, site, email))


def _send_link(site: Site, email: str) -> None:
    try:
        person = site.people.find(email)
        if person is not None:
            secret = site.people.new_link(person.who)
            site.send_link(person, f"{site.url}/sign-in/{secret}")
    except MachineFault as fault:
        site.say(f"a link to sign in was not sent: {fault}")


def _openid(request: Request) -> OpenId:
    found = site_of(request).openid
    if found is None:
        raise HTTPException(404, "there is no such page")
    limits_of(request).spend(("address", address_of(request)))
    return found


def _unreachable(openid: OpenId) -> HTTPException:
    what = f"the sign-in with {openid.name} does not work now: ask for a link by e-mail"
    return HTTPException(502, what)


@router.get("/sign-in/openid", name="begin_openid")
def begin_openid(request: Request) -> Response:
    """Lead to the provider."""
    site, openid = site_of(request), _openid(request)
    try:
        address, cookie = openid.begin(site.url)
    except ProviderFault as fault:
        site.say(f"sign-in with {openid.name}: {fault}")
        raise _unreachable(openid) from None
    answer = RedirectResponse(address, 303, {"Cache-Control": "no-store"})
    answer.set_cookie(
        FLOW_COOKIE, cookie, max_age=int(FLOW_SECONDS), path="/sign-in/openid", httponly=True,
        samesite="lax", secure=site.url.startswith("https:"),
    )  # fmt: skip
    return answer


@router.get("/sign-in/openid/answer", name="end_openid")
def end_openid(
    request: Request, state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=4096)] = "",
    iss: Annotated[str, Query(max_length=1000)] = "",
    cookie: Annotated[str, Cookie(alias=FLOW_COOKIE, max_length=4096)] = "",
) -> Response:  # fmt: skip
    """Verify the provider's answer and start a session."""
    site, openid = site_of(request), _openid(request)
    flow = openid.flow(cookie, state)
    if flow is None or iss not in ("", openid.issuer):
        raise HTTPException(403, "this sign-in was not begun here, or is too old: begin again")
    if not code:
        raise HTTPException(403, f"{openid.name} did not sign you in: begin again")
    try:
        identity = openid.identity(flow, code, site.url)
    except ProviderFault as fault:
        site.say(f"sign-in with {openid.name}: {fault}")
        raise _unreachable(openid) from None
    answer = start_session(site, admit(site, identity))
    answer.delete_cookie(FLOW_COOKIE, path="/sign-in/openid")
    return answer


@router.get("/sign-in/{secret}", name="confirm_link")
def confirm_link(request: Request, secret: str) -> Response:
    """Ask for a click: programs that read mail open every address in it."""
    return HTMLResponse(site_of(request).page("confirm.html", secret=secret, me=None))


@router.post("/sign-in/{secret}", name="use_link")
def use_link(request: Request, secret: str) -> Response:
    """Start a session."""
    require_own_origin(request)  # else another site signs its visitors in as somebody else
    site = site_of(request)
    limits_of(request).spend(("address", address_of(request)))
    person = site.people.use_link(secret)
    if person is None:
        raise HTTPException(403, "this link was used before or is too old: ask for a new one")
    return start_session(site, person)


@router.post("/sign-out", name="sign_out")
def sign_out(request: Request, me: Signed, form: Text) -> Response:
    """End the session."""
    require_form(request, form, me)
    site_of(request).people.end_session(me.session)
    # Else "Back" shows the next one at this machine what the browser has kept.
    answer = RedirectResponse("/sign-in", 303, {"Clear-Site-Data": '"cache"'})
    answer.delete_cookie(COOKIE)
    end_views(site_of(request), answer)
    drop_framed_cookie(answer, site_of(request).url, FRAME_COOKIE)
    return answer


@router.get("/account", name="account")
def account(request: Request, me: Signed) -> Response:
    """Show the person's tokens."""
    return _account(request, me, "")


def _account(request: Request, me: Visitor, token: str) -> Response:
    site = site_of(request)
    tokens = site.people.tokens(me.person.who)
    page = site.page("account.html", me=me, tokens=tokens, token=token, scopes=SCOPES)
    return HTMLResponse(page)


@router.post("/account/tokens", name="new_token")
def new_token(
    request: Request, me: Signed, form: Text, name: Annotated[str, Form(max_length=80)],
    scope: Annotated[list[str], Form()],
) -> Response:  # fmt: skip
    """Make a token and show it this once."""
    require_form(request, form, me)
    try:
        token = site_of(request).people.new_token(me.person.who, name, scope, me.person.who)
    except LabFault as fault:
        raise HTTPException(422, fault.what) from None
    answer = _account(request, me, token)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@router.post("/account/tokens/{number}/revoke", name="revoke_token")
def revoke_token(request: Request, me: Signed, number: int, form: Text) -> Response:
    """End a token."""
    require_form(request, form, me)
    if not is_id(number) or not site_of(request).people.revoke(
        me.person.who, number, me.person.who
    ):
        raise HTTPException(404, "there is no such token")
    return RedirectResponse("/account", 303)
