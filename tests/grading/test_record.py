"""The grade object: exactly the keys and types of the JSON contract, for every status."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from grader.checks.result import Result, Verdict
from grader.compile.ptx_lines import PtxLine
from grader.grading.cost import Cost, TimeEstimate
from grader.grading.record import CaseResult, Grade, Provenance, dumps, grade_from_json
from grader.launch import Finding, OtherAccess
from tests.made import RACE, a_grade, a_result


class Contract(BaseModel):
    """No key more and no key less than the contract names, and no type coerced."""

    model_config = ConfigDict(extra="forbid", strict=True)


class OtherObject(Contract):
    line: int
    thread: list[int]


class FindingObject(Contract):
    kind: str
    severity: Literal["error", "warning", "info"]
    message: str
    file: str
    line: int
    count: int
    space: Literal["global", "shared", "local"] | None
    hazard: Literal["RAW", "WAR", "WAW"] | None
    block: list[int] | None
    thread: list[int] | None
    other: OtherObject | None
    hint: str


class OriginObject(Contract):
    name: str
    line: int
    file: str


class CallObject(Contract):
    line: int
    text: str
    file: str


class WholeOtherObject(OtherObject):
    block: list[int]
    access: Literal["read", "write", "atomic", "wait", "arrive"]
    text: str
    file: str
    calls: list[CallObject]


class GradeFinding(FindingObject):
    other: WholeOtherObject | None
    column: int
    text: str
    access: str
    variable: str
    detail: str
    cases: list[str]
    origins: list[OriginObject]
    follows: int
    calls: list[CallObject]


class VerdictObject(Contract):
    status: Literal["pass", "fail", "blocked", "unjudged", "error"]
    summary: str
    share: float
    findings: list[GradeFinding]
    measurements: dict[str, float]
    cases: dict[str, str]
    measured_on: str


class CheckObject(Contract):
    name: str
    status: Literal["pass", "fail", "blocked", "unjudged", "error"]
    points: float
    max_points: float
    summary: str
    findings: list[GradeFinding]
    measurements: dict[str, float]
    visibility: Literal["public", "hidden"]
    cases: dict[str, str]
    measured_on: str
    public: VerdictObject | None = None


class CaseObject(Contract):
    name: str
    size: str
    visibility: Literal["public", "hidden"]
    status: str


class ProvenanceObject(Contract):
    seed: str
    toolchain: dict[str, str]
    device: str | None
    driver: str | None
    clocks: dict[str, Any] | None
    grader_version: str
    started: str
    seconds: float
    samples: dict[str, list[float]]
    lab_sha256: str


class LineObject(Contract):
    line: int
    file: str
    counters: dict[str, float]


class PlaceObject(Contract):
    check: str
    index: int
    follows: bool


class FixObject(Contract):
    confirmed: bool
    kind: str = ""
    line: int = 0
    diff: str | None = None


class CauseObject(Contract):
    kind: str
    line: int
    file: str
    what: str
    findings: list[PlaceObject]
    fix: FixObject


class ClueObject(Contract):
    kind: str
    line: int
    name: str
    text: str
    file: str


class StoredFix(Contract):
    kind: str
    line: int
    text: str
    name: str
    diff: str
    explains: list[str]
    file: str
    more: list[OriginObject]


class ExplanationObject(Contract):
    clues: list[ClueObject]
    fixes: list[StoredFix]
    trials: int
    failure: str
    cases: list[str]
    hints: Literal["cause", "place", "fix"]


class CostObject(Contract):
    case: str
    sectors: int
    wavefronts: int
    thread_instructions: int
    total: float
    baseline: CostObject | None


class PtxObject(Contract):
    line: int
    instructions: list[str]
    file: str


class GradeObject(Contract):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)
    schema_: Literal[1]
    lab: str
    title: str
    file: str
    student: str
    submission_sha256: str
    backend: Literal["sim", "gpu"]
    status: Literal["graded", "incomplete"]
    score: float
    judged_max: float
    max_score: float
    checks: list[CheckObject]
    cases: list[CaseObject]
    provenance: ProvenanceObject
    lines: list[LineObject]
    lines_on: str
    causes: list[CauseObject]
    explanation: ExplanationObject
    hidden_feedback: Literal["", "score", "kind", "full"] = ""
    cost: CostObject | None = None
    ptx: list[PtxObject] = []


def held(grade: Grade) -> GradeObject:
    """The grade's JSON text, read back and held against the contract."""
    text = dumps(grade.to_json()).replace('"schema"', '"schema_"', 1)
    return GradeObject.model_validate_json(text)


