"""The JSON object against check50's specification."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, model_validator

from tests.export.rows import FAILED, HOSTILE, a_row, graded, hostile_rows, made


class Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Result(Rules):
    name: str
    description: str
    passed: bool | None
    log: list[str]
    cause: dict[str, Any] | None
    data: dict[str, Any]
    dependency: str | None

    @model_validator(mode="after")
    def _caused(self) -> Result:
        assert (self.cause is None) == (self.passed is True), "cause is null for a pass only"
        assert self.cause is None or isinstance(self.cause["rationale"], str)
        assert not any("\n" in line for line in self.log)
        return self


class Error(Rules):
    type: str
    value: str
    traceback: list[str]
    data: dict[str, Any]


class Whole(Rules):
    slug: str
    version: str
    results: list[Result]


class Broken(Rules):
    slug: str
    version: str
    error: Error


def test_three_outcomes() -> None:
    shown = Whole.model_validate_json(made("check50", a_row(graded()))[0])
    assert [(r.name, r.passed, r.dependency) for r in shown.results] == [
        ("compile", True, None),
        ("output", True, "compile"),
        ("sync", False, "output"),
        ("memory", None, "output"),
        ("speed", None, "output"),
    ]
    cause = shown.results[2].cause
    assert cause and cause["help"].startswith("Threads read `As` before")
    assert all(r.dependency is None or r.dependency in [o.name for o in shown.results]
               for r in shown.results)  # fmt: skip


def test_a_system_error_replaces_the_results() -> None:
    shown = Broken.model_validate_json(made("check50", a_row(FAILED))[0])
    assert (shown.error.type, shown.error.value) == ("MachineFault", "the disk is full")


@pytest.mark.parametrize("row", hostile_rows(), ids=range(len(HOSTILE)))
def test_hostile_text(row: Any) -> None:
    text, _ = made("check50", row)
    Whole.model_validate_json(text)
    assert "\x1b" not in json.dumps(json.loads(text), ensure_ascii=False)
