"""The baseline's counters are measured once and cached while they are valid."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from grader.checks.traffic import LOAD_BYTES
from grader.compile.cache import store
from grader.grading import baseline
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
    (entry,) = cache.iterdir()
    store(cache, entry.stem, {LOAD_BYTES: 7})
    assert loaded(cache) == 7
    assert loaded(cache, RunOptions(seed=b"another")) != 7
    assert loaded(None) != 7


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"a": ', b'{"%s": 7}'])
def test_corrupt_cache_is_measured_again(cache: Path, content: bytes) -> None:
    right = loaded(cache)
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(content.replace(b"%s", LOAD_BYTES.encode()))
    assert loaded(cache) == right
    assert entry.read_bytes() == whole


def test_a_flipped_bit_of_a_counter_is_measured_again(cache: Path) -> None:
    """One bit of a digit once made a class lose 10 points each."""
    right = loaded(cache)
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    at = whole.index(LOAD_BYTES.encode()) + len(LOAD_BYTES) + 3
    for bit in range(4):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << bit
        entry.write_bytes(flipped)
        assert loaded(cache) == right
        assert entry.read_bytes() == whole


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


def test_two_callers_measure_a_baseline_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The grade waits for what it has begun in the background."""
    runs, run_all = list[int](), baseline.run_all

    def counted(*given: Any, **options: Any) -> Any:
        runs.append(len(given[1]))
        return run_all(*given, **options)

    monkeypatch.setattr(baseline, "run_all", counted)
    lab = load_lab("tiled-matmul")
    case, options = lab.cases[0], RunOptions("sim", seed=b"two callers")
    with ThreadPoolExecutor(2) as pool:
        traces = list(pool.map(lambda _: baseline_trace(lab, case, options, cache), range(2)))
    assert traces[0].counters == traces[1].counters and traces[0].counters
    assert runs == [1]
