"""Fold findings, trace them to their origins, and turn them into a verdict.

Findings of many cases become one list: those with the same key are folded, and public and hidden
cases stay apart. Errors then get origins: the source lines that their line's values and conditions
depend on. `sync` and `memory` fail on any error of their kinds (`evaluate_findings`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from grader.checks.result import CaseRun, Evidence, Result, Verdict
from grader.compile.dataflow import MAX_ORIGINS, DataFlow, read_dataflow
from grader.compile.program import Program
from grader.launch import Finding, Origin

MAX_FINDINGS = 20
"""Findings reported per check, at most; the others repeat the same mistake in other places."""

Key = tuple[str | int, ...]

_SEVERITY = {"error": 0, "warning": 1, "info": 2}


def location_key(finding: Finding) -> Key:
    """Return the key of findings that are the same: kind, place in the source, kind of access."""
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


def mistake_key(finding: Finding) -> Key:
    """Return the key of wrong outputs that share a mistake: the output and the likely cause."""
    return (finding.kind, finding.variable, finding.line, finding.hint)


def fold(
    findings: Iterable[Finding], key: Callable[[Finding], Key] = location_key
) -> tuple[Finding, ...]:
    """Fold findings with the same key into the first, with the sum of counts and all cases."""
    folded: dict[Key, Finding] = {}
    for finding in findings:
        first = folded.get(key(finding))
        if first is None:
            folded[key(finding)] = finding
            continue
        cases = first.cases + tuple(c for c in finding.cases if c not in first.cases)
        folded[key(finding)] = replace(first, count=first.count + finding.count, cases=cases)
    ranked = sorted(folded.values(), key=lambda f: _SEVERITY[f.severity])
    return tuple(ranked[:MAX_FINDINGS])


def fold_by_visibility(
    runs: Iterable[CaseRun],
    select: Callable[[CaseRun], Iterable[Finding]],
    key: Callable[[Finding], Key] = location_key,
) -> tuple[Finding, ...]:
    """Fold the findings that `select` returns for each case, each with the names of its cases.

    Public and hidden cases are folded separately: a finding that a student reads holds nothing of
    a hidden case.
    """
    findings: dict[str, list[Finding]] = {"public": [], "hidden": []}
    for run in runs:
        findings[run.case.visibility] += [replace(f, cases=(run.case.name,)) for f in select(run)]
    return fold(findings["public"], key) + fold(findings["hidden"], key)


def findings_of_kinds(runs: Iterable[CaseRun], kinds: Collection[str]) -> tuple[Finding, ...]:
    """Return the backend's findings of these kinds in all cases, folded."""
    return fold_by_visibility(runs, lambda run: [f for f in run.findings if f.kind in kinds])


def kernel_line(run: CaseRun, program: Program) -> int:
    """Return the line of the launched kernel's definition, 0 when it is unknown."""
    kernel = program.kernel(run.prepared.launch.kernel) if run.prepared else None
    return kernel.line if kernel else 0


KINDS_WITH_ORIGINS = frozenset(
    {"race", "lost-update", "invalid-access", "uninitialized-read", "barrier-divergence",
     "launch-failure", "timeout", "wrong-output", "unwritten-output", "uncoalesced"}
)  # fmt: skip
"""Kinds whose line shows the effect; the mistake may be on a line that this one depends on."""

LOCALIZED_KINDS = KINDS_WITH_ORIGINS - {"launch-failure", "timeout", "uncoalesced"}
"""Kinds that disappear when the fault line is fixed."""

ARRAY_KINDS = frozenset({"invalid-access", "uninitialized-read", "race"})
"""Kinds that may be caused by an array's declaration or its division into parts."""

NO_PATTERN_HINT = "by hand"
"""A part of a wrong output's hint when no pattern explains it."""

MISSING_BARRIER = re.compile(r"(?:^|[.:] )[Pp]ut .*\b(?:__sync\w+|barrier)")
"""Matches the hint of a race that says where a barrier is missing: the fix is known, and no other
line is involved."""

NO_LINES: Mapping[str, Sequence[int]] = MappingProxyType({})

GUARD_KINDS = frozenset({"invalid-access", "unwritten-output"})
"""Kinds that depend on the conditions under which a line runs, as well as on its operands."""

