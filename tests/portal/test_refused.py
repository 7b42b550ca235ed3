"""Forms that are refused, sent twice, or sent after the session ended; and what a browser keeps."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from grader.faults import MachineFault
from grader.gradebook.people import Person
from grader.portal.app import MODULES
from grader.portal.requests import LIMITS, TYPED
from tests.portal.made import LAB, Served, Visit, grade_json, source, until

TEXT = "what <b>someone</b> has typed\n  for an hour"
SHOWN = "what &lt;b&gt;someone&lt;/b&gt; has typed\n  for an hour"
CHOSEN = {"form", "file", "answers", "keep", "student", "submission", "earlier", "course", "group"}
CHOSEN |= {"when", "action", "decision", "line", "scope", "email"}
CHOSEN |= {
    "audience",
    "issuer",
    "jwks_url",
    "deployment",
    "lab",
    "token_url",
    "auth_url",
    "client_id",
}
"""Fields that nobody types, or that are copied from elsewhere."""


def forms() -> Iterator[tuple[str, str, list[str]]]:
    """Every form with fields: the name of its route, its path, and the fields."""
    for module in MODULES:
        for route in module.router.routes:
            fields = [one.name for one in route.dependant.body_params]
            if "form" in fields and len(fields) > 1:
                yield route.name, route.path, fields


FORMS = sorted(forms())
IDS = [name for name, _, _ in FORMS]


def test_every_field_of_a_form_is_typed_or_chosen() -> None:
    """A new form is shown again when it is refused, as the others are."""
    fields = {field for _, _, found in FORMS for field in found}
    assert fields - CHOSEN == TYPED.keys() and not CHOSEN & TYPED.keys()


@pytest.mark.parametrize(("name", "path", "fields"), FORMS, ids=IDS)
def test_what_was_typed_is_shown_when_a_form_is_refused(
    shared: Served, name: str, path: str, fields: list[str]
) -> None:
    typed = {field: TEXT for field in fields if field in TYPED}
    where = re.sub(r"\{(\w+)\}", lambda one: {"name": LAB}.get(one[1], "1"), path)
    more = {"student": "ada", "submission": "1", "when": "from", "action": "hide", "scope": "read"}
    more |= {field: "1" for field in fields if field not in {*more, "file", "answers", "keep"}}
    sent = {**more, "decision": "adopt", "email": "x", **typed, "form": "of another session"}
    for email in ("ada@example.org", "lead@example.org"):
        reply = shared.signed_in(email).post(where, **sent)
        assert reply.code in (403, 404), (name, email)
        assert reply.text.count(SHOWN) == len(typed)
    nobody = Visit(shared.port)
    ended = nobody.post(where, **sent)
    if typed:
        assert ended.code == 401 and ended.text.count(SHOWN) == len(typed)
        assert "session has ended" in ended.text and "/sign-in" not in ended.to
    nobody.own = {"Origin": "https://evil.example"}
    assert "someone" not in nobody.post(where, **sent).text, "another site's text is not shown"


def test_a_refused_upload_keeps_its_text_and_its_answers(
    course: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any reason: a limit, a database that fails, or a page of an earlier session."""
    ada, book = course.signed_in("ada@example.org"), course.book
    question = course.site.labs[LAB].quiz[0].name
    where, typed = f"/labs/{LAB}/submissions", {"source": TEXT, f"quiz-{question}": TEXT}

    def fails(*words: Any, **more: Any) -> None:
        raise MachineFault("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(book, "submit", fails)
        failed = ada.post(where, **typed)
    assert failed.code == 503 and "Nothing was stored" in failed.text
    with monkeypatch.context() as patch:
        patch.setattr(course.site.people, "session", fails)
        unreached = ada.post(where, **typed, form="x")
    assert unreached.code == 503 and "Nothing was stored" in unreached.text
    for k in range(LIMITS["submit"].amount):
        assert ada.submit(source(k)).code == 303
    limited = ada.post(where, **typed)
    assert limited.code == 429
    for reply in (failed, unreached, limited):
        assert reply.text.count(SHOWN) == 2 and f">{question}</label>" in reply.text
    read = ada.get("/submissions/1").text
    assert "Nothing was stored" not in read


def graded(course: Served) -> int:
    """A graded submission of ada."""
    number = course.book.submit(LAB, "ada", "a.cu", source(), received=course.site.now()).id
    claim = course.book.claim(number, "key", "worker", 10)
    assert claim is not None and course.book.accept(claim, grade_json(LAB))
    return number


def test_a_form_that_is_sent_twice_is_one(course: Served) -> None:
    """A double click, or a page that is sent again."""
    number, ada = graded(course), course.signed_in("ada@example.org")
    lead, teaching = course.signed_in("lead@example.org"), course.book.teaching
    asked = {ada.post(f"/submissions/{number}/requests", body="Why?").to for _ in range(2)}
    assert len(asked) == 1
    assert ada.post(f"/submissions/{number}/requests", body="Else?").code == 422
    (where,) = asked
    for visit, body in ((lead, "See line 3."), (ada, "I see."), (ada, "Thanks."), (ada, "I see.")):
        for _ in range(2):
            assert visit.post(f"{where}/messages", body=f" {body}\r\n").code == 303
    (request,) = teaching.requests(number)
    said = [one.body for one in request.messages]
    assert said == ["Why?", "See line 3.", "I see.", "Thanks.", "I see."]
    comments = [
        lead.post(f"/submissions/{number}/comments", body=body, line=line).to
        for body, line in (("x", "3"), ("x", "3"), ("x", "4"), ("y", "3"), ("x", ""))
    ]
    assert len(set(comments)) == 4 and comments[0] == comments[1]
    made = comments[0].rpartition("-")[2]
    assert lead.post(f"/submissions/{number}/comments/{made}/remove").code == 303
    again = lead.post(f"/submissions/{number}/comments", body="x", line="3").to
    assert again not in comments, "a comment that was removed may be written again"
    assert len(teaching.comments(number)) == 4


def test_nobody_learns_from_the_mail_server_who_takes_the_course(course: Served) -> None:
    """Neither a server that is slow nor one that fails: the answer does not wait for it."""
    wait, sent, said = threading.Event(), list[str](), list[str]()
    course.site.say = said.append  # type: ignore[method-assign]

    def fails(person: Person, address: str) -> None:
        wait.wait()
        sent.append(person.email)
        raise MachineFault("no mail today", where="smtp.example.org")

    course.site.send_link = fails
    known, unknown = (
        Visit(course.port).post("/sign-in", email=email)
        for email in ("ada@example.org", "nobody@example.org")
    )
    assert (known.code, known.text) == (unknown.code, unknown.text) == (200, unknown.text)
    assert sent == []
    wait.set()
    until(lambda: said)
    assert sent == ["ada@example.org"] and "no mail today" in said[0] and "ada" not in said[0]


def test_answers_belong_to_one_person(course: Served) -> None:
    """No cache between keeps a page, and the browser drops its own when its person signs out."""
    ada, token = course.signed_in("ada@example.org"), course.program("ada@example.org")
    for reply in (ada.get("/"), ada.get("/nothing"), token.get("/api/v1/labs")):
        assert reply.headers["Cache-Control"] == "private, no-cache"
    static = re.findall(r"/static/portal.css[^\"]*", ada.get("/").text)[0]
    assert "immutable" in ada.get(static).headers["Cache-Control"]
    made = ada.post("/account/tokens", name="x", scope="read")
    assert "wg_" in made.text and made.headers["Cache-Control"] == "no-store"
    assert ada.post("/sign-out").headers["Clear-Site-Data"] == '"cache"'


def test_a_view_ends_with_the_session_that_began_it(course: Served) -> None:
    """Whoever signs in at this browser next sees the own pages."""
    lead = course.signed_in("lead@example.org")
    assert lead.post("/students/ada/view").code == 303
    assert "Nothing can be changed" in lead.get("/").text
    lead.cookies["warpgrade"] = "ended"
    for email in ("lead@example.org", "ta@example.org"):
        person = course.site.people.find(email)
        assert person is not None
        link = course.site.people.new_link(person.who)
        assert lead.ask("POST", f"/sign-in/{link}").code == 303
        assert "Nothing can be changed" not in lead.get("/").text
