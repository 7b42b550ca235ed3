"""Grade all mutants of one lab on the simulator, in parallel, and cache their verdicts.

A mutant is caught when a check fails that the solution passes. It is equivalent when its optimized
PTX equals the solution's. Otherwise it survives. Verdicts are cached by the mutant's text and by
everything else that they depend on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

import grader
from grader import dataclass, replace
from grader.authoring.mutation.mutants import (
    SYMPTOMS,
    Mutant,
    MutantResult,
    ReportedLines,
    Verdict,
    make_mutants,
    normalized_ptx,
    reported_lines,
    verdict_from_json,
)
from grader.authoring.mutation.report import REASONS_FILE, ExplainedResults, apply_reasons
from grader.authoring.requirements import require_complete
from grader.checks.result import Evidence, Result
from grader.checks.suite import evaluate_all, plan
from grader.compile.cache import cache_key, load, store, user_folder
from grader.compile.source import compile_source, toolchain
from grader.faults import LabFault, StudentFault
from grader.feedback.fixes import errors_of
from grader.feedback.grade import localize_faults
from grader.grading.baseline import canceled_pool
from grader.grading.cases import RunOptions
from grader.grading.pipeline import Grade, Job, Localize, grade_submission
from grader.grading.quiz import answer_quiz
from grader.labs.model import Lab
from grader.launch import OUTPUT_KINDS, Finding
from grader.submissions.files import Submission

FIRST_STEP_LIMIT = 40_000
MAX_STEP_LIMIT = 20_000_000
STEP_GROWTH = 8
STEP_MARGIN = 20
"""A mutant that takes this many times the steps of the solution counts as endless."""

CACHE_BYTES = 16 << 20
_GRADER_FILES = ("*.py", "*.so", "compile/include/**/*")

Visibility = Literal["public", "all"]


@dataclass(frozen=True)
class SolutionProfile:
    """The solution, as its mutants are compared with it.

    Attributes:
        source: The solution's text.
        normalized_ptx: Its PTX without names and line numbers.
        passed: The checks that it passes.
        step_limit: The steps that a block of a mutant may take.
        seed: The seed of the inputs.
        limit: The seconds after which a kernel is stopped.
    """

    lab: Lab
    source: str
    normalized_ptx: str
    passed: frozenset[str]
    step_limit: int
    seed: bytes
    limit: float


def profile_solution(lab: Lab, source: str, options: RunOptions) -> SolutionProfile:
    """Grade the solution, and find the steps that it takes.

    Raises:
        LabFault: The solution does not pass.
        MachineFault: Grading failed on this machine.
    """
    submission = submission_of(lab, source)
    steps = FIRST_STEP_LIMIT
    while True:
        own = replace(options, threads=1, steps=steps)
        graded = _graded(Job(lab, submission, own, "all"))
        if not _timed_out(graded) or steps > MAX_STEP_LIMIT:
            break
        steps *= STEP_GROWTH
    if graded.exit_code:
        raise LabFault("the solution does not pass, so its mutants cannot be evaluated")
    ptx = normalized_ptx(compile_source(submission.data, submission.name).ptx)
    passed = frozenset(check.name for check in graded.checks if check.status == "pass")
    limit = STEP_MARGIN * steps
    return SolutionProfile(lab, source, ptx, passed, limit, options.seed, options.limit)


def _timed_out(graded: Grade) -> bool:
    return any(f.kind == "timeout" for check in graded.checks for f in check.findings)


def evaluate_mutant(profile: SolutionProfile, source: str) -> Verdict:
    """Compile a mutant, compare its PTX with the solution's, and grade it as a submission.

    It is graded on the public cases and, when they do not catch it, on all cases. Raises LabFault
    and MachineFault. Lines at fault are searched only where no access that an error names is at the
    edited line.
    """
    submission = submission_of(profile.lab, source)
    if _is_same(profile, submission):
        return Verdict("same-ptx")

    def without_search(results: Sequence[Result]) -> ReportedLines:
        return reported_lines(profile.source, source, _accesses_of(errors_of(results)))

    def localize(evidence: Evidence, options: RunOptions) -> Evidence:
        results = evaluate_all(plan(profile.lab), evidence)
        return evidence if without_search(results).named else localize_faults(evidence, options)

    own = RunOptions("sim", profile.seed, 1, profile.limit, profile.step_limit)
    views: tuple[Visibility, ...] = ("public", "all")
    for visibility in views:
        graded = _graded(Job(profile.lab, submission, own, visibility), localize)
        failed = [c for c in graded.checks if c.status == "fail" and c.name in profile.passed]
        if failed:
            lines = without_search(graded.checks)
            if not lines.named:
                lines = reported_lines(profile.source, source, errors_of(graded.checks))
            return _caught("public" if visibility == "public" else "hidden", failed, lines)
    return Verdict("survived")


def _accesses_of(errors: Sequence[Finding]) -> list[Finding]:
    """Return the errors with the lines alone that no search changes: those of accesses."""
    return [replace(f, origins=()) for f in errors if f.kind not in OUTPUT_KINDS]


def submission_of(lab: Lab, source: str) -> Submission:
    """Return a mutant as a submission with the lab's file name."""
    data = source.encode()
    return Submission(f"{lab.name}.cu", data, hashlib.sha256(data).hexdigest())


def _is_same(profile: SolutionProfile, submission: Submission) -> bool:
    try:
        return (
            normalized_ptx(compile_source(submission.data, submission.name).ptx)
            == profile.normalized_ptx
        )
    except StudentFault:
        return False


