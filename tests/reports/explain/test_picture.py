"""The pictures of a kernel: every number on the page is the trace's."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from grader.launch import Array, Dim3, Finding, Launch, Scalar, Trace
from grader.reports.explain.accesses import MAX_SIDE, Panel, panels, thread_accesses, thread_name
from grader.reports.explain.explanation import Explanation, explain_launch
from grader.reports.explain.page import explain_page
from grader.simulator.exchange import ROW

Access = tuple[Dim3, int, str, str, str, str, int, int, int]

LAUNCH = Launch(
    "k",
    (1, 1, 1),
    (2, 2, 1),
    (
        Array("A", (4, 4), "float32", np.zeros((4, 4), np.float32)),
        Array("v", (100,), "float32", None, True),
        Scalar("n", 4, "int32"),
    ),
    name="tiny",
)
ROWS: tuple[Access, ...] = (
    ((0, 0, 0), 3, "read", "global", "A", "A[0]", 0, 4, 0),
    ((1, 0, 0), 3, "read", "global", "A", "A[5]", 20, 4, 0),
    ((0, 1, 0), 3, "read", "global", "A", "A[5]", 20, 4, 0),
    ((0, 1, 0), 3, "read", "global", "A", "A[5]", 20, 4, 0),
    ((0, 0, 0), 3, "write", "shared", "As", "As[0][0]", 0, 4, 0),
    ((1, 1, 0), 3, "write", "shared", "As", "As[2][1]", 28, 4, 0),
    ((1, 1, 0), 5, "write", "global", "v", "v[40]", 160, 16, 1),
    ((1, 1, 0), 5, "read", "local", "", "", 0, 4, 1),
)


def trace(rows: tuple[Access, ...] = ROWS, *findings: Finding) -> Trace:
    table = np.zeros(len(rows), ROW)
    names = ("thread", "line", "access", "space", "variable", "element", "offset", "bytes", "phase")
    for k, row in enumerate(rows):
        for name, value in zip(names, row, strict=True):
            table[name][k] = value
    return Trace("sim", findings, accesses=table)


def made() -> dict[tuple[int, str, str], Panel]:
    return {(p.phase, p.variable, p.access): p for p in panels(thread_accesses(trace()), LAUNCH)}


def test_a_panel_for_each_phase_array_and_access() -> None:
    assert list(made()) == [(0, "A", "read"), (0, "As", "write"), (1, "v", "write")]


@pytest.mark.parametrize(
    ("panel", "cells"),
    [
        # An argument lies as its array does: float 5 of a 4 x 4 matrix is in row 1, column 1.
        ((0, "A", "read"), [("A[0][0]", 0, 0, 1, 1), ("A[1][1]", 1, 1, 2, 3)]),
        # Rows of 3: As[2][1] is 28 bytes in.
        ((0, "As", "write"), [("As[0][0]", 0, 0, 1, 1), ("As[2][1]", 2, 1, 1, 1)]),
        # A float4 touches four elements; one dimension is wrapped at 32.
        ((1, "v", "write"), [(f"v[{n}]", 1, n - 32, 1, 1) for n in range(40, 44)]),
    ],
)
def test_cells(panel: tuple[int, str, str], cells: list[tuple[str, int, int, int, int]]) -> None:
    observed = [(c.element, c.row, c.column, len(c.threads), c.times) for c in made()[panel].cells]
    assert observed == cells


def test_another_block_is_not_shown() -> None:
    rows = trace().accesses
    assert rows is not None
    rows["block"][0] = (1, 0, 0)
    shown = thread_accesses(Trace("sim", accesses=rows), (0, 0, 0))
    assert [t.element for t in shown if t.variable == "A"] == ["A[5]"] * 3


@pytest.mark.parametrize(
    ("thread", "block", "name"),
    [
        ((3, 0, 0), (256, 1, 1), "3"),
        ((3, 1, 0), (16, 16, 1), "3,1"),
        ((0, 0, 1), (1, 1, 2), "0,0,1"),
    ],
)
def test_thread_name(thread: Dim3, block: Dim3, name: str) -> None:
    assert thread_name(thread, block) == name


class Reader(HTMLParser):
    """Tags with their attributes, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(story: Explanation) -> Reader:
    reader = Reader()
    reader.feed(explain_page(story).decode())
    return reader


def story(source: str = "int x;\n", file: str = "k.cu", *findings: Finding) -> Explanation:
    return explain_launch("lab", "A lab", file, source, LAUNCH, "4 x 4", trace(ROWS, *findings))


def test_the_page_has_the_numbers_of_the_trace() -> None:
    cells = [held for tag, held in read(story()).tags if held.get("class") == "cell"]
    result = {(c["data-element"], c["data-threads"], c["data-times"]) for c in cells}
    assert result == {
        ("A[0][0]", "1", "1"),
        ("A[1][1]", "2", "3"),
        ("As[0][0]", "1", "1"),
        ("As[2][1]", "1", "1"),
        *((f"v[{n}]", "1", "1") for n in range(40, 44)),
    }


HOSTILE = '<script>alert(1)</script>" onload="x" </td></table> & \x1b[31m \x00 \u202e'


def test_what_a_student_writes_stays_text() -> None:
    finding = Finding("race", "error", HOSTILE, HOSTILE, 1, hint=HOSTILE, text=HOSTILE)
    held = read(story(f"// {HOSTILE}\n", f"{HOSTILE}.cu", finding))
    assert {tag for tag, _ in held.tags} <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "table", "thead",
        "tbody", "tr", "th", "td", "div", "b", "span", "pre", "figure", "figcaption", "svg", "g",
        "rect", "text",
    }  # fmt: skip
    assert not any(name.startswith("on") for _, found in held.tags for name in found)
    text = "".join(held.words)
    assert "<script>alert(1)</script>" in text
    assert not re.search(r"[\x00\x1b\u202e]", text)


def test_the_page_needs_nothing_from_outside() -> None:
    page = explain_page(story()).decode()
    assert not re.search(r"""(src|href)=|url\(|@import""", page)
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_findings_stand_below_their_line_or_above_all() -> None:
    placed = Finding("race", "error", "here", "k.cu", 1)
    loose = Finding("machine", "error", "somewhere")
    result = story("int x;\n", "k.cu", placed, loose)
    assert result.lines[0].findings == (placed,) and result.findings == (loose,)
    assert "race: here" in "".join(read(result).words)
    assert [held for tag, held in read(result).tags if held.get("class") == "bad"] == [
        {"id": "L1", "class": "bad"},
        {"class": "bad"},
    ]


def test_a_launch_that_did_not_end_has_no_picture_and_says_so() -> None:
    ended = Trace("sim", (Finding("timeout", "error", "never ends", "k.cu", 1),), ended=False)
    held = read(explain_launch("lab", "A lab", "k.cu", "int x;\n", LAUNCH, "4", ended))
    assert "did not end" in "".join(held.words)
    assert not any(tag == "svg" for tag, _ in held.tags)


def test_a_large_panel_is_cut_and_says_so() -> None:
    wide = Array("W", (1, 500), "float32", None, True)
    launch = Launch("k", (1, 1, 1), (2, 2, 1), (wide,))
    rows = tuple(((0, 0, 0), 1, "write", "global", "W", f"W[{n}]", 4 * n, 4, 0) for n in range(500))
    held = read(explain_launch("lab", "A lab", "k.cu", "int x;\n", launch, "500", trace(rows)))
    assert sum(found.get("class") == "cell" for _, found in held.tags) == MAX_SIDE
    assert f"the first {MAX_SIDE} are drawn" in "".join(held.words)
