"""The pages of the staff: the class of a lab, a student, and what they decide about both."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from grader.gradebook.policy import Release
from grader.gradebook.values import Entry, ExtensionRow
from grader.portal.history import history_of
from grader.portal.requests import (
    Visitor,
    require_form,
    require_student,
    site_of,
    visitor,
)
from grader.portal.signin import end_views, start_view
from grader.portal.work import (
    handed_lines,
    lab_line,
    lab_of,
    moment_of,
    person_of,
    refusing,
    required,
)

router = APIRouter(include_in_schema=False)

Signed = Annotated[Visitor, Depends(visitor)]
Text = Annotated[str, Form(max_length=2000)]
MOST_POINTS = 1e6


@router.get("/class/{name}", name="class_page")
def class_page(request: Request, me: Signed, name: str) -> Response:
    """Show what counts for each student of a lab whom the person teaches."""
    site = site_of(request)
    own = lab_of(site, name)
    entries = [
        entry for entry in site.counted(name) if site.covers(me.person, "class_page", entry.student)
    ]
    page = site.page(
        "class.html", me=me, lab=own, entries=entries, sections=site.sections,
        extensions=site.book.extensions(name), tally=_tally(entries), release=site.release(name),
        held=site.holds(name), unbuilt=site.handouts.unbuilt([own]),
    )  # fmt: skip
    return HTMLResponse(page)


def _tally(entries: list[Entry]) -> list[tuple[str, int]]:
    kinds = ("graded", "overridden", "waiting", "incomplete", "refused", "missing")
    found = [(kind, sum(one.status == kind for one in entries)) for kind in kinds]
    return [(kind, number) for kind, number in found if number]


@router.get("/students/{student}", name="student_page")
def student_page(request: Request, me: Signed, student: str) -> Response:
    """Show all labs of one student."""
    require_student(request, me, student)
    site = site_of(request)
    person = person_of(site, student)
    lines = [lab_line(site, me, name, student) for name in site.labs]
    handed = {line.lab.name: handed_lines(site, me, line) for line in lines}
    results = {
        line.lab.name: history_of([one.handed for one in handed[line.lab.name]], line.lab)
        for line in lines
    }
    page = site.page(
        "student_page.html", me=me, person=person, lines=lines, handed=handed, results=results,
        extensions={name: site.book.extensions(name).get(student) for name in site.labs},
    )  # fmt: skip
    return HTMLResponse(page)


def _to_student(student: str) -> RedirectResponse:
    return RedirectResponse(f"/students/{quote(student, safe='')}", 303)


@router.post("/students/{student}/view", name="view_as")
def view_as(request: Request, me: Signed, student: str, form: Text) -> Response:
    """Look at the pages as a student, until `end_view`."""
    require_form(request, form, me)
    require_student(request, me, student)
    site = site_of(request)
    person_of(site, student)
    answer = RedirectResponse("/", 303)
    start_view(request, answer, student)
    return answer


@router.post("/view/end", name="end_view")
def end_view(request: Request, me: Signed, form: Text) -> Response:
    """Look as oneself again."""
    require_form(request, form, me)
    viewed = me.viewer is not None
    answer = _to_student(me.person.student) if viewed else RedirectResponse("/", 303)
    end_views(site_of(request), answer)
    return answer


@router.post("/class/{name}/extensions", name="extend")
def extend(
    request: Request, me: Signed, name: str, form: Text, student: Text, reason: Text,
    due: Text = "", group: Text = "",
) -> Response:  # fmt: skip
    """Give a student, or with `group` the student's whole group, another deadline.

    Without a deadline, remove it.
    """
    require_form(request, form, me)
    site = site_of(request)
    lab_of(site, name)
    whom = (student, *(site.book.groups.mates(name, student) if group else ()))
    require_student(request, me, student)
    if not all(site.covers(me.person, "extend", one) for one in whom[1:]):
        raise HTTPException(422, "the group has students of another section")
    moment = moment_of(site, due) if due else None
    why = required(reason, "an extension needs a reason")
    with refusing():
        if len(whom) == 1:
            site.book.extend(name, student, moment, me.person.email, why)
        else:
            rows = [ExtensionRow(name, one, moment, why) for one in whom]
            site.book.extend_all(rows, me.person.email)
    return _to_student(student)


@router.post("/class/{name}/points", name="points")
def points(
    request: Request, me: Signed, name: str, form: Text, student: Text, reason: Text,
    points: Text = "",
) -> Response:  # fmt: skip
    """Set a student's points instead of the computed ones; without points, remove them."""
    require_form(request, form, me)
    site = site_of(request)
    lab_of(site, name)
    require_student(request, me, student)
    person_of(site, student)
    try:
        value = float(points) if points.strip() else None
    except ValueError:
        raise HTTPException(422, "write the points as a number") from None
    if value is not None and not 0 <= value <= MOST_POINTS:
        raise HTTPException(422, f"points are from 0 to {MOST_POINTS:g}")
    why = required(reason, "points that are set need a reason")
    with refusing():
        site.book.override(name, student, value, me.person.email, why)
    return _to_student(student)


@router.post("/class/{name}/release", name="release")
def release(
    request: Request, me: Signed, name: str, form: Text, when: Text, moment: Text = "",
    reason: Text = "",
) -> Response:  # fmt: skip
    """Decide when students see the grades of a lab: `now`, `hold`, `from` a moment, `course`."""
    require_form(request, form, me)
    site = site_of(request)
    lab_of(site, name)
    if when not in ("now", "hold", "from", "course"):
        raise HTTPException(422, "choose when the grades are released")
    rule = {"now": Release(site.now()), "hold": Release(held=True)}.get(when)
    if when == "from":
        rule = Release(moment_of(site, moment))
    site.book.teaching.set_release(name, rule, me.person.email, reason.strip())
    return RedirectResponse(f"/class/{name}", 303)
