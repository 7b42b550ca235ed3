"""Which findings get origins, the lines that their place depends on, and how they are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.checks.findings import MISSING_BARRIER, with_origins
from grader.grading.record import check_json
from grader.launch import Finding, Origin
from grader.reports.finding import finding_text
from tests.made import RACE, a_program, a_result

STRAY = Finding("invalid-access", "error", "out-of-bounds read", "tiled.cu", 7, thread=(0, 1, 0))
FROM = (Origin("As", 4), Origin("col", 5), Origin("row", 5), Origin("As", 6))


def traced(finding: Finding) -> Finding:
    (result,) = with_origins([a_result("memory", "fail", findings=(finding,))], a_program())
    return result.findings[0]


def test_an_error_is_told_with_its_origins() -> None:
    named = {(o.name, o.line) for o in traced(STRAY).origins}
    assert named == {("As", 4), ("col", 5), ("As", 6)}


def test_neither_place_of_a_hazard_is_the_others_origin() -> None:
    crowded = replace(
        RACE, hazard="WAW", hint="Two threads write the same element. Check the index."
    )
    assert {o.line for o in traced(crowded).origins} == {4, 5}


def test_a_race_that_lacks_a_barrier_has_no_further_lines() -> None:
    assert MISSING_BARRIER.search(RACE.hint)
    assert traced(RACE) == RACE


@pytest.mark.parametrize(
    "finding",
    [
        replace(STRAY, severity="warning"),
        replace(STRAY, kind="compile-error"),
        replace(STRAY, kind="missing-feature"),
        replace(STRAY, line=0),
        replace(STRAY, line=1),
    ],
)
def test_others_are_left_as_they_are(finding: Finding) -> None:
    assert traced(finding) == finding


def at_fault(finding: Finding, *lines: int) -> Finding:
    held = a_result("output", "fail", findings=(replace(finding, cases=("square",)),))
    return with_origins([held], a_program(), {"square": lines})[0].findings[0]


def test_a_line_at_fault_takes_the_place_of_origins() -> None:
    found = at_fault(replace(STRAY, hint="compare the index"), 8)
    assert found.origins == (Origin("", 8),)
    assert found.hint == (
        "compare the index. Look at line 8, `C[row * n + col] = sum;`: a small change there alone "
        "makes every public case right."
    )
    assert "depends on" not in finding_text(found).plain
    assert "Look at line 8" in finding_text(found).plain


def test_several_lines_are_told_in_their_order() -> None:
    found = at_fault(STRAY, 8, 5, 6)
    assert found.hint.startswith("Look at lines 5, 6 and 8: a small change of one of them alone")
    assert [o.line for o in found.origins] == [8, 5, 6]


@pytest.mark.parametrize(
    "finding", [replace(STRAY, kind="timeout"), replace(STRAY, severity="warning")]
)
def test_lines_at_fault_are_of_what_a_run_to_its_end_showed(finding: Finding) -> None:
    assert "Look at" not in at_fault(finding, 8).hint


def test_a_case_of_another_kernel_has_no_line_at_fault() -> None:
    held = a_result("output", "fail", findings=(replace(STRAY, cases=("square",)),))
    (result,) = with_origins([held], a_program(), {"choose(3)": (8,)})
    assert "Look at" not in result.findings[0].hint


SIZES = """\
#define TILE 15
#define HALF 7
__global__ void k(float* out, int n) {
    extern __shared__ float tiles[];
    float* Bs = tiles + n;
    if (false) {
        Bs[threadIdx.x] = 1.0f;
    }
    int i = threadIdx.x;
    out[i] = Bs[i];
}
"""


def test_what_comes_before_other_origins() -> None:
    program = replace(a_program(), source=SIZES)
    finding = Finding(
        "invalid-access", "error", "out of bounds", "k.cu", 10, space="shared", variable="tiles"
    )
    (result,) = with_origins(
        [a_result("memory", "fail", findings=(finding,))], program, extents={16}
    )
    told = [(o.name, o.line) for o in result.findings[0].origins]
    assert told == [("TILE", 1), ("Bs", 5), ("if", 6)]


def test_they_are_shown_by_line() -> None:
    text = finding_text(replace(STRAY, origins=FROM)).plain
    due = "This line also depends on `As` (line 4), `col`, `row` (line 5), `As` (line 6)"
    assert " ".join(text.split()).endswith(due)
    assert "depends on" not in finding_text(STRAY).plain


def test_they_are_in_the_json() -> None:
    (finding,) = check_json(a_result("memory", "fail", findings=(traced(STRAY),)))["findings"]
    assert {"name": "col", "line": 5, "file": ""} in finding["origins"]
