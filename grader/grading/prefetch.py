"""What a grade will need beside the submission, made while that is compiled and run.

Everything made here goes into a cache, where the checks find it; the first grade of a lab on a
machine would wait for it otherwise. What is wrong with it is told where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from math import prod
from typing import TypeVar

from grader.checks.suite import Check
from grader.faults import LabFault, MachineFault, StudentFault
from grader.grading.baseline import baseline_program, baseline_trace, cache_folder
from grader.grading.cases import RunOptions
from grader.grading.run import build_to_time
from grader.labs.cases import array_shapes
from grader.labs.model import Case, Lab

# Several things done at a time, their results in order.
#
# Threads do: what takes long here, compiling and simulating, is done by child processes.

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_parallel(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in the items' order, `jobs` of them worked on at a time. An
    exception is raised where its item's turn comes, and what has not begun by then never does.
    """
    pool = ThreadPoolExecutor(jobs)
    try:
        begun = [(item, pool.submit(work, item)) for item in items]
        for item, result in begun:
            yield item, result.result()
    finally:
        pool.shutdown(cancel_futures=True)


def prefetch(
    executor: Executor, lab: Lab, checks: Sequence[Check], cases: Sequence[Case], how: RunOptions
) -> None:
    """Have an executor make what these checks will ask of the lab's baseline."""
    case = largest_case(lab, cases)
    if case and cache_folder() and any(check.options.needs_baseline for check in checks):
        executor.submit(_measured, lab, case, how)
    if how.on == "gpu" and any(check.name == "speed" for check in checks):
        executor.submit(_built, lab)


def largest_case(lab: Lab, cases: Sequence[Case]) -> Case | None:
    """The case that measurements will be taken on; None when that hangs on the student's own
    numbers.
    """
    public = [case for case in cases if case.visibility == "public"] or list(cases)
    if any(case.derived for case in public):
        return None
    names = {argument.name for argument in lab.arguments}

    def elements(case: Case) -> int:
        return sum(prod(s) for name, s in array_shapes(lab, case).items() if name in names)

    return max(public, key=elements, default=None)


def _measured(lab: Lab, case: Case, how: RunOptions) -> None:
    with suppress(LabFault, MachineFault):
        baseline_trace(lab, case, how, cache_folder())


def _built(lab: Lab) -> None:
    with suppress(LabFault, MachineFault, StudentFault):
        build_to_time(baseline_program(lab))
