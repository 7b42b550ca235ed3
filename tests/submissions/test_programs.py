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
from grader.compile.source import compile_source
from grader.faults import StudentFault
from grader.feedback.grade import grade
from grader.grading.pipeline import compile_submission
from grader.labs.reading import load_lab
from grader.submissions.files import read_submission
from tests.command import ROOT

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


VECTOR_ADD = (ROOT / "solutions" / "vector-add" / "vector-add.cu").read_text()
FALSE = 'static_assert(1 == 2, "x");\n'
TWICE = "constexpr int f(int a) { return a * 2; }\nconstexpr int N = f(2);\n"


def program(text: str) -> str:
    return f"#include <iostream>\n{text}{VECTOR_ADD}int main() {{ std::cout << 1; }}\n"


ASSERTIONS: dict[str, tuple[str, int]] = {  # the text, and the line of an assertion that fails
    "a kernel alone": (FALSE + VECTOR_ADD, 1),
    "a type": ('struct S { static_assert(sizeof(S*) == 1, "x"); };\n' + VECTOR_ADD, 1),
    "another error, too": (f"static_assert(MISSING == 2);\n{FALSE}{VECTOR_ADD}", 2),
    "a program": (program(FALSE), 2),
    "a macro": (program("#define CHECK(c) static_assert(c, #c)\nCHECK(1 == 2);\n"), 3),
    "a namespace": (program(f"namespace a {{\n{FALSE}}}\n"), 3),
    "functions of the host": (program(f"{TWICE}static_assert(N == 5);\n"), 4),
    "types of the host, too": (program(f"static_assert(sizeof(std::string) > 0);\n{FALSE}"), 3),
    "it holds": (program("static_assert(sizeof(float) == 4);\n"), 0),
    "functions of the host that are right": (program(f"{TWICE}static_assert(N == 4);\n"), 0),
    "a name of the host": (program("static_assert(MISSING == 2);\n"), 0),
    "a name of the host, no main": (f"static_assert(MISSING == 2);\n{VECTOR_ADD}", 0),
    "a type of the host": (
        program("struct R { std::string s; };\nstatic_assert(sizeof(R) == 3);\n"), 0
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ASSERTIONS)
def test_a_static_assertion_that_fails_is_no_host_code(name: str) -> None:
    text, line = ASSERTIONS[name]
    wanted = load_lab("vector-add").kernels
    if not line:
        assert compile_source(text.encode(), "mine.cu", wanted=wanted).kernel(wanted[0].name)
        return
    with pytest.raises(StudentFault) as caught:
        compile_source(text.encode(), "mine.cu", wanted=wanted)
    failed = [f for f in caught.value.findings if "static assertion failed" in f.message]
    assert [(f.kind, f.severity, f.line) for f in failed] == [("compile-error", "error", line)]
