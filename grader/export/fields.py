"""Fields of an export: a check's result as plain text, and cells of a CSV file.

CSV is RFC 4180. No cell may begin with a character that makes a spreadsheet read it as a formula.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence

from grader.checks.result import Result
from grader.reports.finding import findings_text
from grader.reports.printable import printable
from grader.reports.text import measurement_text, render

FORMULA = "=+-@"
"""The first characters of a formula in any spreadsheet."""

QUOTE = "'"

JOINERS = "\u200c\u200d"
"""Zero-width characters that are part of the spelling of names."""

MAX_CHARACTERS = 20_000
"""Maximum length of one check's text."""

NOT_SHOWN = "the result of this check is hidden"


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells as CSV text; the cells are written unchanged."""
    held = io.StringIO(newline="")
    csv.writer(held, lineterminator="\r\n").writerows(rows)
    return held.getvalue()


def one_line(text: str) -> str:
    """Return untrusted text as one line.

    Control characters and line breaks become spaces; marks that reorder or hide other characters
    are removed.
    """
    return " ".join("".join(_plain(character) for character in text).split())


def spreadsheet_safe(text: str) -> str:
    """Return a cell of one line that a spreadsheet shows and never computes.

    Text that would begin a formula gets a leading quote.
    """
    line = one_line(text)
    first = unicodedata.normalize("NFKC", line[:1])  # full-width signs begin formulas, too
    return QUOTE + line if first and first in FORMULA else line


def cell_problem(text: str) -> str:
    """Say why a cell that must be exact is not `spreadsheet_safe`, and how to fix it; else ""."""
    line = one_line(text)
    if line != text:
        broken = len(text.splitlines()) > 1
        what = "a line break" if broken else "extra spaces or invisible characters"
        return f"`{line}` contains {what}: fix it in the roster"
    formula = f"`{line}` is a formula for a spreadsheet: use another identifier in the roster"
    return formula if spreadsheet_safe(line) != line else ""


def two_decimals(value: float) -> str:
    """Return a number with two decimals and a decimal point, in every locale."""
    return f"{value:.2f}"


def _plain(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Cf":
        return character if character in JOINERS else ""
    gone = kind in ("Cc", "Cs", "Co", "Zl", "Zp") or ord(character) & 0xFFFE == 0xFFFE
    return " " if gone else character


def summary(check: Result) -> str:
    """Return the check's result in one line."""
    if check.visibility == "hidden" and not check.summary:
        return NOT_SHOWN
    return clipped(printable(check.summary), 500)


def check_text(check: Result, limit: int = MAX_CHARACTERS) -> str:
    """Return the summary and the details, at most `limit` characters, no control characters."""
    parts = (summary(check), details(check, limit))
    return clipped("\n\n".join(filter(None, parts)), limit)


def details(check: Result, limit: int = MAX_CHARACTERS) -> str:
    """Return every finding with its place and hint, and the measurements."""
    parts = [findings_text(check.findings)] if check.findings else []
    texts = (render(part).rstrip("\n") for part in (*parts, *measurement_text((check,))))
    return clipped("\n\n".join(texts), limit)


def clipped(text: str, limit: int) -> str:
    """Shorten `text` to at most `limit` characters; its end says how many are cut off."""
    if len(text) <= limit:
        return text
    for kept in (limit - 60, 0):
        cut = f"{text[: max(kept, 0)]}\n... and {len(text) - max(kept, 0):,} characters more"
        if len(cut) <= limit:
            return cut
    return text[:limit]
