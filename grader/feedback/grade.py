"""Grade one submission and explain its errors.

The pipeline (grader.grading.pipeline) with what wraps it: the quiz is marked and the lab's baseline
is measured while the submission compiles and runs, and wrong outputs are localized.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import Any, Literal

from numpy.typing import NDArray

from grader import dataclass
from grader.checks.mismatch import compare
from grader.checks.result import CaseRun, Evidence
from grader.checks.suite import plan
from grader.compile.program import Kernel, Program
from grader.faults import RESOURCE_ERRORS, MachineFault, system_fault
from grader.gpu.speedup import Timing
from grader.grading.baseline import prefetch
from grader.grading.cases import MAX_STEPS, Backend, RunOptions, expected_answer, select_cases
from grader.grading.pipeline import Job, Progress, grade_submission
from grader.grading.quiz import answer_quiz
from grader.grading.record import Grade
from grader.grading.run import ready_for, simulator_memory
from grader.grading.timing import with_launches
from grader.labs.model import Lab, PreparedCase
from grader.labs.quiz import AnswerSheet, QuizAttempt
from grader.labs.reference import prepare_processes
from grader.launch import OUTPUT_KINDS, Finding, Launch, pack_launches
from grader.sandbox.call import Limits, prepare_template, while_waiting
from grader.simulator.exchange import Localization, unpack_localization
from grader.submissions.files import Submission

SYMPTOMS = frozenset({"invalid-access", "uninitialized-read"})
"""The kinds of errors whose line may show only the effect of another line's mistake."""

MAX_THREADS = 8
"""The most trials at a time: more would take more memory for little gain."""

SEARCH = "grader.feedback.ptx_search:run"
SEARCH_SECONDS = 30.0
"""The wall-clock limit of one search, a backstop."""

ExpectedOutputs = Mapping[int, tuple[NDArray[Any], NDArray[Any]]]
"""The correct outputs of a launch: by argument index, values and allowed absolute errors."""


@dataclass(frozen=True)
class PublicRun:
    """A run of a public case that ended, with its expected outputs."""

    run: CaseRun
    prepared: PreparedCase

    @property
    def expected(self) -> tuple[Launch, ExpectedOutputs]:
        """The launch and its correct outputs."""
        outputs = self.prepared.expected
        return self.prepared.launch, {i: (e.value, e.bound) for i, e in outputs.items()}

    @property
    def needs_search(self) -> bool:
        """Whether its output is wrong, or it has an error of SYMPTOMS."""
        launch, trace = self.prepared.launch, self.run.trace
        if any(f.kind in SYMPTOMS for f in trace.errors):
            return True
        return any(
            compare(launch.args[i].name, trace.outputs[i], e, trace.unwritten.get(i), launch.block)
            for i, e in self.prepared.expected.items()
        )


def localize_faults(evidence: Evidence, options: RunOptions) -> Evidence:
    """Add to the evidence what further runs on the simulator show."""
    try:
        localization = _search(evidence, options)
    except (MachineFault, *RESOURCE_ERRORS) as error:
        localization = Localization(failure=system_fault(error, "the search failed").what)
    return _with_store_lines(replace(evidence, localization=localization))


def _search(evidence: Evidence, options: RunOptions) -> Localization:
    """Search the lines at fault, kernel by kernel. Raises MachineFault."""
    runs = _public_runs(evidence)
    threads = min(options.threads or os.cpu_count() or 1, MAX_THREADS)
    localization = Localization()
    for name in dict.fromkeys(run.prepared.launch.kernel for run in runs):
        kernel = evidence.program.kernel(name)
        own = [run for run in runs if run.prepared.launch.kernel == name]
        if kernel and any(run.needs_search for run in own):
            expected = [run.expected for run in own]
            more = search_fault_lines(evidence.program, kernel, expected, threads)
            localization = Localization(
                {**localization.lines, **more.lines}, {**localization.stored, **more.stored}
            )
    return localization


def _public_runs(evidence: Evidence) -> list[PublicRun]:
    """The public runs that ended, including those that answer a derivation."""
    answers = {d.call: expected_answer(d) for d in evidence.lab.derivations}
    runs = [r for r in evidence.runs if r.launched and r.trace.ended]
    ready = ((run, run.prepared or answers.get(run.case.name)) for run in runs)
    return [PublicRun(r, p) for r, p in ready if p is not None and r.case.visibility == "public"]


def _with_store_lines(evidence: Evidence) -> Evidence:
    """Move wrong answers to derivations from the kernel's line to the line that stored them.

    The findings of the cases that need an answer move along.
    """
    moved: dict[Finding, Finding] = {}
    for run in evidence.runs:
        stores = [
            store
            for (name, _), store in evidence.localization.stored.items()
            if name == run.case.name
        ]
        if run.prepared is None and stores:
            wrong = [f for f in run.trace.errors if f.kind in OUTPUT_KINDS]
            moved |= {f: evidence.program.at(f, stores[0].line) for f in wrong}
    return replace(evidence, runs=tuple(_with_moved(run, moved) for run in evidence.runs))


