"""Errors of a run with the lines that their place's values and conditions come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.check.result import Result
from grader.compile.origins import Flow, read_flow
from grader.launch import Finding

TRACED = frozenset(
    {"race", "invalid-access", "uninitialized-read", "barrier-divergence", "launch-failure",
     "timeout", "wrong-output", "unwritten-output", "uncoalesced"}
)  # fmt: skip
"""Kinds whose line shows the harm; what is wrong may be a line that this one depends on."""


def with_origins(results: Sequence[Result], source: str) -> tuple[Result, ...]:
    """The results, each error of a traced kind with its origins in the source."""
    if not any(_is_traced(finding) for result in results for finding in result.findings):
        return tuple(results)
    flow = read_flow(source)
    return tuple(
        replace(result, findings=tuple(_traced(f, flow) for f in result.findings))
        for result in results
    )


def _is_traced(finding: Finding) -> bool:
    return finding.severity == "error" and finding.kind in TRACED and finding.line > 0


def _traced(finding: Finding, flow: Flow) -> Finding:
    """Of a hazard both places count; neither is told as the other's origin."""
    if not _is_traced(finding):
        return finding
    places = {finding.line, finding.other.line if finding.other else finding.line} - {0}
    unwritten = finding.variable if finding.kind == "uninitialized-read" else ""
    return replace(finding, origins=flow.origins(places, unwritten))
