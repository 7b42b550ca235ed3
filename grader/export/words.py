"""What a check found, as plain text that fits into another system's field."""

from __future__ import annotations

from grader.check.result import Result
from grader.report.clean import clean
from grader.report.finding import findings_text
from grader.report.text import measured, plain

LONGEST = 20_000
"""Characters of one check's text."""

UNTOLD = "what this check found is not shown"


def summary(check: Result) -> str:
    """The check's result in one line."""
    if check.visibility == "hidden" and not check.summary:
        return UNTOLD
    return clipped(clean(check.summary), 500)


def check_text(check: Result, limit: int = LONGEST) -> str:
    """The summary, then the details; of at most `limit` characters, no control characters."""
    parts = (summary(check), details(check, limit))
    return clipped("\n\n".join(filter(None, parts)), limit)


def details(check: Result, limit: int = LONGEST) -> str:
    """Every finding with its place and advice, and what was measured."""
    parts = [findings_text(check.findings)] if check.findings else []
    texts = (plain(part).rstrip("\n") for part in (*parts, *measured((check,))))
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
