"""The speed check: how much faster than the lab's baseline kernel, on a GPU.

Timing itself is done before the checks (grader/grading/timing.py); here its numbers become a
verdict. A kernel fails when the whole interval of its speedup lies below the minimum, so that noise
fails no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Self

from pydantic import Field, model_validator

from grader.checks.result import CheckOptions, Dependency, Evidence, Verdict
from grader.faults import LabFault
from grader.gpu.speedup import Estimate, Timing, counted, estimate, share
from grader.labs.expressions import evaluate_expression
from grader.labs.model import Band, Case
from grader.launch import Finding

DEPENDS: Dependency | None = Dependency("output", "all")
ONLY_ON = "gpu"
TIMED = "timed size"
"""The name of the case that is timed."""


class Options(CheckOptions):
    """`minimum` is the speedup over the baseline that points grow from, `full` the one that earns
    all; a device's own (thresholds.yaml) come before both. `dims` is the size that is timed (else
    the largest case's), `kind` its inputs, `budget` the seconds that one measurement may take.

    `fixed` names arrays that every launch gets unchanged, since the kernel needs their order.
    `flop` and `bytes` say what one launch has to do, as expressions over `dims`, to report GFLOP/s
    and GB/s. `cublas` has a product timed with cuBLAS too; its dims are m, n and k, of which a
    missing one equals n.
    """

    minimum: float = Field(gt=0, allow_inf_nan=False)
    full: float = Field(gt=0, allow_inf_nan=False)
    dims: dict[str, int] = Field(default_factory=dict)
    kind: str = "random"
    budget: float = Field(3.0, gt=0, le=60)
    fixed: tuple[str, ...] = ()
    flop: str | int = 0
    bytes: str | int = 0
    cublas: bool = False

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.full <= self.minimum:
            what = f"full ({self.full:g}) must be above minimum ({self.minimum:g})"
            raise ValueError(f"{what}: points grow between them")
        if self.cublas and "n" not in self.dims:
            raise ValueError("cublas needs dims with n (m and k are n unless they are given)")
        for text in (self.flop, self.bytes) if self.dims else ():
            try:
                evaluate_expression(text, self.dims)
            except LabFault as fault:
                raise ValueError(f"{fault.what}; {fault.fix}".rstrip("; ")) from None
        return self

    @property
    def product(self) -> tuple[int, int, int] | None:
        """m, n and k of the product that cuBLAS is to be timed on."""
        n = self.dims.get("n", 0)
        return (self.dims.get("m", n), n, self.dims.get("k", n)) if self.cublas else None


def band(options: Options, bands: Mapping[str, Band], device: str) -> Band:
    """The thresholds that hold on `device`: those measured there, else the lab's own."""
    return bands.get(device, Band(options.minimum, options.full))


