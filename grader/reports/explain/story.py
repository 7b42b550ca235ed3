"""A student's file and a lab -> a Story: compile, choose a case, launch it with a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

from grader.checks.traffic import line_hints
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import LabFault, closest_match
from grader.grading.cases import RunOptions, ready_cases, run_derivations
from grader.grading.run import run_all
from grader.labs.model import Lab, PreparedCase
from grader.launch import Array, Dim3, Finding, Launch, Trace
from grader.reports.explain.accesses import Panel, panels, touches
from grader.reports.explain.requests import Request, requests
from grader.submissions.files import Submission

# All that a page tells of one kernel on one case: pure values, made from its trace.

_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
FIRST: Dim3 = (0, 0, 0)


@dataclass(frozen=True)
class Line:
    """One line of the source with what it costs in the whole launch: requests of warps to global
    memory and the 32-byte sectors that they move, passes through shared memory and those among
    them that bank conflicts add; and the findings that name the line.
    """

    number: int
    text: str
    requests: int = 0
    sectors: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def sectors_per_request(self) -> float:
        return self.sectors / self.requests if self.requests else 0.0


@dataclass(frozen=True)
class Story:
    """One launch: the kernel's file, its case and geometry, the panels and each line's first
    request of one block, the source's lines, findings that name no line, and why there are no
    panels where there are none.
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
    lacking: str = ""


def tell(
    lab: str, title: str, file: str, source: str, launch: Launch, size: str, trace: Trace
) -> Story:
    """The story of one traced launch, with pictures of block (0,0,0)."""
    traced = trace.accesses is not None
    seen = touches(trace, FIRST) if traced else ()
    lines = source_lines(source, trace)
    placed = {f for line in lines for f in line.findings}
    return Story(
        lab, title, file, launch.kernel, launch.name, size, launch.grid, launch.block, FIRST,
        panels(seen, launch),
        requests(seen, launch),
        lines,
        tuple(f for f in trace.findings if f not in placed),
        "" if traced else "the kernel did not end, so there is no picture of its accesses",
    )  # fmt: skip


def source_lines(source: str, trace: Trace) -> tuple[Line, ...]:
    """Every line of the source with its counters and findings. Lines are the compiler's: a form
    feed ends none.
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


ENOUGH = 256
"""Elements of an array that make a picture worth looking at."""


def explain(
    lab: Lab,
    submission: Submission,
    how: RunOptions,
    case: str = "",
    announce: Callable[[str, int, int], None] = lambda step, number, steps: None,
) -> Story:
    """The story of the submission on a public case: the one that is named, else the smallest that
    fills a block.

    Raises StudentFault when it does not compile or lacks the kernel, LabFault when there is no
    such case or it is too large for a table of accesses, MachineFault.
    """
    announce("compile", 1, 2)
    program = compile_source(submission.data, submission.name)
    announce("run", 2, 2)
    chosen = smallest(launchable(lab, program, how, case))
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
    return tell(
        lab.name, lab.title, submission.name, program.source, chosen.launch, chosen.case.size, trace
    )


def launchable(lab: Lab, program: Program, how: RunOptions, name: str) -> tuple[PreparedCase, ...]:
    """The public cases that can be launched, or the one named. Raises LabFault."""
    public = [c for c in lab.cases if c.visibility == "public" and name in ("", c.name)]
    if not public:
        known = [c.name for c in lab.cases if c.visibility == "public"]
        near = closest_match(name, known)
        guess = f"did you mean {near}? " if near else ""
        what = f"{lab.name} has no public case `{name}`"
        raise LabFault(what, fix=f"{guess}cases: {', '.join(known)}")
    asked = run_derivations(lab, program, how) if any(c.derived for c in public) else {}
    ready = ready_cases(lab, public, how, asked)
    if not ready:
        what = (
            f"the case {public[0].name} is launched with a number of the kernel's, which is wrong"
        )
        raise LabFault(what, fix=f"grader check {lab.name} {program.file}")
    return ready


def smallest(cases: tuple[PreparedCase, ...]) -> PreparedCase:
    """The case with the fewest array elements among those whose every array has an element for
    each thread of a block, or ENOUGH; the largest case when none has.
    """
    full = [c for c in cases if min(_sizes(c)) >= min(prod(c.launch.block), ENOUGH)]
    return min(full, key=_size) if full else max(cases, key=_size)


def _size(case: PreparedCase) -> int:
    return sum(_sizes(case))


def _sizes(case: PreparedCase) -> list[int]:
    return [prod(a.shape) for a in case.launch.args if isinstance(a, Array)]
