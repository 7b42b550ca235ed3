"""Which basic blocks a branch decides about, and which are behind a barrier.

A branch decides about those between it and where all its ways meet.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader import dataclass
from grader.simulator.core.run import Raw
from grader.simulator.decode.blocks import reachable, successors
from grader.simulator.decode.control_flow import BARRIER, CALL
from grader.simulator.decode.module import Decoded, Image
from grader.simulator.ptx.source_map import is_copy


def block_of(functions: Sequence[Decoded]) -> dict[int, tuple[int, int]]:
    """By program counter of a decoded instruction, the numbers of its function and its block."""
    return {
        pc: (number, k)
        for number, function in enumerate(functions)
        for k, block in enumerate(function.blocks)
        for pc in (*(insn.pc for insn in block.insns), block.end.pc)
    }


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
