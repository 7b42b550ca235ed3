"""A grade as an editor shows it: ranges in the client's units, edits that make the fix."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from grader.checks.causes import Fix
from grader.editor.documents import Graded, fix_edits
from grader.launch import Finding
from grader.reports.problems import problems
from tests.made import RACE, a_grade, a_result, counters

PATH = Path("/work/tiled.cu")
LINES = st.lists(
    st.sampled_from(["", "a", "b𝒳", "  c", "é\u2028d", "-", "+ x", "@@ x", "\x0c", "--- y"]),
    min_size=2, max_size=9,
)  # fmt: skip


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def applied(edits: Sequence[types.TextEdit], text: str) -> str:
    """Apply edits as the protocol says: positions of the text before, in UTF-16 units."""
    starts = [0, *(utf16(text[: end.end()]) for end in re.finditer("\r\n|\n|\r", text))]
    data = text.encode("utf-16-le")
    for edit in sorted(edits, key=lambda e: e.range.start.line, reverse=True):
        ends = (edit.range.start, edit.range.end)
        first, last = (2 * (starts[p.line] + p.character) for p in ends)
        data = data[:first] + edit.new_text.encode("utf-16-le") + data[last:]
    return data.decode("utf-16-le")


@settings(max_examples=300)
@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]))
def test_the_edits_of_a_fix_make_its_text(old: list[str], new: list[str], end: str) -> None:
    before, after = (end.join(rows) for rows in (old, new))
    keep = end.removesuffix("\n")  # as a source of Windows has it in its diff
    pair = ([f"{row}{keep}" for row in rows] for rows in (old, new))
    rows = difflib.unified_diff(*pair, "a.cu", "a.cu", n=1, lineterm="")
    diff = "".join(f"{row}\n" for row in rows)
    fix = Fix("missing-barrier", 1, diff=diff)
    assert applied(fix_edits(fix, before, utf16), before) == after


def test_a_fix_of_another_text_has_no_edits() -> None:
    diff = "--- a.cu\n+++ a.cu\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert fix_edits(Fix("missing-barrier", 2, diff=diff), "a\nx\n", utf16) == []
    assert fix_edits(Fix("missing-barrier", 2, diff=diff), "a", utf16) == []
    moved = diff.replace("-1,2 +1,2", "line 1")  # of a source with headers
    assert fix_edits(Fix("missing-barrier", 2, diff=moved), "a\nb", utf16) != []


def graded(*findings: Finding, text: str) -> Graded:
    grade = a_grade(a_result("sync", "fail", findings=findings))
    grade = replace(grade, lines=(counters(2, ld_requests=8, ld_sectors=64),), lines_on="square")
    return Graded(PATH, 1, text, grade, problems(grade, PATH, text))


def test_ranges_are_in_the_units_of_the_client() -> None:
    text = "/* 𝒳 */ first\r\n\t/* 𝒳 */ second = third;\r\n"
    error = Finding("compile-error", "error", "no", "tiled.cu", 2, 10, "", variable="second")
    (row,) = graded(error, text=text).diagnostics(utf16)[PATH]
    assert (row.range.start, row.range.end) == (types.Position(1, 10), types.Position(1, 16))
    whole = replace(error, kind="race", column=0)
    (row,) = graded(whole, text=text).diagnostics(utf16)[PATH]
    assert (row.range.start, row.range.end) == (types.Position(1, 1), types.Position(1, 25))


def test_what_has_no_line_is_at_the_first() -> None:
    finding = Finding("compile-error", "error", "this is a PDF", "tiled.cu", 0)
    (row,) = graded(finding, text="%PDF").diagnostics(utf16)[PATH]
    assert row.range == types.Range(types.Position(0, 0), types.Position(0, 4))


def test_a_line_beyond_the_text_and_another_file_have_ranges() -> None:
    far = replace(RACE, line=99, other=None)
    header = Finding("spill", "warning", "registers spill", "tile.cuh", 3)
    rows = graded(far, header, text="x").diagnostics(utf16)
    assert rows[PATH][0].range.start.line == 98
    assert rows[Path("/work/tile.cuh")][0].range.start.line == 2


def test_a_hover_has_the_counters_of_the_line() -> None:
    text = "a\nb\nc\n"
    hover = graded(text=text).hover(PATH, 1)
    assert hover == "This line in case square: 8 requests to global memory, 8 sectors each."
    assert graded(text=text).hover(PATH, 2) == ""
