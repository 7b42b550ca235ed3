"""Registers that some path reads before any write, by a forward dataflow over a function.

A local variable without an initial value is such a register in `-G` PTX: where a path does not
assign it, the compiler writes nothing. Whether a launch takes that path, shadow.py finds out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.sim.ptx import Function, Instruction

_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
BRANCHES = frozenset(("bra", "brx", "ret", "exit", "trap"))
_NO_TARGET = frozenset((*BRANCHES, "st", "red", "call", "bar", "barrier", "cp", "nanosleep"))


def targets(i: Instruction) -> list[str]:
    """The names that an instruction writes: one, `p|q` or the elements of a vector."""
    if not i.operands or i.operands[0].startswith("["):
        return []
    parts = i.op.split(".")
    if parts[0] in _NO_TARGET and not (parts[0] in ("bar", "barrier") and "red" in parts):
        return []
    return _NAME.findall(i.operands[0])


def sources(i: Instruction) -> list[str]:
    """The names that an instruction reads, its guard's not among them."""
    read = i.operands[1:] if targets(i) else i.operands
    return _NAME.findall(" ".join(read))


@dataclass(slots=True)
class _Block:
    """Straight-line code: the registers that it writes whatever its guards, those that it reads
    before, and where it may go on. Sets of registers are bits of a number."""

    first: int
    writes: int = 0
    reads: int = 0
    next: tuple[int, ...] = ()
    entered: int = 0


def unwritten(f: Function) -> frozenset[str]:
    """The registers of `f` that a path from its entry reads before any write."""
    bits = {name: 1 << k for k, name in enumerate(f.registers)}
    blocks = _blocks(f)
    for block, end in zip(blocks, [b.first for b in blocks[1:]] + [len(f.body)], strict=True):
        _scan(block, f.body[block.first : end], bits)
    if not blocks:
        return frozenset()
    blocks[0].entered = everything = _union(b.reads for b in blocks)
    work = [0]
    seen = {0}
    while work:
        block = blocks[work.pop()]
        left = block.entered & ~block.writes & everything
        for number in block.next:
            if number not in seen or left & ~blocks[number].entered:
                seen.add(number)
                blocks[number].entered |= left
                work.append(number)
    found = _union(b.reads & b.entered for b in blocks)
    return frozenset(name for name, bit in bits.items() if found & bit)


def _union(sets: Iterator[int]) -> int:
    out = 0
    for bits in sets:
        out |= bits
    return out


def _scan(block: _Block, body: Sequence[Instruction], bits: dict[str, int]) -> None:
    for i in body:
        names = sources(i)
        if i.guard is not None:
            names.append(i.guard[0])
        for name in names:
            block.reads |= bits.get(name, 0) & ~block.writes
        if i.guard is None:
            for name in targets(i):
                block.writes |= bits.get(name, 0)


def _blocks(f: Function) -> list[_Block]:
    """The basic blocks of a body, with their successors."""
    starts = {at for at in f.labels.values() if at < len(f.body)}
    ends = {at for at, i in enumerate(f.body) if i.op.split(".")[0] in BRANCHES}
    starts |= {at + 1 for at in ends if at + 1 < len(f.body)}
    blocks = [_Block(at) for at in sorted(starts | ({0} if f.body else set()))]
    number = {block.first: k for k, block in enumerate(blocks)}
    for k, block in enumerate(blocks):
        last = (blocks[k + 1].first if k + 1 < len(blocks) else len(f.body)) - 1
        after = [last + 1] if last not in ends or f.body[last].guard else []
        after += [f.labels[name] for name in _jumps(f, f.body[last]) if name in f.labels]
        block.next = tuple(number[at] for at in after if at in number)
    return blocks


def _jumps(f: Function, i: Instruction) -> list[str]:
    kind = i.op.split(".")[0]
    if kind == "bra":
        return i.operands[:1]
    return f.tables.get(i.operands[1], []) if kind == "brx" and len(i.operands) > 1 else []
