"""The pages and the API of the leaderboards: one for each lab whose course has it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel

from grader import dataclass
from grader.faults import LabFault
from grader.gradebook.board import LONGEST, SHORTEST, Marks, Member
from grader.gradebook.derived import Derived
from grader.grading.cost import SECTOR, WAVEFRONT
from grader.labs.model import Lab
from grader.labs.reading import lab_digest
from grader.portal.api import REFUSALS
from grader.portal.history import History, Levels, history_of
from grader.portal.ranking import (
    Place,
    Standing,
    ranked,
    read_cost,
    result_of,
    verified,
    visible_to,
)
from grader.portal.requests import (
    Visitor,
    limits_of,
    may_read,
    require_form,
    require_student,
    site_of,
    visitor,
)
from grader.portal.site import Site
from grader.portal.work import is_held, is_open, lab_of, refusal, refusing, required

router = APIRouter()

Signed = Annotated[Visitor, Depends(visitor)]
Text = Annotated[str, Form(max_length=2000)]


@dataclass(frozen=True)
class Board:
    """The leaderboard of a lab as one person sees it.

    Attributes:
        places: What the person sees, in order.
        member: The person's own part; None without one.
        own: The person's own line; None without one.
        levels: What the lab's own kernels reach, by the measure.
        band: The speedups over which points grow: by device, from and to.
        case: The public case whose cost is measured; "" when nothing is.
        held: Whether the person may not see the grades yet.
    """

    places: tuple[Place, ...]
    member: Member | None
    own: Place | None
    levels: Mapping[str, Levels]
    band: tuple[tuple[str, float, float], ...]
    case: str
    held: bool


def whole_board(site: Site, lab: Lab) -> tuple[Place, ...]:
    """Return the leaderboard of a lab as those see it who may know everything.

    Raises:
        LabFault: The course has no leaderboard for this lab.
    """
    if not site.course.policy(lab.name).leaderboard:
        fix = "write `leaderboard: true` in course.yaml"
        raise LabFault(f"the course has no leaderboard for `{lab.name}`", fix=fix)
    digest, marks = lab_digest(lab), site.book.board.marks(lab.name)
    current = marks if marks and marks.lab_sha256 == digest else None
    state = (site.book.views.state(lab.name), digest, current)
    return site.boards.of(lab.name, state, lambda: _ranked(site, lab, digest, current))


def _ranked(site: Site, lab: Lab, digest: str, marks: Marks | None) -> tuple[Place, ...]:
    """Rank what counts for those who take part and are in the course."""
    known = site.book.board.members(lab.name)
    here = {who for who in site.people.sections() if who in known and known[who].pseudonym}
    entries = {one.student: one for one in site.counted(lab.name) if one.student in here}
    kept = site.results.of(
        lab.name, digest, lambda: Derived(lambda made: result_of(made, lab, digest))
    )
    counting = [one.attempt for one in entries.values() if one.attempt is not None]
    results = site.book.views.derived(kept, counting)
    members = [
        (known[who], verified(one, results.get(one.attempt or 0)))
        for who, one in sorted(entries.items())
    ]
    return ranked(members, _mark_places(marks, [found for _, found in members]))


def _mark_places(marks: Marks | None, found: list[Standing | str]) -> dict[str, Standing]:
    """Return what the baseline and the solution are ranked by, as far as it is known."""
    values: Mapping[str, Any] = marks.values if marks else {}
    known = [one for one in found if isinstance(one, Standing)]
    cost = read_cost(values.get("cost"))
    costs = [cost, *(one.cost for one in known)]
    base = next((one.baseline for one in costs if one and one.baseline), None)
    places: dict[str, Standing] = {}
    if cost:
        timed = values.get("speedup") and any(one.speedup for one in known)
        speedup, device = values.get("speedup"), str(values.get("device") or "")
        places["solution"] = Standing(cost, speedup, device) if timed else Standing(cost)
    if base:
        timed_baseline = 1.0 if known and all(one.speedup for one in known) else None
        places["baseline"] = Standing(base, timed_baseline)
    return places


def board_of(site: Site, me: Visitor, lab: Lab) -> Board:
    """Return the leaderboard of a lab as a person sees it. Raises 404 where there is none."""
    _require_board(site, me, lab.name)
    places = whole_board(site, lab)
    student = me.person.student
    held = is_held(site, me, lab.name)

    def may_know(who: str) -> bool:
        return who == student if student else site.covers(me.person, "moderate_entry", who)

    seen = visible_to(places, student, held=held, may_know=may_know)
    costs = [one.standing.cost for one in places if one.standing and one.standing.cost]
    member = site.book.board.members(lab.name).get(student) if student else None
    return Board(
        seen, member, next((one for one in seen if one.own), None), _levels(places),
        () if held else _band(lab, seen), "" if held or not costs else costs[0].case, held,
    )  # fmt: skip


def _levels(places: tuple[Place, ...]) -> dict[str, Levels]:
    found: dict[str, list[tuple[str, float]]] = {"cost": [], "speedup": []}
    marks = {one.name: one.standing for one in places if one.is_mark}
    for name, style in (("baseline", "dashed"), ("solution", "dotted")):
        standing = marks.get(name)
        if standing and standing.cost:
            found["cost"].append((f"{name} ({style})", standing.cost.total))
        speedup = 1.0 if name == "baseline" else standing.speedup if standing else None
        if speedup:
            found["speedup"].append((f"{name} ({style})", speedup))
    return {measure: tuple(levels) for measure, levels in found.items()}


def _band(lab: Lab, places: tuple[Place, ...]) -> tuple[tuple[str, float, float], ...]:
    """Return the thresholds of the lab on each device of the board, or its own ones."""
    check = next((one for one in lab.checks if one.name == "speed"), None)
    devices = sorted({p.standing.device for p in places if p.standing and p.standing.speedup})
    if check is None or not devices:
        return ()
    own = float(check.options["minimum"]), float(check.options["full"])
    bands = {name: (band.minimum, band.full) for name, band in lab.bands.items()}
    return tuple((device, *bands.get(device, own)) for device in devices if device)


@router.get("/labs/{name}/board", name="board", include_in_schema=False)
def board(request: Request, me: Signed, name: str) -> Response:
    """Show the leaderboard of a lab, and the person's own part in it."""
    return HTMLResponse(_page(request, me, name))


