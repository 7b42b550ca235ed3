"""When a measurement ends: decided, hopeless, out of time or of memory. Needs no GPU."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from grader.gpu.speedup import Record, needs_more_pairs

PLAN = {"minimum": 1.2, "full": 1.5, "budget": 3.0, "least": 50, "most": 100}
NOISE = (-0.02, 0.01, 0.02, -0.01)


def seen(ratio: float, pairs: int, clocks: Sequence[int] = ()) -> Record:
    """A first pair that only warms up and is far off, then so many around `ratio`."""
    times = [(9.0, 1.0), *((ratio + NOISE[k % 4], 1.0) for k in range(pairs))]
    return Record(times, list(clocks) or [1980] * len(times))


@pytest.mark.parametrize(
    ("record", "spent", "more"),
    [
        (seen(2.0, 49), 1.0, True),
        (seen(2.0, 50), 1.0, False),
        (seen(1.0, 50), 1.0, False),
        (seen(1.3, 50), 1.0, True),
        (seen(2.0, 59), 1.0, True),
        (seen(2.0, 60), 1.0, False),
        (seen(1.3, 99), 1.0, True),
        (seen(1.3, 100), 1.0, False),
        (seen(1.3, 19), 3.1, True),
        (seen(1.3, 20), 3.1, False),
        (seen(1.3, 20), 2.9, True),
        (seen(0.1, 7), 1.0, True),
        (seen(0.1, 8), 1.0, False),
        (seen(0.7, 8), 1.0, True),
        (seen(2.0, 0), 0.0, True),
    ],
)
def test_more_pairs_are_wanted(record: Record, spent: float, more: bool) -> None:
    assert needs_more_pairs(record, PLAN, spent) is more


def test_pairs_of_a_dropped_clock_do_not_settle_it() -> None:
    clocks = [1980] + [1980, 1000] * 25
    assert len(seen(2.0, 50, clocks).ratios()) == 25
    assert needs_more_pairs(seen(2.0, 50, clocks), PLAN, 1.0)


def test_what_the_events_cost_does_not_settle_it() -> None:
    """20 us of events around 10 us and 5 us: 1.2 times as fast with them, 2 times without."""
    times = [(30e-6, 25e-6 + 1e-7 * (k % 4)) for k in range(61)]
    record = Record(times, [1980] * 61, overhead=20e-6)
    assert record.ratios() == pytest.approx([1.95] * 60, rel=0.04)
    assert needs_more_pairs(record, {**PLAN, "minimum": 1.3, "full": 1.8}, 1.0) is False
    near = {**PLAN, "minimum": 1.94, "full": 2.5}
    assert needs_more_pairs(record, near, 1.0) is True


def test_no_kernel_is_faster_than_an_empty_one() -> None:
    """Events of 2 us around 3 us and around what seems less than nothing."""
    times = [(5e-6, 1.9e-6)] * 60
    record = Record(times, [1980] * 60, overhead=2e-6, empty=3e-6)
    assert record.ratios() == pytest.approx([3.0] * 59)
    assert Record(times, [1980] * 60, overhead=2e-6).ratios() == pytest.approx([3000.0] * 59)


def test_a_kernel_far_below_the_minimum_only_for_the_events_cost_is_not_given_up() -> None:
    times = [(30e-6, 25e-6 + 1e-7 * (k % 4)) for k in range(12)]
    plan = {**PLAN, "minimum": 2.5, "full": 3.0}
    assert needs_more_pairs(Record(times, [1980] * 12), plan, 1.0) is False
    assert needs_more_pairs(Record(times, [1980] * 12, overhead=20e-6), plan, 1.0) is True


def test_one_high_clock_in_the_beginning_does_not_leave_a_few_pairs_to_judge_by() -> None:
    """A GPU that boosts for a moment and is then held at 88 % by its power limit."""
    clocks = [1980, 1980, 1980] + [1740] * 48
    assert len(seen(2.0, 50, clocks).ratios()) == 50
    assert not needs_more_pairs(seen(2.0, 50, clocks), PLAN, 1.0)


def test_the_first_pair_does_not_count() -> None:
    assert all(ratio < 3 for ratio in seen(2.0, 30).ratios())
