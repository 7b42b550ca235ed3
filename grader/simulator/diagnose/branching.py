"""Which basic blocks a branch decides about, which are behind a barrier, and which waits give up.

A branch decides about those between it and where all its ways meet.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from functools import cache, cached_property

from grader import dataclass
from grader.simulator.core.run import Raw
from grader.simulator.decode.blocks import reachable, successors
from grader.simulator.decode.control_flow import BARRIER, BRANCH, CALL, Block
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.memory import observes
from grader.simulator.decode.module import Decoded, Image
from grader.simulator.ptx.model import Instruction
from grader.simulator.ptx.source_map import is_copy

MOST_LOOKS, UNKNOWN_LOOKS = 1 << 20, 1 << 17
"""The most looks of a wait that gives up after so many, and those of one whose limit the code does
not say."""

_NUMBER = re.compile(r"-?\d+")
_BRANCHES = ("bra", "brx")
_EFFECTS = frozenset(("st", "red", "cp", "mbarrier"))


def block_of(functions: Sequence[Decoded]) -> dict[int, tuple[int, int]]:
    """By program counter of a decoded instruction, the numbers of its function and its block."""
    return {
        pc: (number, k)
        for number, function in enumerate(functions)
        for k, block in enumerate(function.blocks)
        for pc in (*(insn.pc for insn in block.insns), block.end.pc)
    }


class Control:
    """Which basic blocks of an image the branches on some registers decide about."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.number = {f.name: k for k, f in enumerate(image.functions)}
        self._ways = cache(self._ways_of)

    def controlled(self, names: Set[tuple[int, str]]) -> frozenset[tuple[int, int]]:
        """The blocks that branches decide about, those of the functions that these call included.

        Args:
            names: what the branches read, each with the number of its function.
        """
        found = set[tuple[int, int]]()
        for number, k, read in self._branches:
            if not names.isdisjoint(read):
                found |= {(number, b) for b in decided(*self._ways(number), k)}
        return frozenset(found | self._called_in(found))

    @cached_property
    def _branches(self) -> list[tuple[int, int, frozenset[tuple[int, str]]]]:
        """The blocks that end in branches, and what these read."""
        out = []
        for number, function in enumerate(self.image.functions):
            for k, block in enumerate(function.blocks):
                i = self.image.instructions[block.end.pc]
                if i.op.split(".")[0] in _BRANCHES:
                    guard = [i.guard[0]] if i.guard else []
                    read = frozenset((number, name) for name in (*guard, *sources(i)))
                    out.append((number, k, read))
        return out

    def _ways_of(self, number: int) -> tuple[list[list[int]], list[int]]:
        """The successors of a function's blocks, and where the ways from each of them meet."""
        after = [successors(b) for b in self.image.functions[number].blocks]
        return after, meetings(after)

    def _called_in(self, blocks: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        """The blocks of the functions that some blocks call, and that these call."""
        functions, found = self.image.functions, set[int]()
        work = [*blocks]
        while work:
            number, k = work.pop()
            call = functions[number].blocks[k].end.call
            if call and call.callee and (called := self.number[call.callee]) not in found:
                found.add(called)
                work += self._blocks_of(called)
        return {block for number in found for block in self._blocks_of(number)}

    def _blocks_of(self, number: int) -> list[tuple[int, int]]:
        return [(number, k) for k in range(len(self.image.functions[number].blocks))]


@dataclass(frozen=True)
class Behind:
    """What more lanes execute than the barrier that it is behind.

    Attributes:
        executed: the instructions.
        by_all: whether each lane executes some of them once, so that none has returned before.
    """

    executed: frozenset[int] = frozenset()
    by_all: bool = False


def behind_barrier(image: Image, raw: Raw, pc: int) -> Behind:
    """What is behind a barrier, and which more lanes executed than the barrier.

    Nothing for a barrier in a loop, which a thread may have reached in an earlier iteration. Where
    a header's function has the barrier, as `__syncthreads_count`, its only call stands for it.
    """
    pc, first = _call_of_header(image, pc), 0
    for function in image.functions:
        blocks = function.blocks
        lanes = raw.visit_lanes[first : first + len(blocks)]
        first += len(blocks)
        ends = [b.end.pc if b.end.kind in (BARRIER, CALL) else -1 for b in blocks]
        at = ends.index(pc) if pc in ends else -1
        after = [successors(b) for b in blocks]

        def in_loop(k: int, after: list[list[int]] = after) -> bool:
            return any(k in reachable(after, s) for s in after[k])

        if at >= 0 and not in_loop(at):
            onward = [[s for s in follow if s > k] for k, follow in enumerate(after)]
            more = [k for k in reachable(onward, at) if lanes[k] > lanes[at] and blocks[k].insns]
            once = [k for k in more if lanes[k] == lanes[0] and not in_loop(k)]
            executed = frozenset(insn.pc for k in more for insn in blocks[k].insns)
            return Behind(executed, bool(once) and first == len(blocks) and _is_debug(image))
    return Behind()


def _call_of_header(image: Image, pc: int) -> int:
    """The only call of a header's function with a barrier of the block; else the barrier."""
    name = image.functions[image.owner[pc]].name
    if not is_copy(name) or not image.ops[pc].startswith("bar") or "warp" in image.ops[pc]:
        return pc
    ends = (b.end for f in image.functions for b in f.blocks if b.end.kind == CALL)
    calls = [end.pc for end in ends if name in image.instructions[end.pc].operands]
    return calls[0] if len(calls) == 1 else pc


def _is_debug(image: Image) -> bool:
    """Whether an image is of `-G` code. The optimizer may join the ends of two ways."""
    return image.module is not None and ".debug_info" in image.module.sections


def decided(after: Sequence[Sequence[int]], meeting: Sequence[int], branch: int) -> set[int]:
    """The blocks between a branch and the first block that all its ways lead to.

    Args:
        after: the successors of each block.
        meeting: what `meetings` returns for these.
        branch: the block that ends with the branch.
    """
    found, work = set[int](), list(after[branch])
    while work:
        block = work.pop()
        if block not in found and block != meeting[branch]:
            found.add(block)
            work += after[block]
    return found


def meetings(after: Sequence[Sequence[int]]) -> list[int]:
    """For each block the first one that all ways from it lead to: its immediate postdominator.

    It is `len(after)` where the ways meet at the end of the function only, or never end.
    """
    end = len(after)
    before: list[list[int]] = [[] for _ in range(end + 1)]
    for k, follow in enumerate(after):
        for s in follow or [end]:
            before[s].append(k)
    order = list(reversed(_finished(before, end)))
    place = {block: k for k, block in enumerate(order)}
    found, changed = {end: end}, True
    while changed:
        changed = False
        for block in order[1:]:
            known = [s for s in after[block] or [end] if s in found]
            new = known[0]
            for other in known[1:]:
                while new != other:
                    if place[new] > place[other]:
                        new = found[new]
                    else:
                        other = found[other]
            changed |= found.get(block) != new
            found[block] = new
    return [found.get(k, end) for k in range(end)]


def _finished(after: Sequence[Sequence[int]], entry: int) -> list[int]:
    """The nodes reachable from one, each after those that a search finds from it first."""
    out, visited, stack = [], {entry}, [(entry, iter(after[entry]))]
    while stack:
        node, rest = stack[-1]
        new = next((s for s in rest if s not in visited), None)
        if new is None:
            out.append(node)
            stack.pop()
        else:
            visited.add(new)
            stack.append((new, iter(after[new])))
    return out


def limited_reads(image: Image) -> dict[int, int]:
    """The strong reads, by program counter, of waits that give up, and after how many looks.

    A loop without other effects repeats such a read, and a branch leaves it that a counter decides.
    """
    where, found = block_of(image.functions), dict[int, int]()
    for pc, op in enumerate(image.ops):
        if observes(op) and pc in where:
            number, block = where[pc]
            looks = _Wait(image, image.functions[number], block).looks()
            found.update({pc: min(looks, MOST_LOOKS)} if looks else {})
    return found


class _Wait:
    """The basic blocks that repeat a read without other effects, and what they compute."""

    def __init__(self, image: Image, function: Decoded, block: int) -> None:
        self.image, self.blocks = image, function.blocks
        after = [successors(b) for b in self.blocks]
        quiet = [not self.has_effect(b) for b in self.blocks]
        onward = [[s for s in then if quiet[s] and quiet[block]] for then in after]
        back: list[list[int]] = [[] for _ in after]
        for k, then in enumerate(onward):
            for s in then:
                back[s].append(k)
        ahead = {s for first in onward[block] for s in reachable(onward, first)}
        self.loop = ahead.intersection(reachable(back, block)) if block in ahead else set[int]()
        self.leaves = [
            self.blocks[k].end.pc
            for k in self.loop
            if self.blocks[k].end.kind == BRANCH and not self.loop.issuperset(after[k])
        ]
        self.made: dict[str, list[Instruction]] = {}
        for i in (i for k in self.loop for i in self.blocks[k].code):
            for name in targets(i):
                self.made.setdefault(name, []).append(i)

    @staticmethod
    def has_effect(b: Block) -> bool:
        """Whether a block does what others notice, or calls a function; a swap may fail."""
        heads = (i.op.split(".") for i in b.code)
        return b.end.kind in (BARRIER, CALL) or any(
            head in _EFFECTS and "local" not in parts for head, *parts in heads
        )

    def looks(self) -> int:
        """After how many looks the wait gives up; 0 for one that does not."""
        most = 0
        for pc in self.leaves:
            guard = self.image.instructions[pc].guard
            behind = self.behind(guard[0]) if guard else []
            counts = (i for i in behind if i.op.startswith(("add", "sub")))
            if any(i in self.behind(*sources(i)) for i in counts):
                most = max(most, self.limit(behind))
        return most

    def behind(self, *names: str) -> list[Instruction]:
        """What the loop computes some registers by; what it reads, it does not compute."""
        work, known, found = [*names], set(names), list[Instruction]()
        while work:
            for i in self.made.get(work.pop(), ()):
                if not i.op.startswith(("ld", "atom")):
                    found.append(i)
                    work += (new := set(sources(i)) - known)
                    known |= new
        return found

    def limit(self, behind: Sequence[Instruction]) -> int:
        """The largest number with which a count is compared, or that it begins at."""
        names = {name for i in behind for name in targets(i)}
        every = (i for b in self.blocks for i in b.code if i.op.startswith("mov"))
        begins = [i for i in every if names & set(targets(i))]
        tests = [i for i in behind if i.op.startswith("setp")]
        texts = (x for i in (*tests, *begins) for x in i.operands[1:] if _NUMBER.fullmatch(x))
        most = max((abs(int(x)) for x in texts), default=0)
        return most + 1 if most > 1 else UNKNOWN_LOOKS


def joined(
    image: Image, places: Mapping[int, tuple[int, int]], blocks: Container[tuple[int, int]],
    op: str = "",
) -> set[tuple[int, str, bool]]:  # fmt: skip
    """The registers that are set in some blocks, and otherwise elsewhere.

    Args:
        image: the code.
        places: by program counter, the numbers of its function and its block.
        blocks: the blocks, by these numbers.
        op: the instruction that sets them; empty for any.

    Returns each with its function, as a value of `Flow`.
    """
    inside, outside = set[tuple[int, str, bool]](), set[tuple[int, str, bool]]()
    for pc, i in enumerate(image.instructions):
        if op in ("", i.op):
            own = inside if places.get(pc, (-1, -1)) in blocks else outside
            own.update((image.owner[pc], name, True) for name in targets(i))
    return inside & outside
