"""Scripts in every text that a person, a file or a machine can put in: none of them runs.

COLUMNS has a row for every column of text of the gradebook, FIELDS one for every field of a form or
of a JSON body of the routes. One without a row fails, and so does one that has no attack in it.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import smtplib
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as default_policy
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel
from selenium import webdriver
from sqlalchemy import LargeBinary, String, select

from grader.batch.task import Answer, BatchOptions, Task
from grader.gradebook.ledger import Student
from grader.gradebook.people import Person
from grader.gradebook.policy import Release
from grader.gradebook.tables import metadata
from grader.gradebook.workers import WorkerEntry
from grader.grading.pipeline import Progress
from grader.labs.model import Choice, Lab, Question
from grader.portal.app import MODULES
from grader.portal.site import MailServer
from grader.portal.task.handouts import built_page
from tests.command import grader
from tests.portal.made import COURSE, LAB, Served, Visit, served, source, until, working
from tests.portal.texts import COLUMNS, FIELDS
from tests.reports.page.browser import canary, chromium, console, requests
from tests.reports.page.rows import attacks, hostile_row

FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
ATTACKS = ("<script>window.hacked = 1</script>", '"><img src=x onerror="window.hacked = 1">')
HOSTILE_COURSE = f"""{COURSE}\
    extensions:
      - {{student: ada, due: 2027-04-20 12:00, reason: "{ATTACKS[0]}"}}
    groups:
      "{ATTACKS[0]}": [ada, ben]
"""
LOOK = """
const made = "iframe, base, object, [onerror], [onload], a[href^=javascript]";
return [window.hacked === undefined, document.querySelectorAll("script:not([src])").length,
  document.querySelectorAll(made).length];
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[str]]]:
    """A course with a student for each attack, who has it in all that is text; what it asks for."""
    folder = tmp_path_factory.mktemp("course")
    with canary() as (address, asked), served(folder, text=HOSTILE_COURSE) as course:
        every = attacks(address)
        students = [
            Student(f"s{k}", attack or "x", f"s{k}@example.org", attack, attack, section=attack)
            for k, attack in enumerate(every)
        ]
        students += [Student(f"{attack} {k}", "x", attack) for k, attack in enumerate(every[:9])]
        course.book.enroll([*course.site.course.students, *students], "test")
        course.book.apply(course.site.course, every[0])
        hostile_lab(course, every)
        sent = [submitted(course, k, attack) for k, attack in enumerate(every)]
        again = course.signed_in("s0@example.org").submit(source(99) + every[0].encode())
        sent.append(int(again.to.rpartition("/")[2]))
        with working(course.book, course.site, perform=hostile_grade(every)):
            until(lambda: all(course.book.grade(number) for number in sent))
        for k, attack in enumerate(every):
            taught(course, k, attack)
        yield course, asked


def hostile_lab(course: Served, every: list[str]) -> None:
    """Attacks in the lab's title, quiz and handout; and submissions of students who are some."""
    lab, text = course.site.labs[LAB], " ".join(one for one in every if len(one) < 99)
    own = dataclasses.replace(
        lab, title=text, quiz=(
            Question("a", "text", text), Question("b", "number", text, answer=1, unit=text),
            Question("c", "choice", text, choices=(Choice(text), Choice(text))),
        ),
    )  # fmt: skip
    course.site.labs = {**course.site.labs, LAB: own}
    page = built_page(course.site.course, LAB)
    page.parent.mkdir()
    attacked = "".join(f"<p title='x'>{one}</p><a href='{one}'>{one}</a>" for one in every)
    page.write_text(f"<body>{attacked}</body>", "utf-8", "replace")
    for k, attack in enumerate(every[:9]):
        answers = f"a: {attack!r}\n".encode()
        course.book.submit(
            LAB, f"{attack} {k}", "a.cu", source(k), received=course.site.now(), answers=answers,
            source=attack,
        )  # fmt: skip
        course.book.people.add_staff(
            f"{attack.replace('@', '')}{k}@example.org".lower(), "observer", "test"
        )


