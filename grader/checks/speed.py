"""The speed check: the speedup over the lab's baseline kernel, on a GPU.

The measurement is made before the checks (grader.grading.timing); this check turns its numbers into
a verdict. A kernel fails only when the whole interval of its speedup lies below the minimum: noise
alone fails no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from grader import dataclass, replace
from grader.checks.result import CheckOptions, Dependency, Evidence, Verdict, limited
from grader.faults import LabFault
from grader.gpu.speedup import Estimate, Timing, counted_pairs, estimate, points_share
from grader.labs.expressions import evaluate_expression
from grader.labs.model import Band, Case
from grader.launch import Finding

DEPENDS: Dependency | None = Dependency("output", "all")
ONLY_ON = "gpu"
TIMED = "timed size"
"""The name of the case that is timed."""


@dataclass(frozen=True)
class Options(CheckOptions):
    """Options of the speed check. A device's own thresholds (thresholds.yaml) have precedence.

    Attributes:
        minimum: the speedup above which points grow.
        full: the speedup that earns all points.
        dims: the timed size; without it, the largest case's.
        kind: the kind of the timed inputs.
        budget: seconds that one measurement may take.
        fixed: arrays that every launch gets unchanged, since the kernel needs their order.
        flop: floating-point operations of one launch, an expression over `dims`, for GFLOP/s.
        bytes: bytes that one launch moves, an expression over `dims`, for GB/s.
        cublas: whether to time cuBLAS' product too. Its sizes are the dims m, n and k; m and k
            default to n.
    """

    minimum: float = limited(gt=0, allow_inf_nan=False)
    full: float = limited(gt=0, allow_inf_nan=False)
    dims: dict[str, int] = field(default_factory=dict)
    kind: str = "random"
    budget: float = limited(3.0, gt=0, le=60)
    fixed: tuple[str, ...] = ()
    flop: str | int = 0
    bytes: str | int = 0
    cublas: bool = False

    @property
    def problem(self) -> str:
        """Why these options cannot be used together; empty if they can."""
        if self.full <= self.minimum:
            what = f"full ({self.full:g}) must be above minimum ({self.minimum:g})"
            return f"{what}: points grow between them"
        if self.cublas and "n" not in self.dims:
            return "cublas needs dims with n (m and k are n unless they are given)"
        for text in (self.flop, self.bytes) if self.dims else ():
            try:
                evaluate_expression(text, self.dims)
            except LabFault as fault:
                return f"{fault.what}; {fault.fix}".rstrip("; ")
        return ""

    @property
    def product(self) -> tuple[int, int, int] | None:
        """The sizes m, n and k of the product to time with cuBLAS; None without one."""
        n = self.dims.get("n", 0)
        return (self.dims.get("m", n), n, self.dims.get("k", n)) if self.cublas else None


def thresholds_for(options: Options, bands: Mapping[str, Band], device: str) -> Band:
    """Return the thresholds for `device`: those measured on it, else the lab's own."""
    return bands.get(device, Band(options.minimum, options.full))


def timed_case(options: Options, evidence: Evidence) -> Case | None:
    """Return the timed case; None when the lab names no size and no case ran."""
    largest = evidence.largest
    return timed_size(options) or (replace(largest.case, name=TIMED) if largest else None)


def timed_size(options: Options) -> Case | None:
    """Return the timed case where the lab names its size; None where the cases that ran decide."""
    return Case(TIMED, options.dims, options.kind) if options.dims else None


def evaluate(options: Options, evidence: Evidence) -> Verdict:
    """The kernel is faster than the baseline."""
    if not evidence.timings:
        return Verdict("error", evidence.timing_error or "the kernel was not timed")
    timing = evidence.timings[-1]
    errors = [f for f in timing.findings if f.severity == "error"]
    if errors:
        return _timed_error(timing, errors, evidence)
    if not timing.ratios:
        return Verdict("error", "no pair of launches was timed; grade the submission again")
    thresholds = thresholds_for(options, evidence.lab.bands, timing.device)
    speedup = estimate(timing.ratios)
    case = timed_case(options, evidence)
    verdict = Verdict(
        status="pass",
        summary=_summary(speedup, thresholds),
        share=points_share(speedup.ratio, thresholds.minimum, thresholds.full),
        measurements=_measurements(options, timing, speedup, thresholds, case.dims if case else {}),
    )
    notes = [f for f in (_uncalibrated(evidence, timing), _noisy_clocks(timing)) if f]
    if speedup.high < thresholds.minimum:
        slow = evidence.program.at(_too_slow(timing, speedup, thresholds), _kernel_line(evidence))
        factor = _format_speedup(speedup)
        summary = (
            f"{factor} times the baseline's speed; at least {thresholds.minimum:g} is required"
        )
        return replace(verdict, status="fail", share=0.0, summary=summary, findings=(slow, *notes))
    if speedup.is_doubtful(thresholds.minimum, thresholds.full):
        notes.insert(0, _needs_review(speedup, thresholds, len(evidence.timings)))
        return replace(
            verdict,
            summary=f"{verdict.summary}; needs review",
            findings=tuple(notes),
            measurements={**verdict.measurements, "review": 1.0},
        )
    return replace(verdict, findings=tuple(notes))


