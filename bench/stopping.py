"""python -m bench.stopping: how often the stopping rule of timing errs, on synthetic pairs.

Each row is one true speedup and one kind of noise, graded RUNS times as a submission is: pairs
until the rule of grader/gpu/speedup.py stops or MOST are taken, and a second measurement when the
first is doubtful. The true value is known, so every error is detected.
"""

from __future__ import annotations

import sys
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from grader.gpu.speedup import (
    LOOK_INTERVAL,
    MIN_RATIOS,
    decides_points,
    estimate,
    interval_rank,
    points_share,
)

MINIMUM, FULL = 1.25, 1.4
MOST = 400
RUNS = 1000
GROUP = 100
"""Regrades of one submission that are held against each other."""

RANKS = tuple(interval_rank(count) for count in range(MOST + 1))
POSITIONS = tuple(
    (f"{word} {name}", edge * (1 + by))
    for name, edge in (("minimum", MINIMUM), ("full", FULL))
    for word, by in (
        ("2 % under", -0.02),
        ("0.3 % under", -0.003),
        ("at", 0.0),
        ("0.3 % over", 0.003),
        ("2 % over", 0.02),
    )
)

Noise = Callable[[np.random.Generator, int], NDArray[np.float64]]
"""Draws the logarithms of so many pairs' ratios, of median 0 for the whole run."""


def normal(sigma: float) -> Noise:
    """Each pair alike, of relative standard deviation `sigma`."""

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        return sigma * rng.standard_normal(count)

    return draw


def heavy(sigma: float) -> Noise:
    """As wide in its middle, but one pair in forty is off by more than 5 sigma (Student's t with
    2 degrees of freedom, whose quartiles lie at 0.8165).
    """

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        drawn: NDArray[np.float64] = rng.standard_t(2, count)
        return sigma * 0.6745 / 0.8165 * drawn

    return draw


def skewed(sigma: float) -> Noise:
    """One pair in ten has its submission's launch disturbed, and is far too slow; the others lie
    higher by what keeps the median at 0 (0.1397: the quantile of 5/9).
    """

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        slow = rng.random(count) < 0.1
        usual = sigma * (rng.standard_normal(count) + 0.1397)
        return usual - slow * rng.exponential(0.3, count)

    return draw


def drift(sigma: float, by: float) -> Noise:
    """The ratio itself creeps by the share `by` in all over MOST pairs, up or down."""

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        creep = float(rng.choice((-by, by))) * (np.arange(count) / MOST - 0.5)
        return sigma * rng.standard_normal(count) + creep

    return draw


NOISES: tuple[tuple[str, Noise], ...] = (
    ("sigma 0.2 %", normal(0.002)),
    ("sigma 1 %", normal(0.01)),
    ("sigma 5 %", normal(0.05)),
    ("sigma 20 %", normal(0.20)),
    ("1 %, heavy tails", heavy(0.01)),
    ("1 %, 1 in 10 slow", skewed(0.01)),
    ("1 %, drift 0.5 %", drift(0.01, 0.005)),
)


@dataclass(frozen=True)
class Regrade:
    """One grading: the verdict, the share of the points, and what it took."""

    failed: bool
    share: float
    review: bool
    pairs: int


def until_settled(ratios: Sequence[float], minimum: float, full: float) -> int:
    """How many of the ratios are looked at: `settled` asked at every look, in a tenth of the time,
    since the ratios stay sorted.
    """
    ordered: list[float] = []
    for count, ratio in enumerate(ratios, start=1):
        insort(ordered, ratio)
        place = RANKS[count]
        looked = count >= MIN_RATIOS and (count - MIN_RATIOS) % LOOK_INTERVAL == 0
        if looked and decides_points(ordered[place - 1], ordered[-place], minimum, full):
            return count
    return len(ratios)


def regrade(
    draw: Callable[[], list[float]], minimum: float = MINIMUM, full: float = FULL
) -> Regrade:
    """One grading; `draw` gives the ratios of one measurement in their order."""
    pairs = 0
    for last in (False, True):
        ratios = draw()
        ratios = ratios[: until_settled(ratios, minimum, full)]
        pairs += len(ratios)
        result = estimate(ratios)
        doubtful = result.is_doubtful(minimum, full)
        if last or not doubtful:
            break
    return Regrade(
        result.high < minimum, points_share(result.ratio, minimum, full), doubtful, pairs
    )


def regrades(truth: float, noise: Noise, runs: int, seed: int = 1) -> list[Regrade]:
    """`runs` gradings of a submission whose speedup is `truth`."""
    rng = np.random.default_rng(seed)
    return [regrade(lambda: (truth * np.exp(noise(rng, MOST))).tolist()) for _ in range(runs)]


def spreads(results: Sequence[Regrade]) -> list[float]:
    """In each GROUP, how far the shares of the points lie apart."""
    edges = range(0, len(results) + 1, GROUP)
    groups = [[one.share for one in results[a:b]] for a, b in pairwise(edges)]
    return [max(group) - min(group) for group in groups]


def wrong(truth: float, one: Regrade) -> bool:
    """A verdict against the truth that no person is asked to look at."""
    return not one.review and one.failed != (truth < MINIMUM)


def row(truth: float, noise: Noise, runs: int = RUNS) -> str:
    """One line of the table."""
    results = regrades(truth, noise, runs)
    expected = points_share(truth, MINIMUM, FULL)
    off = float(np.quantile([abs(one.share - expected) for one in results], 0.99))
    part = spreads(results)
    rates = [
        sum(one.failed for one in results),
        sum(one.review for one in results),
        sum(wrong(truth, one) for one in results),
    ]
    counts = "".join(f"{100 * rate / runs:>8.1f}" for rate in rates)
    pairs = int(np.median([one.pairs for one in results]))
    return (
        f"{counts}{pairs:>7}{100 * off:>9.2f}{100 * np.median(part):>9.2f}{100 * max(part):>7.2f}"
    )


def table(runs: int = RUNS) -> Iterator[str]:
    """The whole table, line by line."""
    yield f"minimum {MINIMUM:g}, full {FULL:g}, {MIN_RATIOS} to {MOST} pairs, {runs} gradings a row"
    yield f"{'':<37}{'per cent of gradings':^24}{'':>7}{'per cent of the points':^25}"
    yield (
        f"{'noise of a pair':<20}{'true speedup':<17}{'fail':>8}{'review':>8}{'wrong':>8}"
        f"{'pairs':>7}{'off, 99%':>9}{'spread':>9}{'worst':>7}"
    )
    for name, noise in NOISES:
        for position, truth in POSITIONS:
            yield f"{name:<20}{position:<17}{row(truth, noise, runs)}"


def main() -> int:
    for line in table():
        print(line, flush=True)
    print(f"spread: between any two of {GROUP} gradings, its median and its worst over the groups")
    return 0


if __name__ == "__main__":
    sys.exit(main())
