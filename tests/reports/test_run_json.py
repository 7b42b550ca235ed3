"""The object of `grader run`: the contract's keys whatever happens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grader.faults import Fault, LabFault, MachineFault, StudentFault
from grader.grading.record import dumps, grades_json
from grader.grading.single_launch import fault_json, run_json
from grader.launch import Finding, Trace
from tests.made import RACE, a_grade, a_result, counters, resources

KEYS = [
    "backend",
    "verdict",
    "findings",
    "counters",
    "lines",
    "resources",
    "outputs",
    "seconds",
    "toolchain",
]
FINDING = {
    "kind", "severity", "message", "file", "line", "count", "space", "hazard", "block", "thread",
    "other", "hint",
}  # fmt: skip


def read(value: dict[str, Any]) -> Any:
    return json.loads(dumps(value))


def test_a_launch_with_findings() -> None:
    trace = Trace(
        "sim",
        (RACE,),
        counters=counters(ld_bytes=64),
        lines=(counters(6, ld_bytes=64),),
        resources=resources(),
        seconds={"run": 0.25},
        toolchain={"nvrtc": "13.0"},
    )
    shown = read(run_json(trace, {2: "c.npy"}, compile_seconds=0.06))
    assert list(shown) == KEYS
    assert shown["verdict"] == "findings"
    assert set(shown["findings"][0]) == FINDING
    assert shown["findings"][0]["other"] == {"line": 6, "thread": [1, 1, 0]}
    assert shown["counters"] == {"ptx__requested_bytes_mem_global_op_ld.sum": 64}
    assert shown["lines"] == [{"line": 6, "file": "", "counters": shown["counters"]}]
    assert set(shown["resources"]) == {
        "registers", "static_shared_bytes", "local_bytes", "theoretical_occupancy",
    }  # fmt: skip
    assert shown["outputs"] == {"2": "c.npy"}
    assert shown["seconds"] == {"run": 0.25, "compile": 0.06}


VERDICTS = [
    ((), "clean"),
    ((Finding("race", "info", "same value"),), "clean"),
    ((Finding("race", "warning", "one instruction"),), "findings"),
    ((RACE,), "findings"),
]


@pytest.mark.parametrize(("findings", "verdict"), VERDICTS)
def test_verdicts(findings: tuple[Finding, ...], verdict: str) -> None:
    assert run_json(Trace("sim", findings), {})["verdict"] == verdict


FAULTS = [
    (StudentFault("does not compile", findings=(RACE,)), "findings", "race"),
    (StudentFault("no kernel", fix="write one"), "findings", "launch-failure"),
    (LabFault("no array", where="l.yaml:3", fix="save it"), "error", "launch-failure"),
    (MachineFault("no memory"), "error", "machine"),
]


@pytest.mark.parametrize(("fault", "verdict", "kind"), FAULTS)
def test_a_fault_has_the_same_keys(fault: Fault, verdict: str, kind: str) -> None:
    shown = read(fault_json(fault, "sim"))
    assert list(shown) == KEYS
    assert shown["verdict"] == verdict
    assert [f["kind"] for f in shown["findings"]] == [kind]


def test_many_grades() -> None:
    shown = read(grades_json([a_grade(a_result("output", "pass"))] * 2))
    assert list(shown) == ["grades"]
    assert [grade["schema"] for grade in shown["grades"]] == [1, 1]
