"""Similar submissions as text, JSON and HTML: the pairs, and each pair side by side.

The pages load nothing. The report is advice for the instructor, never a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup
from rich.text import Text

from grader import dataclass
from grader.batch.similarity import SMALL_CLASS, VIEWS, Match, Pair, SimilarityReport
from grader.labs.model import Lab
from grader.reports.page.write import content_security_policy
from grader.reports.page.write import load_templates as report_pages
from grader.reports.printable import clip, printable, wrap

ADVICE = (
    "Similar is not copied. Students who worked side by side, or read the same page, write similar "
    "code; so may students who never met. Read both submissions and ask both students before you "
    "decide. No number decides."
)
MAX_NAME_CELLS = 24


def percent(match: Match) -> str:
    """Return a share of evidence as "93 %", or "-" when nothing is shared."""
    return f"{100 * match.share:.0f} %" if match.shared else "-"


def headline(report: SimilarityReport) -> str:
    """Say in one line how many pairs are unusually similar."""
    count = len(report.pairs)
    if not count:
        return f"no two of {report.submissions} submissions are unusually similar"
    verb = "1 pair is" if count == 1 else f"{count} pairs are"
    return f"{verb} unusually similar, of {report.submissions} submissions"


def method_note(report: SimilarityReport) -> str:
    """Explain the comparison."""
    text = (
        "The comparison leaves out the lab's own code, the code of its solution and baseline, and "
        "code that many submissions share. A percentage is the part of one submission's remaining "
        "code that the other also has. Structure is compared without names and comments, wording "
        "with them."
    )
    few = f" Below {SMALL_CLASS} submissions, only code that the other has entirely is reported."
    return text + (few if report.submissions < SMALL_CLASS else "")


def similarity_report(report: SimilarityReport, width: int = 80) -> Text:
    """List the pairs as a table, the submissions too short to compare, and how to read both."""
    lines = [Text(headline(report), "bold")]
    if report.pairs:
        head = _table_row("submission", "and", "structure", "wording")
        lines += [Text(), Text(head, "bold"), *(Text(_pair_row(pair)) for pair in report.pairs)]
    if report.thin:
        names = ", ".join(clip(printable(name), MAX_NAME_CELLS) for name in report.thin)
        text = f"too little own code to compare: {names}"
        lines += [Text(), Text("\n".join(wrap(text, width, "  ")))]
    notes = "\n".join(wrap(f"{method_note(report)} {ADVICE}", width))
    return Text("\n").join([*lines, Text(), Text(notes, "dim")])


def _pair_row(pair: Pair) -> str:
    structure, wording = (percent(pair.matches[view]) for view in VIEWS)
    return _table_row(printable(pair.first), printable(pair.second), structure, wording)


def _table_row(first: str, second: str, structure: str, wording: str) -> str:
    names = (f"{clip(name, MAX_NAME_CELLS):<{MAX_NAME_CELLS}}" for name in (first, second))
    return f"{'  '.join(names)}  {structure:>9}  {wording:>7}"


def similarity_json(report: SimilarityReport) -> dict[str, Any]:
    """Return the report as plain values for JSON."""
    return {
        "submissions": report.submissions,
        "pairs": [
            {
                "first": pair.first,
                "second": pair.second,
                "reasons": list(pair.reasons),
                **{view: _match_json(match) for view, match in pair.matches.items()},
            }
            for pair in report.pairs
        ],
        "thin": list(report.thin),
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
    """A source line; `mark` is the view in which the other submission has it too, or ""."""

    number: int
    text: str
    mark: str


@dataclass(frozen=True)
class Side:
    """One of the two sources."""

    name: str
    lines: tuple[Line, ...]


def similarity_pages(
    lab: Lab, report: SimilarityReport, texts: Mapping[str, str]
) -> Mapping[str, bytes]:
    """Return the report's files by name; `texts` are the submissions by student."""
    environment, style = _environment()
    shown = {"name": lab.name, "title": lab.title}

    def filled(name: str, **values: Any) -> bytes:
        text = environment.get_template(name).render(
            policy=content_security_policy(style, ""),
            style=Markup(style),
            lab=shown,
            advice=ADVICE,
            **values,
        )
        return text.encode("utf-8", "replace")

    rows = [_row(pair, number) for number, pair in enumerate(report.pairs, start=1)]
    made = {
        "index.html": filled(
            "similarity.html",
            pairs=rows,
            headline=headline(report),
            thin=", ".join(report.thin),
            method=method_note(report),
        )
    }
    for row, pair in zip(rows, report.pairs, strict=True):
        made[row.page] = filled("pair.html", row=row, sides=_sides(pair, texts))
    return made


def _environment() -> tuple[Environment, str]:
    """Return the class report's base template, and its style with this report's own."""
    base = report_pages()
    environment = base.environment.overlay(
        loader=ChoiceLoader([PackageLoader("grader.batch"), PackageLoader("grader.reports.page")])
    )
    own = (files("grader.batch") / "templates" / "similarity.css").read_text("utf-8")
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
        marked_side(pair.first, texts[pair.first], structure.first, wording.first),
        marked_side(pair.second, texts[pair.second], structure.second, wording.second),
    )


def marked_side(
    name: str, code: str, structure: frozenset[int], wording: frozenset[int]
) -> Side:  # fmt: skip
    """Return one of two sources with the lines marked that the other has too, by view."""
    marks = dict.fromkeys(structure, "structure") | dict.fromkeys(wording, "wording")
    lines = enumerate(code.removesuffix("\n").split("\n"), start=1)
    return Side(name, tuple(Line(number, line, marks.get(number, "")) for number, line in lines))
