"""Time a submission's kernel against the lab's baseline, as the speed check asks: -> Timings.

Every timed output is verified. A timed launch is large and there are many of them, so a lab may
define in reference.py how to verify an output without computing it again:

    verify(dims, inputs, outputs, rng) -> str      empty when right, else one line: what is wrong

`rng` gets a new secret seed for every call, so a verification may use random combinations of the
output (Freivalds' check). Without `verify`, the output is compared with `expected()`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader import replace
from grader.checks.result import CaseRun, Evidence
from grader.checks.speed import Options, thresholds_for, timed_case, timed_size
from grader.checks.suite import Check, evaluate_all
from grader.compile.program import Program
from grader.faults import LabFault, MachineFault
from grader.gpu.speedup import Pair, Timing, TimingPlan, Verify, estimate
from grader.grading.baseline import baseline_program
from grader.grading.cases import RunOptions
from grader.grading.run import run_all
from grader.labs.cases import array_shapes, prepare_launches
from grader.labs.model import Band, Case, Expected, Lab, PreparedCase
from grader.labs.reference import (
    load_reference,
    make_expected,
    prepare_processes,
    verify_outputs,
)
from grader.labs.reference_child import Made
from grader.launch import Array, Launch

if TYPE_CHECKING:
    from grader.gpu.process import ReadyChildren

Arrays = Mapping[str, NDArray[Any]]


def time_kernel(
    program: Program, plan: TimingPlan, verify: Verify, ready: ReadyChildren | None
) -> Timing:
    """Time pairs of launches as `grader.gpu.timing.time_kernel` does, which only a GPU needs."""
    from grader.gpu import timing

    return timing.time_kernel(program, plan, verify, ready)


def verifier(lab: Lab, case: Case) -> Verify:
    """Return the function that verifies the timed outputs of a case.

    It is safe to call from several threads. The case's dims must all be known.

    Raises:
        LabFault: the lab's reference is broken; the returned function raises it too.
    """
    path = lab.folder / "reference.py"
    shapes = array_shapes(lab, case)
    with load_reference(path):  # its mistakes are reported before anything is timed
        pass

    def verify(inputs: Mapping[str, NDArray[Any] | Made], outputs: Arrays) -> str:
        with load_reference(path) as reference:
            if "verify" in reference.functions:
                draw = np.random.default_rng(secrets.randbits(128))
                return verify_outputs(lab, case, inputs, outputs, draw, reference)
            expected = make_expected(lab, case, shapes, inputs, reference)
        problems = (describe_difference(n, outputs[n], right) for n, right in expected.items())
        return next((problem for problem in problems if problem), "")

    return verify


def describe_difference(name: str, output: NDArray[Any], right: Expected) -> str:
    """Describe how an output differs from the expected one; empty when it does not.

    As in the output check, NaN is never right, and an infinity only where it is expected.
    """
    if output.shape != right.value.shape:
        raise LabFault(f"{name} is {output.shape}, expected() gives {right.value.shape}")
    got = output.astype(np.float64)
    with np.errstate(invalid="ignore"):
        within = np.abs(got - right.value) <= right.bound
    wrong = ~(within | (got == right.value))
    count = int(np.count_nonzero(wrong))
    if not count:
        return ""
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = ", ".join(str(int(i)) for i in at)
    return (
        f"{count} of {wrong.size} elements of {name}, the first {name}[{place}] = "
        f"{output[at]:g}, expected {right.value[at]:g}"
    )


SAMPLED_BLOCKS = 8
"""Blocks of the timed launch that the simulator runs."""

MIN_LIMIT = 5.0
"""Least time limit of a timed launch in seconds, however short the cases' limit is: the timed size
is larger, and the baseline is slow."""

MAX_ATTEMPTS = 2
"""A doubtful measurement is repeated once; the last one counts."""


def with_timings(
    evidence: Evidence,
    checks: Sequence[Check],
    run_options: RunOptions,
    device: str,
    recorded: Sequence[Timing] | None = None,
) -> Evidence:
    """Add what the lab's speed check needs to the evidence.

    These are the timings, and a few blocks of the timed launch run by the simulator, since a kernel
    may branch on size. A system error during timing affects the speed check only.

    Args:
        evidence: the evidence so far.
        checks: the lab's checks.
        run_options: how to run kernels.
        device: the GPU's name, which selects the thresholds.
        recorded: timings to use in place of a measurement; empty to use none.

    Returns:
        The evidence, unchanged when the lab has no speed check or it is blocked.

    Raises:
        LabFault: the baseline or the lab's reference fails.
        StudentFault: nvcc does not compile the file.
    """
    options = _speed_options(checks, evidence)
    case = timed_case(options, evidence) if options else None
    if options is None or case is None:
        return evidence
    thresholds = thresholds_for(options, evidence.lab.bands, device)
    prepared = run_options.timed.result() if run_options.timed else None
    plan = timing_plan(evidence.lab, case, options, thresholds, run_options.seed, prepared)
    plan = replace(plan, limit=min(max(run_options.limit, MIN_LIMIT), plan.limit))
    try:
        with ThreadPoolExecutor(
            max_workers=1
        ) as executor:  # the GPU and the simulator run in parallel
            simulated = executor.submit(simulate_sample, evidence.program, case, plan, run_options)
            timings = tuple(recorded or ())
            if recorded is None:
                timings = measure(evidence, case, plan, run_options.ready)
        return replace(evidence, sampled=simulated.result(), timings=timings)
    except MachineFault as fault:
        return replace(evidence, timing_error=f"{fault.what}; {fault.fix}".rstrip("; "))


def _speed_options(checks: Sequence[Check], evidence: Evidence) -> Options | None:
    """Return the options of the lab's speed check; None without one, or when it is blocked."""
    first = next((c.options for c in checks if isinstance(c.options, Options)), None)
    if first is None:
        return None
    results = zip(checks, evaluate_all(checks, evidence), strict=True)
    is_blocked = any(r.status == "blocked" for c, r in results if c.options is first)
    return None if is_blocked else first


