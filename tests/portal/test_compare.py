"""Two submissions compared, by command; and the PTX of each line on a submission's page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from grader.gradebook.policy import Release
from tests.portal.made import LAB, Served, source, verified_grade
from tests.portal.test_board import Done
from tests.portal.test_board import grader as grader  # a fixture

CANARY = "SECRET-CASE"


def graded(course: Served, who: str, text: bytes, line: int = 1, ptx: Any = (), **more: Any) -> int:
    stored = course.book.submit(LAB, who, "a.cu", text, received=course.site.now())
    claim = course.book.claim(stored.id, "key", "worker", 60)
    made = verified_grade(course.site.labs[LAB], **more)
    found = {"kind": "race", "severity": "error", "message": "no barrier", "line": line}
    hidden = {**found, "message": CANARY, "cases": [CANARY]}
    made["checks"][1]["findings"] = [hidden]
    made["checks"][1]["public"] = {
        "status": "fail", "summary": "one", "share": 0.5, "findings": [found],
        "measurements": {"sectors_per_request": 4.0}, "cases": {}, "measured_on": "prime",
    }  # fmt: skip
    made["checks"][1]["measurements"] = {CANARY: 1.0}
    assert claim is not None and course.book.accept(claim, made | ({"ptx": ptx} if ptx else {}))
    return stored.id


@pytest.fixture(scope="module")
def pair(shared: Served) -> tuple[int, int]:
    first = graded(shared, "ada", source(1), cost=(10, 0, 320))
    second = graded(shared, "ada", b"// above\n" + source(1), 2, ptx=PTX, cost=(4, 0, 320))
    return first, second


PTX = ({"line": 9, "instructions": ("ld.global.f32 %f1, [%rd1];", "<b>hostile</b>;"), "file": ""},)


def test_students_compare_what_they_may_read(shared: Served, pair: tuple[int, int]) -> None:
    where = f"/compare?a={pair[1]}&b={pair[0]}"
    ada = shared.signed_in("ada@example.org").get(where).text
    assert CANARY not in ada and "no barrier" in ada and "Remaining: 1" in ada
    assert "+// above" in ada and "-6" in ada  # sectors: 10 to 4
    staff = shared.signed_in("ta@example.org").get(where).text
    assert CANARY in staff
    api = shared.program("ada@example.org").get(f"/api/v1{where}")
    assert CANARY not in api.text and [o["state"] for o in api.json["findings"]] == ["remaining"]
    shared.book.teaching.set_release(LAB, Release(held=True), "lead", "")
    try:
        held = shared.signed_in("ada@example.org").get(where).text
        assert "+// above" in held and "no barrier" not in held and "Counters" not in held
        found = shared.program("ada@example.org").get(f"/api/v1{where}").json
        assert found["diff"] and not (found["checks"] or found["findings"] or found["counters"])
    finally:
        shared.book.teaching.set_release(LAB, None, "lead", "")


def test_only_two_submissions_of_one_student(shared: Served, pair: tuple[int, int]) -> None:
    other = graded(shared, "ben", source(3))
    program = shared.program("lead@example.org")
    assert program.get(f"/api/v1/compare?a={pair[0]}&b={other}").code == 404
    for bad in ("a=1", "a=x&b=1", "a=0&b=0", f"a=-1&b={1 << 70}"):
        assert program.get(f"/api/v1/compare?{bad}").code in (404, 422)
    same = program.get(f"/api/v1/compare?a={other}&b={other}").json
    assert same["diff"] == [] and all(not one["difference"] for one in same["counters"])


def test_the_command_compares(
    shared: Served, pair: tuple[int, int], grader: Callable[..., Done],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    numbers, folder = [str(one) for one in pair], str(shared.site.course.folder)
    person = shared.site.people.find("ada@example.org")
    assert person is not None
    token = shared.site.people.new_token(person.who, "t", ("read",), "test")
    monkeypatch.setenv("WARPGRADE_URL", f"http://127.0.0.1:{shared.port}")
    monkeypatch.setenv("WARPGRADE_TOKEN", token)
    own = grader("portal", "compare", *reversed(numbers))
    assert own.code == 0 and CANARY not in own.out
    assert "remaining: race, line 1, now 2: no barrier" in own.out
    assert "sectors (beyond-16-bits): 10 -> 4 (-6)" in own.out and "1 +// above" in own.out
    whole = grader("portal", "compare", *numbers, "--course", folder, "--json", "-")
    assert whole.code == 0 and CANARY in whole.out
    assert json.loads(whole.out)["findings"][0]["new_line"] == 2
    assert grader("portal", "compare", "1", "9999", "--course", folder).code == 2
    assert grader("portal", "compare", "1", "9999").code == 2


def test_the_page_has_the_ptx_of_a_line(shared: Served, pair: tuple[int, int]) -> None:
    page = shared.signed_in("ada@example.org").get(f"/submissions/{pair[1]}").text
    row = page[page.index('<tr id="L9"') :].partition("</tr>")[0]
    assert '<details class="ptx">' in row and "ld.global.f32 %f1, [%rd1];" in row
    assert "<b>hostile" not in page and page.count('class="ptx"') == 1
    first = shared.signed_in("ada@example.org").get(f"/submissions/{pair[0]}").text
    assert 'class="ptx"' not in first
