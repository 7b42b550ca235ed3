"""The gate of a lab: evaluate every requirement, for `grader labs check`.

The requirements on the files of a lab are in `requirements`. The gate evaluates them in parallel,
and requires that the public cases catch every mutant of the solution that is not equivalent to it.
On a GPU, mutants that are only slower must lose points for speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from dataclasses import field
from functools import partial
from math import prod
from threading import Lock
from typing import ParamSpec, TypeVar

from grader import dataclass, replace
from grader.authoring.cheats import Cheat, Cheats, NotMade
from grader.authoring.mutation.mutants import MutantResult
from grader.authoring.mutation.report import mutant_requirements
from grader.authoring.mutation.study import (
    StartedStudy,
    finish_study,
    start_study,
    submission_of,
)
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
    read_text,
    require_complete,
    skeleton_is_incomplete,
    skeleton_matches,
    solution_passes,
    thresholds_are_current,
    variant_is_caught,
)
from grader.checks.findings import THREAD_INSTRUCTIONS
from grader.compile.source import COMPILE
from grader.faults import LabFault
from grader.feedback.grade import SEARCH
from grader.grading.baseline import baseline_traces, cache_folder, canceled_pool
from grader.grading.cases import RunOptions, select_cases
from grader.grading.pipeline import Grade, Job
from grader.grading.pipeline import grade_submission as grade_unexplained
from grader.grading.quiz import answer_quiz
from grader.grading.run import SIMULATE
from grader.labs.cases import array_shapes
from grader.labs.model import Case, Lab
from grader.labs.thresholds import THRESHOLDS_FILE
from grader.sandbox.call import KeptChild, children_stay

P = ParamSpec("P")
T = TypeVar("T")


def check_labs(
    folders: Iterable[LabFolder],
    options: RunOptions,
    announce: Callable[[str], None] = lambda what: None,
    *,
    generated: bool = True,
) -> Iterator[RequirementResult]:
    """Evaluate every requirement of each lab, and yield the results in order.

    A fault of the lab is a result that does not hold. `options.threads` requirements and mutants
    are evaluated in parallel (None: see `parallel_jobs`). The next lab starts behind the mutants of
    the one before, so that no core waits for the last of them.

    Args:
        folders: The labs with their solutions.
        options: The backend and the limits.
        announce: Called with a short text before each step.
        generated: Whether to make and evaluate the mutants and the cheats.

    Raises:
        MachineFault: Grading failed on this machine.
    """
    with keeping_pool(options.parallel_jobs) as pool:
        begin = partial(start_lab, options=options, pool=pool, generated=generated)
        remaining = iter(folders)
        current = next(remaining, None)
        started = begin(current) if current else None
        while started:
            name = started.folder.lab.name
            announce(f"{name}: skeleton, solution, quiz and incorrect variants")
            final = False
            for requirement, result in started.requirements:
                final = result.result().is_final
                announce(f"{name}: {requirement.what}")
                yield result.result()
                if final:
                    started.cancel()
                    break
            following = next(remaining, None)
            coming = begin(following) if following else None
            if started.study and not final:
                announce(f"{name}: mutants")
                yield from check_mutants(started.folder, started.study.result, options, announce)
            started = coming


STEPS = (COMPILE, SIMULATE, SEARCH)
"""The steps whose children stay: to fork one takes longer than most of a mutant's."""


@contextmanager
def keeping_pool(jobs: int) -> Iterator[Executor]:
    """Open a `canceled_pool` whose calls use the children of the calls before them.

    Whoever wrote a lab may make its gate say what they like, so their files share children.
    """
    with ExitStack() as ends, canceled_pool(jobs) as pool:
        yield _Keeping(pool, ends)


