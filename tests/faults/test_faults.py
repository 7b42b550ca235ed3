"""A small sample of injected faults; `python -m tests.faults` runs as many as wanted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.faults.injection import (
    CALLS,
    SIGNALED,
    SIGNALS,
    Injection,
    Result,
    injections,
    table,
)
from tests.faults.tracing import Ended, counted_calls, strace_problem
from tests.faults.workplace import SUBMISSIONS, Workplace

SAMPLE = (
    Injection("check", "correct", "mmap", "ENOMEM", 30),
    Injection("check", "correct", "mount", "ENOSPC", 2),
    Injection("check", "correct", "pwrite64", "SIGKILL", 2, "simulate", fresh=False),
    Injection("check", "correct", "openat", "EIO", 60, "compile", fresh=False),
    Injection("check", "correct", "memfd_create", "EMFILE", 1, "reference", fresh=False),
    Injection("check", "correct", "brk", "ENOMEM", 2, fresh=False, cold=False),
    Injection("check", "correct", "rename", "EPERM", 1, fresh=False, cold=False),
    Injection("check", "correct", "write", "EAGAIN", 2, "probe", fresh=False, cold=False),
)
"""One of each process; each of the last four once broke a rule."""

COUNTS = {
    ("check", "all", True): dict.fromkeys([*CALLS, *SIGNALED], 40),
    ("batch", "simulate", False): {"read": 7, "mmap": 300},
}


@pytest.mark.skipif(bool(strace_problem()), reason=strace_problem() or "strace works")
def test_fault_of_the_machine_costs_no_point(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    place = Workplace(tmp_path / "faults", ("check",), ("correct",))
    try:
        results = [place.run(one, f"run-{number}") for number, one in enumerate(SAMPLE)]
    finally:
        place.close()
    assert [(str(r.injection), r.violations, r.text) for r in results if r.violations] == []
    assert {r.outcome for r in results} & {"error", "killed"}, "no fault had any effect"


def test_same_seed_gives_the_same_faults() -> None:
    first, again, other = (list(injections(50, s, COUNTS, list(SUBMISSIONS))) for s in (7, 7, 8))
    assert first == again != other


def test_every_call_with_every_fault_comes_before_one_is_repeated() -> None:
    pairs = {(call, fault) for call, faults in CALLS.items() for fault in faults}
    pairs |= {(call, signal) for call in SIGNALED for signal in SIGNALS}
    first = list(injections(len(pairs), 3, COUNTS, ["correct"]))
    assert {(one.call, one.fault) for one in first} == pairs


def test_only_calls_that_are_made_are_chosen() -> None:
    counts = {("batch", "simulate", False): {"read": 7, "mmap": 300}}
    chosen = list(injections(200, 1, counts, ["correct"]))
    assert {one.call for one in chosen} == {"read", "mmap"}
    assert max(one.when for one in chosen if one.call == "read") <= 7
    assert {one.process for one in chosen} == {"simulate"}


def test_calls_are_counted_by_process(tmp_path: Path) -> None:
    (tmp_path / "all.1").write_text('read(3, "", 1) = 0\nread(3, "", 1) = 0\nmmap(NULL) = 1\n')
    (tmp_path / "all.2").write_text("+++ killed by SIGKILL +++\nread(3) = ? ERESTARTSYS\n")
    (tmp_path / "probe.3").write_text("brk(NULL) = 0x1\n")
    assert counted_calls(tmp_path) == {
        "all": Counter(read=2, mmap=1),
        "probe": Counter(brk=1),
    }


def test_failing_brk_answers_as_the_kernel_does() -> None:
    assert Injection("check", "correct", "brk", "ENOMEM", 3).expression.endswith(":retval=0:when=3")


def test_only_lacks_and_broken_disks_go_on() -> None:
    lasting = [one for one in injections(900, 2, COUNTS, ["correct"]) if one.lasting]
    assert lasting and {one.expression[-1] for one in lasting} == {"+"}
    assert not {one.fault for one in lasting} & {"EINTR", "EAGAIN", "SIGKILL", "SIGSTOP"}


@pytest.mark.parametrize(
    ("ended", "grade", "rule"),
    [
        (Ended(1, "", ()), 100.0, "exit code 1 in place of 0"),
        (Ended(0, "", ()), 0.0, "another result"),
        (Ended(3, "no memory", ()), 0.0, "another grade"),
        (Ended(3, "", ()), None, "without a message"),
        (Ended(3, "Traceback (most recent call last)", ()), None, "a traceback"),
        (Ended(0, "", ("bwrap",)), 100.0, "1 processes remain: bwrap"),
        (Ended(-11, "", ()), None, "exit code -11"),
        (Ended(9999, "", ()), None, "it hangs"),
    ],
)
def test_each_rule_is_checked(tmp_path: Path, ended: Ended, grade: float | None, rule: str) -> None:
    place = Workplace.__new__(Workplace)
    place.expected = {("check", "correct"): (0, {"": _summary(100.0)})}
    (tmp_path / "tmp").mkdir()
    if grade is not None:
        (tmp_path / "result.json").write_text(_grade(grade))
    one = Injection("check", "correct", "read", "EIO", 1)
    assert rule in "; ".join(place._violations(one, tmp_path, ended))


def test_table_counts_by_call_and_fault() -> None:
    one = Injection("check", "correct", "read", "EIO", 1)
    rows = table([Result(one, "same", ()), Result(one, "error", ()), Result(one, "same", ("bad",))])
    assert rows.splitlines()[-1].split() == ["all", "3", "1", "1", "0", "1"]


def _summary(score: float) -> dict[str, object]:
    return {"status": "graded", "score": score, "checks": []}


def _grade(score: float) -> str:
    return f'{{"status": "graded", "score": {score}, "checks": []}}'
