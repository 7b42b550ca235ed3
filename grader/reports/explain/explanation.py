"""The explanation of a kernel on one case: its panels, requests and the cost of each line.

`explain_submission` compiles a student's file, chooses a case and launches it with an access table.
`explain_launch` turns the traced launch into an Explanation: plain values that a page shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from xml.etree.ElementTree import Element, SubElement, tostring

from grader import dataclass
from grader.checks.traffic import line_hints
from grader.compile.program import Program
from grader.faults import LabFault, closest_match
from grader.grading.cases import RunOptions, prepare_cases, run_derivations
from grader.grading.pipeline import compile_submission
from grader.grading.run import run_all
from grader.labs.model import Lab, PreparedCase
from grader.launch import Array, Dim3, Finding, Launch, Trace
from grader.reports.explain.accesses import (
    MAX_SIDE,
    Panel,
    panel_counts,
    panel_svg,
    panels,
    thread_accesses,
)
from grader.reports.explain.requests import Request, request_summary, request_svg, requests
from grader.reports.finding import dim3, finding_text
from grader.reports.printable import printable
from grader.submissions.files import Submission
from grader.submissions.sources import in_own_files, source_places

_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
FIRST_BLOCK: Dim3 = (0, 0, 0)

ENOUGH_ELEMENTS = 256
"""Elements of an array that make a useful picture."""


@dataclass(frozen=True)
class Line:
    """One line of the source, its cost in the whole launch, and the findings that name it.

    `place` names it in the student's own files: `14`, or `tile.cuh:3` in a header or another cell.
    `requests` are warps' requests to global memory, `sectors` the 32-byte sectors that they move,
    `wavefronts` the passes through shared memory, `conflicts` those added by bank conflicts.
    """

    number: int
    text: str
    requests: int = 0
    sectors: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    findings: tuple[Finding, ...] = ()
    place: str = ""

    @property
    def sectors_per_request(self) -> float:
        """Sectors that one request moves on average; 0 without requests."""
        return self.sectors / self.requests if self.requests else 0.0


@dataclass(frozen=True)
class Explanation:
    """One launch: the kernel's file, case and geometry, and what one block of it does.

    `shown` is the block that `panels` and `requests` show. `findings` are those that name no line.
    `no_panels_reason` says why there are no panels, "" when there are.
    """

    lab: str
    title: str
    file: str
    kernel: str
    case: str
    size: str
    grid: Dim3
    block: Dim3
    shown: Dim3
    panels: tuple[Panel, ...]
    requests: tuple[Request, ...]
    lines: tuple[Line, ...]
    findings: tuple[Finding, ...]
    no_panels_reason: str = ""

    def named(self, line: int) -> str:
        """Return how the page names a line of the source that was compiled."""
        return self.lines[line - 1].place if 0 < line <= len(self.lines) else str(line)


def explain_launch(
    lab: str, title: str, file: str, source: str, launch: Launch, size: str, trace: Trace,
    places: Sequence[tuple[str, int]] = (),
) -> Explanation:  # fmt: skip
    """Explain one traced launch, with pictures of block (0,0,0).

    `places` are those of `source_places`.
    """
    traced = trace.accesses is not None
    accesses = thread_accesses(trace, FIRST_BLOCK) if traced else ()
    own = partial(in_own_files, places=places, name=file)
    rows = source_lines(source, trace)
    placed = {f for row in rows for f in row.findings}
    lines = tuple(
        replace(row, findings=own(row.findings), place=_place(row.number, places, file))
        for row in rows
    )
    return Explanation(
        lab, title, file, launch.kernel, launch.name, size, launch.grid, launch.block, FIRST_BLOCK,
        panels(accesses, launch),
        own(requests(accesses, launch)),
        lines,
        own(tuple(f for f in trace.findings if f not in placed)),
        "" if traced else "The kernel did not end, so there is no picture of its accesses.",
    )  # fmt: skip


def _place(line: int, places: Sequence[tuple[str, int]], name: str) -> str:
    file, own = places[line - 1] if line <= len(places) else (name, line)
    return f"{own}" if file == name else f"{file}:{own}"


def source_lines(source: str, trace: Trace) -> tuple[Line, ...]:
    """Return every line of the source with its counters and findings.

    Lines are the compiler's: a form feed does not end a line.
    """
    counted = {held.line: held.counters for held in trace.lines}
    return tuple(
        _line(number, text.removesuffix("\r"), counted.get(number, {}), trace)
        for number, text in enumerate(source.removesuffix("\n").split("\n"), start=1)
    )


def _line(number: int, text: str, counters: Mapping[str, float], trace: Trace) -> Line:
    return Line(
        number,
        text,
        _sum(counters, *(_GLOBAL.format("requests", op) for op in ("ld", "st"))),
        _sum(counters, *(_GLOBAL.format("sectors", op) for op in ("ld", "st"))),
        _sum(counters, *(_WAVEFRONTS.format(op) for op in ("ld", "st"))),
        _sum(counters, *(_CONFLICTS.format(op) for op in ("ld", "st"))),
        tuple(dict.fromkeys(f for f in trace.findings if f.line == number)),
    )


def _sum(counters: Mapping[str, float], *names: str) -> int:
    return int(sum(counters.get(name, 0) for name in names))


def explain_submission(
    lab: Lab,
    submission: Submission,
    how: RunOptions,
    case: str = "",
    announce: Callable[[str, int, int], None] = lambda step, number, steps: None,
) -> Explanation:
    """Explain a submission on a public case: the named one, or the smallest that fills a block.

    Raises:
        StudentFault: The submission does not compile or has no such kernel.
        LabFault: There is no such case, or it is too large for an access table.
        MachineFault: The simulator failed.
    """
    announce("compile", 1, 2)
    program = compile_submission(lab, submission, "sim")
    announce("run", 2, 2)
    chosen = smallest_case(launchable_cases(lab, program, how, case))
    trace = run_all(
        program,
        [chosen.launch],
        threads=how.threads,
        limit=how.limit,
        steps=how.steps,
        table=True,
    )[0]
    hints = line_hints(trace.lines, program, "warning") if trace.ended else []
    trace = replace(trace, findings=(*trace.findings, *hints))
    return explain_launch(
        lab.name, lab.title, submission.name, program.source, chosen.launch, chosen.case.size,
        trace, source_places(submission.text, submission.name),
    )  # fmt: skip


def launchable_cases(
    lab: Lab, program: Program, how: RunOptions, name: str
) -> tuple[PreparedCase, ...]:
    """Return the public cases that can be launched, or the one named. Raises LabFault."""
    public = [c for c in lab.cases if c.visibility == "public" and name in ("", c.name)]
    if not public:
        known = [c.name for c in lab.cases if c.visibility == "public"]
        near = closest_match(name, known)
        guess = f"Did you mean {near}? " if near else ""
        what = f"{lab.name} has no public case `{name}`"
        raise LabFault(what, fix=f"{guess}Cases: {', '.join(known)}")
    derived = any(c.derived for c in public)
    asked = run_derivations(lab, program, how, hidden=False) if derived else {}
    ready = prepare_cases(lab, public, how, asked)
    if not ready:
        what = f"case {public[0].name} is launched with a constant of the kernel that is wrong"
        raise LabFault(what, fix=f"Run `grader check {lab.name} {program.file}`.")
    return ready


def smallest_case(cases: tuple[PreparedCase, ...]) -> PreparedCase:
    """Return the smallest case that makes a useful picture; the largest when none does.

    Every array of such a case has an element for each thread of a block, or ENOUGH_ELEMENTS.
    """
    full = [c for c in cases if min(_sizes(c)) >= min(prod(c.launch.block), ENOUGH_ELEMENTS)]
    return min(full, key=_size) if full else max(cases, key=_size)


def _size(case: PreparedCase) -> int:
    return sum(_sizes(case))


def _sizes(case: PreparedCase) -> list[int]:
    return [prod(a.shape) for a in case.launch.args if isinstance(a, Array)]


MAX_PHASES = 12
"""Maximum number of phases that are drawn: the phases of a loop look the same."""

MAX_REQUESTS = 12
"""Maximum number of requests that are drawn."""

STYLE = """
body { font: 16px/1.45 system-ui, "DejaVu Sans", sans-serif; color: #222; margin: 1.5rem auto;
       max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1rem; margin-bottom: .2rem; }
