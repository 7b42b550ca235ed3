"""A small sample of injected faults; `python -m tests.faults` runs as many as wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.__main__ import injections
from tests.faults.injection import CALLS, SIGNALED, SIGNALS, Injection, Workplace, strace_problem

SAMPLE = (
    Injection("check", "correct", "mmap", "ENOMEM", 30),
    Injection("check", "correct", "openat", "EMFILE", 12),
    Injection("check", "correct", "mount", "ENOSPC", 2),
    Injection("check", "correct", "pwrite64", "SIGKILL", 2),
)


@pytest.mark.skipif(bool(strace_problem()), reason=strace_problem() or "strace works")
def test_fault_of_the_machine_costs_no_point(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    place = Workplace(tmp_path / "faults", ("check",), ("correct",))
    results = [place.run(one, f"run-{number}") for number, one in enumerate(SAMPLE)]
    assert [(str(r.injection), r.violations, r.text) for r in results if r.violations] == []
    assert {r.outcome for r in results} & {"error", "killed"}, "no fault had any effect"


def test_same_seed_gives_the_same_faults() -> None:
    assert list(injections(50, 7)) == list(injections(50, 7))
    assert list(injections(50, 7)) != list(injections(50, 8))


def test_every_call_with_every_fault_comes_before_one_is_repeated() -> None:
    pairs = {(call, fault) for call, faults in CALLS.items() for fault in faults}
    pairs |= {(call, signal) for call in SIGNALED for signal in SIGNALS}
    first = list(injections(len(pairs), 3))
    assert {(one.call, one.fault) for one in first} == pairs
