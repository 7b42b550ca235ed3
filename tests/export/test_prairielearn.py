"""results.json against PrairieLearn's rules for external graders."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tests.export.rows import FAILED, HOSTILE, PASSED, a_row, graded, hostile_rows, huge, made


class Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Image(Rules):
    url: str
    label: str = ""


class Test(Rules):
    __test__ = False
    name: str
    description: str = ""
    points: float = 0
    max_points: float = 0
    message: str = ""
    output: str = ""
    images: list[Image | str] = Field(default_factory=list)


class Results(Rules):
    gradable: bool = True
    score: float | None = Field(None, ge=0, le=1)
    message: str = ""
    output: str = ""
    images: list[Image | str] = Field(default_factory=list)
    tests: list[Test] = Field(default_factory=list)
    format_errors: str | list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _scored(self) -> Results:
        assert (self.score is not None) == self.gradable
        return self


def results(row: Any) -> Results:
    text, left = made("prairielearn", row)
    assert not left and len(text.encode()) <= 1_000_000
    return Results.model_validate_json(text)


def test_a_share_and_its_tests() -> None:
    shown = results(a_row(graded()))
    assert shown.score == pytest.approx(70 / 85)
    assert [t.name for t in shown.tests] == ["compile", "output", "sync", "memory"]
    assert (
        shown.tests[1].description
        == "Every case produces the expected output, to the last element."
    )
    assert shown.tests[2].message == "sync evaluated" and "race:" in shown.tests[2].output


def test_a_system_error_is_not_gradable() -> None:
    shown = results(a_row(FAILED))
    assert not shown.gradable and shown.score is None
    assert "system error" in shown.message


@pytest.mark.parametrize(("points", "score"), [(90.0, 1.0), (-3.0, 0.0), (42.5, 0.5)])
def test_a_score_never_leaves_its_range(points: float, score: float) -> None:
    assert results(replace(a_row(graded()), points=points)).score == score


def test_without_evaluated_checks_no_points_are_taken() -> None:
    assert not results(replace(a_row(PASSED), points=0.0, out_of=0.0)).gradable


def test_too_much_text_is_cut_until_it_fits() -> None:
    assert results(a_row(huge())).gradable


@pytest.mark.parametrize("row", hostile_rows(), ids=range(len(HOSTILE)))
def test_hostile_text_stays_within_the_rules(row: Any) -> None:
    text, _ = made("prairielearn", row)
    assert "\\u0000" not in text and "\\u001b" not in text
    results(row)
