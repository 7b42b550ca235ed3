"""The student's derived numbers, and which cases are graded."""

from __future__ import annotations

import numpy as np
import pytest

from grader.checks.output import Options, evaluate
from grader.grading.cases import evaluate_answer, select_cases
from grader.labs.model import Derivation, KernelSpec
from grader.launch import Finding, Trace
from tests.made import a_case, a_lab, a_program, evidence

CHOOSE = KernelSpec("matmul", (("int", "threads"), ("int", "bytes"), ("int*", "tile")))
RULE = "the widest tile whose threads fit into a block"
TILE = Derivation("full", CHOOSE, {"threads": 1024, "bytes": 49152}, "tile", 24, 32, RULE)


def answered(value: int, unwritten: bool = False) -> Trace:
    blank = {2: np.array([True])} if unwritten else {}
    return Trace("sim", outputs={2: np.array([value], dtype=np.int32)}, unwritten=blank)


@pytest.mark.parametrize("answer", [24, 30, 32])
def test_a_right_answer_is_used_and_counts_as_a_case(answer: int) -> None:
    run, used = evaluate_answer(TILE, answered(answer), a_program())
    assert used == answer
    verdict = evaluate(Options(), evidence(run))
    assert (verdict.status, verdict.share) == ("pass", 1.0)
    assert verdict.cases == {"matmul(1024, 49152)": "pass"}


@pytest.mark.parametrize("answer", [-1, 0, 23, 33, 2**31 - 1])
def test_a_wrong_answer_is_a_failed_case_and_not_used(answer: int) -> None:
    run, used = evaluate_answer(TILE, answered(answer), a_program())
    assert used is None
    verdict = evaluate(Options(), evidence(run))
    assert verdict.status == "fail"
    (finding,) = verdict.findings
    assert finding.kind == "wrong-output"
    assert f"matmul(1024, 49152) answered tile = {answer}, expected 24 to 32" in finding.message
    assert RULE in finding.message
    assert finding.line == 2


def test_an_answer_that_was_never_written_is_not_read() -> None:
    run, used = evaluate_answer(TILE, answered(32, unwritten=True), a_program())
    assert used is None
    (finding,) = evaluate(Options(), evidence(run)).findings
    assert finding.kind == "unwritten-output"
    assert finding.message == "matmul(1024, 49152) never writes tile"


def test_derivation_without_an_answer_fails() -> None:
    stuck = Finding("timeout", "error", "the kernel did not end", line=4)
    run, used = evaluate_answer(TILE, Trace("sim", (stuck,), ended=False), a_program())
    assert used is None
    assert [f.kind for f in evaluate(Options(), evidence(run)).findings] == ["timeout"]


def test_hidden_cases_are_graded_when_asked_for() -> None:
    cases = [a_case("one"), a_case("two", visibility="hidden")]
    lab = a_lab({"output": (40, {})}, cases)
    assert [case.name for case in select_cases(lab, "public")] == ["one"]
    assert [case.name for case in select_cases(lab, "all")] == ["one", "two"]
