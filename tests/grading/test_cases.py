"""The student's derived numbers, and which cases are graded."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.checks.output import Options, evaluate
from grader.grading.cases import (
    RunOptions,
    _KeptCases,
    evaluate_answer,
    prepare_cases,
    select_cases,
)
from grader.labs.cases import prepare_case
from grader.labs.model import Case, Derivation, KernelSpec, Lab, PreparedCase
from grader.labs.reading import load_lab
from grader.launch import Array, Finding, Launch, Trace
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


def test_submissions_to_a_lab_share_its_prepared_cases() -> None:
    lab = load_lab("tiled-matmul")
    first = prepare_cases(lab, lab.cases[:2], RunOptions(), {})
    again = prepare_cases(lab, lab.cases[:2], RunOptions(), {})
    assert [a is b for a, b in zip(first, again, strict=True)] == [True, True]
    array = first[0].launch.args[0]
    assert isinstance(array, Array) and array.data is not None
    assert not array.data.flags.writeable  # nor can one change it for the next
    assert not any(e.value.flags.writeable for e in first[0].expected.values())


def test_kept_cases_hold_no_descriptors() -> None:
    kept, lab = _KeptCases(), load_lab("tiled-matmul")
    prepare_case(lab, lab.cases[0], b"seed")  # the reference's process has some
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for case in lab.cases:
        kept.get(lab, case, b"seed", {})
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_case_is_prepared_again_for_another_seed_lab_or_reference(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[bytes] = []

    def prepared(lab: Lab, case: Case, seed: bytes, answers: Mapping[str, int]) -> PreparedCase:
        made.append(seed)
        array = Array("a", (1024,), "float32", np.zeros(1024, np.float32))
        return PreparedCase(case, Launch("k", (1, 1, 1), (1, 1, 1), (array,)), {})

    monkeypatch.setattr("grader.grading.cases.prepare_case", prepared)
    monkeypatch.setattr("grader.grading.cases.KEPT_BYTES", 3 * 4096)
    (tmp_path / "reference.py").write_text("1")
    kept, case = _KeptCases(), a_case("one")
    lab, other = (replace(a_lab({}, [case]), folder=tmp_path) for _ in range(2))
    for own, seed, count in (
        (lab, b"1", 1), (lab, b"1", 1), (lab, b"2", 2), (other, b"1", 3), (lab, b"2", 3),
        (lab, b"3", 4), (other, b"1", 4), (lab, b"1", 5),  # the oldest was dropped
    ):  # fmt: skip
        kept.get(own, case, seed, {})
        assert len(made) == count
    (tmp_path / "reference.py").write_text("2")
    kept.get(other, case, b"1", {})
    assert len(made) == 6
