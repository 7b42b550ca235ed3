"""Estimate a speedup from pairs of timings: plans, pairs, an interval, the points' share.

The interval of the median ratio holds whenever sampling stops (it is anytime-valid). The theory is
a sign test whose evidence is a martingale. If the median of the ratios is m, each ratio lies above
m with probability 1/2. After t ratios of which s lie above m, the likelihood ratio of the uniform
mixture over all other probabilities is 2**t / ((t + 1) * C(t, s)). If m is the median, this ratio
ever reaches 1 / alpha with probability alpha at most (Ville's inequality). The interval holds the
values of m for which it has not; its ends are two order statistics. The assumption is that, given
the earlier pairs, each ratio lies above the median with probability 1/2.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from numpy.typing import NDArray

from grader import dataclass
from grader.compile.program import Program
from grader.labs.reference_child import Made
from grader.launch import Finding, Launch

MIN_RATIOS = 50
"""Pairs that a decision needs: the error of their median is a quarter of one pair's noise."""

NARROW = 0.01
"""Width of an interval, as a share of full - minimum, below which it hardly moves the points."""

NOISY = 0.05
"""One pair's relative standard deviation above which a measurement is repeated."""

MAD_TO_SIGMA = 1.4826
"""Standard deviations in a median absolute deviation, for a normal distribution."""


