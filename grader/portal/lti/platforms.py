"""The instructors' page of the platforms: which lead to the course, their links, and who is who."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from grader.faults import LabFault
from grader.gradebook.lti import NewRegistration
from grader.portal.lti.registrations import MAX_TEXT, checked
from grader.portal.requests import Visitor, is_id, require_form, site_of, visitor
from grader.portal.work import lab_of, refusing, required

router = APIRouter(include_in_schema=False)

PAGE = "/lti/platforms"
Signed = Annotated[Visitor, Depends(visitor)]
Text = Annotated[str, Form(max_length=MAX_TEXT)]


@router.get(PAGE, name="lti_platforms")
def platforms(request: Request, me: Signed) -> Response:
    """Show the platforms, their links and the people who are connected."""
    return _page(request, me)


def _page(request: Request, me: Visitor, invitation: str = "") -> Response:
    site = site_of(request)
    known = [one for one in site.lti.registrations() if one.active]
    names = {one.id: one.name for one in known}
    places = {one.id: site.lti.deployments(one.id) for one in known}
    of = {each.id: number for number, found in places.items() for each in found}
    people = [
        (one, names[one.registration], site.people.person(one.who))
        for one in site.lti.people()
        if one.registration in names
    ]
    page = site.page(
        "lti_platforms.html", me=me, platforms=known, places=places, people=people,
        links=[
            (one, names[of[one.deployment]]) for one in site.lti.links() if one.deployment in of
        ],
        labs=[(name, site.labs[name].title) for name in site.course.labs],
        invitation=invitation,
    )  # fmt: skip
    return HTMLResponse(page)


def _done() -> Response:
    return RedirectResponse(PAGE, 303)


@router.post(PAGE, name="lti_add")
def add(
    request: Request, me: Signed, form: Text, issuer: Text, client_id: Text, auth_url: Text,
    token_url: Text, jwks_url: Text, name: Text = "", deployment: Text = "", audience: Text = "",
) -> Response:  # fmt: skip
    """Register a platform with what it shows after it has registered the portal."""
    require_form(request, form, me)
    with refusing():
        new = checked(
            NewRegistration(
                issuer.strip(), client_id.strip(), name.strip() or issuer.strip(),
                auth_url.strip(), token_url.strip(), jwks_url.strip(), audience.strip(),
            )
        )  # fmt: skip
    made = site_of(request).lti.register(new, me.person.email)
    if deployment.strip():
        site_of(request).lti.deploy(made.id, deployment.strip(), me.person.email)
    return _done()


@router.post(PAGE + "/{number}/remove", name="lti_remove")
def remove(request: Request, me: Signed, number: int, form: Text) -> Response:
    """End a registration."""
    require_form(request, form, me)
    _require_platform(request, number)
    site_of(request).lti.remove(number, me.person.email)
    return _done()


def _require_platform(request: Request, number: int) -> None:
    one = site_of(request).lti.registration(number) if is_id(number) else None
    if one is None or not one.active:
        raise HTTPException(404, "there is no such platform")


@router.post(PAGE + "/{number}/deployments", name="lti_deploy")
def deploy(request: Request, me: Signed, number: int, form: Text, deployment: Text) -> Response:
    """Add a deployment of a platform."""
    require_form(request, form, me)
    _require_platform(request, number)
    name = required(deployment, "write the platform's ID of the deployment")
    site_of(request).lti.deploy(number, name, me.person.email)
    return _done()


@router.post(PAGE + "/deployments/{number}/remove", name="lti_undeploy")
def undeploy(request: Request, me: Signed, number: int, form: Text) -> Response:
    """End a deployment."""
    require_form(request, form, me)
    try:
        site_of(request).lti.remove_deployment(number if is_id(number) else 0, me.person.email)
    except LabFault:
        raise HTTPException(404, "there is no such deployment") from None
    return _done()


@router.post("/lti/invitations", name="lti_invite")
def invite(request: Request, me: Signed, form: Text) -> Response:
    """Make an address with which a platform registers itself, and show it this once."""
    require_form(request, form, me)
    site = site_of(request)
    return _page(request, me, f"{site.url}/lti/register/{site.lti.invite(me.person.email)}")


@router.post("/lti/links/{number}", name="lti_repoint")
def repoint(request: Request, me: Signed, number: int, form: Text, lab: Text) -> Response:
    """Have a link lead to another lab."""
    require_form(request, form, me)
    site = site_of(request)
    lab_of(site, lab)
    try:
        site.lti.point(number if is_id(number) else 0, lab, me.person.email)
    except LabFault:
        raise HTTPException(404, "there is no such link") from None
    return _done()


@router.post("/lti/people/{number}/forget", name="lti_forget")
def forget(request: Request, me: Signed, number: int, form: Text) -> Response:
    """Disconnect an account of a platform from its person."""
    require_form(request, form, me)
    try:
        site_of(request).lti.forget(number if is_id(number) else 0, me.person.email)
    except LabFault:
        raise HTTPException(404, "there is no such account") from None
    return _done()
