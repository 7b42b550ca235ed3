"""The pages of a student: labs, one lab, one submission."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, HTTPException, Request, UploadFile
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from grader import replace
from grader.faults import StudentFault
from grader.gradebook.values import StoredSubmission
from grader.labs.quiz import ANSWERS_FILE
from grader.portal.feed import Feed, Message, is_shown, message_of, since_start
from grader.portal.history import history_of
from grader.portal.requests import (
    Visitor,
    may_watch,
    require_form,
    require_student,
    site_of,
    visitor,
    visitor_of,
)
from grader.portal.site import Site
from grader.portal.task.handouts import skeleton_of
from grader.portal.task.quiz import questions_of, sheet_of
from grader.portal.work import (
    Draft,
    HandedLine,
    choose,
    draft_of,
    hand_in,
    handed_lines,
    is_held,
    is_open,
    lab_line,
    lab_of,
    may_count,
    person_of,
    place_of,
    refusal,
    refusing,
    seen_for,
    shown_grade,
    stored_of,
)
from grader.reports.classes import ReportRow
from grader.reports.page.student import student_view
from grader.reports.text import STATUS_WORDS

router = APIRouter(include_in_schema=False)

Signed = Annotated[Visitor, Depends(visitor)]
WORDS = {status: word.lower() for status, (word, _) in STATUS_WORDS.items()}
MAX_LOOKED = 5
"""Submissions that are looked at for the answers that a form begins with."""


@router.get("/", name="home")
def home(request: Request, me: Signed) -> Response:
    """Show a student's labs; to staff, the classes."""
    site = site_of(request)
    if me.person.is_staff:
        return HTMLResponse(site.page("staff.html", me=me))
    lines = [lab_line(site, me, name, me.person.student) for name in site.labs]
    return HTMLResponse(site.page("labs.html", me=me, lines=lines))


@router.get("/labs/{name}", name="lab")
def lab(
    request: Request, me: Signed, name: str, student: str = "", edit: int | None = None,
    start: str = "",
) -> Response:  # fmt: skip
    """Show a student's submissions of a lab, and the form for the next one.

    `edit` is one of the student's own submissions, whose text the form begins with; with
    `start=skeleton`, it begins with the lab's.
    """
    text = skeleton_of(lab_of(site_of(request), name)) if start == "skeleton" else ""
    page = _lab_page(request, me, name, student or me.person.student, edit=edit, text=text)
    return HTMLResponse(page)


def _lab_page(
    request: Request, me: Visitor, name: str, student: str, *, edit: int | None = None,
    said: str = "", text: str = "", sheet: bytes | None = None,
) -> str:  # fmt: skip
    site = site_of(request)
    own = lab_of(site, name)
    if not student:
        raise HTTPException(404, "name a student")
    require_student(request, me, student)
    person_of(site, student)
    line = lab_line(site, me, name, student)
    lines = handed_lines(site, me, line)
    own_choice = line.policy.counts == "chosen" and not me.person.is_staff
    history = site.book.history(name, student) if own_choice else ()
    opened = is_open(site, me, name)
    draft = None if me.person.is_staff or not opened else Draft(text)
    if draft is not None and edit is not None:
        draft = draft_of(site, me, lines, edit)
    return site.page(
        "lab.html", me=me, line=line, lines=lines, said=said, student=student, draft=draft,
        results=history_of([one.handed for one in lines], own),
        waits=any(not one.score for one in lines) and not is_held(site, me, name),
        answers_file=ANSWERS_FILE if own.quiz else "", choosable=may_count(line.policy, history),
        chosen=site.book.teaching.choice(name, student), opened=opened,
        quiz=questions_of(own, sheet or _last_answers(site, lines, edit)) if draft else (),
        handout=site.handouts.of(name) if opened else None,
        skeleton=bool(opened and skeleton_of(own)),
    )  # fmt: skip


def _last_answers(site: Site, lines: Sequence[HandedLine], edit: int | None) -> bytes | None:
    """Return the answers that the form begins with: those of `edit`, else the newest ones."""
    numbers = [edit] if edit is not None else [one.handed.id for one in lines[:MAX_LOOKED]]
    stored = (site.book.submission(number) for number in numbers)
    return next((one.answers for one in stored if one is not None and one.answers), None)


@router.post("/labs/{name}/submissions", name="submit")
async def submit(
    request: Request, me: Signed, name: str, form: Annotated[str, Form()],
    source: Annotated[str, Form()] = "",
    file: Annotated[UploadFile | None, File()] = None,
    answers: Annotated[UploadFile | None, File()] = None,
    keep: Annotated[int | None, Form()] = None,
) -> Response:  # fmt: skip
    """Store a file, or the text of the form; the answer is the page that watches it.

    The answers to the quiz are a file, or else the fields of the form. With `keep`, the kernel is
    that of an earlier submission.
    """
    require_form(request, form, me)
    data = await file.read() if file is not None else b""
    sheet = (await answers.read() if answers is not None else b"") or None
    own = lab_of(site_of(request), name)
    called = (file.filename if file is not None and data else "") or f"{own.name}.cu"
    text = data or source.replace("\r\n", "\n").encode()
    if keep is not None:
        kept = await run_in_threadpool(stored_of, request, me, keep)
        if kept.lab != name:
            raise HTTPException(404, "there is no such page")
        called, text = kept.name, kept.data
    fields = {key: one for key, one in (await request.form()).items() if isinstance(one, str)}
    try:
        sheet = sheet or sheet_of(own, fields)
        stored = await run_in_threadpool(hand_in, request, me, own, called, text, sheet)
    except StudentFault as fault:
        page = await run_in_threadpool(
            _lab_page, request, me, name, me.person.student, said=refusal(fault), text=source,
            sheet=sheet,
        )  # fmt: skip
        return HTMLResponse(page, 422)
    return RedirectResponse(f"/submissions/{stored.id}", 303)


