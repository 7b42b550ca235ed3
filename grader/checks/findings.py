"""What `sync` and `memory` share: errors of some kinds, in any case, fail the check."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from grader.checks.result import CaseRun, Evidence, Result, Verdict
from grader.compile.origins import MOST, Flow, read_flow
from grader.compile.program import Program
from grader.launch import Finding, Origin

# Findings of many cases as one list: alike ones folded, the public cases' details kept.

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
    fold apart, so that nothing of a hidden case stands in a finding that a student may read.
    """
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


# Errors of a run with the lines that their place's values and conditions come from.

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
    that is one off a block's `extents`.
    """
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
    sizes that stand on them.
    """
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
    array, or finds it empty, may be the fault of its declaration.
    """
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


def watched(evidence: Evidence, kinds: Collection[str], clean: str) -> Verdict:
    """`fail` with the findings when any case drew an error of `kinds`, or did not run to its end
    (nothing then shows that the rest of it is sound); else `pass`, with what is worth a warning.
    """
    runs = [run for run in evidence.watched if run.launched]
    findings = of_kinds(runs, kinds)
    total = len(runs)
    struck = [r for r in runs if any(f.kind in kinds for f in r.errors)]
    if struck:
        seen = {f.kind for r in struck for f in r.errors}
        found = ", ".join(kind for kind in kinds if kind in seen)
        return Verdict("fail", f"{found} in {len(struck)} of {total} cases", findings=findings)
    stopped = sum(not run.trace.ended for run in runs)
    if stopped or not total:
        what = f"{stopped} of {total} cases did not run to the end: cannot be judged clean"
        return Verdict("fail", what, findings=findings)
    return Verdict("pass", clean, share=1.0, findings=findings)
