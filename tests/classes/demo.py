"""`make demo`: a sample class graded on this machine, its table, one report in full, and the same
as HTML.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grader.cli.check import grade_file
from grader.cli.terminal import doing, finished, show, width
from grader.faults import Fault
from grader.grading.cases import RunOptions
from grader.grading.record import Grade
from grader.labs.reading import load_lab
from grader.reports.classes import ReportRow, class_table
from grader.reports.page.write import write_class_report
from grader.reports.text import grade_report

LAB = "tiled-matmul"
FOLDER = Path(__file__).parent / LAB
SHOWN = "s03.cu"
PAGES = Path("build") / "demo"
"""Where the HTML goes, below the folder that the demo is run in."""


def grade_class(folder: Path) -> list[Grade]:
    """Every submission of a class, in the order of their names; one thread each."""
    lab = load_lab(LAB)
    files = sorted(folder.glob("*.cu"))
    how = RunOptions("sim", threads=1, limit=20.0)
    grades: list[Grade] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for grade in pool.map(lambda file: grade_file(lab, file, how, quiet=True), files):
            grades.append(grade)
            doing(f"{len(grades)} of {len(files)} submissions graded")
    finished()
    return grades


def rows(folder: Path, grades: list[Grade]) -> list[ReportRow]:
    """The class's report: each grade with the file that it is of."""
    return [
        ReportRow(grade.file, grade, (folder / grade.file).read_text(errors="replace"))
        for grade in grades
    ]


def main() -> int:
    """Print the table and one report, write the pages. The exit code is 3 when the machine failed
    at a grade.
    """
    print(f"Grading the {len(list(FOLDER.glob('*.cu')))} submissions in {_shown(FOLDER)}")
    print("on the simulator, which needs no GPU ...\n", flush=True)
    begun = time.monotonic()
    grades = grade_class(FOLDER)
    took = time.monotonic() - begun
    show(class_table(grades, width()))
    print(f"\nGraded in {took:.1f} s. What the writer of {SHOWN} is told:\n", flush=True)
    shown = next(grade for grade in grades if grade.file == SHOWN)
    show(grade_report(shown, width()))
    pages = write_class_report(PAGES, load_lab(LAB), rows(FOLDER, grades))
    print(f"\nThe class as HTML, to open in a browser:\n  {pages}")
    print("\nThe same for a file of your own:")
    print(f"  .venv/bin/grader check {LAB} {_shown(FOLDER / SHOWN)}")
    return max(3 * (grade.score.status == "incomplete") for grade in grades)


def _shown(path: Path) -> str:
    """Relative to where the user is, where that is shorter."""
    return os.path.relpath(path)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fault as fault:
        sys.exit(f"make demo: {fault}")
    except KeyboardInterrupt:
        sys.exit(130)
