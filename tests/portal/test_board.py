"""The leaderboard as people use it: join, leave, hide, read; by page, API and command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from grader.batch.task import Answer, BatchOptions, grade_task
from grader.cli import app
from grader.faults import LabFault
from grader.gradebook import derived, entries
from grader.gradebook.board import Marks, folded, read_pseudonym
from grader.gradebook.policy import Release
from grader.gradebook.values import read_grade
from grader.labs.reading import lab_digest
from grader.portal.boards import whole_board
from grader.portal.marks import measure_marks
from grader.portal.site import Site
from grader.portal.worker import GradedLab
from tests.portal.made import COURSE, LAB, Served, served, source, verified_grade

PAGE, API = f"/labs/{LAB}/board", f"/api/v1/labs/{LAB}/board"


def graded_submission(
    course: Served, who: str, number: int, cost: tuple[int, int, int] = (10, 0, 320), **more: Any
) -> int:
    stored = course.book.submit(LAB, who, "a.cu", source(number), received=course.site.now())
    claim = course.book.claim(stored.id, f"key {number}", "worker", 60)
    made = verified_grade(course.site.labs[LAB], cost, **more)
    assert claim is not None and course.book.accept(claim, made)
    return stored.id


@pytest.fixture(scope="module")
def board(shared: Served) -> Served:
    """Ada is before Ben; Cyd has a result and takes no part."""
    for k, (who, name) in enumerate((("ada", "Fast Fox"), ("ben", "owl_2"), ("cyd", ""))):
        graded_submission(shared, who, 10 * k, (5 + k, 3, 320))
        graded_submission(shared, who, 10 * k + 1, (4 + k, 3, 320))
        if name:
            shared.book.board.join(LAB, who, name, "test")
    graded = verified_grade(shared.site.labs[LAB], (1, 2, 32))
    kept = {"backend": "sim", "cost": graded["cost"], "speedup": None}
    digest = lab_digest(shared.site.labs[LAB])
    shared.book.board.set_marks(LAB, Marks(digest, kept))
    return shared


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def grader(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs a command in this process."""

    def call(*words: str) -> Done:
        capsys.readouterr()
        code = app.run(words)
        return Done(code, *capsys.readouterr())

    return call


def rows(page: str) -> list[list[str]]:
    """The cells of the ranking as text."""
    table = page.partition('id="ranking"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    found = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S) for row in table.split("</tr>")]
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in row] for row in found if row]


def test_the_page_ranks_and_says_how(board: Served) -> None:
    page = board.signed_in("ada@example.org").get(PAGE).text
    found = [row[:4] for row in rows(page)]
    assert found == [
        ["", "solution", "–", "17"],
        ["1", "Fast Fox you", "–", "54"],
        ["2", "owl_2", "–", "62"],
        ["", "baseline", "–", "750"],
    ]
    assert "Your rank is 1" in page and "8 for each 32-byte sector" in page
    assert "beyond-16-bits" in page  # the public case that is measured
    assert "data-plot" in page and "solution (dotted): 17" in page
    assert not any(word in page for word in ("Ben", "ben@", "cyd", "hidden-short"))


def test_only_staff_of_the_section_know_who_it_is(board: Served) -> None:
    told = {}
    for who in ("ta", "lead", "watch"):
        page = board.signed_in(f"{who}@example.org").get(PAGE).text
        told[who] = [row[-1].partition("Hide")[0] for row in rows(page) if row[0]]
        assert ("Hide" in page) == (who != "watch")
    assert told == {"ta": ["ada", "ben"], "lead": ["ada", "ben"], "watch": ["", ""]}
    board.book.board.join(LAB, "cyd", "Third", "test")
    ta, lead = (board.signed_in(f"{who}@example.org") for who in ("ta", "lead"))
    assert "Third" in ta.get(PAGE).text and "/students/cyd" not in ta.get(PAGE).text
    assert "/students/cyd" in lead.get(PAGE).text
    fields = {"student": "cyd", "action": "hide", "reason": "x"}
    assert ta.post(f"{PAGE}/entries", **fields).code == 404
    board.book.board.leave(LAB, "cyd", "test")


