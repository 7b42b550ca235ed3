"""`grader submit`, `status` and `portal` against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from grader.cli import portal as commands
from grader.faults import LabFault
from grader.gradebook.book import open_gradebook
from grader.gradebook.course import read_course
from grader.portal import demo
from grader.portal.task.handouts import built_page
from tests.command import grader
from tests.portal.made import LAB, Served, served, source, until, working


@pytest.fixture
def token(course: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Ada's token, in the environment of commands."""
    person = course.site.people.find("ada@example.org")
    assert person is not None
    made = course.site.people.new_token(person.who, "t", ("read", "submit"), "test")
    monkeypatch.setenv("WARPGRADE_URL", f"http://127.0.0.1:{course.port}")
    monkeypatch.setenv("WARPGRADE_TOKEN", made)
    yield made


def test_submit_and_status(course: Served, token: str, tmp_path: Path) -> None:
    file = tmp_path / "ä b.cu"
    file.write_bytes(source())
    sent = grader("submit", LAB, str(file))
    assert (sent.code, "stored as submission 1" in sent.err) == (0, True)
    assert "waiting, 0 before it" in grader("status", "1").err
    with working(course.book, course.site):
        until(lambda: course.book.grade(1))
    shown = grader("status", "1", "--json", "-")
    assert shown.code == 1 and json.loads(shown.out)["grade"]["score"] == 70
    assert "70" in grader("status").out
    stored = course.book.submission(1)
    assert stored is not None and stored.name == "ä b.cu"
    file.write_bytes(b"%PDF-1.4")
    refused = grader("submit", LAB, str(file))
    assert refused.code == 1 and "PDF" in refused.err


def test_wrong_use_says_what_to_do(course: Served, token: str, tmp_path: Path) -> None:
    missing = grader("submit", LAB, str(tmp_path / "no.cu"))
    assert missing.code == 2 and "no.cu" in missing.err
    file = tmp_path / "a.cu"
    file.write_bytes(source())
    unknown = grader("submit", "nothing", str(file))
    assert unknown.code == 2 and "no such lab" in unknown.err
    away = grader("status", "--url", "http://127.0.0.1:9")
    assert away.code == 3 and "cannot reach the course" in away.err
    bad = grader("status", "--url", "ftp://x")
    assert bad.code == 2 and "WARPGRADE_URL" in bad.err


def test_accounts_tokens_and_extensions(course: Served) -> None:
    folder = str(course.site.course.folder)
    made = grader("portal", "staff", "New@Example.org", "--role", "ta", "--section", "B",
                  "--course", folder)  # fmt: skip
    assert made.code == 0
    assert "new@example.org  ta, B" in grader("portal", "staff", "--course", folder).out
    assert grader("portal", "staff", "new@example.org", "--remove", "--course", folder).code == 0
    assert "new@" not in grader("portal", "staff", "--course", folder).out
    for words in (("x@", "--role", "ta"), ("x@y.z", "--role", "king"), ("x@y.z",)):
        assert grader("portal", "staff", *words, "--course", folder).code == 2
    link = grader("portal", "link", "ada@example.org", "--course", folder).out
    assert "/sign-in/" in link
    unknown = grader("portal", "link", "x@y.z", "--course", folder)
    assert unknown.code == 2
    assert "there is no person with the address `x@y.z` in the course" in unknown.err
    token = grader("portal", "token", "ada@example.org", "--course", folder).out.strip()
    found = course.site.people.token(token)
    assert found is not None and found[0].student == "ada"
    due = ("2027-04-20T12:00", "--reason", "ill", "--course", folder)
    assert grader("portal", "extend", LAB, "ada", *due).code == 0
    assert f"{course.book.extensions(LAB)['ada'].due:%d.%m. %H:%M}" == "20.04. 10:00"
    assert grader("portal", "extend", LAB, "nobody", *due).code == 2
    noon = grader("portal", "extend", LAB, "ada", "noon", *due[1:])
    assert noon.code == 2 and "`noon` is not a date and time" in noon.err
    assert grader("portal", "extend", LAB, "ada", "none", *due[1:]).code == 0
    assert course.book.extensions(LAB) == {}
    assert course.book.verify().problems == ()


def test_serve_says_which_handouts_are_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the terminal and to staff; once a page is built, neither says so any more."""
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: None)
    told = f"Students see no handout of {LAB}. Build them with:"
    with served(tmp_path) as course:
        lead, ada = (course.signed_in(f"{who}@example.org") for who in ("lead", "ada"))
        assert commands.serve(course=tmp_path, jobs=0) == 0
        said = capsys.readouterr().err
        assert told in said and f"grader portal handouts --course {tmp_path}" in "".join(
            line.strip() + " " for line in said.splitlines()
        ).replace("  ", " ")
        assert "handout of this lab is not built" in lead.get(f"/class/{LAB}").text
        assert "not built" not in ada.get(f"/labs/{LAB}").text
        page = built_page(course.site.course, LAB)
        page.parent.mkdir()
        page.write_text("<body><p>the task</p></body>")
        assert commands.serve(course=tmp_path, jobs=0) == 0
        assert told not in capsys.readouterr().err
        assert "is not built" not in lead.get(f"/class/{LAB}").text
        assert "the task" in ada.get(f"/labs/{LAB}").text


def test_a_demo_that_was_cut_short_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "demo"

    def fails(*words: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(demo, "labs_of", fails)
        demo.make_demo(folder)
    assert not folder.exists()
    demo.make_demo(folder)
    book = open_gradebook(read_course(folder).gradebook)
    assert len(book.people.staff()) == len(demo.STAFF) and book.progress.waiting(demo.LABS)
    book.close()
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(LabFault, match="cannot make the demo"):
        demo.make_demo(other)
    assert (other / "notes.txt").read_text() == "mine"
