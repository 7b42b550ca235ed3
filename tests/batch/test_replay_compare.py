"""Whatever is edited in a record is found, and named by where it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from grader.batch.replay import conditions, differences
from grader.grading.record import CaseResult, Grade, dumps, grade_from_json
from grader.launch import LineCounters
from tests.made import RACE, a_grade, a_result
from tests.reports.page.rows import speed_result

RECORD = a_grade(
    a_result("output", "fail", 20, 40, cases={"square": "pass", "ragged": "fail"}),
    a_result("sync", "fail", findings=(RACE,)),
    a_result("traffic", "pass", 10, 10, measurements={"bytes": 442368.0, "ratio": 1 / 16}),
    speed_result(1.3),
    cases=[
        CaseResult("square", "16 x 16", "public", "pass"),
        CaseResult("r", "3", "hidden", "fail"),
    ],
    lines=(LineCounters(6, {"sectors": 1.0}),),
)

Edit = Callable[[dict[str, Any]], None]


def check(number: int, key: str, value: Any) -> Edit:
    return lambda held: held["checks"][number].update({key: value})


EDITS: list[tuple[str, Edit]] = [
    ("score.points", lambda held: held.update(score=85)),
    ("score.judged_max", lambda held: held.update(judged_max=99)),
    ("score.max_score", lambda held: held.update(max_score=99)),
    ("backend", lambda held: held.update(backend="gpu")),
    ("checks.output.points", check(0, "points", 20.01)),
    ("checks.output.max_points", check(0, "max_points", 30)),
    ("checks.output.status", check(0, "status", "pass")),
    ("checks.output.summary", check(0, "summary", "all right")),
    ("checks.output.cases.ragged", check(0, "cases", {"square": "pass", "ragged": "pass"})),
    ("checks.output.visibility", check(0, "visibility", "hidden")),
    ("checks.sync.findings", check(1, "findings", [])),
    ("checks.sync.findings.1.line", lambda h: h["checks"][1]["findings"][0].update(line=8)),
    ("checks.sync.findings.1.count", lambda h: h["checks"][1]["findings"][0].update(count=1)),
    ("checks.sync.findings.1.hint", lambda h: h["checks"][1]["findings"][0].update(hint="none")),
    ("checks.traffic.measurements.ratio", check(2, "measurements", {"bytes": 442368, "ratio": 1})),
    ("checks.traffic.measurements.more", check(2, "measurements", {"bytes": 442368, "ratio": 1 / 16,
                                                                   "more": 1})),
    ("checks.speed.points", check(3, "points", 15)),
    ("cases.r.status", lambda held: held["cases"][1].update(status="pass")),
    ("cases.other", lambda held: held["cases"][1].update(name="other")),
    ("checks.extra", lambda held: held["checks"].append(held["checks"][0] | {"name": "extra"})),
    ("checks.output (again)", lambda held: held["checks"].append(held["checks"][0])),
    ("checks.sync", lambda held: held["checks"].pop(1)),
]  # fmt: skip


def edited(edit: Edit) -> Grade:
    held = json.loads(dumps(RECORD.to_json()))
    edit(held)
    return grade_from_json(held)


@pytest.mark.parametrize(("what", "edit"), EDITS, ids=[what for what, _ in EDITS])
def test_an_edit_is_reported(what: str, edit: Edit) -> None:
    found = [difference.what for difference in differences(edited(edit), RECORD)]
    assert what in found
    assert len(found) <= 2


def test_an_unedited_grade_has_no_differences() -> None:
    assert list(differences(edited(lambda held: None), RECORD)) == []
    assert list(conditions(RECORD.provenance, RECORD.provenance)) == []


def test_a_number_that_went_through_another_type_is_the_same() -> None:
    assert list(differences(edited(check(2, "points", 10)), RECORD)) == []
    assert list(differences(edited(check(0, "points", 20.0 + 1e-12)), RECORD)) == []


def test_a_difference_reads_well() -> None:
    (points,) = differences(edited(check(0, "points", 40)), RECORD)
    assert str(points) == "checks.output.points: 40 in the record, 20 now"
    (gone,) = differences(edited(check(1, "findings", [])), RECORD)
    assert str(gone) == "checks.sync.findings: 0 of them in the record, 1 of them now"


def test_hostile_text_is_escaped_and_shortened() -> None:
    (text,) = differences(edited(check(0, "summary", "\x1b[2J" + "x" * 500)), RECORD)
    assert text.recorded.startswith("\\x1b[2J") and len(text.recorded) <= 60


CONDITIONS: list[tuple[str, dict[str, Any]]] = [
    ("lab (SHA-256 of its files)", {"lab_sha256": "00"}),
    ("grader version", {"grader_version": "0.0.9"}),
    ("toolchain: nvrtc", {"toolchain": {"nvrtc": "13.1"}}),
    ("toolchain: nvcc", {"toolchain": {"nvrtc": "13.0", "nvcc": "13.0"}}),
    ("device", {"device": "Tesla T4"}),
    ("driver", {"driver": "580.65"}),
]


@pytest.mark.parametrize(("what", "changed"), CONDITIONS, ids=[what for what, _ in CONDITIONS])
def test_a_changed_condition_is_reported(what: str, changed: dict[str, Any]) -> None:
    found = list(conditions(replace(RECORD.provenance, **changed), RECORD.provenance))
    assert [difference.what for difference in found] == [what]


def test_only_the_verdict_of_a_remeasured_speed_counts() -> None:
    again = replace(RECORD, checks=(*RECORD.checks[:3], speed_result(1.31)))
    assert list(differences(RECORD, again)) != []
    assert list(differences(RECORD, again, timed_again=True)) == []
    slow = replace(RECORD, checks=(*RECORD.checks[:3], speed_result(1.0)))
    (found,) = differences(RECORD, slow, timed_again=True)
    assert (found.what, found.recorded, found.now) == ("checks.speed.status", "pass", "fail")