def test_a_student_joins_changes_and_leaves(board: Served) -> None:
    cyd = board.signed_in("cyd@example.org")
    assert "You take no part" in cyd.get(PAGE).text
    assert cyd.post(PAGE, pseudonym="FAST-fox").code == 422  # Ada's, but for what separates
    for text in ("<b>x</b>", "a", "x" * 25, "two  spaces", "рау", "‮abc", "Staff 1", "a\nb", " "):
        reply = cyd.post(PAGE, pseudonym=text)
        assert reply.code == 422 and "<b>x" not in reply.text and "‮" not in reply.text
    assert cyd.post(PAGE, pseudonym="Cy 1").code == 303
    assert [row[1] for row in rows(cyd.get(PAGE).text)][-2] == "Cy 1 you"
    assert cyd.post(PAGE, pseudonym="Cy.2").code == 303
    assert cyd.post(f"{PAGE}/leave").code == 303
    assert "Cy" not in "".join(row[1] for row in rows(cyd.get(PAGE).text))
    ben = board.signed_in("ben@example.org")
    assert ben.post(PAGE, pseudonym="cy2").code == 303, "the name is free again"
    assert ben.post(PAGE, pseudonym="owl_2").code == 303
    actions = [e.action for e in board.book.audit(LAB, "cyd") if e.action.startswith("board")]
    assert actions[-3:] == ["board", "board", "board left"]


def test_staff_hide_and_show_an_entry_with_a_reason(board: Served) -> None:
    ta, ben, ada = (board.signed_in(f"{who}@example.org") for who in ("ta", "ben", "ada"))
    fields = {"student": "ben", "action": "hide", "reason": "RUDE name"}
    assert ta.post(f"{PAGE}/entries", **fields | {"reason": " "}).code == 422
    assert ta.post(f"{PAGE}/entries", **fields | {"action": "burn"}).code == 422
    assert ta.post(f"{PAGE}/entries", **fields).code == 303
    assert ta.post(f"{PAGE}/entries", **fields).code == 422, "hidden already"
    assert "owl_2" not in ada.get(PAGE).text
    own = ben.get(PAGE).text
    assert "hidden your entry" in own and "RUDE" not in own
    api = board.program("ben@example.org").get(API)
    assert api.json["hidden"] and api.json["why"] == "" and "RUDE" not in api.text
    assert ben.post(f"{PAGE}/leave").code == 303 and ben.post(PAGE, pseudonym="New").code == 303
    assert "New" not in ada.get(PAGE).text, "it stays hidden when its student comes back"
    assert "hidden: RUDE name" in ta.get(PAGE).text
    assert ta.post(f"{PAGE}/entries", **fields | {"action": "show"}).code == 303
    assert ben.post(PAGE, pseudonym="owl_2").code == 303
    changes = [
        e for e in board.book.audit(LAB, "ben") if e.action in ("board hidden", "board shown")
    ]
    assert [(e.actor, e.reason) for e in changes] == [("ta@example.org", "RUDE name")] * 2
    assert board.book.verify().problems == ()


