"""Points must not depend on the server's load, on the form of a text, or on who sends what."""

from __future__ import annotations

import http.client
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from grader.gradebook.book import open_gradebook
from grader.gradebook.course import read_course
from grader.gradebook.ledger import Student
from grader.gradebook.people import comparable_address
from grader.labs.quiz import MAX_SHEET_BYTES
from tests.command import grader
from tests.patience import PATIENCE
from tests.portal.made import LAB, Reply, Served, Visit, source, write_course

BEGUN = datetime(2027, 3, 28, 21, 59, 59, tzinfo=UTC)
LATER = BEGUN + timedelta(hours=1)


class Moved:
    """A clock that stands until it is moved."""

    def __init__(self, course: Served) -> None:
        self.now = BEGUN
        course.site.now = lambda: self.now  # type: ignore[method-assign]


def test_a_wait_in_the_server_costs_nobody_the_deadline(course: Served) -> None:
    """Whoever has sent everything is in time, whatever the server waits for after that."""
    clock, people = Moved(course), course.site.people
    ada, program = course.signed_in("ada@example.org"), course.program("ada@example.org")
    form, session, token = ada.form_token(), people.session, people.token

    def late(found: Any) -> Any:
        clock.now = LATER
        return found

    people.session = lambda secret: late(session(secret))  # type: ignore[method-assign]
    people.token = lambda secret: late(token(secret))  # type: ignore[method-assign]
    assert ada.upload(f"/labs/{LAB}/submissions", "a.cu", source(1), form=form).code == 303
    clock.now = BEGUN
    sent = program.upload(f"/api/v1/labs/{LAB}/submissions", "a.cu", source(2))
    assert sent.code == 201 and clock.now == LATER
    assert [one.received for one in course.book.history(LAB, "ada")] == [BEGUN, BEGUN]


