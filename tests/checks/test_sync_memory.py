"""The sync and memory checks: which findings fail which check."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.checks import memory, sync
from grader.launch import Finding
from tests.made import RACE, a_case, a_run, evidence

MODULES = {"sync": sync, "memory": memory}

KINDS = [
    ("race", "error", "sync"),
    ("barrier-divergence", "error", "sync"),
    ("invalid-access", "error", "memory"),
    ("uninitialized-read", "error", "memory"),
    ("race", "warning", ""),
    ("barrier-divergence", "info", ""),
    ("invalid-access", "warning", ""),
    ("uncoalesced", "error", ""),
    ("wrong-output", "error", ""),
]


@pytest.mark.parametrize(("kind", "severity", "fails"), KINDS)
def test_a_finding_fails_the_check_it_belongs_to(kind: str, severity: str, fails: str) -> None:
    finding = Finding(kind, severity, "seen", line=7)  # type: ignore[arg-type]
    runs = a_run(a_case()), a_run(a_case("second"), findings=(finding,))
    for name, module in MODULES.items():
        verdict = module.evaluate(module.Options(), evidence(*runs))
        assert (verdict.status == "fail") == (name == fails)
        assert verdict.share == (0.0 if name == fails else 1.0)
        assert [f.kind for f in verdict.findings] == [kind] * (kind in module.KINDS)
        if name == fails:
            assert verdict.summary == f"{kind} in 1 of 2 cases"


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_a_kernel_that_did_not_end_is_not_clean(module: object) -> None:
    stuck = Finding("timeout", "error", "the kernel did not end")
    runs = a_run(a_case()), a_run(a_case("second"), ended=False, findings=(stuck,))
    verdict = module.evaluate(module.Options(), evidence(*runs))  # type: ignore[attr-defined]
    assert verdict.status == "fail"
    assert verdict.summary.startswith("1 of 2 cases did not run to the end")


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_nothing_run_is_nothing_earned(module: object) -> None:
    assert module.evaluate(module.Options(), evidence()).status == "fail"  # type: ignore[attr-defined]


def test_race_in_many_cases_is_one_finding_with_an_exact_count() -> None:
    runs = [a_run(a_case(f"case-{i}"), findings=(RACE,)) for i in range(4)]
    (finding,) = sync.evaluate(sync.Options(), evidence(*runs)).findings
    assert finding.count == 4 * RACE.count
    assert len(finding.cases) == 4
    assert finding.other == RACE.other


def test_races_on_two_lines_are_two_findings() -> None:
    other = Finding("race", "error", RACE.message, file="tiled.cu", line=9)
    run = a_run(a_case(), findings=(RACE, other))
    assert len(sync.evaluate(sync.Options(), evidence(run)).findings) == 2


def test_a_flood_of_findings_is_cut() -> None:
    many = tuple(Finding("race", "error", "seen", line=n) for n in range(1, 60))
    verdict = sync.evaluate(sync.Options(), evidence(a_run(a_case(), findings=many)))
    assert len(verdict.findings) == 20


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_case_that_was_not_launched_does_not_count_for_safety(module: object) -> None:
    wrong = Finding("wrong-output", "error", "choose_tile(512) answered tile = 33")
    unready = replace(a_run(a_case("unready"), ended=False, findings=(wrong,)), launched=False)
    runs = a_run(a_case()), unready
    verdict = module.evaluate(module.Options(), evidence(*runs))  # type: ignore[attr-defined]
    assert verdict.status == "pass"
