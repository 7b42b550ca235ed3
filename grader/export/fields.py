"""What a check found, as plain text that fits into another system's field."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence

from grader.checks.result import Result
from grader.reports.finding import findings_text
from grader.reports.printable import printable
from grader.reports.text import measurement_text, render

# Tables as CSV (RFC 4180) whose cells no spreadsheet takes for a formula.

FORMULA = "=+-@"
"""What a formula begins with, in a spreadsheet of any maker."""

QUOTE = "'"

JOINERS = "\u200c\u200d"
"""Without a width, but part of how names are written."""


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells as CSV text; cells are written as they are."""
    held = io.StringIO(newline="")
    csv.writer(held, lineterminator="\r\n").writerows(rows)
    return held.getvalue()


def one_line(text: str) -> str:
    """Text of unknown origin as one line: control characters and line ends become spaces, marks
    that reorder or hide other characters go.
    """
    return " ".join("".join(_plain(character) for character in text).split())


def spreadsheet_safe(text: str) -> str:
    """A cell of one line that a spreadsheet shows and never computes: a leading quote stands
    before what would begin a formula.
    """
    line = one_line(text)
    first = unicodedata.normalize("NFKC", line[:1])  # full-width signs begin formulas, too
    return QUOTE + line if first and first in FORMULA else line


def cell_problem(text: str) -> str:
    """Why a cell that has to be exact cannot be, and how to mend it; "" when it is `harmless`."""
    line = one_line(text)
    if line != text:
        broken = len(text.splitlines()) > 1
        what = "a line break" if broken else "blanks or characters that do not show"
        return f"`{line}` has {what} in it: mend it in the roster"
    formula = f"`{line}` would be a formula in a spreadsheet: give another in the roster"
    return formula if spreadsheet_safe(line) != line else ""


def two_decimals(value: float) -> str:
    """Two decimals and a point, whatever the language."""
    return f"{value:.2f}"


def _plain(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Cf":
        return character if character in JOINERS else ""
    gone = kind in ("Cc", "Cs", "Co", "Zl", "Zp") or ord(character) & 0xFFFE == 0xFFFE
    return " " if gone else character


MAX_CHARACTERS = 20_000
"""Characters of one check's text."""

NOT_SHOWN = "what this check found is not shown"


def summary(check: Result) -> str:
    """The check's result in one line."""
    if check.visibility == "hidden" and not check.summary:
        return NOT_SHOWN
    return clipped(printable(check.summary), 500)


def check_text(check: Result, limit: int = MAX_CHARACTERS) -> str:
    """The summary, then the details; of at most `limit` characters, no control characters."""
    parts = (summary(check), details(check, limit))
    return clipped("\n\n".join(filter(None, parts)), limit)


def details(check: Result, limit: int = MAX_CHARACTERS) -> str:
    """Every finding with its place and advice, and what was measured."""
    parts = [findings_text(check.findings)] if check.findings else []
    texts = (render(part).rstrip("\n") for part in (*parts, *measurement_text((check,))))
    return clipped("\n\n".join(texts), limit)


def clipped(text: str, limit: int) -> str:
    """`text` of at most `limit` characters; what is cut off is counted at its end."""
    if len(text) <= limit:
        return text
    for kept in (limit - 60, 0):
        cut = f"{text[: max(kept, 0)]}\n... and {len(text) - max(kept, 0):,} characters more"
        if len(cut) <= limit:
            return cut
    return text[:limit]
