"""The pages of the regrades: submissions graded again, as a proposal until staff decide."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from grader.gradebook.values import Regrade
from grader.portal.requests import Visitor, is_id, require_form, site_of, visitor
from grader.portal.site import Site
from grader.portal.work import lab_of, refusing, required

router = APIRouter(include_in_schema=False)

Signed = Annotated[Visitor, Depends(visitor)]
Text = Annotated[str, Form(max_length=2000)]


@router.get("/regrades", name="regrades")
def regrades(request: Request, me: Signed) -> Response:
    """List the regrades, newest first."""
    site = site_of(request)
    found = site.book.teaching.regrades()
    return HTMLResponse(site.page("regrades.html", me=me, regrades=found))


@router.get("/regrades/{number}", name="regrade_page")
def regrade_page(request: Request, me: Signed, number: int) -> Response:
    """Show what a regrade would change, or changed, before it counts."""
    site = site_of(request)
    one = _regrade(site, number)
    is_open = one.state == "open"
    changes = site.book.changes(one.proposal) if is_open else ()
    pending = site.book.teaching.pending(one) if is_open else ()
    left = sum(not waits.stopped for waits in pending)
    page = site.page(
        "regrade.html", me=me, one=one, left=left, stopped=len(pending) - left,
        graded=len(changes), changes=[change for change in changes if change.differs],
    )  # fmt: skip
    return HTMLResponse(page)


def _regrade(site: Site, number: int) -> Regrade:
    """Return a regrade by its number. Raises 404."""
    one = site.book.teaching.regrade(number) if is_id(number) else None
    if one is None:
        raise HTTPException(404, "there is no such page")
    return one


@router.post("/class/{name}/regrades", name="start_regrade")
def start_regrade(
    request: Request, me: Signed, name: str, form: Text, reason: Text, students: Text = ""
) -> Response:  # fmt: skip
    """Have a lab's submissions graded again, of the named students or of all, as a proposal."""
    require_form(request, form, me)
    site = site_of(request)
    lab_of(site, name)
    why = required(reason, "a regrade needs a reason")
    with refusing():
        named = students.replace(",", " ").split()
        made = site.book.teaching.start_regrade(name, named, me.person.email, why)
    return RedirectResponse(f"/regrades/{made.id}", 303)


@router.post("/regrades/{number}/retry", name="retry_regrade")
def retry_regrade(request: Request, me: Signed, number: int, form: Text) -> Response:
    """Have those submissions of a regrade graded again that ended with system errors."""
    require_form(request, form, me)
    site = site_of(request)
    _regrade(site, number)
    with refusing():
        site.book.retry_regrade(number, me.person.email)
    return RedirectResponse(f"/regrades/{number}", 303)


@router.post("/regrades/{number}/decision", name="decide_regrade")
def decide_regrade(
    request: Request, me: Signed, number: int, form: Text, decision: Text
) -> Response:  # fmt: skip
    """Let the grades of a regrade count, or reject them."""
    require_form(request, form, me)
    site = site_of(request)
    if decision not in ("adopt", "reject"):
        raise HTTPException(422, "choose to adopt or to reject")
    _regrade(site, number)
    with refusing():
        site.book.teaching.end_regrade(number, me.person.email, adopt=decision == "adopt")
    return RedirectResponse(f"/regrades/{number}", 303)
