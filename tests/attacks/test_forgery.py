"""Submissions that print their own verdict do not change any report or export.

The same grade goes through every report and every export; new exports are included automatically.
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
from grader.gradebook.ledger import Student
from grader.grading.record import Grade
from grader.reports.classes import ReportRow, class_table
from grader.reports.page.write import student_page
from grader.reports.text import grade_report, render
from tests.attacks.test_attacks import FORGERY, is_harmless
from tests.attacks.verdict import grade_file, name_of
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
    return grade_file(path, "sim", limit=1.0, names=("one-tile",))


@pytest.fixture(params=FORGERY, ids=name_of)
def path(request: pytest.FixtureRequest) -> Path:
    chosen: Path = request.param
    return chosen


class Page(HTMLParser):
    """The elements and attributes of a page, as a browser parses them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.active: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        wanted = [(k, v or "") for k, v in attrs]
        self.active += [k for k, v in wanted if k.startswith("on") or "javascript:" in v.lower()]


def test_forged_verdict_earns_no_points(path: Path) -> None:
    assert graded(path).score.points < graded(path).score.judged_max
    assert json.loads(json.dumps(graded(path).to_json()))["score"] == graded(path).score.points


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_text_reports_have_no_control_characters(path: Path, name: str) -> None:
    grade = replace(graded(path), file=name, student=name)
    assert is_harmless(render(grade_report(grade)))
    assert is_harmless(render(class_table([grade, grade])))
    assert "\x1b" not in json.dumps(grade.to_json())


@pytest.mark.parametrize("for_students", [True, False])
def test_page_has_only_the_graders_elements(path: Path, for_students: bool) -> None:
    """A page without any text of the student is the reference."""
    grade = replace(graded(path), file=FORGED, student=FORGED)
    row = ReportRow(FORGED, grade, path.read_text(), late=FORGED, override=FORGED)
    text = student_page(row, for_students=for_students).decode()
    page = Page(text)
    ours = Page(student_page(replace(row, grade=graded(path), source="int x;")).decode())
    assert page.tags.count("script") <= ours.tags.count("script")
    assert set(page.tags) <= {*ours.tags, "span"}  # the source's colors
    assert page.active == []
    assert not any(letter in text for letter in "\u202e\u202a\u2066\x1b\x07")


@pytest.mark.parametrize("name", format_names())
def test_export_keeps_its_structure(path: Path, name: str) -> None:
    """Its structure can be parsed, and no cell is a formula."""
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


def test_kernel_output_is_labeled_and_escaped(tmp_path: Path) -> None:
    """It is escaped text in the terminal and a string in JSON; the verdict does not change."""
    array = {"out": {"dtype": "float32", "shape": [4]}}
    args = [array, array, array, {"value": 1, "dtype": "int32"}]
    launch = {"kernel": "matmul", "grid": [1], "block": [1], "args": args}
    (tmp_path / "launch.yaml").write_text(json.dumps(launch))
    source = next(path for path in FORGERY if path.stem == "printed_grade")
    done = grader("run", str(source), str(tmp_path / "launch.yaml"))
    assert "printed by the kernel:" in done.out and "\\x1b[2J" in done.out
    assert is_harmless(done.out)
    report = json.loads(
        grader("run", str(source), str(tmp_path / "launch.yaml"), "--json", "-").out
    )
    assert "score" not in report and report["verdict"] in ("clean", "findings")
