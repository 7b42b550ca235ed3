"""What run_autograder does in Gradescope's container, where nothing has a GPU.

Gradescope's containers run as root and forbid namespaces. So the answers are hidden before anything
is graded: they are root's alone, and what reads a submission is another user. stdout is for the
instructors; what students see is in results.json.

Where this machine fails there is no results.json: Gradescope then says that the autograder failed
and an instructor runs it again. A score of 0 would be a grade.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.export import gradescope
from grader.export.container.build import CONFIG
from grader.export.formats import FAILED, Options, row_from_grade
from grader.faults import Fault, MachineFault, StudentFault
from grader.feedback.grade import grade
from grader.grading.pipeline import grade_unreadable
from grader.grading.record import Grade
from grader.labs.files import write_atomically
from grader.labs.model import Lab
from grader.labs.quiz import ANSWERS_FILE, AnswerSheet, read_answer_sheet
from grader.labs.reading import load_lab
from grader.launch import Finding
from grader.reports.redact import redact
from grader.reports.text import grade_report, render
from grader.sandbox.call import restrict_access
from grader.submissions.files import read_submission

MAX_TRIES = 3


@dataclass(frozen=True)
class Configuration:
    """What the zip was made for."""

    lab: Lab
    seed: bytes
    limit: float


def main() -> int:
    """Grade what lies in the folder that the command line names; the exit code of the grade."""
    try:
        return run(Path(sys.argv[1]))
    except Fault as fault:
        print(fault)
        return fault.exit_code
    except Exception as error:  # noqa: BLE001  the instructor reads a sentence
        print(f"the autograder failed: {type(error).__name__}: {error}")
        return MachineFault.exit_code


def run(root: Path) -> int:
    """Grade root/submission into root/results/results.json. Raises LabFault and MachineFault, and
    then there is no such file.
    """
    results = root / "results" / "results.json"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    course = root / "source" / "course"
    restrict_access([course])
    order = read_configuration(root / "source")
    made = grade_folder(order, root / "submission")
    print(render(grade_report(made)))
    row = row_from_grade(made)
    if row.points is None:
        raise MachineFault(FAILED, where="run_autograder", fix="press Rerun in Gradescope")
    shown = replace(row, grade=redact(made))
    write_atomically(results, gradescope.export([shown], Options()).encode())
    return 0


def read_configuration(source: Path) -> Configuration:
    """What to grade, from the unpacked zip. Raises MachineFault and LabFault."""
    try:
        held: dict[str, Any] = json.loads((source / CONFIG).read_text("utf-8"))
        lab, seed, limit = str(held["lab"]), bytes.fromhex(held["seed"]), float(held["limit"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        fix = "make the zip again: grader export gradescope-autograder LAB"
        raise MachineFault(f"{CONFIG} is not whole: {error}", fix=fix) from None
    return Configuration(load_lab(lab, [source / "course" / "labs"]), seed, limit)


def grade_folder(order: Configuration, folder: Path) -> Grade:
    """The grade of what was submitted, on all cases; tried again where this machine fails."""
    lab = order.lab
    answers = AnswerSheet(exists=False)
    try:
        file = find_submission(folder, lab.name)
        answers = read_answer_sheet(_answers_folder(file, folder))
        submission = read_submission(file)
    except StudentFault as fault:
        return grade_unreadable(lab, f"{lab.name}.cu", fault, answers=answers)
    for left in reversed(range(MAX_TRIES)):
        made = grade(
            lab, submission, on="sim", visibility="all", seed=order.seed, limit=order.limit,
            answers=answers,
        )  # fmt: skip
        if made.score.status == "graded" or not left:
            break
    return made


def find_submission(folder: Path, lab: str) -> Path:
    """The .cu file that counts: the one named after the lab, else the only one. Links are nobody's
    submission: root would read out what they point to. Raises StudentFault.
    """
    found = [
        Path(place) / name
        for place, _, names in os.walk(folder, followlinks=False)
        for name in sorted(names)
        if name.endswith(".cu") and not name.startswith(".")
    ]
    files = [path for path in found if path.is_file() and not path.is_symlink()]
    named = [path for path in files if path.name == f"{lab}.cu"] or files
    if len(named) == 1:
        return named[0]
    what = "there is no .cu file in what you submitted"
    if found and not files:
        what = f"{found[0].name} is a link, or no file"
    elif named:
        what = f"there are {len(named)} files that could be meant"
    fix = f"submit one file, {lab}.cu, and {ANSWERS_FILE} beside it if there are questions"
    finding = Finding("compile-error", "error", what, file=f"{lab}.cu", hint=fix)
    raise StudentFault(what, fix=fix, findings=(finding,))


def _answers_folder(file: Path, folder: Path) -> Path:
    """Where the answers to the quiz lie: beside the kernel, else at the top."""
    return file.parent if (file.parent / ANSWERS_FILE).exists() else folder


if __name__ == "__main__":
    sys.exit(main())
