"""The hint of a race: a barrier where one is missing, an atomic where none can help."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from grader.checks.findings import MISSING_BARRIER
from grader.simulator.core.bindings import ACCESS
from grader.simulator.records import Conflicts
from tests.simulator.test_watch import KERNELS, WATCH, trace

NEXT_ITERATION = (
    "Put __syncthreads() after line {}, before the next iteration of the loop reaches line {}."
)
HINTS = {
    "loop_tile_in_function": ("s", "WAR", NEXT_ITERATION.format(12, 10)),
    "loop_without_second_barrier": ("s", "WAR", NEXT_ITERATION.format(10, 8)),
    "bitonic_without_barrier": ("s", "RAW", NEXT_ITERATION.format(11, 11)),
    "warp_sum_without_first_sync": ("s", "WAR", "Put __syncwarp() between line 9 and line 10."),
    "helpers_without_barrier": ("s", "RAW", "Put __syncthreads() between line 12 and line 13."),
    "warp_sum_in_branches": ("s", "RAW", "Put __syncwarp() between line 6 and line 8."),
    "ring_writer_without_acquire": ("ring", "WAR", "Use memory_order_acquire in line 13."),
    "ring_reader_without_release": ("ring", "WAR", "Use memory_order_release in line 21."),
    "writer_lock_without_acquire": ("data", "WAR", "Call __threadfence() after line 7."),
    "exchange_lock_without_orders": (
        "sum",
        "RAW",
        "Use memory_order_acquire in line 7, and use memory_order_release in line 9.",
    ),
    "second_of_two_arrays": ("Bs", "RAW", "Put __syncthreads() between line 7 and line 9."),
    "warp_leaders_add_plainly": ("sum", "WAR", "Use one atomic, such as atomicAdd"),
    "shared_histogram_plain": ("bins", "WAR", "Use one atomic, such as atomicAdd"),
    "fence_of_the_block_only": ("part", "RAW", "__threadfence()"),
    "named_barriers": ("s", "RAW", "Put the statement of line 7 after line 8. A run with that"),
    "lock_of_the_block": ("data", "RAW", "Call atomicCAS instead of atomicCAS_block there"),
    "acquire_of_the_block": ("data", "RAW", "Line 4 orders the threads of one block"),
    "release_of_the_block": ("data", "RAW", "Use `.gpu` there, and this race ends too."),
    "semaphore_of_the_block": ("total", "RAW", "Access an object of `thread_scope_device` there"),
    "block_scope_atomics": ("bins", "WAW", "atomicAdd instead of atomicAdd_block"),
    "if_and_else_access_it": (
        "s",
        "RAW",
        "Put __syncthreads() between two `if` statements: the first with the branch of line 7",
    ),
    "if_of_some_threads_around_both": ("s", "RAW", "but outside the branch of line 6,"),
    "if_of_the_block_around_both": ("s", "RAW", "Put __syncthreads() between line 7 and line 8."),
    "atomic_maximum_read_plainly": ("m", "WAR", "Read it with an atomic too"),
    "loop_without_barriers": (
        "s",
        "RAW",
        "Put __syncthreads() between line 9 and line 10, and after line 10, before the next",
    ),
    "library_memory_of_two_warps": ("memory", "WAW", "Give each warp or block"),
    "condition_reads_it": ("m", "WAR", "Put __syncthreads() before the `if` of line 8,"),
    "row_read_by_other_threads_than_wait": (
        "x",
        "WAR",
        "Let them all wait: put __syncthreads() after line 6.",
    ),
    "semaphore_released_early": ("acc", "WAW", "put __syncthreads() before line 16. A run with"),
    "semaphore_read_relaxed": ("acc", "RAW", "Line 8 waits for another thread without acquire"),
    "fixup_signaled_by_one_thread": (
        "part",
        "RAW",
        "The thread in line 10 signals other blocks while threads of its own may not have executed "
        "line 23. Let them all arrive first: put __syncthreads() before line 24.",
    ),
    "fixup_awaited_by_one_thread": (
        "part",
        "RAW",
        "The thread in line 5 waits for other blocks while threads of its own go on to line 27. "
        "Let them all wait: put __syncthreads() after line 26.",
    ),
    "grid_barrier_entered_early": ("a", "RAW", "put __syncthreads() before line 4. A run with"),
    "grid_barrier_left_early": ("a", "RAW", "put __syncthreads() after line 14. A run with"),
    "last_block_drawn_early": ("part", "RAW", "put __syncthreads() before line 8. A run with"),
    "buffer_read_after_its_arrival": ("buf", "WAR", "Put the statement of line 20 after line 21."),
    "mbarrier_given_back_early": ("buf", "WAR", "Put the statement of line 29 after line 30."),
    "stage_read_after_its_release": ("buf", "WAR", "Put the statement of line 24 after line 25."),
    "leaders_add_in_two_steps": ("count", "WAW", "Line 10 reads `count`, computes and writes it"),
    "queue_end_read_beside_draws": ("tail", "WAR", "Put __syncthreads() between line 11 and"),
    "shared_waw": ("s", "WAW", "Check the index"),
    "bins_added_between_blocks": ("out", "WAR", "Line 10 reads `out`, computes and writes it back"),
    "slot_checked_then_set": ("table", "RAW", "Use one atomic such as atomicCAS"),
    "update_beside_atomics": ("bins", "WAW", "Line 9 reads `bins`, computes and writes it back"),
    "block_lock_without_fence": (
        "sum",
        "RAW",
        "Line 12 signals another thread without release",
    ),
    "down_sweep_of_a_warp": ("s", "RAW", "Put __syncwarp() after line 16, before the next iter"),
    "odd_even_pairs": ("s", "RAW", "Put __syncwarp() after line 15, before the next iteration of"),
    "async_copy_without_barrier": ("s", "RAW", "after the wait for the copy of line 7 and before"),
    "flag_cleared_while_others_test_it": ("changed", "WAR", "at the start of the body of the loop"),
    "halo_without_barrier": ("line", "RAW", "Put __syncthreads() between line 10 and line 12."),
    "place_read_then_counted": ("n", "WAR", "Use the value that the atomic of line 8 returns"),
    "swap_of_a_plain_read_once": ("sum", "WAR", "until it returns the value that you passed"),
    "blocks_overwrite_what_others_read": ("a", "WAR", "Write the results to another array"),
    "checked_before_the_lock": ("ready", "WAR", "Test what an atomic returns: that of line 12"),
    "second_array_begins_in_the_first": ("raw", "WAW", "begin the second behind the last byte"),
}
NAMES = {
    "second_of_two_arrays": "`Bs[0][4]`",
    "warp_leaders_add_plainly": "`sum`",
    "loop_tile_in_function": "`s[31]`",
}


def kernel(name: str) -> Path:
    """The incorrect kernel of a name."""
    return next(p for p in KERNELS if p.stem == name and p.parent.name in ("race", "memory_model"))


@pytest.mark.parametrize("name", HINTS)
def test_race_hint_names_the_missing_barrier_or_atomic(name: str) -> None:
    variable, hazard, words = HINTS[name]
    findings = trace(kernel(name)).findings
    hints = [f.hint for f in findings if (f.variable, f.hazard) == (variable, hazard)]
    assert any(words in hint for hint in hints), hints


@pytest.mark.parametrize("name", NAMES)
def test_race_message_names_the_element_as_declared(name: str) -> None:
    findings = trace(kernel(name)).findings
    assert any(NAMES[name] in f.message for f in findings), [f.message for f in findings]


ORDER = {
    "second_of_two_arrays": ("Bs", "Threads read `Bs` before other threads have written it."),
    "loop_without_second_barrier": (
        "s",
        "Threads overwrite `s` before other threads have read it.",
    ),
}


@pytest.mark.parametrize("name", ORDER)
def test_race_hint_begins_with_what_goes_wrong(name: str) -> None:
    variable, words = ORDER[name]
    races = [f for f in trace(WATCH / "race" / f"{name}.cu").findings if f.variable == variable]
    assert any(f.hint.startswith(words) and MISSING_BARRIER.search(f.hint) for f in races), races


def test_a_hint_without_a_place_for_a_barrier_names_none() -> None:
    races = trace(WATCH / "race" / "shared_histogram_plain.cu").findings
    assert races and not any(MISSING_BARRIER.search(f.hint) for f in races)


@pytest.mark.parametrize("name", ["lock_of_the_block", "acquire_of_the_block"])
def test_race_of_a_block_scope_comes_before_what_it_leaves_unordered(name: str) -> None:
    findings = trace(kernel(name)).findings
    assert [f.variable for f in findings[:2]] == ["flag", "data"]
    assert [f.follows > 0 for f in findings] == [False] + [True] * (len(findings) - 1)


def test_fence_that_orders_a_race_by_chance_is_no_fix() -> None:
    """One order has a block write after another reads: a fence behind its wait shows nothing."""
    found = trace(WATCH / "race/partials_of_the_next_round.cu").findings
    assert found and not any("A run with that does not" in f.hint for f in found), found


Access = tuple[int, int, int, int, int, int, int, int]
WHO = ("at", "bytes", "block", "thread", "phase", "space", "buffer", "pc")
ACCESSES = st.lists(
    st.tuples(
        st.integers(0, 40) | st.integers(2**40, 2**40 + 9),
        st.sampled_from([1, 2, 4, 8, 16]),
        st.integers(0, 2),
        st.integers(0, 99),
        *[st.integers(0, 1)] * 3,
        st.integers(0, 2),
    ),
    max_size=30,
)


def meet(accesses: list[Access], places: tuple[int, int], *, block: bool) -> bool:
    """Whether several warps of a block, or blocks, access one word in both places, word by word."""
    found: list[dict[Any, set[int]]] = [defaultdict(set), defaultdict(set)]
    for place, words in zip(places, found, strict=True):
        for at, bytes_, number, thread, *among, pc in accesses:
            for word in range(at // 4, (at + bytes_ - 1) // 4 + 1) if pc == place else ():
                key = word, *among, number if block else 0
                words[key].add(thread // 32 if block else number)
    first, then = found
    return any(len(first[word] | then[word]) > 1 for word in first.keys() & then.keys())


@settings(max_examples=400, derandomize=True, deadline=None)
@given(ACCESSES, st.tuples(st.integers(0, 2), st.integers(0, 2)), st.booleans())
def test_threads_that_conflict_are_those_of_one_word(
    accesses: list[Access], places: tuple[int, int], block: bool
) -> None:
    table: NDArray[np.void] = np.zeros(len(accesses), ACCESS)
    for k, name in enumerate(WHO):
        table[name] = [access[k] for access in accesses]
    conflicts = object.__new__(Conflicts)
    conflicts.__dict__["accesses"] = table
    report: Any = SimpleNamespace(pc=places[0], pc2=places[1])
    assert conflicts._meet(report, block=block) == meet(accesses, places, block=block)
