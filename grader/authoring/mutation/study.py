"""All mutants of one lab tried, several at a time, and their verdicts remembered by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

import grader
from grader.authoring.mutation.demands import FILE, Reasoned, apply_reasons
from grader.authoring.mutation.mutants import Mutant, make_mutants
from grader.authoring.mutation.verdict import SYMPTOMS, Tried, Verdict, essence, from_json, told
from grader.compile.cache import key_of, load, store, user_folder
from grader.compile.source import compile_source, toolchain
from grader.faults import LabFault, MachineFault, StudentFault
from grader.feedback.grade import grade
from grader.grading.baseline import map_parallel
from grader.grading.cases import RunOptions
from grader.grading.pipeline import Grade
from grader.labs.model import Lab
from grader.launch import Finding
from grader.submissions.files import Submission

# One mutant held against its lab on the simulator: caught, the same program, or a survivor.

FIRST_LIMIT = 40_000
MOST_LIMIT = 20_000_000
GROWTH = 8
SLACK = 20
"""How many times the steps of the solution a mutant may take before it counts as endless."""

Visibility = Literal["public", "all"]


@dataclass(frozen=True)
class Standard:
    """What a lab's mutants are held against: the solution's text, its PTX, the checks that it
    passes, and the steps that a block of a mutant may take.
    """

    lab: Lab
    source: str
    essence: str
    passed: frozenset[str]
    step_limit: int
    seed: bytes
    limit: float


def set_standard(lab: Lab, source: str, how: RunOptions) -> Standard:
    """The solution measured. Raises LabFault when it does not pass, MachineFault."""
    submission = submission_of(lab, source)
    steps = FIRST_LIMIT
    while True:
        made = _graded(lab, submission, "all", how.seed, how.limit, steps)
        if not _ran_out(made) or steps > MOST_LIMIT:
            break
        steps *= GROWTH
    if made.exit_code:
        raise LabFault("the solution does not pass, so its mutants cannot be judged")
    same = essence(compile_source(submission.data, submission.name).ptx)
    passed = frozenset(check.name for check in made.checks if check.status == "pass")
    return Standard(lab, source, same, passed, SLACK * steps, how.seed, how.limit)


def _ran_out(made: Grade) -> bool:
    return any(f.kind == "timeout" for check in made.checks for f in check.findings)


def try_mutant(standard: Standard, source: str) -> Verdict:
    """Compiled, compared with the solution's PTX, and graded as a student's file would be: on the
    public cases, and where those see nothing on all. Raises LabFault, MachineFault.
    """
    submission = submission_of(standard.lab, source)
    if _is_same(standard, submission):
        return Verdict("same-ptx")
    views: tuple[Visibility, ...] = ("public", "all")
    for visibility in views:
        made = _graded(
            standard.lab, submission, visibility, standard.seed, standard.limit,
            standard.step_limit,
        )  # fmt: skip
        failed = tuple(c for c in made.checks if c.status == "fail" and c.name in standard.passed)
        if failed:
            return _caught(standard, source, made, "public" if visibility == "public" else "hidden")
    return Verdict("survived")


def submission_of(lab: Lab, source: str) -> Submission:
    """A mutant as a student's file of the lab's name."""
    data = source.encode()
    return Submission(f"{lab.name}.cu", data, hashlib.sha256(data).hexdigest())


def _is_same(standard: Standard, submission: Submission) -> bool:
    try:
        return essence(compile_source(submission.data, submission.name).ptx) == standard.essence
    except StudentFault:
        return False


def _caught(standard: Standard, source: str, made: Grade, seen: str) -> Verdict:
    failed = [c for c in made.checks if c.status == "fail" and c.name in standard.passed]
    errors = [f for c in made.checks for f in c.findings if f.severity == "error"]
    check = next((c for c in failed if _tells_cause(c.findings)), failed[0])
    finding = next((f for f in check.findings if f.severity == "error"), None)
    said = told(standard.source, source, errors)
    return Verdict(
        "caught",
        seen=seen,
        check=check.name,
        kind=finding.kind if finding else "",
        message=finding.message if finding else check.summary,
        lines=said.lines,
        named=said.named,
        located=said.located,
    )


def _tells_cause(findings: tuple[Finding, ...]) -> bool:
    return any(f.severity == "error" and f.kind not in SYMPTOMS for f in findings)


def _graded(
    lab: Lab, submission: Submission, visibility: Visibility, seed: bytes, limit: float, steps: int
) -> Grade:
    made = grade(
        lab, submission, visibility=visibility, seed=seed, threads=1, limit=limit, step_limit=steps
    )
    if made.score.status == "incomplete":
        why = next(check.summary for check in made.checks if check.status == "error")
        raise MachineFault(why, where=submission.name)
    return made


CACHE_BYTES = 16 << 20
_JUDGES = ("*.py", "*.so", "compile/include/**/*")


@dataclass(frozen=True)
class Cache:
    """Where verdicts are kept (None: nowhere), and what all of one lab depend on."""

    folder: Path | None
    stamp: str

    def load(self, mutant: Mutant) -> Verdict | None:
        """The verdict on that very text, when this grader has given one before."""
        return from_json(load(self.folder, key_of(self.stamp, mutant.source)))

    def keep(self, mutant: Mutant, verdict: Verdict) -> None:
        key = key_of(self.stamp, mutant.source)
        store(self.folder, key, verdict.to_json(), CACHE_BYTES)


@dataclass(frozen=True)
class Begun:
    """A lab's mutants before they are tried: the verdicts that are remembered, by mutant's name,
    and what the others will be held against; None when there are no others.
    """

    lab: Lab
    solution: Path
    mutants: tuple[Mutant, ...]
    cache: Cache
    known: Mapping[str, Verdict]
    standard: Standard | None


def study(
    lab: Lab, solution: Path, how: RunOptions, announce: Callable[[str], None] = lambda what: None
) -> Reasoned:
    """Every mutant of the solution with its verdict, and with the reasons that its author gives.
    Raises LabFault and MachineFault.
    """
    return finish(begin(lab, solution, how), how, announce)


def begin(lab: Lab, solution: Path, how: RunOptions) -> Begun:
    """The mutants made, and the solution measured if one of them is new. Raises LabFault and
    MachineFault.
    """
    source = _read(solution)
    mutants = tuple(make_mutants(source))
    cache = Cache(verdicts_folder(), stamp_of(lab, source, how))
    recalled = ((mutant, cache.load(mutant)) for mutant in mutants)
    known = {mutant.name: verdict for mutant, verdict in recalled if verdict is not None}
    standard = set_standard(lab, source, how) if len(known) < len(mutants) else None
    return Begun(lab, solution, mutants, cache, known, standard)


def finish(
    begun: Begun, how: RunOptions, announce: Callable[[str], None] = lambda what: None
) -> Reasoned:
    """The new mutants tried: `how.threads` at a time (None: one a core), each on one thread of
    the simulator. Raises LabFault and MachineFault.
    """
    known = dict(begun.known)
    if begun.standard is not None:
        fresh = [mutant for mutant in begun.mutants if mutant.name not in known]
        tries = map_parallel(partial(_met, begun.standard), fresh, how.parallel_jobs)
        for number, (mutant, verdict) in enumerate(tries, 1):
            announce(f"{begun.lab.name}: mutant {number} of {len(fresh)}")
            begun.cache.keep(mutant, verdict)
            known[mutant.name] = verdict
    tried = [Tried(mutant, known[mutant.name]) for mutant in begun.mutants]
    return apply_reasons(begun.solution.parent / FILE, tried)


def _met(standard: Standard, mutant: Mutant) -> Verdict:
    return try_mutant(standard, mutant.source)


def _read(solution: Path) -> str:
    try:
        return solution.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabFault(f"cannot read the solution: {error}", where=str(solution)) from None


def verdicts_folder() -> Path | None:
    """Beside the compilations in the user's cache folder; None when there is none."""
    compiled = user_folder()
    return compiled.parent / "mutants" if compiled else None


def stamp_of(lab: Lab, solution: str, how: RunOptions) -> str:
    """What a verdict depends on beside the mutant: the solution, the lab's files, the seed, every
    file of the grader, and the compiler.
    """
    digest = hashlib.sha256()
    package = Path(grader.__file__).parent
    files = {file for kind in _JUDGES for file in package.rglob(kind) if file.is_file()}
    for file in (*sorted(files), *sorted(f for f in lab.folder.iterdir() if f.is_file())):
        with suppress(OSError):
            digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    tools = [*toolchain().items(), np.__version__]
    return key_of(digest.hexdigest(), solution, how.seed.hex(), tools)
