"""The sentences of a race: which hazard, on what, and where a barrier is missing if one helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.launch import Finding, Other, Severity
from grader.sim.reported import (
    ACROSS_BLOCKS,
    ATOMIC,
    BLOCK_SCOPE,
    IN_FLIGHT,
    OTHER_ATOMIC,
    OTHER_STORE,
    SAME_INSTRUCTION,
    SAME_VALUE,
    STORE,
    WITHIN_WARP,
    Report,
)

Access = Literal["read", "write", "atomic"]
_HAZARDS = {"RAW": "read-after-write", "WAR": "write-after-read", "WAW": "write-after-write"}


NAMED = "a bar.sync of all threads that touch it, writers and readers,"
"""Where only some threads of a block come, __syncthreads() would wait for ever."""


@dataclass(frozen=True)
class Gap:
    """Two lines with a barrier missing between them; `round`: the second one comes in the next
    round of a loop; `named`: the kernel has barriers of some of a block's threads."""

    first: int
    then: int
    round: bool
    named: bool = False


def hazards(r: Report, hazard: str, gap: Gap | None, *, strays: bool = False) -> Finding:
    """A race: two accesses that nothing orders; `gap` is None where no barrier can; `strays`: one
    of them also leaves the array, from other threads."""
    own, other = (
        access_word(r.has(STORE), r.has(ATOMIC)),
        access_word(r.has(OTHER_STORE), r.has(OTHER_ATOMIC)),
    )
    severity: Severity = (
        "info" if r.has(SAME_VALUE) else "warning" if r.has(SAME_INSTRUCTION) else "error"
    )
    what = f"{_HAZARDS[hazard]} hazard on {r.target.space} `{r.target.element}`"
    if r.has(SAME_VALUE):
        what += " (the same value)"
    elif r.has(SAME_INSTRUCTION):
        what += ": lanes of one warp write one address at once, and any of them may win"
    elif r.has(IN_FLIGHT):
        what += ": the asynchronous copy to it is still on its way"
    elif r.has(WITHIN_WARP):
        what += " within a warp (warp-level programming)"
    elif r.has(ACROSS_BLOCKS):
        what += " between two blocks"
    hint = _cure(r, hazard, gap, strays)
    partner = Other(r.line2, r.thread2, r.block2, other)
    return Finding(
        "race",
        severity,
        what,
        space=r.target.space,
        hazard=hazard,
        access=own,
        variable=r.target.name,
        other=partner,
        hint=hint,
    )


def _cure(r: Report, hazard: str, gap: Gap | None, strays: bool) -> str:
    if r.has(IN_FLIGHT):
        return (
            "wait for the copy (__pipeline_wait_prior, cp.async.wait_group), then let "
            f"__syncthreads() follow, before line {r.line} touches it"
        )
    if r.has(BLOCK_SCOPE):
        return (
            "an atomic of the block's scope is one for its own block only: use the plain form "
            "(atomicAdd, not atomicAdd_block; thread_scope_device)"
        )
    if hazard == "WAW" and (gap is None or r.has(ACROSS_BLOCKS)) and r.target.remark:
        return r.target.remark
    if hazard == "WAW" and (gap is None or r.has(ACROSS_BLOCKS)) and strays:
        return (
            f"line {r.line} also leaves `{r.target.name}`: mend that first. A thread with no "
            "element of its own must not store (a guard), and an index that runs past its row "
            "meets another thread's element; an atomic would hide it"
        )
    if r.has(ACROSS_BLOCKS) and hazard == "RAW":
        return (
            "no barrier orders blocks: read it in a second launch, or after an atomic that tells "
            "of the write and that the writer's __threadfence() comes before"
        )
    if r.has(ACROSS_BLOCKS):
        return (
            "no barrier orders blocks: let each element be written by one block only, "
            "or update it with an atomic such as atomicAdd"
        )
    if hazard == "WAW" and (gap is None or r.has(SAME_INSTRUCTION)):
        return (
            "two threads write one element: check the index, or let one thread write, "
            "or use an atomic"
        )
    if gap is None:
        return (
            "several threads update one element at once, and no barrier can order them: use an "
            "atomic such as atomicAdd, or give each thread an element of its own"
        )
    missing = _barrier(r, hazard, gap)
    if hazard == "WAW":
        return f"two threads write one element: check the index, or put {missing}"
    return f"no barrier orders them: put {missing}"


def _barrier(r: Report, hazard: str, gap: Gap) -> str:
    """The barrier that is missing, and where."""
    whole = NAMED if gap.named else "__syncthreads()"
    barrier = "__syncwarp()" if r.has(WITHIN_WARP) else whole
    first, then = gap.first, gap.then
    if first < then:
        return f"{barrier} between line {first} and line {then}"
    if first == then and not gap.round:
        what = {"RAW": "the write and the read", "WAR": "the read and the write"}
        return f"{barrier} between {what.get(hazard, 'the two writes')} of line {first}"
    return f"{barrier} after line {first}, before the next round of the loop comes to line {then}"


def access_word(store: bool, atomic: bool) -> Access:
    """How a message calls an access."""
    return "atomic" if atomic else "write" if store else "read"
