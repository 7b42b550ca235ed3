"""Which of two conflicting accesses the program meant to come first.

Two accesses of one phase have no order; the schedule that ran them says nothing. The program
text does: if the read can be reached from the write without crossing a barrier, and not the
other way round, the barrier that is missing belongs between them in that order.
"""

from __future__ import annotations

from grader.sim.decode import Decoded, Image
from grader.sim.flow import BARRIER, BRANCH, EXIT, RETURN, TABLE, TRAP


class ProgramOrder:
    """Reachability between instructions of one image, barriers not crossed."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.block_of: dict[int, tuple[int, int]] = {}
        for number, function in enumerate(image.functions):
            for k, block in enumerate(function.blocks):
                for pc in {code.pc for code in block.codes}:
                    self.block_of[pc] = (number, k)

    def follows(self, first: int, then: int) -> bool:
        """Whether `then` can run after `first` with no barrier between them."""
        a, b = self.block_of.get(first), self.block_of.get(then)
        if a is None or b is None or a[0] != b[0]:
            return False
        if a == b and then > first:
            return True
        function = self.image.functions[a[0]]
        seen: set[int] = set()
        work = _successors(function, a[1])
        while work:
            k = work.pop()
            if k in seen:
                continue
            seen.add(k)
            work += _successors(function, k)
        return b[1] in seen

    def hazard(self, write: int, read: int) -> str:
        """RAW or WAR, from the program's text; RAW when both orders are possible."""
        return "WAR" if self.follows(read, write) and not self.follows(write, read) else "RAW"


def _successors(function: Decoded, k: int) -> list[int]:
    block = function.blocks[k]
    kind = block.end.kind
    if kind == BARRIER:
        return []
    out = [block.target] if kind == BRANCH else list(block.table) if kind == TABLE else []
    if block.end.guard or kind not in (BRANCH, TABLE, RETURN, EXIT, TRAP):
        out.append(block.next)
    return out
