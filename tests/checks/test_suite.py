"""How checks are found and configured, their dependencies, and the points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.checks.result import Result
from grader.checks.suite import blocked_all, check_names, error_all, evaluate_all, plan
from grader.faults import LabFault
from grader.launch import Trace
from tests.made import RACE, a_case, a_lab, a_run, counters, evidence, right_answer

FULL = {
    "output": (40, {}),
    "sync": (15, {}),
    "memory": (15, {}),
    "resources": (15, {"shared": "none"}),
    "speed": (15, {"minimum": 1.2, "full": 1.4}),
}
GOOD = a_case("good")
BAD = a_case("bad")


def judged(*runs: Any, checks: dict[str, Any] | None = None) -> dict[str, Result]:
    lab = a_lab(checks or FULL)
    return {r.name: r for r in evaluate_all(plan(lab), evidence(*runs, lab=lab))}


def ran(case: Any, right: bool = True, **trace: Any) -> Any:
    answer = right_answer(case) * (1 if right else -3)
    trace.setdefault("counters", counters(ld_bytes=64))
    return a_run(case, answer, **trace)


def test_every_check_file_is_found() -> None:
    due = {"output", "sync", "memory", "traffic", "resources", "speed"}
    assert due <= set(check_names())
    assert not {"suite", "result", "findings", "mismatch", "watched"} & set(check_names())


@pytest.mark.parametrize("name", check_names())
def test_check_has_a_one_line_title(name: str) -> None:
    options = {"minimum": 1, "full": 2} if name == "speed" else {}
    (check,) = plan(a_lab({name: (1, options)}))
    assert check.title.endswith(".")
    assert 20 < len(check.title) <= 90


MISTAKES = [
    ("outputs", {}, "there is no check `outputs`", "did you mean `output`?"),
    ("suite", {}, "there is no check `suite`", ""),
    ("../cli", {}, "there is no check `../cli`", ""),
    ("traffic", {"max_global_byte_ratio": 1}, "unknown option", "`max_global_bytes_ratio`"),
    ("traffic", {"max_sectors_per_request": "x"}, "valid number", ""),
    ("output", {"weight": 1}, "unknown option", "takes no options"),
    ("resources", {"shared": "some"}, "'none', 'static', 'dynamic' or 'any'", ""),
    ("resources", {"max_registers": 0}, "greater than 0", ""),
    ("speed", {"minimum": 2, "full": 1}, "must be above minimum", ""),
    ("speed", {"full": 1}, "field required", ""),
]


@pytest.mark.parametrize(("name", "options", "what", "fix"), MISTAKES)
def test_a_lab_s_mistake_is_a_fault_with_its_place(
    name: str, options: dict[str, Any], what: str, fix: str
) -> None:
    with pytest.raises(LabFault) as caught:
        plan(a_lab({name: (1, options)}))
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.where.startswith("labs/tiled/lab.yaml:3")
    assert f"checks.{name}" in caught.value.where


def test_right_kernel_earns_all_evaluated_points() -> None:
    results = judged(ran(GOOD), ran(BAD))
    assert {n: r.status for n, r in results.items()} == {
        "output": "pass",
        "sync": "pass",
        "memory": "pass",
        "resources": "pass",
        "speed": "unjudged",
    }
    assert sum(r.points for r in results.values()) == 85
    assert list(results) == list(FULL)


def test_a_kernel_that_does_nothing_earns_nothing() -> None:
    results = judged(ran(GOOD, right=False), ran(BAD, right=False))
    assert results["output"].status == "fail"
    assert {results[n].status for n in ("sync", "memory", "resources")} == {"blocked"}
    assert sum(r.points for r in results.values()) == 0
    assert results["sync"].summary == "not evaluated: no case produces the correct output yet"


def test_race_is_reported_even_without_a_right_case() -> None:
    results = judged(ran(GOOD, right=False, findings=(RACE,)))
    assert results["sync"].status == "fail"
    assert [f.kind for f in results["sync"].findings] == ["race"]
    assert results["memory"].status == "blocked"


def test_one_right_case_is_enough_for_safety_and_not_for_speed() -> None:
    results = judged(ran(GOOD), ran(BAD, right=False))
    assert results["output"].points == 20
    assert results["sync"].status == results["memory"].status == "pass"


def test_dependency_is_evaluated_first_in_any_order() -> None:
    results = judged(ran(GOOD, right=False), checks={"sync": (1, {}), "output": (1, {})})
    assert list(results) == ["sync", "output"]
    assert results["sync"].status == "blocked"


def test_a_dependency_that_the_lab_does_not_grade_holds() -> None:
    results = judged(ran(GOOD, right=False), checks={"sync": (1, {})})
    assert results["sync"].status == "pass"


def test_points_are_rounded_to_hundredths() -> None:
    runs = [ran(a_case(f"c{i}"), right=i > 0) for i in range(3)]
    assert judged(*runs)["output"].points == 26.67


def test_all_blocked_and_all_in_error() -> None:
    checks = plan(a_lab(FULL))
    failed = error_all(checks, "why")
    assert {(r.status, r.points) for r in failed} == {("error", 0)}
    assert [r.summary for r in failed].count("why") == 1, "the reason is told once"
    *rest, speed = blocked_all(checks, "why", "sim")
    assert {(r.status, r.points, r.summary) for r in rest} == {("blocked", 0, "why")}
    assert (speed.status, speed.summary) == ("unjudged", "speed needs a GPU")
    assert {r.status for r in blocked_all(checks, "why", "gpu")} == {"blocked"}


@pytest.mark.parametrize(
    ("backend", "right", "status"),
    [("sim", True, "unjudged"), ("sim", False, "unjudged"), ("gpu", False, "blocked")],
)
def test_speed_does_not_count_where_it_is_not_evaluated(
    backend: Any, right: bool, status: str
) -> None:
    lab = a_lab(FULL)
    seen = evidence(ran(GOOD), ran(BAD, right=right), lab=lab, backend=backend)
    results = {r.name: r for r in evaluate_all(plan(lab), seen)}
    assert results["speed"].status == status


def test_a_derived_number_alone_is_no_right_case() -> None:
    run = ran(GOOD)
    asked = run.prepared.launch.__class__("choose_tile", (1, 1, 1), (1, 1, 1), ())
    answer = replace(
        run,
        case=a_case("choose_tile(1)"),
        prepared=replace(run.prepared, launch=asked, expected={}),
    )
    results = judged(answer, ran(BAD, right=False))
    assert results["output"].points == 20
    assert results["sync"].status == results["resources"].status == "blocked"


def test_an_expression_that_no_case_can_answer_is_placed_in_the_lab_file() -> None:
    checks = {"output": (1, {}), "traffic": (1, {"max_global_bytes_ratio": "1 / tile"})}
    lab = a_lab(checks)
    base = {"good": Trace("sim", counters=counters(ld_bytes=64))}
    with pytest.raises(LabFault) as caught:
        evaluate_all(plan(lab), evidence(ran(GOOD), lab=lab, baseline=base))
    assert caught.value.where == "labs/tiled/lab.yaml:30: checks.traffic"
    assert "`tile`" in caught.value.what


def test_error_of_no_check_is_reported_with_the_output() -> None:
    racy = ran(GOOD, findings=(RACE,))
    alone = judged(racy, checks={"output": (10, {})})
    assert [f.kind for f in alone["output"].findings] == ["race"]
    claimed = judged(racy, checks={"output": (10, {}), "sync": (5, {})})
    assert [f.kind for f in claimed["output"].findings] == []
    assert [f.kind for f in claimed["sync"].findings] == ["race"]
