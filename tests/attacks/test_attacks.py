"""Every attack gets its verdict in time, learns nothing, leaves nothing and harms no neighbour.

On the simulator; what only a GPU can judge is looked at in tests/gpu.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.corpus import CANARY, SOLUTION, Corpus, Told
from tests.attacks.made import MADE, Made
from tests.attacks.verdict import COMPILE, LAUNCH, SPEED, TESTS, due, name_of

FORGERY = sorted((TESTS / "attacks" / "forgery").glob("*.cu"))
SIMULATE = sorted((TESTS / "attacks" / "simulate").glob("*.cu"))
FILES = [*COMPILE, *SIMULATE, *FORGERY, *LAUNCH, *SPEED]
EVERY = 25
"""After so many attacks a neighbour's good submission is graded."""


@pytest.fixture(scope="module")
def corpus(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Corpus]:
    """The attacks of this module's chosen tests, all under way."""
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
                running.add(f"neighbour {number}", "neighbour.cu", SOLUTION)
            if isinstance(row, Made):
                running.add(row.name, "made.cu", row.data())
            else:
                running.add(name_of(row), row.name, row)
        running.add("neighbour last", "neighbour.cu", SOLUTION)
        yield running


def sound(told: Told) -> None:
    """What holds of every attack: it ends in time, learns no secret and leaves nothing; its
    report is text on any terminal.
    """
    assert told.left == ()
    assert told.seconds < told.longest
    assert CANARY not in told.grade and CANARY not in told.text
    assert "root:" not in told.grade and "HOME=" not in told.grade
    assert harmless(told.text)


def harmless(text: str) -> bool:
    """Whether nothing moves the cursor, colours, hides or turns round what is read."""
    return all(letter == "\n" or letter.isprintable() for letter in text)


@pytest.mark.parametrize("row", FILES, ids=name_of)
def test_an_attack_in_a_file(row: Path, corpus: Corpus) -> None:
    told = corpus.told(name_of(row))
    sound(told)
    for verdict in due(row):
        if verdict.check == "all":
            statuses = {status for name, (status, _) in told.checks.items() if name != "speed"}
            assert statuses <= {verdict.status, "unjudged"}
        elif verdict.check != "speed":  # which only a GPU judges
            status, kinds = told.checks[verdict.check]
            assert status == verdict.status
            assert not verdict.kind or verdict.kind in kinds


@pytest.mark.parametrize("row", MADE, ids=lambda row: row.name)
def test_an_attack_that_is_made(row: Made, corpus: Corpus) -> None:
    told = corpus.told(row.name)
    sound(told)
    status, _ = told.checks["compile"]
    assert status in row.status.split(" or ")
    assert row.says in told.grade


def test_the_neighbours_grades_are_what_they_are_alone(corpus: Corpus) -> None:
    neighbours = [corpus.told(key) for key in corpus.keys if key.startswith("neighbour")]
    assert len(neighbours) >= 2 or len(corpus.keys) < EVERY
    for told in neighbours:
        assert told.checks["output"] == ("pass", frozenset())
        assert told.verdicts == neighbours[0].verdicts
        assert told.left == ()


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202e", "\x07", "a\rb", "\x1b]0;x\x07", "\x9b2J"])
def test_a_harmful_text_is_seen(text: str) -> None:
    assert not harmless(f"PASS {text}\n")
