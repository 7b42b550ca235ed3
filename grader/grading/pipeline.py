"""The pipeline from a submission to its grade.

`grade_submission` holds the steps in order:

    compile -> run the cases -> localize -> time -> check -> score -> record

A Job holds the submission already read (grader.submissions.files). Prefetching and fault
localization wrap the pipeline from outside: grader.feedback.grade.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from typing import Literal

from grader import __version__, dataclass, replace
from grader.checks.causes import Explanation, with_tried_hints
from grader.checks.quiz import mark_quiz
from grader.checks.resources import Options as Resources
from grader.checks.resources import compiled_limits
from grader.checks.result import CaseRun, Evidence, Result, Status
from grader.checks.suite import (
    Check,
    award,
    blocked_all,
    error_all,
    evaluate_all,
    plan,
    verdict_of,
    with_public_verdicts,
)
from grader.compile.program import Program
from grader.compile.ptx_lines import PtxLine, ptx_lines
from grader.compile.signature import check_variable, with_lab_kernels, wrong_order
from grader.compile.source import compile_source
from grader.faults import RESOURCE_ERRORS, MachineFault, StudentFault, system_fault
from grader.gpu.speedup import Timing
from grader.grading.baseline import baseline_traces, cache_folder, needs_baseline
from grader.grading.cases import Backend, RunOptions, run_cases, select_cases
from grader.grading.cost import cost_of
from grader.grading.quiz import answer_quiz
from grader.grading.record import CaseResult, Grade, Provenance, Score, total_score
from grader.grading.run import build_for
from grader.grading.timing import clock_range, timing_samples, with_timings
from grader.labs.model import Case, Lab
from grader.labs.quiz import AnswerSheet, QuizAttempt
from grader.labs.reading import lab_digest
from grader.launch import Trace, WorkMeasure
from grader.submissions.files import Submission
from grader.submissions.sources import header_note, in_own_files, source_places

__all__ = ["Grade", "Job", "Progress", "grade_submission", "grade_unreadable", "seed_id"]

Progress = Callable[[str, int, int], None]
"""Called before each step with its name, its number from 1, and how many there are."""

STEPS = ("compile", "run", "check")
TIMED_STEPS = ("compile", "run", "time", "check")

Localize = Callable[[Evidence, RunOptions], Evidence]
"""Adds explanations of errors to the evidence, with further runs where needed."""


@dataclass(frozen=True)
class Job:
    """One submission to grade and how.

    `visibility` selects the cases, `options` says how they run. `recorded` timings are evaluated
    as those of a GPU, in place of new ones.
    """

    lab: Lab
    submission: Submission
    options: RunOptions
    visibility: Literal["public", "all"] = "public"
    student: str = ""
    recorded: Sequence[Timing] | None = None

    @property
    def backend(self) -> Backend:
        """The backend that the grade is for: "gpu" for recorded timings."""
        return self.options.on if self.recorded is None else "gpu"


def grade_submission(
    job: Job,
    *,
    quiz: Callable[[], QuizAttempt],
    localize: Localize = lambda evidence, options: evidence,
    progress: Progress = lambda step, number, steps: None,
) -> Grade:
    """Grade one submission: compile, run, localize, time, check, score, record.

    A submission that does not compile earns points for the quiz only. After a system error the
    grade is incomplete and costs no points.

    Args:
        job: the submission (read), its lab and how to run it.
        quiz: returns the student's answers to the quiz with the expected ones.
        localize: adds explanations of errors to the evidence.
        progress: called before each step.

    Raises:
        LabFault: the lab is broken.
    """
    started = _Start(datetime.now(UTC), time.monotonic())
    lab, options, backend = job.lab, job.options, job.backend
    checks, cases = plan(lab), select_cases(lab, job.visibility, options.seed)
    steps = TIMED_STEPS if backend == "gpu" else STEPS
    outcome = _Outcome()
    try:
        progress("compile", 1, len(steps))
        program = compile_submission(lab, job.submission, options.on)
        outcome.compiled(lab, program)

        progress("run", 2, len(steps))
        runs = run_cases(lab, program, cases, replace(options, measure=work_measure(checks)))
        outcome.toolchain |= {k: v for run in runs for k, v in run.computed.toolchain.items()}
        outcome.printed = _first_output(runs)
        base = _baseline(lab, checks, runs, options)
        evidence = Evidence(lab, program, runs, backend, base, quiz=quiz())
        evidence = localize(evidence, options)
        outcome.explanation = evidence.explanation

        if backend == "gpu":
            progress("time", 3, len(steps))
            evidence = with_timings(evidence, checks, options, _device(job, outcome), job.recorded)
            outcome.timings = evidence.timings

        progress("check", len(steps), len(steps))
        results = with_public_verdicts(evaluate_all(checks, evidence), checks, evidence)
        outcome.cases = _case_results(runs, results)
        result = _compile_result(lab, program, results, outcome.cases)
        compiled = _public_where_hidden((result,), outcome.cases)
        outcome.results = (*compiled, *_with_hints(results, evidence.explanation))
        outcome.largest, outcome.baseline = evidence.largest, base
    except (StudentFault, MachineFault) as fault:
        outcome.results, outcome.cases = _results_of_fault(checks, cases, fault, backend, quiz)
    except RESOURCE_ERRORS as error:
        failure = system_fault(error, "grading failed")
        outcome.results, outcome.cases = _system_error(checks, cases, failure)
    score = total_score(outcome.results)
    provenance = started.provenance(lab, options.seed, outcome.toolchain, outcome.timings)
    return _record(job, outcome, score, provenance)


@dataclass
class _Outcome:
    """The results of the steps so far, which a fault may end early."""

    toolchain: dict[str, str] = field(default_factory=dict)
    printed: tuple[str, str] = ("", "")
    timings: tuple[Timing, ...] = ()
    results: tuple[Result, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    largest: CaseRun | None = None
    baseline: Mapping[str, Trace] = field(default_factory=dict)
    explanation: Explanation = Explanation()
    ptx: tuple[PtxLine, ...] = ()

    def compiled(self, lab: Lab, program: Program) -> None:
        self.toolchain |= program.toolchain
        self.ptx = ptx_lines(program) if lab.ptx else ()


def _record(job: Job, outcome: _Outcome, score: Score, provenance: Provenance) -> Grade:
    largest = outcome.largest
    lines, lines_on = (largest.trace.lines, largest.case.name) if largest else ((), "")
    base = outcome.baseline.get(lines_on)
    cost = cost_of(largest.trace, lines_on, base) if largest else None
    places = source_places(job.submission.text, job.submission.name)
    if places:
        own = partial(in_own_files, places=places, name=job.submission.name)
        outcome.results, outcome.explanation = own(outcome.results), own(outcome.explanation)
        lines, outcome.ptx = own(lines), own(outcome.ptx)
    return Grade(
        job.lab.name, job.lab.title, job.submission.name, job.student, job.submission.sha256,
        job.backend, score, outcome.results, outcome.cases, provenance, lines, lines_on,
        outcome.printed, outcome.explanation, cost=cost, ptx=outcome.ptx,
    )  # fmt: skip


def _device(job: Job, outcome: _Outcome) -> str:
    return job.recorded[-1].device if job.recorded else outcome.toolchain.get("device", "")


def _first_output(runs: Sequence[CaseRun]) -> tuple[str, str]:
    """Return the first public case in which the kernel prints, and its text."""
    texts = ((r.case.name, r.computed.printed) for r in runs if r.case.visibility == "public")
    return next((text for text in texts if text[1]), ("", ""))


def grade_unreadable(
    lab: Lab, name: str, fault: StudentFault, *, sha256: str = "", on: Backend = "sim",
    student: str = "", answers: AnswerSheet | None = None,
) -> Grade:  # fmt: skip
    """Grade a file that cannot be read as source: points for the quiz only.

    Args:
        lab: the lab.
        name: the submission's name as messages show it.
        fault: why the file cannot be read.
        sha256: the digest of the file.
        on: the backend that the grade is for.
        student: the student's name.
        answers: the student's answers to the quiz.

    Raises:
        LabFault: a question of the lab's quiz is broken.
        MachineFault: the simulator fails on a question.
    """
    started = _Start(datetime.now(UTC), time.monotonic())
    quiz = answer_quiz(lab, answers, RunOptions(on))
    results, lines = _rejected(plan(lab), select_cases(lab, "public"), fault, on, quiz)
    provenance = started.provenance(lab, b"", {})
    score = total_score(results)
    return Grade(lab.name, lab.title, name, student, sha256, on, score, results, lines, provenance)


def seed_id(seed: bytes) -> str:
    """Return the identifier of a seed in a grade's provenance, which does not reveal the seed."""
    return hashlib.sha256(b"seed\0" + seed).hexdigest()[:12]


