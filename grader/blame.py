"""What a student's wrong output is told with: who stored it, and the line that is at fault."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from grader.cases import How
from grader.check.mismatch import compare
from grader.check.result import CaseRun, Evidence
from grader.run import find_blame

PUZZLING = frozenset({"invalid-access", "uninitialized-read"})
"""Errors whose line shows the harm, beside a wrong output. Missing barriers, stops and refusals
are told where they are."""


def blamed(evidence: Evidence, how: How) -> Evidence:
    """The evidence with what further runs on the simulator show, where a public case is wrong
    there; the same inputs and the same lines whichever backend graded it. Raises MachineFault."""
    kernel = evidence.program.kernel(evidence.lab.kernels[0].name)
    runs = [run for run in evidence.runs if kernel and _counts(run, kernel.name)]
    if kernel is None or not any(map(_is_puzzling, runs)):
        return evidence
    due = [
        (run.prepared.launch, {i: (e.value, e.bound) for i, e in run.prepared.expected.items()})
        for run in runs
        if run.prepared
    ]
    threads = how.threads or os.cpu_count() or 1
    return replace(evidence, blame=find_blame(evidence.program, kernel, due, threads))


def _counts(run: CaseRun, kernel: str) -> bool:
    """Whether a case that students may know of ran to its end."""
    of_it = run.prepared is not None and run.prepared.launch.kernel == kernel
    return of_it and run.case.visibility == "public" and run.launched and run.trace.ended


def _is_puzzling(run: CaseRun) -> bool:
    return any(f.kind in PUZZLING for f in run.trace.errors) or any(_wrong_outputs(run))


def _wrong_outputs(run: CaseRun) -> Iterator[bool]:
    """For each output whether the simulator's is wrong."""
    assert run.prepared is not None
    launch, trace = run.prepared.launch, run.trace
    for index, right in run.prepared.expected.items():
        blank = trace.unwritten.get(index)
        name = launch.args[index].name
        if index in trace.outputs:
            yield compare(name, trace.outputs[index], right, blank, launch.block) is not None
