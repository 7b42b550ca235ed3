"""The view of a class's index page: plain values and a histogram, made from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from grader import dataclass
from grader.checks.causes import sort_findings
from grader.checks.result import Result
from grader.launch import Finding
from grader.reports.classes import ReportRow, display_name, main_finding, short_name
from grader.reports.printable import clip, printable
from grader.reports.text import MAX_SUMMARY_CELLS, STATUS_WORDS

BINS = 10
WIDTH, HEIGHT = 560, 180
BASE = 150
TOP = 22
LEFT = 8
STEP = (WIDTH - 2 * LEFT) // (BINS + 1)
GAP = 6


def histogram(points: Sequence[float], most: float) -> tuple[int, ...]:
    """Count the scores in each tenth of `most`, lowest first; full marks have their own bin."""
    counts = [0] * (BINS + 1)
    for value in points:
        share = value / most if most else 1.0
        counts[min(max(int(share * BINS + 1e-9), 0), BINS)] += 1
    return tuple(counts)


def histogram_svg(points: Sequence[float], most: float) -> Markup:
    """Draw the distribution of scores of `most` points: a bar for each tenth."""
    counts = histogram(points, most)
    svg = Element("svg", {"class": "histogram", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"})
    bins = (f"{_bin_name(k, most)}: {count}" for k, count in enumerate(counts) if count)
    SubElement(svg, "title").text = "submissions by score: " + "; ".join(bins)
    tallest = max(*counts, 1)
    for k, count in enumerate(counts):
        _bar(svg, k, count, tallest, most)
    for k in range(BINS):
        _text(svg, "tick", LEFT + k * STEP, BASE + 19, f"{k * most / BINS:g}")
    _text(svg, "tick full", LEFT + BINS * STEP + (STEP - GAP) / 2, BASE + 19, f"{most:g}")
    axis = {"x1": f"{LEFT}", "x2": f"{LEFT + (BINS + 1) * STEP - GAP}"}
    SubElement(svg, "line", {"class": "axis", **axis, "y1": f"{BASE}", "y2": f"{BASE}"})
    return Markup(tostring(svg, encoding="unicode"))


def _bar(svg: Element, k: int, count: int, tallest: int, most: float) -> None:
    height = (BASE - TOP) * count / tallest
    x, width = LEFT + k * STEP, STEP - GAP
    group = SubElement(svg, "g", {"class": "bar full" if k == BINS else "bar"})
    SubElement(group, "title").text = f"{_bin_name(k, most)}: {count}"
    place = {"x": f"{x}", "y": f"{BASE - height:.1f}", "width": f"{width}"}
    SubElement(group, "rect", {**place, "height": f"{height:.1f}", "rx": "2"})
    if count:
        _text(group, "count", x + width / 2, BASE - height - 5, f"{count}")


def _bin_name(k: int, most: float) -> str:
    if k == BINS:
        return "full marks"
    return f"{k * most / BINS:g} to below {(k + 1) * most / BINS:g} points"


def _text(parent: Element, kind: str, x: float, y: float, text: str) -> None:
    SubElement(parent, "text", {"class": kind, "x": f"{x:g}", "y": f"{y:g}"}).text = text


MAX_MESSAGE_CELLS = 120
MAX_MISSING_CELLS = 120
NO_VALUE = -1.0
"""Sorts checks and grades without points below all others."""


@dataclass(frozen=True)
class CheckColumn:
    """A check's column: how many submissions it evaluated, and how many of those passed."""

    name: str
    most: float
    passed: int
    evaluated: int


@dataclass(frozen=True)
class CellView:
    """One check of one student: the cell's text, the value it sorts by, its tooltip."""

    shown: str
    value: float
    status: str
    tooltip: str


@dataclass(frozen=True)
class LineView:
    """One student's line."""

    student: str
    href: str
    score: str
    value: float
    cells: tuple[CellView, ...]
    finding: str
    late: str
    override: str


@dataclass(frozen=True)
class KindView:
    """A kind of finding: how many students have it, and an example with a link to its line."""

    kind: str
    severity: str
    students: int
    message: str
    example: str
    href: str


@dataclass(frozen=True)
class ClassView:
    """The index page. `tallies` are numbers with their names, for its header."""

    columns: tuple[CheckColumn, ...]
    lines: tuple[LineView, ...]
    kinds: tuple[KindView, ...]
    tallies: tuple[tuple[str, str], ...]
    histogram: Markup
    most: float
    has_late: bool
    has_override: bool
    facts: str
    missing: tuple[str, ...] = ()


