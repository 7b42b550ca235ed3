"""Cross-check the simulator with the CUDA toolkit's tools, on request and for no points.

compute-sanitizer checks the launches of the public cases; Nsight Compute counts one launch, and its
counters are reported next to the simulator's of the same launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

from grader import replace
from grader.checks.result import Result
from grader.compile.program import Program
from grader.compile.source import compile_source
from grader.faults import MachineFault, StudentFault
from grader.gpu.tools import require_tool, run_profiler, run_sanitizer
from grader.grading.cases import RunOptions, prepare_cases, run_derivations, select_cases
from grader.grading.pipeline import compile_submission
from grader.grading.run import build_for, run_all
from grader.grading.single_launch import LaunchResult, launch_of, select_kernel
from grader.labs.model import Lab
from grader.launch import Launch, Trace
from grader.submissions.files import Submission
from grader.submissions.launchfile import LaunchFile

NCU, SIM = "ncu", "sim"


def require_tools(*, sanitizer: bool, profile: bool) -> None:
    """Check that the requested tools are installed.

    Raises:
        MachineFault: a tool, or a GPU for it, is missing.
    """
    if sanitizer:
        require_tool("compute-sanitizer", "cuda-sanitizer")
    if profile:
        require_tool("ncu", "nsight-compute")


def cross_checks(
    lab: Lab, submission: Submission, options: RunOptions, *, sanitizer: bool, profile: bool
) -> tuple[Result, ...]:
    """Run the requested tools on a lab's public cases.

    Returns:
        One result worth no points for each tool; none when the file does not compile. A tool that
        fails gives status "error".
    """
    tools = {"sanitizer": sanitizer_result} if sanitizer else {}
    tools |= {"profile": profile_result} if profile else {}
    try:
        program = compile_submission(lab, submission, "gpu")
        launches = public_launches(lab, program, options)
    except StudentFault:
        return ()
    except MachineFault as fault:
        return tuple(_error(name, fault) for name in tools)
    return tuple(
        _result_or_error(name, partial(evaluate, program, launches, options))
        for name, evaluate in tools.items()
    )


def public_launches(lab: Lab, program: Program, options: RunOptions) -> list[Launch]:
    """Return the launches of the public cases whose derived numbers are all right."""
    derived = run_derivations(lab, program, options)
    prepared = prepare_cases(lab, select_cases(lab, "public"), options, derived)
    return [case.launch for case in prepared]


def sanitizer_result(program: Program, launches: Sequence[Launch], options: RunOptions) -> Result:
    """Run compute-sanitizer on the launches; the result fails on any error."""
    findings = run_sanitizer(program, launches, options.limit)
    errors = sum(f.severity == "error" for f in findings)
    count = f"{len(launches)} launch{'es' * (len(launches) != 1)}"
    summary = f"compute-sanitizer: {errors or 'no'} error{'s' * (errors != 1)} in {count}"
    return Result("sanitizer", "fail" if errors else "pass", 0, 0, summary, findings=findings)


def profile_result(program: Program, launches: Sequence[Launch], options: RunOptions) -> Result:
    """Compare both backends' counters of the largest launch.

    Measurements are named "<metric> ncu" and "<metric> sim".
    """
    if not launches:
        return Result("profile", "unjudged", 0, 0, "there is no launch to profile")
    launch = max(launches, key=lambda one: prod(one.grid) * prod(one.block))
    (trace,) = run_all(program, [launch], threads=options.threads, limit=options.limit)
    counters, seconds = compare_counters(program, launch, trace, options.limit)
    time = "" if seconds is None else f", {seconds * 1e6:,.1f} us"
    count = f"{len(counters)} metric{'s' * (len(counters) != 1)}"
    summary = f"Nsight Compute counted {count} of the launch on {launch.name}{time}"
    measurements = {
        f"{metric} {tool}": value
        for metric, pair in counters.items()
        for tool, value in pair.items()
    }
    return Result("profile", "pass", 0, 0, summary, measurements=measurements)


def compare_counters(
    program: Program, launch: Launch, simulated: Trace, limit: float
) -> tuple[Mapping[str, Mapping[str, float]], float | None]:
    """Measure a simulated launch with Nsight Compute.

    Returns:
        {metric: {"sim": value, "ncu": value}} for every simulated counter that the hardware also
        has, and the kernel's time on the GPU in seconds (None where it was not measured).

    Raises:
        MachineFault: Nsight Compute fails or may not read the counters.
    """
    profile = run_profiler(program, launch, simulated.counters, limit)
    if not profile.counters:
        raise MachineFault(
            "Nsight Compute counted nothing",
            fix="let this user read the GPU's counters: NVreg_RestrictProfilingToAdminUsers=0",
        )
    pairs = {m: {SIM: simulated.counters[m], NCU: value} for m, value in profile.counters.items()}
    return pairs, profile.seconds


def cross_check_launch(
    submission: Submission,
    launch_file: LaunchFile,
    options: RunOptions,
    result: LaunchResult,
    *,
    sanitizer: bool,
    profile: bool,
) -> tuple[LaunchResult, Mapping[str, Mapping[str, float]]]:
    """Run the requested tools on the one launch of `grader run`.

    Returns:
        The result with compute-sanitizer's findings added, and both backends' counters by metric
        (empty without `profile`).

    Raises:
        MachineFault: a tool fails.
        StudentFault: nvcc does not compile the file.
    """
    program = build_for("gpu", compile_source(submission.data, submission.name))
    kernel = select_kernel(program, launch_file)
    launch = launch_of(kernel, launch_file)
    if sanitizer:
        findings = (*result.trace.findings, *run_sanitizer(program, [launch], options.limit))
        result = replace(result, trace=replace(result.trace, findings=findings))
    if not profile:
        return result, {}
    trace = result.trace
    if trace.backend == "gpu":
        (trace,) = run_all(program, [launch], threads=options.threads, limit=options.limit)
    return result, compare_counters(program, launch, trace, options.limit)[0]


def _result_or_error(name: str, evaluate: Callable[[], Result]) -> Result:
    try:
        return evaluate()
    except MachineFault as fault:
        return _error(name, fault)


def _error(name: str, fault: MachineFault) -> Result:
    summary = f"{fault.what}; {fault.fix}" if fault.fix else fault.what
    return Result(name, "error", 0, 0, summary)