def hostile_grade(every: list[str]) -> Any:
    """Grades with an attack in every text, of the same number as the submission."""

    def perform(lab: Lab, task: Task, options: BatchOptions, progress: Progress) -> Answer:
        attack = every[(task.number - 1) % len(every)]
        progress(attack or "step", 1, 1)
        row = hostile_row(attack)
        return Answer(task.number, replace(row.grade, lab=lab.name).to_json())

    return perform


def taught(course: Served, k: int, attack: str) -> None:
    """All that staff and machines write about a submission, with an attack in each text."""
    (one, *_), text = course.book.history(LAB, f"s{k}"), attack.strip()[:4000] or "x"
    teaching, author = course.book.teaching, f"lead@example.org{text}"
    for line in (0, 1):
        teaching.comment(one.id, line, text, author)
    number = teaching.ask(one.id, text, author)
    teaching.reply(number, text, author, staff=True)
    course.book.override(LAB, f"s{k}", 12.5, author, text)
    teaching.set_release(LAB, Release(course.site.now()), author, text)
    teaching.choose(one.id, author, f"s{k}")
    team = "".join(one for one in text if one.isprintable())[:40] or "x"
    course.book.groups.put(LAB, f"s{k}", team, author, text)
    course.book.board.join(LAB, f"s{k}", f"Fox {k}", author)
    if k % 2:
        course.book.board.hide(LAB, f"s{k}", author, text)
    regrade = teaching.start_regrade(LAB, (f"s{k}",), author, text)
    claim = course.book.claim(one.id, "other", text, 60, proposal=regrade.proposal)
    assert claim is not None
    course.book.fault(claim, text)
    if k < 28:  # the last one stays open, with its buttons
        teaching.end_regrade(regrade.id, author, adopt=False)
    course.book.people.add_staff(f"t{k}@example.org", "ta", author, name=text, sections=(text,))
    worker = WorkerEntry(f"{text}/b/n/1/2/{k}", "sim", text, 1, text, text)
    course.book.workers.beat(worker)


def submitted(course: Served, k: int, attack: str) -> int:
    """Submit, make a token, ask about the grade and be given an extension, all with an attack."""
    text = attack.encode("utf-8", "replace").replace(b"\0", b"")
    code = source(k) + b"// %s\n/* %s */\n" % (text.replace(b"*/", b""), text.replace(b"*/", b""))
    code += b'__global__ void hostile() { printf("%s"); }\n' % text.replace(b"\n", b" ")
    visit, name = course.signed_in(f"s{k}@example.org"), "a.cu"
    if k % 2:
        cells = [
            {"cell_type": "markdown", "metadata": {}, "source": [attack]},
            {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None,
             "source": "%%cuda\n" + code.decode("utf-8", "replace")},
        ]  # fmt: skip
        book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
        code, name = json.dumps(book).encode(), "a.ipynb"
    shown = "".join(one for one in attack if one.isprintable() and one not in '"\\/')[:60]
    reply = visit.submit(code, f"{shown}{name}".encode("utf-8", "replace").decode("latin-1"))
    assert reply.code == 303, (attack, reply.text[-300:])
    sent = int(reply.to.rpartition("/")[2])
    fields = {"name": attack.encode("utf-8", "replace").decode()[:80] or "x", "scope": "read"}
    assert visit.post("/account/tokens", **fields).code in (200, 422)
    course.book.extend(LAB, f"s{k}", course.site.now(), f"lead{attack}", attack or "x")
    return sent


def cookies(browser: webdriver.Chrome, visit: Visit) -> None:
    browser.delete_all_cookies()
    name, _, value = visit.cookie.partition("=")
    browser.add_cookie({"name": name, "value": value})


