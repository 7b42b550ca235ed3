"""The pages of the staff about the server: the queue, its health and the audit."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from grader import __version__
from grader.gradebook.workers import Health
from grader.portal.lti.standing import standings_of
from grader.portal.requests import Visitor, require_form, require_student, site_of, visitor
from grader.portal.site import Site
from grader.portal.work import lab_of

router = APIRouter(include_in_schema=False)

Signed = Annotated[Visitor, Depends(visitor)]
Text = Annotated[str, Form(max_length=2000)]


@router.get("/queue", name="queue")
def queue(request: Request, me: Signed) -> Response:
    """Show what waits and what failed because of the machine."""
    site = site_of(request)
    waiting = site.progress.waiting(site.labs)
    own = [one for one in waiting if site.covers(me.person, "queue", one.student)]
    return HTMLResponse(site.page("queue.html", me=me, waiting=own))


@router.post("/queue/{name}/retry", name="retry")
def retry(request: Request, me: Signed, name: str, form: Text, student: Text) -> Response:
    """Have a student's submissions graded again that ended with system errors."""
    require_form(request, form, me)
    site = site_of(request)
    lab_of(site, name)
    require_student(request, me, student)
    site.book.forgive(name, me.person.email, students=[student], proposal="")
    return RedirectResponse("/queue", 303)


@router.get("/health", name="health")
def health(request: Request, me: Signed) -> Response:
    """Show the workers, the queue, the machine's errors, the disk, and grades for platforms."""
    site = site_of(request)
    found = health_of(site, me, "health")
    sent = standings_of(site, lambda student: site.covers(me.person, "health", student))
    page = site.page("health.html", me=me, health=found, version=__version__, grades=sent)
    return HTMLResponse(page)


def health_of(site: Site, me: Visitor, route: str) -> Health:
    """Return how the server is, with the submissions of those students whom a person teaches."""
    whole = site.book.workers.health(site.labs, site.course.folder)

    def own(student: str) -> bool:
        return site.covers(me.person, route, student)

    return replace(
        whole,
        workers=tuple(
            replace(one, works=tuple(work for work in one.works if own(work.student)))
            for one in whole.workers
        ),
        queue=tuple(one for one in whole.queue if own(one.student)),
        errors=tuple(one for one in whole.errors if own(one.student)),
    )


@router.get("/audit", name="audit")
def audit(request: Request, me: Signed) -> Response:
    """Show the newest changes."""
    site = site_of(request)
    newest = list(site.book.audit())[-200:]
    return HTMLResponse(site.page("audit.html", me=me, events=reversed(newest)))
