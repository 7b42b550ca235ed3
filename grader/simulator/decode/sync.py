"""Decode atomics and the instructions that the lanes of a warp execute together.

`strong_roles` returns what a function uses its strong loads for: to wait, or to get data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.instructions import Insn, Known, NotSimulated
from grader.simulator.decode.memory import (
    ACQUIRE,
    DATA_READ,
    RELEASE,
    WAITING,
    base_of,
    scope_of,
    space_of,
)
from grader.simulator.decode.operands import OperandError, Operands
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction, Location

ATOMICS = ("add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor")
SHUFFLES = ("up", "down", "bfly", "idx")
_TYPES = {"u": 0, "b": 0, "s": 1, "f": 2}
_FLOAT_TYPES = {"bf16": 3, "f16x2": 4, "bf16x2": 5}


def op_atom(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode an atomic that returns the old value."""
    return _atomic(op, operands[0], operands[1:], o)


def op_red(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a reduction: an atomic without a result."""
    if "async" in op:
        raise NotSimulated(op)
    return _atomic(op, "_", operands, o)


def _atomic(op: str, target: str, operands: list[str], o: Operands) -> list[Insn]:
    parts = op.split(".")
    kind = parts[-1]
    what = next((p for p in parts[1:] if p in ATOMICS), None)
    if (
        what is None
        or kind not in TYPE_BYTES
        or any(p.startswith("v") for p in parts[1:-1] if p[1:].isdigit())
    ):
        raise NotSimulated(op)
    if kind == "b128":
        raise NotSimulated(op)
    size = TYPE_BYTES[kind]
    width = max(size, 2)
    where, b, *rest = operands
    ref, add, mode = base_of(o, where, space_of(parts))
    kind_code = _FLOAT_TYPES.get(kind, _TYPES.get(kind[0], 0))
    if kind_code >= 2 and what not in ("add", "exch"):
        raise NotSimulated(op)
    flag = (RELEASE if {"release", "acq_rel"} & set(parts) else 0) | scope_of(parts)
    flag |= ACQUIRE if {"acquire", "acq_rel"} & set(parts) else 0
    returns = target != "_"
    d = o.register(target, width) if returns else 0
    if returns and o.width(target) != width:
        raise OperandError(f"{op} into {target}")
    c = o.source(rest[0], width) if rest else 0
    if what == "cas" and not rest:
        raise OperandError("cas without a new value")
    e = ATOMICS.index(what) | kind_code << 8 | int(returns) << 16
    return [
        Insn(
            "atom",
            d,
            ref,
            o.source(b, width),
            c,
            e,
            add,
            size,
            1,
            space_of(parts),
            width,
            flag,
            mode,
        )
    ]


def op_shfl(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a shuffle."""
    parts = op.split(".")
    mode = SHUFFLES.index(next(p for p in parts if p in SHUFFLES))
    d, _, p = operands[0].partition("|")
    a, b, c = (o.source(x, 4) for x in operands[1:4])
    has = bool(p) and p.strip() != "_"
    e = o.predicate(p.strip()) if has else 0
    insn = Insn("shfl_b32", o.register(d.strip(), 4), a, b, c, e, flag=int(has), mode=mode)
    if "sync" in parts:
        insn.imm = o.source(operands[4], 4) + 1
    return [insn]


def op_vote(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a vote."""
    parts = op.split(".")
    mode = ("all", "any", "uni", "ballot").index(
        next(p for p in parts if p in ("all", "any", "uni", "ballot"))
    )
    d = o.register(operands[0], 4) if mode == 3 else o.predicate(operands[0])
    source = operands[1]
    member = o.source(operands[2], 4) if len(operands) > 2 else o.source("0xffffffff", 4)
    return [
        Insn(
            "vote",
            d,
            o.predicate(source.lstrip("! ")),
            member,
            imm=int(source.startswith("!")),
            mode=mode,
        )
    ]


def op_match(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode match."""
    parts = op.split(".")
    width = TYPE_BYTES[parts[-1]]
    d, _, p = operands[0].partition("|")
    has = bool(p) and p.strip() != "_"
    e = o.predicate(p.strip()) if has else 0
    a, member = o.source(operands[1], width), o.source(operands[2], 4)
    return [
        Insn(
            "match",
            o.register(d.strip(), 4),
            a,
            member,
            e=e,
            width=width,
            flag=int(has),
            mode=int("all" in parts),
        )
    ]


def op_redux(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode redux: a reduction across lanes."""
    parts = op.split(".")
    modes = ("add", "min", "max", "and", "or", "xor")
    if parts[-1] not in ("u32", "s32", "b32"):
        raise NotSimulated(op)
    mode = modes.index(next(p for p in parts if p in modes))
    a, member = o.source(operands[1], 4), o.source(operands[2], 4)
    return [
        Insn(
            "redux", o.register(operands[0], 4), a, member, flag=int(parts[-1] == "s32"), mode=mode
        )
    ]


def op_elect(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode elect: the choice of one lane."""
    d, _, p = operands[0].partition("|")
    has = d.strip() != "_"
    target = o.register(d.strip(), 4) if has else 0
    return [
        Insn("elect", target, b=o.source(operands[1], 4), e=o.predicate(p.strip()), flag=int(has))
    ]


_STRONG = {"volatile", "relaxed", "acquire", "mmio"}
_EFFECTS = {"st", "red", "bar", "barrier", "call", "cp"}
"""What a loop that only waits does not contain."""


def strong_roles(f: Function, functions: Mapping[str, Function]) -> dict[int, int]:
    """Find what strong loads and atomics are for, and which stores store what such loads read.

    Returns the flags DATA_READ and WAITING of instructions by their index in the body. A load
    waits when a loop without other effects repeats it until its value allows to leave. The
    optimizer takes the first round out of such a loop: that load waits too.
    """
    waiting: set[tuple[str, Location]] = set()
    roles = _roles(f, functions, waiting)
    return _roles(f, functions, waiting) if waiting else roles


def _roles(
    f: Function, functions: Mapping[str, Function], waiting: set[tuple[str, Location]]
) -> dict[int, int]:
    """The roles, where loads that decide a branch and are in `waiting` wait; adds to `waiting`."""
    roles: dict[int, int] = {}
    users: dict[str, list[int]] | None = None
    for at, i in enumerate(f.body):
        parts = i.op.split(".")
        if not (parts[0] == "atom" or (parts[0] == "ld" and _STRONG & set(parts))):
            continue
        users = _users(f) if users is None else users
        values, stores = _reached(f, at, users)
        way = _loop(f, at, functions)
        if any(f.body[k].guard and f.body[k].guard[0] in values for k in way):  # type: ignore[index]
            roles[at] = WAITING
            waiting.add((i.op, i.location))
        elif (i.op, i.location) in waiting and any(
            x.guard and x.guard[0] in values for x in f.body
        ):
            roles[at] = WAITING
        elif stores and parts[0] == "ld":
            roles[at] = DATA_READ
            roles |= dict.fromkeys(stores, DATA_READ)
    return roles


def _users(f: Function) -> dict[str, list[int]]:
    """The instructions that read each register, and each place in the stack frame."""
    users: dict[str, list[int]] = {}
    for at, i in enumerate(f.body):
        slot = _stack_slot(i) if i.op.startswith("ld") else ""
        for name in [*sources(i), *([slot] if slot else [])]:
            users.setdefault(name, []).append(at)
    return users


def _stack_slot(i: Instruction) -> str:
    """The place in the function's own stack frame that a load or store accesses, or ""."""
    if i.op.split(".")[0] not in ("ld", "st") or len(i.operands) != 2:
        return ""
    where = i.operands[0 if i.op.startswith("st") else 1]
    return where if where.strip("[ ]").partition("+")[0] in ("%SP", "%SPL") else ""


def _reached(f: Function, start: int, users: dict[str, list[int]]) -> tuple[set[str], set[int]]:
    """The registers that get their values from a load's, and the stores of such values."""
    work = targets(f.body[start])
    values, stores = set(work), set()
    while work:
        name = work.pop()
        for at in users.get(name, ()):
            i = f.body[at]
            kind = i.op.split(".")[0]
            if slot := _stack_slot(i):
                new = [x for x in (targets(i) or [slot]) if x not in values]
                values.update(new)
                work += new
            elif kind == "st":
                if name in " ".join(i.operands[1:]).replace(",", " ").strip("{} ").split():
                    stores.add(at)
            elif kind not in ("ld", "atom", "red", "call"):
                new = [t for t in targets(i) if t not in values]
                values.update(new)
                work += new
    return values, {k for k in stores if not {"param", "local"} & set(f.body[k].op.split("."))}


def _successors(f: Function, at: int) -> Iterator[int]:
    i = f.body[at]
    kind = i.op.split(".")[0]
    if kind == "bra":
        yield f.labels.get(i.operands[0], at + 1)
    if kind == "brx":
        yield from (f.labels[x] for x in f.tables.get(i.operands[1], ()) if x in f.labels)
    if i.guard is not None or kind not in ("bra", "brx", "ret", "exit", "trap"):
        yield at + 1


def _loop(f: Function, start: int, functions: Mapping[str, Function]) -> list[int]:
    """The shortest way from an instruction back to it; empty if there is none without effects."""
    before: dict[int, int] = {}
    work = [start]
    while work and start not in before:
        level, work = work, []
        for at in level:
            for then in _successors(f, at):
                if then not in before and then < len(f.body):
                    before[then] = at
                    work.append(then)
    if start not in before:
        return []
    way = [before[start]]
    while way[-1] != start:
        way.append(before[way[-1]])
    return [] if any(_has_effect(f.body[k], functions) for k in way if k != start) else way


def _has_effect(i: Instruction, functions: Mapping[str, Function]) -> bool:
    """Whether an instruction does more than wait; of a called function, whether any of its does."""
    parts = i.op.split(".")
    if parts[0] == "call":
        callee = functions.get(next((x for x in i.operands if not x.startswith("(")), ""))
        if callee is None or not callee.has_body:
            return True
        inner = [x for x in callee.body if x.op.split(".")[0] not in ("membar", "fence")]
        return any(x.op.startswith(("call", "atom")) or _has_effect(x, {}) for x in inner)
    return parts[0] in _EFFECTS and not {"param", "local"} & set(parts) and not _stack_slot(i)
