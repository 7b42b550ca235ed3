"""What a lab's thresholds of speed should be on this GPU: its own kernels timed, rung by rung.

Timed beside the baseline are the baseline itself, `wrong/too-slow-*.cu`, which must fail, what
lies between (`rungs/*.cu`), and the solution. Each is launched as a submission is.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from grader.checks.speed import TIMED, Options, format_duration
from grader.checks.suite import plan as checks_of
from grader.compile.source import compile_source
from grader.faults import LabFault, StudentFault
from grader.gpu.devices import same_model_devices
from grader.gpu.process import device_info
from grader.gpu.speedup import Estimate, Timing, TimingPlan, counted_pairs, estimate
from grader.grading.run import time_kernel
from grader.grading.timing import timing_plan, verifier
from grader.labs.model import Band, Case, Lab
from grader.labs.thresholds import DeviceThresholds, file_digest, propose_band

PAIRS = 200
BUDGET = 10.0
"""Seconds for one file; a slow baseline may get fewer pairs than PAIRS in them."""


@dataclass(frozen=True)
class Rung:
    """One file that was timed: its speedup, and seconds a launch. One that `fails` must earn no
    points; `problem` is why it has no speedup at all.
    """

    name: str
    fails: bool
    speedup: Estimate | None = None
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class Calibration:
    """A lab on one device: what was timed, the thresholds in force and those proposed, if any;
    `dims` and `kind` of the launch; `sha256` of the baseline's file and the solution's, by name.
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
        return self.rungs[-1]

    @property
    def problems(self) -> tuple[str, ...]:
        """Why no thresholds can be set; empty when they can."""
        broken = tuple(f"{rung.name}: {rung.problem}" for rung in self.rungs if rung.problem)
        if broken or self.proposed is not None:
            return broken
        return ("the solution is too near to what must fail: time a larger size (dims)",)


def calibrate(lab: Lab, announce: Callable[[str], None] = lambda what: None) -> Calibration | None:
    """The lab timed on the first GPU that is free; None for a lab that does not judge speed.
    `announce` is told what comes next. Raises LabFault and MachineFault.
    """
    check = next((c for c in checks_of(lab) if isinstance(c.options, Options)), None)
    if check is None or not isinstance(check.options, Options):
        return None
    options = check.options
    if not options.dims:
        fix = "give the speed check dims, such as {n: 1024}"
        raise LabFault("the lab does not say which size is timed", where=check.where, fix=fix)
    case = Case(TIMED, options.dims, options.kind)
    lab_band = Band(options.minimum, options.full)
    base = replace(
        timing_plan(lab, case, options, lab_band, b""), budget=BUDGET, least=PAIRS, most=PAIRS
    )
    of = {file.name: file_digest(file) for file in (lab.baseline, lab.solution)}
    rungs: list[Rung] = []
    device = ""
    for name, file, fails in ladder(lab):
        announce(f"{lab.name}: {name}")
        plan = replace(base, launch=base.baseline_launch) if file == lab.baseline else base
        rung, device = _timed(lab, case, name, file, fails, plan)
        rungs.append(rung)
    in_force = lab.bands.get(device, lab_band)
    return Calibration(
        lab.name, device, tuple(rungs), in_force, proposed(rungs), options.dims, options.kind, of
    )


def ladder(lab: Lab) -> Iterator[tuple[str, Path, bool]]:
    """Each file as name, path and whether it must fail: the baseline first, the solution last."""
    folder = lab.solution.parent
    yield lab.baseline.name, lab.baseline, True
    for file in sorted(folder.glob("wrong/too-slow-*.cu")):
        yield f"wrong/{file.name}", file, True
    for file in sorted(folder.glob("rungs/*.cu")):
        yield f"rungs/{file.name}", file, False
    yield lab.solution.name, lab.solution, False


def proposed(rungs: Sequence[Rung]) -> Band | None:
    """The thresholds that the rungs allow; None when a rung was not timed or there is no room."""
    seen = [(rung.fails, rung.speedup) for rung in rungs]
    failing = max((s.high for fails, s in seen if fails and s), default=1.0)
    last = seen[-1][1]
    if last is None or any(s is None for _, s in seen):
        return None
    return propose_band(failing, last.low)


def measured(calibration: Calibration, today: datetime.date) -> DeviceThresholds:
    """What thresholds.yaml keeps of it. Raises LabFault when there is nothing to keep."""
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
    """The table of one lab, within 80 columns."""
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
    said = f"minimum {band.minimum:g}, full {band.full:g}"
    if solution is None:
        return said
    over = [100 * (solution.ratio / edge - 1) for edge in (band.minimum, band.full)]
    return f"{said}; the solution is {over[0]:+.0f} % and {over[1]:+.0f} % from them"


def _timed(
    lab: Lab, case: Case, name: str, file: Path, fails: bool, plan: TimingPlan
) -> tuple[Rung, str]:
    """One file's rung, and the device that it was timed on."""
    try:
        program = compile_source(file.read_bytes(), file.name)
        timing = time_kernel(program, plan, verifier(lab, case))
    except OSError as error:
        raise LabFault(f"cannot read the file: {error.strerror}", where=str(file)) from None
    except StudentFault as fault:
        return Rung(name, fails, problem=f"it does not compile: {fault.what}"), ""
    return _rung(name, fails, timing), timing.device


def _rung(name: str, fails: bool, timing: Timing) -> Rung:
    wrong = [finding for finding in timing.findings if finding.severity == "error"]
    if wrong or not timing.pairs:
        why = wrong[0].message if wrong else "no pair of launches was timed"
        return Rung(name, fails, problem=why)
    seconds = median(pair.submission for pair in counted_pairs(timing.pairs))
    return Rung(name, fails, estimate(timing.ratios), seconds)