def class_view(
    rows: Sequence[ReportRow], hrefs: Sequence[str], missing: Sequence[str] = ()
) -> ClassView:
    """Build the view of the class's rows.

    Args:
        rows: One row for each student with a grade.
        hrefs: Their pages, relative to the index.
        missing: The other students, with the reason where it is not that nothing was submitted.
    """
    names = list(dict.fromkeys(c.name for r in rows for c in r.grade.checks if c.max_points))
    most = max((row.judged_max for row in rows), default=0.0)
    points = [row.effective_points for row in rows if row.effective_points is not None]
    return ClassView(
        columns=tuple(_column(name, rows) for name in names),
        lines=tuple(_line(row, href, names) for row, href in zip(rows, hrefs, strict=True)),
        kinds=tuple(_kinds(rows, hrefs)),
        tallies=tuple(_tallies(rows, points)),
        histogram=histogram_svg(points, most),
        most=most,
        has_late=any(row.late for row in rows),
        has_override=any(row.override for row in rows),
        facts=_facts(rows),
        missing=tuple(clip(printable(one), MAX_MISSING_CELLS) for one in missing),
    )


def _column(name: str, rows: Sequence[ReportRow]) -> CheckColumn:
    every = [c for row in rows for c in row.grade.checks if c.name == name]
    evaluated = [c for c in every if c.status not in ("unjudged", "error")]
    passed = sum(c.status == "pass" for c in evaluated)
    return CheckColumn(short_name(name), max(c.max_points for c in every), passed, len(evaluated))


def _line(row: ReportRow, href: str, names: Sequence[str]) -> LineView:
    checks = {check.name: check for check in row.grade.checks}
    counting = row.effective_points
    return LineView(
        student=display_name(row),
        href=href,
        score="incomplete" if counting is None else f"{counting:g}",
        value=NO_VALUE if counting is None else counting,
        cells=tuple(_cell(checks.get(name)) for name in names),
        finding=short_name(main_finding(row.grade)),
        late=clip(printable(row.late), MAX_SUMMARY_CELLS),
        override=clip(printable(row.override), MAX_SUMMARY_CELLS),
    )


def _cell(check: Result | None) -> CellView:
    if check is None:
        return CellView("", NO_VALUE, "none", "not in this grade")
    word = STATUS_WORDS[check.status][0].lower()
    if check.status in ("unjudged", "error"):
        return CellView("!" if check.status == "error" else "–", NO_VALUE, check.status, word)
    tooltip = f"{word}: {check.points:g} of {check.max_points:g}"
    return CellView(f"{check.points:.4g}", check.points, check.status, tooltip)


def _kinds(rows: Sequence[ReportRow], hrefs: Sequence[str]) -> list[KindView]:
    """List the kinds of errors and warnings, the most frequent first."""
    examples: dict[str, list[_Example]] = {}
    for row, href in zip(rows, hrefs, strict=True):
        main = main_finding(row.grade)
        findings = sort_findings(f for check in row.grade.checks for f in check.findings)
        first = {f.kind: f for f in reversed(findings) if f.severity != "info"}
        for kind, finding in first.items():
            examples.setdefault(kind, []).append(_Example(finding, row, href, kind == main))
    kinds = (_kind(kind, held) for kind, held in examples.items())
    return sorted(kinds, key=lambda k: (k.severity != "error", -k.students, k.kind))


class _Example(NamedTuple):
    """A student's first finding of a kind, and whether it is the student's main finding."""

    finding: Finding
    row: ReportRow
    href: str
    is_main: bool


def _kind(kind: str, held: Sequence[_Example]) -> KindView:
    """Choose as example a student whose main finding is of this kind, when there is one."""
    finding, row, href, _ = next((example for example in held if example.is_main), held[0])
    place = f"{href}#L{finding.line}" if finding.line else href
    message = clip(printable(finding.message), MAX_MESSAGE_CELLS)
    return KindView(
        short_name(kind), finding.severity, len(held), message, display_name(row), place
    )


def _tallies(rows: Sequence[ReportRow], points: Sequence[float]) -> list[tuple[str, str]]:
    tallies = [(f"{len(rows)}", "submission" if len(rows) == 1 else "submissions")]
    if points:
        full = sum(
            row.effective_points is not None and row.effective_points >= row.judged_max
            for row in rows
        )
        tallies += [
            (f"{full}", "with full marks"),
            (f"{median(points):.4g}", "median score"),
            (f"{mean(points):.1f}", "mean score"),
        ]
    if incomplete := len(rows) - len(points):
        tallies.append((f"{incomplete}", "incomplete"))
    return tallies


def _facts(rows: Sequence[ReportRow]) -> str:
    """Say when and with which versions and devices the class was graded."""
    made = [row.grade.provenance for row in rows]
    days = sorted({m.started[:10] for m in made})
    versions = sorted({f"warpgrade {m.grader_version}" for m in made})
    devices = sorted({m.device for m in made if m.device})
    when = " to ".join([days[0], days[-1]] if len(days) > 1 else days)
    return clip(printable(", ".join(filter(None, (when, *versions, *devices)))), MAX_SUMMARY_CELLS)