def simulate_sample(
    program: Program, case: Case, plan: TimingPlan, run_options: RunOptions
) -> tuple[CaseRun, ...]:
    """Run a few blocks of the timed launch in the simulator, as one more case.

    Raises:
        MachineFault: the simulator fails.
    """
    (trace,) = run_all(
        program,
        [plan.launch],
        threads=run_options.threads,
        limit=run_options.limit,
        steps=run_options.steps,
        sample=SAMPLED_BLOCKS,
    )
    return (CaseRun(case, PreparedCase(case, plan.launch, {}), trace),)


def measure(
    evidence: Evidence, case: Case, plan: TimingPlan, ready: ReadyChildren | None = None
) -> tuple[Timing, ...]:
    """Measure on this machine's GPU, a second time when the first measurement is doubtful.

    `ready` may hold a child for the first measurement.

    Raises:
        MachineFault: the GPU or a tool fails.
        LabFault: the baseline fails.
        StudentFault: nvcc does not compile the file.
    """
    from grader.gpu.timing_verification import VERIFIERS

    verify, timings = verifier(evidence.lab, case), list[Timing]()
    with ThreadPoolExecutor(max_workers=1) as executor:
        executor.submit(prepare_processes, VERIFIERS)  # they start while the GPU is timed
        while len(timings) < MAX_ATTEMPTS:
            timings.append(time_kernel(evidence.program, plan, verify, ready))
            if not is_doubtful(timings[-1], Band(plan.minimum, plan.full)):
                break
    return tuple(timings)


def with_launches(
    options: RunOptions, lab: Lab, checks: Sequence[Check], background: Executor
) -> RunOptions:
    """Begin to prepare the launches that a GPU will time, where the lab names their size."""
    speed = next((c.options for c in checks if isinstance(c.options, Options)), None)
    if options.on != "gpu" or speed is None or (case := timed_size(speed)) is None:
        return options
    return replace(options, timed=background.submit(prepare_launches, lab, case, options.seed))


def timing_plan(
    lab: Lab, case: Case, options: Options, thresholds: Band, seed: bytes,
    prepared: tuple[Launch, Launch] | None = None,
) -> TimingPlan:  # fmt: skip
    """Plan one measurement, of the launches that were `prepared` if they were.

    `seed` determines the base of the inputs. The inputs of each timed launch are made from the base
    with a new secret seed, so that no submission can know them.

    Raises:
        LabFault: `fixed` names an argument that is not an array, or the baseline does not compile.
    """
    own, baseline = prepared or prepare_launches(lab, case, seed)
    names = [array.name for array in own.args if isinstance(array, Array)]
    if lost := [name for name in options.fixed if name not in names]:
        what = f"speed: fixed names `{lost[0]}`, which is not an array of the kernel"
        raise LabFault(what, where=lab.where, fix=f"its arrays are {', '.join(names)}")
    return TimingPlan(
        baseline_program(lab),
        baseline,
        own,
        thresholds.minimum,
        thresholds.full,
        seed=secrets.token_bytes(16),
        budget=options.budget,
        cublas=options.product,
        fixed=options.fixed,
    )


def is_doubtful(timing: Timing, thresholds: Band) -> bool:
    """Return whether to measure again: no error, but the numbers do not decide the points."""
    if timing.findings or not timing.ended or not timing.ratios:
        return False
    return estimate(timing.ratios).is_doubtful(thresholds.minimum, thresholds.full)


def timing_samples(timings: Sequence[Timing]) -> Mapping[str, tuple[float, ...]]:
    """Return every pair of every measurement by name, in seconds.

    `throttled` is 1 where the clock had dropped and the pair does not count.
    """
    samples: dict[str, tuple[float, ...]] = {}
    for number, timing in enumerate(timings, start=1):
        baseline, submission, throttled = _sample_names(number)
        samples[baseline] = tuple(p.baseline for p in timing.pairs)
        samples[submission] = tuple(p.submission for p in timing.pairs)
        samples[throttled] = tuple(float(p.throttled) for p in timing.pairs)
    return samples


def timings_from_samples(
    samples: Mapping[str, Sequence[float]], device: str = ""
) -> tuple[Timing, ...]:
    """Rebuild the measurements of timing_samples: their pairs only.

    Raises:
        LabFault: the samples of a measurement are not pairs of times.
    """
    timings: list[Timing] = []
    while (names := _sample_names(len(timings) + 1))[0] in samples:
        columns = [samples.get(name, ()) for name in names]
        lengths = {len(values) for values in columns}
        if len(lengths) != 1 or any(seconds <= 0 for seconds in (*columns[0], *columns[1])):
            what = f"the samples of measurement {len(timings) + 1} are not pairs of times"
            raise LabFault(what, where="provenance.samples")
        pairs = tuple(Pair(a, b, bool(drop)) for a, b, drop in zip(*columns, strict=True))
        timings.append(Timing(pairs, device=device))
    return tuple(timings)


def _sample_names(number: int) -> tuple[str, str, str]:
    """Return the names of the samples of one measurement."""
    return (f"speed.{number}.baseline", f"speed.{number}.submission", f"speed.{number}.throttled")


def clock_range(timings: Sequence[Timing]) -> Mapping[str, int] | None:
    """Return the lowest and highest measured clock in MHz; None when none was measured."""
    clocks = [mhz for timing in timings for mhz in timing.clocks if mhz]
    return {"sm_mhz_low": min(clocks), "sm_mhz_high": max(clocks)} if clocks else None
