"""Fold findings, trace them to their origins, and turn them and limits into a verdict.

Findings of many cases become one list: those with the same key are folded, and public and hidden
cases stay apart. Errors then get origins: the source lines that their line's values and conditions
depend on. `sync` and `memory` fail on any error of their kinds (`evaluate_findings`), `traffic` and
`resources` on any limit that a case exceeds (`evaluate_cases`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from grader import dataclass, regex, replace
from grader.checks.result import CaseRun, Evidence, Result, Verdict
from grader.compile.dataflow import MAX_ORIGINS, DataFlow, read_dataflow
from grader.compile.program import Program
from grader.launch import Finding, Origin, Trace

MAX_FINDINGS = 20
"""Findings reported per check, at most; the others repeat the same mistake in other places."""

BUSIEST_THREAD = "ptx__thread_inst_executed.max"
THREAD_INSTRUCTIONS = "ptx__thread_inst_executed.sum"
PLACED_BYTES = "ptx__placed_bytes_mem_global_op_st.sum"
MAX_UNEVENNESS = 5.0
"""The busiest thread over the mean thread, at most, relative to the baseline's."""

SLACK = 100
"""Instructions that any thread may execute beyond its share: guards, indices, one short loop."""

WRONG_OUTPUT = "not evaluated: the output of the measured case is wrong"

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

MISSING_BARRIER = regex(r"(?:^|[.:] )[Pp]ut .*\b(?:__sync\w+|barrier)")
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


@dataclass(frozen=True)
class LimitResult:
    """One limit in one case: what was measured, and the finding when the limit is exceeded."""

    summary: str
    measured: Mapping[str, float]
    fault: Finding | None = None
    line: int = 0


def evaluate_cases(
    evidence: Evidence,
    limits: Callable[[CaseRun], Sequence[LimitResult]],
    hints: Callable[[CaseRun, bool], Iterable[Finding]] = lambda run, failed: (),
) -> Verdict:
    """Evaluate the limits in every case with right output.

    Every case counts, hidden ones too: a kernel that is efficient at one size only exceeds its
    limits at the others. A limit that is exceeded in any case costs all points. A case whose output
    is wrong is not measured; it stays in what the check is out of and earns nothing, and the
    largest public case has to be right. Summary and measurements are those of the largest case;
    findings name their cases.

    Args:
        evidence: the runs.
        limits: returns the results of all limits in one case.
        hints: returns further findings on the largest case; the flag says whether the check fails.
    """
    main = evidence.largest
    if main is None or not evidence.is_sound(main):
        return Verdict("blocked", WRONG_OUTPUT)
    results = {run.case.name: limits(run) for run in evidence.measured if evidence.is_sound(run)}
    right = [run for run in evidence.measured if run.case.name in results]

    def faults(run: CaseRun) -> list[Finding]:
        parts = results[run.case.name]
        return [evidence.program.at(p.fault, p.line) for p in parts if p.fault]

    findings = fold_by_visibility(right, faults)
    reported = {(fault.kind, fault.line) for fault in findings}
    further = [
        replace(hint, cases=(main.case.name,))
        for hint in hints(main, bool(findings))
        if (hint.kind, hint.line) not in reported
    ]
    parts = results[main.case.name]
    wrong = len(evidence.measured) - len(right)
    return Verdict(
        status="fail" if findings or wrong else "pass",
        summary=_summary(parts, findings, evidence, wrong),
        share=0.0 if findings else len(right) / len(evidence.measured),
        findings=(*findings, *further),
        measurements={name: value for part in parts for name, value in part.measured.items()},
        measured_on=main.case.name,
    )


def _summary(
    parts: Sequence[LimitResult], findings: Sequence[Finding], evidence: Evidence, wrong: int
) -> str:
    """Summarize the largest case. Of the other cases it says only how many there are."""
    text = "; ".join(part.summary for part in parts if part.summary) or "no limit set"
    failed = {name for finding in findings for name in finding.cases}
    if failed and not any(part.fault for part in parts):
        text += f"; a limit is exceeded in {len(failed)} of {len(evidence.measured)} cases"
    if wrong:
        text += f"; the output is wrong in {wrong} of {len(evidence.measured)} cases"
    return text


def spread_work(most: float | None, run: CaseRun, evidence: Evidence) -> LimitResult | None:
    """Require that no thread does more than its share of the work.

    The yardstick is the baseline: its busiest thread, and how far that is above its mean thread. A
    share therefore does not grow when other threads execute instructions that compute nothing.
    """
    counters = run.trace.counters
    if most is None or run.prepared is None or BUSIEST_THREAD not in counters:
        return None
    base = evidence.baseline.get(run.case.name)
    if base is None and run is not evidence.largest:
        return None
    threads, busiest = run.threads, counters[BUSIEST_THREAD]
    mean = counters[THREAD_INSTRUCTIONS] / threads
    uneven = MAX_UNEVENNESS * _unevenness(base, evidence.baseline_threads(run))
    allowed = uneven * mean
    if base is not None:
        scale = max(1.0, evidence.baseline_threads(run) / threads)
        allowed = min(allowed, most * base.counters.get(BUSIEST_THREAD, 0) * scale)
    allowed += SLACK
    measured = {"busiest_thread_instructions": busiest, "mean_thread_instructions": round(mean, 2)}
    if busiest <= allowed:
        return LimitResult("", measured)
    if busiest <= uneven * mean:  # the threads share the work, and there is too much of it
        what = f"the busiest thread executes {busiest:,.0f} instructions, as others do"
        hint = "let each thread compute its own elements only, and each value only once"
        summary = "each thread does more than its share of the work"
    else:
        what = (
            f"the busiest thread executes {busiest:,.0f} instructions, and a thread of this launch "
            f"executes {mean:,.0f} on average"
        )
        hint = (
            "let all threads of all blocks work: compute each thread's elements from blockIdx and "
            "threadIdx"
        )
        summary = "the work is not spread over the threads of the launch"
    message = f"{what}; this lab allows {allowed:,.0f}"
    fault = Finding("missing-feature", "error", message, hint=hint)
    kernel = evidence.program.kernel(run.prepared.launch.kernel)
    return LimitResult(summary, measured, fault, kernel.line if kernel else 0)


def _unevenness(base: Trace | None, threads: int) -> float:
    """Return the baseline's busiest thread over its mean thread; 1 without a baseline."""
    total = base.counters.get(THREAD_INSTRUCTIONS, 0) if base else 0
    return base.counters[BUSIEST_THREAD] * threads / total if base and total else 1.0


def limit_stored_bytes(most: float | None, run: CaseRun, evidence: Evidence) -> LimitResult | None:
    """Require that threads do not keep their own values in global memory."""
    base = evidence.baseline.get(run.case.name)
    if most is None or base is None or PLACED_BYTES not in run.trace.counters:
        return None
    stored, naive = run.trace.counters[PLACED_BYTES], base.counters.get(PLACED_BYTES, 0)
    measured = {"global_stored_bytes": stored, "baseline_stored_bytes": naive}
    if stored <= most * naive:
        return LimitResult("", measured)
    message = (
        f"threads store {stored:,.0f} bytes in different places of global memory, the baseline "
        f"{naive:,.0f}: values are kept there that belong in registers"
    )
    hint = "keep each thread's values in variables, and store only results"
    fault = Finding("missing-feature", "error", message, hint=hint)
    return LimitResult(message, measured, fault, kernel_line(run, evidence.program))
