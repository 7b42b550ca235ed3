"""Which basic blocks a branch decides about: those between it and where all its ways meet."""

from __future__ import annotations

from collections.abc import Sequence

from grader.simulator.decode.module import Decoded


def block_of(functions: Sequence[Decoded]) -> dict[int, tuple[int, int]]:
    """By program counter of a decoded instruction, the numbers of its function and its block."""
    return {
        pc: (number, k)
        for number, function in enumerate(functions)
        for k, block in enumerate(function.blocks)
        for pc in (*(insn.pc for insn in block.insns), block.end.pc)
    }


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