def timed_case(options: Options, evidence: Evidence) -> Case | None:
    """The case that is timed; None when the lab names no size and no case could be run."""
    largest = evidence.largest
    if options.dims:
        return Case(TIMED, options.dims, options.kind)
    return replace(largest.case, name=TIMED) if largest else None


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The kernel is faster than the baseline."""
    if not evidence.timings:
        return Verdict("error", evidence.untimed or "it was not timed")
    timing = evidence.timings[-1]
    wrong = [f for f in timing.findings if f.severity == "error"]
    if wrong:
        return _wrong(timing, wrong, evidence)
    if not timing.ratios:
        return Verdict("error", "no pair of launches was timed; grade it again")
    due = band(options, evidence.lab.bands, timing.device)
    seen = estimate(timing.ratios)
    case = timed_case(options, evidence)
    verdict = Verdict(
        status="pass",
        summary=_summary(seen, due),
        share=share(seen.ratio, due.minimum, due.full),
        measurements=_measured(options, timing, seen, due, case.dims if case else {}),
    )
    told = [f for f in (_uncalibrated(evidence, timing), _noisy_clocks(timing)) if f]
    if seen.high < due.minimum:
        slow = evidence.program.at(_too_slow(timing, seen, due), _line(evidence))
        summary = (
            f"{_ratio(seen)} times the baseline's speed; at least {due.minimum:g} is asked for"
        )
        return replace(verdict, status="fail", share=0.0, summary=summary, findings=(slow, *told))
    if seen.is_doubtful(due.minimum, due.full):
        told.insert(0, _doubtful(seen, due, len(evidence.timings)))
        return replace(
            verdict,
            summary=f"{verdict.summary}; for a person to look at",
            findings=tuple(told),
            measurements={**verdict.measurements, "review": 1.0},
        )
    return replace(verdict, findings=tuple(told))


def _wrong(timing: Timing, wrong: list[Finding], evidence: Evidence) -> Verdict:
    """What went wrong in a timed launch. The cases were right, or speed would not be judged."""
    raced = any(f.kind == "race" for run in evidence.watched for f in run.errors)
    counts = timing.verified > 0 and not raced

    def told(finding: Finding) -> Finding:
        if finding.kind not in ("wrong-output", "unwritten-output"):
            return finding
        if counts:
            message = (
                f"right in the cases and in {timing.verified} timed launches, but not in all: "
            )
            return replace(finding, kind="cheat", message=message + finding.message, hint=_AFRESH)
        message = f"right in the cases, wrong when timed: {finding.message}"
        hint = "two threads race" if raced else "a larger size is timed: look for what overflows"
        return replace(finding, message=message, hint=hint)

    findings = tuple(map(told, wrong))
    return Verdict("fail", findings[0].message, findings=findings)


_AFRESH = (
    "every launch must compute its output afresh from its own inputs, and write all of it; a "
    "result kept from an earlier launch, or work left out in a later one, is no speed"
)


def _too_slow(timing: Timing, seen: Estimate, due: Band) -> Finding:
    baseline, own = _seconds(timing)
    enough = baseline / due.minimum
    return Finding(
        "too-slow",
        "error",
        f"{duration(own)} a launch, {_ratio(seen)} times the speed of the baseline "
        f"({duration(baseline)}); {due.minimum:g} times is asked for, {duration(enough)}",
        hint=f"all points take {due.full:g} times, {duration(baseline / due.full)}: look at what "
        "`traffic` and `resources` say of this kernel",
    )


def _doubtful(seen: Estimate, due: Band, attempts: int) -> Finding:
    times = f"measured {attempts} times" if attempts > 1 else "measured"
    if seen.low <= due.minimum:
        what = f"too close to call: {times}, the speedup may lie on either side of {due.minimum:g}"
    else:
        what = f"noisy: {times}, one pair's speedup varies by {100 * seen.sigma:.0f} % (1 sigma)"
    hint = "the points are those of the median, not rounded up; a person decides what holds"
    return Finding("machine", "info", f"{what}; its 95 % interval is {_ends(seen)}", hint=hint)


def _uncalibrated(evidence: Evidence, timing: Timing) -> Finding | None:
    bands = evidence.lab.bands
    if timing.device in bands or not timing.device:
        return None
    return Finding(
        "machine",
        "info",
        f"the lab's thresholds were not measured on this device ({timing.device}) at this size "
        "beside this baseline",
        hint=f"an instructor measures them: `grader labs calibrate {evidence.lab.name} --write`",
    )


def _noisy_clocks(timing: Timing) -> Finding | None:
    slow = sum(pair.throttled for pair in timing.pairs)
    if not slow:
        return None
    used = (
        "they do not count"
        if len(counted(timing.pairs)) == len(timing.pairs) - slow
        else "all of them are counted all the same"
    )
    return Finding(
        "machine",
        "info",
        f"the GPU's clock dropped in {slow} of {len(timing.pairs)} pairs; {used}",
        hint="the GPU is hot or shares its power",
    )


def _summary(seen: Estimate, due: Band) -> str:
    said = f"{_ratio(seen)} times the baseline's speed"
    if seen.ratio >= due.full:
        return f"{said}; {due.full:g} earns all points"
    return f"{said}; points grow from {due.minimum:g} to {due.full:g}"


def _measured(
    options: Options, timing: Timing, seen: Estimate, due: Band, dims: Mapping[str, int]
) -> Mapping[str, float]:
    baseline, own = _seconds(timing)
    m, n, k = options.product or (0, 0, 0)
    flop = float(evaluate_expression(options.flop, dims)) or 2.0 * m * n * k
    volume = float(evaluate_expression(options.bytes, dims))
    peaks = timing.peaks
    rates = {
        "gflop_per_second": flop / own / 1e9,
        "gbyte_per_second": volume / own / 1e9,
        "percent_of_fma_peak": _percent(flop / own, peaks.get("fma_flop_per_second", 0)),
        "percent_of_copy_bandwidth": _percent(volume / own, peaks.get("copy_bytes_per_second", 0)),
        "percent_of_cublas": _percent(flop / own, peaks.get("cublas_flop_per_second", 0)),
    }
    return {
        "speedup": seen.ratio,
        "speedup_low": seen.low,
        "speedup_high": seen.high,
        "minimum": due.minimum,
        "full": due.full,
        "pairs": float(seen.pairs),
        "pair_sigma": seen.sigma,
        "seconds": own,
        "baseline_seconds": baseline,
        **{name: rate for name, rate in rates.items() if rate},
    }


def _percent(rate: float, peak: float) -> float:
    return 100 * rate / peak if peak else 0.0


def _seconds(timing: Timing) -> tuple[float, float]:
    """The median launch of the baseline and of the submission, in seconds."""
    pairs = counted(timing.pairs)
    return median(p.baseline for p in pairs), median(p.submission for p in pairs)


def _line(evidence: Evidence) -> int:
    kernel = evidence.program.kernel(evidence.lab.kernels[0].name)
    return kernel.line if kernel else 0


def _ratio(seen: Estimate) -> str:
    return f"{seen.ratio:.3f} ({_ends(seen)})"


def _ends(seen: Estimate) -> str:
    return f"{seen.low:.3f} to {seen.high:.3f}"


def duration(seconds: float) -> str:
    """`8.312 us` or `1.26 ms`."""
    return f"{1e6 * seconds:.4g} us" if seconds < 1e-3 else f"{1e3 * seconds:.4g} ms"
