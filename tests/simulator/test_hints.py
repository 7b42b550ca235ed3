"""The hints of findings that are no races name the line and the numbers to change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.launch import Finding
from grader.simulator.diagnose.library_calls import in_library
from grader.simulator.diagnose.mbarriers import with_first_hints
from tests.simulator.test_watch import WATCH, trace

HINTS = {
    "mbarriers/count_less_than_arrivals": "arrive in each phase: 64, if each of these does",
    "mbarriers/count_more_than_arrivals": "Line 21 initializes it with a count of 33. Pass",
    "mbarriers/pipeline_counts_readers_only": "arrive in each phase: 96, if each of these does",
    "timeout/waits_for_its_own_variable": "No other thread can change a local variable",
    "timeout/flag_never_set": "Let a thread write `flag`, or leave the loop",
    "timeout/lock_held_at_a_warp_barrier": "pass `mutex` on, as a lock is freed, before line 9",
    "timeout/grid_barrier_missed_by_a_block": "`arrived` is written in line 10, and no thread that "
    "remains comes there. Where all blocks wait for each other, let each of them come there",
    "orders/freed_while_another_reads": "Use the memory only before line 8 frees it.",
    "barrier/passed_by_after_a_break": "Line 8 leads past it: let all threads take that way",
    "barrier/passed_by_before_a_break": "Line 10 leads past it: let all threads take that way",
    "timeout/flag_written_before": "`ready` is written in line 6, and no thread that remains",
    "race/compare_and_swap_read_plainly": "atomicCAS confirms the value that line 5 reads",
    "race/swap_retried_with_a_plain_read": "Go on with the value that atomicCAS returned",
    "memory_model/first_read_kept_after_swaps": "but the value is used otherwise, too",
}


@pytest.mark.parametrize("name", HINTS)
def test_first_hint_says_what_to_change(name: str) -> None:
    kind = {"timeout"} if name.startswith("timeout/") else set()
    every = trace(WATCH / f"{name}.cu").findings
    found = next(f for f in every if not kind or f.kind in kind)
    assert HINTS[name] in found.hint, (found.message, found.hint)


MESSAGES = {
    "timeout/waits_for_its_own_variable": "the local variable `go` of its own thread, which is 0",
    "timeout/flag_never_set": "`flag[0]`, which is 0, and no line of the kernel writes it",
    "timeout/flag_written_before": "deadlock: ",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_endless_loop_is_no_deadlock_where_no_thread_could_end_it(name: str) -> None:
    assert MESSAGES[name] in trace(WATCH / f"{name}.cu").findings[0].message


ELEMENTS = {
    "uninitialized/arrays_of_one_name": "`s[1][0]`",
    "uninitialized/lengths_of_one_name": "`s[32]`",
    "uninitialized/array_and_scalar_of_one_name": "`s`",
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_element_has_the_shape_of_the_kernel_that_ran(name: str) -> None:
    found = trace(WATCH / f"{name}.cu").findings[0]
    assert ELEMENTS[name] in found.message, found.message


WITHOUT_GRID_BARRIERS = ("timeout/flag_written_before", "orders/warps_lock_crosswise")


@pytest.mark.parametrize("name", WITHOUT_GRID_BARRIERS)
def test_hint_names_no_barrier_of_the_grid_where_there_is_none(name: str) -> None:
    assert "grid" not in trace(WATCH / f"{name}.cu").findings[0].hint


def test_second_of_two_waits_in_a_deadlock_does_not_repeat_the_hint() -> None:
    first = Finding("timeout", "error", "", line=25, variable="empty", hint="Wait for parity 1.")
    kept, second = with_first_hints([first, replace(first, line=29, variable="full")])
    assert kept == first
    assert second.hint.startswith("Correct the wait for `empty` in line 25 first")


def test_wait_for_the_wrong_parity_is_named_by_all_that_follows_from_it() -> None:
    findings = trace(WATCH / "mbarriers/empty_waited_for_first.cu").findings
    assert [f.line for f in findings] == [25, 29]
    assert all(f.hint.startswith("Line 25 waits for the parity of another") for f in findings)


def test_wait_that_follows_from_a_misused_mbarrier_has_its_hint() -> None:
    wait = Finding("timeout", "error", "", variable="full", hint="Pass 64.", follows=1)
    misused = Finding("barrier-divergence", "error", "", variable="full", hint="Arrive once.")
    assert [f.hint for f in with_first_hints([wait, misused])] == ["Arrive once."] * 2
    for other in (replace(misused, variable="empty"), replace(wait, follows=0)):
        assert [f.hint for f in with_first_hints([replace(wait, follows=0), other])][
            0
        ] == "Pass 64."


CALLS = [
    ("uninitialized_copy_single", "Sort(s).Sort(v);", "the library function `Sort`"),
    ("block_scan.cuh", "Scan(u.sc).InclusiveSum(v);", "the library function `InclusiveSum`"),
    ("reduce_impl", "s = cg::reduce(w, v, cg::plus<int>());", "the library function `reduce`"),
    ("move", "bar.wait(cuda::std::move(token));", "the library function `move`"),
    ("mma_sync", "wmma::mma_sync(f, a, b, f);", "the library function `mma_sync`"),
    ("block_load.cuh", "LOAD(x, k);", "the header block_load.cuh"),
]


@pytest.mark.parametrize(("via", "line", "named"), CALLS)
def test_a_finding_names_the_function_that_the_line_calls(via: str, line: str, named: str) -> None:
    assert in_library("a race", via, line) == f"a race, in {named}"
    assert in_library("a race", "", line) == "a race"


def test_deadlock_follows_from_arrivals_over_the_count() -> None:
    found = trace(WATCH / "barrier/filled_before_it_is_empty.cu").findings
    arrivals, deadlock = (f for f in found if f.kind == "barrier-divergence")
    assert "arrivals at a barrier" in arrivals.message and not arrivals.follows
    assert "deadlock" in deadlock.message and deadlock.follows == 1
