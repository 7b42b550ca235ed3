"""Explain races with asynchronous copies: what does not wait for a copy, or what a copy overwrites.

The core says in `extra` of a report why a copy is still in flight (enum Missing of
core/watch/copies.c): the low bits are the reason, the others a number that belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader import regex, replace
from grader.launch import Finding
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.barrier_hints import barrier_advice
from grader.simulator.diagnose.places import Gap
from grader.simulator.diagnose.races import (
    IN_FLIGHT,
    NO_PROXY_FENCE,
    OTHER_STORE,
    STORE,
    WITHIN_WARP,
    Report,
    subject,
)

_COPY_CALL = regex(r"(\bcuda\s*::\s*)?\bmemcpy_async\s*[<(]")
"""A call of a library, with `cuda::` or of another namespace."""
WHY_BITS = 3
(
    _NO_WAIT,
    NOT_COMMITTED,
    GROUP_LEFT,
    _PHASE_NOT_AWAITED,
    _EARLIER_PHASE,
    _OTHERS_WAITED,
    _READ_NOT_AWAITED,
) = range(7)


def tracking_barrier(r: Report) -> int | None:
    """The offset in shared memory of the mbarrier that completes a copy in flight, if one does."""
    why = r.extra & ((1 << WHY_BITS) - 1)
    tracked = r.has(IN_FLIGHT) and _PHASE_NOT_AWAITED <= why <= _OTHERS_WAITED
    return r.extra >> WHY_BITS if tracked else None


def not_awaited_by(r: Report) -> int | None:
    """The offset of the mbarrier of a copy that a thread reads, if no thread has waited."""
    why = r.extra & ((1 << WHY_BITS) - 1)
    return tracking_barrier(r) if why == _PHASE_NOT_AWAITED and not r.has(STORE) else None


def wait_hint(
    r: Report, reports: Sequence[Report], barrier: str, statement: str, *, bulk: bool, copies: bool
) -> str:
    """The fix of an access to the memory of a copy in flight.

    Args:
        r: the report; its partner is the copy.
        reports: all reports of the run.
        barrier: the variable that holds the mbarrier which completes it; empty without a name.
        statement: the text of the copy's line.
        bulk: whether it is a bulk copy, which nothing else completes.
        copies: whether the access is a copy, too.
    """
    why, number = r.extra & ((1 << WHY_BITS) - 1), r.extra >> WHY_BITS
    copy, access = r.line2, r.line
    read = any(x.has(IN_FLIGHT) and x.pc2 == r.pc2 and not x.has(STORE) for x in reports)
    if copies and r.has(STORE) and r.has(OTHER_STORE) and not read:
        other = "an earlier one" if r.line == copy else f"that of line {copy}"
        return (
            f"The copy of line {r.line} writes {subject(r)} while {other} to the same place "
            "is in flight: more copies have started than there are buffers. Start fewer copies "
            "before the wait, or use more buffers."
        )
    if why == _READ_NOT_AWAITED:
        return (
            "Let the thread that copies commit its group (cp.async.bulk.commit_group) and wait "
            "until it has read (cp.async.bulk.wait_group.read 0), and put __syncthreads() behind "
            f"the wait, before line {access} writes."
        )
    if why == NOT_COMMITTED:
        return (
            "The wait covers committed copies only. Commit this copy (__pipeline_commit(), "
            f"producer_commit(), cp.async.commit_group) between line {copy} and the wait."
        )
    if (library := _library_wait(statement, why, number, access)) is not None:
        return library
    if why == GROUP_LEFT:
        return (
            "The wait lets the newest groups of copies stay in flight, and this copy is in one of "
            f"them. Let it leave at most {number}: __pipeline_wait_prior({number}), or "
            f"cp.async.wait_group {number}."
        )
    if why in (_PHASE_NOT_AWAITED, _EARLIER_PHASE, _OTHERS_WAITED):
        return _phase_hint(why, f"`{barrier}`" if barrier else "its mbarrier", access, bulk=bulk)
    if number:
        return (
            f"Commit the copy of line {copy} (__pipeline_commit(), producer_commit(), "
            "cp.async.commit_group) and wait for it (__pipeline_wait_prior(0), consumer_wait(), "
            f"cp.async.wait_group 0), and then call __syncthreads(), before line {access} accesses "
            "it."
        )
    return (
        "Wait for the copy with __pipeline_wait_prior or cp.async.wait_group, and then call "
        f"__syncthreads(), before line {access} accesses it."
    )


def _phase_hint(why: int, name: str, access: int, *, bulk: bool) -> str:
    """The fix where the mbarrier `name` completes the copy that the line `access` accesses."""
    if why == _PHASE_NOT_AWAITED:
        only = " Barriers of the block and cp.async.wait_group do not wait for it." * bulk
        return (
            f"The end of a phase of {name} completes this copy. Wait for that phase (wait() of "
            "cuda::barrier, consumer_wait() of cuda::pipeline, mbarrier.try_wait) before line "
            f"{access} accesses it.{only}"
        )
    if why == _EARLIER_PHASE:
        return (
            f"The wait before line {access} is for an earlier phase of {name} than the one in "
            "which this copy counts. Wait with the token or parity of that phase, and let the "
            "phase expect the bytes of all its copies (expect_tx), before its last arrival."
        )
    return (
        f"Other threads have waited for the copy, and this one does not follow them. Let each "
        f"thread that accesses it wait for {name}, or put __syncthreads() after the wait."
    )


def _library_wait(text: str, why: int, number: int, access: int) -> str | None:
    """The fix of a wait for groups, in the words of the library that the copy's line calls."""
    if why not in (_NO_WAIT, GROUP_LEFT) or not (call := _COPY_CALL.search(text)):
        return None
    if call[1]:  # cuda::
        return (
            "Call consumer_wait() of the pipeline once for each stage, before the stage is read, "
            f"and consumer_release() after it: each call waits for the oldest stage. Line {access} "
            "accesses a stage that no call has waited for."
        )
    wait = f"wait_prior<{number}>(group)" if why == GROUP_LEFT and number else "wait(group)"
    return (
        f"Call cooperative_groups::{wait}, which waits for the copy and is a barrier of the group, "
        f"before line {access} accesses it: sync() of the group alone does not wait for copies."
    )


