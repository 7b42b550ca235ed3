"""The pipeline from a submission to its grade, in order.

    read -> compile -> run the cases -> explain -> time -> check -> score -> record

The submission has been read (grader.submissions.files) when it comes here. What makes grading
faster or its findings clearer wraps the pipeline from outside: grader.feedback.grade.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from grader import __version__
from grader.checks.quiz import mark
from grader.checks.result import CaseRun, Evidence, Result, Status, largest
from grader.checks.suite import Check, award, blocked_all, error_all, evaluate_all, plan
from grader.compile.program import Program
from grader.compile.signature import check_kernel, check_variable
from grader.compile.source import compile_source
from grader.faults import MachineFault, StudentFault
from grader.gpu.speedup import Timing
from grader.grading.baseline import baseline_trace, cache_folder
from grader.grading.cases import Backend, RunOptions, chosen, run_cases
from grader.grading.quiz import open_paper
from grader.grading.record import CaseLine, Grade, Provenance, total
from grader.grading.run import built_for
from grader.grading.timing import clocks, samples, timed
from grader.labs.model import Case, Lab
from grader.labs.quiz import AnswerSheet, QuizAttempt
from grader.labs.reading import lab_digest
from grader.launch import Trace
from grader.submissions.files import Submission

__all__ = ["Grade", "Job", "Progress", "grade_submission", "grade_unreadable", "seed_id"]

Progress = Callable[[str, int, int], None]
"""Called before each step with its name, its number from 1, and how many there are."""

STEPS = ("compile", "run", "check")
TIMED_STEPS = ("compile", "run", "time", "check")

Explain = Callable[[Evidence, RunOptions], Evidence]
"""Adds to the evidence what explains its errors, by further runs if need be."""


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
        """The backend that the grade speaks of."""
        return self.options.on if self.recorded is None else "gpu"


def grade_submission(
    job: Job,
    *,
    quiz: Callable[[], QuizAttempt],
    explain: Explain = lambda evidence, options: evidence,
    progress: Progress = lambda step, number, steps: None,
) -> Grade:
    """Grade one submission: compile, run, explain, time, check, score, record.

    A submission that does not compile gets 0 points and its findings. A system error gives an
    incomplete grade that costs no points.

    Args:
        job: the submission, its lab and how to run it.
        quiz: returns the student's answers to the quiz, marked.
        explain: adds to the evidence what explains its errors.
        progress: called before each step.

    Raises LabFault.
    """
    started = _Start(datetime.now(UTC), time.monotonic())
    lab, options, backend = job.lab, job.options, job.backend
    checks, cases = plan(lab), chosen(lab, job.visibility)
    steps = TIMED_STEPS if backend == "gpu" else STEPS
    done = _Outcome()
    try:
        progress("compile", 1, len(steps))
        program = compile_submission(lab, job.submission, options.on)
        done.toolchain |= program.toolchain

        progress("run", 2, len(steps))
        runs = run_cases(lab, program, cases, options)
        done.toolchain |= {k: v for run in runs for k, v in run.computed.toolchain.items()}
        done.printed = _printed(runs)
        base = _baseline(lab, checks, runs, options)
        evidence = Evidence(lab, program, runs, backend, base, paper=quiz())
        evidence = explain(evidence, options)

        if backend == "gpu":
            progress("time", 3, len(steps))
            evidence = timed(evidence, checks, options, _device(job, done), job.recorded)
            done.timings = evidence.timings

        progress("check", len(steps), len(steps))
        done.results = (_compiled(program), *evaluate_all(checks, evidence))
        done.cases = _case_lines(runs, done.results)
        done.counted = evidence.largest
    except (StudentFault, MachineFault) as fault:
        done.results, done.cases = _stopped(checks, cases, fault, backend, quiz)
    return _record(job, done, started.provenance(lab, options.seed, done.toolchain, done.timings))


@dataclass
class _Outcome:
    """What the steps of the pipeline have found so far."""

    toolchain: dict[str, str] = field(default_factory=dict)
    printed: tuple[str, str] = ("", "")
    timings: tuple[Timing, ...] = ()
    results: tuple[Result, ...] = ()
    cases: tuple[CaseLine, ...] = ()
    counted: CaseRun | None = None


def _record(job: Job, done: _Outcome, provenance: Provenance) -> Grade:
    counted = (done.counted.trace.lines, done.counted.case.name) if done.counted else ((), "")
    return Grade(
        job.lab.name, job.lab.title, job.submission.name, job.student, job.submission.sha256,
        job.backend, total(done.results), done.results, done.cases, provenance, *counted,
        done.printed,
    )  # fmt: skip


def _device(job: Job, done: _Outcome) -> str:
    return job.recorded[-1].device if job.recorded else done.toolchain.get("device", "")


def _printed(runs: Sequence[CaseRun]) -> tuple[str, str]:
    """The first public case in which the kernel prints, and what."""
    texts = ((r.case.name, r.computed.printed) for r in runs if r.case.visibility == "public")
    return next((text for text in texts if text[1]), ("", ""))


def grade_unreadable(
    lab: Lab, name: str, fault: StudentFault, *, sha256: str = "", on: Backend = "sim",
    student: str = "", answers: AnswerSheet | None = None,
) -> Grade:  # fmt: skip
    """The grade of a file that could not even be read as source: no points beside the quiz's,
    and why. Raises LabFault and MachineFault.
    """
    started = _Start(datetime.now(UTC), time.monotonic())
    paper = open_paper(lab, answers, RunOptions(on))
    results, lines = _refused(plan(lab), chosen(lab, "public"), fault, on, paper)
    provenance = started.provenance(lab, b"", {})
    score = total(results)
    return Grade(lab.name, lab.title, name, student, sha256, on, score, results, lines, provenance)


def seed_id(seed: bytes) -> str:
    """What a grade's provenance says of a seed: enough to tell it from others, never itself."""
    return hashlib.sha256(b"seed\0" + seed).hexdigest()[:12]


