"""What one student's page tells, as plain values made from the grade."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup

from grader.check.findings import Key, fold, place
from grader.check.result import Result
from grader.fault import LabFault
from grader.launch import OUTPUTS, Finding
from grader.record import Grade
from grader.report.clean import clip
from grader.report.finding import LONGEST, accesses, in_order, message, origins, seen
from grader.report.page.interval import interval_svg
from grader.report.page.row import ReportRow, name_of, short
from grader.report.page.source import SourceView, source_view
from grader.report.profile import profile_lines
from grader.report.speed import speed_lines
from grader.report.text import BACKENDS, WORDS, number, points, score_line
from grader.timed import from_samples

WIDE = 10_000
"""Cells of a line that is not to be broken here."""

PROFILE = 78


@dataclass(frozen=True)
class PlaceView:
    """Where an access was: who made it, the line ("" when none is known), its text."""

    who: str
    line: str
    text: str


@dataclass(frozen=True)
class FindingView:
    """One finding in full; `told_by` are the checks that tell it."""

    anchor: str
    kind: str
    finding: Finding
    message: str
    places: tuple[PlaceView, ...]
    detail: tuple[str, ...]
    notes: tuple[str, ...]
    told_by: str


@dataclass(frozen=True)
class CheckView:
    """One check: its verdict as a word, its points, what was seen and measured."""

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
    """A page: `verdict` says what the score does not, `plot` the speed's interval, `facts` how
    the grade came about."""

    row: ReportRow
    grade: Grade
    title: str
    score: str
    verdict: str
    where: str
    checks: tuple[CheckView, ...]
    findings: tuple[FindingView, ...]
    source: SourceView | None
    plot: Markup
    facts: tuple[tuple[str, str], ...]


def student_view(row: ReportRow, *, with_seed: bool = True) -> StudentView:
    """The page's contents. `with_seed` tells the seed's identifier among the facts."""
    grade = row.grade
    told = in_order(f for check in grade.checks for f in check.findings)
    findings = in_order(fold(told, _alike))
    counting = row.counting
    score = "incomplete" if counting is None else f"{counting:g} of {row.judged_max:g}"
    verdict = score_line(grade, WIDE).plain
    return StudentView(
        row=row,
        grade=grade,
        title=name_of(row),
        score=score,
        verdict=f"{verdict} ".removeprefix(f"score {score} ").strip(),
        where=BACKENDS.get(grade.backend, grade.backend),
        checks=tuple(map(_check, grade.checks)),
        findings=tuple(_finding(f, n, grade) for n, f in enumerate(findings, start=1)),
        source=source_view(grade, row.source, findings),
        plot=_plot(grade),
        facts=tuple(_facts(grade, with_seed=with_seed)),
    )


def _check(check: Result) -> CheckView:
    profile = check.name == "profile" and bool(check.measurements)
    return CheckView(
        name=short(check.name),
        status=check.status,
        word=WORDS[check.status][0].lower(),
        points=points(check),
        summary=check.summary,
        hidden=check.visibility == "hidden",
        measured=() if profile else tuple(_measured(check)),
        table=tuple(profile_lines(check.measurements, PROFILE)) if profile else (),
    )


def _measured(check: Result) -> Iterator[str]:
    measured: Mapping[str, float] = check.measurements
    if "speedup" in measured:
        yield from speed_lines(measured)[1:]
    elif measured:
        on = f" on {check.measured_on}" if check.measured_on else ""
        told = (f"{n.replace('_', ' ')} {number(value)}" for n, value in measured.items())
        yield "; ".join(told) + on


def _finding(finding: Finding, at: int, grade: Grade) -> FindingView:
    told_by = [c.name for c in grade.checks if _alike(finding) in map(_alike, c.findings)]
    notes = (seen(finding), clip(origins(finding), LONGEST))
    return FindingView(
        anchor=f"finding-{at}",
        kind=short(finding.kind),
        finding=finding,
        message=message(finding),
        places=tuple(_places(finding)),
        detail=tuple(finding.detail.splitlines()),
        notes=tuple(filter(None, notes)),
        told_by=", ".join(map(short, told_by)),
    )


def _alike(finding: Finding) -> Key:
    """What public and hidden cases are told of once. Who stored a wrong element is known of public
    cases only."""
    return place(replace(finding, access="")) if finding.kind in OUTPUTS else place(finding)


def _places(finding: Finding) -> Iterator[PlaceView]:
    for who, line, text in accesses(finding):
        if line or who:
            yield PlaceView(who, str(line or ""), text.strip())


def _plot(grade: Grade) -> Markup:
    """The interval of the speed check, with the pairs of the measurement that counted."""
    measured = next((c.measurements for c in grade.checks if "speedup" in c.measurements), None)
    if measured is None:
        return Markup("")
    try:
        timings = from_samples(grade.provenance.samples)
    except LabFault:  # the interval alone can be drawn
        timings = ()
    return interval_svg(measured, timings[-1].ratios if timings else ())


def _facts(grade: Grade, *, with_seed: bool) -> Iterator[tuple[str, str]]:
    made = grade.provenance
    yield "file", grade.file
    yield "SHA-256", grade.submission_sha256
    yield "graded", f"{made.started}, in {made.seconds:.1f} s"
    yield "by", f"warpgrade {made.grader_version}, {BACKENDS.get(grade.backend, grade.backend)}"
    yield "toolchain", ", ".join(f"{name} {version}" for name, version in made.toolchain.items())
    yield "device", ", ".join(filter(None, (made.device, made.driver and f"driver {made.driver}")))
    yield "clocks", ", ".join(f"{name} {value}" for name, value in (made.clocks or {}).items())
    if with_seed:
        yield "seed", f"{made.seed} (an identifier, not the seed)"
        yield "lab", made.lab_sha256
