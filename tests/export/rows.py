"""Rows for the tests of every format: all statuses, hostile names, secrets, far too much text."""

from __future__ import annotations

from dataclasses import replace

from grader.export.formats import (
    ExportRow,
    Format,
    LeftOut,
    Options,
    find_format,
    row_from_grade,
    select_rows,
)
from grader.gradebook.ledger import Student
from grader.grading.record import Grade
from grader.launch import Finding
from tests.made import RACE, a_grade, a_result
from tests.reports.hidden import CASES

HIDDEN = Finding(
    "wrong-output",
    "error",
    "3 of 9097141 elements are wrong; C[4711, 1931] = 0.8151",
    file="tiled.cu",
    line=8,
    hint="1931 columns",
    cases=("ragged-4711",),
)

HOSTILE = (
    "=HYPERLINK(\"http://x\",\"y\")",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    " =1",
    "＝1+1",
    "O'Brien, \"Bo\"; x",
    "two\nlines\r\nthree",
    "\x1b[31mred\x1b[0m\x00",
    "Пушкин 陳大文 مُحَمَّد 🦊",
    "<script>alert(1)</script>&amp;",
    "\u202egnp.exe",
    "lone \ud800 surrogate \ufffe\uffff",
    "    Points Possible",
    "]]>--><x/>",
    "x" * 5000,
)  # fmt: skip
"""Names that students can give themselves."""

RUN = {
    "CLASSROOM": "gpu-101",
    "ASSIGNMENT": "tiles",
    "SUBMISSION_TAG": "submit/2026-11-23T02-03-04Z-0a1b2c3",
    "COMMIT_URL": "https://github.com/o/gpu-101-tiles-ada/commit/0a1b2c3",
    "RELEASE_URL": "https://github.com/o/gpu-101-tiles-ada/releases/tag/submit%2F1",
}
"""The variables that Classroom 50 sets for an autograder."""

OPTIONS = Options(run=RUN)


def graded(**values: object) -> Grade:
    """Some of everything that can be judged: 70 of 85 points, 15 not judged."""
    checks = (
        a_result("compile", "pass", 0, 0),
        a_result("output", "pass", 40, 40),
        a_result("sync", "fail", 15, 30, findings=(RACE,), measurements={"ratio": float("nan")}),
        a_result("memory", "blocked", 15, 15),
        a_result("speed", "unjudged", 0, 15),
    )
    return a_grade(*checks, student="ada", **values)  # type: ignore[arg-type]


PASSED = a_grade(a_result("output", "pass", 40, 40), student="ada")
FAILED = a_grade(
    a_result("compile", "error", 0, 0, summary="the disk is full"),
    a_result("output", "error", 0, 40, summary="this machine failed"),
    student="ada",
)
SECRET = a_grade(
    a_result(
        "output", "fail", 8, 40, findings=(HIDDEN,), cases={"square": "pass", "ragged-4711": "fail"}
    ),
    a_result("traffic", "fail", summary="4711 bytes", measured_on="ragged-4711"),
    a_result("style", "fail", summary="4711", visibility="hidden", findings=(HIDDEN,)),
    cases=CASES,
    student="ada",
)


def huge() -> Grade:
    """More text than any system takes, much of it six times as long in JSON."""
    detail = "\n".join(["é" * 70] * 40)
    found = tuple(replace(RACE, line=n, detail=detail) for n in range(1, 9))
    return a_grade(*(a_result(f"check-{n}", "fail", findings=found) for n in range(12)))


def a_row(grade: Grade, **student: str) -> ExportRow:
    return row_from_grade(
        grade, Student(**{"id": "4242", "name": "Ada", "email": "ada@u.edu", **student})
    )


def hostile_rows() -> list[ExportRow]:
    """A row for each hostile name; name and section are the student's to choose."""
    return [
        a_row(graded(file=f"{name}.cu"), id=str(n), name=name, section=name, sis_id=f"s{n}")
        for n, name in enumerate(HOSTILE)
    ]


def made(
    name: str, *rows: ExportRow, options: Options = OPTIONS
) -> tuple[str, tuple[LeftOut, ...]]:
    """The document of a format, and what was left out of it; "" when all was."""
    format = find_format(name)
    kept, left = select_rows(format, rows, options)
    return format.export(kept, options) if kept else "", left


def every_format() -> list[Format]:
    from grader.export.formats import format_names

    return [find_format(name) for name in format_names()]