def _with_moved(run: CaseRun, moved: Mapping[Finding, Finding]) -> CaseRun:
    findings = tuple(moved.get(f, f) for f in run.trace.findings)
    return replace(run, trace=replace(run.trace, findings=findings)) if moved else run


def search_fault_lines(
    program: Program,
    kernel: Kernel,
    expected: Sequence[tuple[Launch, ExpectedOutputs]],
    threads: int,
) -> Localization:
    """Search the line at fault in launches of one kernel that ended with a wrong output.

    Args:
        program: the compiled submission.
        kernel: the kernel that all launches run.
        expected: each launch with its correct outputs.
        threads: trials that run at a time.

    Returns an empty Localization when the search takes too long.

    Raises:
        MachineFault: this machine cannot search.
    """
    from grader.feedback.fixes import run_explaining  # of wrong outputs only

    launches = [launch for launch, _ in expected]
    rows, arrays = pack_launches(launches)
    for k, (_, outputs) in enumerate(expected):
        for index, (value, bound) in outputs.items():
            arrays |= {f"{k}.value.{index}": value, f"{k}.bound.{index}": bound}
    request = {
        "ptx": program.debug_ptx,
        "kernel": kernel.symbol,
        "launches": rows,
        "right": [list(outputs) for _, outputs in expected],
        "threads": threads,
    }
    memory = threads * simulator_memory(launches, program.ptx)
    limits = Limits(wall=SEARCH_SECONDS, cpu=SEARCH_SECONDS * threads, memory=memory)
    reply = run_explaining(SEARCH, request, arrays, limits)
    return unpack_localization(reply.value, launches) if reply else Localization()


@contextmanager
def _pools(is_first: bool) -> Iterator[tuple[Executor, Executor, Event]]:
    """Open a pool for what is needed first, and one for what does not lead to a launch.

    Calls of the second begin when the event is set: by the caller, or when the thread waits for
    a child; where `is_first`, at once.
    """
    begun = Event()
    with ThreadPoolExecutor(4) as first, ThreadPoolExecutor(4, initializer=begun.wait) as later:
        if is_first:
            begun.set()
        try:
            with while_waiting(begun.set):
                yield first, later, begun
        finally:
            begun.set()


def grade(
    lab: Lab, submission: Submission, *, on: Backend = "sim",
    visibility: Literal["public", "all"] = "public", seed: bytes = b"",
    threads: int | None = None, limit: float = 20.0, step_limit: int = MAX_STEPS,
    student: str = "", answers: AnswerSheet | None = None,
    recorded: Sequence[Timing] | None = None,
    fixes: bool = False, is_first: bool = False,
    progress: Progress = lambda step, number, steps: None,
) -> Grade:  # fmt: skip
    """Grade one submission on one backend.

    Args:
        lab: the lab that the submission is for.
        submission: the student's file.
        on: the backend, "sim" or "gpu".
        visibility: the cases to run: the public ones, or all.
        seed: draws the inputs of the cases.
        threads: threads of the simulator; None for one a core.
        limit: seconds that one launch may take.
        step_limit: warp instructions that one block may execute on the simulator.
        student: the student's name or number, for the record.
        answers: the student's answers to the quiz; None leaves the quiz out of what is evaluated.
        recorded: timings to evaluate in place of new ones, as of a GPU.
        fixes: whether to try edits of the source, to find one that makes every public case right.
        is_first: whether the lab's baseline and quiz are most likely measured now; they begin at
            once then, not when the submission waits for a child.
        progress: called before each step.

    What does not compile has 0 points and findings; a system error costs none. Raises LabFault.
    """
    prepare_processes()
    with ready_for(on, lab, recorded) as ready, _pools(is_first) as (first, later, begun):
        own = RunOptions(on, seed, threads, limit, step_limit, ready=ready)
        options = with_launches(own, lab, plan(lab), first)
        first.submit(prepare_template)  # it takes longer than reading the compiled program
        job = Job(lab, submission, options, visibility, student, recorded)
        answered = later.submit(answer_quiz, lab, answers, options)
        prefetch(later, lab, plan(lab), select_cases(lab, visibility, seed), options)

        def quiz() -> QuizAttempt:
            begun.set()  # nothing ran: it does not compile, or has no launches
            return answered.result()

        def localize(evidence: Evidence, options: RunOptions) -> Evidence:
            from grader.feedback.explanation import explain  # imported while the submission runs

            evidence = localize_faults(evidence, options)
            return replace(evidence, explanation=explain(evidence, options, fixes=fixes))

        graded = grade_submission(job, quiz=quiz, localize=localize, progress=progress)
        from grader.feedback.explanation import with_wrong_constant

        return with_wrong_constant(graded, job)
