"""The core agrees with the specification, and the specification with the manual's examples."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.model.compare import compare
from tests.model.dense import Dense, Phases
from tests.model.kernels import Generator, generate
from tests.model.specification import Execution, Kind, Operation

T, U = (0, 0), (1, 0)
"""Threads of two blocks."""

DATA = Operation(Kind.WRITE, T, "x", 0, 4)
FLAG = Operation(Kind.WRITE, T, "f", 0, 4, strong=True)
FENCE = Operation(Kind.FENCE, T, strong=True)
SEE = Operation(Kind.READ, U, "f", 0, 4, strong=True)
USE = Operation(Kind.READ, U, "x", 0, 4)
ADD = Operation(Kind.UPDATE, T, "f", 0, 4, strong=True)


def racy(*operations: Operation) -> bool:
    return bool(Execution(operations).races())


@pytest.mark.parametrize("made", [Generator, Dense, Phases])
def test_core_agrees_with_the_specification(made: type[Generator]) -> None:
    """The kernels of 400 seeds; `python -m tests.model --count 10000` compares more."""
    results = [compare(made(seed).make()) for seed in range(50_000, 50_400)]
    assert [str(r) for r in results if not r.agrees] == []
    assert 50 < sum(not r.races for r in results) < 350


def test_message_passes_with_a_fence_on_both_sides() -> None:
    fence = replace(FENCE, thread=U)
    assert not racy(DATA, FENCE, FLAG, SEE, fence, USE)
    assert racy(DATA, FLAG, SEE, fence, USE)
    assert racy(DATA, FENCE, FLAG, SEE, USE)
    assert racy(DATA, FENCE, FLAG, fence, SEE, USE)


def test_message_passes_with_release_and_acquire() -> None:
    release, acquire = replace(FLAG, releases=True), replace(SEE, acquires=True)
    assert not racy(DATA, release, acquire, USE)
    assert racy(DATA, release, SEE, USE)
    assert racy(DATA, FLAG, acquire, USE)
    assert racy(DATA, acquire, release, USE)


def test_plain_read_counts_where_others_wait() -> None:
    """Reads of a place that nobody wrote are not kept when many read it, but for strong reads."""
    found = compare(Dense(900_133).make())
    assert found.core and found.agrees, found


@pytest.mark.parametrize("seed", [24_006_272, 25_005_500])
def test_narrow_access_meets_the_write_of_another_block(seed: int) -> None:
    """A later write of the narrow access's own block conflicts with less, and covers nothing."""
    found = compare(generate(seed))
    assert found.agrees and found.core, found


def test_write_in_whose_place_another_is_need_not_precede_what_observed_that() -> None:
    """Causality order begins with one observation; what precedes the observed write stays out."""
    found = compare(generate(24_000_556))
    assert found.agrees and found.core, found


@pytest.mark.parametrize("where", ["release", "acquire"])
def test_scope_of_the_block_orders_nothing_between_blocks(where: str) -> None:
    release = replace(FLAG, releases=True, narrow=where == "release")
    acquire = replace(SEE, acquires=True, narrow=where == "acquire")
    assert racy(DATA, release, acquire, USE)
    near = (0, 1)
    assert not racy(DATA, release, replace(acquire, thread=near), replace(USE, thread=near))


def test_store_of_another_thread_breaks_a_release_sequence() -> None:
    other = (2, 0)
    release, acquire = replace(FLAG, releases=True), replace(SEE, acquires=True)
    assert racy(DATA, release, replace(FLAG, thread=other), acquire, USE)
    assert not racy(DATA, release, replace(ADD, thread=other), acquire, USE)


def test_observed_write_precedes_what_follows_the_read() -> None:
    """A counter that the last of those who incremented it resets with a plain store."""
    reset = Operation(Kind.WRITE, U, "f", 0, 4)
    assert not racy(ADD, replace(ADD, thread=U), reset)
    assert racy(ADD, reset)


def test_atomics_of_different_sizes_race() -> None:
    assert racy(ADD, replace(ADD, thread=U, size=8))
    assert not racy(ADD, replace(ADD, thread=U))


