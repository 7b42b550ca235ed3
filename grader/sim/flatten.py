"""An image as the core's flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.sim import core as c
from grader.sim.decode import Image
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
    insns: list[tuple[int, ...]] = []
    blocks: list[tuple[int, ...]] = []
    functions: list[tuple[int, ...]] = []
    calls: list[tuple[int, ...]] = []
    copies: list[tuple[int, int, int]] = []
    tables: list[int] = []
    numbers = {f.name: k for k, f in enumerate(image.functions)}
    for f in image.functions:
        functions.append((len(blocks), len(f.blocks), f.registers, f.local, f.params))
        for b in f.blocks:
            first = len(insns)
            insns += [_insn(code, core) for code in b.codes]
            end, index = b.end, 0
            if end.table:
                index = len(tables)
                tables += b.table
            if (call := end.call) is not None:
                index, into = len(calls), len(copies)
                copies += call.inputs
                back = len(copies)
                copies += call.outputs
                callee = 0 if call.callee is None else numbers[call.callee]
                calls.append(
                    (
                        callee,
                        call.callee is None,
                        call.needs,
                        into,
                        len(call.inputs),
                        back,
                        len(call.outputs),
                    )
                )
            blocks.append(
                (
                    first,
                    len(insns),
                    end.kind,
                    b.next,
                    b.target,
                    end.guard,
                    end.negate,
                    max(end.pc, 0),
                    end.a,
                    end.b,
                    end.c,
                    end.d,
                    index,
                    end.flag,
                )
            )
    return Arrays(
        np.array(insns, c.INSN) if insns else np.zeros(1, c.INSN),
        np.array(blocks, c.BLOCK),
        np.array(functions, c.FUNCTION),
        np.array([*calls, (0,) * 7], c.CALL),
        np.array([*copies, (0, 0, 0)], c.COPY),
        np.array([*tables, 0], np.uint32),
    )


def _insn(code: Code, core: c.Core) -> tuple[int, ...]:
    imm = code.imm if not code.inner else core.address(code.inner) or 0
    return (
        core.address(code.exec) or 0,
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
