"""Every attack gets its verdict in time, reads no secret, leaves nothing and changes no grade.

These run on the simulator; tests/gpu has what only a GPU can evaluate.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.corpus import CANARY, LONGEST, SOLUTION, AttackResult, Corpus
from tests.attacks.made import GENERATED, Attack
from tests.attacks.verdict import COMPILE, LAUNCH, SPEED, TESTS, expected_verdicts, name_of

FORGERY = sorted((TESTS / "attacks" / "forgery").glob("*.cu"))
SIMULATE = sorted((TESTS / "attacks" / "simulate").glob("*.cu"))
FILES = [*COMPILE, *SIMULATE, *FORGERY, *LAUNCH, *SPEED]
EVERY = 25
"""A correct submission of a neighbor is graded after so many attacks."""


@pytest.fixture(scope="module")
def corpus(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Corpus]:
    """Start the attacks of the selected tests of this module."""
    with Corpus(tmp_path_factory.mktemp("attacks")) as running:
        rows = [
            item.callspec.params["row"]
            for item in request.session.items
            if isinstance(item, pytest.Function)
            and item.module is request.module
            and "row" in getattr(item, "callspec", item).__dict__.get("params", {})
        ]
        for number, row in enumerate(rows):
            if number % EVERY == 0:
                running.add(f"neighbor {number}", "neighbor.cu", SOLUTION)
            if isinstance(row, Attack):
                running.add(row.name, "made.cu", row.data())
            else:
                running.add(name_of(row), row.name, row)
        running.add("neighbor last", "neighbor.cu", SOLUTION)
        yield running


def check_invariants(result: AttackResult) -> None:
    """Check that an attack ended in time, read no secret, left nothing, and has a plain report."""
    assert result.remaining == ()
    assert result.seconds < LONGEST
    assert CANARY not in result.grade and CANARY not in result.text
    assert "root:" not in result.grade and "HOME=" not in result.grade
    assert is_harmless(result.text)


def is_harmless(text: str) -> bool:
    """Return whether a text has no character that moves the cursor, or colors or hides text."""
    return all(letter == "\n" or letter.isprintable() for letter in text)


@pytest.mark.parametrize("row", FILES, ids=name_of)
def test_attack_in_a_file_gets_its_verdict(row: Path, corpus: Corpus) -> None:
    result = corpus.result(name_of(row))
    check_invariants(result)
    for verdict in expected_verdicts(row):
        if verdict.check == "all":
            statuses = {status for name, (status, _) in result.checks.items() if name != "speed"}
            assert statuses <= {verdict.status, "unjudged"}
        elif verdict.check != "speed":  # evaluated on a GPU only
            status, kinds = result.checks[verdict.check]
            assert status == verdict.status, result.text
            assert not verdict.kind or verdict.kind in kinds


@pytest.mark.parametrize("row", GENERATED, ids=lambda row: row.name)
def test_generated_attack_gets_its_verdict(row: Attack, corpus: Corpus) -> None:
    result = corpus.result(row.name)
    check_invariants(result)
    status, _ = result.checks["compile"]
    assert status in row.status.split(" or ")
    assert row.message in result.grade


def test_grades_of_neighbors_do_not_change(corpus: Corpus) -> None:
    neighbors = [corpus.result(key) for key in corpus.keys if key.startswith("neighbor")]
    assert len(neighbors) >= 2 or len(corpus.keys) < EVERY
    for result in neighbors:
        assert result.checks["output"] == ("pass", frozenset())
        assert result.verdicts == neighbors[0].verdicts
        assert result.remaining == ()


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202e", "\x07", "a\rb", "\x1b]0;x\x07", "\x9b2J"])
def test_harmful_text_is_detected(text: str) -> None:
    assert not is_harmless(f"PASS {text}\n")
