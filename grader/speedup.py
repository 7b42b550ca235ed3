"""What pairs of timings say about a speedup: an interval that holds whenever sampling stops.

The theory is a sign test whose evidence is a martingale. If the median of the ratios is m, each of
them lies above m with probability 1/2. A gambler who spreads a stake of 1 evenly over all other
probabilities has 2**t / ((t + 1) * C(t, s)) after t ratios of which s lie above m. Were m the
median, that wealth would ever reach 1 / alpha with probability alpha at most (Ville's inequality),
however long one looks. The values of m at which it has not are the interval: it lies between two
order statistics. Nothing is assumed of the noise but that it treats each pair alike.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

LEAST = 50
"""Pairs below which nothing is settled: their median is good to a quarter of one pair's noise."""

CLOSE = 0.01
"""An interval this narrow, as a share of full - minimum, moves no points worth telling."""

NOISY = 0.05
"""One pair's relative standard deviation above which a measurement is not trusted alone."""

MAD_TO_SIGMA = 1.4826
"""Standard deviations in a median absolute deviation, for a normal distribution."""


def interval(ratios: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The values that the ratios' true median may have: from low to high, both included.

    Right with probability `confidence` at least, whatever the ratios' distribution is and
    whatever rule stopped the sampling. (0, infinity) while there are too few ratios. A tie with
    an end keeps the end.
    """
    t = len(ratios)
    affordable = t + math.log2(1 - confidence) - math.log2(t + 1)
    rank = bisect_right(range(t // 2 + 1), affordable, key=lambda s: math.log2(math.comb(t, s)))
    if not rank:
        return 0.0, math.inf
    ordered = sorted(ratios)
    return ordered[rank - 1], ordered[t - rank]


def settled(ratios: Sequence[float], minimum: float, full: float, least: int = LEAST) -> bool:
    """Whether more pairs would change nothing: the interval lies below `minimum` or above `full`,
    or is so narrow that the points are known. Never below `least` pairs."""
    if len(ratios) < least:
        return False
    low, high = interval(ratios)
    return high < minimum or low > full or high - low <= CLOSE * (full - minimum)


def share(ratio: float, minimum: float, full: float) -> float:
    """The share of the points, 0 to 1, that a ratio earns: none up to `minimum`, growing evenly
    to all of them at `full`."""
    return min(max((ratio - minimum) / (full - minimum), 0.0), 1.0)


@dataclass(frozen=True)
class Estimate:
    """What `pairs` ratios give: their median `ratio`, the interval `low` to `high` of the true one,
    and `sigma`, one pair's relative standard deviation (robust: from the median absolute one)."""

    ratio: float
    low: float
    high: float
    sigma: float
    pairs: int

    def is_decided(self, minimum: float, full: float) -> bool:
        """Whether it lies wholly on one side of the band in which points grow."""
        return self.high < minimum or self.low > full

    def is_doubtful(self, minimum: float, full: float) -> bool:
        """Whether it is to be measured again, and then looked at by a person: it may lie on
        either side of `minimum`, or points depend on a median that noise has moved."""
        return self.low <= minimum <= self.high or (
            self.sigma > NOISY and not self.is_decided(minimum, full)
        )


def estimate(ratios: Sequence[float]) -> Estimate:
    """The median, interval and noise of at least one ratio."""
    middle = median(ratios)
    low, high = interval(ratios)
    sigma = MAD_TO_SIGMA * median(abs(ratio - middle) for ratio in ratios) / middle
    return Estimate(middle, low, high, sigma, len(ratios))
