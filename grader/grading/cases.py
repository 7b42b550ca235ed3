"""Runs a lab's cases, the student's own derived numbers first: a program -> CaseRuns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from grader.checks.result import CaseRun
from grader.compile.program import Program
from grader.grading.run import run_all
from grader.labs.cases import prepare_case
from grader.labs.model import Case, Derivation, Expected, Lab, PreparedCase
from grader.launch import Finding, Launch, Trace

Backend = Literal["sim", "gpu"]

STEPS = 20_000_000
"""Warp instructions that a block of a lab's case may execute: hundreds of times what the
solutions need, and the same verdict on every machine, which seconds would not give."""


@dataclass(frozen=True)
class RunOptions:
    """How cases are run: the backend, the seed of their inputs, the simulator's threads (None: all
    cores), the seconds that one launch may take, and the warp instructions that a block of it may
    execute there. With "gpu" cases run on the simulator too: it judges synchronisation, memory
    and traffic on every machine.
    """

    on: Backend = "sim"
    seed: bytes = b""
    threads: int | None = None
    limit: float = 20.0
    steps: int = STEPS

    @property
    def at_a_time(self) -> int:
        """How many submissions can be graded at a time, each with one thread of the simulator. A
        GPU takes them one after the other, by its lock: the rest of their work is done beside.
        """
        return self.threads or os.cpu_count() or 1


def chosen(lab: Lab, visibility: Literal["public", "all"]) -> tuple[Case, ...]:
    """The cases that are graded: the public ones, or all."""
    return tuple(c for c in lab.cases if visibility == "all" or c.visibility == "public")


def run_cases(
    lab: Lab, program: Program, cases: Sequence[Case], how: RunOptions
) -> tuple[CaseRun, ...]:
    """Every derivation and every case, launched; in the lab's order, derivations first.

    A case that needs a derived number which the student got wrong is not launched; its trace
    says what was wrong. Raises LabFault and MachineFault.
    """
    derived = run_derivations(lab, program, how)
    ready = {p.case.name: p for p in ready_cases(lab, cases, how, derived)}
    launches = [prepared.launch for prepared in ready.values()]
    with ThreadPoolExecutor(max_workers=1) as beside:  # a GPU works while the simulator does
        device = beside.submit(on_device, program, launches, how)
        traces = run_all(program, launches, threads=how.threads, limit=how.limit, steps=how.steps)
    seen = dict(zip(ready, traces, strict=True))
    on_gpu = dict(zip(ready, device.result(), strict=True)) if how.on == "gpu" else {}
    launched = {
        n: CaseRun(ready[n].case, ready[n], trace, device=on_gpu.get(n))
        for n, trace in seen.items()
    }
    asked = {name: run for name, (run, _) in derived.items()}
    return (
        *asked.values(),
        *(launched.get(case.name) or _unready(case, asked) for case in cases),
    )


def ready_cases(
    lab: Lab,
    cases: Sequence[Case],
    how: RunOptions,
    derived: Mapping[str, tuple[CaseRun, int | None]],
) -> tuple[PreparedCase, ...]:
    """Those of the cases that can be launched, made ready: every derived number that they need
    was answered rightly. Raises LabFault.
    """
    answers = {name: answer for name, (_, answer) in derived.items() if answer is not None}
    return tuple(
        prepare_case(lab, case, how.seed, answers)
        for case in cases
        if all(name in answers for name in case.derived.values())
    )


def on_device(program: Program, launches: Sequence[Launch], how: RunOptions) -> tuple[Trace, ...]:
    """The launches' traces from a GPU when one is asked for; nothing otherwise."""
    if how.on != "gpu":
        return ()
    return run_all(program, launches, on="gpu", limit=how.limit)


def run_derivations(
    lab: Lab, program: Program, how: RunOptions
) -> Mapping[str, tuple[CaseRun, int | None]]:
    """Every derivation by name: its run, and the answer when it is one that may be used."""
    if not lab.derivations:
        return {}
    launches = [derivation.launch for derivation in lab.derivations]
    traces = run_all(program, launches, threads=how.threads, limit=how.limit, steps=how.steps)
    return {
        derivation.name: judge_answer(derivation, trace, program)
        for derivation, trace in zip(lab.derivations, traces, strict=True)
    }


def judge_answer(
    derivation: Derivation, trace: Trace, program: Program
) -> tuple[CaseRun, int | None]:
    """One derivation's run as a case of its own, and its answer; None when it is wrong."""
    case = Case(derivation.call, {})
    index = derivation.output_index
    if not trace.ended or index not in trace.outputs:
        return CaseRun(case, None, replace(trace, ended=False)), None
    answer = int(trace.outputs[index].reshape(-1)[0])
    unwritten = bool(np.any(trace.unwritten.get(index, False)))
    problem = derivation.problem(answer)
    if unwritten:
        problem = f"{derivation.call} never wrote {derivation.output}"
    if not problem:
        return CaseRun(case, expected_answer(derivation), trace), answer
    kernel = program.kernel(derivation.kernel.name)
    finding = Finding(
        "unwritten-output" if unwritten else "wrong-output",
        "error",
        problem,
        variable=derivation.output,
        hint=f"work {derivation.call} out by hand and follow the kernel's arithmetic",
    )
    placed = program.at(finding, kernel.line if kernel else 0)
    return CaseRun(case, None, replace(trace, findings=(*trace.findings, placed))), None


def expected_answer(derivation: Derivation) -> PreparedCase:
    """A derivation as a case that is ready to run."""
    span = np.array([derivation.minimum, derivation.maximum], dtype=np.float64)
    right = Expected(span.mean(keepdims=True), np.ptp(span, keepdims=True) / 2)
    case = Case(derivation.call, {})
    return PreparedCase(case, derivation.launch, {derivation.output_index: right})


def _unready(case: Case, asked: Mapping[str, CaseRun]) -> CaseRun:
    """A case whose derived number is wrong: not launched, for the reason its derivation gave."""
    sources = [asked[name] for name in case.derived.values() if asked[name].prepared is None]
    why = sources[0].trace
    return CaseRun(case, None, Trace(why.backend, why.errors, ended=False), launched=False)
