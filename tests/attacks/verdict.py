"""What an attack's file says of itself, held against the grade that it got.

    // verdict: CHECK STATUS [KIND]    the check's status, and a kind of finding that it must have
    // verdict: all pass               every check that was judged
    // verdict on gpu: ...             what the simulator alone does not see

The lines below say what is tried. All of them are submissions of the lab tiled-matmul.
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
class Due:
    """What one check must say; `kind` is empty where any finding will do."""

    check: str
    status: str
    kind: str


def due(path: Path, on: Literal["sim", "gpu"] = "sim") -> list[Due]:
    """The verdicts that the file says it must get on a backend."""
    found = _LINE.findall(path.read_text())
    assert found, f"{path} has no verdict"
    return [Due(*words) for gpu_only, *words in found if on == "gpu" or not gpu_only]


def judged(
    path: Path, on: Literal["sim", "gpu"], *, limit: float = 2.0, names: Collection[str] = ()
) -> Grade:
    """The file's grade on all cases of its lab, or on those of the names given."""
    lab = load_lab(LAB)
    lab = replace(lab, cases=tuple(c for c in lab.cases if not names or c.name in names))
    try:
        submission = read_submission(path)
    except StudentFault as fault:
        return grade_unreadable(lab, path.name, fault, on=on)
    return grade(lab, submission, on=on, visibility="all", threads=2, limit=limit)


def broken(verdicts: Iterable[Due], got: Grade, *, without: str = "") -> Iterator[str]:
    """Each verdict that the grade does not hold, in words; those of the check `without` are not
    looked at.
    """
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
            seen = checks[one.check]
            kinds = sorted({finding.kind for finding in seen.findings})
            if seen.status != one.status or (one.kind and one.kind not in kinds):
                yield f"{one.check} is {seen.status} with {kinds or 'nothing'}: {seen.summary}"


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"
