"""A submission's kernel timed beside the lab's baseline, as its speed check asks: -> Timings."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.result import CaseRun, Evidence
from grader.checks.speed import Options, band, timed_case
from grader.checks.suite import Check, evaluate_all
from grader.compile.program import Program
from grader.faults import LabFault, MachineFault
from grader.gpu.speedup import Pair, Timing, TimingPlan, Verify, estimate
from grader.grading.baseline import baseline_program
from grader.grading.cases import RunOptions
from grader.grading.run import run_all, time_kernel
from grader.labs.cases import array_shapes, prepare_launches
from grader.labs.model import Band, Case, Expected, Lab, PreparedCase
from grader.labs.reference import load_reference, make_expected, make_verdict
from grader.launch import Array

# Verifies what a timed launch left behind: by the lab's own `verify()`, else by `expected()`.
#
# A timed launch is large and there are many of them, so a lab may say how its output is verified
# without computing it all again. In reference.py:
#
#     verify(dims, inputs, outputs, rng) -> str      empty when right, else what is wrong, one line
#
# `rng` is drawn afresh for every call from a seed that nobody else knows: a check that looks at
# random combinations of the output may use it.

Arrays = Mapping[str, NDArray[Any]]


def verifier(lab: Lab, case: Case) -> Verify:
    """The function that verifies the timed outputs of `case`, whose dims are all known; it may be
    called from several threads at once. Raises LabFault, and so does the function.
    """
    module = load_reference(lab.folder / "reference.py")
    shapes = array_shapes(lab, case)

    def verify(inputs: Arrays, outputs: Arrays) -> str:
        if hasattr(module, "verify"):
            draw = np.random.default_rng(secrets.randbits(128))
            return make_verdict(lab, case, inputs, outputs, draw, module)
        due = make_expected(lab, case, shapes, inputs, module)
        said = (difference(name, outputs[name], right) for name, right in due.items())
        return next((text for text in said if text), "")

    return verify


def difference(name: str, output: NDArray[Any], right: Expected) -> str:
    """What is wrong with an output; empty when it is right. NaN never is; an infinity is where it
    is due, as in the output check.
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


BLOCKS = 8
"""Blocks of the timed launch that the simulator watches."""

SHORTEST_LIMIT = 5.0
"""Seconds that a timed launch may take at least, however short the cases' limit is: the timed size
is larger, and the baseline slow."""

ATTEMPTS = 2
"""A measurement that leaves a doubt is made once more; the last one counts."""


def timed(
    evidence: Evidence,
    checks: Sequence[Check],
    how: RunOptions,
    device: str,
    recorded: Sequence[Timing] | None = None,
) -> Evidence:
    """The evidence with what the lab's speed check needs, if it can be judged at all: timings, and
    a few blocks of the timed launch watched by the simulator, since a kernel may branch on size.
    Nothing is measured where there are `recorded` timings, or where they are none on purpose.

    A machine that fails at them costs nothing else. Raises LabFault and StudentFault.
    """
    options = _needed(checks, evidence)
    case = timed_case(options, evidence) if options else None
    if options is None or case is None:
        return evidence
    due = band(options, evidence.lab.bands, device)
    plan = timing_plan(evidence.lab, case, options, due, how.seed)
    plan = replace(plan, limit=min(max(how.limit, SHORTEST_LIMIT), plan.limit))
    try:
        with ThreadPoolExecutor(max_workers=1) as beside:  # the simulator works while a GPU does
            seen = beside.submit(sampled, evidence.program, case, plan, how)
            told = timings(evidence, case, plan) if recorded is None else tuple(recorded)
        return replace(evidence, sampled=seen.result(), timings=told)
    except MachineFault as fault:
        return replace(evidence, untimed=f"{fault.what}; {fault.fix}".rstrip("; "))


def _needed(checks: Sequence[Check], evidence: Evidence) -> Options | None:
    """What the lab's speed check asks for; None without one, or where it waits for another."""
    first = next((c.options for c in checks if isinstance(c.options, Options)), None)
    if first is None:
        return None
    results = zip(checks, evaluate_all(checks, evidence), strict=True)
    waits = any(r.status == "blocked" for c, r in results if c.options is first)
    return None if waits else first