class _Keeping(Executor):
    def __init__(self, pool: Executor, ends: ExitStack) -> None:
        self._pool, self._ends = pool, ends
        self._free: list[Mapping[str, KeptChild]] = []

    def submit(self, function: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> Future[T]:
        return self._pool.submit(self._call, partial(function, *args, **named))

    def _call(self, function: Callable[[], T]) -> T:
        try:
            children = self._free.pop()
        except IndexError:
            children = {step: self._ends.enter_context(KeptChild()) for step in STEPS}
        try:
            with children_stay(children):
                return function()
        finally:
            self._free.append(children)


@dataclass(frozen=True)
class StartedLab:
    """A lab whose requirements are being evaluated.

    Attributes:
        requirements: The requirements on its files, with their results to come.
        study: The study of its mutants to come, which starts them behind the requirements; None
            when there is none.
    """

    folder: LabFolder
    requirements: Sequence[tuple[Requirement, Future[RequirementResult]]]
    study: Future[StartedStudy] | None

    def cancel(self) -> None:
        """Cancel what has not started."""
        for _, result in self.requirements:
            result.cancel()
        if self.study and not self.study.cancel():
            self.study.add_done_callback(_cancel_mutants)


def _cancel_mutants(study: Future[StartedStudy]) -> None:
    if not study.cancelled() and study.exception() is None:
        for _, verdict in study.result().verdicts:
            verdict.cancel()


def start_lab(
    folder: LabFolder, options: RunOptions, pool: Executor, *, generated: bool
) -> StartedLab:
    """Have the requirements of a lab and its mutants evaluated in a pool.

    Args:
        folder: The lab with its solutions.
        options: The backend and the limits.
        pool: The threads to evaluate in.
        generated: Whether to make the mutants and the cheats.

    Raises:
        LabFault: A file of the lab cannot be read.
    """
    lab = folder.lab
    study = pool.submit(start_study, lab, folder.solution, options, pool) if generated else None
    single = replace(options, threads=1)  # requirements already run in parallel
    evaluate = partial(evaluate_requirement, lab.name)
    todo = requirements(folder, single, cheats=generated)
    return StartedLab(folder, [(one, pool.submit(evaluate, one)) for one in todo], study)


def requirements(
    folder: LabFolder, options: RunOptions, *, cheats: bool = True
) -> Iterator[Requirement]:
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
    if cheats:
        yield from cheat_requirements(folder, options)


MAX_SERIAL_INSTRUCTIONS = 1_600_000
"""Instructions in a case, at most, of a cheat that takes long: one thread executes all, say."""


def cheat_requirements(folder: LabFolder, options: RunOptions) -> Iterator[Requirement]:
    """Yield a requirement for each cheat that can be made: it earns no more than the baseline.

    Args:
        folder: The lab with its solutions.
        options: The backend and the limits.

    Raises:
        LabFault: A file of the lab cannot be read.
    """
    lab = folder.lab
    if not lab.baseline.is_file():
        return
    answers = {derivation.name: derivation.maximum for derivation in lab.derivations}
    cases = [case.resolved(answers) for case in select_cases(lab, "all", options.seed)]
    public = [case for case in cases if case.visibility == "public"] or cases
    public.sort(key=partial(_elements, lab))
    try:
        made = Cheats(lab, read_text(lab.baseline), read_text(folder.solution), cases)
        study = CheatStudy(lab, made, cases, options)
        for cheat in made.make(public):
            yield Requirement(f"cheat: {cheat.name}", partial(study.earns_nothing, cheat))
    except (NotMade, RequirementNotMet) as problem:
        reason = str(problem)
        yield Requirement("cheats", lambda: f"not made: {reason}")


def _elements(lab: Lab, case: Case) -> int:
    return sum(prod(shape) for shape in array_shapes(lab, case).values())


@dataclass(frozen=True)
class CheatStudy:
    """Grades the cheats of a lab, and the baseline that each is compared with."""

    lab: Lab
    cheats: Cheats
    cases: list[Case]
    options: RunOptions
    honest: dict[tuple[str, ...], Grade] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def earns_nothing(self, cheat: Cheat) -> str:
        """Require that a cheat earns no more than the baseline, out of no fewer points."""
        lab = self._smaller_lab(cheat.slowness) if cheat.slowness else self.lab
        graded, honest = self.grade(lab, cheat.source), self._baseline(lab)
        compiled = graded.checks[0]
        if compiled.status == "fail":
            return f"not made: {compiled.summary}"
        points = f"{_points(graded)}, the baseline {_points(honest)}"
        if graded.score.points > honest.score.points + 0.005:
            raise RequirementNotMet(f"earns more than the baseline: {points}")
        if graded.score.judged_max != honest.score.judged_max:
            raise RequirementNotMet(f"is graded out of other points: {points}")
        return points

    def _baseline(self, lab: Lab) -> Grade:
        names = tuple(case.name for case in lab.cases)
        with self.lock:
            if names not in self.honest:
                self.honest[names] = self.grade(lab, self.cheats.honest_baseline().source)
            return self.honest[names]

    def _smaller_lab(self, slowness: int) -> Lab:
        """Return the lab with the cases that take seconds, and without the drawn one."""
        traces = baseline_traces(self.lab, self.cases, self.options, cache_folder())
        short = {
            name
            for name, trace in traces.items()
            if trace.counters.get(THREAD_INSTRUCTIONS, 0) * slowness <= MAX_SERIAL_INSTRUCTIONS
        }
        kept = tuple(case for case in self.lab.cases if case.name in short)
        return replace(self.lab, cases=kept or self.lab.cases[:1], drawn={})

    def grade(self, lab: Lab, source: str) -> Grade:
        """Grade a source on all cases, without explanations."""
        job = Job(lab, submission_of(lab, source), self.options, "all")
        graded = grade_unexplained(job, quiz=lambda: answer_quiz(lab, None, self.options))
        return require_complete(graded, lab.name)


def _points(graded: Grade) -> str:
    return f"{graded.score.points:g} of {graded.score.judged_max:g}"


def check_mutants(
    folder: LabFolder,
    started: Callable[[], StartedStudy],
    options: RunOptions,
    announce: Callable[[str], None],
) -> Iterator[RequirementResult]:
    """Collect the verdicts on the mutants, and yield the summary and each violation.

    On a GPU, mutants that only `speed` can catch are graded for speed too.
    """
    name = folder.lab.name
    try:
        explained = finish_study(started(), announce)
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
