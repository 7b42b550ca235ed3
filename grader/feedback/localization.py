"""What a student's wrong output is told with: who stored it, and the line that is at fault."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from grader.checks.mismatch import compare
from grader.checks.result import CaseRun, Evidence
from grader.compile.program import Kernel, Program
from grader.grading.cases import RunOptions, expected_answer
from grader.grading.run import simulator_memory
from grader.labs.model import PreparedCase
from grader.launch import OUTPUT_KINDS, Finding, Launch, Localization
from grader.sandbox.call import Limits, SandboxFailure, run_sandboxed
from grader.sandbox.launches import pack_launches
from grader.simulator.exchange import unpack_localization

PUZZLING = frozenset({"invalid-access", "uninitialized-read"})
"""Errors whose line shows the harm, beside a wrong output. Missing barriers, stops and refusals
are told where they are."""

MOST_THREADS = 8
"""Trials at a time: more would take more memory for little."""


Right = Mapping[int, tuple[NDArray[Any], NDArray[Any]]]
"""The right outputs of a launch: by argument index, the values and the allowed absolute errors."""

SEARCH_SECONDS = 30.0
"""Wall-clock backstop of one search. Its own limits are numbers of instructions, which it reaches
long before."""


@dataclass(frozen=True)
class Judged:
    """A run to its end that students may know of, with what it has to leave behind."""

    run: CaseRun
    prepared: PreparedCase

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


def localize_faults(evidence: Evidence, how: RunOptions) -> Evidence:
    """The evidence with what further runs on the simulator show, where a public case is wrong
    there; the same inputs and the same lines whichever backend graded it. Raises MachineFault.
    """
    judged = _judged(evidence)
    threads = min(how.threads or os.cpu_count() or 1, MOST_THREADS)
    localization = Localization()
    for name in dict.fromkeys(each.prepared.launch.kernel for each in judged):
        kernel = evidence.program.kernel(name)
        of_it = [each for each in judged if each.prepared.launch.kernel == name]
        if kernel and any(each.is_puzzling for each in of_it):
            due = [each.due for each in of_it]
            more = search_fault_lines(evidence.program, kernel, due, threads)
            lines, stored = (
                {**localization.lines, **more.lines},
                {**localization.stored, **more.stored},
            )
            localization = Localization(lines, stored)
    return _placed(replace(evidence, localization=localization))


def _judged(evidence: Evidence) -> list[Judged]:
    """The public runs that ended, those that answer a derivation among them."""
    asked = {d.call: expected_answer(d) for d in evidence.lab.derivations}
    runs = [r for r in evidence.runs if r.launched and r.trace.ended]
    ready = ((run, run.prepared or asked.get(run.case.name)) for run in runs)
    return [Judged(r, p) for r, p in ready if p is not None and r.case.visibility == "public"]


def _placed(evidence: Evidence) -> Evidence:
    """Wrong answers to derivations, told at the kernel so far, at the line that stored them; the
    cases that need an answer repeat it.
    """
    moved: dict[Finding, Finding] = {}
    for run in evidence.runs:
        stores = [
            who for (name, _), who in evidence.localization.stored.items() if name == run.case.name
        ]
        if run.prepared is None and stores:
            wrong = [f for f in run.trace.errors if f.kind in OUTPUT_KINDS]
            moved |= {f: evidence.program.at(f, stores[0].line) for f in wrong}
    return replace(evidence, runs=tuple(_with(run, moved) for run in evidence.runs))


def _with(run: CaseRun, moved: Mapping[Finding, Finding]) -> CaseRun:
    findings = tuple(moved.get(f, f) for f in run.trace.findings)
    return replace(run, trace=replace(run.trace, findings=findings)) if moved else run


def search_fault_lines(
    program: Program, kernel: Kernel, due: Sequence[tuple[Launch, Right]], threads: int
) -> Localization:
    """Search the line at fault in launches of one kernel that ended with a wrong output.

    Args:
        program: the compiled submission.
        kernel: the kernel that all launches run.
        due: each launch with its right outputs.
        threads: trials that run at a time.

    Returns an empty Localization when the search takes too long. Raises MachineFault.
    """
    launches = [launch for launch, _ in due]
    rows, arrays = pack_launches(launches)
    for k, (_, right) in enumerate(due):
        for index, (value, bound) in right.items():
            arrays |= {f"{k}.value.{index}": value, f"{k}.bound.{index}": bound}
    request = {
        "ptx": program.debug_ptx,
        "kernel": kernel.symbol,
        "launches": rows,
        "right": [list(right) for _, right in due],
        "threads": threads,
    }
    memory = threads * simulator_memory(launches, program.ptx)
    limits = Limits(wall=SEARCH_SECONDS, cpu=SEARCH_SECONDS * threads, memory=memory)
    try:
        reply = run_sandboxed("grader.feedback.ptx_search:run", request, arrays, limits=limits)
    except SandboxFailure:
        return Localization()
    return unpack_localization(reply.value, launches)