@router.post("/labs/{name}/choice", name="choose")
def choose_submission(
    request: Request, me: Signed, name: str, form: Annotated[str, Form()],
    submission: Annotated[int, Form()],
) -> Response:  # fmt: skip
    """Choose which of the own submissions counts, where the course allows it."""
    require_form(request, form, me)
    stored = stored_of(request, me, submission)
    if stored.lab != name:
        raise HTTPException(404, "there is no such page")
    with refusing():
        choose(site_of(request), stored, me.person.email, me.person.student)
    return RedirectResponse(f"/labs/{name}", 303)


@router.get("/submissions/{number}", name="submission")
def submission(request: Request, me: Signed, number: int) -> Response:
    """Show a submission's feedback; until it is graded, what happens to it."""
    site = site_of(request)
    stored = stored_of(request, me, number)
    made = site.book.grade(number)
    if made is None:
        return _waiting(request, me, stored)
    if is_held(site, me, stored.lab):
        return HTMLResponse(
            site.page("held.html", me=me, stored=stored, release=site.release(stored.lab))
        )
    grade = shown_grade(site, me, stored.lab, made)
    owners = site.book.groups.owners(number)
    who = seen_for(request, me, owners)
    line = lab_line(site, me, stored.lab, who)
    counts = line.counts(number)
    row = ReportRow(
        me.person.name if not me.person.is_staff else stored.student,
        grade,
        stored.data.decode("utf-8", "replace"),
        late=line.entry.note if counts else "",
        points=line.entry.points if counts else None,
        received=f"{site.format_moment(stored.received)} {site.course.timezone}",
        most=line.entry.max_points if counts else None,
    )
    view = student_view(row, with_seed=me.person.is_staff)
    history = site.book.history(stored.lab, who)
    others = [one for one in history if one.id != number and one.grade is not None]
    return HTMLResponse(
        site.page(
            "feedback.html", me=me, view=view, links=None, words=WORDS, stored=stored,
            counts=counts, line=line, others=others, comments=site.book.teaching.comments(number),
            requests=site.book.teaching.requests(number), owners=owners, who=who,
            quiz=questions_of(site.labs[stored.lab], stored.answers) if stored.answers else (),
        )
    )  # fmt: skip


def _waiting(request: Request, me: Visitor, stored: StoredSubmission) -> Response:
    site = site_of(request)
    place = place_of(site, stored.id)
    held = is_held(site, me, stored.lab)
    events = [one for one in site.progress.after(0, stored.id) if is_shown(one, held)]
    begun = [event.at for event in events if event.kind == "started"]
    page = site.page(
        "waiting.html", me=me, stored=stored, place=place, last=events[-1].id if events else 0,
        events=[*zip(events, since_start(events), strict=True)],
        begun=begun[-1].isoformat(timespec="milliseconds") if begun else "",
        who=seen_for(request, me, site.book.groups.owners(stored.id)),
    )  # fmt: skip
    return HTMLResponse(page)


@router.get("/submissions/{number}/source", name="submission_source")
def submission_source(request: Request, me: Signed, number: int) -> Response:
    """Send the stored source as text."""
    stored = stored_of(request, me, number)
    named = {"Content-Disposition": f'attachment; filename="submission-{stored.id}.cu"'}
    return PlainTextResponse(stored.data, headers=named)


@router.get("/submissions/{number}/events", name="submission_events")
async def submission_events(request: Request, me: Signed, number: int) -> Response:
    """Send the events of a submission as they happen; `Last-Event-ID` resumes after one."""
    stored = await run_in_threadpool(stored_of, request, me, number)
    seen = request.headers.get("last-event-id", "") or request.query_params.get("after", "")
    last = int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 19 else 0
    return EventSourceResponse(
        _messages(request, me, stored, last), headers={"Cache-Control": "no-store"}, ping=15
    )


async def _messages(
    request: Request, me: Visitor, stored: StoredSubmission, last: int
) -> AsyncIterator[Message]:
    """Yield what a watcher hears of, until the end of the grading or of the right to watch."""
    feed: Feed = request.app.state.feed
    async for event in feed.events(stored.id, last):
        held = await run_in_threadpool(_held_now, request, me, stored)
        if held is None:
            return
        if is_shown(event, held):
            yield message_of(event)


def _held_now(request: Request, me: Visitor, stored: StoredSubmission) -> bool | None:
    """Whether the grades are held; None when the person may not watch any more.

    A stream is open for long: it decides at each event, not once.
    """
    site = site_of(request)
    if me.session:
        now = visitor_of(request)
        person = None if now is None else now.person
    else:
        person = site.people.person(me.person.who)
    owners = site.book.groups.owners(stored.id)
    if person is None or not any(may_watch(request, person, who) for who in owners):
        return None
    return is_held(site, replace(me, person=person), stored.lab)
