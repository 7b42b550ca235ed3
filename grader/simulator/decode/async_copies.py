"""Decode asynchronous copies and mbarriers, and find the tests of these that nothing repeats."""

from __future__ import annotations

from collections.abc import Mapping

from grader import regex
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.instructions import Insn, Known, NotSimulated
from grader.simulator.decode.memory import (
    GLOBAL,
    RELAXED,
    SHARED,
    base_of,
    space_of,
    without_effect,
)
from grader.simulator.decode.operands import OperandError, Operands, wrap64
from grader.simulator.decode.stack import users_of
from grader.simulator.ptx.constants import integer
from grader.simulator.ptx.flow import successors_of
from grader.simulator.ptx.model import Function

_INIT, _INVALIDATE, _ARRIVE, _DROP, _EXPECT, _ARRIVE_EXPECT, _COMPLETE, _TEST, _TEST_PARITY = range(
    9
)
_OPERATIONS = {
    "init": _INIT,
    "inval": _INVALIDATE,
    "arrive": _ARRIVE,
    "arrive_drop": _DROP,
    "expect_tx": _EXPECT,
    "complete_tx": _COMPLETE,
}
_SIZES = {"ca": (4, 8, 16), "cg": (16,)}


def op_cp(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode cp.async.{ca,cg}.shared.global, .commit_group, .wait_group and .wait_all.

    Also cp.async.bulk from global to shared memory, with an mbarrier, and from shared to global
    memory, with .commit_group and .wait_group of its own.
    """
    parts = op.split(".")
    if parts[:4] == ["cp", "async", "mbarrier", "arrive"]:
        insn = _mbarrier(parts, operands[0], o, _ARRIVE)
        zero = "noinc" not in parts
        insn.exec, insn.flag, insn.c = "cp_async_mbarrier_arrive", int(zero), o.source("0", 4)
        return [insn]
    if parts[1:5] == ["async", "bulk", "prefetch", "L2"]:
        return without_effect(op, operands, o, known)
    if parts[1:3] == ["async", "bulk"] and parts[3] in _BULK_GROUPS:
        left = integer(operands[0]) & 0xFFFFFFFF if operands else 0
        return [Insn("cp_async_bulk_group", imm=left, mode=int(parts[3] == "commit_group"))]
    if match := _BULK_OUT.match(op):
        return [_bulk_copy_out(operands[: 3 if match[1] is None else -1], o)]
    if parts[1] == "async" and "bulk" in parts:
        return [_bulk_copy(op, parts, operands, o)]
    if parts[1] != "async" or "reduce" in parts:
        raise NotSimulated(op)
    if parts[2] in ("commit_group", "wait_all"):
        return [Insn(f"cp_async_{parts[2]}")]
    if parts[2] == "wait_group":
        return [Insn("cp_async_wait_group", imm=integer(operands[0]) & 0xFFFFFFFF)]
    return [_copy(op, parts, operands, o)]


def _copy(op: str, parts: list[str], operands: list[str], o: Operands) -> Insn:
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
    return Insn(
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


_BULK = regex(
    r"cp\.async\.bulk\.shared::(?:cluster|cta)\.global\.mbarrier::complete_tx::bytes"
    r"(\.L2::cache_hint)?$"
)


def _bulk_copy(op: str, parts: list[str], operands: list[str], o: Operands) -> Insn:
    match = _BULK.match(op)
    if match is None:
        raise NotSimulated(op)
    to, source, size, barrier = operands[: 4 if match[1] is None else -1]
    addresses = [base_of(o, text, SHARED) for text in (to, source, barrier)]
    (a, a_add, _), (b, b_add, _), (e, e_add, _) = addresses
    mode = sum((width == 8) << k for k, (_, _, width) in enumerate(addresses))
    imm = wrap64((a_add & 0xFFFFFFFF) | (e_add & 0xFFFFFFFF) << 32)
    return Insn(
        "cp_async_bulk",
        b_add & 0xFFFFFFFF,
        a,
        b,
        o.source(size, 4),
        e,
        imm=imm,
        size=16,
        space=SHARED,
        mode=mode,
    )


_BULK_OUT = regex(r"cp\.async\.bulk\.global\.shared::cta\.bulk_group(\.L2::cache_hint)?$")
_BULK_GROUPS = ("commit_group", "wait_group")


def _bulk_copy_out(operands: list[str], o: Operands) -> Insn:
    to, source, size = operands
    addresses = [base_of(o, text, SHARED) for text in (to, source)]
    (a, a_add, _), (b, b_add, _) = addresses
    mode = sum((width == 8) << k for k, (_, _, width) in enumerate(addresses))
    return Insn(
        "cp_async_bulk_out",
        b_add & 0xFFFFFFFF,
        a,
        b,
        o.source(size, 4),
        imm=a_add,
        size=16,
        space=GLOBAL,
        mode=mode,
    )


def op_mbarrier(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode an instruction of an mbarrier object."""
    parts = op.split(".")
    if parts[1] == "pending_count":
        return [
            Insn("mbarrier_pending_count", o.register(operands[0], 4), o.source(operands[1], 8))
        ]
    if parts[1] in ("test_wait", "try_wait"):
        parity = "parity" in parts
        insn = _mbarrier(parts, operands[1], o, _TEST_PARITY if parity else _TEST)
        insn.d, insn.b = o.predicate(operands[0]), o.source(operands[2], 4 if parity else 8)
        insn.flag = RELAXED * ("relaxed" in parts)
        return [insn]
    if parts[1] not in _OPERATIONS:
        raise NotSimulated(op)
    token = not operands[0].startswith("[")
    where, *count = operands[1:] if token else operands
    operation = _OPERATIONS[parts[1]]
    if operation in (_ARRIVE, _DROP) and "expect_tx" in parts:
        if operation == _DROP:
            raise NotSimulated(op)
        operation = _ARRIVE_EXPECT
    insn = _mbarrier(parts, where, o, operation)
    if token and operands[0] != "_":
        insn.d, insn.count = o.register(operands[0], 8), 1
    if count:
        insn.c, insn.flag = o.source(count[0], 4), 1
    is_arrival = operation in (_ARRIVE, _DROP, _ARRIVE_EXPECT)
    insn.flag |= RELAXED * ("relaxed" in parts or not is_arrival)
    return [insn]


def _mbarrier(parts: list[str], where: str, o: Operands, operation: int) -> Insn:
    space = space_of(parts)
    a, add, width = base_of(o, where, space)
    return Insn("mbarrier", a=a, e=operation, imm=add, size=8, space=space, mode=width)


_MOST_TESTS = 16


def unheeded_tests(f: Function) -> list[int]:
    """The tests of an mbarrier, by index, that may find its phase incomplete and are not repeated.

    A loop that ends for another reason too, as after some rounds, is none that waits.
    """
    tests = [
        at
        for at, i in enumerate(f.body)
        if i.op.startswith(("mbarrier.test_wait", "mbarrier.try_wait"))
    ]
    users = users_of(f) if tests else {}
    return [
        at for k, at in enumerate(tests) if k >= _MOST_TESTS or not _repeats_until(f, at, users)
    ]


def _repeats_until(f: Function, start: int, users: Mapping[str, list[int]]) -> bool:
    """Whether a loop repeats an instruction, and only what that gives decides when it ends."""
    before: dict[int, list[int]] = {}
    work = [start]
    while work:
        at = work.pop()
        for then in successors_of(f, at):
            if then not in before and then < len(f.body):
                work.append(then)
            before.setdefault(then, []).append(at)
    loop, work = set[int](), [start]
    while work:
        new = [x for x in before.get(work.pop(), ()) if x not in loop]
        loop.update(new)
        work += new
    given = _made_of_alone(f, start, users)
    exits = [f.body[at] for at in loop if not loop.issuperset(successors_of(f, at))]
    return bool(loop) and all(i.guard is not None and i.guard[0] in given for i in exits)


def _made_of_alone(f: Function, start: int, users: Mapping[str, list[int]]) -> set[str]:
    """The registers that an instruction writes, and those computed of nothing else."""
    work = [*targets(f.body[start])]
    given = set(work)
    while work:
        for at in users.get(work.pop(), ()):
            i = f.body[at]
            names = [x for x in sources(i) if x.startswith("%") or x in users]
            if given.issuperset(names):
                new = [x for x in targets(i) if x not in given]
                given.update(new)
                work += new
    return given
