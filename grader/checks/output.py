"""The output check: every element of every case, against the lab's float64 reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from grader.checks.findings import cure, fold_apart, kernel_line
from grader.checks.mismatch import (
    Cause,
    Mismatch,
    compare,
    element,
    excerpt,
    explain,
    first_wrong,
    number,
)
from grader.checks.result import CaseRun, CheckOptions, Dependency, Evidence, Status, Verdict
from grader.compile.program import Program
from grader.faults import MachineFault
from grader.launch import Finding, LastStore, Localization

STORES = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"


class Options(CheckOptions):
    """The output check takes no options: the bounds come with the reference."""


DEPENDS: Dependency | None = None


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """Every case gives the right result, to the last element.

    A case is right or it is not; each counts the same share of the points.
    """
    localization, program = evidence.localization, evidence.program
    found = {run.case.name: examine(run, program, localization) for run in evidence.runs}
    cases: Mapping[str, Status] = {n: "fail" if found[n] else "pass" for n in found}
    right = sum(status == "pass" for status in cases.values())
    if right and _only_integers_fail(evidence, cases):
        found = {name: tuple(map(_lost_digits, findings)) for name, findings in found.items()}
    return Verdict(
        status="pass" if right == len(cases) else "fail",
        summary=f"{right} of {len(cases)} cases right",
        share=right / len(cases) if cases else 0.0,
        findings=fold_apart(evidence.runs, lambda run: found[run.case.name], cure),
        cases=cases,
    )


def examine(run: CaseRun, program: Program, localization: Localization) -> tuple[Finding, ...]:
    """What is wrong with one case, placed where its first wrong element was stored as far as that
    is known; nothing when it is right.
    """
    trace = run.computed
    if not trace.ended or run.prepared is None:
        kernel = run.prepared.launch.kernel if run.prepared else "the kernel"
        silent = Finding("launch-failure", "error", f"`{kernel}` did not run to its end")
        return trace.errors or (silent,)
    findings = []
    line = stored_at(run, program)
    for index, right in run.prepared.expected.items():
        launch = run.prepared.launch
        name, actual = launch.args[index].name, trace.outputs.get(index)
        if actual is None:
            raise MachineFault(f"the backend gave no contents of {name} back", where=run.case.name)
        blank = trace.unwritten.get(index)
        mismatch = compare(name, actual, right, blank, launch.block)
        if mismatch is not None:
            who = localization.stored.get((run.case.name, index))
            findings.append(placed(describe(mismatch), mismatch, who, program, line))
    return tuple(findings)


def placed(
    finding: Finding, m: Mismatch, who: LastStore | None, program: Program, line: int
) -> Finding:
    """The finding at the store of the mismatch's first wrong element, with its thread and block;
    at `line` where nobody knows who stored it, or it was another element on another backend.
    """
    index = first_wrong(m, 1)[0]
    if who is None or who.line == 0 or who.element != np.ravel_multi_index(index, m.wrong.shape):
        return program.at(finding, line)
    stored = replace(finding, access="write", block=who.block, thread=who.thread)
    return program.at(stored, who.line)


def describe(m: Mismatch) -> Finding:
    """A mismatch as a finding: how many, which pattern, and a few elements; no place yet."""
    missing = int(m.unwritten.sum())
    also = m.count - missing
    of = f"of {m.wrong.size} element{'s' * (m.wrong.size > 1)} of {m.name}"
    head = f"{m.count} {of} {'is' if m.count == 1 else 'are'} wrong"
    if missing:
        head = f"{missing} {of} {'was' if missing == 1 else 'were'} never written"
        head += f" and {also} more {'is' if also == 1 else 'are'} wrong" if also else ""
    cause = explain(m)
    return Finding(
        kind="unwritten-output" if missing else "wrong-output",
        severity="error",
        message=f"{head}{_tail(m, cause)}",
        detail=excerpt(m),
        hint=cause.cure if cause else _cure(missing),
        count=m.count,
        variable=m.name,
    )


def _tail(m: Mismatch, cause: Cause | None) -> str:
    if cause is not None:
        return f": {cause.what}"
    index = first_wrong(m, 1)[0]
    if m.unwritten[index]:
        return f"; the first is {element(m.name, index)}"
    got, right = (number(float(v[index]), m.whole) for v in (m.actual, m.expected))
    allowed = float(m.bound[index])
    within = f" (allowed error {allowed:.2g})" if allowed else ""
    return f"; the first is {element(m.name, index)} = {got}, right is {right}{within}"


def _cure(missing: int) -> str:
    if missing:
        return "every element needs a thread that stores it: check the index and the guard"
    return "work one of these elements out by hand and follow its thread through the kernel"


def stored_at(run: CaseRun, program: Program) -> int:
    """The line that stores to global memory when there is just one, else the kernel's own."""
    stores = [line.line for line in run.trace.lines if line.counters.get(STORES, 0) and line.line]
    if len(stores) == 1:
        return stores[0]
    return kernel_line(run, program)


def _only_integers_fail(evidence: Evidence, cases: Mapping[str, Status]) -> bool:
    """Whether what fails is just the cases whose whole numbers show every lost digit."""
    kinds = {run.case.kind for run in evidence.runs if cases[run.case.name] == "fail"}
    return kinds == {"integer"} and any(run.case.kind != "integer" for run in evidence.runs)


def _lost_digits(finding: Finding) -> Finding:
    if finding.kind != "wrong-output":
        return finding
    return replace(
        finding,
        hint="only whole-number inputs come out wrong, so digits are lost on the way: keep every "
        "operand and the sum in float, not in a narrower type",
    )
