"""What GitHub Classroom's reporter decodes, and what it makes of it."""

from __future__ import annotations

import base64
import re
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from tests.export.rows import FAILED, HOSTILE, PASSED, a_row, graded, hostile_rows, huge, made


class Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Test(Rules):
    __test__ = False
    name: str
    status: Literal["pass", "fail", "error"]
    score: float
    message: str
    line_no: int = Field(ge=0)
    test_code: str


class Result(Rules):
    version: int
    status: Literal["pass", "fail", "error"]
    max_score: float
    tests: list[Test]


def result(row: Any) -> Result:
    text, left = made("github-classroom", row)
    assert not left and re.fullmatch(r"[A-Za-z0-9+/]+=*\n", text), "one line, for $GITHUB_OUTPUT"
    return Result.model_validate_json(base64.b64decode(text.rstrip(), validate=True))


def reported(shown: Result) -> tuple[float, float] | None:
    """What the reporter sends: nothing without a maximum, else the sum of the tests' scores."""
    return (sum(t.score for t in shown.tests), shown.max_score) if shown.max_score else None


def test_the_reporter_adds_up_the_score() -> None:
    shown = result(a_row(graded()))
    assert shown.status == "fail" and reported(shown) == (70, 85)
    assert [(t.name, t.status, t.line_no) for t in shown.tests] == [
        ("compile", "pass", 0), ("output", "pass", 0), ("sync", "fail", 7), ("memory", "fail", 0),
    ]  # fmt: skip
    assert result(a_row(PASSED)).status == "pass"


def test_a_system_error_is_not_reported() -> None:
    shown = result(a_row(FAILED))
    assert shown.status == "error" and reported(shown) is None
    assert {t.status for t in shown.tests} == {"error"}


@pytest.mark.parametrize("row", hostile_rows(), ids=range(len(HOSTILE)))
def test_hostile_text(row: Any) -> None:
    assert reported(result(row)) == (70, 85)


def test_a_steps_outputs_may_hold_a_megabyte() -> None:
    text, _ = made("github-classroom", a_row(huge()))
    assert len(text) < 1_000_000
