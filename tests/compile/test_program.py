"""A line of the student's file, as every finding shows it."""

from __future__ import annotations

import pytest

from grader.compile.preprocessor import MAX_LINE
from grader.compile.program import Program
from grader.launch import Finding

SOURCE = "// first\n  int a;\f int b;\r\n\nlast"


@pytest.mark.parametrize(
    ("line", "text"),
    [(1, "// first"), (2, "int a;\f int b;"), (3, ""), (4, "last"), (5, ""), (0, ""), (-1, "")],
)
def test_lines_are_the_compilers(line: int, text: str) -> None:
    program = Program("a.cu", SOURCE, (), "", "", "sm_90")
    assert program.text(line) == text
    finding = program.at(Finding("race", "error", "x", "other.cu", 7, text="old", hint="y"), line)
    assert (finding.file, finding.line, finding.text) == ("a.cu", line, text)
    assert (finding.message, finding.hint) == ("x", "y")


def test_a_file_on_one_line_makes_no_long_finding() -> None:
    program = Program("a.cu", "  int a;" * 30000, (), "", "", "sm_90")
    assert len(program.text(1)) <= MAX_LINE
