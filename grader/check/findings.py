"""Findings of many cases as one list: alike ones folded, the public cases' details kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from grader.check.result import CaseRun
from grader.compile.program import Program
from grader.launch import Finding

SHOWN = 20
"""At most so many findings a check are told; the rest repeat them in other places."""

Key = tuple[str | int, ...]

_SEVERITY = {"error": 0, "warning": 1, "info": 2}


def place(finding: Finding) -> Key:
    """What makes two findings the same one: its kind and where in the source it is."""
    other = finding.other.line if finding.other else 0
    return (
        finding.kind,
        finding.severity,
        finding.file,
        finding.line,
        finding.column,
        finding.space,
        finding.hazard,
        finding.access,
        finding.variable,
        other,
    )


def cure(finding: Finding) -> Key:
    """What makes two wrong outputs the same mistake: the output and the likely cause."""
    return (finding.kind, finding.variable, finding.line, finding.hint)


def fold(findings: Iterable[Finding], key: Callable[[Finding], Key] = place) -> tuple[Finding, ...]:
    """Findings with one key become one: the first one's words, all counts and all cases."""
    folded: dict[Key, Finding] = {}
    for finding in findings:
        first = folded.get(key(finding))
        if first is None:
            folded[key(finding)] = finding
            continue
        cases = first.cases + tuple(c for c in finding.cases if c not in first.cases)
        folded[key(finding)] = replace(first, count=first.count + finding.count, cases=cases)
    ranked = sorted(folded.values(), key=lambda f: _SEVERITY[f.severity])
    return tuple(ranked[:SHOWN])


def fold_apart(
    runs: Iterable[CaseRun],
    of: Callable[[CaseRun], Iterable[Finding]],
    key: Callable[[Finding], Key] = place,
) -> tuple[Finding, ...]:
    """The findings `of` every case, each with the names of its cases. Public and hidden cases
    fold apart, so that nothing of a hidden case stands in a finding that a student may read."""
    seen: dict[str, list[Finding]] = {"public": [], "hidden": []}
    for run in runs:
        seen[run.case.visibility] += [replace(f, cases=(run.case.name,)) for f in of(run)]
    return fold(seen["public"], key) + fold(seen["hidden"], key)


def of_kinds(runs: Iterable[CaseRun], kinds: Collection[str]) -> tuple[Finding, ...]:
    """The findings of some kinds that the backend made in any case."""
    return fold_apart(runs, lambda run: [f for f in run.findings if f.kind in kinds])


def kernel_line(run: CaseRun, program: Program) -> int:
    """The line of the launched kernel's definition, 0 when it is not known."""
    kernel = program.kernel(run.prepared.launch.kernel) if run.prepared else None
    return kernel.line if kernel else 0
