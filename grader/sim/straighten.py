"""Basic blocks that always run one after the other become one.

`-G` code is full of labels that nothing but the line above reaches: a block that only one other
leads to, and that is all it leads to, needs no look at which lanes go where.
"""

from __future__ import annotations

from grader.sim.flow import BRANCH, CALL, EXIT, FALL, RETURN, TABLE, TRAP, Block

_CLOCKS = ("mov_clock32", "mov_clock64")


def straightened(blocks: list[Block]) -> list[Block]:
    """A function's blocks with each such chain as one, in their order, renumbered; the first is
    the entry. `steps` of the parts add up, so that a chain costs what its parts did."""
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
    """The blocks that lanes can go to from here; of a call, where they come back."""
    kind = block.end.kind
    out = [block.target] if kind == BRANCH else list(block.table) if kind == TABLE else []
    if block.end.guard or kind not in (BRANCH, TABLE, RETURN, EXIT, TRAP):
        out.append(block.next)
    return out


def _followers(blocks: list[Block]) -> dict[int, int]:
    """Which block is absorbed by which. Chains that bite their tail keep the entry out."""
    entered = [0] * len(blocks)
    for block in blocks:
        for s in successors(block):
            entered[s] += 1
    follow: dict[int, int] = {}
    for n, block in enumerate(blocks):
        if block.end.kind not in (FALL, BRANCH) or block.end.guard:
            continue
        (then,) = successors(block)
        if then in (0, n) or entered[then] > 1 or _stands_alone(block, blocks[then]):
            continue
        follow[n] = then
    return follow


def _stands_alone(first: Block, then: Block) -> bool:
    """An indirect call is executed again for its other targets, alone; two looks at a clock on
    one step would see no time pass."""
    if then.end.kind == CALL and then.end.call is not None and then.end.call.callee is None:
        return True
    return any(code.exec in _CLOCKS for code in (*first.codes, *then.codes))


def _joined(chain: list[Block]) -> Block:
    last = chain[-1]
    codes = [code for block in chain for code in block.codes]
    steps = sum(block.steps for block in chain)
    return Block(codes, last.end, last.next, last.target, last.table, steps)
