"""The grade object: exactly the keys and types of the contract, for every status."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from grader.check.result import Result
from grader.fault import LabFault
from grader.launch import KINDS, Finding, LineCounters, Origin, Other
from grader.record import CaseLine, Grade, Provenance, grade_from_json
from grader.report.json import dumps
from grader.score import Score
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


class WholeOtherObject(OtherObject):
    block: list[int]
    access: Literal["read", "write", "atomic", "wait"]
    text: str


class GradeFinding(FindingObject):
    other: WholeOtherObject | None
    column: int
    text: str
    access: str
    variable: str
    detail: str
    cases: list[str]
    origins: list[OriginObject]


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
    counters: dict[str, float]


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
        cases=[CaseLine("square", "4 x 4", "public", "pass")],
    )
    read = held(grade)
    assert read.checks[1].status == status
    assert read.checks[0].findings[0].column == 7
    assert read.checks[1].findings[0].other == WholeOtherObject(
        line=6, thread=[1, 1, 0], block=[0, 0, 0], access="write", text=RACE.other.text
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


STATUS = st.sampled_from(["pass", "fail", "blocked", "unjudged", "error"])
VISIBILITY = st.sampled_from(["public", "hidden"])
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(0, 2**63)
DIM3 = st.tuples(COUNT, COUNT, COUNT)
NUMBERS = st.dictionaries(st.text(), st.floats(allow_nan=False), max_size=3)


def some(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=3).map(tuple)


OTHER = st.builds(
    Other, COUNT, DIM3, DIM3, st.sampled_from(["read", "write", "atomic", "wait"]), st.text()
)
FINDING = st.builds(
    Finding,
    kind=st.sampled_from(KINDS),
    severity=st.sampled_from(["error", "warning", "info"]),
    message=st.text(),
    file=st.text(),
    line=COUNT,
    column=COUNT,
    text=st.text(),
    count=COUNT,
    space=st.sampled_from(["", "global", "shared", "local"]),
    hazard=st.sampled_from(["", "RAW", "WAR", "WAW"]),
    access=st.sampled_from(["", "read", "write"]),
    variable=st.text(),
    block=st.none() | DIM3,
    thread=st.none() | DIM3,
    other=st.none() | OTHER,
    hint=st.text(),
    detail=st.text(),
    cases=some(st.text()),
    origins=some(st.builds(Origin, st.text(), COUNT)),
)
RESULT = st.builds(
    Result,
    name=st.text(),
    status=STATUS,
    points=NUMBER,
    max_points=NUMBER,
    summary=st.text(),
    findings=some(FINDING),
    measurements=NUMBERS,
    visibility=VISIBILITY,
    cases=st.dictionaries(st.text(), STATUS, max_size=3),
    measured_on=st.text(),
)
PROVENANCE = st.builds(
    Provenance,
    seed=st.text(),
    toolchain=st.dictionaries(st.text(), st.text(), max_size=3),
    grader_version=st.text(),
    started=st.text(),
    seconds=NUMBER,
    device=st.none() | st.text(),
    driver=st.none() | st.text(),
    clocks=st.none() | st.dictionaries(st.text(), COUNT, max_size=2),
    samples=st.dictionaries(st.text(), some(NUMBER), max_size=3),
    lab_sha256=st.text(),
)
GRADE = st.builds(
    Grade,
    lab=st.text(),
    title=st.text(),
    file=st.text(),
    student=st.text(),
    submission_sha256=st.text(),
    backend=st.sampled_from(["sim", "gpu"]),
    score=st.builds(Score, NUMBER, NUMBER, NUMBER, st.sampled_from(["graded", "incomplete"])),
    checks=some(RESULT),
    cases=some(st.builds(CaseLine, st.text(), st.text(), VISIBILITY, STATUS)),
    provenance=PROVENANCE,
    lines=some(st.builds(LineCounters, COUNT, NUMBERS)),
    lines_on=st.text(),
)


@given(GRADE)
def test_a_grade_comes_back_from_its_object(grade: Grade) -> None:
    assert grade_from_json(grade.to_json()) == grade


@given(GRADE)
def test_its_text_says_the_same_once_read(grade: Grade) -> None:
    """JSON text has no infinity, which a measurement may be; all else comes back."""
    text = dumps(grade.to_json())
    assert dumps(grade_from_json(json.loads(text)).to_json()) == text


def test_no_field_is_forgotten() -> None:
    """A field that a later version adds has to be written too, or it would be lost."""
    grade = a_grade(a_result("sync", "fail", findings=(RACE,)))
    told = grade.to_json()
    (check,) = told["checks"]
    assert names(Finding) == set(check["findings"][0])
    assert names(Other) == set(check["findings"][0]["other"])
    assert names(Result) == set(check)
    assert names(Provenance) == set(told["provenance"])
    own = {"schema", "status", "judged_max", "max_score"}
    assert names(Grade) | own == set(told)
    assert names(CaseLine) == {"name", "size", "visibility", "status"}


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def test_a_lost_number_comes_back_as_none() -> None:
    grade = a_grade(a_result("traffic", "fail", measurements={"ratio": math.inf}))
    read = grade_from_json(json.loads(dumps(grade.to_json())))
    assert math.isnan(read.checks[0].measurements["ratio"])


def test_keys_of_a_later_version_are_passed_over() -> None:
    grade = a_grade(a_result("sync", "pass"))
    assert grade_from_json(grade.to_json() | {"color": "green"}) == grade


def without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda held: {name: item for name, item in held.items() if name != key}


WRONG: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("schema 1", lambda held: [held]),
    ("schema 1", lambda held: held | {"schema": 2}),
    ("schema 1", without("schema")),
    ("lab", without("lab")),
    ("score.points", without("score")),
    ("score.points", lambda held: held | {"score": "many"}),
    ("checks.0.status", lambda held: held | {"checks": [held["checks"][0] | {"status": "won"}]}),
    ("provenance", lambda held: held | {"provenance": None}),
    ("lines.0.line", lambda held: held | {"lines": [{"line": "x", "counters": {}}]}),
]


@pytest.mark.parametrize(("said", "spoil"), WRONG)
def test_what_is_no_grade_is_refused(said: str, spoil: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(LabFault) as told:
        grade_from_json(spoil(a_grade(a_result("sync", "pass")).to_json()))
    assert said in str(told.value)
