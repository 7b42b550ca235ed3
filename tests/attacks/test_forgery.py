"""A submission that writes its own verdict: no report believes it, and none is disturbed by it.

The same grade goes through every report and export there is; a new one is tried by being there.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grader.export.formats import Options, find_format, format_names, row_from_grade, select_rows
from grader.gradebook.roster import Student
from grader.grading.record import Grade
from grader.reports.classes import class_table
from grader.reports.page.row import ReportRow
from grader.reports.page.write import student_page
from grader.reports.text import grade_report, render
from tests.attacks.test_attacks import FORGERY, harmless
from tests.attacks.verdict import judged, name_of
from tests.command import grader

FORGED = "\x1b[2J\x1b]0;owned\x07PASS 100/100\u202e\r<script>alert(1)</script>"
NAMES = (
    FORGED,
    '=HYPERLINK("http://x","100")',
    "\u202e001/001",
    "../../etc/passwd",
    "<img src=x onerror=alert(1)>",
    "a\nb,c;d\te",
    "[bold green]100[/bold green]",
)


@cache
def graded(path: Path) -> Grade:
    return judged(path, "sim", limit=1.0, names=("one-tile",))


@pytest.fixture(params=FORGERY, ids=name_of)
def path(request: pytest.FixtureRequest) -> Path:
    chosen: Path = request.param
    return chosen


class Page(HTMLParser):
    """The elements and attributes that a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.active: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        wanted = [(k, v or "") for k, v in attrs]
        self.active += [k for k, v in wanted if k.startswith("on") or "javascript:" in v.lower()]


def test_nothing_is_won(path: Path) -> None:
    assert graded(path).score.points < graded(path).score.judged_max
    assert json.loads(json.dumps(graded(path).to_json()))["score"] == graded(path).score.points


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_the_text_reports_are_text(path: Path, name: str) -> None:
    grade = replace(graded(path), file=name, student=name)
    assert harmless(render(grade_report(grade)))
    assert harmless(render(class_table([grade, grade])))
    assert "\x1b" not in json.dumps(grade.to_json())


@pytest.mark.parametrize("for_students", [True, False])
def test_the_page_has_only_our_elements(path: Path, for_students: bool) -> None:
    """Ours, without any of the student's text, are the measure."""
    grade = replace(graded(path), file=FORGED, student=FORGED)
    row = ReportRow(FORGED, grade, path.read_text(), late=FORGED, override=FORGED)
    text = student_page(row, for_students=for_students).decode()
    page = Page(text)
    ours = Page(student_page(replace(row, grade=graded(path), source="int x;")).decode())
    assert page.tags.count("script") <= ours.tags.count("script")
    assert set(page.tags) <= {*ours.tags, "span"}  # the source's colours
    assert page.active == []
    assert not any(letter in text for letter in "\u202e\u202a\u2066\x1b\x07")


@pytest.mark.parametrize("name", format_names())
def test_every_export_stays_what_it_is(path: Path, name: str) -> None:
    """Its structure is read back, and no cell of it is a formula."""
    chosen = find_format(name)
    grade = replace(graded(path), student=FORGED)
    student = Student(id='=cmd|"x"', name=FORGED, email="@x@y.z", sis_id="+1", login="-1")
    rows, left = select_rows(chosen, [row_from_grade(grade, student)], Options())
    assert len(rows) + len(left) == 1
    if not rows:
        return
    text = chosen.export(rows, Options())
    assert not any(letter in text for letter in "\x1b\x07\x00")
    if chosen.suffix.endswith("json"):
        json.loads(text)
    elif chosen.suffix.endswith("xml"):
        ElementTree.fromstring(text)
    elif chosen.suffix == ".html":
        assert Page(text).active == []
    else:
        assert not any(cell[:1] in "=+@" for cell in cells(text) if cell)


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(StringIO(text, newline="")) for cell in row]


def test_what_a_kernel_prints_is_shown_as_such(tmp_path: Path) -> None:
    """In the terminal as text, in JSON as a string: the verdict stays ours."""
    array = {"out": {"dtype": "float32", "shape": [4]}}
    args = [array, array, array, {"value": 1, "dtype": "int32"}]
    launch = {"kernel": "matmul", "grid": [1], "block": [1], "args": args}
    (tmp_path / "launch.yaml").write_text(json.dumps(launch))
    source = next(path for path in FORGERY if path.stem == "printed_grade")
    said = grader("run", str(source), str(tmp_path / "launch.yaml"))
    assert "printed by the kernel:" in said.out and "\\x1b[2J" in said.out
    assert harmless(said.out)
    told = json.loads(grader("run", str(source), str(tmp_path / "launch.yaml"), "--json", "-").out)
    assert "score" not in told and told["verdict"] in ("clean", "findings")
