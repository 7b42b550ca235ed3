"""Decoding asynchronous copies (cp.async and its groups) and the mbarriers that wait for them."""

from __future__ import annotations

from grader.sim.access import SHARED, base_of, space_of
from grader.sim.opcode import Code, Known, NotSimulated
from grader.sim.operands import OperandError, Operands, integer

_INIT, _INVALIDATE, _ARRIVE, _DROP, _TEST, _TEST_PARITY = range(6)
_OPERATIONS = {"init": _INIT, "inval": _INVALIDATE, "arrive": _ARRIVE, "arrive_drop": _DROP}
_SIZES = {"ca": (4, 8, 16), "cg": (16,)}


def op_cp(op: str, operands: list[str], o: Operands, known: Known) -> list[Code]:
    """cp.async.{ca,cg}.shared.global, .commit_group, .wait_group, .wait_all."""
    parts = op.split(".")
    if parts[:4] == ["cp", "async", "mbarrier", "arrive"]:
        code = _mbarrier(parts, operands[0], o, _ARRIVE)
        zero = "noinc" not in parts
        code.exec, code.flag, code.c = "cp_async_mbarrier_arrive", int(zero), o.source("0", 4)
        return [code]
    if parts[1] != "async" or {"bulk", "reduce"} & set(parts):
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


def op_mbarrier(op: str, operands: list[str], o: Operands, known: Known) -> list[Code]:
    """mbarrier.init, .inval, .arrive, .arrive_drop, .test_wait, .try_wait, .pending_count."""
    parts = op.split(".")
    if "expect_tx" in parts or "complete_tx" in parts:
        raise NotSimulated(op)
    if parts[1] == "pending_count":
        return [
            Code("mbarrier_pending_count", o.register(operands[0], 4), o.source(operands[1], 8))
        ]
    if parts[1] in ("test_wait", "try_wait"):
        parity = "parity" in parts
        code = _mbarrier(parts, operands[1], o, _TEST_PARITY if parity else _TEST)
        code.d, code.b = o.predicate(operands[0]), o.source(operands[2], 4 if parity else 8)
        return [code]
    if parts[1] not in _OPERATIONS:
        raise NotSimulated(op)
    token = not operands[0].startswith("[")
    where, *count = operands[1:] if token else operands
    code = _mbarrier(parts, where, o, _OPERATIONS[parts[1]])
    if token and operands[0] != "_":
        code.d, code.count = o.register(operands[0], 8), 1
    if count:
        code.c, code.flag = o.source(count[0], 4), 1
    return [code]


def _mbarrier(parts: list[str], where: str, o: Operands, operation: int) -> Code:
    space = space_of(parts)
    a, add, width = base_of(o, where, space)
    return Code("mbarrier", a=a, e=operation, imm=add, size=8, space=space, mode=width)
