"""The explanation of a kernel on one case: its panels, requests and the cost of each line.

`explain_submission` compiles a student's file, chooses a case and launches it with an access table.
`explain_launch` turns the traced launch into an Explanation: plain values that `page` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

from grader import dataclass, replace
from grader.checks.traffic import line_hints
from grader.compile.program import Program
from grader.faults import LabFault, closest_match
from grader.grading.cases import RunOptions, prepare_cases, run_derivations
from grader.grading.pipeline import compile_submission
from grader.grading.run import run_all
from grader.labs.model import Lab, PreparedCase
from grader.launch import Array, Dim3, Finding, Launch, Trace
from grader.reports.explain.accesses import (
    Panel,
    panels,
    thread_accesses,
)
from grader.reports.explain.requests import Request, requests
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
    places: Sequence[tuple[str, int]] = (), phases: int | None = None,
) -> Explanation:  # fmt: skip
    """Explain one traced launch, with pictures of block (0,0,0).

    `places` are those of `source_places`. With `phases`, there are panels of so many phases.
    """
    traced = trace.accesses is not None
    accesses = thread_accesses(trace, FIRST_BLOCK, phases) if traced else ()
    own = partial(in_own_files, places=places, name=file)
    rows = source_lines(source, trace)
    placed = {f for row in rows for f in row.findings}
    lines = tuple(
        replace(row, findings=own(row.findings), place=_place(row.number, places, file))
        for row in rows
    )
    return Explanation(
        lab, title, file, launch.kernel, launch.name, size, launch.grid, launch.block, FIRST_BLOCK,
        panels([a for a in accesses if phases is None or a.phase < phases], launch),
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
    phases: int | None = None,
) -> Explanation:
    """Explain a submission on a public case: the named one, or the smallest that fills a block.

    With `phases`, only the first phases between barriers are explained, which takes less time.

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
        trace, source_places(submission.text, submission.name), phases,
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
