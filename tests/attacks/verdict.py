"""The expected verdicts in an attack's file, compared with the grade that it got.

    // verdict: CHECK STATUS [KIND]    the check's status, and the kind of one of its findings
    // verdict: all pass               the status of every check that was evaluated
    // verdict on gpu: ...             what the simulator alone does not detect

The lines below describe the attack. All of them are submissions of the lab tiled-matmul.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from grader.faults import StudentFault
from grader.feedback.grade import grade
from grader.grading.pipeline import Grade, grade_unreadable
from grader.labs.reading import load_lab
from grader.submissions.files import read_submission

TESTS = Path(__file__).parents[1]
COMPILE = sorted((TESTS / "attacks" / "compile").glob("*.cu"))
LAUNCH = sorted((TESTS / "attacks" / "gpu").glob("*.cu"))
SPEED = sorted((TESTS / "cheats" / "speed").glob("*.cu"))
LAB = "tiled-matmul"

_LINE = re.compile(r"^// verdict( on gpu)?: (\w+) (\w+)(?: ([\w-]+))?$", re.M)


@dataclass(frozen=True)
class ExpectedVerdict:
    """The expected status of one check; an empty `kind` accepts any finding."""

    check: str
    status: str
    kind: str


def expected_verdicts(path: Path, on: Literal["sim", "gpu"] = "sim") -> list[ExpectedVerdict]:
    """Return the verdicts that the file expects on a backend."""
    matches = _LINE.findall(path.read_text())
    assert matches, f"{path} has no verdict"
    return [ExpectedVerdict(*words) for gpu_only, *words in matches if on == "gpu" or not gpu_only]


def grade_file(
    path: Path, on: Literal["sim", "gpu"], *, limit: float = 2.0, names: Collection[str] = ()
) -> Grade:
    """Return the file's grade on all cases of its lab, or on the named ones."""
    lab = load_lab(LAB)
    lab = replace(lab, cases=tuple(c for c in lab.cases if not names or c.name in names), drawn={})
    try:
        submission = read_submission(path)
    except StudentFault as fault:
        return grade_unreadable(lab, path.name, fault, on=on)
    return grade(lab, submission, on=on, visibility="all", threads=2, limit=limit)


def unmet_verdicts(
    verdicts: Iterable[ExpectedVerdict], got: Grade, *, without: str = ""
) -> Iterator[str]:
    """Describe each expected verdict that the grade does not have, except those of `without`."""
    checks = {check.name: check for check in got.checks}
    if got.score.status != "graded" and not without:
        yield "the grade is incomplete: " + "; ".join(
            f"{c.name}: {c.summary}" for c in got.checks if c.status == "error"
        )
    for one in verdicts:
        if one.check == "all":
            yield from (
                f"{c.name} is {c.status}: {c.summary}"
                for c in got.checks
                if c.status not in (one.status, "unjudged") and c.name != without
            )
        elif one.check != without:
            check = checks[one.check]
            kinds = sorted({finding.kind for finding in check.findings})
            if check.status != one.status or (one.kind and one.kind not in kinds):
                yield f"{one.check} is {check.status} with {kinds or 'nothing'}: {check.summary}"


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"
