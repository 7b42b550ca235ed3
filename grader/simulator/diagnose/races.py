"""Which of two conflicting accesses the program meant to come first.

Two accesses of one phase have no order; the schedule that ran them says nothing. The program
text does: if the read can be reached from the write without crossing a barrier, and not the
other way round, the barrier that is missing belongs between them in that order. Paths go through
calls: into what is called, and from its returns to whatever called it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from grader.launch import Finding, OtherAccess, Severity
from grader.simulator.decode.blocks import reachable, successors
from grader.simulator.decode.control_flow import (
    ALIGNED,
    ARRIVE,
    BARRIER,
    CALL,
    COUNTED,
    ORDERS,
    RETURN,
    WARPSYNC,
    Block,
)
from grader.simulator.decode.module import Image
from grader.simulator.diagnose.reports import (
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

# The sentences of a race: which hazard, on what, and where a barrier is missing if one helps.

Access = Literal["read", "write", "atomic"]
_HAZARDS = {"RAW": "read-after-write", "WAR": "write-after-read", "WAW": "write-after-write"}


NAMED = "a bar.sync of all threads that touch it, writers and readers,"
"""Where only some threads of a block come, __syncthreads() would wait for ever."""


@dataclass(frozen=True)
class Gap:
    """Two lines with a barrier missing between them; `round`: the second one comes in the next
    round of a loop; `named`: the kernel has barriers of some of a block's threads.
    """

    first: int
    then: int
    round: bool
    named: bool = False


def hazards(r: Report, hazard: str, gap: Gap | None, *, strays: bool = False) -> Finding:
    """A race: two accesses that nothing orders; `gap` is None where no barrier can; `strays`: one
    of them also leaves the array, from other threads.
    """
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
    partner = OtherAccess(r.line2, r.thread2, r.block2, other)
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


Place = tuple[int, int]
"""A function's number and a block's in it."""


class ProgramOrder:
    """Reachability between instructions of one image, barriers not crossed."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.number = {f.name: k for k, f in enumerate(image.functions)}
        self.block_of: dict[int, Place] = {}
        self.place: dict[int, int] = {}
        self.back: dict[int, list[Place]] = {}
        self.reached: dict[tuple[Place, bool], set[Place]] = {}
        for number, function in enumerate(image.functions):
            for k, block in enumerate(function.blocks):
                for place, code in enumerate(block.codes):
                    self.block_of[code.pc] = (number, k)
                    self.place[code.pc] = place
                if (callee := self.callee(block)) is not None:
                    self.back.setdefault(callee, []).append((number, block.next))

    @cached_property
    def named(self) -> bool:
        """Whether the code has barriers that only some threads of a block come to."""
        blocks = (block for f in self.image.functions for block in f.blocks)
        flags = [block.end.flag for block in blocks if block.end.kind == BARRIER]
        return any(flag & COUNTED or flag % ALIGNED == ARRIVE for flag in flags)

    def callee(self, block: Block) -> int | None:
        """The number of the function that a block ends with a call of, where the code names it."""
        call = block.end.call if block.end.kind == CALL else None
        return None if call is None or call.callee is None else self.number[call.callee]

    def follows(self, first: int, then: int, *, warp: bool = False) -> bool:
        """Whether `then` can run after `first` with no barrier between them; of two lanes of one
        `warp` no __syncwarp() either.
        """
        a, b = self.block_of.get(first), self.block_of.get(then)
        if a is None or b is None:
            return False
        if a == b and self.place[then] > self.place[first]:
            return True
        if (a, warp) not in self.reached:
            self.reached[a, warp] = self.reach(a, warp)
        return b in self.reached[a, warp]

    def reach(self, start: Place, warp: bool) -> set[Place]:
        """The blocks that lanes can come to from a block's end."""
        seen: set[Place] = set()
        work = [*self.passed(start, warp)]
        while work:
            place = work.pop()
            if place not in seen:
                seen.add(place)
                work += self.passed(place, warp)
        return seen

    def passed(self, place: Place, warp: bool) -> Iterator[Place]:
        """Where lanes go on without a barrier."""
        number, k = place
        block = self.image.functions[number].blocks[k]
        end, callee = block.end, self.callee(block)
        if end.kind == BARRIER or (warp and end.kind == WARPSYNC and end.flag & ORDERS):
            return
        if end.kind == RETURN:
            yield from self.back.get(number, [])
        if callee is not None:
            yield callee, 0
        if callee is None or end.guard:
            yield from ((number, then) for then in successors(block))

    def repeats(self, pc: int) -> bool:
        """Whether an instruction lies in a loop, or in a function that is called from one."""
        work = [self.block_of[pc]] if pc in self.block_of else []
        seen: set[Place] = set()
        while work:
            number, k = work.pop()
            after = [successors(block) for block in self.image.functions[number].blocks]
            if any(k in reachable(after, then) for then in after[k]):
                return True
            seen.add((number, k))
            work += [call for call in self.calls(number) if call not in seen]
        return False

    def calls(self, callee: int) -> Iterator[Place]:
        """The blocks that end with a call of a function, where the code names it."""
        for number, function in enumerate(self.image.functions):
            for k, block in enumerate(function.blocks):
                if self.callee(block) == callee:
                    yield number, k

    def hazard(self, write: int, read: int, *, warp: bool = False) -> str:
        """RAW or WAR, from the program's text; RAW when both orders are possible."""
        before = self.follows(read, write, warp=warp) and not self.follows(write, read, warp=warp)
        return "WAR" if before else "RAW"
