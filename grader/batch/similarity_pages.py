"""Alike submissions as HTML: the pairs, and each pair side by side. The pages load nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup
from rich.text import Text

from grader.batch.similarity import SMALL, Likeness, Match, Pair
from grader.labs.model import Lab
from grader.reports.clean import clean, clip, wrap
from grader.reports.page.write import pages as report_pages
from grader.reports.page.write import policy

# What is said about alike submissions. It is advice to a person, never a verdict.

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


@dataclass(frozen=True)
class Row:
    """A pair as the pages show it."""

    first: str
    second: str
    structure: str
    wording: str
    by_structure: bool
    by_wording: bool
    page: str


@dataclass(frozen=True)
class Line:
    """A source line; `mark` is the view in which the other has it, too, or ""."""

    number: int
    text: str
    mark: str


@dataclass(frozen=True)
class Side:
    """One of the two sources."""

    name: str
    lines: tuple[Line, ...]


def alike_pages(lab: Lab, found: Likeness, texts: Mapping[str, str]) -> Mapping[str, bytes]:
    """The files of the report by their names; `texts` are the submissions by theirs."""
    environment, style = _environment()
    shown = {"name": lab.name, "title": lab.title}

    def filled(name: str, **values: Any) -> bytes:
        text = environment.get_template(name).render(
            policy=policy(style, ""), style=Markup(style), lab=shown, advice=ADVICE, **values
        )
        return text.encode("utf-8", "replace")

    rows = [_row(pair, number) for number, pair in enumerate(found.pairs, start=1)]
    made = {
        "index.html": filled(
            "alike.html",
            pairs=rows,
            told=told(found),
            thin=", ".join(found.thin),
            method=method(found),
        )
    }
    for row, pair in zip(rows, found.pairs, strict=True):
        made[row.page] = filled("pair.html", row=row, sides=_sides(pair, texts))
    return made


def _environment() -> tuple[Environment, str]:
    """The class report's base and style, and what is ours."""
    base = report_pages()
    environment = base.environment.overlay(
        loader=ChoiceLoader([PackageLoader("grader.batch"), PackageLoader("grader.reports.page")])
    )
    own = (files("grader.batch") / "templates" / "alike.css").read_text("utf-8")
    return environment, base.style + own


def _row(pair: Pair, number: int) -> Row:
    return Row(
        pair.first,
        pair.second,
        percent(pair.matches["structure"]),
        percent(pair.matches["wording"]),
        "structure" in pair.reasons,
        "wording" in pair.reasons,
        f"pair-{number}.html",
    )


def _sides(pair: Pair, texts: Mapping[str, str]) -> tuple[Side, Side]:
    structure, wording = pair.matches["structure"], pair.matches["wording"]
    return (
        _side(pair.first, texts[pair.first], structure.first, wording.first),
        _side(pair.second, texts[pair.second], structure.second, wording.second),
    )


def _side(name: str, text: str, built: frozenset[int], worded: frozenset[int]) -> Side:
    marks = dict.fromkeys(built, "structure") | dict.fromkeys(worded, "wording")
    lines = enumerate(text.removesuffix("\n").split("\n"), start=1)
    return Side(name, tuple(Line(number, line, marks.get(number, "")) for number, line in lines))
