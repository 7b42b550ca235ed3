"""What makes machine instructions of a PTX instruction: `op_<name>` of the module that has it."""

from __future__ import annotations

from grader.sim import access, copying, opcode, sync, transfer
from grader.sim.opcode import Code, Known, NotSimulated
from grader.sim.operands import Operands
from grader.sim.ptx import Instruction


def plainly(i: Instruction, o: Operands, known: Known, pc: int) -> list[Code]:
    """What an instruction that is neither a call nor the end of a block becomes.

    Raises NotSimulated and what `Operands` raises."""
    name = f"op_{i.op.split('.')[0]}"
    rules = (getattr(module, name, None) for module in (opcode, access, transfer, sync, copying))
    rule = next((r for r in rules if r is not None), opcode.plain)
    return settled_codes(rule(i.op, i.operands, o, known), i, o, known, pc)


def settled_codes(
    codes: list[Code], i: Instruction, o: Operands, known: Known, pc: int
) -> list[Code]:
    """The codes with their program counter and their instruction's guard. Raises NotSimulated for
    one that the core does not have."""
    for code in codes:
        if not known(code.exec) or (code.inner and not known(code.inner)):
            raise NotSimulated(i.op)
        code.pc = pc
        if i.guard is not None:
            code.guard, code.negate = o.predicate(i.guard[0]) + 1, int(i.guard[1])
    return codes
