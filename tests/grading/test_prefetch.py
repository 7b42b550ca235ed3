"""Prefetching prepares exactly what the checks use afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import grader.grading.baseline
from grader.checks.result import largest_run
from grader.checks.suite import plan
from grader.compile.source import compile_source
from grader.faults import LabFault
from grader.grading.baseline import baseline_trace, cache_folder, largest_case, prefetch
from grader.grading.cases import RunOptions, select_cases
from grader.grading.pipeline import run_cases
from grader.labs.reading import list_labs, load_lab

OPTIONS = RunOptions(seed=b"s")


@pytest.mark.parametrize("name", list_labs())
def test_the_largest_case_is_the_one_that_is_measured(name: str) -> None:
    lab = load_lab(name)
    cases = select_cases(lab, "all")
    runs = run_cases(lab, compile_source(lab.baseline.read_bytes(), "baseline.cu"), cases, OPTIONS)
    measured = largest_run(runs, lab.kernels[0].name)
    ahead = largest_case(lab, cases)
    if ahead is None:
        assert any(case.derived for case in cases)
    else:
        assert measured is not None and measured.case == ahead


def no_run(*words: Any, **options: Any) -> Sequence[Any]:
    raise AssertionError("the baseline was simulated again")


def test_prefetched_baseline_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lab = load_lab("tiled-matmul")
    cases = select_cases(lab, "public")
    with ThreadPoolExecutor() as beside:
        prefetch(beside, lab, plan(lab), cases, OPTIONS)
    monkeypatch.setattr(grader.grading.baseline, "run_all", no_run)
    case = largest_case(lab, cases)
    assert case is not None
    assert baseline_trace(lab, case, OPTIONS, cache_folder()).counters


def test_broken_baseline_is_reported_where_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lab = load_lab("tiled-matmul")
    broken = replace(lab, folder=shutil.copytree(lab.folder, tmp_path / lab.name))
    broken.baseline.write_text("no kernel")
    with ThreadPoolExecutor() as beside:
        prefetch(beside, broken, plan(lab), select_cases(lab, "public"), OPTIONS)
    case = largest_case(broken, broken.cases)
    assert case is not None
    with pytest.raises(LabFault, match="the baseline does not compile"):
        baseline_trace(broken, case, OPTIONS, cache_folder())