@dataclass(frozen=True)
class _Start:
    """When grading began, in calendar time and by the monotonic clock."""

    when: datetime
    clock: float

    def provenance(
        self, lab: Lab, seed: bytes, toolchain: Mapping[str, str], timings: Sequence[Timing] = ()
    ) -> Provenance:
        return Provenance(
            seed=seed_id(seed),
            toolchain={k: v for k, v in toolchain.items() if k not in ("device", "driver")},
            grader_version=__version__,
            started=self.when.isoformat(timespec="seconds").replace("+00:00", "Z"),
            seconds=round(time.monotonic() - self.clock, 3),
            device=toolchain.get("device"),
            driver=toolchain.get("driver"),
            clocks=clock_range(timings),
            samples=timing_samples(timings),
            lab_sha256=lab_digest(lab),
        )


def compile_submission(lab: Lab, submission: Submission, on: Backend) -> Program:
    """Compile a submission, whose kernels get the lab's names, and check its variables.

    Raises:
        StudentFault: it does not compile, or a kernel or variable is missing or has another type.
        MachineFault: the compiler fails.
    """
    compiled = compile_source(submission.data, submission.name, wanted=lab.kernels)
    note = header_note(submission.text, submission.name)
    compiled = replace(compiled, notes=(*filter(None, [note]), *compiled.notes))
    program = with_lab_kernels(build_for(on, compiled), lab.kernels)
    for variable in lab.globals:
        check_variable(program, variable)
    return program


