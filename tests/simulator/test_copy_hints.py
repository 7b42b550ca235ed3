"""The hint of a race with an asynchronous copy: the wait that fits the copy, and what it lacks."""

from __future__ import annotations

import pytest

from tests.simulator.test_watch import WATCH, trace

HINTS = {
    "bulk_copy_group_wait": "Wait for that phase (wait() of cuda::barrier",
    "bulk_copy_after_warp_barrier": "Let each thread that accesses it wait for `bar`",
    "fewer_bytes_than_copied": "for an earlier phase of `bar`",
    "bulk_copy_source_written": "The end of a phase of `bar` completes this copy.",
    "bulk_copy_over_readers": "Put the statement of line 40 after line 41.",
    "group_synced_not_waited": "Call cooperative_groups::wait(group)",
    "copy_not_committed": "The wait of line 9 covers committed copies only.",
    "copy_of_the_newest_group": "Let it leave at most 0: __pipeline_wait_prior(0)",
    "tracked_copy_group_wait": "The end of a phase of `bar` completes this copy.",
}
NOT_FOR_BULK_COPIES = ("__pipeline_wait_prior", "__syncwarp")


def hints(name: str) -> list[str]:
    return [f.hint for f in trace(WATCH / "copies" / f"{name}.cu").findings if f.kind == "race"]


@pytest.mark.parametrize("name", HINTS)
def test_hint_names_the_wait_that_fits_the_copy(name: str) -> None:
    assert any(HINTS[name] in hint for hint in hints(name)), hints(name)


@pytest.mark.parametrize("name", ["bulk_copy_group_wait", "fewer_bytes_than_copied"])
def test_no_hint_for_a_bulk_copy_names_what_does_not_wait_for_it(name: str) -> None:
    wrong = [h for h in hints(name) if any(word in h for word in NOT_FOR_BULK_COPIES)]
    assert hints(name) and not wrong


def test_too_few_expected_bytes_are_named() -> None:
    findings = trace(WATCH / "copies" / "fewer_bytes_than_copied.cu").findings
    messages = [f.message for f in findings if f.kind == "barrier-divergence"]
    assert len(messages) == 1
    assert "bring 1,024 bytes" in messages[0] and "expect 512" in messages[0]


def test_a_copy_in_flight_is_one_finding() -> None:
    """The vector clocks know the copy as a store of its thread; that race is not reported again."""
    findings = trace(WATCH / "copies" / "bulk_copy_group_wait.cu").findings
    assert [f.count for f in findings] == [256]
