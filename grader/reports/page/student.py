"""The view of one student's page: plain values and the speed plot, made from the grade."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from grader import dataclass, replace
from grader.checks.causes import CORRECTNESS, MEASURED, Cause, find_causes, sort_findings
from grader.checks.findings import Key, fold, location_key
from grader.checks.result import Result
from grader.faults import LabFault
from grader.grading.record import Grade
from grader.grading.timing import timings_from_samples
from grader.launch import OUTPUT_KINDS, Finding
from grader.reports.classes import ReportRow, display_name, short_name
from grader.reports.finding import (
    MAX_TEXT_CELLS,
    Term,
    follows_text,
    message,
    occurrences,
    origins,
    places,
    terms_of,
)
from grader.reports.page.source import SourceView, line_label, source_view
from grader.reports.printable import clip
from grader.reports.text import (
    BACKENDS,
    format_number,
    points_text,
    profile_lines,
    score_line,
    speed_lines,
    status_word,
    unsearched_text,
)
from grader.submissions.sources import header_files

WIDTH, HEIGHT = 600, 138
LEFT, RIGHT = 16, 16
AXIS = 92
MIDDLE = 62
MAX_PAIRS = 400
"""Maximum number of pairs of launches that are drawn."""


def interval_svg(measured: Mapping[str, float], ratios: Sequence[float] = ()) -> Markup:
    """Plot a speedup: every pair of launches, the 95 % interval, the range that earns points.

    `ratios` are the speedups of the pairs. Empty when there is no interval to draw.
    """
    ends = [measured.get(name, math.nan) for name in ("speedup_low", "speedup_high")]
    marks = [measured.get(name, math.nan) for name in ("minimum", "full", "speedup")]
    if not all(map(math.isfinite, marks)):
        return Markup("")
    scale = _scale([*marks, *filter(math.isfinite, ends), *_without_outliers(ratios)])
    low, high = (scale.at(end) for end in ends)
    title = (
        f"speedup {marks[2]:.3f}, 95 % interval {ends[0]:.3f} to {ends[1]:.3f}; points grow from "
        f"{marks[0]:g} to {marks[1]:g}"
    )
    svg = Element(
        "svg",
        {"class": "interval", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"},
    )
    SubElement(svg, "title").text = title
    _band(svg, scale.at(marks[0]), scale.at(marks[1]))
    for ratio in ratios[:MAX_PAIRS]:
        if scale.holds(ratio):
            _line(svg, "pair", scale.at(ratio), MIDDLE - 13, scale.at(ratio), MIDDLE + 13)
    _line(svg, "axis", LEFT, AXIS, WIDTH - RIGHT, AXIS)
    for value in scale.ticks():
        _line(svg, "axis", scale.at(value), AXIS, scale.at(value), AXIS + 4)
        _text(svg, "tick", scale.at(value), AXIS + 19, f"{value:g}")
    _line(svg, "whisker", low, MIDDLE, high, MIDDLE)
    for end in (low, high):
        _line(svg, "whisker", end, MIDDLE - 7, end, MIDDLE + 7)
    _dot(svg, scale.at(marks[2]))
    _text(svg, "tick", WIDTH / 2, HEIGHT - 4, "times the baseline's speed")
    return Markup(tostring(svg, encoding="unicode"))


@dataclass(frozen=True)
class _Scale:
    """A linear scale from ratios to x coordinates."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return the x of a ratio, clamped to the scale; NaN is at the low end."""
        held = self.low if math.isnan(value) else min(max(value, self.low), self.high)
        share = (held - self.low) / (self.high - self.low)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def ticks(self) -> list[float]:
        """Return five to ten round numbers."""
        raw = (self.high - self.low) / 5
        power: float = 10.0 ** math.floor(math.log10(raw))
        step = max(s * power for s in (1, 2, 5) if s * power <= raw)
        first = math.ceil(self.low / step)
        return [round(k * step, 10) for k in range(first, math.floor(self.high / step) + 1)]


def _scale(values: Sequence[float]) -> _Scale:
    """Return a scale for the range of the values, with room at both ends."""
    room = 0.1 * (max(values) - min(values)) or 0.1
    return _Scale(max(min(values) - room, 0.0), max(values) + room)


def _without_outliers(ratios: Sequence[float]) -> list[float]:
    """Return the middle 96 % of the pairs, so that an outlier does not compress the plot."""
    ordered = sorted(ratios)
    cut = len(ordered) // 50
    return ordered[cut : len(ordered) - cut]


