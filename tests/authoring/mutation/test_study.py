"""Mutants graded against small labs.

A lab with good cases catches them, a lab with poor cases does not, and cached verdicts are used
until something that they depend on changes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grader.authoring.gate import StartedLab, check_labs, check_mutants, start_lab
from grader.authoring.mutation.mutants import make_mutants
from grader.authoring.mutation.study import (
    Cache,
    cache_stamp,
    evaluate_mutant,
    profile_solution,
    start_study,
    study,
)
from grader.authoring.requirements import LabFolder, RequirementResult, lab_folder
from grader.checks.result import Evidence
from grader.faults import LabFault
from grader.feedback.grade import localize_faults
from grader.grading.baseline import canceled_pool
from grader.grading.cases import RunOptions
from grader.labs.model import Lab
from grader.labs.reading import load_lab

OPTIONS = RunOptions("sim", threads=2)
SOLUTION = """\
extern "C" __global__ void twice(const float* a, float* b, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        b[i] = a[i] + a[i];
    }
}
"""
YAML = """\
title: Twice
kernel:
  name: twice
  parameters:
    - {{name: a, type: const float*}}
    - {{name: b, type: float*}}
    - {{name: n, type: int}}
arguments:
  a: {{in: float32, shape: [n]}}
  b: {{out: float32, shape: [n]}}
  n: {{value: n, dtype: int32}}
launch: {{grid: [1], block: [32]}}
cases:
{cases}
checks:
  output: {{points: 60}}
  memory: {{points: 40}}
"""
REFERENCE = """\
import numpy as np
from grader.labs.model import Expected


def inputs(dims, rng, kind):
    return {"a": rng.standard_normal(dims["n"], dtype=np.float32)}


def expected(dims, inputs):
    right = 2.0 * inputs["a"].astype(np.float64)
    return {"b": Expected(right, np.zeros_like(right))}
"""
WHOLE = "  - {name: whole, dims: {n: 32}}"
RAGGED = "  - {name: ragged, dims: {n: 21}}"
HIDDEN = "  - {name: hidden-ragged, dims: {n: 21}, visibility: hidden}"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def a_lab(folder: Path, *cases: str, solution: str = SOLUTION) -> Lab:
    lab, answer = folder / "labs" / "twice", folder / "solutions" / "twice"
    lab.mkdir(parents=True, exist_ok=True)
    answer.mkdir(parents=True, exist_ok=True)
    (lab / "lab.yaml").write_text(YAML.format(cases="\n".join(cases)))
    (lab / "reference.py").write_text(REFERENCE)
    (lab / "baseline.cu").write_text(SOLUTION)
    (answer / "twice.cu").write_text(solution)
    return load_lab("twice", (folder / "labs",))


@pytest.fixture
def two_labs(tmp_path: Path) -> list[LabFolder]:
    """Two equal labs without a baseline, so that no cheats are made of it."""
    labs = [a_lab(tmp_path / name, WHOLE, RAGGED) for name in "ab"]
    for lab in labs:
        lab.baseline.unlink()
    return [lab_folder(lab) for lab in labs]


def gate(lab: Lab) -> list[RequirementResult]:
    folder = lab_folder(lab)
    with canceled_pool(2) as pool:
        started = partial(start_study, lab, folder.solution, OPTIONS, pool)
        return list(check_mutants(folder, started, OPTIONS, lambda what: None))


def test_good_cases_catch_every_mutant(tmp_path: Path) -> None:
    (line,) = gate(a_lab(tmp_path, WHOLE, RAGGED))
    assert line.holds, line.observed
    verdicts = {one.mutant.name: one.verdict for one in line.results}
    guard = verdicts["guard-4-1"]
    assert (guard.check, guard.kind, guard.seen) == ("memory", "invalid-access", "public")
    assert guard.named and guard.located and 5 in guard.lines
    assert all(verdict.outcome == "caught" for verdict in verdicts.values())


def test_missing_ragged_case_lets_guard_mutants_survive(tmp_path: Path) -> None:
    line, *alive = gate(a_lab(tmp_path, WHOLE))
    assert not line.holds
    assert {"mutant guard-4-1", "mutant comparison-4-1"} == {one.what for one in alive}
    assert all("No check fails: add a public case" in one.observed for one in alive)


def test_mutants_caught_only_by_hidden_cases_are_reported(tmp_path: Path) -> None:
    line, *hidden = gate(a_lab(tmp_path, WHOLE, HIDDEN))
    assert not line.holds
    assert {"mutant guard-4-1", "mutant comparison-4-1"} == {one.what for one in hidden}
    assert all("Only hidden cases catch it" in one.observed for one in hidden)


def test_equivalent_mutant_is_recognized_by_its_ptx(tmp_path: Path) -> None:
    profile = profile_solution(a_lab(tmp_path, WHOLE), SOLUTION, OPTIONS)
    assert evaluate_mutant(profile, SOLUTION.replace("i < n", "n > i")).outcome == "same-ptx"
    assert evaluate_mutant(profile, SOLUTION.replace("i < n", "i < n + 1")).outcome == "survived"
    assert evaluate_mutant(profile, SOLUTION.replace("b[i]", "c[i]")).check == "compile"


@pytest.mark.parametrize("name", ["barrier-removed-29-1", "index-32-3", "arithmetic-18-2"])
def test_lines_are_searched_only_where_that_may_change_the_verdict(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race at the edited line, an output that is wrong, and an access far from its cause."""
    folder = lab_folder(load_lab("tiled-matmul"))
    source = folder.solution.read_text()
    mutant = next(m for m in make_mutants(source) if m.name == name)
    profile = profile_solution(folder.lab, source, replace(OPTIONS, threads=1))
    searched = list[str]()

    def counted(*given: Any) -> Evidence:
        searched.append(name)
        return localize_faults(*given)

    monkeypatch.setattr("grader.authoring.mutation.study.localize_faults", counted)
    verdict = evaluate_mutant(profile, mutant.source)
    assert bool(searched) == (name != "barrier-removed-29-1")
    monkeypatch.setattr("grader.authoring.mutation.study._accesses_of", lambda errors: [])
    always = evaluate_mutant(profile, mutant.source)
    assert replace(verdict, lines=()) == replace(always, lines=())
    assert verdict.named and set(verdict.lines) <= set(always.lines)