def test_each_grade_that_counts_is_read_once(
    board: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for the points and once for the place; no view reads any of them again."""
    read: list[int] = []

    def counted(attempt: int, *more: Any) -> Any:
        read.append(attempt)
        return read_grade(attempt, *more)

    for module in (entries, derived):
        monkeypatch.setattr(module, "read_grade", counted)
    course = board.site.course
    site = Site(course, board.site.labs, board.book, "http://x", lambda person, address: None)
    lab = site.labs[LAB]
    places = whole_board(site, lab)
    counting = {one.attempt for one in site.counted(LAB) if one.attempt is not None}
    assert len(counting) >= 2 and set(read) == counting and len(read) <= 2 * len(counting)
    read.clear()
    assert whole_board(site, lab) == places and not read
    board.book.board.leave(LAB, "ben", "ben")
    assert len(whole_board(site, lab)) == len(places) - 1 and not read, "another state, no grade"
    board.book.board.join(LAB, "ben", "owl_2", "ben")
    assert whole_board(site, lab) == places and not read


def test_the_api_shows_pseudonyms_to_everybody(board: Served) -> None:
    reply = board.program("lead@example.org").get(API)
    names = [(one["rank"], one["name"]) for one in reply.json["entries"]]
    assert names == [(None, "solution"), (1, "Fast Fox"), (2, "owl_2"), (None, "baseline")]
    assert "ada" not in reply.text and "student" not in reply.text
    own = board.program("ada@example.org").get(API).json
    assert own["pseudonym"] == "Fast Fox" and own["entries"][1]["own"]
    assert own["entries"][1]["received"] and not own["entries"][2]["received"]
    cyd = board.program("cyd@example.org")
    kind = {"Content_Type": "application/json"}
    joined = cyd.ask("POST", API, b'{"pseudonym": "Cy 9"}', **kind)
    assert joined.code == 200 and joined.json["pseudonym"] == "Cy 9"
    assert cyd.ask("POST", API, b'{"pseudonym": "Owl-2"}', **kind).code == 422
    assert cyd.ask("DELETE", API).json["pseudonym"] == ""


def test_the_command_line_does_the_same(
    board: Served, grader: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(board.site.course.folder)
    person = board.site.people.find("cyd@example.org")
    assert person is not None
    token = board.site.people.new_token(person.who, "t", ("read", "submit"), "test")
    monkeypatch.setenv("WARPGRADE_URL", f"http://127.0.0.1:{board.port}")
    monkeypatch.setenv("WARPGRADE_TOKEN", token)
    joined = grader("portal", "board", LAB, "--join", "Cy 7")
    assert joined.code == 0 and "take part as Cy 7" in joined.err
    assert re.search(r"3 +Cy 7 +- +70 +you", joined.out)
    bad = grader("portal", "board", LAB, "--join", "<script>")
    assert bad.code == 1 and "letters" in bad.err
    hidden = grader("portal", "board", LAB, "--hide", "cyd", "--reason", "x", "--course", folder)
    assert hidden.code == 0 and re.search(r"Cy 7 .*cyd  hidden: x", hidden.out)
    assert "hidden by the staff" in grader("portal", "board", LAB).err
    shown = grader("portal", "board", LAB, "--show", "cyd", "--reason", "y", "--course", folder)
    assert shown.code == 0
    whole = grader("portal", "board", LAB, "--course", folder, "--json", "-")
    entries = json.loads(whole.out)["entries"]
    assert [one["student"] for one in entries] == ["", "ada", "ben", "cyd", ""]
    assert grader("portal", "board", LAB, "--leave").code == 0
    assert grader("portal", "board", LAB, "--hide", "cyd").code == 2
    assert grader("portal", "board", LAB, "--join", "a", "--course", folder).code == 2


def test_a_group_has_one_line(tmp_path: Path, grader: Callable[..., Done]) -> None:
    with served(tmp_path) as course:
        for who in ("ada", "cyd"):
            course.book.groups.put(LAB, who, "duo", "lead", "together")
        graded_submission(course, "cyd", 1, (1, 3, 320))
        graded_submission(course, "ben", 2, (5, 3, 320))
        for who, name in (("cyd", "Owl"), ("ada", "Fox"), ("ben", "Elk"), ("cyd", "Old Owl")):
            course.book.board.join(LAB, who, name, "test")
        pages = {
            who: course.signed_in(f"{who}@example.org").get(PAGE).text
            for who in ("ada", "cyd", "ben", "ta", "lead")
        }
        ranks = {who: [row[:2] for row in rows(page) if row[0]] for who, page in pages.items()}
        own = [["1", "Old Owl you"], ["2", "Elk"]]
        assert ranks["ada"] == ranks["cyd"] == own
        assert "Your rank is 1, with your group as <strong>Old Owl</strong>." in pages["ada"]
        assert "Your rank is 1." in pages["cyd"] and "Your rank is 2." in pages["ben"]
        assert ranks["ben"] == [["1", "Old Owl"], ["2", "Elk you"]] and "Fox" not in pages["ben"]
        assert [row[-1].partition("Hide")[0] for row in rows(pages["ta"]) if row[0]] == [
            "ada", "ben"]  # fmt: skip
        assert all(f"/students/{who}" in pages["lead"] for who in ("ada", "cyd", "ben"))
        folder = ("--course", str(course.site.course.folder))
        assert re.search(r"1 +Old Owl .*cyd ada\n", grader("portal", "board", LAB, *folder).out)
        hide = ("--hide", "cyd", "--reason", "x")
        assert re.search(r"1 +Fox .* ada\n", grader("portal", "board", LAB, *hide, *folder).out)
        assert course.book.verify().problems == ()


def test_results_are_not_there_while_the_grades_are_held(board: Served) -> None:
    teaching = board.book.teaching
    teaching.set_release(LAB, Release(held=True), "lead", "")
    try:
        page = board.signed_in("ada@example.org").get(PAGE).text
        assert rows(page) == [] and "owl_2" not in page and ">54<" not in page
        assert "data-plot" not in page and "Fast Fox" in page  # the own part may be changed
        api = board.program("ada@example.org").get(API).json
        assert api["held"] and api["entries"] == [] and api["why"] == ""
        assert "Fast Fox" in board.signed_in("ta@example.org").get(PAGE).text
    finally:
        teaching.set_release(LAB, None, "lead", "")


def test_a_course_without_boards_has_none(tmp_path: Path, grader: Callable[..., Done]) -> None:
    text = COURSE.replace("leaderboard: true\n", "")
    with served(tmp_path, text=text) as course:
        ada, ta = course.signed_in("ada@example.org"), course.signed_in("ta@example.org")
        program = course.program("ada@example.org")
        assert "Leaderboard" not in ada.get(f"/labs/{LAB}").text
        assert ada.get(PAGE).code == ada.post(PAGE, pseudonym="Fox").code == 404
        assert ada.post(f"{PAGE}/leave").code == 404
        fields = {"student": "ada", "action": "hide", "reason": "x"}
        assert ta.post(f"{PAGE}/entries", **fields).code == 404
        assert program.get(API).code == program.ask("DELETE", API).code == 404
        folder = str(course.site.course.folder)
        refused = grader("portal", "board", LAB, "--course", folder)
        assert refused.code == 2 and "leaderboard: true" in refused.err


@pytest.mark.parametrize(
    ("text", "kept"),
    [(" Fox ", "Fox"), ("a-b.c_d e", "a-b.c_d e"), ("42", "42"), ("X" * 24, "X" * 24)],
)
def test_pseudonyms_that_are_accepted(text: str, kept: str) -> None:
    assert read_pseudonym(text) == kept


@pytest.mark.parametrize(
    "text",
    ["", "a", "X" * 25, "-a", "a-", "a--b", "a_ b", "ä1", "ﬀ", "a\u200bb", "a\u0301b", "١٢", "a/b",
     "a'b", "a;b", "base-line", "SOLUTION", "so.lu.tion 2", "in structor", "a\tb", "\x00ab", "a&b"],
)  # fmt: skip
def test_pseudonyms_that_are_refused(text: str) -> None:
    with pytest.raises(LabFault):
        read_pseudonym(text)


def test_two_pseudonyms_that_look_alike_are_one() -> None:
    assert len({folded(name) for name in ("Fast Fox", "fastfox", "FAST-FOX", "f.a.s.t_fox")}) == 1


def test_a_worker_measures_the_solution_once(board: Served) -> None:
    book, course, lab = board.book, board.site.course, board.site.labs[LAB]
    book.board.set_marks(LAB, Marks("0" * 64, {"backend": "sim"}))  # of an older version of the lab
    said: list[str] = []
    graded = {LAB: GradedLab(lab, BatchOptions(), "key")}
    measure_marks(book, course, graded, lambda *_: Answer(0, failure="no compiler"), said.append)
    assert "no compiler" in said[0] and book.board.marks(LAB).lab_sha256 == "0" * 64  # type: ignore[union-attr]
    measure_marks(book, course, graded, grade_task, said.append)
    marks = book.board.marks(LAB)
    assert marks is not None and marks.lab_sha256 == lab_digest(lab)
    cost = marks.values["cost"]
    assert (cost["case"], cost["sectors"]) == ("beyond-16-bits", 3 * -(-66001 // 8))
    assert cost["baseline"] is None or cost["baseline"]["sectors"] >= cost["sectors"]

    def refuse(*_: Any) -> Answer:
        raise AssertionError("it is measured already")

    measure_marks(book, course, graded, refuse, said.append)
    assert len(said) == 2
    of_gpu = Marks("1" * 64, {"backend": "gpu", "speedup": 3.0})
    book.board.set_marks(LAB, of_gpu)

    def overtaken(*work: Any) -> Answer:
        book.board.set_marks(LAB, replace(of_gpu, lab_sha256=lab_digest(lab)))
        return Answer(0, verified_grade(lab, (1, 2, 32)))

    measure_marks(book, course, graded, overtaken, said.append)
    kept = book.board.marks(LAB)
    assert kept is not None and kept.values == of_gpu.values, "a GPU was faster, and its mark stays"
