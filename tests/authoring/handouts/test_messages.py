"""A message in a handout has no line of a kernel in it: they are nearly a solution's."""

from __future__ import annotations

import pytest

from grader.authoring.handouts.runs import message
from grader.labs.reading import load_lab
from tests.feedback.test_localization import source_of

TWINS = [("vector-add", "wrong-output-off-by-one"), ("vector-add", "invalid-access-no-guard")]


@pytest.mark.parametrize(("lab", "twin"), TWINS)
def test_no_line_of_the_twin_is_in_its_message(lab: str, twin: str) -> None:
    said = " ".join(message(load_lab(lab), twin).split())
    lines = [line.strip() for line in source_of(lab, twin).splitlines()]
    assert [line for line in lines if len(line) > 12 and line in said] == []


def test_the_line_at_fault_is_named_all_the_same() -> None:
    assert "look at line" in message(load_lab("vector-add"), "wrong-output-off-by-one")
