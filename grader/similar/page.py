"""Alike submissions as HTML: the pairs, and each pair side by side. The pages load nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from grader.lab import Lab
from grader.report.page.render import pages as report_pages
from grader.report.page.render import policy
from grader.similar.compare import Likeness, Pair
from grader.similar.words import ADVICE, method, percent, told


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
        loader=ChoiceLoader([PackageLoader("grader.similar"), PackageLoader("grader.report.page")])
    )
    own = (files("grader.similar") / "templates" / "alike.css").read_text("utf-8")
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
