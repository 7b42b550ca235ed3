"""Order the basic blocks of a function, and merge those that always run one after the other.

The order in which a warp prefers its blocks is topological on the graph of loops: every loop is
contiguous, its exits follow it, and the same holds inside a loop without the edges to its header.
A warp that always runs the lowest block with active lanes then reconverges where the paths join.

`-G` code has many labels that only the line above reaches. A block with a single successor, of
which it is the single predecessor, is merged with it: no lanes can take another way.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.simulator.decode.control_flow import (
    BRANCH,
    CALL,
    EXIT,
    FALL,
    RETURN,
    TABLE,
    TRAP,
    Block,
)

MAX_NESTING = 64
"""Nested loops whose blocks are ordered, so that the order takes linear time on any graph. Below
that depth, blocks stay as they are; no program is written so."""

_CLOCKS = ("mov_clock32", "mov_clock64")


def preferred_order(successors: Sequence[Sequence[int]], entry: int = 0) -> list[int]:
    """The nodes reachable from `entry`: loops are contiguous, and their exits follow them."""
    order: list[int] = []
    work: list[tuple[list[int], int, frozenset[int]]] = [
        (reachable(successors, entry), entry, frozenset())
    ]
    while work:
        nodes, header, cut = work.pop()
        if len(nodes) == 1:
            order.append(nodes[0])
            continue
        components = _components(successors, nodes, header, set(nodes), cut)
        heads = _headers(successors, nodes, components)
        for number, component in enumerate(components):  # sinks first: the first ends on top
            if len(component) == 1:
                work.append((component, component[0], cut))
                continue
            head = header if header in component else heads.get(number, min(component))
            if len(cut) == MAX_NESTING:
                work += [([n], n, cut) for n in reversed(_from(component, head))]
            else:
                work.append((_from(component, head), head, cut | {head}))
    return order


def reachable(successors: Sequence[Sequence[int]], entry: int) -> list[int]:
    """The nodes that are reachable from `entry`, itself first."""
    visited, stack = {entry: None}, [entry]
    while stack:
        for s in successors[stack.pop()]:
            if s not in visited:
                visited[s] = None
                stack.append(s)
    return list(visited)


def _from(component: list[int], head: int) -> list[int]:
    return [head, *(n for n in component if n != head)]


def _headers(
    successors: Sequence[Sequence[int]], nodes: list[int], components: list[list[int]]
) -> dict[int, int]:
    """The header of each loop, by its number: the first node that another component enters."""
    number_of = {node: number for number, nodes in enumerate(components) for node in nodes}
    heads: dict[int, int] = {}
    for node in sorted(nodes):
        for s in successors[node]:
            number = number_of.get(s)
            if number is not None and number != number_of[node]:
                heads.setdefault(number, s)
    return heads


def _components(
    successors: Sequence[Sequence[int]],
    nodes: list[int],
    entry: int,
    inside: set[int],
    cut: frozenset[int],
) -> list[list[int]]:
    """The strongly connected components without edges into `cut`, sinks first (Tarjan)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    out: list[list[int]] = []
    for root in [entry, *nodes]:
        if root in index:
            continue
        work: list[tuple[int, int]] = [(root, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for k, s in enumerate(successors[node][at:], at):
                if s not in inside or s in cut:
                    continue
                if s not in index:
                    work += [(node, k + 1), (s, 0)]
                    break
                if s in on_stack:
                    low[node] = min(low[node], index[s])
            else:
                _close(node, work, index, low, stack, on_stack, out)
    return out


def _close(
    node: int,
    work: list[tuple[int, int]],
    index: dict[int, int],
    low: dict[int, int],
    stack: list[int],
    on_stack: set[int],
    out: list[list[int]],
) -> None:
    """Finish a node of Tarjan's algorithm; append its component when it is the root."""
    if work:
        parent = work[-1][0]
        low[parent] = min(low[parent], low[node])
    if low[node] != index[node]:
        return
    component = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        component.append(member)
        if member == node:
            break
    out.append(component)


def merge_chains(blocks: list[Block]) -> list[Block]:
    """Merge each chain of blocks into one.

    Returns the blocks in their order, renumbered; the first is the entry. The `steps` of the parts
    add up, so that a chain costs as much as its parts.
    """
    follow = _followers(blocks)
    absorbed = set(follow.values())
    kept = [n for n in range(len(blocks)) if n not in absorbed]
    renumber: dict[int, int] = {}
    out = []
    for number, n in enumerate(kept):
        chain = [n]
        while chain[-1] in follow:
            chain.append(follow[chain[-1]])
        renumber[n] = number
        out.append(_joined([blocks[k] for k in chain]))
    for block in out:
        block.next = renumber.get(block.next, 0)
        block.target = renumber.get(block.target, 0)
        block.table = [renumber[t] for t in block.table]
    return out


def successors(block: Block) -> list[int]:
    """The blocks that lanes can go to from the end of a block; of a call, the return site."""
    kind = block.end.kind
    out = [block.target] if kind == BRANCH else list(block.table) if kind == TABLE else []
    if block.end.guard or kind not in (BRANCH, TABLE, RETURN, EXIT, TRAP):
        out.append(block.next)
    return out


def _followers(blocks: list[Block]) -> dict[int, int]:
    """The block that each block is merged with. The entry has no predecessor in a chain."""
    entered = [0] * len(blocks)
    for block in blocks:
        for s in successors(block):
            entered[s] += 1
    follow: dict[int, int] = {}
    for n, block in enumerate(blocks):
        if block.end.kind not in (FALL, BRANCH) or block.end.guard:
            continue
        (then,) = successors(block)
        if then in (0, n) or entered[then] > 1 or _must_not_merge(block, blocks[then]):
            continue
        follow[n] = then
    return follow


def _must_not_merge(first: Block, then: Block) -> bool:
    """Whether two blocks must remain apart.

    An indirect call is executed again for its other targets, alone. Two reads of a clock within
    one block would measure no time.
    """
    if then.end.kind == CALL and then.end.call is not None and then.end.call.callee is None:
        return True
    return any(insn.exec in _CLOCKS for insn in (*first.insns, *then.insns))


def _joined(chain: list[Block]) -> Block:
    last = chain[-1]
    insns = [insn for block in chain for insn in block.insns]
    steps = sum(block.steps for block in chain)
    return Block(insns, last.end, last.next, last.target, last.table, steps)
