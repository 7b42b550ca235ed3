"""What an open stream of events tells, and what answers are compressed."""

from __future__ import annotations

import gzip
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from grader.gradebook.policy import Release
from grader.gradebook.progress import ProgressLog
from grader.portal.site import unmasked
from tests.portal.made import LAB, SECONDS, Served, Visit, grade_json, source


class Stream:
    """An open stream of a submission's events."""

    def __init__(self, visit: Visit, path: str) -> None:
        self._line = socket.create_connection(("127.0.0.1", visit.port), SECONDS)
        own = "".join(f"{name}: {value}\r\n" for name, value in visit.own.items())
        own += f"Cookie: {visit.cookie}\r\n" if visit.cookie else ""
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n{own}\r\n"
        self._line.sendall(head.encode())
        self.text = ""

    def until(self, what: str) -> str:
        """Read until a text was sent, or the stream has ended."""
        while what not in self.text:
            more = self._line.recv(4096)
            if not more:
                break
            self.text += more.decode()
        return self.text

    def rest(self) -> str:
        """Read until the stream ends."""
        return self.until("\r\n0\r\n\r\n")

    def close(self) -> None:
        self._line.close()


@contextmanager
def stream(visit: Visit, path: str) -> Iterator[Stream]:
    one = Stream(visit, path)
    try:
        yield one
    finally:
        one.close()


def submitted(course: Served, who: str = "ada") -> int:
    visit = course.signed_in(f"{who}@example.org")
    return int(visit.submit(source(1)).to.rpartition("/")[2])


def graded(course: Served, number: int) -> None:
    claim = course.book.claim(number, "key", "worker", 10)
    assert claim is not None and course.book.accept(claim, grade_json(LAB))


def test_each_event_asks_whether_the_grades_are_held(course: Served) -> None:
    number, log, teaching = submitted(course), course.book.progress, course.book.teaching
    ada, ta = (course.signed_in(f"{who}@example.org") for who in ("ada", "ta"))
    program, path = course.program("ada@example.org"), f"/submissions/{number}/events"
    with (
        stream(ada, path) as own, stream(ta, path) as staff,
        stream(program, f"/api/v1{path}") as api,
    ):  # fmt: skip
        for one in (own, staff, api):
            assert "event: queued" in one.until("event: queued")
        log.add(number, "step", step="BEFORE", number=1, steps=3)
        for one in (own, staff, api):
            assert "BEFORE" in one.until("BEFORE")
        teaching.set_release(LAB, Release(held=True), "lead@example.org", "")
        log.add(number, "step", step="HELD", number=2, steps=3)
        log.add(number, "started")
        assert "HELD" in staff.until("event: started"), "staff see it"
        for one in (own, api):
            assert "HELD" not in one.until("event: started") and "event: started" in one.text
        teaching.set_release(LAB, None, "lead@example.org", "")
        log.add(number, "step", step="AFTER", number=3, steps=3)
        for one in (own, api):
            assert "AFTER" in one.until("AFTER") and "HELD" not in one.text
        graded(course, number)
        for one in (own, staff, api):
            assert "event: graded" in one.rest()


def sign_out(course: Served, visit: Visit) -> None:
    course.site.people.end_session(visit.cookies["warpgrade"])


def leave(course: Served, visit: Visit) -> None:
    course.book.enroll([one for one in course.site.course.students if one.id != "ada"], "test")


def new_section(course: Served, visit: Visit) -> None:
    course.book.people.add_staff("ta@example.org", "ta", "test", sections=("B",))


@pytest.mark.parametrize(
    ("who", "ends"),
    [("ada", sign_out), ("ada", leave), ("ta", new_section)],
    ids=["sign-out", "leave", "section"],
)
def test_a_stream_ends_with_the_right_to_watch(
    who: str, ends: Callable[[Served, Visit], None], course: Served
) -> None:
    number = submitted(course)
    visit = course.signed_in(f"{who}@example.org")
    with stream(visit, f"/submissions/{number}/events") as one:
        one.until("event: queued")
        ends(course, visit)
        course.book.progress.add(number, "step", step="SECRET", number=1, steps=2)
        graded(course, number)
        assert "SECRET" not in one.rest() and "event: graded" not in one.text