@pytest.mark.parametrize("status", ["pass", "fail", "blocked", "unjudged", "error"])
def test_the_contract_holds_for_every_status(status: str) -> None:
    warning = Finding("compile-warning", "warning", "unused variable", "t.cu", 3, 7, "int x;")
    grade = a_grade(
        a_result("compile", "pass", 0, 0, findings=(warning,)),
        a_result("sync", status, findings=(RACE,), measurements={"ratio": 0.5, "count": 3}),
        cases=[CaseResult("square", "4 x 4", "public", "pass")],
    )
    read = held(grade)
    assert read.checks[1].status == status
    assert read.checks[0].findings[0].column == 7
    assert read.checks[1].findings[0].other == WholeOtherObject(
        line=6,
        thread=[1, 1, 0],
        block=[0, 0, 0],
        access="write",
        text=RACE.other.text,
        calls=[],
        file="",
    )
    assert read.status == ("incomplete" if status == "error" else "graded")


def test_numbers_that_json_lacks_become_null() -> None:
    grade = a_grade(a_result("traffic", "fail", measurements={"ratio": float("inf")}))
    assert '"ratio": null' in dumps(grade.to_json())


EXITS = [
    (["pass"], 0),
    (["pass", "unjudged"], 0),
    (["pass", "fail"], 1),
    (["pass", "blocked"], 1),
    (["fail", "error"], 3),
]


@pytest.mark.parametrize(("statuses", "code"), EXITS)
def test_exit_codes(statuses: list[str], code: int) -> None:
    assert a_grade(*(a_result("c", status) for status in statuses)).exit_code == code


def test_no_field_is_forgotten() -> None:
    """A field that a later version adds has to be written too, or it would be lost."""
    alone = Verdict("fail", "race", findings=(RACE,), measurements={"a": 1.0}, cases={"a": "fail"})
    grade = a_grade(a_result("sync", "fail", findings=(RACE,), public=alone))
    cost = Cost("square", 1, 2, 3, Cost("square", 4, 5, 6))
    estimate = TimeEstimate("NVIDIA X", 1e-4, 2e-4, "latency", 0.1, 1.5, 3.0)
    grade = replace(grade, hidden_feedback="kind", cost=cost, ptx=(PtxLine(3, ("ret;",)),))
    grade = replace(grade, estimates=(estimate,))
    told = grade.to_json()
    assert grade_from_json(told) == grade
    (check,) = told["checks"]
    assert names(Finding) == set(check["findings"][0])
    assert names(OtherAccess) == set(check["findings"][0]["other"])
    assert names(Result) == set(check)
    assert names(Verdict) == set(check["public"])
    assert names(Provenance) == set(told["provenance"])
    assert names(Cost) | {"total"} == set(told["cost"]) == set(told["cost"]["baseline"])
    assert names(PtxLine) == set(told["ptx"][0])
    assert names(TimeEstimate) == set(told["estimates"][0])
    own = {"schema", "status", "judged_max", "max_score", "causes"}
    shown_only = {"printed"}
    assert (names(Grade) - shown_only) | own == set(told)
    assert names(CaseResult) == {"name", "size", "visibility", "status"}


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}
