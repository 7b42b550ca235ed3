"""What is said about alike submissions. It is advice to a person, never a verdict."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from grader.report.clean import clean, clip, wrap
from grader.similar.compare import SMALL, Likeness, Match

ADVICE = (
    "Alike is not copied. Two students who sat together, or found the same page, write alike; so "
    "may two who never met. Read both, ask both, and let no number decide."
)
NAME = 24


def percent(match: Match) -> str:
    """A share of evidence: "93 %", "-" where nothing is shared."""
    return f"{100 * match.share:.0f} %" if match.shared else "-"


def told(found: Likeness) -> str:
    """How much was found, in one line."""
    count = len(found.pairs)
    if not count:
        return f"no two of {found.submissions} submissions are unusually alike"
    said = "1 pair is" if count == 1 else f"{count} pairs are"
    return f"{said} unusually alike, of {found.submissions} submissions"


def method(found: Likeness) -> str:
    """How it was found."""
    said = (
        "Left out of the comparison: what the lab gives, what its solution and its baseline have, "
        "and what many of the class share. A percentage is the part of one submission's remaining "
        "text that the other has, too. Structure is compared without names and comments, wording "
        "with them."
    )
    few = f" In a class of fewer than {SMALL}, only texts that are wholly the same are told."
    return said + (few if found.submissions < SMALL else "")


def alike_report(found: Likeness, width: int = 80) -> Text:
    """The pairs as a table, whom nothing can be said about, and what it means."""
    lines = [Text(told(found), "bold")]
    if found.pairs:
        head = f"{'submission':<{NAME}}  {'and':<{NAME}}  {'structure':>9}  {'wording':>7}"
        lines += [Text(), Text(head, "bold"), *(Text(row) for row in _rows(found))]
    if found.thin:
        names = ", ".join(clip(clean(name), NAME) for name in found.thin)
        text = f"too little of their own to say anything about: {names}"
        lines += [Text(), Text("\n".join(wrap(text, width, "  ")))]
    said = "\n".join(wrap(f"{method(found)} {ADVICE}", width))
    return Text("\n").join([*lines, Text(), Text(said, "dim")])


def _rows(found: Likeness) -> list[str]:
    return [
        f"{clip(clean(pair.first), NAME):<{NAME}}  {clip(clean(pair.second), NAME):<{NAME}}"
        f"  {percent(pair.matches['structure']):>9}  {percent(pair.matches['wording']):>7}"
        for pair in found.pairs
    ]


def alike_json(found: Likeness) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "submissions": found.submissions,
        "pairs": [
            {
                "first": pair.first,
                "second": pair.second,
                "reasons": list(pair.reasons),
                **{view: _match_json(match) for view, match in pair.matches.items()},
            }
            for pair in found.pairs
        ],
        "thin": list(found.thin),
        "advice": ADVICE,
    }


def _match_json(match: Match) -> dict[str, Any]:
    return {
        "share": round(match.share, 4),
        "characters": match.shared,
        "first_lines": sorted(match.first),
        "second_lines": sorted(match.second),
    }
