"""The PTX of each line: what a second reader of the same PTX finds, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from grader.checks.result import Result
from grader.compile.program import Program
from grader.compile.ptx_lines import (
    MAX_INSTRUCTIONS,
    MAX_ON_A_LINE,
    instructions_by_line,
    ptx_lines,
)
from grader.compile.source import compile_source
from grader.feedback.grade import grade
from grader.grading.record import Grade, grade_from_json
from grader.labs.model import Lab
from grader.labs.reading import load_lab
from grader.reports.classes import ReportRow
from grader.reports.page.student import student_view
from grader.reports.page.write import load_templates
from grader.reports.redact import redact
from grader.simulator.ptx.parser import parse
from grader.simulator.ptx.source_map import resolved
from grader.submissions.files import parse_submission

SOURCE = """\
#include <cuda_fp16.h>
__device__ __noinline__ float far(float x) { return x * x + 1.0f; }
__device__ float near(float x)
{
    return x * 3.0f;
}
extern "C" __global__ void k(const float* a, float* b, half* h, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        b[i] = near(a[i]) + far(a[i]);
        h[i] = __float2half(a[i]);
        atomicAdd(&b[0], 1.0f);
    }
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return compile_source(SOURCE.encode(), "k.cu")


def test_a_second_reader_finds_the_same(program: Program) -> None:
    """The simulator's parser, which resolves locations by its own means."""
    expected: dict[int, Counter[str]] = {}
    module = parse(program.ptx)
    own = next(n for n, name in module.files.items() if name.endswith("k.cu"))
    for function in module.functions.values():
        for one in function.body:
            if line := resolved(one.location, own).line:
                expected.setdefault(line, Counter())[one.op] += 1
    found = {
        at.line: Counter(text.split()[text.startswith("@")].rstrip(";") for text in at.instructions)
        for at in ptx_lines(program)
    }
    assert found == expected and len(found) > 5


def test_inlined_code_is_at_the_line_that_it_was_inlined_into(program: Program) -> None:
    by_line = {at.line: " ".join(at.instructions) for at in ptx_lines(program)}
    assert "cvt.rn.f16.f32" in by_line[12], "of a function of a header"
    assert "atom" in by_line[13] or "red" in by_line[13]
    assert "fma" in by_line[2], "of a function that was not inlined"
    assert set(by_line) <= set(range(1, SOURCE.count("\n") + 1))


def test_limits_are_kept() -> None:
    rows = ['\t.file\t1 "a.cu"', "\t.loc\t1 3 0", *["\tadd.s32 %r1, %r2, %r3;"] * 100]
    rows += ["\t.loc\t2 9 0", "\tbar.sync 0;", "\t.loc\t2 5 0, function_name $x, inlined_at 1 7 2"]
    rows += ["\t@!%p1 st.global.f32 [%rd1], %f1; // text", "}", ".func f(", "\tret;"]
    found = instructions_by_line("\n".join(rows), "a.cu")
    assert set(found) == {3, 7} and found[7] == ("@!%p1 st.global.f32 [%rd1], %f1;",)
    assert len(found[3]) == MAX_ON_A_LINE + 1 and found[3][-1].startswith("//")
    many = [line for k in range(1, 200) for line in (f"\t.loc\t1 {k} 0", *rows[2:62])]
    kept = instructions_by_line("\n".join([rows[0], *many]), "a.cu")
    assert sum(map(len, kept.values())) == MAX_INSTRUCTIONS


LAB = load_lab("vector-add")


@pytest.fixture(scope="module")
def made() -> tuple[Grade, Grade]:
    """A grade of a lab that shows PTX, and of one that does not."""
    submission = parse_submission(LAB.solution.read_bytes(), "mine.cu")
    shown: Lab = replace(LAB, ptx=True)
    first, second = (grade(lab, submission, visibility="all") for lab in (shown, LAB))
    return first, second


def page(one: Grade) -> str:
    text = LAB.solution.read_text()
    return load_templates().student(student_view(ReportRow("a", one, text))).decode()


def test_a_report_has_the_ptx_only_where_the_lab_allows(made: tuple[Grade, Grade]) -> None:
    shown, hidden = made
    assert "ptx" not in hidden.to_json() and 'class="ptx"' not in page(hidden)
    assert grade_from_json(shown.to_json()).ptx == shown.ptx
    text = page(redact(shown))
    assert text.count('<details class="ptx">') == len(shown.ptx) > 3
    assert "ld.global" in text and "<script" not in text
    lines = LAB.solution.read_text().splitlines()
    (store,) = [at for at in shown.ptx if any("st.global" in i for i in at.instructions)]
    assert "c[" in lines[store.line - 1]


def test_ptx_is_of_the_submission_alone(made: tuple[Grade, Grade]) -> None:
    """A grade of a file with an error has none, whatever the lab's own files compile to."""
    broken = parse_submission(b'extern "C" __global__ void vector_add() { error }', "mine.cu")
    failed = grade(replace(LAB, ptx=True), broken, visibility="public")
    assert failed.ptx == () and isinstance(failed.checks[0], Result)
    own = compile_source(LAB.solution.read_bytes(), "mine.cu", wanted=LAB.kernels)
    assert {at.line: at.instructions for at in made[0].ptx} == instructions_by_line(
        own.ptx, "mine.cu"
    )
    assert Path(LAB.baseline).name not in str(made[0].to_json().get("ptx"))
