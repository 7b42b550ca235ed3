"""Which of two conflicting accesses the program meant to come first.

Two accesses of one phase have no order; the schedule that ran them says nothing. The program
text does: if the read can be reached from the write without crossing a barrier, and not the
other way round, the barrier that is missing belongs between them in that order.
"""

from __future__ import annotations

from grader.sim.decode import Decoded, Image
from grader.sim.flow import BARRIER
from grader.sim.straighten import successors


class ProgramOrder:
    """Reachability between instructions of one image, barriers not crossed."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.block_of: dict[int, tuple[int, int]] = {}
        self.place: dict[int, int] = {}
        for number, function in enumerate(image.functions):
            for k, block in enumerate(function.blocks):
                for place, code in enumerate(block.codes):
                    self.block_of[code.pc] = (number, k)
                    self.place[code.pc] = place

    def follows(self, first: int, then: int) -> bool:
        """Whether `then` can run after `first` with no barrier between them."""
        a, b = self.block_of.get(first), self.block_of.get(then)
        if a is None or b is None or a[0] != b[0]:
            return False
        if a == b and self.place[then] > self.place[first]:
            return True
        function = self.image.functions[a[0]]
        seen: set[int] = set()
        work = _passed(function, a[1])
        while work:
            k = work.pop()
            if k in seen:
                continue
            seen.add(k)
            work += _passed(function, k)
        return b[1] in seen

    def hazard(self, write: int, read: int) -> str:
        """RAW or WAR, from the program's text; RAW when both orders are possible."""
        return "WAR" if self.follows(read, write) and not self.follows(write, read) else "RAW"


def _passed(function: Decoded, k: int) -> list[int]:
    """Where lanes go on without a barrier."""
    block = function.blocks[k]
    return [] if block.end.kind == BARRIER else successors(block)