def _caught(seen: str, failed: Sequence[Result], lines: ReportedLines) -> Verdict:
    check = next((c for c in failed if _explains_cause(c.findings)), failed[0])
    finding = next((f for f in check.findings if f.severity == "error"), None)
    return Verdict(
        "caught",
        seen=seen,
        check=check.name,
        kind=finding.kind if finding else "",
        message=finding.message if finding else check.summary,
        lines=lines.lines,
        named=lines.named,
        located=lines.located,
    )


def _explains_cause(findings: tuple[Finding, ...]) -> bool:
    return any(f.severity == "error" and f.kind not in SYMPTOMS for f in findings)


def _graded(job: Job, localize: Localize = lambda evidence, options: evidence) -> Grade:
    """Grade without explanations. Raises LabFault and MachineFault."""
    no_answers = partial(answer_quiz, job.lab, None, job.options)
    graded = grade_submission(job, quiz=no_answers, localize=localize)
    return require_complete(graded, job.submission.name)


@dataclass(frozen=True)
class Cache:
    """The cache of verdicts.

    Attributes:
        folder: The folder of the cache; None for no cache.
        stamp: What all verdicts of one lab depend on, as a key.
    """

    folder: Path | None
    stamp: str

    def load(self, mutant: Mutant) -> Verdict | None:
        """Return the cached verdict on the mutant's text; None when there is none."""
        return verdict_from_json(load(self.folder, cache_key(self.stamp, mutant.source)))

    def keep(self, mutant: Mutant, verdict: Verdict) -> None:
        """Store the verdict on the mutant's text."""
        key = cache_key(self.stamp, mutant.source)
        store(self.folder, key, verdict.to_json(), CACHE_BYTES)


@dataclass(frozen=True)
class PreparedStudy:
    """The mutants of a lab before they are graded.

    Attributes:
        known: The cached verdicts, by the mutant's name.
        profile: The solution's profile; None when every verdict is cached.
    """

    lab: Lab
    solution: Path
    mutants: tuple[Mutant, ...]
    cache: Cache
    known: Mapping[str, Verdict]
    profile: SolutionProfile | None


@dataclass(frozen=True)
class StartedStudy:
    """A study whose mutants are being graded.

    Attributes:
        verdicts: The verdicts to come on the mutants without a cached one.
    """

    prepared: PreparedStudy
    verdicts: Sequence[tuple[Mutant, Future[Verdict]]]


def study(
    lab: Lab,
    solution: Path,
    options: RunOptions,
    announce: Callable[[str], None] = lambda what: None,
) -> ExplainedResults:
    """Grade every mutant of the solution, and apply the author's reasons for survivors.

    `options.threads` mutants are graded in parallel (None: see `parallel_jobs`). Raises LabFault
    and MachineFault.
    """
    with canceled_pool(options.parallel_jobs) as pool:
        return finish_study(start_study(lab, solution, options, pool), announce)


def start_study(lab: Lab, solution: Path, options: RunOptions, pool: Executor) -> StartedStudy:
    """Prepare a study, and have its mutants graded in a pool.

    Each mutant is graded with one thread of the simulator. Raises LabFault and MachineFault.
    """
    prepared = prepare_study(lab, solution, options)
    verdicts = [
        (mutant, pool.submit(evaluate_mutant, prepared.profile, mutant.source))
        for mutant in prepared.mutants
        if prepared.profile is not None and mutant.name not in prepared.known
    ]
    return StartedStudy(prepared, verdicts)


def prepare_study(lab: Lab, solution: Path, options: RunOptions) -> PreparedStudy:
    """Make the mutants, and profile the solution unless every verdict is cached.

    Raises LabFault and MachineFault.
    """
    source = _read(solution)
    mutants = tuple(make_mutants(source))
    cache = Cache(verdicts_folder(), cache_stamp(lab, source, options))
    cached = ((mutant, cache.load(mutant)) for mutant in mutants)
    known = {mutant.name: verdict for mutant, verdict in cached if verdict is not None}
    profile = profile_solution(lab, source, options) if len(known) < len(mutants) else None
    return PreparedStudy(lab, solution, mutants, cache, known, profile)


def finish_study(
    started: StartedStudy, announce: Callable[[str], None] = lambda what: None
) -> ExplainedResults:
    """Collect and cache the verdicts, and apply the author's reasons for survivors.

    Raises LabFault and MachineFault.
    """
    prepared = started.prepared
    known = dict(prepared.known)
    for number, (mutant, verdict) in enumerate(started.verdicts, 1):
        announce(f"{prepared.lab.name}: mutant {number} of {len(started.verdicts)}")
        known[mutant.name] = verdict.result()
        prepared.cache.keep(mutant, known[mutant.name])
    results = [MutantResult(mutant, known[mutant.name]) for mutant in prepared.mutants]
    return apply_reasons(prepared.solution.parent / REASONS_FILE, results)


def _read(solution: Path) -> str:
    try:
        return solution.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabFault(f"cannot read the solution: {error}", where=str(solution)) from None


def verdicts_folder() -> Path | None:
    """Return the folder `mutants` in the user's cache; None when there is no cache folder."""
    return user_folder("mutants")


def cache_stamp(lab: Lab, solution: str, options: RunOptions) -> str:
    """Return a key of everything that a verdict depends on, except the mutant.

    These are the solution, the lab's files, the seed, every file of the grader, and the compiler.
    """
    digest = hashlib.sha256()
    package = Path(grader.__file__).parent
    files = {file for kind in _GRADER_FILES for file in package.rglob(kind) if file.is_file()}
    for file in (*sorted(files), *sorted(f for f in lab.folder.iterdir() if f.is_file())):
        with suppress(OSError):
            digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    tools = [*toolchain().items(), np.__version__]
    return cache_key(digest.hexdigest(), solution, options.seed.hex(), tools)
