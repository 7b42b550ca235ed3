"""Calibrate the thresholds of speed of a lab on this GPU, from timings of its own kernels.

The timed files are the baseline and `wrong/too-slow-*.cu`, which must fail, the intermediate
versions `rungs/*.cu`, and the solution. Each is launched like a submission and timed in pairs with
the baseline. The thresholds lie between the fastest file that must fail and the solution.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from statistics import median

from grader import dataclass, replace
from grader.checks.speed import TIMED, Options, format_duration
from grader.checks.suite import plan as checks_of
from grader.compile.source import compile_source
from grader.faults import LabFault, StudentFault
from grader.gpu.devices import same_model_devices
from grader.gpu.process import device_info
from grader.gpu.speedup import Estimate, Timing, TimingPlan, counted_pairs, estimate
from grader.gpu.timing import time_kernel
from grader.grading.timing import timing_plan, verifier
from grader.labs.files import file_digest
from grader.labs.model import Band, Case, Lab
from grader.labs.thresholds import DeviceThresholds, propose_band

PAIRS = 200
BUDGET = 10.0
"""Seconds for one file; with a slow baseline, fewer than PAIRS pairs fit."""


@dataclass(frozen=True)
class Rung:
    """One timed file.

    Attributes:
        fails: Whether the file must get no points for speed.
        speedup: The speedup over the baseline; None when it could not be measured.
        seconds: The median time of a launch.
        problem: Why there is no speedup; empty when there is one.
    """

    name: str
    fails: bool
    speedup: Estimate | None = None
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class Calibration:
    """The calibration of a lab on one device.

    Attributes:
        rungs: The timed files, the baseline first and the solution last.
        in_force: The current thresholds.
        proposed: The new thresholds; None when none can be set.
        dims: The dims of the launch.
        kind: The kind of its inputs.
        sha256: The digests of the baseline and the solution, by file name.
    """

    lab: str
    device: str
    rungs: tuple[Rung, ...]
    in_force: Band
    proposed: Band | None
    dims: Mapping[str, int] = field(default_factory=dict)
    kind: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def solution(self) -> Rung:
        """The timing of the solution."""
        return self.rungs[-1]

    @property
    def problems(self) -> tuple[str, ...]:
        """Why no thresholds can be set; empty when they can."""
        broken = tuple(f"{rung.name}: {rung.problem}" for rung in self.rungs if rung.problem)
        if broken or self.proposed is not None:
            return broken
        return (
            "the solution is not faster enough than the files that must fail:"
            " set larger dims in the speed check",
        )


def calibrate(lab: Lab, announce: Callable[[str], None] = lambda what: None) -> Calibration | None:
    """Time the files of a lab on the first free GPU, and propose thresholds.

    Args:
        lab: The lab.
        announce: Called with a short text before each file.

    Returns:
        The calibration; None for a lab without a speed check.

    Raises:
        LabFault: The speed check has no dims, or a file cannot be read.
        MachineFault: No GPU can be used.
    """
    planned = speed_plan(lab)
    if planned is None:
        return None
    case, plan = planned
    base = replace(plan, budget=BUDGET, least=PAIRS, most=PAIRS)
    of = {file.name: file_digest(file) for file in (lab.baseline, lab.solution)}
    rungs: list[Rung] = []
    device = ""
    for name, file, fails in ladder(lab):
        announce(f"{lab.name}: {name}")
        plan = replace(base, launch=base.baseline_launch) if file == lab.baseline else base
        rung, device = _timed(lab, case, name, file, fails, plan)
        rungs.append(rung)
    in_force = lab.bands.get(device, Band(plan.minimum, plan.full))
    return Calibration(
        lab.name, device, tuple(rungs), in_force, proposed(rungs), case.dims, case.kind, of
    )


def speed_plan(lab: Lab) -> tuple[Case, TimingPlan] | None:
    """Return what the speed check of a lab times, and how, with the thresholds of lab.yaml.

    Returns:
        None for a lab without a speed check.

    Raises:
        LabFault: the speed check has no dims, or the lab's launch cannot be made.
    """
    check = next((c for c in checks_of(lab) if isinstance(c.options, Options)), None)
    if check is None or not isinstance(check.options, Options):
        return None
    options = check.options
    if not options.dims:
        fix = "add dims to the speed check, such as {n: 1024}"
        raise LabFault("the speed check does not set the timed size", where=check.where, fix=fix)
    case = Case(TIMED, options.dims, options.kind)
    return case, timing_plan(lab, case, options, Band(options.minimum, options.full), b"")


def ladder(lab: Lab) -> Iterator[tuple[str, Path, bool]]:
    """Yield the name and the path of each file, and whether it must fail.

    The baseline comes first, the solution last.
    """
    folder = lab.solution.parent
    yield lab.baseline.name, lab.baseline, True
    for file in sorted(folder.glob("wrong/too-slow-*.cu")):
        yield f"wrong/{file.name}", file, True
    for file in sorted(folder.glob("rungs/*.cu")):
        yield f"rungs/{file.name}", file, False
    yield lab.solution.name, lab.solution, False


def proposed(rungs: Sequence[Rung]) -> Band | None:
    """Return the thresholds that the timings allow.

    None when a file was not timed, or when the solution is too close to a file that must fail.
    """
    speedups = [(rung.fails, rung.speedup) for rung in rungs]
    failing = max((s.high for fails, s in speedups if fails and s), default=1.0)
    last = speedups[-1][1]
    if last is None or any(s is None for _, s in speedups):
        return None
    return propose_band(failing, last.low)


def measured(calibration: Calibration, today: datetime.date) -> DeviceThresholds:
    """Return the entry for thresholds.yaml. Raises LabFault when no thresholds can be set."""
    band = calibration.proposed
    if band is None or calibration.problems:
        raise LabFault("; ".join(calibration.problems), where=calibration.lab)
    tools = dict(device_info(same_model_devices()[0]).toolchain)
    tools.pop("device")
    return DeviceThresholds(
        minimum=band.minimum,
        full=band.full,
        dims=dict(calibration.dims),
        kind=calibration.kind,
        speedups={r.name: round(r.speedup.ratio, 4) for r in calibration.rungs if r.speedup},
        sha256=dict(calibration.sha256),
        driver=tools.pop("driver", ""),
        toolchain=tools,
        date=today,
    )


def calibration_lines(calibration: Calibration) -> Iterator[str]:
    """Yield the table of one lab, at most 80 columns wide."""
    yield f"{calibration.lab} on {calibration.device}"
    yield f"  {'file':<36}{'speedup':>8}  {'95 % interval':<16}{'a launch':>10}"
    for rung in calibration.rungs:
        yield f"  {_row(rung)}"
    band = calibration.in_force
    yield f"  in force: {_margins(band, calibration.solution.speedup)}"
    if calibration.proposed:
        yield f"  proposed: {_margins(calibration.proposed, calibration.solution.speedup)}"
    yield from (f"  no thresholds: {problem}" for problem in calibration.problems)


def _row(rung: Rung) -> str:
    name = rung.name if len(rung.name) <= 35 else f"{rung.name[:32]}..."
    if rung.speedup is None:
        return f"{name:<36}{'-':>8}"
    ends = f"{rung.speedup.low:.3f} to {rung.speedup.high:.3f}"
    return f"{name:<36}{rung.speedup.ratio:>8.3f}  {ends:<16}{format_duration(rung.seconds):>10}"


def _margins(band: Band, solution: Estimate | None) -> str:
    text = f"minimum {band.minimum:g}, full {band.full:g}"
    if solution is None:
        return text
    over = [100 * (solution.ratio / edge - 1) for edge in (band.minimum, band.full)]
    return f"{text}; the solution is {over[0]:+.0f} % and {over[1]:+.0f} % from them"


def _timed(
    lab: Lab, case: Case, name: str, file: Path, fails: bool, plan: TimingPlan
) -> tuple[Rung, str]:
    """Return the timing of one file, and the device."""
    try:
        program = compile_source(file.read_bytes(), file.name)
        timing = time_kernel(program, plan, verifier(lab, case))
    except OSError as error:
        raise LabFault(f"cannot read the file: {error.strerror}", where=str(file)) from None
    except StudentFault as fault:
        return Rung(name, fails, problem=f"does not compile: {fault.what}"), ""
    return _rung(name, fails, timing), timing.device


def _rung(name: str, fails: bool, timing: Timing) -> Rung:
    wrong = [finding for finding in timing.findings if finding.severity == "error"]
    if wrong or not timing.pairs:
        why = wrong[0].message if wrong else "no pair of launches was timed"
        return Rung(name, fails, problem=why)
    seconds = median(pair.submission for pair in counted_pairs(timing.pairs))
    return Rung(name, fails, estimate(timing.ratios), seconds)
