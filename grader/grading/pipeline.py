"""One submission, graded: read -> compile -> run the cases -> check -> score."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from grader import __version__
from grader.checks.quiz import mark
from grader.checks.result import CaseRun, Evidence, Result, Status, largest
from grader.checks.suite import Check, award, blocked_all, error_all, judge_all, plan
from grader.compile.program import Program
from grader.compile.signature import check_kernel, check_variable
from grader.compile.source import compile_source
from grader.faults import MachineFault, StudentFault
from grader.feedback.localization import blamed
from grader.gpu.speedup import Timing
from grader.grading.baseline import baseline_trace, cache_folder
from grader.grading.cases import STEPS as STEP_LIMIT
from grader.grading.cases import Backend, How, chosen, run_cases
from grader.grading.prefetch import begin
from grader.grading.quiz import open_paper
from grader.grading.record import CaseLine, Grade, Provenance, total
from grader.grading.run import built_for
from grader.grading.timing import clocks, samples, timed
from grader.labs.model import Case, Lab
from grader.labs.quiz import AnswerSheet, Paper
from grader.labs.reading import lab_digest
from grader.launch import Trace
from grader.submissions.files import Submission

__all__ = ["Grade", "Progress", "grade", "refusal", "seed_id"]

Progress = Callable[[str, int, int], None]
"""Called before each step with its name, its number from 1, and how many there are."""

STEPS = ("compile", "run", "check")
TIMED_STEPS = ("compile", "run", "time", "check")


def grade(
    lab: Lab, submission: Submission, *, on: Backend = "sim",
    visibility: Literal["public", "all"] = "public", seed: bytes = b"",
    threads: int | None = None, limit: float = 20.0, step_limit: int = STEP_LIMIT,
    student: str = "", answers: AnswerSheet | None = None,
    recorded: Sequence[Timing] | None = None,
    progress: Progress = lambda step, number, steps: None,
) -> Grade:  # fmt: skip
    """The grade of one submission on one backend.

    `seed` draws the cases' inputs, `limit` is in seconds a launch, `step_limit` in warp
    instructions a block on the simulator; `answers` are those to the quiz, which is left out of
    what is judged when there are none to mark. With `recorded` it is judged as on a GPU, wherever
    it runs, and those times are judged instead of new ones. A submission that does not compile is
    graded with 0 points and its findings; a fault of the machine gives an incomplete grade that
    costs no points. Raises LabFault.
    """
    started = _Start(datetime.now(UTC), time.monotonic())
    checks = plan(lab)
    cases = chosen(lab, visibility)
    how = How(on, seed, threads, limit, step_limit)
    judged: Backend = on if recorded is None else "gpu"
    steps = TIMED_STEPS if judged == "gpu" else STEPS
    toolchain: dict[str, str] = {}
    timings: tuple[Timing, ...] = ()
    counted: CaseRun | None = None
    printed = ("", "")
    with ThreadPoolExecutor(max_workers=3) as beside:
        paper = beside.submit(open_paper, lab, answers, how)
        begin(beside, lab, checks, cases, how)
        try:
            progress("compile", 1, len(steps))
            program = _program(lab, submission, on)
            toolchain |= program.toolchain
            progress("run", 2, len(steps))
            runs = run_cases(lab, program, cases, how)
            toolchain |= {k: v for run in runs for k, v in run.computed.toolchain.items()}
            printed = _printed(runs)
            base = _baseline(lab, checks, runs, how)
            evidence = Evidence(lab, program, runs, judged, base, paper=paper.result())
            evidence = blamed(evidence, how)
            if judged == "gpu":
                device = recorded[-1].device if recorded else toolchain.get("device", "")
                progress("time", 3, len(steps))
                evidence = timed(evidence, checks, how, device, recorded)
                timings = evidence.timings
            progress("check", len(steps), len(steps))
            results = (_compiled(program), *judge_all(checks, evidence))
            lines = _case_lines(runs, results)
            counted = evidence.largest
        except (StudentFault, MachineFault) as fault:
            results, lines = _unjudged(checks, cases, fault, judged, paper)
    provenance = started.provenance(lab, seed, toolchain, timings)
    return Grade(
        lab.name, lab.title, submission.name, student, submission.sha256, judged, total(results),
        results, lines, provenance,
        *((counted.trace.lines, counted.case.name) if counted else ((), "")), printed,
    )  # fmt: skip


def _printed(runs: Sequence[CaseRun]) -> tuple[str, str]:
    """The first public case in which the kernel prints, and what."""
    told = ((r.case.name, r.computed.printed) for r in runs if r.case.visibility == "public")
    return next((found for found in told if found[1]), ("", ""))


def refusal(
    lab: Lab, name: str, fault: StudentFault, *, sha256: str = "", on: Backend = "sim",
    student: str = "", answers: AnswerSheet | None = None,
) -> Grade:  # fmt: skip
    """The grade of a file that could not even be read as source: no points beside the quiz's,
    and why. Raises LabFault and MachineFault."""
    started = _Start(datetime.now(UTC), time.monotonic())
    paper = open_paper(lab, answers, How(on))
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


def _program(lab: Lab, submission: Submission, on: Backend) -> Program:
    """The submission compiled, and known to have what the lab asks for. Raises StudentFault."""
    program = built_for(on, compile_source(submission.data, submission.name))
    for kernel in lab.kernels:
        check_kernel(program, kernel)
    for variable in lab.globals:
        check_variable(program, variable)
    return program


def _baseline(
    lab: Lab, checks: Sequence[Check], runs: tuple[CaseRun, ...], how: How
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


def _unjudged(
    checks: Sequence[Check], cases: Sequence[Case], fault: StudentFault | MachineFault,
    on: Backend, paper: Future[Paper],
) -> tuple[tuple[Result, ...], tuple[CaseLine, ...]]:  # fmt: skip
    """What there is to say when a fault ended the grading. Raises LabFault."""
    try:
        if isinstance(fault, StudentFault):
            return _refused(checks, cases, fault, on, paper.result())
    except MachineFault as worse:
        return _failed(checks, cases, worse)
    return _failed(checks, cases, fault)


def _refused(
    checks: Sequence[Check], cases: Sequence[Case], fault: StudentFault, on: Backend,
    paper: Paper,
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
    why = f"{fault.what}; {fault.mend}" if fault.mend else fault.what
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
