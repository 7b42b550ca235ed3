"""Whether a report names the faulty line, or the line of code next to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.authoring.mutation.mutants import changed_lines, code_rows, reported_lines
from grader.launch import Finding, Origin, OtherAccess

RIGHT = """\
// BEGIN SOLUTION
// SKELETON: // TODO: load
As[ty][tx] = A[row];
__syncthreads();

for (int k = 0; k < 16; ++k) {
    sum += As[ty][k];
}
C[row] = sum;
"""
NO_BARRIER = """\
As[ty][tx] = A[row];

for (int k = 0; k < 16; ++k) {
    sum += As[ty][k];
}
C[row] = sum;
"""
OFF_BY_ONE = RIGHT.replace("k < 16", "k <= 16")


@pytest.mark.parametrize(
    ("wrong", "lines"),
    [
        (RIGHT, set()),
        (NO_BARRIER, {3}),  # the line after the gap
        (OFF_BY_ONE, {6}),
        (RIGHT.replace("\n\n", "\n\n// a comment\n\n"), set()),
        (RIGHT.replace("    sum", "\tsum"), set()),
        (RIGHT + "x = 1;\ny = 2;\n", {10, 11}),
        (NO_BARRIER.replace("C[row] = sum;\n", ""), {3}),  # nothing stands after the second gap
    ],
)
def test_changed_lines_are_those_that_differ(wrong: str, lines: set[int]) -> None:
    assert changed_lines(RIGHT, wrong) == lines


def test_lines_without_code_do_not_count() -> None:
    assert code_rows("a;\n\n// b\n{\nc;\n}\nd;\n") == (0, 1, 1, 1, 1, 2, 2, 3)


def race(line: int, other: int) -> Finding:
    return Finding(
        "race", "error", "hazard", line=line, other=OtherAccess(other, (0, 0, 0), (0, 0, 0))
    )


def finding(kind: str, line: int) -> Finding:
    return Finding(kind, "error", "message", line=line)


@pytest.mark.parametrize(
    ("wrong", "findings", "named", "located"),
    [
        (NO_BARRIER, [race(4, 1)], True, True),  # the barrier is missing between both
        (NO_BARRIER, [race(6, 6)], False, True),
        (OFF_BY_ONE, [finding("invalid-access", 7)], True, True),  # the next line of code
        (OFF_BY_ONE, [finding("invalid-access", 6)], True, True),
        (OFF_BY_ONE, [finding("invalid-access", 4)], True, True),  # the line before, over a gap
        (OFF_BY_ONE, [finding("invalid-access", 3)], False, True),
        (OFF_BY_ONE, [finding("invalid-access", 9)], False, True),
        (OFF_BY_ONE, [finding("wrong-output", 9)], False, True),  # the effect, not the cause
        (OFF_BY_ONE, [replace(finding("wrong-output", 9), origins=(Origin("", 6),))], True, True),
        (OFF_BY_ONE, [finding("wrong-output", 9), finding("race", 7)], True, True),
        (OFF_BY_ONE, [finding("timeout", 0)], False, True),  # no line at all
        (OFF_BY_ONE, [], False, False),
    ],
)
def test_faulty_line_is_named(
    wrong: str, findings: list[Finding], named: bool, located: bool
) -> None:
    lines = reported_lines(RIGHT, wrong, findings)
    assert (lines.named, lines.located) == (named, located)


def test_all_lines_of_all_errors_are_reported() -> None:
    errors = [replace(race(4, 1), origins=(Origin("As", 2),)), finding("timeout", 0)]
    assert reported_lines(RIGHT, NO_BARRIER, errors).lines == (1, 2, 4)
