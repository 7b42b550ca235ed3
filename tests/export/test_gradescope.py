"""results.json against the rules of Gradescope's specification."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tests.export.rows import HOSTILE, PASSED, SECRET, a_row, graded, hostile_rows, huge, made

Visibility = Literal["hidden", "after_due_date", "after_published", "visible"]
Text = Literal["text", "html", "simple_format", "md", "ansi"]


class Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Test(Rules):
    __test__ = False
    score: float | None = None
    max_score: float | None = None
    status: Literal["passed", "failed"] | None = None
    name: str | None = None
    name_format: Text | None = None
    number: str | None = None
    output: str | None = None
    output_format: Text | None = None
    tags: list[str] | None = None
    visibility: Visibility | None = None
    extra_data: dict[str, Any] | None = None


class Results(Rules):
    score: float | None = None
    execution_time: float | None = None
    output: str | None = None
    output_format: Text | None = None
    test_output_format: Text | None = None
    test_name_format: Text | None = None
    visibility: Visibility | None = None
    stdout_visibility: Visibility | None = None
    extra_data: dict[str, Any] | None = None
    tests: list[Test] = Field(default_factory=list)
    leaderboard: list[dict[str, Any]] | None = None

    @model_validator(mode="after")
    def _scored(self) -> Results:
        assert self.score is not None or all(t.score is not None for t in self.tests)
        return self


def results(row: Any) -> Results:
    text, left = made("gradescope", row)
    assert not left
    return Results.model_validate_json(text)


def test_every_evaluated_check_is_a_test() -> None:
    shown = results(a_row(graded()))
    assert shown.score == 70
    assert [(t.name, t.score, t.max_score, t.status, t.number) for t in shown.tests] == [
        ("compile", 0, 0, "passed", "1"),
        ("output", 40, 40, "passed", "2"),
        ("sync", 15, 30, "failed", "3"),
        ("memory", 15, 15, "failed", "4"),
    ]
    assert "race: read-after-write hazard" in str(shown.tests[2].output)
    assert "not evaluated here: speed (15 points)" in str(shown.output)


def test_nothing_hides_the_total_from_the_student() -> None:
    for grade in (graded(), PASSED, SECRET):
        shown = results(a_row(grade))
        assert {shown.visibility, *(t.visibility for t in shown.tests)} == {"visible"}
        assert shown.stdout_visibility == "hidden"


def test_lateness_and_overrides_count_and_are_shown() -> None:
    row = replace(a_row(graded()), points=63.0, note="late by 2 h: -10 %")
    shown = results(row)
    assert shown.score == 63 and "late by 2 h" in str(shown.output)
    assert [t.score for t in shown.tests] == [0, 40, 15, 15]


def test_points_of_another_scale() -> None:
    shown = results(replace(a_row(graded()), points=8.24, out_of=10.0))
    assert sum(t.max_score or 0 for t in shown.tests) == pytest.approx(10, abs=0.02)


@pytest.mark.parametrize("row", hostile_rows(), ids=range(len(HOSTILE)))
def test_hostile_text_is_text(row: Any) -> None:
    text, _ = made("gradescope", row)
    shown = Results.model_validate_json(text)
    words = json.dumps(shown.model_dump(), ensure_ascii=False)
    assert "\x1b" not in words and "\u202e" not in words
    assert {shown.output_format, shown.test_output_format, shown.test_name_format} == {"text"}


def test_long_texts_are_shortened() -> None:
    shown = results(a_row(huge()))
    assert max(len(t.output or "") for t in shown.tests) <= 20_000
