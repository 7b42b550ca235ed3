"""The baseline's counters are measured once and cached while they are valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.checks.traffic import LOAD_BYTES
from grader.grading.baseline import baseline_trace, cache_folder
from grader.grading.cases import RunOptions
from grader.labs.reading import load_lab

LAB = load_lab("tiled-matmul")
CASE = LAB.cases[0]
OPTIONS = RunOptions(seed=b"s")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def loaded(cache: Path | None, how: RunOptions = OPTIONS) -> float:
    return baseline_trace(LAB, CASE, how, cache).counters[LOAD_BYTES]


def test_a_naive_product_loads_two_floats_a_term(cache: Path) -> None:
    assert loaded(cache) == 2 * CASE.dims["n"] ** 3 * 4


def test_cached_counters_are_used(cache: Path) -> None:
    loaded(cache)
    (kept,) = cache.iterdir()
    kept.write_text(json.dumps({LOAD_BYTES: 7}))
    assert loaded(cache) == 7
    assert loaded(cache, RunOptions(seed=b"another")) != 7
    assert loaded(None) != 7


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": '])
def test_corrupt_cache_is_measured_again(cache: Path, text: str) -> None:
    right = loaded(cache)
    (kept,) = cache.iterdir()
    kept.write_text(text)
    assert loaded(cache) == right
    assert json.loads(kept.read_text())[LOAD_BYTES] == right


def test_a_cache_that_cannot_be_written_is_no_fault(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert loaded(cache) > 0


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/warpgrade/baseline")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert cache_folder() == Path("/h/.cache/warpgrade/baseline")
    monkeypatch.delenv("HOME")
    assert cache_folder() is None
