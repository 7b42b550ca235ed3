"""Errors of a run with the lines that their place's values and conditions come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.check.result import Result
from grader.compile.origins import Flow, read_flow
from grader.compile.program import Program
from grader.launch import Finding, Origin

TRACED = frozenset(
    {"race", "invalid-access", "uninitialized-read", "barrier-divergence", "launch-failure",
     "timeout", "wrong-output", "unwritten-output", "uncoalesced"}
)  # fmt: skip
"""Kinds whose line shows the harm; what is wrong may be a line that this one depends on."""


BLAMED = TRACED - {"launch-failure", "timeout", "uncoalesced"}
"""Kinds that the change of a line which makes every case right does away with."""

LONGEST = 60
"""Letters of a line at fault that are repeated."""


def with_origins(
    results: Sequence[Result], program: Program, at_fault: Sequence[int] = ()
) -> tuple[Result, ...]:
    """The results, each error of a traced kind with its origins in the source: the lines at fault
    where trials told them, else what its place depends on."""
    if not any(_is_traced(finding) for result in results for finding in result.findings):
        return tuple(results)
    flow = read_flow(program.source)

    def traced(finding: Finding) -> Finding:
        if at_fault and finding.severity == "error" and finding.kind in BLAMED:
            return _at_fault(finding, at_fault, program)
        return _traced(finding, flow)

    return tuple(replace(r, findings=tuple(map(traced, r.findings))) for r in results)


def _at_fault(finding: Finding, lines: Sequence[int], program: Program) -> Finding:
    """The finding with the lines of which a change alone makes every public case right."""
    if len(lines) == 1:
        text = program.text(lines[0])
        shown = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
        said = f"look at line {lines[0]}, `{shown}`: a small change there"
    else:
        *rest, last = map(str, sorted(lines))
        said = f"look at lines {', '.join(rest)} and {last}: a small change of one of them"
    said += " alone makes every public case right"
    hint = f"{finding.hint}; {said}" if finding.hint else said
    return replace(finding, hint=hint, origins=tuple(Origin("", line) for line in lines))


def _is_traced(finding: Finding) -> bool:
    return finding.severity == "error" and finding.kind in TRACED and finding.line > 0


def _traced(finding: Finding, flow: Flow) -> Finding:
    """Of a hazard both places count; neither is told as the other's origin."""
    if not _is_traced(finding):
        return finding
    places = {finding.line, finding.other.line if finding.other else finding.line} - {0}
    unwritten = finding.variable if finding.kind == "uninitialized-read" else ""
    return replace(finding, origins=flow.origins(places, unwritten))
