"""Which of two conflicting accesses the program meant to come first.

Two accesses of one phase have no order; the schedule that ran them says nothing. The program
text does: if the read can be reached from the write without crossing a barrier, and not the
other way round, the barrier that is missing belongs between them in that order. Paths go through
calls: into what is called, and from its returns to whatever called it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from grader.sim.cfg import reachable
from grader.sim.decode import Image
from grader.sim.flow import ALIGNED, ARRIVE, BARRIER, CALL, COUNTED, ORDERS, RETURN, WARPSYNC, Block
from grader.sim.straighten import successors

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
        `warp` no __syncwarp() either."""
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