def test_sequentially_consistent_fence_before_a_barrier_counts() -> None:
    """Every thread fences, then one sets the flag after the barrier."""
    near, group = (0, 1), "barrier"
    barrier = [
        Operation(kind, thread, group=group)
        for kind in (Kind.ARRIVE, Kind.LEAVE)
        for thread in (T, near)
    ]
    flag = replace(FLAG, thread=near)
    end = (SEE, replace(FENCE, thread=U, sc=True), USE)
    assert not racy(DATA, replace(FENCE, sc=True), *barrier, flag, *end)
    assert racy(DATA, FENCE, *barrier, flag, *end)
    assert not racy(DATA, *barrier, replace(FENCE, thread=near), flag, *end)


ARRIVE = Operation(Kind.UPDATE, T, "b", 0, 8, strong=True, narrow=True, releases=True)
WAIT = Operation(Kind.READ, (0, 1), "b", 0, 8, strong=True, narrow=True, acquires=True)
PASS = replace(WAIT, phase=1, waits=True, passes=True)
FAIL = replace(WAIT, acquires=False, waits=True)
USE_NEAR = replace(USE, thread=(0, 1))


def test_mbarrier_passes_on_what_the_arrivals_of_a_completed_phase_released() -> None:
    assert not racy(DATA, ARRIVE, PASS, USE_NEAR)
    assert racy(DATA, replace(ARRIVE, releases=False), PASS, USE_NEAR)
    assert racy(DATA, ARRIVE, replace(PASS, acquires=False), USE_NEAR)
    assert racy(ARRIVE, DATA, PASS, USE_NEAR)
    assert racy(DATA, ARRIVE, FAIL, USE_NEAR)


def test_wait_acquires_nothing_by_an_arrival_before_it() -> None:
    """The thread's own arrival reads what another one in the same phase wrote."""
    mine = replace(ARRIVE, thread=(0, 1), releases=False, phase=1)
    assert racy(DATA, replace(ARRIVE, phase=1), mine, PASS, USE_NEAR)
    assert not racy(DATA, ARRIVE, mine, PASS, USE_NEAR)


def test_mbarrier_does_not_pass_on_arrivals_of_the_next_phase() -> None:
    other = (0, 2)
    completes = replace(ARRIVE, thread=other)
    late = replace(ARRIVE, phase=1)
    assert racy(completes, DATA, late, PASS, USE_NEAR)
    assert not racy(completes, DATA, late, replace(PASS, phase=2), USE_NEAR)


def test_fences_order_around_relaxed_operations_of_an_mbarrier() -> None:
    arrive, wait = replace(ARRIVE, releases=False), replace(PASS, acquires=False)
    near = replace(FENCE, thread=(0, 1))
    assert not racy(DATA, FENCE, arrive, wait, near, USE_NEAR)
    assert racy(DATA, FENCE, arrive, wait, USE_NEAR)


def test_mbarrier_has_to_be_initialized_before_it_is_tested() -> None:
    init = replace(ARRIVE, kind=Kind.WRITE, strong=False, releases=False)
    assert racy(init, ARRIVE, PASS)
    group = "barrier"
    barrier = [
        Operation(kind, thread, group=group)
        for kind in (Kind.ARRIVE, Kind.LEAVE)
        for thread in (T, (0, 1))
    ]
    assert not racy(init, *barrier, ARRIVE, PASS)


def test_generated_kernels_depend_on_mbarriers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of them are free of races by nothing but their mbarriers."""
    monkeypatch.setattr(Execution, "_completed", lambda self, w, r: not self.ops[r].waits)
    kernels = [generate(seed) for seed in range(50_000, 50_400)]
    results = [compare(kernel) for kernel in kernels if kernel.is_pipeline]
    assert len(results) > 80
    assert sum(not r.agrees for r in results) > 3


def test_volatile_load_that_waits_does_not_race_with_the_store_it_waits_for() -> None:
    store = Operation(Kind.WRITE, (0, 0), "s", 0, 4, volatile=True)
    load = Operation(Kind.READ, (0, 32), "s", 0, 4, strong=True, volatile=True, awaits=True)
    assert not racy(store, load)
    assert racy(store, replace(load, strong=False, awaits=False))
    assert racy(replace(store, volatile=False), load)
