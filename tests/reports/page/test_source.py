"""The annotated source: every letter of it, its tokens, the margin, what is too much."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.grading.record import Grade
from grader.launch import Finding
from grader.reports.page.source import MAX_LINES, margin_notes, source_view, tokens_by_line
from tests.made import RACE, SOURCE, a_grade, a_result
from tests.reports.page.rows import LINES as COUNTED
from tests.reports.page.rows import PUBLIC, WARNING


def graded(*findings: Finding) -> Grade:
    return a_grade(a_result("sync", "fail", findings=findings), lines=COUNTED)


@given(st.text())
def test_the_tokens_are_the_text(text: str) -> None:
    lines = ["".join(piece for piece, _ in line) for line in tokens_by_line(text)]
    assert "\n".join(lines) == text


TOKENS = [
    ("int x = 16;", [("int", "keyword"), (" x = ", ""), ("16", "number"), (";", "")]),
    ("// int", [("// int", "comment")]),
    ('"a // b" f', [('"a // b"', "string"), (" f", "")]),
    ("#define N 0x1F", [("#define", "directive"), (" N ", ""), ("0x1F", "number")]),
    ("print(integer)", [("print(integer)", "")]),
    ("1'000'000u", [("1'000'000u", "number")]),
    (
        "__shared__ float a",
        [("__shared__", "keyword"), (" ", ""), ("float", "keyword"), (" a", "")],
    ),
]


@pytest.mark.parametrize(("text", "expected"), TOKENS)
def test_tokens(text: str, expected: list[tuple[str, str]]) -> None:
    assert [token for line in tokens_by_line(text) for token in line] == expected


def test_a_comment_goes_on_over_lines() -> None:
    assert list(tokens_by_line("/* a\nb */ int")) == [
        (("/* a", "comment"),),
        (("b */", "comment"), (" ", ""), ("int", "keyword")),
    ]


def test_findings_stand_in_the_margin_at_both_lines_of_a_hazard() -> None:
    notes = margin_notes([PUBLIC, WARNING])
    assert [note.kind for note in notes["7"]] == ["race", "uncoalesced"]
    assert [(n.kind, n.message, n.is_main) for n in notes["6"]] == [("race", "with line 7", False)]
    assert {n.anchor for n in notes["7"]} == {"finding-1", "finding-2"}


def test_a_margin_cell_goes_down_to_the_next_one() -> None:
    view = source_view(graded(PUBLIC), SOURCE, [PUBLIC])
    assert view is not None
    spans = {row.label: row.span for row in view.rows if row.span}
    assert spans == {"1": 5, "6": 1, "7": 3}
    assert sum(spans.values()) == len(view.rows) == len(SOURCE.splitlines())


def test_counters_stand_at_their_lines_and_columns_without_any_are_left_out() -> None:
    view = source_view(graded(), SOURCE, [])
    assert view is not None
    heads = [column.head for column in view.columns]
    assert heads == ["requests", "sectors each", "passes", "conflicts"]
    counts = {row.label: row.counts for row in view.rows if any(row.counts)}
    assert counts == {"6": ("1,728", "4", "", ""), "7": ("8", "32", "55,296", "48")}
    bare = source_view(replace(graded(), lines=COUNTED[:1]), SOURCE, [])
    assert bare is not None
    assert [column.head for column in bare.columns] == ["requests", "sectors each"]


def test_lines_are_the_compilers() -> None:
    """A form feed, a carriage return and Unicode's line separators end none."""
    view = source_view(graded(), "a\fb\x0b\u2028\x85c\r\nd\n\n", [])
    assert view is not None
    shown = ["".join(text for text, _ in row.tokens) for row in view.rows]
    assert shown == ["a\fb\x0b\u2028\x85c", "d", ""]


def test_a_byte_order_mark_is_no_text() -> None:
    view = source_view(graded(), "\ufeffint x;", [])
    assert view is not None and view.rows[0].tokens[0] == ("int", "keyword")


def test_a_long_source_is_cut_and_says_so() -> None:
    source = "x" * 100_000 + "\n" * (MAX_LINES + 500)
    began = time.process_time()
    view = source_view(graded(), source, [replace(RACE, line=MAX_LINES + 100)])
    assert view is not None
    assert (len(view.rows), view.more) == (MAX_LINES, 500)
    assert len(view.rows[0].tokens[0][0]) < 600
    assert time.process_time() - began < 5


HOSTILE = [
    "/*" * 130_000,
    '"' * 260_000,
    "'\\" * 130_000,
    "#" * 260_000,
    "//\n" * 80_000,
    "1'" * 130_000,
]


@pytest.mark.parametrize("source", HOSTILE, ids=lambda source: source[:2].encode().hex())
def test_a_hostile_source_takes_no_longer_than_its_length(source: str) -> None:
    began = time.process_time()
    assert sum(1 for _ in tokens_by_line(source)) == source.count("\n") + 1
    assert time.process_time() - began < 5


def test_a_source_of_tokens_alone_makes_no_endless_page() -> None:
    source = ("1+" * 250 + "\n") * 500
    view = source_view(graded(), source, [])
    assert view is not None
    assert {len(row.tokens) for row in view.rows} == {1}
    assert "".join(text for row in view.rows for text, _ in row.tokens) == source.replace("\n", "")


@pytest.mark.parametrize("source", ["", " \n"])
def test_without_text_there_is_no_source(source: str) -> None:
    assert source_view(graded(PUBLIC), source, [PUBLIC]) is None
