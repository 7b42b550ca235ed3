"""Messages in handouts name the faulty line but quote no source: most of it is the solution's."""

from __future__ import annotations

import pytest

from grader.authoring.handouts.runs import message
from grader.labs.reading import load_lab
from tests.feedback.test_localization import source_of

VARIANTS = [("vector-add", "wrong-output-off-by-one"), ("vector-add", "invalid-access-no-guard")]


@pytest.mark.parametrize(("lab", "variant"), VARIANTS)
def test_message_quotes_no_line_of_the_variant(lab: str, variant: str) -> None:
    text = " ".join(message(load_lab(lab), variant).split())
    lines = [line.strip() for line in source_of(lab, variant).splitlines()]
    assert [line for line in lines if len(line) > 12 and line in text] == []


def test_message_names_the_faulty_line() -> None:
    assert "Look at line" in message(load_lab("vector-add"), "wrong-output-off-by-one")
