"""The REST API: what the command line and other programs use, described by OpenAPI."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Request, UploadFile
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from grader.gradebook.values import Handed
from grader.portal import pages, talk
from grader.portal.requests import Visitor, may_read, site_of, visitor
from grader.portal.site import Site
from grader.portal.work import (
    hand_in,
    is_held,
    lab_line,
    lab_of,
    place_of,
    refusing,
    shown_grade,
    stored_of,
)

router = APIRouter(prefix="/api/v1", tags=["course"])

Signed = Annotated[Visitor, Depends(visitor)]


class Me(BaseModel):
    """The person whose token it is."""

    name: str
    role: str
    scopes: list[str]


class LabState(BaseModel):
    """A lab of the course, and what counts so far; times are ISO 8601 in UTC."""

    name: str
    title: str
    due: datetime | None
    status: str
    points: float | None
    max_points: float | None
    submission: int | None


class SubmissionState(BaseModel):
    """A submission. `grade` is a grade object without hidden values; null until it is graded.

    While the grades of the lab are not released, it is null too, and `held` is true.
    """

    id: int
    lab: str
    name: str
    sha256: str
    received: datetime | None
    status: str
    ahead: int | None = None
    held: bool = False
    grade: dict[str, Any] | None = None


class Question(BaseModel):
    """What a student asks about a grade."""

    text: str


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str


REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem} for code in (401, 403, 404, 413, 422, 429)
}


@router.get("/me", name="api_me", responses=REFUSALS)
def me(request: Request, me: Signed) -> Me:
    """Return whose token it is."""
    return Me(name=me.person.name, role=me.person.role, scopes=list(me.scopes))


@router.get("/labs", name="api_labs", responses=REFUSALS)
def labs(request: Request, me: Signed) -> list[LabState]:
    """Return the labs of the course, for a student with what counts."""
    site = site_of(request)
    return [_lab_state(site, me, name) for name in site.labs]


def _lab_state(site: Site, me: Visitor, name: str) -> LabState:
    title, due = site.labs[name].title, site.course.policy(name).due
    if not me.person.student:
        return LabState(
            name=name, title=title, due=due, status="", points=None, max_points=None,
            submission=None,
        )  # fmt: skip
    line = lab_line(site, me, name, me.person.student)
    entry = line.entry
    return LabState(
        name=name, title=title, due=line.policy.due, status=entry.status, points=entry.points,
        max_points=entry.max_points, submission=entry.submission,
    )  # fmt: skip


@router.post("/labs/{name}/submissions", name="api_submit", status_code=201, responses=REFUSALS)
async def submit(
    request: Request, me: Signed, name: str, file: Annotated[UploadFile, File()],
    answers: Annotated[UploadFile | None, File()] = None,
) -> SubmissionState:  # fmt: skip
    """Store a submission; the same file twice is one submission."""
    own = lab_of(site_of(request), name)
    data = await file.read()
    sheet = (await answers.read() if answers is not None else b"") or None
    called = file.filename or f"{own.name}.cu"
    with refusing():
        stored = await run_in_threadpool(hand_in, request, me, own, called, data, sheet)
    state = await run_in_threadpool(_state, request, me, stored.id)
    if not may_read(me):
        state.grade = None
    return state


@router.get("/labs/{name}/submissions", name="api_submissions", responses=REFUSALS)
def submissions(request: Request, me: Signed, name: str) -> list[SubmissionState]:
    """Return the student's own submissions of a lab, oldest first, without their grades."""
    site = site_of(request)
    lab_of(site, name)
    return [_short(name, one) for one in site.book.history(name, me.person.student)]


def _short(lab: str, one: Handed) -> SubmissionState:
    status = "waiting" if one.grade is None else "graded"
    return SubmissionState(
        id=one.id, lab=lab, name=one.name, sha256=one.sha256, received=one.received, status=status
    )


@router.get("/submissions/{number}", name="api_submission", responses=REFUSALS)
def submission(request: Request, me: Signed, number: int) -> SubmissionState:
    """Return a submission with its grade, or its place in the queue."""
    return _state(request, me, number)


def _state(request: Request, me: Visitor, number: int) -> SubmissionState:
    site = site_of(request)
    stored = stored_of(request, me, number)
    state = SubmissionState(
        id=stored.id, lab=stored.lab, name=stored.name, sha256=stored.sha256,
        received=stored.received, status="graded",
    )  # fmt: skip
    made = site.book.grade(number)
    if made is not None and is_held(site, me, stored.lab):
        state.held = True
        return state
    if made is not None:
        state.grade = shown_grade(site, me, stored.lab, made).to_json()
        return state
    place = place_of(site, number)
    state.status = "waiting" if place is None else _status(place.running, place.stopped)
    state.ahead = None if place is None or place.running or place.stopped else place.ahead
    return state


def _status(running: bool, stopped: bool) -> str:
    return "system-error" if stopped else "running" if running else "waiting"


class RequestState(BaseModel):
    """A request to look at a grade again, with its messages, oldest first."""

    id: int
    status: str
    score: float | None
    messages: list[str]


@router.get("/submissions/{number}/requests", name="api_requests", responses=REFUSALS)
def requests(request: Request, me: Signed, number: int) -> list[RequestState]:
    """Return the requests about a submission; scores and messages only when they are released."""
    site, stored = site_of(request), stored_of(request, me, number)
    held = is_held(site, me, stored.lab)
    return [
        RequestState(
            id=one.id, status=one.status, score=None if held else one.score,
            messages=[] if held else [said.body for said in one.messages],
        )
        for one in site.book.teaching.requests(number)
    ]  # fmt: skip


@router.post("/submissions/{number}/requests", name="api_ask", status_code=201, responses=REFUSALS)
def ask(request: Request, me: Signed, number: int, question: Question) -> RequestState:
    """Ask for another look at the grade of an own submission."""
    made = talk.asked(request, me, number, question.text)
    if not may_read(me):
        return RequestState(id=made, status="open", score=None, messages=[])
    return next(one for one in requests(request, me, number) if one.id == made)


@router.get(
    "/submissions/{number}/events",
    name="api_events",
    response_class=Response,
    responses={**REFUSALS, 200: {"content": {"text/event-stream": {}}}},
)
async def events(request: Request, me: Signed, number: int) -> Response:
    """Send what happens to a submission as server-sent events; `Last-Event-ID` resumes."""
    return await pages.submission_events(request, me, number)
