"""Requests to look at a grade again, and comments on a submission."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException
from fastapi import Request as WebRequest
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from grader.faults import LabFault
from grader.gradebook.ledger import MAX_TEXT
from grader.gradebook.values import Request
from grader.portal.requests import (
    Visitor,
    is_id,
    limits_of,
    require_form,
    require_one_of,
    site_of,
    visitor,
)
from grader.portal.work import is_held, refusing, seen_for, stored_of

router = APIRouter(include_in_schema=False)

Signed = Annotated[Visitor, Depends(visitor)]
Form_ = Annotated[str, Form(max_length=200)]
Text = Annotated[str, Form(max_length=2 * MAX_TEXT)]


@router.get("/requests", name="requests")
def requests(request: WebRequest, me: Signed) -> Response:
    """List the requests of the students whom the person teaches; to a student, the own ones."""
    site = site_of(request)
    known = site.book.teaching.requests()
    owners = site.book.groups.owners_of({one.submission for one in known})
    found = [
        one
        for one in reversed(known)
        if one.lab in site.labs
        and site.covers_one(me.person, "requests", owners.get(one.submission, (one.student,)))
    ]
    found.sort(key=lambda one: one.status != "open")
    return HTMLResponse(site.page("requests.html", me=me, requests=found))


@router.get("/requests/{number}", name="request_page")
def request_page(request: WebRequest, me: Signed, number: int) -> Response:
    """Show a request with its messages, the score at its time and the score of now."""
    site = site_of(request)
    one = request_of(request, me, number)
    held = is_held(site, me, one.lab)
    made = None if held else site.book.grade(one.submission)
    who = seen_for(request, me, site.book.groups.owners(one.submission))
    page = site.page("request.html", me=me, one=one, held=held, made=made, who=who)
    return HTMLResponse(page)


def request_of(request: WebRequest, me: Visitor, number: int) -> Request:
    """Return a request that a person may see. Raises 404."""
    one = site_of(request).book.teaching.request(number) if is_id(number) else None
    if one is None or one.lab not in site_of(request).labs:
        raise HTTPException(404, "there is no such page")
    require_one_of(request, me, site_of(request).book.groups.owners(one.submission))
    return one


@router.post("/submissions/{number}/requests", name="ask")
def ask(request: WebRequest, me: Signed, number: int, form: Form_, body: Text) -> Response:
    """Open a request about the grade of an own submission."""
    require_form(request, form, me)
    return RedirectResponse(f"/requests/{asked(request, me, number, body)}", 303)


def asked(request: WebRequest, me: Visitor, number: int, body: str) -> int:
    """Open a request and return its number. Raises 404, or 422 with the reason."""
    stored = stored_of(request, me, number)
    site = site_of(request)
    if is_held(site, me, stored.lab):
        raise HTTPException(422, "the grades of this lab are not released yet")
    limits_of(request).spend(("message", me.person.who))
    with refusing():
        made = site.book.teaching.ask(number, body, me.person.email)
    return made


@router.post("/requests/{number}/messages", name="reply")
def reply(request: WebRequest, me: Signed, number: int, form: Form_, body: Text) -> Response:
    """Add a message to a request."""
    require_form(request, form, me)
    one = request_of(request, me, number)
    limits_of(request).spend(("message", me.person.who))
    with refusing():
        site_of(request).book.teaching.reply(
            one.id, body, me.person.email, staff=me.person.is_staff
        )
    return RedirectResponse(f"/requests/{number}", 303)


@router.post("/requests/{number}/close", name="close_request")
def close_request(request: WebRequest, me: Signed, number: int, form: Form_) -> Response:
    """Close a request."""
    require_form(request, form, me)
    one = request_of(request, me, number)
    with refusing():
        site_of(request).book.teaching.close(one.id, me.person.email)
    return RedirectResponse(f"/requests/{number}", 303)


@router.post("/submissions/{number}/comments", name="comment")
def comment(
    request: WebRequest, me: Signed, number: int, form: Form_, body: Text,
    line: Annotated[str, Form(max_length=9)] = "",
) -> Response:  # fmt: skip
    """Write a comment on a line, or without one on the whole submission."""
    require_form(request, form, me)
    stored_of(request, me, number)
    if line and not (line.isascii() and line.isdecimal()):
        raise HTTPException(422, "write the number of a line, or leave it empty")
    with refusing():
        made = site_of(request).book.teaching.comment(number, int(line or 0), body, me.person.email)
    return RedirectResponse(f"/submissions/{number}#comment-{made}", 303)


@router.post("/submissions/{number}/comments/{comment_id}/remove", name="remove_comment")
def remove_comment(
    request: WebRequest, me: Signed, number: int, comment_id: int, form: Form_
) -> Response:  # fmt: skip
    """Remove a comment; the audit keeps it."""
    require_form(request, form, me)
    stored_of(request, me, number)
    with refusing(404):
        if not is_id(comment_id):
            raise LabFault("there is no such comment")
        site_of(request).book.teaching.remove_comment(number, comment_id, me.person.email)
    return RedirectResponse(f"/submissions/{number}", 303)