def _page(request: Request, me: Visitor, name: str, said: str = "", given: str = "") -> str:
    site = site_of(request)
    lab = lab_of(site, name)
    found = board_of(site, me, lab)
    history = History((), ())
    if me.person.student and not found.held:
        handed = site.book.history(name, me.person.student)
        history = history_of(handed, lab, found.levels)
    rest = [one for one in found.places if not one.rank and not one.is_mark and not one.own]
    member = found.member
    return site.page(
        "board.html", me=me, lab=lab, places=found.places, rest=rest, member=member, own=found.own,
        held=found.held, band=found.band, case=found.case, history=history, said=said,
        given=given or (member.pseudonym if member else ""), shortest=SHORTEST, longest=LONGEST,
        sector=SECTOR, wavefront=WAVEFRONT, may_hide=me.person.role in ("ta", "instructor"),
    )  # fmt: skip


def _lab_with_board(site: Site, me: Visitor, name: str) -> Lab:
    lab = lab_of(site, name)
    _require_board(site, me, name)
    return lab


def _require_board(site: Site, me: Visitor, lab: str) -> None:
    """Raise 404 without a leaderboard, and for a student as long as the lab is not open."""
    if not site.course.policy(lab).leaderboard:
        raise HTTPException(404, f"the course has no leaderboard for `{lab}`")
    if not is_open(site, me, lab):
        raise HTTPException(404, "there is no such page")


def _join(request: Request, me: Visitor, name: str, pseudonym: str) -> None:
    """Take part, or change the pseudonym. Raises LabFault, or 404 and 429."""
    site = site_of(request)
    lab = _lab_with_board(site, me, name)
    limits_of(request).spend(("message", me.person.who))
    site.book.board.join(lab.name, me.person.student, pseudonym, me.person.email)


@router.post("/labs/{name}/board", name="join_board", include_in_schema=False)
def join(request: Request, me: Signed, name: str, form: Text, pseudonym: Text) -> Response:
    """Take part with a pseudonym, or change it."""
    require_form(request, form, me)
    try:
        _join(request, me, name, pseudonym)
    except LabFault as fault:
        return HTMLResponse(_page(request, me, name, refusal(fault), pseudonym), 422)
    return RedirectResponse(f"/labs/{name}/board", 303)


