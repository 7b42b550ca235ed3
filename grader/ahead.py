"""What a grade will need beside the submission, made while that is compiled and run.

Everything made here goes into a cache, where the checks find it; the first grade of a lab on a
machine would wait for it otherwise. What is wrong with it is told where it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from math import prod

from grader.baseline import baseline_program, baseline_trace, cache_folder
from grader.cases import How
from grader.check.suite import Check
from grader.fault import LabFault, MachineFault, StudentFault
from grader.lab import Case, Lab
from grader.prepare import array_shapes
from grader.run import build_to_time


def begin(
    beside: Executor, lab: Lab, checks: Sequence[Check], cases: Sequence[Case], how: How
) -> None:
    """Have `beside` make what these checks will ask of the lab's baseline."""
    case = largest_case(lab, cases)
    if case and cache_folder() and any(check.options.needs_baseline for check in checks):
        beside.submit(_measured, lab, case, how)
    if how.on == "gpu" and any(check.name == "speed" for check in checks):
        beside.submit(_built, lab)


def largest_case(lab: Lab, cases: Sequence[Case]) -> Case | None:
    """The case that measurements will be taken on; None when that hangs on the student's own
    numbers."""
    public = [case for case in cases if case.visibility == "public"] or list(cases)
    if any(case.derived for case in public):
        return None
    names = {argument.name for argument in lab.arguments}

    def elements(case: Case) -> int:
        return sum(prod(s) for name, s in array_shapes(lab, case).items() if name in names)

    return max(public, key=elements, default=None)


def _measured(lab: Lab, case: Case, how: How) -> None:
    with suppress(LabFault, MachineFault):
        baseline_trace(lab, case, how, cache_folder())


def _built(lab: Lab) -> None:
    with suppress(LabFault, MachineFault, StudentFault):
        build_to_time(baseline_program(lab))
