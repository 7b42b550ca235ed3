"""The parallel map: ordered results, limited parallelism, and the end at a fault."""

from __future__ import annotations

import threading
import time

import pytest

from grader.grading.baseline import map_parallel
from tests.patience import PATIENCE


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_results_are_in_order_and_no_more_run_than_asked(jobs: int) -> None:
    lock, running, most = threading.Lock(), 0, 0
    two = threading.Barrier(2)

    def work(item: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        if jobs > 1 and item < 2:
            two.wait(PATIENCE)
        time.sleep(0.02 if item % 3 == 0 else 0.005)
        with lock:
            running -= 1
        return item * item

    assert list(map_parallel(work, range(12), jobs)) == [(n, n * n) for n in range(12)]
    assert most <= jobs and (most > 1) == (jobs > 1)


def test_a_fault_comes_in_its_turn_and_ends_the_work() -> None:
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        if item == 2:
            raise ValueError("two")
        time.sleep(0.01)
        return item

    seen = []
    with pytest.raises(ValueError, match="two"):
        for item, _ in map_parallel(work, range(200), 1):
            seen.append(item)
    assert seen == [0, 1]
    assert len(begun) < 10


def test_a_caller_that_stops_early_starts_nothing_more() -> None:
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        time.sleep(0.01)
        return item

    made = map_parallel(work, range(200), 1)
    assert next(made) == (0, 0)
    made.close()  # type: ignore[attr-defined]
    assert len(begun) < 10
