"""Text of unknown origin: nothing in it moves the cursor, and no line is too wide."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from grader.reports.printable import clip, printable, wrap

WRITTEN_OUT = [
    ("plain", "plain"),
    ("\x1b[31mred", "\\x1b[31mred"),
    ("a\rb\nc", "a\\x0db\\x0ac"),
    ("bell\x07 del\x7f", "bell\\x07 del\\x7f"),
    ("csi\x9b2J", "csi\\x9b2J"),
    ("\u202eevil\u2066", "\\u202eevil\\u2066"),
    ("zero\u200bwidth", "zero\\u200bwidth"),
    ("a\tb", "a   b"),
    ("größe 行列", "größe 行列"),
]


@pytest.mark.parametrize(("text", "shown"), WRITTEN_OUT)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_plain_text_is_unchanged(text: str) -> None:
    assert not any(c in "\x1b\x9b\r\n\u202e" for c in printable(text))
    assert printable(printable(text)) == printable(text)


@given(st.text(), st.integers(4, 60))
def test_clipped_text_fits(text: str, cells: int) -> None:
    shown = clip(printable(text), cells)
    assert cell_len(shown) <= cells
    assert shown == printable(text) or shown.endswith("...")


@given(st.text(), st.integers(8, 60))
def test_wrapped_text_fits_and_loses_nothing(text: str, cells: int) -> None:
    lines = wrap(printable(text), cells, "  ")
    assert all(cell_len(line) <= cells for line in lines)
    assert "".join("".join(lines).split()) == "".join(printable(text).split())


def test_all_lines_but_the_first_are_indented() -> None:
    assert wrap("one two three", 7, "  ") == ["one two", "  three"]
