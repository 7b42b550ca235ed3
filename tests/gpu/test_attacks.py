"""Every attack gets its expected verdict on a GPU, and the next submission its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from grader.compile.source import compile_source
from grader.grading.run import run_all
from tests.attacks.verdict import (
    LAUNCH,
    SPEED,
    expected_verdicts,
    grade_file,
    name_of,
    unmet_verdicts,
)
from tests.gpu.test_backend import launch, source

pytestmark = pytest.mark.gpu

HONEST = next(path for path in SPEED if path.stem == "honest")
FEW = ("one-tile", "whole-numbers")
SOME = (*FEW, "hidden-random")
LIMIT = 2.0


@pytest.mark.parametrize("path", [*LAUNCH, *SPEED], ids=name_of)
def test_attack_gets_its_verdict_and_next_submission_is_graded(path: Path, row: Any) -> None:
    """Tests share the GPU here, so that the honest one's speed is looked at in the next test."""
    started = time.perf_counter()
    got = grade_file(path, "gpu", names=SOME)
    took = time.perf_counter() - started
    wrong = list(unmet_verdicts(expected_verdicts(path, "gpu"), got))
    row(f"{', '.join(f'{c.name} {c.status}' for c in got.checks if c.max_points)} in {took:.1f} s")
    after = grade_file(HONEST, "gpu", names=FEW)
    assert wrong == []
    assert list(unmet_verdicts(expected_verdicts(HONEST), after, without="speed")) == []


@pytest.mark.alone
@pytest.mark.parametrize("name", ["illegal_access", "endless_when_timed"])
def test_honest_submission_after_an_attack_gets_all_points(name: str, row: Any) -> None:
    grade_file(next(path for path in LAUNCH if path.stem == name), "gpu", names=FEW)
    after = grade_file(HONEST, "gpu")
    row(f"{after.score.points:g} of {after.score.judged_max:g} points")
    assert list(unmet_verdicts(expected_verdicts(HONEST), after)) == []
    assert after.score.points == after.score.max_score


@pytest.mark.alone
def test_a_hang_is_reported_within_two_seconds_of_its_limit(row: Any) -> None:
    """Beside a launch that ends: both pay for a child's start, the hang for a health probe too."""
    program = compile_source(source("while (*(volatile float*)out == out[0]) out[1] = 0;"), "k.cu")
    clean = compile_source(source("out[threadIdx.x] = 1;"), "k.cu")
    run_all(clean, [launch()], on="gpu")
    started = time.perf_counter()
    run_all(clean, [launch()], on="gpu")
    ended = time.perf_counter()
    (trace,) = run_all(program, [launch()], on="gpu", limit=LIMIT)
    late = time.perf_counter() - ended - (ended - started) - LIMIT
    row(f"{late:.2f} s after its limit of {LIMIT:g} s, with nvcc's {'' if late else 'no '}time")
    assert [f.kind for f in trace.errors] == ["timeout"]
    assert late < 2
