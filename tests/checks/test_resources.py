"""Shared memory, registers, spills and occupancy against a lab's limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.checks.resources import Options, evaluate
from grader.launch import Resources
from tests.made import a_case, a_run, counters, evidence, resources

USED = {"shared_ld": 64, "shared_st": 64}
UNUSED = {"shared_ld": 0, "ld_bytes": 640}

SHARED = [
    ("any", USED, 2048, "pass"),
    ("any", USED, 0, "pass"),
    ("any", UNUSED, 0, "fail"),
    ("any", UNUSED, 2048, "fail"),
    ("static", USED, 2048, "pass"),
    ("static", USED, 0, "fail"),
    ("static", UNUSED, 2048, "fail"),
    ("dynamic", USED, 0, "pass"),
    ("dynamic", USED, 2048, "fail"),
    ("none", UNUSED, 0, "pass"),
    ("none", USED, 2048, "fail"),
    (None, UNUSED, 0, "pass"),
]


@pytest.mark.parametrize(("wanted", "values", "static", "status"), SHARED)
def test_shared_memory_counts_when_it_is_accessed(
    wanted: str | None, values: dict[str, float], static: int, status: str
) -> None:
    run = a_run(a_case(), counters=counters(**values), resources=resources(static=static))
    verdict = evaluate(Options(shared=wanted), evidence(run))  # type: ignore[arg-type]
    assert verdict.status == status
    assert [f.kind for f in verdict.findings] == ["missing-feature"] * (status == "fail")
    assert all(f.line == 2 for f in verdict.findings)


def test_shared_memory_declared_but_not_used_is_reported() -> None:
    run = a_run(a_case(), counters=counters(**UNUSED), resources=resources(static=2048))
    verdict = evaluate(Options(shared="any"), evidence(run))
    assert verdict.summary.endswith("declares 2048 bytes of shared memory but never accesses them")


LIMITS = [
    ({"max_registers": 32}, {"registers": 32}, []),
    ({"max_registers": 32}, {"registers": 33}, ["missing-feature"]),
    ({"max_static_shared_bytes": 2048}, {"static": 2048}, []),
    ({"max_static_shared_bytes": 2048}, {"static": 2052}, ["missing-feature"]),
    ({"no_spills": True}, {"local": 0}, []),
    ({"no_spills": True}, {"local": 64}, ["spill"]),
    ({"no_spills": True, "max_registers": 8}, {"local": 64}, ["missing-feature", "spill"]),
]


@pytest.mark.parametrize(("options", "taken", "kinds"), LIMITS)
def test_limits(options: dict[str, int], taken: dict[str, int], kinds: list[str]) -> None:
    run = a_run(a_case(), counters=counters(**USED), resources=resources(**taken))
    verdict = evaluate(Options(**options), evidence(run))  # type: ignore[arg-type]
    assert [f.kind for f in verdict.findings] == kinds
    assert verdict.status == ("fail" if kinds else "pass")


@pytest.mark.parametrize(("loads", "status"), [(64, "pass"), (0, "fail")])
def test_constant_memory_counts_when_it_is_read(loads: int, status: str) -> None:
    run = a_run(a_case(), counters=counters(const_loads=loads), resources=resources())
    verdict = evaluate(Options(constant=True), evidence(run))
    assert verdict.status == status
    assert [f.kind for f in verdict.findings] == ["missing-feature"] * (status == "fail")


OCCUPANCIES = [(1.0, 1.0, "pass"), (0.75, 0.75, "pass"), (0.6875, 0.75, "fail"), (None, 0.5, "")]


@pytest.mark.parametrize(("reached", "least", "status"), OCCUPANCIES)
def test_occupancy(reached: float | None, least: float, status: str) -> None:
    taken = replace(resources(), theoretical_occupancy=reached)
    run = a_run(a_case(), counters=counters(**USED), resources=taken, block=(704, 1, 1))
    verdict = evaluate(Options(min_occupancy=least), evidence(run))
    assert verdict.status == (status or "unjudged")
    if status == "fail":
        assert verdict.summary.startswith("theoretical occupancy 68.8% with blocks of 704 threads")


def test_measurements_name_what_is_known() -> None:
    run = a_run(a_case(), counters=counters(**USED), resources=resources())
    measured = evaluate(Options(), evidence(run)).measurements
    assert measured["registers"] == 32
    assert measured["static_shared_bytes"] == 2048
    assert measured["dynamic_shared_bytes"] == 0


@pytest.mark.parametrize("options", [{"max_registers": 32}, {"no_spills": True}, {"shared": "any"}])
def test_unknown_resources_are_not_evaluated(options: dict[str, object]) -> None:
    run = a_run(a_case(), resources=Resources())
    assert evaluate(Options(**options), evidence(run)).status == "unjudged"  # type: ignore[arg-type]


def test_no_run_is_no_pass() -> None:
    assert evaluate(Options(shared="none"), evidence()).status == "blocked"
