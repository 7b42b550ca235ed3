"""The pages of similar submissions, for staff: pairs with their scores, and two side by side.

The comparison of a large class takes a while and much memory, so another process makes it: the
command `grader portal similar`. The server keeps its result until other submissions count.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from grader import dataclass
from grader.batch.similarity_pages import ADVICE, Row, Side, marked_side
from grader.portal.requests import Visitor, site_of, visitor
from grader.portal.site import Site
from grader.portal.work import lab_of, stored_of

router = APIRouter(include_in_schema=False)

Signed = Annotated[Visitor, Depends(visitor)]
MOST_SECONDS = 600.0

Result = Mapping[str, Any]
"""What `grader portal similar --json` writes."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of a lab: its result, that it is being made, or why it failed.

    `outdated`: the result is of earlier submissions, and the newer ones are being compared.
    """

    result: Result | None = None
    failure: str = ""
    outdated: bool = False

    @property
    def is_running(self) -> bool:
        """Whether it is being made."""
        return self.outdated or self.result is None and not self.failure


class Comparisons:
    """The comparisons of one server, each made once for the submissions that count."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._lock, self._one = threading.Lock(), threading.Lock()
        self._known: dict[str, tuple[tuple[object, ...], Comparison]] = {}

    def of(self, lab: str) -> Comparison:
        """Return the comparison of a lab; the first call starts it. A failure is told once.

        While others submit, the last result is shown until the next one is made.
        """
        entries = self._site.counted(lab)
        teams = self._site.book.groups.members(lab).items()
        key = (
            *(one.submission for one in entries if one.submission is not None),
            *((who, one.team) for who, one in teams),
        )
        with self._lock:
            made, found = self._known.get(lab, ((), Comparison()))
            if lab not in self._known or made != key and not found.is_running:
                threading.Thread(target=self._make, args=(lab, key), daemon=True).start()
                begun = Comparison(found.result, outdated=found.result is not None)
                self._known[lab] = (key, begun)  # not before: it may fail
                return begun
            if found.failure:
                del self._known[lab]
            return found

    def _make(self, lab: str, key: tuple[object, ...]) -> None:
        with self._one:  # one process at a time: others grade and answer on this machine
            try:
                made = compared(self._site, lab)
            except Exception as error:  # noqa: BLE001  or the pages would wait for it forever
                made = Comparison(failure=f"the comparison failed: {type(error).__name__}: {error}")
        with self._lock:
            self._known[lab] = (key, made)


def compared(site: Site, lab: str) -> Comparison:
    """Compare the submissions of a lab that count, in another process."""
    words = [sys.executable, "-m", "grader", "portal", "similar", lab, "--json", "-"]
    try:
        done = subprocess.run(
            [*words, "--course", str(site.course.folder)], capture_output=True,
            timeout=MOST_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return Comparison(failure=f"the comparison did not end: {type(error).__name__}")
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        return Comparison(failure=said or f"the comparison ended with {done.returncode}")
    return Comparison(json.loads(done.stdout))


def comparisons_of(request: Request) -> Comparisons:
    """Return the comparisons of the application."""
    found: Comparisons = request.app.state.comparisons
    return found


def shown_result(request: Request, me: Visitor, lab: str, route: str) -> Comparison:
    """Return the comparison of a lab, with the pairs of which a person teaches both students."""
    site = site_of(request)
    lab_of(site, lab)
    found = comparisons_of(request).of(lab)
    if found.result is None:
        return found

    def own(student: str) -> bool:
        return site.covers(me.person, route, student)

    pairs = [one for one in found.result["pairs"] if own(one["first"]) and own(one["second"])]
    seen = {name: [one for one in found.result[name] if own(one)] for name in ("thin", "left_out")}
    numbers = {who: number for who, number in found.result["numbers"].items() if own(who)}
    own_result = {**found.result, "pairs": pairs, "numbers": numbers, **seen}
    return Comparison(own_result, outdated=found.outdated)


@router.get("/class/{name}/similar", name="similar")
def similar(request: Request, me: Signed, name: str) -> Response:
    """List the pairs of a lab that are unusually similar; while they are compared, say so."""
    site, found = site_of(request), shown_result(request, me, name, "similar")
    page = site.page(
        "similar.html", me=me, lab=lab_of(site, name), found=found, advice=ADVICE, percent=percent
    )
    return HTMLResponse(page)


def percent(pair: Mapping[str, Any], view: str) -> str:
    """Return a share of evidence of a pair as "93 %", or "–" when nothing is shared."""
    one = pair[view]
    return f"{100 * one['share']:.0f} %" if one["characters"] else "–"


@router.get("/class/{name}/similar/{a}/{b}", name="similar_pair")
def similar_pair(request: Request, me: Signed, name: str, a: int, b: int) -> Response:
    """Show two similar submissions side by side."""
    site = site_of(request)
    stored = [stored_of(request, me, number) for number in (a, b)]
    found = shown_result(request, me, name, "similar_pair").result
    numbers = {} if found is None else found["numbers"]
    pair = next(
        (
            one
            for one in (found or {}).get("pairs", ())
            if (numbers[one["first"]], numbers[one["second"]]) == (a, b)
        ),
        None,
    )
    if pair is None:
        raise HTTPException(404, "there is no such page")
    sides = [_side(pair, which, one.data) for which, one in zip(SIDES, stored, strict=True)]
    row = Row(
        pair["first"], pair["second"], percent(pair, "structure"), percent(pair, "wording"),
        "structure" in pair["reasons"], "wording" in pair["reasons"], "",
    )  # fmt: skip
    page = site.page(
        "similar_pair.html", me=me, lab=lab_of(site, name), row=row, stored=stored, sides=sides,
        advice=ADVICE,
    )  # fmt: skip
    return HTMLResponse(page)


SIDES = ("first", "second")


def _side(pair: Mapping[str, Any], which: str, data: bytes) -> Side:
    structure, wording = (pair[view][f"{which}_lines"] for view in ("structure", "wording"))
    text = data.decode("utf-8", "replace")
    return marked_side(pair[which], text, frozenset(structure), frozenset(wording))
