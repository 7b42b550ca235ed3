"""The pages of the staff about the server: the queue, its health and the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from grader import __version__, replace
from grader.gradebook.workers import Health
from grader.portal.lti.standing import KeptStandings
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
    whose = taught_of(site, me, "queue", {one.id: one.student for one in waiting})
    own = [one for one in waiting if one.id in whose]
    return HTMLResponse(site.page("queue.html", me=me, waiting=own, whose=whose))


def taught_of(
    site: Site, me: Visitor, route: str, senders: Mapping[int, str]
) -> Mapping[int, str]:  # fmt: skip
    """Return those submissions that count for a student whom a person teaches, each with that one.

    Args:
        site: The course.
        me: The person.
        route: The route that the person uses.
        senders: The student who sent each submission, by its number; preferred where taught.
    """
    owners = site.book.groups.owners_of(senders)
    found = {}
    for number, sender in senders.items():
        mine = (who for who in owners.get(number, (sender,)) if site.covers(me.person, route, who))
        if who := next(mine, ""):
            found[number] = who
    return found


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
    found, whose = health_of(site, me, "health")
    kept: KeptStandings = request.app.state.grades
    sent = kept.of(lambda student: site.covers(me.person, "health", student))
    page = site.page(
        "health.html", me=me, health=found, whose=whose, version=__version__, grades=sent
    )
    return HTMLResponse(page)


def health_of(site: Site, me: Visitor, route: str) -> tuple[Health, Mapping[int, str]]:
    """Return how the server is, with the submissions that `taught_of` returns, and those."""
    whole = site.book.workers.health(site.labs, site.course.folder)
    senders = {work.submission: work.student for one in whole.workers for work in one.works}
    senders |= {one.id: one.student for one in whole.queue}
    senders |= {one.submission: one.student for one in whole.errors}
    own = taught_of(site, me, route, senders)
    return replace(
        whole,
        workers=tuple(
            replace(one, works=tuple(work for work in one.works if work.submission in own))
            for one in whole.workers
        ),
        queue=tuple(one for one in whole.queue if one.id in own),
        errors=tuple(one for one in whole.errors if one.submission in own),
    ), own


@router.get("/audit", name="audit")
def audit(request: Request, me: Signed) -> Response:
    """Show the newest changes."""
    site = site_of(request)
    newest = site.book.views.newest_events(200)
    return HTMLResponse(site.page("audit.html", me=me, events=reversed(newest)))