def _timed_error(timing: Timing, errors: list[Finding], evidence: Evidence) -> Verdict:
    """Report the errors of timed launches. All cases were right, or speed would not be timed."""
    raced = any(f.kind == "race" for run in evidence.all_runs for f in run.errors)
    is_cheat = timing.verified > 0 and not raced

    def report(finding: Finding) -> Finding:
        if finding.kind not in ("wrong-output", "unwritten-output"):
            return finding
        if is_cheat:
            message = (
                f"right in the cases and in {timing.verified} timed launches, but not in all: "
            )
            return replace(
                finding, kind="cheat", message=message + finding.message, hint=_CACHED_RESULT_HINT
            )
        message = f"right in the cases, wrong when timed: {finding.message}"
        hint = (
            "fix the data race"
            if raced
            else "the timed size is larger: look for an index that overflows"
        )
        return replace(finding, message=message, hint=hint)

    findings = tuple(map(report, errors))
    return Verdict("fail", findings[0].message, findings=findings)


_CACHED_RESULT_HINT = (
    "compute the whole output from this launch's inputs in every launch: each timed launch has new "
    "inputs, and a result kept from an earlier launch is wrong"
)


def _too_slow(timing: Timing, speedup: Estimate, thresholds: Band) -> Finding:
    baseline, own = _seconds(timing)
    minimum, full = thresholds.minimum, thresholds.full
    return Finding(
        "too-slow",
        "error",
        f"{format_duration(own)} per launch, {_format_speedup(speedup)} times the speed of the "
        f"baseline ({format_duration(baseline)}); {minimum:g} times is required, "
        f"{format_duration(baseline / minimum)}",
        hint="see `traffic` and `resources` for what this kernel wastes; all points need "
        f"{full:g} times, {format_duration(baseline / full)}",
    )


def _needs_review(speedup: Estimate, thresholds: Band, attempts: int) -> Finding:
    times = f"measured {attempts} times" if attempts > 1 else "measured"
    if speedup.low <= thresholds.minimum:
        minimum = f"{thresholds.minimum:g}"
        what = f"too close to call: {times}, the speedup may lie on either side of {minimum}"
    else:
        what = f"noisy: {times}, one pair's speedup varies by {100 * speedup.sigma:.0f} % (1 sigma)"
    hint = "the points are those of the median, not rounded up; the instructor reviews them"
    return Finding(
        "machine", "info", f"{what}; its 95 % interval is {_format_interval(speedup)}", hint=hint
    )


def _uncalibrated(evidence: Evidence, timing: Timing) -> Finding | None:
    bands = evidence.lab.bands
    if timing.device in bands or not timing.device:
        return None
    return Finding(
        "machine",
        "info",
        f"the lab's thresholds were not measured on this device ({timing.device}) at this size "
        "against this baseline",
        hint=f"instructor: measure them with `grader labs calibrate {evidence.lab.name} --write`",
    )


def _noisy_clocks(timing: Timing) -> Finding | None:
    slow = sum(pair.throttled for pair in timing.pairs)
    if not slow:
        return None
    used = (
        "these pairs do not count"
        if len(counted_pairs(timing.pairs)) == len(timing.pairs) - slow
        else "all pairs are counted"
    )
    return Finding(
        "machine",
        "info",
        f"the GPU's clock dropped in {slow} of {len(timing.pairs)} pairs; {used}",
        hint="the GPU is too hot or reached its power limit; grade again when it is idle",
    )


def _summary(speedup: Estimate, thresholds: Band) -> str:
    text = f"{_format_speedup(speedup)} times the baseline's speed"
    if speedup.ratio >= thresholds.full:
        return f"{text}; {thresholds.full:g} earns all points"
    return f"{text}; points grow from {thresholds.minimum:g} to {thresholds.full:g}"


def _measurements(
    options: Options, timing: Timing, speedup: Estimate, thresholds: Band, dims: Mapping[str, int]
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
        "speedup": speedup.ratio,
        "speedup_low": speedup.low,
        "speedup_high": speedup.high,
        "minimum": thresholds.minimum,
        "full": thresholds.full,
        "pairs": float(speedup.pairs),
        "pair_sigma": speedup.sigma,
        "seconds": own,
        "baseline_seconds": baseline,
        **{name: rate for name, rate in rates.items() if rate},
    }


def _percent(rate: float, peak: float) -> float:
    return 100 * rate / peak if peak else 0.0


def _seconds(timing: Timing) -> tuple[float, float]:
    """Return the median time of the baseline and of the submission, in seconds."""
    from statistics import median  # which takes 5 ms to import, for a GPU's times only

    pairs = counted_pairs(timing.pairs)
    return median(p.baseline for p in pairs), median(p.submission for p in pairs)


def _kernel_line(evidence: Evidence) -> int:
    kernel = evidence.program.kernel(evidence.lab.kernels[0].name)
    return kernel.line if kernel else 0


def _format_speedup(speedup: Estimate) -> str:
    return f"{speedup.ratio:.3f} ({_format_interval(speedup)})"


def _format_interval(speedup: Estimate) -> str:
    return f"{speedup.low:.3f} to {speedup.high:.3f}"


def format_duration(seconds: float) -> str:
    """Format a duration as `8.312 us` or `1.26 ms`."""
    return f"{1e6 * seconds:.4g} us" if seconds < 1e-3 else f"{1e3 * seconds:.4g} ms"