def median_interval(ratios: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of the ratios' true median, both ends included.

    It holds with probability `confidence` at least, whatever the ratios' distribution and the
    stopping rule are. (0, infinity) while there are too few ratios. A ratio
    equal to an end counts as inside.
    """
    place = interval_rank(len(ratios), confidence)
    if not place:
        return 0.0, math.inf
    ordered = sorted(ratios)
    return ordered[place - 1], ordered[-place]


def interval_rank(count: int, confidence: float = 0.95) -> int:
    """Return the rank of the interval's ends among `count` ratios, from 1; 0 without an interval.

    The ends are the rank-th smallest and the rank-th largest ratio. Fewer than this many ratios
    below m, or fewer than this many above it, refute that m is the median.
    """
    affordable = count + math.log2(1 - confidence) - math.log2(count + 1)
    below = range(count // 2 + 1)
    return bisect_right(below, affordable, key=lambda s: math.log2(math.comb(count, s)))


def is_settled(
    ratios: Sequence[float], minimum: float, full: float, least: int = MIN_RATIOS
) -> bool:
    """Return whether the ratios decide the points; never with fewer than `least` ratios."""
    return len(ratios) >= least and decides_points(*median_interval(ratios), minimum, full)


def decides_points(low: float, high: float, minimum: float, full: float) -> bool:
    """Return whether an interval decides the points.

    It does when it lies below `minimum` or above `full`, or is so narrow that it hardly moves them.
    """
    return high < minimum or low > full or high - low <= NARROW * (full - minimum)


def points_share(ratio: float, minimum: float, full: float) -> float:
    """Return the share of the points that a ratio earns: 0 at `minimum`, linear, 1 at `full`."""
    return min(max((ratio - minimum) / (full - minimum), 0.0), 1.0)


@dataclass(frozen=True)
class Estimate:
    """The estimate from a number of ratios.

    Attributes:
        ratio: the median.
        low: the lower end of the true median's interval.
        high: the upper end.
        sigma: one pair's relative standard deviation, from the median absolute deviation.
        pairs: the number of ratios.
    """

    ratio: float
    low: float
    high: float
    sigma: float
    pairs: int

    def is_doubtful(self, minimum: float, full: float) -> bool:
        """Return whether to measure again, and to ask for review if that does not help.

        True when the interval does not decide the points, and the speedup may be below `minimum` or
        the measurement is noisy.
        """
        if decides_points(self.low, self.high, minimum, full):
            return False
        return self.low <= minimum or self.sigma > NOISY


def estimate(ratios: Sequence[float]) -> Estimate:
    """Estimate median, interval and noise from at least one ratio."""
    from statistics import median

    middle = median(ratios)
    low, high = median_interval(ratios)
    sigma = MAD_TO_SIGMA * median(abs(ratio - middle) for ratio in ratios) / middle
    return Estimate(middle, low, high, sigma, len(ratios))


Verify = Callable[[Mapping[str, NDArray[Any] | Made], Mapping[str, NDArray[Any]]], str]
"""Verifies a timed launch: from inputs and outputs by argument name, to one line that says what is
wrong, empty when the outputs are right. An input may be one that the verifying process makes."""


@dataclass(frozen=True)
class TimingPlan:
    """A launch of the submission to time against the same work by the baseline.

    The ratio time(baseline) / time(submission) earns points from `minimum` to `full`.

    Attributes:
        baseline: the baseline's program.
        baseline_launch: its launch.
        launch: the submission's launch; each timed launch gets new inputs made from its arrays.
        minimum: the ratio that earns no points.
        full: the ratio that earns all points.
        seed: the secret seed of the new inputs.
        budget: seconds after which sampling stops.
        least: pairs that a decision needs.
        most: pairs after which sampling stops.
        cublas: m, n and k of a product to time with cuBLAS in float32, without tensor cores.
        fixed: names of arrays that stay as they are (sorted keys, indices).
        limit: seconds that one launch may take.
    """

    baseline: Program
    baseline_launch: Launch
    launch: Launch
    minimum: float
    full: float
    seed: bytes = b""
    budget: float = 3.0
    least: int = 50
    most: int = 400
    cublas: tuple[int, int, int] | None = None
    fixed: tuple[str, ...] = ()
    limit: float = 10.0


@dataclass(frozen=True)
class Pair:
    """One launch of each kernel, in direct succession.

    Times are seconds by CUDA events, without the events' overhead. `throttled`: the clock had
    dropped, so the pair does not count.
    """

    baseline: float
    submission: float
    throttled: bool = False

    @property
    def ratio(self) -> float:
        """The speedup: baseline over submission."""
        return self.baseline / self.submission


MIN_SECONDS = 1e-9
"""Least seconds of a launch where the time of an empty kernel is unknown."""


def make_pairs(
    times: Sequence[tuple[float, float]],
    throttled: Sequence[bool],
    overhead: float,
    empty: float = 0.0,
) -> tuple[Pair, ...]:
    """Make pairs from measured times, without the first pair, which warms up.

    The child that stops a measurement and the parent that evaluates it use the same pairs: the
    events' overhead changes the ratio of two short kernels.

    Args:
        times: (baseline, submission) in seconds, including the overhead.
        throttled: whether the clock had dropped.
        overhead: seconds between two events with nothing between them.
        empty: seconds of an empty kernel, including the overhead; no kernel counts as faster.
    """
    least = max(empty - overhead, MIN_SECONDS)
    return tuple(
        Pair(max(a - overhead, least), max(b - overhead, least), drop)
        for (a, b), drop in zip(times, throttled, strict=True)
    )[1:]


def counted_pairs(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Select the pairs that count.

    These are the pairs at full clock if they suffice for an interval, else all: a GPU that
    throttles most of the time is as fast as that.
    """
    sound = tuple(pair for pair in pairs if not pair.throttled)
    return sound if interval_rank(len(sound)) else tuple(pairs)


@dataclass(frozen=True)
class Timing:
    """The result of one measurement.

    Attributes:
        pairs: the pairs in the order they ran.
        overhead: seconds of the events around a launch, already subtracted.
        findings: why it ended early: a wrong timed output, a crash, a hang.
        ended: whether the measurement ran to its end.
        peaks: measured on the same GPU: "copy_bytes_per_second", "fma_flop_per_second" and, if the
            plan has `cublas`, "cublas_flop_per_second" (2 m n k over its time).
        device: the GPU's name.
        verified: the number of timed outputs that were right.
        clocks: MHz after each pair; empty without NVML, when throttling cannot be detected.
        empty: seconds of an empty kernel.
    """

    pairs: tuple[Pair, ...]
    overhead: float = 0.0
    findings: tuple[Finding, ...] = ()
    ended: bool = True
    peaks: Mapping[str, float] = field(default_factory=dict)
    device: str = ""
    verified: int = 0
    clocks: tuple[int, ...] = ()
    empty: float = 0.0

    @property
    def ratios(self) -> tuple[float, ...]:
        """The ratios that count."""
        return tuple(pair.ratio for pair in counted_pairs(self.pairs))


THROTTLE_RATIO = 0.9
"""A pair counts while the clock is at least this share of the highest measured clock."""


@dataclass(frozen=True)
class Clock:
    """NVML and its handle of one GPU; both None where NVML is not available."""

    nvml: Any = None
    handle: Any = None

    def megahertz(self) -> int:
        """Return the multiprocessors' current clock in MHz, 0 when it is unknown."""
        if self.nvml is None:
            return 0
        try:
            return int(self.nvml.nvmlDeviceGetClockInfo(self.handle, self.nvml.NVML_CLOCK_SM))
        except self.nvml.NVMLError:
            return 0


def open_clock(bus: str) -> Clock:
    """Open the clock of the GPU at a PCI address; its values are 0 where NVML is missing."""
    try:
        import pynvml
    except ImportError:
        return Clock()
    try:
        pynvml.nvmlInit()
        return Clock(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(bus.encode()))
    except pynvml.NVMLError:
        return Clock()


def throttled(clocks: Sequence[int]) -> tuple[bool, ...]:
    """Return for each pair whether the clock had dropped; a clock of 0 is unknown."""
    highest = max(clocks, default=0)
    return tuple(0 < clock < THROTTLE_RATIO * highest for clock in clocks)


BASELINE, SUBMISSION, EMPTY_KERNEL = 0, 1, 2
BASELINE_PREFIX = "base"
"""Prefix of the names of the baseline's outputs."""

ALWAYS_VERIFIED = 4
"""The first pairs, in each of which the baseline's output is verified; later in ever fewer."""

MIN_PAIRS = 20
"""Pairs that a measurement takes even when its time is spent."""

LOOK_INTERVAL = 10
"""Pairs between two tests of the stopping rule, once the plan's minimum is reached: a test goes
through all pairs, and takes as long as a pair does."""

HOPELESS_PAIRS = 8
"""Pairs after which a measurement far below the minimum ends."""


def is_baseline_verified(seed: bytes, pair: int) -> bool:
    """Return whether the baseline's output of a pair is verified too.

    Of the pairs from n / 2 to n, ALWAYS_VERIFIED * log(2) are, on average. Without the secret seed
    they cannot be predicted.
    """
    digest = hmac.new(seed, f"baseline\0{pair}".encode(), hashlib.sha256).digest()
    return int.from_bytes(digest, "little") % (pair // ALWAYS_VERIFIED + 1) == 0


@dataclass
class Record:
    """The samples so far.

    Attributes:
        times: (baseline, submission) in seconds; the first pair warms up.
        clocks: MHz after each pair.
        overhead: seconds between two events with nothing between them.
        empty: seconds of an empty kernel, with overhead.
        stopped: why the measurement ended early: "timeout", "error" or "".
        culprit: the side that was running: BASELINE, SUBMISSION or EMPTY_KERNEL.
        error: CUDA's name of the error.
        text: CUDA's text of the error.
    """

    times: list[tuple[float, float]] = field(default_factory=list)
    clocks: list[int] = field(default_factory=list)
    overhead: float = 0.0
    empty: float = 0.0
    stopped: str = ""
    culprit: int = EMPTY_KERNEL
    error: str = ""
    text: str = ""

    def ratios(self) -> list[float]:
        """Return the ratios of the pairs that count, as the parent computes them."""
        pairs = make_pairs(self.times, throttled(self.clocks), self.overhead, self.empty)
        return [pair.ratio for pair in counted_pairs(pairs)]


def needs_more_pairs(record: Record, plan: Mapping[str, Any], spent: float) -> bool:
    """Return whether to measure another pair, after `spent` seconds."""
    pairs = len(record.times) - 1  # the first pair warms up
    if pairs >= plan["most"] or (spent > plan["budget"] and pairs >= MIN_PAIRS):
        return False
    if pairs > plan["least"] and (pairs - plan["least"]) % LOOK_INTERVAL:
        return True
    ratios = record.ratios()
    if len(ratios) >= HOPELESS_PAIRS and median_interval(ratios)[1] < plan["minimum"] / 2:
        return False
    return not is_settled(ratios, plan["minimum"], plan["full"], plan["least"])