def test_a_request_that_is_begun_in_time_does_not_keep_the_deadline(course: Served) -> None:
    clock, program = Moved(course), course.program("ada@example.org")
    head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.cu"\r\n\r\n'
    body = head.encode() + source(1) + b"\r\n--x--\r\n"
    kept = http.client.HTTPConnection("127.0.0.1", course.port, timeout=PATIENCE)
    kept.putrequest("POST", f"/api/v1/labs/{LAB}/submissions")
    kinds = {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": str(len(body))}
    for name, value in {**program.own, **kinds}.items():
        kept.putheader(name, value)
    kept.endheaders(body[:100])
    clock.now = LATER
    kept.send(body[100:])
    assert Reply(kept.getresponse()).code == 201
    kept.close()
    assert [one.received for one in course.book.history(LAB, "ada")] == [LATER]


def with_answers(visit: Visit, sheet: bytes) -> Reply:
    """Send a kernel with an answers.yaml."""
    parts = [("form", "", visit.form_token().encode()), ("file", "a.cu", source(1))]
    body = b""
    for field, name, data in [*parts, ("answers", "answers.yaml", sheet)]:
        named = f'; filename="{name}"' if name else ""
        head = f'--x\r\nContent-Disposition: form-data; name="{field}"{named}\r\n\r\n'
        body += head.encode() + data + b"\r\n"
    kind = "multipart/form-data; boundary=x"
    where = f"/labs/{LAB}/submissions"
    return visit.ask("POST", where, body + b"--x--\r\n", Content_Type=kind)


def test_answers_have_a_size_also_as_a_file(course: Served) -> None:
    ada = course.signed_in("ada@example.org")
    refused = with_answers(ada, b"#" * (MAX_SHEET_BYTES + 1))
    assert refused.code == 422 and "64 KiB" in refused.text
    assert with_answers(ada, b"#" * MAX_SHEET_BYTES).code == 303
    assert len(course.book.history(LAB, "ada")) == 1


def test_answers_make_no_submission_where_there_is_no_quiz(course: Served) -> None:
    course.site.labs = {LAB: replace(course.site.labs[LAB], quiz=())}
    ada = course.signed_in("ada@example.org")
    assert len({with_answers(ada, sheet).to for sheet in (b"a: 1", b"a: 2", b"")}) == 1
    assert [one.received is None for one in course.book.history(LAB, "ada")] == [False]


TWICE, SECOND = "2027-10-31 02:30", "2027-10-31T01:30:00+00:00"
SKIPPED = "2027-03-28 02:30"


def test_a_time_means_the_same_on_every_way_to_give_it(course: Served, tmp_path: Path) -> None:
    """Of a time that the clocks show twice the second counts; one that they skip is refused."""
    lead, tokens = course.signed_in("lead@example.org"), course.program("lead@example.org")
    folder, table = tmp_path, tmp_path / "extensions.csv"

    def page(due: str) -> bool:
        where = f"/class/{LAB}/extensions"
        return lead.post(where, student="ada", due=due, reason="page").code == 303

    def api(due: str) -> bool:
        body = f'{{"student": "ada", "due": "{due}", "reason": "api"}}'.encode()
        kind = {"Content_Type": "application/json"}
        return tokens.ask("POST", f"/api/v1/labs/{LAB}/extensions", body, **kind).code == 201

    def command(due: str) -> bool:
        words = ("portal", "extend", LAB, "ada", due, "--reason", "command", "--course", folder)
        return grader(*words).code == 0

    def imported(due: str) -> bool:
        table.write_text(f"student,lab,due,reason\nada,{LAB},{due},table\n")
        words = ("portal", "extensions", "--import", table, "--course", folder)
        return grader(*words).code == 0

    for give in (page, api, command, imported):
        assert give(TWICE) and not give(SKIPPED), give.__name__
        given = course.book.extensions(LAB)["ada"]
        assert given.due is not None and given.due.isoformat() == SECOND, give.__name__
    moment = {"name": LAB, "when": "from"}
    assert lead.post(f"/class/{LAB}/release", moment=SKIPPED, **moment).code == 422
    assert grader("portal", "release", LAB, SKIPPED, "--course", folder).code == 2


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("ZOË@example.org", "zoë@example.org"),
        ("zoë@example.org", "ZOE\u0308@EXAMPLE.ORG"),
        ("zoe\u0308@example.org", "zoë@example.org"),
        ("ada@example.org", " Ada@Example.org "),
    ],
)
def test_one_address_in_several_forms_is_one(course: Served, written: str, asked: str) -> None:
    course.book.enroll([Student("x", "X", written)], "test")
    found = course.site.people.find(asked)
    assert found is not None and found.student == "x"
    course.book.people.add_staff(written, "observer", "test")
    staff = course.site.people.find(asked)
    assert staff is not None and staff.role == "observer", "staff come first"


def test_no_address_becomes_that_of_another_person(course: Served) -> None:
    """The sign for kelvin is a k in lower case: a provider may know it as another mailbox."""
    course.book.enroll([Student("kim", "Kim", "kim@example.org")], "test")
    for one in ("\u212aim@example.org", "kim@example.org\u037e", "k\x00im@example.org", "\ud800"):
        assert comparable_address(one) == "" and course.site.people.find(one) is None


def test_an_address_of_two_students_is_reported(tmp_path: Path) -> None:
    write_course(tmp_path)
    lines = "id,name,email\nada,Ada,Ada@example.org\nben,Ben,ada@EXAMPLE.org\n"
    (tmp_path / "roster.csv").write_text(lines)
    book = open_gradebook(read_course(tmp_path).gradebook)
    book.enroll(read_course(tmp_path).students, "test")
    assert book.people.shared_addresses() == {"ada@example.org": ("ada", "ben")}
    book.close()
    said = grader("portal", "link", "ada@example.org", "--course", tmp_path)
    assert said.code == 2 and "ada, ben have the same address" in said.err
