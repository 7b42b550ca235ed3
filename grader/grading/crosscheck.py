"""A second opinion on a submission from the toolkit's own tools: asked for, worth no points.

compute-sanitizer's findings stand beside the simulator's, Nsight Compute's counters beside the
simulator's of the same launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod

from grader.checks.result import Result
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import MachineFault, StudentFault
from grader.gpu import tools as profile
from grader.gpu import tools as sanitizer
from grader.gpu.tools import required
from grader.grading.cases import RunOptions, chosen, run_derivations
from grader.grading.run import built_for, run_all
from grader.grading.single_launch import Ran
from grader.grading.single_launch import chosen as chosen_kernel
from grader.labs.cases import prepare_case
from grader.labs.model import Lab
from grader.launch import Launch, Trace
from grader.submissions.files import Submission
from grader.submissions.launchfile import LaunchFile

NCU, SIM = "ncu", "sim"


def ready_for(*, sanitizer: bool, profile: bool) -> None:
    """Raises MachineFault when this machine lacks a tool that is asked for."""
    if sanitizer:
        required("compute-sanitizer", "cuda-sanitizer")
    if profile:
        required("ncu", "nsight-compute")


def cross_checks(
    lab: Lab, submission: Submission, how: RunOptions, *, sanitized: bool, profiled: bool
) -> tuple[Result, ...]:
    """What the tools say of a lab's public cases: results worth no points, none for a file that
    does not compile. A tool that fails is an error, which costs nothing.
    """
    asked = {"sanitizer": sanitizer_result} if sanitized else {}
    asked |= {"profile": profile_result} if profiled else {}
    try:
        program = built_for("gpu", compile_source(submission.data, submission.name))
        launches = public_launches(lab, program, how)
    except StudentFault:
        return ()
    except MachineFault as fault:
        return tuple(_error(name, fault) for name in asked)
    return tuple(
        _guarded(name, partial(evaluate, program, launches, how))
        for name, evaluate in asked.items()
    )


def public_launches(lab: Lab, program: Program, how: RunOptions) -> list[Launch]:
    """The public cases' launches, those left out that need a number which the student got wrong."""
    derived = run_derivations(lab, program, how)
    answers = {name: answer for name, (_, answer) in derived.items() if answer is not None}
    ready = [
        case
        for case in chosen(lab, "public")
        if all(name in answers for name in case.derived.values())
    ]
    return [prepare_case(lab, case, how.seed, answers).launch for case in ready]


def sanitizer_result(program: Program, launches: Sequence[Launch], how: RunOptions) -> Result:
    """compute-sanitizer's findings in the launches; it fails when one of them is an error."""
    found = sanitizer.sanitized(program, launches, how.limit)
    errors = sum(f.severity == "error" for f in found)
    what = f"{len(launches)} launch{'es' * (len(launches) != 1)}"
    said = f"compute-sanitizer: {errors or 'no'} error{'s' * (errors != 1)} in {what}"
    return Result("sanitizer", "fail" if errors else "pass", 0, 0, said, findings=found)


def profile_result(program: Program, launches: Sequence[Launch], how: RunOptions) -> Result:
    """Both backends' counters of the largest launch, as "<metric> ncu" and "<metric> sim"."""
    if not launches:
        return Result("profile", "unjudged", 0, 0, "there is no launch to profile")
    launch = max(launches, key=lambda one: prod(one.grid) * prod(one.block))
    (trace,) = run_all(program, [launch], threads=how.threads, limit=how.limit)
    seen, seconds = beside(program, launch, trace, how.limit)
    time = "" if seconds is None else f", {seconds * 1e6:,.1f} us"
    what = f"{len(seen)} metric{'s' * (len(seen) != 1)}"
    said = f"Nsight Compute counted {what} of the launch on {launch.name}{time}"
    measurements = {f"{m} {who}": value for m, pair in seen.items() for who, value in pair.items()}
    return Result("profile", "pass", 0, 0, said, measurements=measurements)


def beside(
    program: Program, launch: Launch, simulated: Trace, limit: float
) -> tuple[Mapping[str, Mapping[str, float]], float | None]:
    """{metric: {"sim", "ncu"}} for every counter of a simulated launch that the hardware has too,
    and the kernel's time there in seconds. Raises MachineFault.
    """
    seen = profile.profiled(program, launch, simulated.counters, limit)
    if not seen.counters:
        raise MachineFault(
            "Nsight Compute counted nothing",
            fix="open the GPU's counters to this user: NVreg_RestrictProfilingToAdminUsers=0",
        )
    pairs = {m: {SIM: simulated.counters[m], NCU: value} for m, value in seen.counters.items()}
    return pairs, seen.seconds


def second_opinion(
    submission: Submission,
    asked: LaunchFile,
    how: RunOptions,
    ran: Ran,
    *,
    sanitized: bool,
    profiled: bool,
) -> tuple[Ran, Mapping[str, Mapping[str, float]]]:
    """One launch of `grader run`: with compute-sanitizer's findings behind its own, and both
    backends' counters by metric. Raises MachineFault, StudentFault.
    """
    program = built_for("gpu", compile_source(submission.data, submission.name))
    kernel = chosen_kernel(program, asked)
    launch = asked.launch(kernel.name, tuple(parameter.name for parameter in kernel.parameters))
    if sanitized:
        found = sanitizer.sanitized(program, [launch], how.limit)
        ran = replace(ran, trace=replace(ran.trace, findings=(*ran.trace.findings, *found)))
    if not profiled:
        return ran, {}
    trace = ran.trace
    if trace.backend == "gpu":
        (trace,) = run_all(program, [launch], threads=how.threads, limit=how.limit)
    return ran, beside(program, launch, trace, how.limit)[0]


def _guarded(name: str, evaluate: Callable[[], Result]) -> Result:
    try:
        return evaluate()
    except MachineFault as fault:
        return _error(name, fault)


def _error(name: str, fault: MachineFault) -> Result:
    why = f"{fault.what}; {fault.fix}" if fault.fix else fault.what
    return Result(name, "error", 0, 0, why)
