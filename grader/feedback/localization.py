"""What a student's wrong output is told with: who stored it, and the line that is at fault."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from grader.checks.mismatch import compare
from grader.checks.result import CaseRun, Evidence
from grader.grading.cases import How, due_answer
from grader.grading.run import Right, find_blame
from grader.labs.model import Prepared
from grader.launch import OUTPUTS, Blame, Finding, Launch

PUZZLING = frozenset({"invalid-access", "uninitialized-read"})
"""Errors whose line shows the harm, beside a wrong output. Missing barriers, stops and refusals
are told where they are."""

MOST_THREADS = 8
"""Trials at a time: more would take more memory for little."""


@dataclass(frozen=True)
class Judged:
    """A run to its end that students may know of, with what it has to leave behind."""

    run: CaseRun
    prepared: Prepared

    @property
    def due(self) -> tuple[Launch, Right]:
        """The launch, and by argument what is right."""
        right = self.prepared.expected
        return self.prepared.launch, {i: (e.value, e.bound) for i, e in right.items()}

    @property
    def is_puzzling(self) -> bool:
        """Whether its output is wrong, or an error was seen whose line shows only the harm."""
        launch, trace = self.prepared.launch, self.run.trace
        if any(f.kind in PUZZLING for f in trace.errors):
            return True
        blank = trace.unwritten
        return any(
            compare(launch.args[i].name, trace.outputs[i], right, blank.get(i), launch.block)
            for i, right in self.prepared.expected.items()
        )


def blamed(evidence: Evidence, how: How) -> Evidence:
    """The evidence with what further runs on the simulator show, where a public case is wrong
    there; the same inputs and the same lines whichever backend graded it. Raises MachineFault."""
    judged = _judged(evidence)
    threads = min(how.threads or os.cpu_count() or 1, MOST_THREADS)
    blame = Blame()
    for name in dict.fromkeys(each.prepared.launch.kernel for each in judged):
        kernel = evidence.program.kernel(name)
        of_it = [each for each in judged if each.prepared.launch.kernel == name]
        if kernel and any(each.is_puzzling for each in of_it):
            due = [each.due for each in of_it]
            more = find_blame(evidence.program, kernel, due, threads)
            lines, stored = {**blame.lines, **more.lines}, {**blame.stored, **more.stored}
            blame = Blame(lines, stored)
    return _placed(replace(evidence, blame=blame))


def _judged(evidence: Evidence) -> list[Judged]:
    """The public runs that ended, those that answer a derivation among them."""
    asked = {d.call: due_answer(d) for d in evidence.lab.derivations}
    runs = [r for r in evidence.runs if r.launched and r.trace.ended]
    ready = ((run, run.prepared or asked.get(run.case.name)) for run in runs)
    return [Judged(r, p) for r, p in ready if p is not None and r.case.visibility == "public"]


def _placed(evidence: Evidence) -> Evidence:
    """Wrong answers to derivations, told at the kernel so far, at the line that stored them; the
    cases that need an answer repeat it."""
    moved: dict[Finding, Finding] = {}
    for run in evidence.runs:
        stores = [who for (name, _), who in evidence.blame.stored.items() if name == run.case.name]
        if run.prepared is None and stores:
            wrong = [f for f in run.trace.errors if f.kind in OUTPUTS]
            moved |= {f: evidence.program.at(f, stores[0].line) for f in wrong}
    return replace(evidence, runs=tuple(_with(run, moved) for run in evidence.runs))


def _with(run: CaseRun, moved: Mapping[Finding, Finding]) -> CaseRun:
    findings = tuple(moved.get(f, f) for f in run.trace.findings)
    return replace(run, trace=replace(run.trace, findings=findings)) if moved else run
