"""The gate of a lab: evaluate every requirement, for `grader labs check`.

The requirements on the files of a lab are in `requirements`. The gate evaluates them in parallel,
then requires that the public cases catch every mutant of the solution that is not equivalent to it.
On a GPU, mutants that are only slower must lose points for speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from grader.authoring.mutation.report import mutant_requirements
from grader.authoring.mutation.study import (
    PreparedStudy,
    finish_study,
    prepare_study,
    submission_of,
)
from grader.authoring.mutation.verdict import MutantResult
from grader.authoring.requirements import (
    MIN_VARIANTS,
    LabFolder,
    Requirement,
    RequirementNotMet,
    RequirementResult,
    enough_variants,
    evaluate_requirement,
    fault_result,
    grade_submission,
    quiz_is_valid,
    skeleton_is_incomplete,
    skeleton_matches,
    solution_passes,
    thresholds_are_current,
    variant_is_caught,
)
from grader.faults import LabFault
from grader.grading.baseline import map_parallel
from grader.grading.cases import RunOptions
from grader.labs.thresholds import THRESHOLDS_FILE


def check_lab(
    folder: LabFolder,
    options: RunOptions,
    announce: Callable[[str], None] = lambda what: None,
    *,
    mutants: bool = True,
) -> Iterator[RequirementResult]:
    """Evaluate every requirement of a lab, and yield the results in order.

    A fault of the lab is a result that does not hold.

    Args:
        folder: The lab with its solutions.
        options: The backend and the limits.
        announce: Called with a short text before each step.
        mutants: Whether to evaluate the mutants too.

    Raises:
        MachineFault: Grading failed on this machine.
    """
    name = folder.lab.name
    announce(f"{name}: skeleton, solution, quiz and incorrect variants")
    single = replace(options, threads=1)  # requirements already run in parallel
    with ThreadPoolExecutor(max_workers=1) as pool:
        prepared = (
            pool.submit(prepare_study, folder.lab, folder.solution, options) if mutants else None
        )
        evaluate = partial(evaluate_requirement, name)
        todo = requirements(folder, single)
        for requirement, result in map_parallel(evaluate, todo, options.parallel_jobs):
            announce(f"{name}: {requirement.what}")
            yield result
            if result.is_final:
                return
    if prepared:
        announce(f"{name}: mutants")
        yield from check_mutants(folder, prepared.result, options, announce)


def requirements(folder: LabFolder, options: RunOptions) -> Iterator[Requirement]:
    """Yield the requirements on the files of a lab, each independent of the others."""
    yield Requirement("skeleton matches the solution", lambda: skeleton_matches(folder))
    yield Requirement("skeleton is incomplete", lambda: skeleton_is_incomplete(folder, options))
    yield Requirement("solution passes", lambda: solution_passes(folder, options))
    yield Requirement("quiz", lambda: quiz_is_valid(folder, options))
    if (folder.lab.folder / THRESHOLDS_FILE).is_file():
        yield Requirement("thresholds", lambda: thresholds_are_current(folder))
    yield Requirement(
        f"at least {MIN_VARIANTS} incorrect variants", lambda: enough_variants(folder)
    )
    for variant in folder.variants:
        yield Requirement(
            f"wrong/{variant.name}", partial(variant_is_caught, folder, variant, options)
        )


def check_mutants(
    folder: LabFolder,
    prepare: Callable[[], PreparedStudy],
    options: RunOptions,
    announce: Callable[[str], None],
) -> Iterator[RequirementResult]:
    """Evaluate the mutants of the solution, and yield the summary and each violation.

    On a GPU, mutants that only `speed` can catch are graded for speed too.
    """
    name = folder.lab.name
    try:
        explained = finish_study(prepare(), options, announce)
        checks = {check.name for check in folder.lab.checks}
        first, *rest = mutant_requirements(name, explained, checks)
        yield RequirementResult(name, first.what, first.holds, first.observed, explained.results)
        yield from (RequirementResult(name, one.what, one.holds, one.observed) for one in rest)
    except LabFault as fault:
        yield fault_result(name, "mutants", fault)
        return
    for result in explained.results:
        if result.only == "speed" and options.on == "gpu":
            what = f"mutant {result.mutant.name}"
            announce(f"{name}: {result.mutant.name}")
            evaluate = partial(mutant_loses_speed_points, folder, result, options)
            yield evaluate_requirement(name, Requirement(what, evaluate))


def mutant_loses_speed_points(folder: LabFolder, result: MutantResult, options: RunOptions) -> str:
    """Require that a correct but slower mutant loses points for speed."""
    submission = submission_of(folder.lab, result.mutant.source)
    graded = grade_submission(folder.lab, submission, options)
    speed = next((check for check in graded.checks if check.name == "speed"), None)
    if speed is None or speed.status == "unjudged":
        raise RequirementNotMet("speed is not evaluated here, so no check shows the difference")
    if speed.points >= speed.max_points:
        raise RequirementNotMet(f"gets full points for speed: {speed.summary}")
    return f"{speed.points:g} of {speed.max_points:g} for speed"