def test_pages_and_assets_are_compressed_and_streams_are_not(course: Served) -> None:
    lead = course.signed_in("lead@example.org")
    for path in (f"/class/{LAB}", course.site.asset("editor.js"), "/api/v1/openapi.json"):
        plain, small = lead.get(path), lead.get(path, Accept_Encoding="gzip")
        assert plain.headers.get("Content-Encoding") is None
        assert small.headers["Content-Encoding"] == "gzip" and len(small.body) < len(plain.body)
        assert "Accept-Encoding" in small.headers["Vary"]
        assert "Content-Security-Policy" in small.headers
        told, same = (re.sub(rb'value="\w{128}"', b"", one) for one in (
            gzip.decompress(small.body), plain.body
        ))  # fmt: skip
        assert told == same
    number = submitted(course)
    graded(course, number)
    ada = course.signed_in("ada@example.org")
    with stream(ada, f"/submissions/{number}/events") as one:
        assert "event: graded" in one.rest() and "content-encoding" not in one.text.lower()


def test_the_token_of_forms_looks_different_in_every_answer(course: Served) -> None:
    ada, ben = (course.signed_in(f"{who}@example.org") for who in ("ada", "ben"))
    first, second = ada.form_token(), ada.form_token()
    assert first != second and not {first[:64], first[64:]} & {second[:64], second[64:]}
    assert unmasked(first) == unmasked(second) != unmasked(ben.form_token())
    fields = {"name": "x", "scope": "read"}
    assert ada.post("/account/tokens", form=first, **fields).code == 200
    assert ada.post("/account/tokens", form=second, **fields).code == 200
    changed = f"{first[:-1]}{'0' if first[-1] != '0' else '1'}"
    for wrong in (ben.form_token(), changed, "", first[:64], "0" * 128, "é" * 128, first + "00"):
        assert ada.post("/account/tokens", form=wrong, **fields).code in (403, 422), wrong


def test_steps_have_real_times_in_events_and_on_the_page(course: Served) -> None:
    """A grading that starts twice: its steps count from the newest start, to the millisecond."""
    number, ada = submitted(course), course.signed_in("ada@example.org")
    start, ms = datetime(2027, 3, 1, 12, tzinfo=UTC), timedelta(milliseconds=1)
    moments = iter([start, start + ms, start + 1000 * ms, start + 1234 * ms, start + 1234.5 * ms])
    log = ProgressLog(course.book.progress._database, lambda: next(moments))
    log.add(number, "started")
    log.add(number, "step", step="compile", number=1, steps=2)
    log.add(number, "started")
    for k, step in enumerate(("compile", "run"), start=1):
        log.add(number, "step", step=step, number=k, steps=2)
    after = re.findall(r"<small>after ([\d.]+) s", ada.get(f"/submissions/{number}").text)
    assert after == ["0.001", "0.234", "0.234"]
    with stream(ada, f"/submissions/{number}/events") as own:
        text = own.until('"step": "run"')
    kinds = re.findall(r'"at": "2027-03-01T([\d:.]+)\+00:00"', text)
    assert kinds[:4] == ["12:00:00.000", "12:00:00.001", "12:00:01.000", "12:00:01.234"]
    assert [event.at.microsecond for event in log.after(0, number)][-1] == 234_500, "kept exactly"


def test_a_program_sends_no_forms(course: Served) -> None:
    """Forms are for browsers: a token's scopes are for the API."""
    program = course.program("lead@example.org")
    for form in ("", "0" * 128):
        reply = program.post(f"/class/{LAB}/release", when="now", form=form)
        assert reply.code in (403, 422), form
    assert course.book.audit(LAB) == ()
