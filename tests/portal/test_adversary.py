"""Attacks on the routes: numbers no row has, forms of other sites, floods, things of other labs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
from fastapi import HTTPException
from limits import parse

from grader.faults import MachineFault, StudentFault
from grader.portal.app import MODULES
from grader.portal.requests import LIMITS, RateLimits
from tests.portal.made import LAB, Reply, Served, Visit, grade_json, source

NUMBERS = ("-1", "0", str(1 << 31), str(1 << 62), str((1 << 63) - 1), str(1 << 63), str(1 << 200))
WORDS = {"name": LAB, "student": "ada", "secret": "x"}
EVIL = "https://evil.example"


def numbered_routes() -> Iterator[tuple[str, str, str]]:
    """Every route with a number in its address or in what it is asked: name, method, path."""
    for module in MODULES:
        for route in module.router.routes:
            words = re.findall(r"\{(\w+)\}", route.path)
            asked = [one.name for one in route.dependant.query_params]
            numbers = [one for one in words if one not in WORDS]
            if numbers or {"a", "b", "edit"} & set(asked):
                (method,) = route.methods
                path = route.path + "?" + "&".join(f"{one}={{{one}}}" for one in asked)
                yield route.name, method, path


ROUTES = sorted(numbered_routes())


def test_numbers_that_no_row_has_are_refused(shared: Served) -> None:
    """Databases take no number above 63 bits: none may reach one, from any route."""
    seen: dict[str, set[int]] = {}
    assert {"revoke_token", "remove_comment", "compare", "lab", "similar_pair"} <= {
        name for name, *_ in ROUTES
    }
    people: list[Visit] = []
    for who in ("ada", "lead"):
        people += [shared.signed_in(f"{who}@example.org"), shared.program(f"{who}@example.org")]
    for name, method, path in ROUTES:
        for number in NUMBERS:
            where = re.sub(r"\{(\w+)\}", lambda one, n=number: WORDS.get(one[1], n), path)
            for visit in people[::2] if "/api/" not in path else people[1::2]:
                reply = visit.get(where) if method == "GET" else sent(visit, where)
                seen.setdefault(name, set()).add(reply.code)
    found = {name: codes for name, codes in seen.items() if codes - {403, 404, 422}}
    assert found == {"lab": {200, 404}}, "staff see the page, which has no form for them"


def sent(visit: Visit, path: str) -> Reply:
    """Send all fields that a form or a program may send there."""
    fields = {"body": "x", "decision": "adopt", "reason": "x", "line": "", "text": "x"}
    if "/api/" not in path:
        return visit.post(path, **fields)
    body = json.dumps(fields | {"student": "ada"}).encode()
    return visit.ask("POST", path, body, Content_Type="application/json")


def test_forms_of_other_sites_sign_nobody_in(course: Served) -> None:
    person = course.site.people.find("ada@example.org")
    assert person is not None
    for origin, code in ((EVIL, 403), ("null", 403), (f"http://127.0.0.1:{course.port}", 303)):
        secret, visit = course.site.people.new_link(person.who), Visit(course.port)
        reply = visit.ask("POST", f"/sign-in/{secret}", Origin=origin)
        assert reply.code == code and bool(visit.cookies) == (code == 303), origin
    kind = {"Content_Type": "application/x-www-form-urlencoded"}
    asked = Visit(course.port).ask(
        "POST", "/sign-in", b"email=ben@example.org", Origin=EVIL, **kind
    )
    assert asked.code == 403 and course.links == {}


def test_the_api_takes_no_forms_of_a_session(course: Served) -> None:
    """Forms send the cookie, too: nothing changes unless the browser names the own site."""
    ada, where = course.signed_in("ada@example.org"), f"/api/v1/labs/{LAB}/submissions"
    assert ada.upload(where, "a.cu", source(1)).code == 403
    for origin in (EVIL, "null", ""):
        body = b'{"text": "x"}'
        kind = {"Content_Type": "text/plain", "Origin": origin}
        assert ada.ask("POST", "/api/v1/submissions/1/requests", body, **kind).code == 403, origin
    assert course.book.history(LAB, "ada") == ()
    assert course.program("ada@example.org").upload(where, "a.cu", source(1)).code == 201


def test_a_flood_at_one_moment_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    limits, most = RateLimits(), LIMITS["submit"].amount
    together, held = Barrier(2 * most), Barrier(most)

    def one(number: int) -> str:
        together.wait()
        try:
            with limits.spending("submit", "ada"):
                held.wait()  # all that are taken are under way at the same time
                return "taken"
        except HTTPException as refused:
            assert refused.status_code == 429 and refused.headers
            return "refused"

    with ThreadPoolExecutor(2 * most) as pool:
        found = sorted(pool.map(one, range(2 * most)))
    assert found == ["refused"] * most + ["taken"] * most


@pytest.mark.parametrize("fault", [StudentFault("no source"), MachineFault("disk full")])
def test_a_limit_is_given_back_when_nothing_is_stored(fault: Any) -> None:
    limits, most = RateLimits(), LIMITS["submit"].amount
    for _ in range(most):
        with pytest.raises(type(fault)), limits.spending("submit", "ada"):
            raise fault
    for _ in range(most):
        with limits.spending("submit", "ada"):
            pass
    with pytest.raises(HTTPException), limits.spending("submit", "ada"):
        raise AssertionError("it is not taken")
    with limits.spending("submit", "ben"):
        pass


def test_files_that_are_no_submissions_have_a_limit_of_their_own(
    course: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LIMITS, "refused", parse("3/10minutes"))
    ada = course.signed_in("ada@example.org")
    assert [ada.submit(b"").code for _ in range(5)] == [422] * 3 + [429] * 2
    assert course.signed_in("ben@example.org").submit(source(1)).code == 303


def test_things_of_a_lab_that_the_course_does_not_have_are_not_there(course: Served) -> None:
    book = course.book
    number = book.submit("another-lab", "ada", "a.cu", b"SECRET", received=course.site.now()).id
    claim = book.claim(number, "key", "worker", 10)
    assert claim is not None and book.accept(claim, grade_json("another-lab"))
    book.teaching.ask(number, "SECRET", "ada@example.org")
    book.teaching.start_regrade("another-lab", (), "lead@example.org", "SECRET")
    for who in ("ada", "ta", "lead"):
        visit, program = (
            course.signed_in(f"{who}@example.org"),
            course.program(f"{who}@example.org"),
        )
        for path in ("/submissions/1", "/requests/1", "/compare?a=1&b=1", "/submissions/1/source"):
            assert visit.get(path).code == 404, (who, path)
        for path in ("/requests", "/", "/queue", "/students/ada", "/health"):
            reply = visit.get(path)
            assert reply.code in (200, 403) and "SECRET" not in reply.text, (who, path)
        assert program.get("/api/v1/submissions/1").code == 404
    for path in ("/requests/1/messages", "/requests/1/close", "/submissions/1/comments"):
        assert course.signed_in("lead@example.org").post(path, body="x").code == 404, path


def test_a_student_who_changes_the_section_leaves_the_lists_of_the_old_one(
    course: Served,
) -> None:
    ta = course.signed_in("ta@example.org")
    course.site.sections_seconds = 0.0
    assert "Ada Lovelace" in ta.get(f"/class/{LAB}").text
    moved = [replace(one, section="B") for one in course.site.course.students if one.id == "ada"]
    others = [one for one in course.site.course.students if one.id != "ada"]
    course.book.enroll([*moved, *others], "test")
    assert "Ada Lovelace" not in ta.get(f"/class/{LAB}").text
    assert ta.get("/students/ada").code == 404
