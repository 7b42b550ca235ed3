"""Similar submissions on the portal: for staff alone, and for a TA of the own sections."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from grader.cli import app
from grader.gradebook.book import Gradebook
from grader.portal import similar
from grader.portal.similar import Comparisons, compared
from tests.command import PATIENCE, grader
from tests.portal.made import LAB, SOURCE, Served, served, until

COPY = "".join(f"    float a{k} = static_cast<float>({k}) * 3.25f + q;\n" for k in range(30))
"""Code that nobody else has: two submissions with it are similar."""


def own(name: str, extra: str = "") -> bytes:
    """A submission with much own code."""
    return (
        SOURCE
        + f"// {name}\n{extra}__device__ float own(float q) {{\n{COPY}return q; }}\n".encode()
    )


class Tables(HTMLParser):
    """The sides of a page: the numbers of their marked lines."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.marks: list[list[int]] = []
        self._mark = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tbody":
            self.marks.append([])
        if tag == "tr":
            self._mark = dict(attrs).get("class") in ("wording", "structure")

    def handle_data(self, data: str) -> None:
        if self._mark and data.strip().isdigit() and self.marks:
            self.marks[-1].append(int(data))
            self._mark = False


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Ada and Ben are in section A, Cyd is in B: all three have the same code."""
    with served(tmp_path_factory.mktemp("course")) as one:
        for who in ("ada", "ben", "cyd"):
            extra = "// <script>window.hacked = 1</script>\n" if who == "ben" else ""
            one.book.submit(LAB, who, "a.cu", own("x", extra), received=one.site.now())
        one.signed_in("lead@example.org").get(f"/class/{LAB}/similar")
        until_done(one)
        yield one


def until_done(course: Served) -> None:
    """Wait for as long as the other process takes: it says when it fails."""
    lead = course.program("lead@example.org")
    while (found := lead.get(f"/api/v1/labs/{LAB}/similar").json)["result"] is None:
        assert not found["failure"]
        time.sleep(0.2)


def pairs(course: Served, who: str) -> set[tuple[str, str]]:
    result = course.program(f"{who}@example.org").get(f"/api/v1/labs/{LAB}/similar").json["result"]
    return {(one["first"], one["second"]) for one in result["pairs"]}


def test_a_pair_is_for_those_who_teach_both_students(course: Served) -> None:
    whole = {("ada", "ben"), ("ada", "cyd"), ("ben", "cyd")}
    assert pairs(course, "lead") == pairs(course, "watch") == whole
    assert pairs(course, "ta") == {("ada", "ben")}
    ta, lead, ada = (course.signed_in(f"{who}@example.org") for who in ("ta", "lead", "ada"))
    page = ta.get(f"/class/{LAB}/similar").text
    assert "1 pair of 3 submissions" in page and "cyd" not in page
    result = course.program("ta@example.org").get(f"/api/v1/labs/{LAB}/similar").text
    assert "cyd" not in result
    assert lead.get(f"/class/{LAB}/similar/1/3").code == 200
    assert ta.get(f"/class/{LAB}/similar/1/2").code == 200
    for path in ("1/3", "3/1", "2/1", "1/1", "1/99", "0/1", f"1/{1 << 70}"):
        assert ta.get(f"/class/{LAB}/similar/{path}").code == 404, path
    assert ada.get(f"/class/{LAB}/similar").code == 403
    assert lead.get("/class/nothing/similar").code == 404


def test_two_submissions_are_side_by_side_with_their_common_lines_marked(course: Served) -> None:
    page = course.signed_in("lead@example.org").get(f"/class/{LAB}/similar/1/2").text
    first, second = Tables(page).marks
    lines = own("x").decode().splitlines()
    assert {k for k, line in enumerate(lines, 1) if "float a" in line} <= set(first)
    assert set(second) >= {k + 1 for k in first if "float a" in lines[k - 1]}, "one line below"
    assert "&lt;script&gt;window.hacked" in page and "<script>window" not in page
    assert "No number decides" in page


def test_the_command_writes_what_the_page_shows(course: Served) -> None:
    folder = ("--course", str(course.site.course.folder))
    found = json.loads(grader("portal", "similar", LAB, "--json", "-", *folder).out)
    assert found["numbers"] == {"ada": 1, "ben": 2, "cyd": 3} and found["left_out"] == []
    assert {(one["first"], one["second"]) for one in found["pairs"]} == pairs(course, "lead")
    assert "unusually similar" in grader("portal", "similar", LAB, *folder).out
    assert grader("portal", "similar", "nothing", *folder).code == 2


def test_the_command_reads_the_submissions_at_once(
    course: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, str] = {}
    monkeypatch.setattr(Gradebook, "submission", None)  # one query for each student
    monkeypatch.setattr(
        "grader.cli.course.report_similar", lambda _, texts, *__, **___: found.update(texts)
    )
    assert app.run(["portal", "similar", LAB, "--course", str(course.site.course.folder)]) == 0
    assert {who: own("x").decode() == text for who, text in found.items()} == {
        "ada": True, "ben": False, "cyd": True}  # fmt: skip


def test_a_comparison_is_made_once_until_other_submissions_count(
    course: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(site: Any, lab: str) -> similar.Comparison:
        made.append(lab)
        return similar.Comparison({"pairs": []})

    monkeypatch.setattr(similar, "compared", counted)
    one = Comparisons(course.site)
    assert one.of(LAB).is_running
    until(lambda: not one.of(LAB).is_running)
    assert one.of(LAB).result == {"pairs": []} and made == [LAB]
    later = course.book.submit(LAB, "ada", "a.cu", own("y"), received=course.site.now())
    entry = course.book.entry(LAB, "ada", course=course.site.course)
    assert entry.submission == later.id
    assert one.of(LAB).is_running
    until(lambda: not one.of(LAB).is_running)
    assert made == [LAB, LAB]


def test_a_comparison_that_fails_says_why_and_is_tried_again(
    course: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def failing(words: Any, **more: Any) -> Any:
        tries.append(1)
        return subprocess.CompletedProcess(words, 3, b"", b"grader: copydetect is <missing>\n")

    monkeypatch.setattr(similar.subprocess, "run", failing)
    assert compared(course.site, LAB).failure == "grader: copydetect is <missing>"
    one = Comparisons(course.site)
    one.of(LAB)
    until(lambda: len(tries) == 2)
    until(lambda: not one._known[LAB][1].is_running)
    assert "missing" in one.of(LAB).failure
    assert one.of(LAB).is_running, "opened again"
    until(lambda: not one._known[LAB][1].is_running)


@pytest.mark.parametrize(
    "end", [b"{", b"", b"\xff", MemoryError("no room"), RuntimeError("unforeseen")]
)
def test_no_failure_leaves_a_comparison_running(
    course: Served, monkeypatch: pytest.MonkeyPatch, end: bytes | Exception
) -> None:
    def ending(words: Any, **more: Any) -> Any:
        if isinstance(end, Exception):
            raise end
        return subprocess.CompletedProcess(words, 0, end, b"")

    monkeypatch.setattr(similar.subprocess, "run", ending)
    one = Comparisons(course.site)
    assert one.of(LAB).is_running
    until(lambda: not one._known[LAB][1].is_running)
    assert "the comparison failed" in one.of(LAB).failure

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="start"):
        one.of(LAB)
    assert LAB not in one._known, "the next page tries again"


def test_the_last_result_is_shown_while_others_submit(
    course: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a busy hour every comparison is outdated when it ends: without this, none was shown."""
    go, made = threading.Event(), list[str]()

    def counted(site: Any, lab: str) -> similar.Comparison:
        assert go.wait(PATIENCE)
        made.append(lab)
        return similar.Comparison({"pairs": [len(made)]})

    monkeypatch.setattr(similar, "compared", counted)
    one = Comparisons(course.site)
    go.set()
    until(lambda: one.of(LAB).result == {"pairs": [1]})
    go.clear()
    for text in ("later", "latest"):  # the second one while the first is compared
        course.book.submit(LAB, "ada", "a.cu", own(text), received=course.site.now())
        found = one.of(LAB)
        assert (found.result, found.outdated, found.is_running) == ({"pairs": [1]}, True, True)
    go.set()
    until(lambda: one.of(LAB).result == {"pairs": [3]})
    assert not one.of(LAB).is_running and made == [LAB] * 3
