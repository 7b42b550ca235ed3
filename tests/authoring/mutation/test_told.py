"""Whether a report names the line that is wrong: the line itself, or the line of code beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.authoring.mutation.verdict import changed_lines, code_rows, told
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
def test_changed_lines(wrong: str, lines: set[int]) -> None:
    assert changed_lines(RIGHT, wrong) == lines


def test_lines_without_code_are_no_neighbours() -> None:
    assert code_rows("a;\n\n// b\n{\nc;\n}\nd;\n") == (0, 1, 1, 1, 1, 2, 2, 3)


def race(line: int, other: int) -> Finding:
    return Finding(
        "race", "error", "hazard", line=line, other=OtherAccess(other, (0, 0, 0), (0, 0, 0))
    )


def found(kind: str, line: int) -> Finding:
    return Finding(kind, "error", "found", line=line)


@pytest.mark.parametrize(
    ("wrong", "findings", "named", "located"),
    [
        (NO_BARRIER, [race(4, 1)], True, True),  # the barrier is missing between both
        (NO_BARRIER, [race(6, 6)], False, True),
        (OFF_BY_ONE, [found("invalid-access", 7)], True, True),  # the next line of code
        (OFF_BY_ONE, [found("invalid-access", 6)], True, True),
        (OFF_BY_ONE, [found("invalid-access", 4)], True, True),  # the line before, over a gap
        (OFF_BY_ONE, [found("invalid-access", 3)], False, True),
        (OFF_BY_ONE, [found("invalid-access", 9)], False, True),
        (OFF_BY_ONE, [found("wrong-output", 9)], False, True),  # where it shows, not where it is
        (OFF_BY_ONE, [replace(found("wrong-output", 9), origins=(Origin("", 6),))], True, True),
        (OFF_BY_ONE, [found("wrong-output", 9), found("race", 7)], True, True),
        (OFF_BY_ONE, [found("timeout", 0)], False, True),  # no line at all
        (OFF_BY_ONE, [], False, False),
    ],
)
def test_told(wrong: str, findings: list[Finding], named: bool, located: bool) -> None:
    said = told(RIGHT, wrong, findings)
    assert (said.named, said.located) == (named, located)


def test_every_line_that_is_told_counts() -> None:
    errors = [replace(race(4, 1), origins=(Origin("As", 2),)), found("timeout", 0)]
    assert told(RIGHT, NO_BARRIER, errors).lines == (1, 2, 4)
