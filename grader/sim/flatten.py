"""An image as the core's flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.fault import MachineFault
from grader.sim import core as c
from grader.sim.decode import Image
from grader.sim.flow import Block, Call
from grader.sim.opcode import Code


@dataclass(frozen=True)
class Arrays:
    """The image as the core's arrays."""

    insns: NDArray[np.void]
    blocks: NDArray[np.void]
    functions: NDArray[np.void]
    calls: NDArray[np.void]
    copies: NDArray[np.void]
    tables: NDArray[np.uint32]


def flatten(image: Image, core: c.Core) -> Arrays:
    """The arrays of an image, instructions bound to the core's functions."""
    return _Flattening(image, core).arrays()


class _Flattening:
    def __init__(self, image: Image, core: c.Core) -> None:
        self.core = core
        self.insns: list[tuple[int, ...]] = []
        self.blocks: list[tuple[int, ...]] = []
        self.functions: list[tuple[int, ...]] = []
        self.calls: list[tuple[int, ...]] = []
        self.copies: list[tuple[int, int, int]] = []
        self.tables: list[int] = []
        self.numbers = {f.name: k for k, f in enumerate(image.functions)}
        for f in image.functions:
            sizes = (len(self.blocks), len(f.blocks), f.registers, f.local, f.params)
            self.functions.append(sizes)
            for block in f.blocks:
                self.add(block)

    def add(self, block: Block) -> None:
        first, end, index = len(self.insns), block.end, 0
        self.insns += [flattened(code, self.core) for code in block.codes]
        if end.table:
            index = len(self.tables)
            self.tables += block.table
        if end.call is not None:
            index = self.call(end.call)
        where = (first, len(self.insns), end.kind, block.next, block.target)
        operands = (end.a, end.b, end.c, end.d)
        guard = (end.guard, end.negate, max(end.pc, 0))
        self.blocks.append((*where, *guard, *operands, index, end.flag, block.steps))

    def call(self, call: Call) -> int:
        """A call site's number."""
        into = len(self.copies)
        self.copies += call.inputs
        back = len(self.copies)
        self.copies += call.outputs
        callee = 0 if call.callee is None else self.numbers[call.callee]
        copies = (into, len(call.inputs), back, len(call.outputs))
        self.calls.append((callee, call.callee is None, call.needs, *copies, call.quiet))
        return len(self.calls) - 1

    def arrays(self) -> Arrays:
        return Arrays(
            np.array(self.insns, c.INSN) if self.insns else np.zeros(1, c.INSN),
            np.array(self.blocks, c.BLOCK),
            np.array(self.functions, c.FUNCTION),
            np.array([*self.calls, (0,) * 8], c.CALL),
            np.array([*self.copies, (0, 0, 0)], c.COPY),
            np.array([*self.tables, 0], np.uint32),
        )


def flattened(code: Code, core: c.Core) -> tuple[int, ...]:
    """One instruction as the core's Insn, bound to its function. Raises MachineFault."""
    imm = code.imm if not code.inner else core.address(code.inner) or 0
    at = core.address(code.exec)
    if at is None:
        raise MachineFault(
            f"{core.path.name} was built from other sources: it has no {code.exec}",
            mend="run: make clean, then make demo",
        )
    return (
        at,
        code.d,
        code.a,
        code.b,
        code.c,
        code.e,
        code.guard,
        code.negate,
        code.pc,
        imm,
        code.size,
        code.count,
        code.space,
        code.width,
        code.flag,
        code.mode,
    )
