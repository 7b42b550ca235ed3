"""Prepare a lab's baseline while the submission compiles and runs; map work in parallel.

The results go into caches, where the checks find them; without prefetching, the first grade of a
lab on a machine waits for them. Errors are reported where the results are used.
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
from grader.grading.run import build_baseline
from grader.labs.cases import array_shapes
from grader.labs.model import Case, Lab

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_parallel(
    work: Callable[[Item], Result], items: Iterable[Item], jobs: int
) -> Iterator[tuple[Item, Result]]:
    """Call `work` on each item, at most `jobs` at a time.

    Threads suffice: compiling and simulating take place in child processes. Unlike
    `Executor.map`, no further call starts once the caller stops early: the gate stops at the first
    line that fails, and Ctrl-C must not wait for hundreds of mutants.

    Yields:
        Each item with its result, in the order of the items. An exception is raised at its item.
    """
    pool = ThreadPoolExecutor(jobs)
    try:
        futures = [(item, pool.submit(work, item)) for item in items]
        for item, result in futures:
            yield item, result.result()
    finally:
        pool.shutdown(cancel_futures=True)


def prefetch(
    executor: Executor,
    lab: Lab,
    checks: Sequence[Check],
    cases: Sequence[Case],
    options: RunOptions,
) -> None:
    """Submit to an executor the baseline work that these checks need."""
    case = largest_case(lab, cases)
    if case and cache_folder() and any(check.options.needs_baseline for check in checks):
        executor.submit(_measure_baseline, lab, case, options)
    if options.on == "gpu" and any(check.name == "speed" for check in checks):
        executor.submit(_compile_baseline, lab)


def largest_case(lab: Lab, cases: Sequence[Case]) -> Case | None:
    """Return the case that measurements will be taken on.

    None when that depends on the student's derived numbers.
    """
    public = [case for case in cases if case.visibility == "public"] or list(cases)
    if any(case.derived for case in public):
        return None
    names = {argument.name for argument in lab.arguments}

    def elements(case: Case) -> int:
        return sum(prod(s) for name, s in array_shapes(lab, case).items() if name in names)

    return max(public, key=elements, default=None)


def _measure_baseline(lab: Lab, case: Case, options: RunOptions) -> None:
    with suppress(LabFault, MachineFault):
        baseline_trace(lab, case, options, cache_folder())


def _compile_baseline(lab: Lab) -> None:
    with suppress(LabFault, MachineFault, StudentFault):
        build_baseline(baseline_program(lab))