@router.post("/labs/{name}/board/leave", name="leave_board", include_in_schema=False)
def leave(request: Request, me: Signed, name: str, form: Text) -> Response:
    """End the own part."""
    require_form(request, form, me)
    site = site_of(request)
    site.book.board.leave(_lab_with_board(site, me, name).name, me.person.student, me.person.email)
    return RedirectResponse(f"/labs/{name}/board", 303)


@router.post("/labs/{name}/board/entries", name="moderate_entry", include_in_schema=False)
def moderate(
    request: Request, me: Signed, name: str, form: Text, student: Text, action: Text, reason: Text
) -> Response:
    """Hide a student's entry, or show it again, with a reason for the audit."""
    require_form(request, form, me)
    site = site_of(request)
    lab = _lab_with_board(site, me, name)
    require_student(request, me, student)
    if action not in ("hide", "show"):
        raise HTTPException(422, "choose to hide or to show")
    change = site.book.board.hide if action == "hide" else site.book.board.show
    with refusing():
        change(lab.name, student, me.person.email, required(reason, "this needs a reason"))
    return RedirectResponse(f"/labs/{name}/board", 303)


class CostState(BaseModel):
    """A simulated cost in warp instructions, and the counters that it is made of."""

    case: str
    total: float
    sectors: int
    wavefronts: int
    thread_instructions: int


class PlaceState(BaseModel):
    """A line of a leaderboard. `rank` is null for the lab's own kernels."""

    rank: int | None
    name: str
    own: bool
    speedup: float | None
    device: str
    cost: CostState | None
    received: datetime | None


class BoardState(BaseModel):
    """A leaderboard, and the own part: a pseudonym, whether it is hidden, why there is no rank."""

    lab: str
    held: bool
    entries: list[PlaceState]
    pseudonym: str
    hidden: bool
    why: str


class Wish(BaseModel):
    """The pseudonym that a student wants."""

    pseudonym: str


@router.get("/api/v1/labs/{name}/board", name="api_board", responses=REFUSALS, tags=["course"])
def api_board(request: Request, me: Signed, name: str) -> BoardState:
    """Return the leaderboard of a lab with pseudonyms, and the own part in it.

    A program that may change the own part without reading gets no entries.
    """
    site = site_of(request)
    found = board_of(site, me, lab_of(site, name))
    own, member = found.own, found.member
    shown = [one for one in found.places if one.rank or one.is_mark] if may_read(me) else []
    return BoardState(
        lab=name, held=found.held, entries=[_place_state(one) for one in shown],
        pseudonym=member.pseudonym if member else "", hidden=bool(own and own.hidden),
        why=own.why if own and not own.hidden and may_read(me) else "",
    )  # fmt: skip


def _place_state(one: Place) -> PlaceState:
    return PlaceState.model_validate(place_json(one))


def place_json(one: Place) -> dict[str, Any]:
    """Return a line of a board as a JSON object; when it was received is told to its owner."""
    standing = one.standing or Standing(None)
    return {
        "rank": one.rank or None, "name": one.name, "own": one.own, "speedup": standing.speedup,
        "device": standing.device, "cost": standing.cost.to_json() if standing.cost else None,
        "received": standing.received if one.own else None, "student": one.student,
        "mates": [*one.mates], "hidden": one.hidden, "why": one.why,
    }  # fmt: skip


@router.post(
    "/api/v1/labs/{name}/board", name="api_join_board", responses=REFUSALS, tags=["course"]
)
def api_join(request: Request, me: Signed, name: str, wish: Wish) -> BoardState:
    """Take part with a pseudonym, or change it."""
    with refusing():
        _join(request, me, name, wish.pseudonym)
    return api_board(request, me, name)


@router.delete(
    "/api/v1/labs/{name}/board", name="api_leave_board", responses=REFUSALS, tags=["course"]
)
def api_leave(request: Request, me: Signed, name: str) -> BoardState:
    """End the own part."""
    site = site_of(request)
    site.book.board.leave(_lab_with_board(site, me, name).name, me.person.student, me.person.email)
    return api_board(request, me, name)