def sampled(program: Program, case: Case, plan: TimingPlan, how: RunOptions) -> tuple[CaseRun, ...]:
    """The timed launch as one more case, of which a few blocks run. Raises MachineFault."""
    (trace,) = run_all(
        program,
        [plan.launch],
        threads=how.threads,
        limit=how.limit,
        steps=how.steps,
        sample=BLOCKS,
    )
    return (CaseRun(case, PreparedCase(case, plan.launch, {}), trace),)


def timings(evidence: Evidence, case: Case, plan: TimingPlan) -> tuple[Timing, ...]:
    """The measurements on this machine's GPU; one more when the first leaves a doubt. Raises
    MachineFault, LabFault and StudentFault (nvcc refuses the file).
    """
    made: list[Timing] = []
    while len(made) < ATTEMPTS:
        made.append(time_kernel(evidence.program, plan, verifier(evidence.lab, case)))
        if not is_doubtful(made[-1], Band(plan.minimum, plan.full)):
            break
    return tuple(made)


def timing_plan(lab: Lab, case: Case, options: Options, due: Band, seed: bytes) -> TimingPlan:
    """The plan of one measurement. `seed` draws the base of the inputs; what each timed launch is
    given of it, nobody can know before.
    """
    own, baseline = prepare_launches(lab, case, seed)
    names = [array.name for array in own.args if isinstance(array, Array)]
    if lost := [name for name in options.fixed if name not in names]:
        what = f"speed: fixed names `{lost[0]}`, which is no array of the kernel"
        raise LabFault(what, where=lab.where, fix=f"its arrays are {', '.join(names)}")
    return TimingPlan(
        baseline_program(lab),
        baseline,
        own,
        due.minimum,
        due.full,
        seed=secrets.token_bytes(16),
        budget=options.budget,
        cublas=options.product,
        fixed=options.fixed,
    )


def is_doubtful(timing: Timing, due: Band) -> bool:
    """Whether to measure once more: nothing went wrong, and the numbers do not tell enough."""
    if timing.findings or not timing.ended or not timing.ratios:
        return False
    return estimate(timing.ratios).is_doubtful(due.minimum, due.full)


def samples(timings: Sequence[Timing]) -> Mapping[str, tuple[float, ...]]:
    """Every pair of every measurement, in seconds, by name; `throttled` is 1 where the clock had
    dropped and the pair does not count.
    """
    told: dict[str, tuple[float, ...]] = {}
    for number, timing in enumerate(timings, start=1):
        baseline, submission, throttled = _names(number)
        told[baseline] = tuple(p.baseline for p in timing.pairs)
        told[submission] = tuple(p.submission for p in timing.pairs)
        told[throttled] = tuple(float(p.throttled) for p in timing.pairs)
    return told


def from_samples(samples: Mapping[str, Sequence[float]], device: str = "") -> tuple[Timing, ...]:
    """The measurements that `samples` told of: their pairs and no more. Raises LabFault when the
    samples do not belong together.
    """
    made: list[Timing] = []
    while (names := _names(len(made) + 1))[0] in samples:
        held = [samples.get(name, ()) for name in names]
        if len({len(values) for values in held}) != 1 or any(v <= 0 for v in (*held[0], *held[1])):
            what = f"the samples of measurement {len(made) + 1} are not pairs of times"
            raise LabFault(what, where="provenance.samples")
        pairs = tuple(Pair(a, b, bool(drop)) for a, b, drop in zip(*held, strict=True))
        made.append(Timing(pairs, device=device))
    return tuple(made)


def _names(number: int) -> tuple[str, str, str]:
    """What the samples of one measurement are called."""
    return (f"speed.{number}.baseline", f"speed.{number}.submission", f"speed.{number}.throttled")


def clocks(timings: Sequence[Timing]) -> Mapping[str, int] | None:
    """The lowest and highest clock of the multiprocessors seen, in MHz; None when none was."""
    seen = [mhz for timing in timings for mhz in timing.clocks if mhz]
    return {"sm_mhz_low": min(seen), "sm_mhz_high": max(seen)} if seen else None