def _baseline(
    lab: Lab, checks: Sequence[Check], runs: tuple[CaseRun, ...], options: RunOptions
) -> Mapping[str, Trace]:
    """Return the baseline's counters on every case that ended, if a check compares with them."""
    kernel = lab.kernels[0].name
    ended = [
        run.prepared.case
        for run in runs
        if run.prepared and run.prepared.launch.kernel == kernel and run.trace.ended
    ]
    if not ended or not needs_baseline(lab, checks):
        return {}
    return baseline_traces(lab, ended, options, cache_folder())


def work_measure(checks: Sequence[Check]) -> WorkMeasure:
    """Return what the simulator has to measure of the threads' work for these checks."""
    if any(check.options.measures_sharing for check in checks):
        return "sharing"
    return "work" if any(check.options.measures_work for check in checks) else "nothing"


def exceeds_limits(checks: Sequence[Check], program: Program, run: CaseRun | None) -> bool:
    """Return whether a program exceeds a limit that the compiler alone decides.

    Args:
        checks: The lab's checks.
        program: The program, which need not have run.
        run: The largest case, as another program of the lab ran it.
    """
    kernel = program.kernel(run.prepared.launch.kernel) if run and run.prepared else None
    if run is None or kernel is None:
        return False
    compiled = replace(run, trace=replace(run.trace, resources=kernel.resources))
    options = [check.options for check in checks if isinstance(check.options, Resources)]
    return any(any(compiled_limits(limits, compiled, program)) for limits in options)


