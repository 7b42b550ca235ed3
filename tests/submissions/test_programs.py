"""Whole programs in the manner of courses: each is graded, and none needs an edit.

`programs/LAB/*.cu` are programs as students submit them: with main, error macros, timers, a CPU
reference, the libraries of the host and the headers of a course. To see every grade:

    for lab in tests/submissions/programs/*; do grader batch $(basename $lab) $lab; done
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.compile.program import Program
from grader.feedback.grade import grade
from grader.grading.pipeline import compile_submission
from grader.labs.reading import load_lab
from grader.submissions.files import read_submission

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*/*.cu"))
GRADED = ("names_in_another_order", "cub_block", "pgm_reader", "one_file_runner")
"""Programs that are run too; the others only differ in what the compiler sees."""


def compiled(path: Path) -> Program:
    return compile_submission(load_lab(path.parent.name), read_submission(path), "sim")


def test_every_lab_has_programs() -> None:
    labs = [path.parent.name for path in PROGRAMS]
    assert len(PROGRAMS) >= 30
    assert min(labs.count(lab) for lab in set(labs)) >= 2


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_a_whole_program_is_accepted(path: Path) -> None:
    program = compiled(path)
    text = path.read_text().split("\n")
    lab = load_lab(path.parent.name)
    for spec in lab.kernels:
        kernel = program.kernel(spec.name)
        assert kernel is not None
        assert "(" in text[kernel.line - 1], "the line of the kernel is not that of the file"
    assert not re.search(r"\bmain *\(", program.source)
    assert "<<<" not in program.source
    assert any(note.startswith("host code set aside: line") for note in program.notes)
    assert not program.warnings


@pytest.mark.parametrize("path", [p for p in PROGRAMS if p.stem in GRADED], ids=lambda p: p.stem)
def test_a_whole_program_gets_all_points(path: Path) -> None:
    made = grade(load_lab(path.parent.name), read_submission(path), threads=1)
    assert made.score.points == made.score.judged_max, made.score
