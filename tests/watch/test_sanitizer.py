"""The simulator's verdicts and compute-sanitizer's: each difference has one reason.

test_watch.py checks the simulator against each kernel's expectation, so that a reason here is about
what the simulator does. Claims that a kernel's text or the measurement can refute are checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.watch.differences import (
    Reason,
    expected,
    kernels,
    never_ended,
    ours,
    problems,
    readings,
    reasons,
    reports,
    table,
    theirs,
)


def is_shared(text: str) -> bool:
    """Whether every variable that the expectations name is declared `__shared__`."""
    names = re.findall(r" variable (\w+)", "\n".join(expected(text)))
    declared = [re.search(rf"__shared__[^;]*\b{name}\b", text) for name in names]
    return bool(names) and all(declared)


def is_local(text: str) -> bool:
    """Whether every variable that the expectations name is a thread's own."""
    names = re.findall(r" variable (\w+)", "\n".join(expected(text)))
    return not is_shared(text) and not any(re.search(rf"\*\s*{name}\b", text) for name in names)


CLAIMS: dict[str, Callable[[str, str], bool]] = {
    "racecheck checks only shared memory": lambda name, text: not is_shared(text),
    "racecheck does not compare atomics": lambda name, text: is_shared(text) and "atomic" in text,
    "racecheck treats a barrier of some": lambda name, text: bool(
        re.search(r"bar\.sync \d, ", text)
    ),
    "racecheck reports no race between lanes": lambda name, text: "shfl" in text or "tile" in text,
    "racecheck misses a hazard": lambda name, text: is_shared(text),
    "racecheck ignores that bar.arrive": lambda name, text: (
        "bar.arrive" in text or "barrier.cta.arrive" in text
    ),
    "the simulator reports an info": lambda name, text: all(
        " info" in line for line in expected(text)
    ),
    "synccheck checks barriers": lambda name, text: "shfl" in text or "__ballot" in text,
    "synccheck checks which threads": lambda name, text: text.count("block.sync();") == 2,
    "synccheck treats one named": lambda name, text: bool(
        re.search(r'("bar\.sync \d(?:, 64)?;").*\1', text, re.S)
    ),
    "no tool stops a kernel": lambda name, text: never_ended(name),
    "memcheck checks the end": lambda name, text: is_shared(text) and not never_ended(name),
    "memcheck reports these": lambda name, text: ours(text) == {"memcheck"},
    "initcheck checks only global memory": lambda name, text: (
        is_shared(text) or ("uninitialized" in text and "__shared__" in text)
    ),
    "initcheck does not check registers": lambda name, text: (
        "/local_" in name or "/unset_" in name or is_local(text)
    ),
    "racecheck ignores that a flag": lambda name, text: "volatile" in text and "fence" in text,
    "racecheck reports no race with a copy": lambda name, text: "cp.async.mbarrier.arrive" in text,
    "racecheck reports no race in a warp": lambda name, text: '"block": [32, 1, 1]' in text,
    "synccheck does not report": lambda name, text: (
        "barrier-divergence" in text and "for (" in text
    ),
    "synccheck does not compare the": lambda name, text: (
        "bar.sync" in text or "barrier.sync" in text
    ),
    "synccheck reports no barrier": lambda name, text: (
        "barrier-divergence" in text and "shfl" not in text
    ),
    "memcheck does not check the": lambda name, text: is_local(text) and ours(text) == {"memcheck"},
    "no tool tries the order in which two": lambda name, text: text.count("atomicAdd(") == 2,
    "memcheck reports no write": lambda name, text: "__constant__" in text,
    "memcheck sees one order": lambda name, text: "free(" in text,
    "initcheck takes the read": lambda name, text: " : " in text and not expected(text),
    "initcheck takes a copy of undefined": lambda name, text: (
        not is_local(text) and not is_shared(text)
    ),
    "racecheck reports no race of ldmatrix": lambda name, text: (
        ("ldmatrix" in text or "load_matrix_sync" in text) and is_shared(text)
    ),
    "memcheck, not synccheck, reports ldmatrix": lambda name, text: (
        "ldmatrix" in text and theirs(name) == {"memcheck"}
    ),
    "memcheck does not know whose local": lambda name, text: name.startswith(
        "invalid/foreign_local_"
    ),
    "memcheck reports no bad address": lambda name, text: (
        "load_matrix_sync" in text and ours(text) == {"memcheck"}
    ),
    "synccheck does not check that": lambda name, text: (
        "mma_sync" in text and "barrier-divergence" in text
    ),
    "racecheck takes a relaxed": lambda name, text: "mbarrier.arrive.relaxed" in text,
    "synccheck expects": lambda name, text: "cuda/pipeline" in text and "synccheck" in theirs(name),
    "racecheck takes a bulk copy": lambda name, text: (
        "cp.async.bulk" in text and theirs(name) == {"racecheck"}
    ),
    "racecheck does not check what the async": lambda name, text: (
        "bulk" in text and is_shared(text) and not theirs(name)
    ),
    "synccheck does not count": lambda name, text: (
        "expect_tx" in text and "barrier-divergence" in text
    ),
    "memcheck does not compare": lambda name, text: (
        "cp.async" in text and ours(text) == {"memcheck"}
    ),
    "memcheck does not know whose shared": lambda name, text: (
        "__shared__" in text and ours(text) == {"memcheck"} and '"grid": [1,' not in text
    ),
    "no tool compares the arguments": lambda name, text: (
        "load_matrix_sync" in text and "barrier-divergence" in text
    ),
    "synccheck does not check how": lambda name, text: name.startswith("mbarriers/"),
    "racecheck takes the end": lambda name, text: "mbarrier_inval" in text,
    "no tool tries the order in which a test": lambda name, text: text.count("atomicAdd(") == 1,
    "racecheck reports no update": lambda name, text: is_shared(text) and "lost-update" in text,
    "racecheck does not run strong": lambda name, text: name.startswith("old_values/"),
    "memcheck does not know when the block": lambda name, text: name.startswith("invalid/scope_"),
    "memcheck does not know when a temporary": lambda name, text: name.startswith(
        "invalid/temporary_"
    ),
    "memcheck does not check that the two": lambda name, text: (
        "memcpy" in text and ours(text) == {"memcheck"}
    ),
    "no tool compares what printf": lambda name, text: (
        "printf" in text and ours(text) == {"memcheck"}
    ),
    "synccheck does not compare where": lambda name, text: text.count('"bar.sync 0;"') == 2,
    "racecheck takes a volatile": lambda name, text: (
        "volatile" in text and not expected(text) and "while (" in text
    ),
    "racecheck ignores that a release": lambda name, text: (
        "memory_order_release" in text and not expected(text)
    ),
    "no tool tries the order in which a copy": lambda name, text: (
        "_wait.parity" in text and is_shared(text)
    ),
    "no tool tries the order in which a lock": lambda name, text: "atomicExch(tail" in text,
    "a barrier overflow": lambda name, text: (
        "barrier" in text and theirs(name) == {"synccheck"} and "race error" in text
    ),
    "initcheck takes an atomic": lambda name, text: (
        ("atomic" in text or "fetch_and" in text) and not expected(text)
    ),
    "initcheck takes a copy of padding": lambda name, text: "struct" in text and not expected(text),
    "memcheck ran the debug build": lambda name, text: (
        "float4 four(" in text and ours(text) == {"memcheck"}
    ),
    "racecheck runs an order": lambda name, text: (
        "timeout error" in text and theirs(name) == {"racecheck"}
    ),
    "no tool runs the order": lambda name, text: (
        "race error" in text and "invalid-access error" in text
    ),
    "with a tool one pass": lambda name, text: "clock64()" in text and not never_ended(name),
}


