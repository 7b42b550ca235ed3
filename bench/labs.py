"""python -m bench.labs [LAB...]: how long grading takes on the simulator, lab by lab.

Each lab's solution on all cases, and its slowest incorrect variant as `grader check` grades it: on
the public cases, with fault localization and fixes tried. Every file is graded twice: the first run
fills the compile cache, the second counts. The exit code is 1 if a file takes longer than the goal,
or more than one lab in ten than the usual one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from grader.authoring.requirements import lab_folder
from grader.feedback.grade import grade
from grader.labs.model import Lab
from grader.labs.reading import list_labs, load_lab
from grader.submissions.files import read_submission

GOAL = 6.0
"""Seconds that one submission may take."""

USUAL = 3.0
"""Seconds that the slowest variant of nine labs of ten may take."""

TIMES = 2


def seconds(lab: Lab, file: Path, *, wrong: bool) -> float:
    """Wall time of one file's grade, warm; of a wrong one as a student sees it."""
    submission = read_submission(file)
    taken = 0.0
    for _ in range(TIMES):
        begun = time.perf_counter()
        made = grade(lab, submission, visibility="public" if wrong else "all", fixes=wrong)
        taken = time.perf_counter() - begun
        if made.score.status == "incomplete":
            why = next(check.summary for check in made.checks if check.status == "error")
            sys.exit(f"bench.labs: {file}: {why}")
    return taken


def main(names: Sequence[str]) -> int:
    """Print the table; 1 where a goal is missed."""
    slow = unusual = 0
    print(f"{'lab':<22} {'solution':>9} {'slowest':>9}   goal {GOAL:g} s")
    for lab in map(load_lab, names or list_labs()):
        folder = lab_folder(lab)
        right = seconds(lab, folder.solution, wrong=False)
        took, variant = max((seconds(lab, file, wrong=True), file.stem) for file in folder.variants)
        met = max(right, took) <= GOAL
        slow += not met
        unusual += took > USUAL
        mark = "met" if met else "MISSED"
        print(f"{lab.name:<22} {right:>7.2f} s {took:>7.2f} s   {mark}  {variant}", flush=True)
    labs = len(names or list_labs())
    print(f"{labs - unusual} of {labs} labs within {USUAL:g} s")
    return int(slow > 0 or 10 * unusual > labs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
