"""One mutant held against its lab on the simulator: caught, the same program, or a survivor."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from grader.cases import How
from grader.compile.source import compile_source
from grader.fault import LabFault, MachineFault, StudentFault
from grader.grade import Grade, grade
from grader.lab import Lab
from grader.launch import Finding
from grader.mutation.ptx import essence
from grader.mutation.told import SYMPTOMS, told
from grader.mutation.verdict import Verdict
from grader.submission import Submission

FIRST_LIMIT = 40_000
MOST_LIMIT = 20_000_000
GROWTH = 8
SLACK = 20
"""How many times the steps of the solution a mutant may take before it counts as endless."""

Visibility = Literal["public", "all"]


@dataclass(frozen=True)
class Standard:
    """What a lab's mutants are held against: the solution's text, its PTX, the checks that it
    passes, and the steps that a block of a mutant may take."""

    lab: Lab
    source: str
    essence: str
    passed: frozenset[str]
    step_limit: int
    seed: bytes
    limit: float


def set_standard(lab: Lab, source: str, how: How) -> Standard:
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
    public cases, and where those see nothing on all. Raises LabFault, MachineFault."""
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