def test_endless_mutant_is_stopped_early(tmp_path: Path) -> None:
    profile = profile_solution(a_lab(tmp_path, WHOLE), SOLUTION, OPTIONS)
    verdict = evaluate_mutant(profile, SOLUTION.replace("if (i < n)", "while (i < n)"))
    assert (verdict.outcome, verdict.kind) == ("caught", "timeout")
    assert profile.step_limit < 1_000_000


def test_failing_solution_is_a_fault_of_the_lab(tmp_path: Path) -> None:
    lab = a_lab(tmp_path, RAGGED, solution=SOLUTION.replace("i < n", "i <= n"))
    (line,) = gate(lab)
    assert (line.what, line.holds) == ("mutants", False)
    assert "the solution does not pass" in line.observed
    with pytest.raises(LabFault, match="cannot read the solution"):
        study(lab, tmp_path / "none.cu", OPTIONS)


def test_verdicts_are_cached_until_the_lab_changes(tmp_path: Path) -> None:
    lab = a_lab(tmp_path, RAGGED)
    announced: list[str] = []
    first = study(lab, lab.solution, OPTIONS, announced.append)
    assert len(announced) == len(first.results) == len(make_mutants(SOLUTION))
    announced.clear()
    assert study(lab, lab.solution, OPTIONS, announced.append) == first
    assert announced == []
    (lab.folder / "reference.py").write_text(REFERENCE + "\n")
    study(lab, lab.solution, OPTIONS, announced.append)
    assert len(announced) == len(first.results)


def test_cached_verdict_depends_on_text_lab_and_seed(tmp_path: Path) -> None:
    lab = a_lab(tmp_path, RAGGED)
    stamp = cache_stamp(lab, SOLUTION, OPTIONS)
    assert stamp == cache_stamp(lab, SOLUTION, replace(OPTIONS, threads=1))
    others = {
        cache_stamp(lab, SOLUTION + "\n", OPTIONS),
        cache_stamp(lab, SOLUTION, replace(OPTIONS, seed=b"1")),
    }
    (lab.folder / "lab.yaml").write_text(YAML.format(cases=WHOLE))
    others.add(cache_stamp(lab, SOLUTION, OPTIONS))
    assert len(others | {stamp}) == 4
    one, two, *_ = make_mutants(SOLUTION)
    cache = Cache(tmp_path / "verdicts", stamp)
    verdict = evaluate_mutant(profile_solution(lab, SOLUTION, OPTIONS), one.source)
    cache.keep(one, verdict)
    assert cache.load(one) == verdict
    assert cache.load(two) is None
    others.discard(stamp)
    assert all(Cache(tmp_path / "verdicts", other).load(one) is None for other in others)
    assert Cache(None, stamp).load(one) is None


def test_next_lab_starts_behind_the_mutants(
    two_labs: list[LabFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def begin(*args: Any, **named: Any) -> StartedLab:
        steps.append("start")
        return start_lab(*args, **named)

    monkeypatch.setattr("grader.authoring.gate.start_lab", begin)
    results = [(one.what, one.holds) for one in check_labs(two_labs, OPTIONS, steps.append)]
    alone = [(one.what, one.holds) for one in check_labs(two_labs[1:], OPTIONS)]
    assert results == alone * 2
    starts = [number for number, step in enumerate(steps) if step == "start"][:2]
    assert starts[0] == 0 and starts[1] < steps.index("twice: mutants")


def test_endless_reference_ends_only_its_own_lab(
    two_labs: list[LabFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.labs.reference.SECONDS", 0.3)
    monkeypatch.setattr("grader.labs.reference_process.MAX_WAITS", 10_000)  # a busy machine
    endless = REFERENCE.replace("    right =", "    while True: pass\n    right =")
    (two_labs[0].lab.folder / "reference.py").write_text(endless)
    alone = list(check_labs(two_labs[1:], OPTIONS))
    results = list(check_labs(two_labs, OPTIONS))
    first = [result.is_final for result in results].index(True)
    assert "let every loop end" in results[first].observed
    assert results[first + 1 :] == alone and alone[-1].what == "mutants"
