"""Skeletons made from solutions; invalid marks are reported as faults of the lab."""

from __future__ import annotations

import pytest

from grader.authoring.new_lab import make_skeleton
from grader.faults import LabFault

SOLUTION = """\
int before;
    // BEGIN SOLUTION
    // SKELETON: // TODO: work
    // SKELETON:
    // SKELETON: int start;
    int secret;
    // END SOLUTION
int after;
"""


def test_solution_is_replaced_by_its_skeleton_lines() -> None:
    assert (
        make_skeleton(SOLUTION) == "int before;\n    // TODO: work\n\n    int start;\nint after;\n"
    )


BROKEN = [
    ("a\n// BEGIN SOLUTION\nb\n", "x.cu:2", "`// BEGIN SOLUTION` has no counterpart"),
    ("a\n// END SOLUTION\n", "x.cu:2", "`// END SOLUTION` has no counterpart"),
    (
        "// BEGIN SOLUTION\n// SKELETON: // TODO\n// BEGIN SOLUTION\n// END SOLUTION\n",
        "x.cu:3",
        "`// BEGIN SOLUTION` has no counterpart",
    ),
    ("a\n// BEGIN SOLUTION\nb\n// END SOLUTION\n", "x.cu:2", "leaves no text in the skeleton"),
]


@pytest.mark.parametrize(("text", "where", "what"), BROKEN)
def test_invalid_mark_is_reported_with_its_line(text: str, where: str, what: str) -> None:
    with pytest.raises(LabFault) as caught:
        make_skeleton(text, "x.cu")
    assert caught.value.where == where
    assert what in caught.value.what
    assert caught.value.fix
