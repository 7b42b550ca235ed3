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
    place = rank(len(ratios), confidence)
    if not place:
        return 0.0, math.inf
    ordered = sorted(ratios)
    return ordered[place - 1], ordered[-place]


def rank(count: int, confidence: float = 0.95) -> int:
    """The interval's ends among `count` ratios: the rank-th smallest and the rank-th largest, from
    1; 0 while there is none. So many ratios below m (or above it) refute that m is the median."""
    affordable = count + math.log2(1 - confidence) - math.log2(count + 1)
    below = range(count // 2 + 1)
    return bisect_right(below, affordable, key=lambda s: math.log2(math.comb(count, s)))


def settled(ratios: Sequence[float], minimum: float, full: float, least: int = LEAST) -> bool:
    """Whether more pairs would change nothing. Never below `least` pairs."""
    return len(ratios) >= least and is_known(*interval(ratios), minimum, full)


def is_known(low: float, high: float, minimum: float, full: float) -> bool:
    """Whether an interval tells the points: it lies below `minimum` or above `full`, or it is so
    narrow that what is left of it hardly moves them."""
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

    def is_doubtful(self, minimum: float, full: float) -> bool:
        """Whether it is to be measured again, and then looked at by a person: points are not
        known, and either `minimum` may be missed or the noise has moved the median."""
        if is_known(self.low, self.high, minimum, full):
            return False
        return self.low <= minimum or self.sigma > NOISY


def estimate(ratios: Sequence[float]) -> Estimate:
    """The median, interval and noise of at least one ratio."""
    middle = median(ratios)
    low, high = interval(ratios)
    sigma = MAD_TO_SIGMA * median(abs(ratio - middle) for ratio in ratios) / middle
    return Estimate(middle, low, high, sigma, len(ratios))
