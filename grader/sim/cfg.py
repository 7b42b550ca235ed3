"""Basic blocks of a function, and the order in which a warp prefers them.

The order is topological on the graph of loops: every loop is contiguous, its exits follow it, and
inside a loop the same holds with the edges back to its header taken away. A warp that always
runs the lowest block with lanes then meets again where its lanes' paths join.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def preferred_order(successors: Sequence[Sequence[int]], entry: int = 0) -> list[int]:
    """The nodes reachable from `entry`, loops contiguous and exits after them."""
    order: list[int] = []
    work: list[tuple[list[int], int, frozenset[int]]] = [
        (reachable(successors, entry), entry, frozenset())
    ]
    while work:
        nodes, header, cut = work.pop()
        if len(nodes) == 1:
            order.append(nodes[0])
            continue
        inside = set(nodes)
        components = _components(successors, nodes, header, inside, cut)
        for component in components:  # sinks first, so the first of the order ends on top
            if len(component) == 1:
                work.append((component, component[0], cut))
                continue
            members = set(component)
            head = header if header in members else _header(successors, inside - members, component)
            work.append((_from(component, head), head, cut | {head}))
    return order


def reachable(successors: Sequence[Sequence[int]], entry: int) -> list[int]:
    """The nodes that `entry` leads to, itself first."""
    seen, stack = {entry: None}, [entry]
    while stack:
        for s in successors[stack.pop()]:
            if s not in seen:
                seen[s] = None
                stack.append(s)
    return list(seen)


def _from(component: list[int], head: int) -> list[int]:
    return [head, *(n for n in component if n != head)]


def _header(
    successors: Sequence[Sequence[int]], outside: Iterable[int], component: list[int]
) -> int:
    members = set(component)
    for node in outside:
        for s in successors[node]:
            if s in members:
                return s
    return min(component)


def _components(
    successors: Sequence[Sequence[int]],
    nodes: list[int],
    entry: int,
    inside: set[int],
    cut: frozenset[int],
) -> list[list[int]]:
    """Strongly connected components without edges into `cut`, sinks first (Tarjan)."""
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
