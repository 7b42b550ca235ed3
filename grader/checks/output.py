"""The output check: every element of every case, against the lab's float64 reference."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from grader import dataclass, regex, replace
from grader.checks.findings import fold_by_visibility, kernel_line, mistake_key
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
from grader.launch import Finding
from grader.simulator.exchange import LastStore, Localization

STORES = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
_LOCKS = regex(r"\batomic(?:CAS|Exch)|\b(?:compare_)?exchange|\btest_and_set|\bacquire\s*\(")
"""What may take a lock."""


@dataclass(frozen=True)
class Options(CheckOptions):
    """The output check takes no options: the bounds come with the reference."""


DEPENDS: Dependency | None = None


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """Every case produces the expected output, to the last element.

    Each case is right or wrong as a whole and earns the same share of the points.
    """
    localization, program = evidence.localization, evidence.program
    findings = {run.case.name: examine(run, program, localization) for run in evidence.runs}
    cases: Mapping[str, Status] = {n: "fail" if findings[n] else "pass" for n in findings}
    right = sum(status == "pass" for status in cases.values())
    if right and _only_integers_fail(evidence, cases):
        findings = {n: tuple(map(_with_precision_hint, f)) for n, f in findings.items()}
    return Verdict(
        status="pass" if right == len(cases) else "fail",
        summary=f"{right} of {len(cases)} cases right",
        share=right / len(cases) if cases else 0.0,
        findings=fold_by_visibility(
            evidence.runs, lambda run: findings[run.case.name], mistake_key
        ),
        cases=cases,
    )


def examine(run: CaseRun, program: Program, localization: Localization) -> tuple[Finding, ...]:
    """Return the findings of one case, none when it is right.

    A finding is placed at the store of its first wrong element, as far as that is known.
    """
    trace = run.computed
    if not trace.ended or run.prepared is None:
        kernel = run.prepared.launch.kernel if run.prepared else "the kernel"
        failure = Finding("launch-failure", "error", f"`{kernel}` did not run to its end")
        return trace.errors or (failure,)
    findings = []
    line = store_line(run, program)
    for index, right in run.prepared.expected.items():
        launch = run.prepared.launch
        name, actual = launch.args[index].name, trace.outputs.get(index)
        if actual is None:
            raise MachineFault(f"the backend returned no contents of {name}", where=run.case.name)
        blank = trace.unwritten.get(index)
        mismatch = compare(name, actual, right, blank, launch.block)
        if mismatch is not None:
            stored = localization.stored.get((run.case.name, index))
            findings.append(at_store(describe(mismatch), mismatch, stored, program, line))
        elif (other := run.trace.others.get(index)) is not None:
            differs = compare(name, other, right, None, launch.block)
            locks = _LOCKS.search(program.source) is not None
            found = [of_another_order(differs, locks=locks)] if differs else []
            findings += [program.at(finding, line) for finding in found]
    return tuple(findings)


def of_another_order(m: Mismatch, *, locks: bool = False) -> Finding:
    """Describe a mismatch that an output has in another order of blocks, warps or lanes only.

    Args:
        m: the mismatch.
        locks: whether the program may have locks.
    """
    elements = f"{m.count} of {m.wrong.size} element{'s' * (m.wrong.size > 1)} of {m.name}"
    return Finding(
        kind="order-dependent",
        severity="error",
        message=f"{elements} {'is' if m.count == 1 else 'are'} wrong where blocks, warps "
        f"or lanes run in another order, which CUDA allows{_message_tail(m, None)}",
        detail=excerpt(m),
        hint="Blocks, warps and the lanes of a warp run in any order. Put __syncthreads(), or "
        "__syncwarp(), before reads of what other threads of the block write. Wait in a loop for "
        "what another block computes, or let the last one to add to a counter finish the work: it "
        "knows by the value that the atomic returns."
        + " A value that a thread read before it freed a lock may be old when it takes the lock "
        "again: read it, test it and write what follows from it while holding the lock once."
        * locks,
        count=m.count,
        variable=m.name,
    )


def at_store(
    finding: Finding, m: Mismatch, stored: LastStore | None, program: Program, line: int
) -> Finding:
    """Place a finding at the store of the mismatch's first wrong element.

    Args:
        finding: the finding without a place.
        m: the mismatch that it describes.
        stored: the recorded store. It is not used when its line is unknown, or when the two
            backends differ in the first wrong element.
        program: the submission.
        line: the line to use when the store is unknown.
    """
    index = first_wrong(m, 1)[0]
    first = np.ravel_multi_index(index, m.wrong.shape)
    if stored is None or stored.line == 0 or stored.element != first:
        return program.at(finding, line)
    finding = replace(finding, access="write", block=stored.block, thread=stored.thread)
    return program.at(finding, stored.line)


def describe(m: Mismatch) -> Finding:
    """Describe a mismatch as a finding without a place: count, pattern and an excerpt."""
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
        message=f"{head}{_message_tail(m, cause)}",
        detail=excerpt(m),
        hint=cause.fix if cause else _default_fix(missing),
        count=m.count,
        variable=m.name,
    )


def _message_tail(m: Mismatch, cause: Cause | None) -> str:
    if cause is not None:
        return f": {cause.what}"
    index = first_wrong(m, 1)[0]
    if m.unwritten[index]:
        return f"; the first is {element(m.name, index)}"
    got, right = (number(float(v[index]), m.whole) for v in (m.actual, m.expected))
    allowed = float(m.bound[index])
    within = f" (allowed error {allowed:.2g})" if allowed else ""
    return f"; the first is {element(m.name, index)} = {got}, expected {right}{within}"


def _default_fix(missing: int) -> str:
    if missing:
        return (
            "Let a thread store every element, and set all members of what it stores. Check the "
            "index and the guard."
        )
    return "Compute one of these elements by hand, and follow its thread through the kernel."


def store_line(run: CaseRun, program: Program) -> int:
    """Return the only line that stores to global memory, else the kernel's line."""
    stores = [line.line for line in run.trace.lines if line.counters.get(STORES, 0) and line.line]
    if len(stores) == 1:
        return stores[0]
    return kernel_line(run, program)


def _only_integers_fail(evidence: Evidence, cases: Mapping[str, Status]) -> bool:
    """Return whether only integer-valued cases fail, which show every lost digit."""
    kinds = {run.case.kind for run in evidence.runs if cases[run.case.name] == "fail"}
    return kinds == {"integer"} and any(run.case.kind != "integer" for run in evidence.runs)


def _with_precision_hint(finding: Finding) -> Finding:
    if finding.kind != "wrong-output":
        return finding
    return replace(
        finding,
        hint="keep every operand and the sum in float, not in a narrower type: only the cases with "
        "integer inputs are wrong, so digits are lost",
    )
