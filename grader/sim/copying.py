"""Decoding asynchronous copies from global to shared memory: cp.async and its groups."""

from __future__ import annotations

from grader.sim.access import SHARED, base_of
from grader.sim.opcode import Code, Known, NotSimulated
from grader.sim.operands import OperandError, Operands, integer

_SIZES = {"ca": (4, 8, 16), "cg": (16,)}


def op_cp(op: str, operands: list[str], o: Operands, known: Known) -> list[Code]:
    """cp.async.{ca,cg}.shared.global, .commit_group, .wait_group, .wait_all."""
    parts = op.split(".")
    if parts[1] != "async" or {"bulk", "reduce", "mbarrier"} & set(parts):
        raise NotSimulated(op)
    if parts[2] in ("commit_group", "wait_all"):
        return [Code(f"cp_async_{parts[2]}")]
    if parts[2] == "wait_group":
        return [Code("cp_async_wait_group", imm=integer(operands[0]) & 0xFFFFFFFF)]
    return [_copy(op, parts, operands, o)]


def _copy(op: str, parts: list[str], operands: list[str], o: Operands) -> Code:
    to, source, size, *more = operands
    size_bytes = integer(size)
    if parts[2] not in _SIZES or size_bytes not in _SIZES[parts[2]]:
        raise OperandError(f"{op} of {size} bytes")
    a, a_add, a_width = base_of(o, to, SHARED)
    b, b_add, b_width = base_of(o, source, SHARED)
    partial = bool(more) and not any(p.startswith("L2::cache_hint") for p in parts)
    partial = partial or len(more) > 1
    if partial and more[0] in o.registers.predicates:
        raise NotSimulated(f"{op} with an ignore-src predicate")
    return Code(
        "cp_async",
        a=a,
        b=b,
        c=o.source(more[0], 4) if partial else 0,
        e=b_add & 0xFFFFFFFF,
        imm=a_add,
        size=size_bytes,
        count=1,
        space=SHARED,
        flag=int(partial),
        mode=a_width | b_width << 4,
    )
