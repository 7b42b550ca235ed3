"""The groups of a lab, the students who submit together; and the API of groups and extensions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from grader.gradebook.course import team_name
from grader.gradebook.values import Extension, Membership
from grader.portal.api import REFUSALS
from grader.portal.requests import (
    Visitor,
    may_read,
    require_form,
    require_student,
    site_of,
    visitor,
)
from grader.portal.site import Site
from grader.portal.work import lab_of, moment_of, refusing, required

router = APIRouter()

Signed = Annotated[Visitor, Depends(visitor)]
Text = Annotated[str, Form(max_length=500)]


def groups_of(site: Site, me: Visitor, lab: str) -> list[Membership]:
    """Return the members of a lab's groups by group, of those in which a person teaches one."""
    known = site.book.groups.members(lab)
    seen = {
        one.team or who
        for who, one in known.items()
        if site.covers(me.person, "groups", who)
    }  # fmt: skip
    rows = [one for who, one in known.items() if (one.team or who) in seen]
    return sorted(rows, key=lambda one: (not one.team, one.team, one.student))


def put(
    request: Request, me: Visitor, lab: str, student: str, team: str | None, reason: str, *,
    earlier: bool,
) -> int:  # fmt: skip
    """Put a student into a group, None for course.yaml's; return how many submissions it shares.

    Raises:
        HTTPException: 404 for a student whom the person does not teach, or for a group of one;
            422 with the reason when it is not possible.
    """
    site = site_of(request)
    lab_of(site, lab)
    require_student(request, me, student)
    why = required(reason, "a change of a group needs a reason")
    with refusing():
        wanted = site.course.groups.get((lab, student), "") if team is None else team_name(team)
        for who, one in site.book.groups.members(lab).items():
            if wanted and one.team == wanted:
                require_student(request, me, who)
        made = site.book.groups.put(lab, student, team, me.person.email, why, earlier=earlier)
    return made


@router.get("/class/{name}/groups", name="groups", include_in_schema=False)
def groups(request: Request, me: Signed, name: str, shared: int | None = None) -> Response:
    """Show the groups of a lab, and the form that changes them."""
    site = site_of(request)
    own = lab_of(site, name)
    rows = groups_of(site, me, name)
    said = "" if shared is None else f"{shared} earlier submissions count for more students now"
    page = site.page(
        "groups.html", me=me, lab=own, rows=rows, said=said,
        teams=sorted({one.team for one in rows if one.team}),
        choices=[pair for pair in site.names.items() if site.covers(me.person, "groups", pair[0])],
    )  # fmt: skip
    return HTMLResponse(page)


@router.post("/class/{name}/groups", name="set_group", include_in_schema=False)
def set_group(
    request: Request, me: Signed, name: str, form: Text, student: Text, reason: Text,
    team: Text = "", course: Text = "", earlier: Text = "",
) -> Response:  # fmt: skip
    """Put a student into a group of a lab; without a name, into none."""
    require_form(request, form, me)
    wanted = None if course else team
    count = put(request, me, name, student, wanted, reason, earlier=bool(earlier))
    return RedirectResponse(f"/class/{name}/groups" + (f"?shared={count}" if earlier else ""), 303)


Reason = Annotated[str, Field(max_length=500)]


class ExtensionState(BaseModel):
    """A student's own deadline in a lab; `origin` is `staff` or `course.yaml`."""

    student: str
    due: datetime
    author: str
    origin: str
    reason: str
    at: datetime


class NewExtension(BaseModel):
    """A deadline for one student, as course.yaml has it: `2027-03-28 23:59`, or with an offset.

    `due` of null removes what staff decided.
    """

    student: str
    due: str | None
    reason: Reason


class GroupMember(BaseModel):
    """The group that a student is in; `team` is "" for one whom staff took out of it."""

    student: str
    team: str
    author: str
    origin: str
    reason: str
    at: datetime


class NewMember(BaseModel):
    """A student's group: "" to work alone, null for what course.yaml says.

    With `earlier`, what the group has submitted so far counts for all of it.
    """

    student: str
    team: str | None
    reason: Reason
    earlier: bool = False


@router.get(
    "/api/v1/labs/{name}/extensions", name="api_extensions", responses=REFUSALS, tags=["staff"]
)
def extensions(request: Request, me: Signed, name: str) -> list[ExtensionState]:
    """Return the extensions of a lab that count, of the students whom the person teaches."""
    site = site_of(request)
    lab_of(site, name)
    return [
        _extension(who, one)
        for who, one in site.book.extensions(name).items()
        if site.covers(me.person, "api_extensions", who) and may_read(me)
    ]


def _extension(who: str, one: Extension) -> ExtensionState:
    assert one.due is not None
    return ExtensionState(
        student=who, due=one.due, author=one.author, origin=one.origin, reason=one.reason, at=one.at
    )


@router.post(
    "/api/v1/labs/{name}/extensions",
    name="api_extend",
    status_code=201,
    responses=REFUSALS,
    tags=["staff"],
)
def extend(request: Request, me: Signed, name: str, new: NewExtension) -> list[ExtensionState]:
    """Give a student another deadline; return the extensions that count then, to who may read."""
    site = site_of(request)
    lab_of(site, name)
    require_student(request, me, new.student)
    why = required(new.reason, "an extension needs a reason")
    due = None if new.due is None else moment_of(site, new.due)
    with refusing():
        site.book.extend(name, new.student, due, me.person.email, why)
    return extensions(request, me, name)


@router.get("/api/v1/labs/{name}/groups", name="api_groups", responses=REFUSALS, tags=["staff"])
def list_groups(request: Request, me: Signed, name: str) -> list[GroupMember]:
    """Return the members of a lab's groups."""
    site = site_of(request)
    lab_of(site, name)
    return [_member(one) for one in groups_of(site, me, name)] if may_read(me) else []


def _member(one: Membership) -> GroupMember:
    return GroupMember(**vars(one))


@router.post(
    "/api/v1/labs/{name}/groups",
    name="api_set_group",
    status_code=201,
    responses=REFUSALS,
    tags=["staff"],
)
def put_member(request: Request, me: Signed, name: str, new: NewMember) -> list[GroupMember]:
    """Put a student into a group; return the members of the lab's groups, to who may read."""
    put(request, me, name, new.student, new.team, new.reason, earlier=new.earlier)
    return list_groups(request, me, name)