def test_measurement_names_its_gpu() -> None:
    for one in readings():
        assert set(one["machine"]) >= {"device", "driver", "compute-sanitizer", "date"}
    assert len(reports()) == sum(len(one["kernels"]) for one in readings()), "read twice"
    assert len(kernels()) >= 60


def test_every_difference_has_exactly_one_reason() -> None:
    assert not list(problems(reasons()))


def test_missing_and_superfluous_reasons_are_reported() -> None:
    first, second, *rest = reasons()
    fewer = replace(first, kernels=first.kernels[1:])
    assert any("no reason" in line for line in problems((fewer, second, *rest)))
    more = replace(first, kernels=(*first.kernels, "race/global_raw_clean"))
    assert any("equal" in line for line in problems((more, second, *rest)))
    twice = replace(second, kernels=(*second.kernels, first.kernels[0]))
    assert any("two reasons" in line for line in problems((first, twice, *rest)))


@pytest.mark.parametrize("reason", reasons(), ids=[r.name[:40] for r in reasons()])
def test_reason_holds_for_its_kernels(reason: Reason) -> None:
    (claim,) = [CLAIMS[start] for start in CLAIMS if reason.name.startswith(start)]
    held = kernels()
    assert reason.source and reason.tool
    assert [name for name in reason.kernels if not claim(name, held[name])] == []


def test_reason_does_not_hold_for_most_other_kernels() -> None:
    """Each claim tells its kernels apart from kernels that other reasons are for."""
    held = kernels()
    for reason in reasons():
        (claim,) = [CLAIMS[start] for start in CLAIMS if reason.name.startswith(start)]
        others = [k for r in reasons() if r != reason for k in r.kernels]
        assert not all(claim(name, held[name]) for name in others), reason.name


def test_findings_of_the_simulator_alone() -> None:
    """Of the kernels that are wrong, the tools are silent on a third and more."""
    wrong = [name for name, text in kernels().items() if expected(text)]
    silent = [name for name in wrong if not theirs(name)]
    assert len(silent) > len(wrong) / 3
    assert sum(name.startswith("race/") for name in silent) >= 20


def test_table_has_one_row_for_each_reason() -> None:
    rows = table().splitlines()
    assert len(rows) == len(reasons()) + 2 + len(readings())
    total = sum(int(row.split()[0]) + int(row.split()[1]) for row in rows[1 : len(reasons()) + 1])
    assert rows[len(reasons()) + 1].endswith(f"{total} with different ones")