pre, td.source { font: 13px/1.4 "DejaVu Sans Mono", Consolas, monospace; white-space: pre-wrap; }
pre.finding { background: #fff4e5; border-left: 3px solid #d55e00; padding: .5rem .7rem; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th { text-align: left; vertical-align: bottom; border-bottom: 1px solid #222; }
td, th { padding: .1rem .5rem; vertical-align: top; } td.n { text-align: right; }
tr.bad td { background: #fff4e5; }
td.source { min-width: 11rem; } td.margin { color: #8a3a00; padding-bottom: .4rem; }
td.margin div { max-width: calc(100vw - 6rem); }
div.phase { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
figure { margin: .4rem 0; overflow-x: auto; max-width: 100%; } figcaption { max-width: 30rem; }
 figcaption { font-size: 13px; } figcaption.wide { max-width: none; }
"""
COLUMNS = ("", "source", "requests", "sectors", "a request", "passes", "conflicts")


def explain_page(explanation: Explanation) -> bytes:
    """Return the page as UTF-8."""
    html = Element("html", lang="en")
    head = SubElement(html, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "title").text = printable(f"{explanation.file} in pictures")
    SubElement(head, "style").text = STYLE
    body = SubElement(html, "body")
    SubElement(body, "h1").text = printable(f"{explanation.file} in pictures")
    _paragraph(body, _subtitle(explanation))
    _findings(body, explanation.findings)
    _source(body, explanation.lines)
    _requests(body, explanation)
    _phases(body, explanation)
    return f"<!DOCTYPE html>\n{tostring(html, encoding='unicode', method='html')}\n".encode()


def _subtitle(explanation: Explanation) -> str:
    launch = f"{_blocks(explanation.grid)} of {_product(explanation.block)} threads, simulated"
    return (
        f"{explanation.lab}: {explanation.title}. Kernel {explanation.kernel} on the case"
        f" {explanation.case} ({explanation.size}), {launch}."
    )


def _blocks(grid: tuple[int, int, int]) -> str:
    return "1 block" if grid == (1, 1, 1) else f"{_product(grid)} blocks"


def _product(dims: tuple[int, int, int]) -> str:
    used = max((axis + 1 for axis in range(3) if dims[axis] > 1), default=1)
    return " x ".join(str(v) for v in dims[:used])


def _findings(body: Element, findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        SubElement(body, "pre", {"class": "finding"}).text = finding_text(finding, 96).plain


def _source(body: Element, lines: tuple[Line, ...]) -> None:
    SubElement(body, "h2").text = "What each line costs"
    _paragraph(
        body,
        "Counted over the whole launch. Requests: loads and stores of warps to global memory."
        " Sectors: the 32-byte pieces that they move; 4 per request when 32 threads access 32"
        " adjacent floats. Passes: wavefronts through shared memory. Conflicts: the passes that"
        " bank conflicts add.",
    )
    table = SubElement(body, "table")
    head = SubElement(SubElement(table, "thead"), "tr")
    for text in COLUMNS:
        SubElement(head, "th").text = text
    rows = SubElement(table, "tbody")
    for line in lines:
        _row(rows, line)


def _row(rows: Element, line: Line) -> None:
    bad = any(f.severity != "info" for f in line.findings)
    row = SubElement(rows, "tr", {"id": f"L{line.number}", **({"class": "bad"} if bad else {})})
    SubElement(row, "td", {"class": "n"}).text = printable(line.place)
    SubElement(row, "td", {"class": "source"}).text = printable(line.text)
    ratio = f"{line.sectors_per_request:.3g}" if line.requests else ""
    for value in (line.requests, line.sectors, ratio, line.wavefronts, line.conflicts):
        text = f"{value:,}" if isinstance(value, int) else value
        SubElement(row, "td", {"class": "n"}).text = "" if text == "0" else text
    if not line.findings:
        return
    below = SubElement(rows, "tr", {"class": "bad"} if bad else {})
    SubElement(below, "td")
    margin = SubElement(below, "td", {"class": "margin", "colspan": str(len(COLUMNS) - 1)})
    for finding in line.findings:
        text = f"{finding.kind}: {finding.message}"
        text += f" ({finding.hint})" if finding.hint else ""
        SubElement(margin, "div").text = printable(text)


def _requests(body: Element, explanation: Explanation) -> None:
    """Show what one warp moves at each line that accesses global memory."""
    if not explanation.requests:
        return
    SubElement(body, "h2").text = "What one warp moves at once"
    _paragraph(
        body,
        "The lanes of a warp load or store together, and memory moves sectors of 32 bytes. A strip"
        " is a sector, named by its first element; a cell names the lane that uses it, or how many"
        " do (×32). White cells are moved but not used. The pictures show the first execution of"
        f" each line in block {dim3(explanation.shown)}.",
    )
    for request in explanation.requests[:MAX_REQUESTS]:
        figure = SubElement(body, "figure")
        SubElement(figure, "figcaption", {"class": "wide"}).text = printable(
            request_summary(request)
        )
        figure.append(request_svg(request))
    if len(explanation.requests) > MAX_REQUESTS:
        _paragraph(body, f"{len(explanation.requests) - MAX_REQUESTS} more are not drawn.")


def _phases(body: Element, explanation: Explanation) -> None:
    phases = sorted({panel.phase for panel in explanation.panels})
    where = "between its barriers" if any(phases) else "and its accesses"
    SubElement(body, "h2").text = f"Block {dim3(explanation.shown)} {where}"
    if explanation.no_panels_reason:
        _paragraph(body, explanation.no_panels_reason)
        return
    _paragraph(
        body,
        "A cell is an element; it names the thread that accesses it (x,y), or how many do (×16)."
        " Each warp has a color. Hover over a cell to see its threads and lines.",
    )
    for phase in phases[:MAX_PHASES]:
        if any(phases):
            SubElement(body, "h3").text = _phase_name(phase)
        held = SubElement(body, "div", {"class": "phase"})
        for panel in explanation.panels:
            if panel.phase == phase:
                _figure(held, panel, explanation)
    if len(phases) > MAX_PHASES:
        _paragraph(body, f"{len(phases) - MAX_PHASES} more phases are not drawn.")


def _phase_name(phase: int) -> str:
    return "Before the first barrier" if phase == 0 else f"After barrier {phase}"


def _figure(body: Element, panel: Panel, explanation: Explanation) -> None:
    figure = SubElement(body, "figure")
    (top, bottom), (left, right) = panel.rows, panel.columns
    part = f"rows {top} to {bottom}, columns {left} to {right}"
    if max(bottom - top, right - left) >= MAX_SIDE:
        part += f", of which the first {MAX_SIDE} are drawn"
    caption = SubElement(figure, "figcaption")
    SubElement(caption, "b").text = printable(f"{panel.variable}, {panel.access} ({panel.space})")
    SubElement(caption, "span").text = printable(
        f": {panel_counts(panel)}" + ("" if panel.wrapped else f"; {part}")
    )
    figure.append(panel_svg(panel, explanation.block, explanation.named))


def _paragraph(body: Element, text: str) -> None:
    SubElement(body, "p").text = printable(text)
