"""How fast a kernel is beside a baseline: what is asked for and what was seen, as plain values."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from numpy.typing import NDArray

from grader.compile.program import Program
from grader.launch import Finding, Launch

# What pairs of timings say about a speedup: an interval that holds whenever sampling stops.
#
# The theory is a sign test whose evidence is a martingale. If the median of the ratios is m, each
# of them lies above m with probability 1/2. A gambler who spreads a stake of 1 evenly over all
# other probabilities has 2**t / ((t + 1) * C(t, s)) after t ratios of which s lie above m. Were m
# the median, that wealth would ever reach 1 / alpha with probability alpha at most (Ville's
# inequality), however long one looks. The values of m at which it has not are the interval: it lies
# between two order statistics. Nothing is assumed of the noise but that it treats each pair alike.

MIN_RATIOS = 50
"""Pairs below which nothing is settled: their median is good to a quarter of one pair's noise."""

NARROW = 0.01
"""An interval this narrow, as a share of full - minimum, moves no points worth telling."""

NOISY = 0.05
"""One pair's relative standard deviation above which a measurement is not trusted alone."""

MAD_TO_SIGMA = 1.4826
"""Standard deviations in a median absolute deviation, for a normal distribution."""


def median_interval(ratios: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The values that the ratios' true median may have: from low to high, both included.

    Right with probability `confidence` at least, whatever the ratios' distribution is and
    whatever rule stopped the sampling. (0, infinity) while there are too few ratios. A tie with
    an end keeps the end.
    """
    place = interval_rank(len(ratios), confidence)
    if not place:
        return 0.0, math.inf
    ordered = sorted(ratios)
    return ordered[place - 1], ordered[-place]


def interval_rank(count: int, confidence: float = 0.95) -> int:
    """The interval's ends among `count` ratios: the rank-th smallest and the rank-th largest, from
    1; 0 while there is none. So many ratios below m (or above it) refute that m is the median.
    """
    affordable = count + math.log2(1 - confidence) - math.log2(count + 1)
    below = range(count // 2 + 1)
    return bisect_right(below, affordable, key=lambda s: math.log2(math.comb(count, s)))


def is_settled(
    ratios: Sequence[float], minimum: float, full: float, least: int = MIN_RATIOS
) -> bool:
    """Whether more pairs would change nothing. Never below `least` pairs."""
    return len(ratios) >= least and decides_points(*median_interval(ratios), minimum, full)


def decides_points(low: float, high: float, minimum: float, full: float) -> bool:
    """Whether an interval tells the points: it lies below `minimum` or above `full`, or it is so
    narrow that what is left of it hardly moves them.
    """
    return high < minimum or low > full or high - low <= NARROW * (full - minimum)


def points_share(ratio: float, minimum: float, full: float) -> float:
    """The share of the points, 0 to 1, that a ratio earns: none up to `minimum`, growing evenly
    to all of them at `full`.
    """
    return min(max((ratio - minimum) / (full - minimum), 0.0), 1.0)


@dataclass(frozen=True)
class Estimate:
    """What `pairs` ratios give: their median `ratio`, the interval `low` to `high` of the true one,
    and `sigma`, one pair's relative standard deviation (robust: from the median absolute one).
    """

    ratio: float
    low: float
    high: float
    sigma: float
    pairs: int

    def is_doubtful(self, minimum: float, full: float) -> bool:
        """Whether it is to be measured again, and then looked at by a person: points are not
        known, and either `minimum` may be missed or the noise has moved the median.
        """
        if decides_points(self.low, self.high, minimum, full):
            return False
        return self.low <= minimum or self.sigma > NOISY


def estimate(ratios: Sequence[float]) -> Estimate:
    """The median, interval and noise of at least one ratio."""
    middle = median(ratios)
    low, high = median_interval(ratios)
    sigma = MAD_TO_SIGMA * median(abs(ratio - middle) for ratio in ratios) / middle
    return Estimate(middle, low, high, sigma, len(ratios))


Verify = Callable[[Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any]]], str]
"""Given the inputs of one timed launch and what it left in its outputs, by argument name: empty
when they are right, else what is wrong, in one line."""


@dataclass(frozen=True)
class TimingPlan:
    """One launch of the submission's program to be timed against the same work by `baseline`.

    Inputs are the arrays of `launch` and of `baseline_launch`, from which fresh ones are made by
    `seed` before every timed launch. The ratio time(baseline) / time(submission) earns points
    from `minimum` to `full`; sampling stops when it is settled on which side it lies, or when
    `budget` seconds or `most` pairs are spent. `cublas` asks for the speed of cuBLAS' product of
    these m, n and k in float32, without tensor cores, on the same GPU. Arrays named in `fixed` stay
    as they are (sorted keys, indices); one launch may take `limit` seconds.
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
    """One launch of each, next to each other: seconds by CUDA events, what the events
    cost taken off. `throttled`: the clock had dropped, the pair does not count.
    """

    baseline: float
    submission: float
    throttled: bool = False

    @property
    def ratio(self) -> float:
        return self.baseline / self.submission


MIN_SECONDS = 1e-9
"""Seconds that a launch takes at least, where an empty kernel's are not known."""


def make_pairs(
    times: Sequence[tuple[float, float]],
    throttled: Sequence[bool],
    overhead: float,
    empty: float = 0.0,
) -> tuple[Pair, ...]:
    """The pairs of measured (baseline, submission) seconds that include the events' `overhead`, as
    does `empty`, an empty kernel's: no kernel is faster than that, whatever the events say.

    The first only warms up and is left out. Who stops a measurement and who judges it both look
    at these: what the events cost moves the ratio of two short kernels.
    """
    least = max(empty - overhead, MIN_SECONDS)
    return tuple(
        Pair(max(a - overhead, least), max(b - overhead, least), drop)
        for (a, b), drop in zip(times, throttled, strict=True)
    )[1:]


def counted_pairs(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Those that count: the ones that ran at full clock, where they are enough for an interval;
    else all of them, since a GPU that throttles most of the time is as fast as that.
    """
    sound = tuple(pair for pair in pairs if not pair.throttled)
    return sound if interval_rank(len(sound)) else tuple(pairs)


@dataclass(frozen=True)
class Timing:
    """What a plan's measurement gave: `pairs` in the order they ran, `overhead` in seconds of the
    events around a launch, which are taken off, and `empty` of an empty kernel, which are not.
    `findings` say why it ended early: a wrong timed output, a crash, a hang.

    `peaks` are measured on the same GPU: "copy_bytes_per_second", "fma_flop_per_second" and, where
    the plan asks for it, "cublas_flop_per_second" (2 m n k over its time). `verified` counts the
    timed outputs that were right. `clocks` are the multiprocessors' in MHz after each pair; empty
    where NVML does not answer: then no throttling is seen.
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
