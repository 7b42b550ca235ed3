"""A grade read back from its JSON object is equal; other objects are rejected."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.checks.result import Result
from grader.faults import LabFault
from grader.grading.record import CaseResult, Grade, Provenance, Score, dumps, grade_from_json
from grader.launch import KINDS, Call, Finding, LineCounters, Origin, OtherAccess
from tests.made import a_grade, a_result

STATUS = st.sampled_from(["pass", "fail", "blocked", "unjudged", "error"])
VISIBILITY = st.sampled_from(["public", "hidden"])
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(0, 2**63)
DIM3 = st.tuples(COUNT, COUNT, COUNT)
NUMBERS = st.dictionaries(st.text(), st.floats(allow_nan=False), max_size=3)


def some(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=3).map(tuple)


CALLS = some(st.builds(Call, COUNT, st.text(), st.text()))
OTHER = st.builds(
    OtherAccess,
    COUNT,
    DIM3,
    DIM3,
    st.sampled_from(["read", "write", "atomic", "wait", "arrive"]),
    st.text(),
    st.text(),
    CALLS,
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
    follows=COUNT,
    calls=CALLS,
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
    cases=some(st.builds(CaseResult, st.text(), st.text(), VISIBILITY, STATUS)),
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
def test_other_objects_are_rejected(said: str, spoil: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(LabFault) as told:
        grade_from_json(spoil(a_grade(a_result("sync", "pass")).to_json()))
    assert said in str(told.value)