def without_proxy_fence(r: Report, finding: Finding) -> Finding:
    """The finding of a bulk copy to or from what an ordinary store wrote."""
    what = "overwrites it" if r.has(STORE) else "reads it"
    return replace(
        finding,
        message=f"{finding.message}: a bulk copy {what} by the asynchronous proxy, and no "
        "fence.proxy.async orders the ordinary store before it",
        hint="Put `cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);` after line "
        f"{r.line2}, in each thread that writes, and before the barrier after which one thread "
        "copies.",
    )


def without_library_copies(reports: list[Report], text: Callable[[int], str]) -> list[Report]:
    """The reports without proxy fences that are missing before `cuda::memcpy_async`.

    Whether it makes a bulk copy is the library's choice, which its callers need not know.

    Args:
        reports: the reports.
        text: the text of a line of the source.
    """
    return [r for r in reports if not (r.has(NO_PROXY_FENCE) and _COPY_CALL.search(text(r.line)))]


def overwriting_hint(r: Report, gap: Gap) -> str:
    """The fix of a copy that starts while other threads may still read what it overwrites."""
    advice = barrier_advice(gap, "WAR", warp=r.has(WITHIN_WARP))
    return (
        f"The copy overwrites {subject(r)} before other threads have read it. {advice} Or let the "
        "readers arrive at an mbarrier, and the thread that copies wait for it before each copy."
    )


def arrival_hint(r: Report) -> str:
    """The fix of a read of what other threads copied, and waited for themselves alone."""
    barrier = "__syncwarp()" if r.has(WITHIN_WARP) else "__syncthreads()"
    return (
        f"Threads read what other threads copy to {subject(r)}, and a thread waits for its own "
        f"copies only. Put {barrier} after the wait for the copy of line {r.line2} and before line "
        f"{r.line}."
    )


def without_doubles(reports: list[Report], follows: Callable[[int, int], bool]) -> list[Report]:
    """The reports without races that are those of a copy in flight once more.

    The vector clocks know a copy as accesses of the thread that starts it, and what is read before
    it completes as read before these. Where a barrier is between the read and the next copy, only
    the wait is missing.

    Args:
        reports: the reports.
        follows: whether one instruction can run after another with no barrier between them.
    """
    known = {(r.pc, r.pc2) for r in reports if r.kind == c.RACE and r.has(IN_FLIGHT)}

    def is_double(r: Report) -> bool:
        if r.kind != c.RACE or r.has(IN_FLIGHT):
            return False
        return (r.pc, r.pc2) in known or ((r.pc2, r.pc) in known and not follows(r.pc2, r.pc))

    return [r for r in reports if not is_double(r)]


def is_overwriting(r: Report, op: str) -> bool:
    """Whether a race is a copy, with opcode `op`, over what another thread read before.

    What threads read after it is a copy in flight, so the other order is another report.
    """
    return r.kind == c.RACE and not r.has(IN_FLIGHT) and op.startswith("cp.async") and r.has(STORE)


def is_awaited_in_vain(r: Report, race: Report) -> bool:
    """Whether a copy that one report finds in flight is the one of a race with the same access.

    No barrier is between that access and the next copy: a thread that has passed the wait already
    may start it, and waiting for it would not help.
    """
    if not (r.kind == race.kind == c.RACE and r.has(IN_FLIGHT)) or race.has(IN_FLIGHT):
        return False
    return (race.pc2, race.pc) == (r.pc, r.pc2)


def is_copied_over(read: Report, r: Report) -> bool:
    """Whether an access writes over a copy in flight that another one reads."""
    both = read.kind == r.kind == c.RACE and read.has(IN_FLIGHT) and r.has(IN_FLIGHT)
    return both and read.pc2 == r.pc2 and r.has(STORE) and not read.has(STORE)
