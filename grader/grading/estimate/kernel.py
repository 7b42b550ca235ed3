"""Estimate a submission's time on the GPUs that were measured: -> TimeEstimates, never points.

The work of the launch that the lab's speed check times is counted on the simulator, from a sample
of its blocks. The speedup is that over the baseline's measured time, where the machine file has one
for this baseline and this launch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from grader.checks.speed import TIMED, Options
from grader.checks.suite import plan
from grader.compile.cache import cache_key, load, store, user_folder
from grader.compile.program import Program
from grader.compile.signature import with_lab_kernels
from grader.compile.source import compile_source
from grader.faults import MachineFault, StudentFault
from grader.grading.baseline import simulator_stamp
from grader.grading.cases import RunOptions
from grader.grading.cost import TimeEstimate
from grader.grading.estimate.machine import KnownMachine, known_machines
from grader.grading.estimate.model import LIMITS, NotEstimated, estimate
from grader.grading.run import simulator_limits
from grader.labs.cases import prepare_launches
from grader.labs.files import file_digest
from grader.labs.model import Case, Lab
from grader.labs.reading import lab_digest
from grader.launch import Launch, pack_launches
from grader.sandbox.call import SandboxFailure, run_sandboxed
from grader.simulator.exchange import pack_program
from grader.simulator.workload import Work
from grader.submissions.files import Submission

COUNT = "grader.simulator.work:run"

FORMAT = 1
"""The format of the work that the cache keeps."""


class NoWork(Exception):
    """The work of a launch is not known; the message says why."""


def timed_launch(lab: Lab) -> Case | None:
    """Return the case that the lab's speed check times; None where it names no size."""
    options = next((c.options for c in plan(lab) if isinstance(c.options, Options)), None)
    if options is None or not options.dims:
        return None
    return Case(TIMED, options.dims, options.kind)


def baseline_key(lab: Lab, case: Case) -> str:
    """Return what a measured time of the baseline belongs to: its file and its launch."""
    dims = json.dumps(dict(case.dims), sort_keys=True)
    return cache_key(file_digest(lab.baseline), dims, case.kind)[:16]


def count_work(program: Program, launch: Launch, options: RunOptions) -> Work:
    """Count the work of a launch in a sandboxed child.

    Args:
        program: The program.
        launch: The launch, at its full size.
        options: How to run it.

    Raises:
        NoWork: The work cannot be counted.
        MachineFault: The simulator fails.
    """
    rows, arrays = pack_launches([launch])
    threads = options.threads or 1
    request = {
        "program": pack_program(program),
        "launches": rows,
        "limit": options.limit,
        "steps": options.steps,
        "threads": threads,
    }
    limits = simulator_limits(program, [launch], options.limit, threads)
    try:
        reply = run_sandboxed(COUNT, request, arrays, limits=limits).value
    except SandboxFailure as death:
        raise NoWork("the simulation was stopped: it takes too long at this size") from death
    if "work" not in reply:
        raise NoWork(str(reply["problem"]))
    return Work(**reply["work"])


def estimate_submission(
    lab: Lab, submission: Submission, options: RunOptions
) -> tuple[TimeEstimate, ...]:
    """Estimate a submission's timed launch on each known machine; none where that is not possible.

    Args:
        lab: The lab.
        submission: The submission, whose output is right.
        options: How to run the simulator.

    Raises:
        LabFault: A machine file cannot be read.
    """
    machines, case = tuple(known_machines(lab)), timed_launch(lab)
    if not machines or case is None:
        return ()
    try:
        compiled = compile_source(submission.data, submission.name, wanted=lab.kernels)
        work = _known_work(lab, case, with_lab_kernels(compiled, lab.kernels[:1]), options)
    except (NoWork, StudentFault, MachineFault):  # the grade stands without an estimate
        return ()
    return tuple(estimates_of(work, machines, lab, case))


def _known_work(lab: Lab, case: Case, program: Program, options: RunOptions) -> Work:
    """Count the work of the timed launch, or take it from the user's cache."""
    folder, digest = user_folder(), lab_digest(lab)
    key = cache_key("work", FORMAT, program.ptx, digest, options.seed.hex(), simulator_stamp())
    if (known := load(folder, key)) is not None:
        return Work(**known)
    launch, _ = prepare_launches(lab, case, options.seed)
    work = count_work(program, launch, options)
    store(folder, key, asdict(work))
    return work


def estimates_of(
    work: Work, machines: Iterable[KnownMachine], lab: Lab, case: Case
) -> Iterator[TimeEstimate]:
    """Yield the range of times on each machine that the launch fits."""
    for known in machines:
        try:
            made = estimate(work, known.machine, known.fit)
        except NotEstimated:
            continue
        low, high = made.seconds * known.errors.low, made.seconds * known.errors.high
        base, key = known.baselines.get(lab.name, (0.0, ""))
        speedups = (base / high, base / low) if key == baseline_key(lab, case) else (None, None)
        yield TimeEstimate(
            known.machine.name, low, high, LIMITS[made.binding], known.errors.model, *speedups
        )