def test_nothing_injected_runs(
    hostile: tuple[Served, list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    course, asked = hostile
    here = f"http://127.0.0.1:{course.port}"
    found = [[one.id for one in course.book.history(LAB, f"s{k}")] for k in range(99)]
    numbers = [sent[0] for sent in found if sent]
    own = [f"/submissions/{number}" for number in numbers]
    students = [f"/students/s{k}" for k in range(0, len(numbers), 4)]
    pages = [f"/class/{LAB}", "/audit", "/queue", "/health", "/requests", *own, *students]
    pages += [f"/requests/{number}" for number in range(1, len(numbers) + 1, 3)]
    pages += ["/regrades", *(f"/regrades/{number}" for number in range(1, len(numbers) + 1, 5))]
    pages += [f"/class/{LAB}/{name}" for name in ("similar", "groups")] + [f"/labs/{LAB}/board"]
    pages += ["/account", "/students/ada", f"/students/{quote(attacks('x')[2] + ' 2')}"]
    pages.append(f"/compare?a={numbers[0]}&b={found[0][1]}")
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        browser.get(f"{here}/healthy")
        requests(browser)  # forgets the browser's own first page
        cookies(browser, course.signed_in("lead@example.org"))
        seen: dict[str, Any] = {}
        for path in pages:
            browser.get(here + path)
            seen[path] = browser.execute_script(LOOK)
        for k in (0, 7, 21):  # whose name is in the frame of every page
            browser.delete_all_cookies()
            cookies(browser, course.signed_in(f"t{k}@example.org"))
            for path in ("/", "/account"):
                browser.get(here + path)
                seen[f"t{k} {path}"] = browser.execute_script(LOOK)
        for k in (0, 3):
            browser.delete_all_cookies()
            cookies(browser, course.signed_in(f"s{k}@example.org"))
            for path in ("/", "/account", f"/labs/{LAB}", f"/labs/{LAB}/board", own[k]):
                browser.get(here + path)
                seen[f"{k} {path}"] = browser.execute_script(LOOK)
        assert {path: saw for path, saw in seen.items() if saw != [True, 0, 0]} == {}
        safe = (f"{here}/", "data:image/svg+xml;")  # pictures of the browser's own controls
        assert [url for url in requests(browser) if not url.startswith(safe)] == []
        assert console(browser) == []
    assert asked == []
    assert not Path("/tmp/escape").exists()


def test_every_column_of_text_has_an_attack(hostile: tuple[Served, list[str]]) -> None:
    course, _ = hostile
    named = {}
    for table in metadata.sorted_tables:
        for column in table.columns if not table.name.startswith("lti_") else ():
            if isinstance(column.type, String | LargeBinary):  # Text is a String
                named[f"{table.name}.{column.name}"] = column
    assert named.keys() == COLUMNS.keys(), "a new column of text needs a row"
    without = set()
    with course.book._database.reading() as connection:
        for name in (name for name, what in COLUMNS.items() if what == "attack"):
            found = connection.execute(select(named[name])).scalars().all()
            texts = [one.decode() if isinstance(one, bytes) else str(one) for one in found]
            if not any("<script" in one or "<img" in one for one in texts):
                without.add(name)
    assert without == set()


def fields_of(course: Served) -> dict[str, str]:
    """The fields of the forms and JSON bodies, each with its route's path.

    Those of LTI take what a platform or the course has signed: tests/portal/lti tries them.
    """
    found = {}
    for module in (one for one in MODULES if ".lti" not in one.__name__):
        for route in module.router.routes:
            assert isinstance(route, APIRoute)
            for field in route.dependant.body_params:
                model = field.field_info.annotation
                is_model = isinstance(model, type) and issubclass(model, BaseModel)
                names = model.model_fields if is_model else [field.name]  # type: ignore[union-attr]
                found |= {f"{route.name}.{name}": route.path for name in names}
    return found


def test_every_field_of_the_routes_is_tried(hostile: tuple[Served, list[str]]) -> None:
    """Each goes into a column with an attack, or is in no answer, whatever it says."""
    course, asked = hostile
    found = {name: path for name, path in fields_of(course).items() if not name.endswith(".form")}
    assert found.keys() == FIELDS.keys(), "a new field needs a row"
    assert {column for column in FIELDS.values() if column} <= COLUMNS.keys()
    visits = [course.signed_in(f"{who}@example.org") for who in ("lead", "ben")]
    programs = [course.program(f"{who}@example.org") for who in ("lead", "ben")]
    wanted: dict[str, list[str]] = {}
    for name in found:
        wanted.setdefault(name.partition(".")[0], []).append(name.partition(".")[2])
    tried = 0
    for route, names in wanted.items():
        path = found[f"{route}.{names[0]}"].format(name=LAB, number=1, student="s1", comment_id=1)
        for own in names:
            for attack in ATTACKS:
                given = {one: attack if one == own else "x" for one in names}
                is_api = path.startswith("/api/")
                for visit in programs if is_api else visits:
                    if is_api:
                        body = json.dumps(given).encode()
                        reply = visit.ask("POST", path, body, Content_Type="application/json")
                        assert reply.headers["Content-Type"] == "application/json", (route, own)
                    else:
                        reply = visit.post(path, **given)
                        assert attack not in reply.text, (route, own, reply.code)
                    tried += reply.code < 500
                    assert reply.code < 500, (route, own, reply.text)
    assert tried > 2 * len(ATTACKS) * len(FIELDS) - 1 and asked == []


def test_programs_get_the_texts_as_json_alone(hostile: tuple[Served, list[str]]) -> None:
    course, _ = hostile
    for k in range(0, 12, 3):
        program = course.program(f"s{k}@example.org")
        one, *_ = course.book.history(LAB, f"s{k}")
        for path in ("/api/v1/me", f"/api/v1/submissions/{one.id}"):
            reply = program.get(path)
            assert reply.code == 200 and reply.headers["Content-Type"] == "application/json"
            assert reply.json and reply.headers["X-Content-Type-Options"] == "nosniff"
        source_reply = course.signed_in(f"s{k}@example.org").get(f"/submissions/{one.id}/source")
        kind = source_reply.headers["Content-Type"]
        assert kind.startswith("text/plain"), kind


@pytest.mark.parametrize("kind", ["csv", "junit"])
def test_exports_hold_no_formula_and_no_markup(
    kind: str, hostile: tuple[Served, list[str]], tmp_path: Path
) -> None:
    course, _ = hostile
    out = tmp_path / f"grades.{kind}"
    folder = ("--course", str(course.site.course.folder))
    said = grader("export", LAB, *folder, "--format", kind, "--out", str(out))
    assert said.code in (0, 2) and out.stat().st_size > 1000, said.err
    text = out.read_text("utf-8")
    if kind == "junit":
        texts = [one.tag for one in ElementTree.fromstring(text).iter()]
        assert not {"script", "img", "svg"} & set(texts)
        return
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert [cell for cell in cells if FORMULA.match(cell)] == []
    assert any("hacked" in cell for cell in cells), "the attacks are in it, as text"


def test_links_in_mail_go_to_one_person_with_one_subject(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[EmailMessage] = []
    monkeypatch.setattr(smtplib.SMTP, "connect", lambda *place: (220, b"ready"))
    monkeypatch.setattr(smtplib.SMTP, "send_message", lambda self, message: sent.append(message))
    monkeypatch.setattr(smtplib.SMTP, "__exit__", lambda *error: None)
    server = MailServer("mail.example.org", "cuda@example.org", encrypted=False)
    ada = Person("student:ada", "Ada", "ada@example.org", "student")
    every = [
        *attacks("http://x"),
        "a\r\nBcc: eve@example.org\r\n\r\nHello",
        "a\nTo: eve@example.org",
    ]
    for attack in every:
        server.send_link(attack, ada, "https://cuda.example.org/sign-in/secret")
    assert len(sent) == len(every)
    for message in sent:
        read = message_from_bytes(message.as_bytes(), policy=default_policy)
        assert read.get_all("To") == ["ada@example.org"] and read["Bcc"] is None
        assert str(read["Subject"]).startswith("Sign in to")
        assert read.get_content_type() == "text/plain"
        assert read.get_content().count("/sign-in/secret") == 1
