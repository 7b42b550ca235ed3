"""Errors of a run with the lines that their place's values and conditions come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from grader.check.result import Result
from grader.compile.origins import MOST, Flow, read_flow
from grader.compile.program import Program
from grader.launch import Finding, Origin

TRACED = frozenset(
    {"race", "invalid-access", "uninitialized-read", "barrier-divergence", "launch-failure",
     "timeout", "wrong-output", "unwritten-output", "uncoalesced"}
)  # fmt: skip
"""Kinds whose line shows the harm; what is wrong may be a line that this one depends on."""

BLAMED = TRACED - {"launch-failure", "timeout", "uncoalesced"}
"""Kinds that the change of a line which makes every case right does away with."""

MISUSED = frozenset({"invalid-access", "uninitialized-read", "race"})
"""Kinds that may be about the array as it is declared, or cut in parts."""

BY_HAND = "out by hand"
"""What the cure of a wrong output says when nothing better is known."""

BETWEEN = "no barrier orders them: put"
"""How the cure of a race starts that names the two lines a barrier belongs between: it is known
what is wrong, and no other line has a part in it."""

NOBODY: Mapping[str, Sequence[int]] = MappingProxyType({})

GUARDED = frozenset({"invalid-access", "unwritten-output"})
"""Kinds that are about whether a line runs as much as about its names."""

LONGEST = 60
"""Letters of a line at fault that are repeated."""


def with_origins(
    results: Sequence[Result],
    program: Program,
    at_fault: Mapping[str, Sequence[int]] = NOBODY,
    extents: Collection[int] = (),
) -> tuple[Result, ...]:
    """The results, each error of a traced kind with its origins in the source: the lines `at_fault`
    where trials told them of one of its cases, else what its place depends on, with a size first
    that is one off a block's `extents`."""
    if not any(_is_traced(finding) for result in results for finding in result.findings):
        return tuple(results)
    flow = read_flow(program.source)

    def traced(finding: Finding) -> Finding:
        lines = next((at_fault[name] for name in finding.cases if at_fault.get(name)), ())
        if lines and finding.severity == "error" and finding.kind in BLAMED:
            return _at_fault(finding, lines, flow, program)
        return _traced(finding, flow, extents)

    return tuple(replace(r, findings=tuple(map(traced, r.findings))) for r in results)


def _at_fault(finding: Finding, lines: Sequence[int], flow: Flow, program: Program) -> Finding:
    """The finding with the lines of which a change alone makes every public case right, and the
    sizes that stand on them."""
    if len(lines) == 1:
        text = program.text(lines[0])
        shown = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
        said = f"look at line {lines[0]}, `{shown}`: a small change there"
    else:
        *rest, last = map(str, sorted(lines))
        said = f"look at lines {', '.join(rest)} and {last}: a small change of one of them"
    said += " alone makes every public case right"
    known = finding.hint if BY_HAND not in finding.hint else ""
    hint = f"{known}; {said}" if known else said
    sizes = flow.numbers_on(lines)[: MOST - len(lines)]
    origins = (*(Origin("", line) for line in lines), *sizes)
    return replace(finding, hint=hint, origins=origins)


def _is_traced(finding: Finding) -> bool:
    if finding.severity != "error" or finding.hint.startswith(BETWEEN):
        return False
    return finding.kind in TRACED and finding.line > 0


def _traced(finding: Finding, flow: Flow, extents: Collection[int]) -> Finding:
    """Of a hazard both places count; neither is told as the other's origin. What strays from an
    array, or finds it empty, may be the fault of its declaration."""
    if not _is_traced(finding):
        return finding
    places = {finding.line, finding.other.line if finding.other else finding.line} - {0}
    unwritten = finding.variable if finding.kind == "uninitialized-read" else ""
    held = finding.space in ("shared", "local") and finding.kind in MISUSED
    first = flow.declared(finding.variable, places) if held else ()
    first = (*first, *flow.beside(extents), *flow.settled)
    return replace(
        finding, origins=flow.origins(places, unwritten, first, guarded=finding.kind in GUARDED)
    )
