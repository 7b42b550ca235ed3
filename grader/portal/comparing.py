"""The page and the API that compare two submissions of one student."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from grader.gradebook.values import StoredSubmission
from grader.portal.api import REFUSALS
from grader.portal.requests import Visitor, site_of, visitor
from grader.portal.site import Site
from grader.portal.work import is_held, seen_for, shown_grade, stored_of
from grader.reports.revisions import Revision, RevisionChanges, compare_revisions

router = APIRouter()

Signed = Annotated[Visitor, Depends(visitor)]


@router.get("/compare", name="compare", include_in_schema=False)
def compare_page(request: Request, me: Signed, a: int, b: int) -> Response:
    """Show what changed between two submissions of one student."""
    site = site_of(request)
    stored = _two(request, me, a, b)
    found = compared(site, me, stored)
    who = seen_for(request, me, sorted(site.book.groups.owners_of_all(stored)))
    numbers = {one.id: one.number for one in site.book.history(stored[0].lab, who)}
    page = site.page("compare.html", me=me, stored=stored, found=found, numbers=numbers, who=who)
    return HTMLResponse(page)


def _two(request: Request, me: Visitor, a: int, b: int) -> tuple[StoredSubmission, ...]:
    """Return two submissions of one lab and student, the older first. Raises 404."""
    stored = tuple(stored_of(request, me, number) for number in sorted((a, b)))
    if not site_of(request).book.groups.owners_of_all(stored):
        raise HTTPException(404, "these are not two submissions of one lab")
    return stored


def compared(site: Site, me: Visitor, stored: tuple[StoredSubmission, ...]) -> RevisionChanges:
    """Compare two submissions, with of each grade what the person may see."""
    held = is_held(site, me, stored[0].lab)
    versions = []
    for one in stored:
        made = None if held else site.book.grade(one.id)
        grade = None if made is None else shown_grade(site, me, one.lab, made)
        versions.append(Revision(one.data.decode("utf-8", "replace"), grade))
    return compare_revisions(*versions)


class DiffLineState(BaseModel):
    """A line of the difference of the sources: same, removed, added, or a place without changes."""

    kind: str
    old: int
    new: int
    text: str


class CheckState(BaseModel):
    """A check of one grade."""

    status: str
    points: float
    max_points: float
    summary: str


class CheckPairState(BaseModel):
    """A check of both grades; null where one does not have it."""

    name: str
    changed: bool
    old: CheckState | None
    new: CheckState | None


class FindingChange(BaseModel):
    """A finding that is gone, new or remaining, and its lines in both sources or 0."""

    state: str
    old_line: int
    new_line: int
    finding: dict[str, Any]


class CounterPairState(BaseModel):
    """A counter or measurement of both grades."""

    name: str
    old: float | None
    new: float | None
    difference: float | None


class ComparisonState(BaseModel):
    """What changed from the older to the newer submission.

    Without a grade that may be read of both, only `diff` has content.
    """

    old: int
    new: int
    diff: list[DiffLineState]
    checks: list[CheckPairState]
    findings: list[FindingChange]
    counters: list[CounterPairState]


@router.get("/api/v1/compare", name="api_compare", responses=REFUSALS, tags=["course"])
def api_compare(request: Request, me: Signed, a: int, b: int) -> ComparisonState:
    """Compare two submissions of one lab and student."""
    stored = _two(request, me, a, b)
    found = compared(site_of(request), me, stored).to_json()
    return ComparisonState.model_validate({**found, "old": stored[0].id, "new": stored[1].id})
