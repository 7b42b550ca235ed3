"""The interval of a speedup, the stopping rule, and their effect on grades."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.stopping import FULL, MIN_RATIOS, MINIMUM, MOST, heavy, normal, regrades, spreads
from bench.stopping import until_settled as stops_at
from grader.gpu.speedup import (
    decides_points,
    estimate,
    interval_rank,
    is_settled,
    median_interval,
    points_share,
)

RATIOS = st.lists(st.floats(0.01, 100), min_size=1, max_size=120)
STEADY = [1.3 + 0.0001 * (k % 7) for k in range(60)]


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 20, 49, 50, 51, 100, 400])
@pytest.mark.parametrize(("confidence", "stake"), [(0.95, 20), (0.99, 100)])
def test_the_rank_is_where_the_gambler_s_wealth_reaches_the_stake(
    count: int, confidence: float, stake: int
) -> None:
    wealth = [Fraction(2**count, (count + 1) * math.comb(count, s)) for s in range(count // 2 + 1)]
    assert interval_rank(count, confidence) == sum(w >= stake for w in wealth)


def test_a_gambler_who_bets_on_a_fair_coin_stays_as_rich_on_average() -> None:
    count = 40
    mean = sum(
        Fraction(math.comb(count, s), 2**count)
        * Fraction(2**count, (count + 1) * math.comb(count, s))
        for s in range(count + 1)
    )
    assert mean == 1


@given(RATIOS)
def test_the_interval_is_made_of_ratios_and_holds_their_median(ratios: list[float]) -> None:
    low, high = median_interval(ratios)
    assert low <= estimate(ratios).ratio <= high
    assert {low, high} <= {*ratios, 0.0, math.inf}
    assert (low == 0) == (high == math.inf) == (len(ratios) < 8)


@given(RATIOS, st.randoms())
def test_the_order_of_the_ratios_changes_nothing(ratios: list[float], random: object) -> None:
    shuffled = list(ratios)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert estimate(shuffled) == estimate(ratios)


@given(RATIOS, st.floats(0.1, 10))
def test_a_change_of_unit_changes_the_interval_alike(ratios: list[float], unit: float) -> None:
    scaled = median_interval([ratio * unit for ratio in ratios])
    assert scaled == tuple(end * unit for end in median_interval(ratios))


@given(RATIOS)
def test_more_confidence_is_a_wider_interval(ratios: list[float]) -> None:
    (low, high), (lower, higher) = median_interval(ratios, 0.95), median_interval(ratios, 0.999)
    assert lower <= low <= high <= higher


def test_ties_are_kept() -> None:
    assert median_interval([1.25] * 30 + [1.2] * 30) == (1.2, 1.25)
    assert median_interval([1.25] * 400) == (1.25, 1.25)
    assert not decides_points(*median_interval([1.25] * 59 + [1.2] * 41), 1.25, 1.25001)


def test_an_interval_at_all_times_misses_the_median_in_one_run_of_twenty_at_most() -> None:
    """Every prefix of every run is looked at: one miss anywhere spoils the run."""
    rng = np.random.default_rng(4)
    runs, most = 2000, 600
    ranks = np.array([interval_rank(count) for count in range(1, most + 1)])
    counts = np.arange(1, most + 1)
    above = np.cumsum(rng.random((runs, most)) < 0.5, axis=1)
    missed = ((above < ranks) | (counts - above < ranks)).any(axis=1)
    assert 0.005 < missed.mean() <= 0.05, "it must be able to miss, or the test shows nothing"


STOPS = [
    (STEADY[:49], 1.25, 1.4, False),
    (STEADY[:50], 1.25, 1.4, True),
    (STEADY, 1.31, 1.4, True),
    (STEADY, 1.1, 1.2, True),
    (STEADY, 1.3003, 1.35, True),
    (STEADY, 1.3003, 1.3103, False),
    ([1.2, 1.3] * 40, 1.25, 1.4, False),
    ([1.2, 1.3] * 40, 1.31, 1.4, True),
    ([1.2, 1.3] * 40, 1.1, 1.19, True),
]


@pytest.mark.parametrize(("ratios", "minimum", "full", "due"), STOPS)
def test_sampling_stops_when_more_pairs_would_change_nothing(
    ratios: list[float], minimum: float, full: float, due: bool
) -> None:
    assert is_settled(ratios, minimum, full) is due


def test_the_benchmark_stops_where_the_rule_does() -> None:
    rng = np.random.default_rng(2)
    for truth in (1.2, 1.25, 1.27, 1.398, 1.42):
        ratios = (truth * np.exp(0.01 * rng.standard_normal(MOST))).tolist()
        first = next((t for t in range(1, MOST + 1) if is_settled(ratios[:t], MINIMUM, FULL)), MOST)
        assert stops_at(ratios, MINIMUM, FULL) == first


def test_points_grow_evenly_from_minimum_to_full() -> None:
    assert [points_share(r, 1.2, 1.6) for r in (0.5, 1.2, 1.6, 9.0)] == [0, 0, 1, 1]
    assert points_share(1.3, 1.2, 1.6) == pytest.approx(0.25)


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_a_faster_kernel_never_has_fewer_points(one: float, other: float) -> None:
    slow, fast = sorted((one, other))
    assert points_share(slow, 1.2, 1.6) <= points_share(fast, 1.2, 1.6)


NOISES = {"normal": normal(0.01), "heavy": heavy(0.01)}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("edge", [MINIMUM, FULL])
def test_regrades_at_a_threshold_differ_by_two_per_cent_of_the_points_at_most(
    noise: str, edge: float
) -> None:
    seen = regrades(edge, NOISES[noise], 300)
    assert max(spreads(seen)) <= 0.02
    assert max(spreads(seen)) > 0.001, "noise that shows nowhere tests nothing"


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    ("truth", "failed", "least", "most"),
    [
        (MINIMUM * 0.98, True, 0.0, 0.0),
        (MINIMUM * 1.02, False, 0.1, 0.25),
        (FULL * 0.98, False, 0.7, 0.9),
        (FULL * 1.02, False, 1.0, 1.0),
    ],
)
def test_two_per_cent_beside_a_threshold_the_verdict_is_always_the_same(
    noise: str, truth: float, failed: bool, least: float, most: float
) -> None:
    seen = regrades(truth, NOISES[noise], 100, seed=8)
    assert {(one.failed, one.review) for one in seen} == {(failed, False)}
    assert all(least <= one.share <= most for one in seen)


@pytest.mark.parametrize("truth", [MINIMUM * 0.98, MINIMUM, FULL * 0.98, FULL])
def test_noise_asks_for_review_and_does_not_fail(truth: float) -> None:
    seen = regrades(truth, normal(0.2), 100)
    wrong = [one for one in seen if not one.review and one.failed != (truth < MINIMUM)]
    assert len(wrong) <= 5
    assert sum(one.review for one in seen) >= 50


def test_noise_is_measured_robustly() -> None:
    rng = np.random.default_rng(3)
    ratios = (1.3 * np.exp(0.01 * rng.standard_normal(2000))).tolist()
    spoilt = [*ratios, *(9.0 for _ in range(100))]
    assert estimate(ratios).sigma == pytest.approx(0.01, rel=0.1)
    assert estimate(spoilt).sigma == pytest.approx(0.01, rel=0.2)
    assert np.std(spoilt) > 1


@given(st.lists(st.floats(0.5, 2), min_size=MIN_RATIOS, max_size=90))
def test_settled_measurement_is_never_doubtful(ratios: list[float]) -> None:
    assert not (is_settled(ratios, 1.2, 1.4) and estimate(ratios).is_doubtful(1.2, 1.4))


DOUBTS = [
    ([1.24, 1.26] * 40, True, "on either side of minimum"),
    ([1.27, 1.29] * 40, False, "within the band and quiet"),
    ([1.39, 1.41] * 40, False, "on either side of full: points are near, whatever it is"),
    ([1.27 + 0.004 * k for k in range(60)], True, "within the band and noisy"),
    ([1.6, 1.7, 1.9] * 30, False, "above the band, however noisy"),
    (
        [1.2499, 1.2501] * 40,
        False,
        "on either side of minimum, and so near that nothing depends on it",
    ),
    ([1.3] * 5, True, "too few to know anything"),
]


@pytest.mark.parametrize(("ratios", "due", "why"), DOUBTS)
def test_review_is_asked_for_where_points_depend_on_it(
    ratios: list[float], due: bool, why: str
) -> None:
    assert estimate(ratios).is_doubtful(1.25, 1.4) is due, why