@dataclass(frozen=True)
class _Start:
    """When grading began, by the calendar and by the clock that never steps."""

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
            clocks=clocks(timings),
            samples=samples(timings),
            lab_sha256=lab_digest(lab),
        )


def compile_submission(lab: Lab, submission: Submission, on: Backend) -> Program:
    """The submission compiled, and known to have what the lab asks for. Raises StudentFault."""
    program = built_for(on, compile_source(submission.data, submission.name))
    for kernel in lab.kernels:
        check_kernel(program, kernel)
    for variable in lab.globals:
        check_variable(program, variable)
    return program


def _baseline(
    lab: Lab, checks: Sequence[Check], runs: tuple[CaseRun, ...], how: RunOptions
) -> Mapping[str, Trace]:
    """The baseline's trace on the largest case, when a check compares with it."""
    run = largest(runs, lab.kernels[0].name)
    if run is None or not run.trace.ended or not any(c.options.needs_baseline for c in checks):
        return {}
    return {run.case.name: baseline_trace(lab, run.case, how, cache_folder())}


def _compiled(program: Program) -> Result:
    """Compiling as a check of its own, worth no points; warnings are told with it."""
    summary = f"compiles for {program.architecture}"
    return Result("compile", "pass", 0, 0, summary, findings=program.warnings)


def _stopped(
    checks: Sequence[Check], cases: Sequence[Case], fault: StudentFault | MachineFault,
    on: Backend, quiz: Callable[[], QuizAttempt],
) -> tuple[tuple[Result, ...], tuple[CaseLine, ...]]:  # fmt: skip
    """The results when a fault ended the pipeline. Raises LabFault."""
    try:
        if isinstance(fault, StudentFault):
            return _refused(checks, cases, fault, on, quiz())
    except MachineFault as worse:
        return _failed(checks, cases, worse)
    return _failed(checks, cases, fault)


def _refused(
    checks: Sequence[Check], cases: Sequence[Case], fault: StudentFault, on: Backend,
    paper: QuizAttempt,
) -> tuple[tuple[Result, ...], tuple[CaseLine, ...]]:  # fmt: skip
    """Everything waits for the compiler but the quiz, which needs no kernel."""
    compile_result = Result("compile", "fail", 0, 0, fault.what, findings=fault.findings)
    blocked = blocked_all(checks, "waits for `compile`", on)
    results = (
        award(check, mark(paper)) if check.name == "quiz" else result
        for check, result in zip(checks, blocked, strict=True)
    )
    return (compile_result, *results), _unrun(cases, "blocked")


def _failed(
    checks: Sequence[Check], cases: Sequence[Case], fault: MachineFault
) -> tuple[tuple[Result, ...], tuple[CaseLine, ...]]:
    why = f"{fault.what}; {fault.fix}" if fault.fix else fault.what
    return error_all(checks, why), _unrun(cases, "error")


def _unrun(cases: Sequence[Case], status: Status) -> tuple[CaseLine, ...]:
    return tuple(CaseLine(c.name, c.size, c.visibility, status) for c in cases)


def _case_lines(runs: Sequence[CaseRun], results: Sequence[Result]) -> tuple[CaseLine, ...]:
    """A case passes when its output is right and no error was seen in it."""
    output = next((r.cases for r in results if r.name == "output"), {})

    def status(run: CaseRun) -> Status:
        sound = run.trace.ended and run.computed.ended and not run.errors
        return "pass" if sound and output.get(run.case.name, "pass") == "pass" else "fail"

    return tuple(
        CaseLine(run.case.name, run.case.size, run.case.visibility, status(run)) for run in runs
    )