def _band(svg: Element, minimum: float, full: float) -> None:
    width = max(full - minimum, 1)
    place = {"x": f"{minimum:g}", "y": "26", "width": f"{width:g}", "height": f"{AXIS - 26}"}
    SubElement(svg, "rect", {"class": "band", **place})
    for name, x, anchor in (("minimum", minimum, "end"), ("full", full, "start")):
        _line(svg, "mark", x, 20, x, AXIS)
        _text(svg, f"name {anchor}", x, 15, name)


def _line(svg: Element, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
    ends = {"x1": f"{x1:g}", "y1": f"{y1:g}", "x2": f"{x2:g}", "y2": f"{y2:g}"}
    SubElement(svg, "line", {"class": kind, **ends})


def _dot(svg: Element, x: float) -> None:
    SubElement(svg, "circle", {"class": "median", "cx": f"{x:g}", "cy": f"{MIDDLE}", "r": "5"})


def _text(svg: Element, kind: str, x: float, y: float, text: str) -> None:
    SubElement(svg, "text", {"class": kind, "x": f"{x:g}", "y": f"{y:g}"}).text = text


UNWRAPPED = 10_000
"""A width in cells at which no line wraps."""

PROFILE_CELLS = 78


@dataclass(frozen=True)
class PlaceView:
    """The place of an access: its thread, line ("" when unknown) and source text."""

    who: str
    line: str
    text: str


@dataclass(frozen=True)
class FindingView:
    """One finding in full; `reported_by` are the checks that report it."""

    anchor: str
    kind: str
    finding: Finding
    message: str
    places: tuple[PlaceView, ...]
    detail: tuple[str, ...]
    notes: tuple[str, ...]
    reported_by: str


@dataclass(frozen=True)
class CauseView:
    """One mistake: what is wrong and where, the finding that shows it, and what follows from it."""

    kind: str
    what: str
    line: str
    text: str
    finding: FindingView
    follows: tuple[FindingView, ...]
    summary: str
    diff: str


@dataclass(frozen=True)
class CheckView:
    """One check: its verdict as a word, its points, its result and measurements."""

    name: str
    status: str
    word: str
    points: str
    summary: str
    hidden: bool
    measured: tuple[str, ...]
    table: tuple[str, ...]


@dataclass(frozen=True)
class StudentView:
    """A student's page.

    `verdict` adds what the score does not say, `plot` shows the speedup's interval, `facts` lists
    how the submission was graded, `term_of` explains kinds of findings, `advice` says how to learn
    which kind of change was tried and is right, `unsearched` that a fault of this machine cut the
    search for causes short.
    """

    row: ReportRow
    grade: Grade
    title: str
    score: str
    verdict: str
    where: str
    checks: tuple[CheckView, ...]
    causes: tuple[CauseView, ...]
    source: SourceView | None
    plot: Markup
    facts: tuple[tuple[str, str], ...]
    term_of: Mapping[str, Term] = field(default_factory=dict)
    advice: str = ""
    unsearched: str = ""


def student_view(row: ReportRow, *, with_seed: bool = True) -> StudentView:
    """Build the view of a row; `with_seed` includes the seed's identifier in the facts."""
    grade = row.grade
    every = sort_findings(f for check in grade.checks for f in check.findings)
    causes = find_causes(fold(every, _merge_key), grade.explanation)
    findings = [finding for cause in causes for finding in cause.findings]
    counting = row.effective_points
    score = "incomplete" if counting is None else f"{counting:g} of {row.judged_max:g}"
    verdict = score_line(grade, UNWRAPPED).plain
    return StudentView(
        row=row,
        grade=grade,
        title=display_name(row),
        score=score,
        verdict=f"{verdict};".removeprefix(f"score {score};").strip("; "),
        where=BACKENDS.get(grade.backend, grade.backend),
        checks=tuple(map(_check, grade.checks)),
        causes=tuple(_causes(causes, grade, header_files(row.source, grade.file))),
        source=source_view(grade, row.source, findings),
        unsearched=unsearched_text(grade),
        plot=_plot(grade),
        facts=tuple(_facts(grade, with_seed=with_seed)),
        term_of=terms_of(finding.kind for finding in findings),
        advice=_advice(row, findings),
    )


def _advice(row: ReportRow, findings: Sequence[Finding]) -> str:
    """Return what `grader check` shows beside this page of a class, which tries no edits."""
    may_have_fix = any(finding.kind in CORRECTNESS | MEASURED for finding in findings)
    if not row.student or row.grade.explanation.trials or not may_have_fix:
        return ""
    return (
        f"`grader check {row.grade.lab} FILE.cu` also tries changes of the file, and says which "
        "kind of change makes every public case right."
    )


def _check(check: Result) -> CheckView:
    profile = check.name == "profile" and bool(check.measurements)
    return CheckView(
        name=short_name(check.name),
        status=check.status,
        word=status_word(check)[0].lower(),
        points=points_text(check),
        summary=check.summary,
        hidden=check.visibility == "hidden",
        measured=() if profile else tuple(_measured(check)),
        table=tuple(profile_lines(check.measurements, PROFILE_CELLS)) if profile else (),
    )


def _measured(check: Result) -> Iterator[str]:
    measured: Mapping[str, float] = check.measurements
    if "speedup" in measured:
        yield from speed_lines(measured)[1:]
    elif measured:
        on = f" on {check.measured_on}" if check.measured_on else ""
        values = (f"{n.replace('_', ' ')} {format_number(value)}" for n, value in measured.items())
        yield "; ".join(values) + on


def _causes(causes: Sequence[Cause], grade: Grade, headers: Container[str]) -> Iterator[CauseView]:
    """Yield the causes; their findings are numbered from 1 in the page's order."""
    number = 1
    for cause in causes:
        findings = enumerate(cause.findings, start=number)
        views = tuple(_finding(f, n, grade, headers) for n, f in findings)
        number += len(views)
        summary = follows_text(cause).partition(";")[0]
        file = cause.file or cause.finding.file
        line = line_label(file, cause.line, headers) if cause.what and cause.line else ""
        kind = short_name(cause.kind)
        diff = cause.fix.diff if cause.fix else ""
        text = cause.text.strip()
        yield CauseView(kind, cause.what, line, text, views[0], views[1:], summary, diff)


def _finding(finding: Finding, at: int, grade: Grade, headers: Container[str]) -> FindingView:
    names = [c.name for c in grade.checks if _merge_key(finding) in map(_merge_key, c.findings)]
    notes = (occurrences(finding), clip(origins(finding), MAX_TEXT_CELLS))
    return FindingView(
        anchor=f"finding-{at}",
        kind=short_name(finding.kind),
        finding=finding,
        message=message(finding),
        places=tuple(_places(finding, headers)),
        detail=tuple(finding.detail.splitlines()),
        notes=tuple(filter(None, notes)),
        reported_by=", ".join(map(short_name, names)),
    )


def _merge_key(finding: Finding) -> Key:
    """Return the key by which findings of public and hidden cases are merged.

    The thread that stored a wrong element is known for public cases only, so it is not in the key.
    """
    return (
        location_key(replace(finding, access=""))
        if finding.kind in OUTPUT_KINDS
        else location_key(finding)
    )


def _places(finding: Finding, headers: Container[str]) -> Iterator[PlaceView]:
    for who, file, line, text in places(finding):
        if line or who:
            yield PlaceView(who, line_label(file, line, headers) if line else "", text.strip())


def _plot(grade: Grade) -> Markup:
    """Plot the speed check's interval with the pairs of the measurement that counts."""
    measured = next((c.measurements for c in grade.checks if "speedup" in c.measurements), None)
    if measured is None:
        return Markup("")
    try:
        timings = timings_from_samples(grade.provenance.samples)
    except LabFault:  # the interval alone can be drawn
        timings = ()
    return interval_svg(measured, timings[-1].ratios if timings else ())


def _facts(grade: Grade, *, with_seed: bool) -> Iterator[tuple[str, str]]:
    made = grade.provenance
    yield "file", grade.file
    yield "SHA-256", grade.submission_sha256
    yield "graded", made.started + (f", in {made.seconds:.1f} s" if made.seconds else "")
    yield "by", f"warpgrade {made.grader_version}, {BACKENDS.get(grade.backend, grade.backend)}"
    yield "toolchain", ", ".join(f"{name} {version}" for name, version in made.toolchain.items())
    yield "device", ", ".join(filter(None, (made.device, made.driver and f"driver {made.driver}")))
    yield "clocks", ", ".join(f"{name} {value}" for name, value in (made.clocks or {}).items())
    if with_seed:
        yield "seed", f"{made.seed} (an identifier, not the seed)"
        yield "lab", made.lab_sha256
