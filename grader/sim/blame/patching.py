"""A kernel whose instructions can be exchanged one at a time, without decoding it anew."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.sim.blame.changes import Change
from grader.sim.blame.source import with_slots
from grader.sim.core import Core
from grader.sim.decode import decode
from grader.sim.flatten import flattened
from grader.sim.headers import attributed
from grader.sim.machine import Machine
from grader.sim.opcode import NotSimulated
from grader.sim.operands import OperandError
from grader.sim.ptx import Function, Module
from grader.sim.rules import plainly

Row = tuple[int, tuple[int, ...]]
"""A place among the core's instructions, and what is to stand there."""


@dataclass(frozen=True)
class Patch:
    """A change as the core's arrays have it: instructions, and the blocks whose guard is turned."""

    instructions: Sequence[Row]
    turned: Sequence[int]


class Patched:
    """A kernel for trials, decoded once."""

    def __init__(self, module: Module, kernel: str, core: Core) -> None:
        """Raises NotSimulated and PtxError as decoding does."""
        held = attributed(module, kernel)
        functions = {n: with_slots(f) if f.has_body else f for n, f in held.items()}
        module = replace(module, functions=functions)
        self.core = core
        self.image = decode(module, kernel, core.known, passes=False)
        self.machine = Machine(module, self.image)
        self.functions: list[Function] = [functions[f.name] for f in self.image.functions]
        self.number = {f.name: k for k, f in enumerate(self.functions)}
        self.first = [self.image.owner.index(k) for k in range(len(self.functions))]
        self.rows: dict[int, list[int]] = defaultdict(list)
        for at, pc in enumerate(self.machine.arrays.insns["pc"].tolist()):
            self.rows[pc].append(at)
        blocks = self.machine.arrays.blocks
        self.ends = {int(pc): at for at, pc in enumerate(blocks["pc"]) if blocks["guard"][at]}

    def counters(self, change: Change) -> Iterator[int]:
        """The program counters of what a change is about."""
        return (self.first[self.number[change.function]] + at for at, _ in change.edits)

    def patch(self, change: Change) -> Patch | None:
        """A change as the arrays have it; None for one that no instruction can make."""
        operands = self.image.functions[self.number[change.function]].operands
        rows: list[Row] = []
        turned = []
        for pc, (_, i) in zip(self.counters(change), change.edits, strict=True):
            if i.op.startswith("bra"):
                turned.append(self.ends.get(pc, -1))
                continue
            try:
                codes = plainly(i, operands, self.core.known, pc)
            except (NotSimulated, OperandError, ValueError, IndexError, KeyError, TypeError):
                return None
            if len(codes) != len(self.rows[pc]):
                return None
            changed = (flattened(code, self.core) for code in codes)
            rows += zip(self.rows[pc], changed, strict=True)
        return None if -1 in turned else Patch(rows, turned)

    def with_patch(self, patch: Patch) -> Machine:
        """The kernel with one change."""
        arrays = self.machine.arrays
        insns, blocks = arrays.insns.copy(), arrays.blocks.copy()
        for at, row in patch.instructions:
            insns[at] = row
        blocks["negate"][list(patch.turned)] ^= 1
        other = copy.copy(self.machine)
        other.arrays = replace(arrays, insns=insns, blocks=blocks)
        return other
