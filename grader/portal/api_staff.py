"""The part of the REST API that is for the staff: how the server is, and grading again."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel

from grader.gradebook.workers import WorkerStatus
from grader.portal.api import REFUSALS, Signed
from grader.portal.health import health_of
from grader.portal.requests import require_student, site_of
from grader.portal.similar import shown_result
from grader.portal.work import lab_of

router = APIRouter(prefix="/api/v1", tags=["staff"])


class WorkState(BaseModel):
    """A submission that is being graded, for a regrade or for the queue."""

    submission: int
    lab: str
    student: str
    since: datetime
    regrade: bool


class WorkerState(BaseModel):
    """A process that grades; `seen` is when it was last heard of."""

    host: str
    pid: str
    status: WorkerStatus
    backend: Literal["sim", "gpu"]
    device: str
    jobs: int
    version: str
    note: str
    started: datetime
    seen: datetime
    works: list[WorkState]


class StoppedState(BaseModel):
    """A submission that is not tried again until the staff have it graded again."""

    submission: int
    lab: str
    student: str
    faults: int


class ErrorState(BaseModel):
    """An attempt that ended with a system error."""

    submission: int
    lab: str
    student: str
    host: str
    reason: str
    at: datetime
    regrade: bool


class HealthState(BaseModel):
    """How the server is; `head_seconds` is how long the next submission has waited."""

    at: datetime
    grader: str
    tables: str
    problems: list[str]
    workers: list[WorkerState]
    waiting: int
    running: int
    head_seconds: float | None
    stopped: list[StoppedState]
    errors: list[ErrorState]
    database_bytes: int
    free_bytes: int


class Whose(BaseModel):
    """A student of the course by ID."""

    student: str


class Retried(BaseModel):
    """How many submissions are graded again."""

    submissions: int


@router.get("/health", name="api_health", responses=REFUSALS)
def health(request: Request, me: Signed) -> HealthState:
    """Return how the server is, as the page "Health" shows it."""
    found, _ = health_of(site_of(request), me, "api_health")
    return HealthState(**found.to_json())


@router.post("/labs/{name}/retry", name="api_retry", responses=REFUSALS)
def retry(request: Request, me: Signed, name: str, whose: Whose) -> Retried:
    """Have a student's submissions of a lab graded again that ended with system errors."""
    site = site_of(request)
    lab_of(site, name)
    require_student(request, me, whose.student)
    students = [whose.student]
    count = site.book.forgive(name, me.person.email, students=students, proposal="")
    return Retried(submissions=count)


class SimilarState(BaseModel):
    """The comparison of a lab: `result` is null while it is made; `failure` says why it has none.

    The result is what `grader portal similar --json` writes, with the pairs of which one teaches
    both students. `outdated`: it is of earlier submissions, and the newer ones are being compared.
    """

    failure: str
    result: dict[str, Any] | None
    outdated: bool


@router.get("/labs/{name}/similar", name="api_similar", responses=REFUSALS)
def similar(request: Request, me: Signed, name: str) -> SimilarState:
    """Return the unusually similar pairs of a lab; the first request starts the comparison."""
    found = shown_result(request, me, name, "api_similar")
    result = None if found.result is None else dict(found.result)
    return SimilarState(failure=found.failure, result=result, outdated=found.outdated)