LINE_CHARACTERS = 60
"""Characters of a fault line that a hint shows, at most."""


def with_origins(
    results: Sequence[Result],
    program: Program,
    at_fault: Mapping[str, Sequence[int]] = NO_LINES,
    extents: Collection[int] = (),
) -> tuple[Result, ...]:
    """Add to each error its origins in the source.

    Args:
        results: the results of a grade's checks.
        program: the submission.
        at_fault: by case name, the lines whose change alone makes every public case right, where
            fault localization found them. Without any, the origins are what the error's line
            depends on.
        extents: the block extents; a size that differs by one from an extent comes first.
    """
    if not any(_needs_origins(finding) for result in results for finding in result.findings):
        return tuple(results)
    flow = read_dataflow(program.source)

    def traced(finding: Finding) -> Finding:
        lines = next((at_fault[name] for name in finding.cases if at_fault.get(name)), ())
        if lines and finding.severity == "error" and finding.kind in LOCALIZED_KINDS:
            return _with_fault_lines(finding, lines, flow, program)
        return _with_traced_origins(finding, flow, extents)

    return tuple(replace(r, findings=tuple(map(traced, r.findings))) for r in results)


def _with_fault_lines(
    finding: Finding, lines: Sequence[int], flow: DataFlow, program: Program
) -> Finding:
    """Add the fault lines, and the sizes that they contain, to a finding."""
    if len(lines) == 1:
        text = program.text(lines[0])
        shown = text if len(text) <= LINE_CHARACTERS else text[: LINE_CHARACTERS - 3] + "..."
        fix = f"Look at line {lines[0]}, `{shown}`: a small change there"
    else:
        *rest, last = map(str, sorted(lines))
        fix = f"Look at lines {', '.join(rest)} and {last}: a small change of one of them"
    fix += " alone makes every public case right."
    known = finding.hint if NO_PATTERN_HINT not in finding.hint else ""
    hint = f"{known.rstrip('.')}. {fix}" if known else fix
    sizes = flow.numeric_macros_on(lines)[: MAX_ORIGINS - len(lines)]
    origins = (*(Origin("", line) for line in lines), *sizes)
    return replace(finding, hint=hint, origins=origins)


def _needs_origins(finding: Finding) -> bool:
    if finding.severity != "error" or MISSING_BARRIER.search(finding.hint):
        return False
    return finding.kind in KINDS_WITH_ORIGINS and finding.line > 0


def _with_traced_origins(finding: Finding, flow: DataFlow, extents: Collection[int]) -> Finding:
    """Add the lines that a finding's line depends on.

    A hazard has two lines; neither is reported as the other's origin. An access outside an array,
    or to unwritten elements, may be caused by the array's declaration: that comes first.
    """
    if not _needs_origins(finding):
        return finding
    places = {finding.line, finding.other.line if finding.other else finding.line} - {0}
    unwritten = finding.variable if finding.kind == "uninitialized-read" else ""
    declared = finding.space in ("shared", "local") and finding.kind in ARRAY_KINDS
    first = flow.declared(finding.variable, places) if declared else ()
    first = (*first, *flow.off_by_one_sizes(extents), *flow.constant_conditions)
    return replace(
        finding, origins=flow.origins(places, unwritten, first, guarded=finding.kind in GUARD_KINDS)
    )


def evaluate_findings(evidence: Evidence, kinds: Collection[str], clean: str) -> Verdict:
    """Fail if any case has an error of `kinds` or did not run to its end; else pass.

    Args:
        evidence: the runs to evaluate.
        kinds: the kinds of findings of this check.
        clean: the summary of a pass.
    """
    runs = [run for run in evidence.all_runs if run.launched]
    findings = findings_of_kinds(runs, kinds)
    total = len(runs)
    failed = [r for r in runs if any(f.kind in kinds for f in r.errors)]
    if failed:
        detected = {f.kind for r in failed for f in r.errors}
        names = ", ".join(kind for kind in kinds if kind in detected)
        return Verdict("fail", f"{names} in {len(failed)} of {total} cases", findings=findings)
    stopped = sum(not run.trace.ended for run in runs)
    if stopped or not total:
        summary = f"{stopped} of {total} cases did not run to the end"
        return Verdict("fail", summary, findings=findings)
    return Verdict("pass", clean, share=1.0, findings=findings)
