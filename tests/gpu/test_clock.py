"""Which pairs a dropped clock excludes, and what happens without NVML. Needs no GPU."""

from __future__ import annotations

import pytest

from grader.gpu.speedup import Clock, Pair, Timing, throttled


@pytest.mark.parametrize(
    ("clocks", "bad"),
    [
        ((), ()),
        ((0, 0, 0), (False, False, False)),
        ((1980, 1980), (False, False)),
        ((1980, 1782, 1781), (False, False, True)),
        ((1000, 1980, 1980), (True, False, False)),
        ((1980, 0, 1000), (False, False, True)),
    ],
)
def test_a_pair_counts_while_the_clock_is_near_its_highest(
    clocks: tuple[int, ...], bad: tuple[bool, ...]
) -> None:
    assert throttled(clocks) == bad


def test_without_nvml_no_clock_is_known() -> None:
    assert Clock().megahertz() == 0


@pytest.mark.parametrize(("sound", "counts"), [(0, 40), (1, 41), (7, 47), (8, 8), (30, 30)])
def test_throttled_pairs_do_not_count_unless_the_others_are_too_few_for_an_interval(
    sound: int, counts: int
) -> None:
    pairs = (Pair(3, 1, throttled=True),) * 40 + (Pair(2, 1),) * sound
    assert len(Timing(pairs).ratios) == counts
