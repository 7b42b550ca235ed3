"""What a lab gives its students: the handout, the skeleton and the questions, once it is open."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel

from grader.labs.model import Lab
from grader.labs.quiz import ANSWERS_FILE, answer_form
from grader.portal.api import REFUSALS
from grader.portal.requests import Visitor, site_of, visitor
from grader.portal.task.handouts import skeleton_of
from grader.portal.work import is_open, lab_of

router = APIRouter()

Signed = Annotated[Visitor, Depends(visitor)]

FIGURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""A figure has its styles in it; it is an image, and in a window of its own it may nothing else."""


def _open_lab(request: Request, me: Visitor, name: str) -> Lab:
    """Return a lab that is open to a person. Raises 404."""
    site = site_of(request)
    own = lab_of(site, name)
    if not is_open(site, me, name):
        raise HTTPException(404, "there is no such page")
    return own


@router.get("/labs/{name}/skeleton", name="skeleton", include_in_schema=False)
def skeleton(request: Request, me: Signed, name: str) -> Response:
    """Send the skeleton of a lab as a file."""
    own = _open_lab(request, me, name)
    text = skeleton_of(own)
    if not text:
        raise HTTPException(404, "this lab has no skeleton")
    named = {"Content-Disposition": f'attachment; filename="{own.name}.cu"'}
    return PlainTextResponse(text, headers=named)


@router.get("/labs/{name}/handout/{figure}", name="handout_figure", include_in_schema=False)
def handout_figure(request: Request, me: Signed, name: str, figure: str) -> Response:
    """Send a figure of a lab's handout."""
    own = _open_lab(request, me, name)
    found = site_of(request).handouts.of(own.name)
    data = None if found is None else found.figures.get(figure)
    if data is None:
        raise HTTPException(404, "there is no such page")
    headers = {"Content-Security-Policy": FIGURE_POLICY, "Cache-Control": "private, max-age=300"}
    return Response(data, media_type="image/svg+xml", headers=headers)


class LabFiles(BaseModel):
    """The files of a lab by name: the skeleton, the form of the quiz, and the handout."""

    files: dict[str, str]


@router.get(
    "/api/v1/labs/{name}/files", name="api_files", responses=REFUSALS, tags=["course"]
)  # fmt: skip
def files(request: Request, me: Signed, name: str) -> LabFiles:
    """Return the files that a lab gives its students."""
    own = _open_lab(request, me, name)
    found = {f"{own.name}.cu": skeleton_of(own)}
    if own.quiz:
        found[ANSWERS_FILE] = answer_form(own)
    handout = site_of(request).handouts.of(own.name)
    if handout is not None:
        found[f"{own.name}.html"] = handout.file.decode("utf-8", "replace")
    return LabFiles(files={name: text for name, text in found.items() if text})