def _with_hints(results: Sequence[Result], explanation: Explanation) -> Iterator[Result]:
    """Let the hints of all findings say what was tried."""
    for result in results:
        public = result.public
        if public is not None:
            findings = with_tried_hints(public.findings, explanation)
            public = replace(public, findings=findings)
        findings = with_tried_hints(result.findings, explanation)
        yield replace(result, findings=findings, public=public)


def _compile_result(
    lab: Lab, program: Program, results: Sequence[Result], cases: Sequence[CaseResult]
) -> Result:
    """Return the result of compiling, worth no points, with the compiler's warnings.

    The order of parameters is reported only where the output of a public case is wrong.
    """
    summary = "; ".join([f"compiles for {program.architecture}", *program.notes])
    output = next((result for result in results if result.name == "output"), None)
    is_hidden = any(case.visibility != "public" for case in cases)
    public = (output.public if is_hidden else verdict_of(output)) if output else None
    more = wrong_order(program, lab.kernels) if public and public.status == "fail" else ()
    return Result("compile", "pass", 0, 0, summary, findings=(*more, *program.warnings))


def _public_where_hidden(
    results: Sequence[Result], cases: Sequence[CaseResult]
) -> tuple[Result, ...]:
    """Mark results as decided by the source alone, in a grade with hidden cases."""
    if all(case.visibility == "public" for case in cases):
        return tuple(results)
    return tuple(replace(result, public=verdict_of(result)) for result in results)


def _results_of_fault(
    checks: Sequence[Check], cases: Sequence[Case], fault: StudentFault | MachineFault,
    on: Backend, quiz: Callable[[], QuizAttempt],
) -> tuple[tuple[Result, ...], tuple[CaseResult, ...]]:  # fmt: skip
    """Return the results when a fault ended the pipeline.

    Raises:
        LabFault: a question of the lab's quiz is broken.
    """
    try:
        if isinstance(fault, StudentFault):
            return _rejected(checks, cases, fault, on, quiz())
    except MachineFault as worse:
        return _system_error(checks, cases, worse)
    return _system_error(checks, cases, fault)


def _rejected(
    checks: Sequence[Check], cases: Sequence[Case], fault: StudentFault, on: Backend,
    quiz: QuizAttempt,
) -> tuple[tuple[Result, ...], tuple[CaseResult, ...]]:  # fmt: skip
    """Return the results of a file that does not compile: only the quiz is marked."""
    compile_result = Result("compile", "fail", 0, 0, fault.what, findings=fault.findings)
    blocked = blocked_all(checks, "not evaluated: the file does not compile", on)
    results = (
        award(check, mark_quiz(quiz)) if check.name == "quiz" else result
        for check, result in zip(checks, blocked, strict=True)
    )
    lines = _not_run(cases, "blocked")
    return _public_where_hidden((compile_result, *results), lines), lines


def _system_error(
    checks: Sequence[Check], cases: Sequence[Case], fault: MachineFault
) -> tuple[tuple[Result, ...], tuple[CaseResult, ...]]:
    """Return status "error" for every check and case."""
    summary = f"{fault.what}; {fault.fix}" if fault.fix else fault.what
    return error_all(checks, summary), _not_run(cases, "error")


def _not_run(cases: Sequence[Case], status: Status) -> tuple[CaseResult, ...]:
    return tuple(CaseResult(c.name, c.size, c.visibility, status) for c in cases)


def _case_results(runs: Sequence[CaseRun], results: Sequence[Result]) -> tuple[CaseResult, ...]:
    """Return the status of each case: it passes with the right output and without errors."""
    output = next((r.cases for r in results if r.name == "output"), {})

    def status(run: CaseRun) -> Status:
        sound = run.trace.ended and run.computed.ended and not run.errors
        return "pass" if sound and output.get(run.case.name, "pass") == "pass" else "fail"

    return tuple(
        CaseResult(run.case.name, run.case.size, run.case.visibility, status(run)) for run in runs
    )
