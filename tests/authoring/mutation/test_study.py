"""Mutants held against real labs: a lab with good cases catches them, one with poor cases does not,
and what was once judged is not judged again unless something that matters has changed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from grader.authoring.gate import lab_folder, mutants_fall
from grader.authoring.gate_lines import Line
from grader.authoring.mutation.mutants import make_mutants
from grader.authoring.mutation.study import Cache, begin, set_standard, stamp_of, study, try_mutant
from grader.faults import LabFault
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
from grader.lab import Expected


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


def gate(lab: Lab) -> list[Line]:
    folder = lab_folder(lab)
    begun = partial(begin, lab, folder.solution, OPTIONS)
    return list(mutants_fall(folder, begun, OPTIONS, lambda what: None))


def test_a_good_lab_catches_all(tmp_path: Path) -> None:
    (line,) = gate(a_lab(tmp_path, WHOLE, RAGGED))
    assert line.holds, line.seen
    fates = {one.mutant.name: one.verdict for one in line.tried}
    guard = fates["guard-4-1"]
    assert (guard.check, guard.kind, guard.seen) == ("memory", "invalid-access", "public")
    assert guard.named and guard.located and 5 in guard.lines
    assert all(verdict.outcome == "caught" for verdict in fates.values())


def test_a_lab_without_a_ragged_case_lets_the_guard_go(tmp_path: Path) -> None:
    line, *alive = gate(a_lab(tmp_path, WHOLE))
    assert not line.holds
    assert {"mutant guard-4-1", "mutant comparison-4-1"} == {one.what for one in alive}
    assert all("No check fails: add a public case" in one.seen for one in alive)


def test_what_only_hidden_cases_see_is_told(tmp_path: Path) -> None:
    line, *hidden = gate(a_lab(tmp_path, WHOLE, HIDDEN))
    assert not line.holds
    assert {"mutant guard-4-1", "mutant comparison-4-1"} == {one.what for one in hidden}
    assert all("Only hidden cases see it" in one.seen for one in hidden)


def test_the_same_program_is_told_by_its_ptx(tmp_path: Path) -> None:
    standard = set_standard(a_lab(tmp_path, WHOLE), SOLUTION, OPTIONS)
    assert try_mutant(standard, SOLUTION.replace("i < n", "n > i")).outcome == "same-ptx"
    assert try_mutant(standard, SOLUTION.replace("i < n", "i < n + 1")).outcome == "survived"
    assert try_mutant(standard, SOLUTION.replace("b[i]", "c[i]")).check == "compile"


def test_an_endless_mutant_ends_soon(tmp_path: Path) -> None:
    standard = set_standard(a_lab(tmp_path, WHOLE), SOLUTION, OPTIONS)
    verdict = try_mutant(standard, SOLUTION.replace("if (i < n)", "while (i < n)"))
    assert (verdict.outcome, verdict.kind) == ("caught", "timeout")
    assert standard.step_limit < 1_000_000


def test_a_solution_that_fails_has_no_mutants(tmp_path: Path) -> None:
    lab = a_lab(tmp_path, RAGGED, solution=SOLUTION.replace("i < n", "i <= n"))
    (line,) = gate(lab)
    assert (line.what, line.holds) == ("mutants", False)
    assert "the solution does not pass" in line.seen
    with pytest.raises(LabFault, match="cannot read the solution"):
        study(lab, tmp_path / "none.cu", OPTIONS)


def test_verdicts_are_remembered_until_something_changes(tmp_path: Path) -> None:
    lab = a_lab(tmp_path, RAGGED)
    said: list[str] = []
    first = study(lab, lab.solution, OPTIONS, said.append)
    assert len(said) == len(first.tried) == len(make_mutants(SOLUTION))
    said.clear()
    assert study(lab, lab.solution, OPTIONS, said.append) == first
    assert said == []
    (lab.folder / "reference.py").write_text(REFERENCE + "\n")
    study(lab, lab.solution, OPTIONS, said.append)
    assert len(said) == len(first.tried)


def test_a_verdict_is_of_one_text_one_lab_and_one_grader(tmp_path: Path) -> None:
    lab = a_lab(tmp_path, RAGGED)
    stamp = stamp_of(lab, SOLUTION, OPTIONS)
    assert stamp == stamp_of(lab, SOLUTION, replace(OPTIONS, threads=1))
    others = {
        stamp_of(lab, SOLUTION + "\n", OPTIONS),
        stamp_of(lab, SOLUTION, replace(OPTIONS, seed=b"1")),
    }
    (lab.folder / "lab.yaml").write_text(YAML.format(cases=WHOLE))
    others.add(stamp_of(lab, SOLUTION, OPTIONS))
    assert len(others | {stamp}) == 4
    one, two, *_ = make_mutants(SOLUTION)
    cache = Cache(tmp_path / "verdicts", stamp)
    verdict = try_mutant(set_standard(lab, SOLUTION, OPTIONS), one.source)
    cache.keep(one, verdict)
    assert cache.load(one) == verdict
    assert cache.load(two) is None
    others.discard(stamp)
    assert all(Cache(tmp_path / "verdicts", other).load(one) is None for other in others)
    assert Cache(None, stamp).load(one) is None
