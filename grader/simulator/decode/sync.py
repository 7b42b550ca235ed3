"""Decode atomics, and find what strong loads are for: `strong_roles`, to wait or to get data.

Asynchronous copies and mbarriers are decoded in `async_copies`, whose rules are among these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property

from grader import regex
from grader.simulator.decode.async_copies import op_cp as op_cp
from grader.simulator.decode.async_copies import op_mbarrier as op_mbarrier
from grader.simulator.decode.dataflow import access_head, place_of, sources, targets
from grader.simulator.decode.instructions import Insn, Known, NotSimulated
from grader.simulator.decode.memory import (
    ACQUIRE,
    DATA_READ,
    RELEASE,
    WAITING,
    base_of,
    is_strong,
    scope_of,
    space_of,
)
from grader.simulator.decode.operands import OperandError, Operands, address_or_none, vector
from grader.simulator.decode.stack import copies_of, stack_slot, users_of
from grader.simulator.ptx.flow import predecessors_of, reached, successors, successors_of
from grader.simulator.ptx.model import STRONG_READS, TYPE_BYTES, Function, Instruction, Location

ATOMICS = ("add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor")
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
    if what is None or kind not in TYPE_BYTES or kind == "b128":
        raise NotSimulated(op)
    if count := next((int(p[1:]) for p in parts[1:-1] if p in ("v2", "v4", "v8")), 0):
        return _vector_atomic(op, target, operands, o, count)
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
    at, name = space_of(parts), "atom_stored" if "stored" in parts else "atom"
    return [Insn(name, d, ref, o.source(b, width), c, e, add, size, 1, at, width, flag, mode)]


def _vector_atomic(
    op: str, target: str, operands: list[str], o: Operands, count: int
) -> list[Insn]:
    """An atomic for each element, as the manual has it; the first checks the alignment of all."""
    where, *others = operands
    results = vector(target) if target != "_" else ["_"] * count
    values = [vector(x) for x in others]
    if any(len(x) != count for x in (results, *values)):
        raise OperandError(f"{op} of {count} elements")
    scalar = ".".join(p for p in op.split(".") if p != f"v{count}")
    insns = [
        insn
        for result, *given in zip(results, *values, strict=True)
        for insn in _atomic(scalar, result, [where, *given], o)
    ]
    for k, insn in enumerate(insns):
        insn.imm += k * insn.size
    insns[0].e |= count << 12
    return insns


BY_SIZE = frozenset(("lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "ltu", "leu", "gtu", "geu"))
_EFFECTS = {"st", "red", "bar", "barrier", "call", "cp"}
"""What a loop that only waits does not contain."""
_MOST_DEPTH = 4
"""The calls within calls that are followed: `isnan` has three."""


def strong_roles(f: Function, functions: Mapping[str, Function]) -> dict[int, int]:
    """Find what strong loads and atomics are for, and which stores store what such loads read.

    Returns the flags DATA_READ and WAITING of instructions by their index in the body. A load
    waits when a loop without other effects repeats it until its value allows to leave; it has both
    flags when that is one value alone, or what is not below or above one, as the turn of a ticket
    lock. The optimizer takes the first round out of such a loop: that load waits too.
    """
    waiting = _Waiting(f)
    roles = _roles(f, functions, waiting)
    return _roles(f, functions, waiting) if waiting.roles else roles


class _Waiting:
    """The loads of a function that wait, and what is known of others by them.

    Attributes:
        roles: by operation and location, the roles of such loads.
        loads: such loads, by what copies their values.
    """

    def __init__(self, f: Function) -> None:
        self.f = f
        self.roles: dict[tuple[str, Location], int] = {}
        self.loads: dict[str, int] = {}

    def add(self, at: int, role: int, users: Mapping[str, list[int]]) -> None:
        """Note a load that waits."""
        self.roles[self.f.body[at].op, self.f.body[at].location] = role
        self.loads |= dict.fromkeys(copies_of(self.f, at, users), at)

    def role(self, at: int, values: Container[str], users: Mapping[str, list[int]]) -> int:
        """The role of a load that decides a branch, and is a first look of one that waits, or 0.

        The optimizer copies the first look; the source may have one of its own before the loop,
        whose value goes to the same variable.
        """
        body = self.f.body
        if role := self.roles.get((body[at].op, body[at].location), 0):
            return role
        met = [self.loads[x] for x in copies_of(self.f, at, users) if x in self.loads]
        tests = [k for k, i in enumerate(body) if i.guard and i.guard[0] in values]
        if not met or met[0] not in reached(tests, (), successors(self.f)):
            return 0
        return self.roles[body[met[0]].op, body[met[0]].location]


def _roles(f: Function, functions: Mapping[str, Function], waiting: _Waiting) -> dict[int, int]:
    """The roles, where loads that decide a branch and are in `waiting` wait; adds to `waiting`."""
    roles: dict[int, int] = {}
    users: dict[str, list[int]] | None = None
    guards, known = {i.guard[0] for i in f.body if i.guard}, Values(f)
    for at, i in enumerate(f.body):
        parts = i.op.split(".")
        if not (parts[0] == "atom" or (parts[0] == "ld" and STRONG_READS & set(parts))):
            continue
        users = users_of(f) if users is None else users
        values, stores = _reached(f, at, users, known)
        decides = not values.isdisjoint(guards)
        way = _loop(f, at, functions, values) if decides else []
        if any(f.body[k].guard and f.body[k].guard[0] in values for k in way):  # type: ignore[index]
            roles[at] = WAITING | (DATA_READ if _awaits_turn(f, way, values) else 0)
            waiting.add(at, roles[at], users)
        elif decides and (role := waiting.role(at, values, users)):
            roles[at] = role
        elif stores and parts[0] == "ld":
            roles[at] = DATA_READ
            roles |= dict.fromkeys(stores, DATA_READ)
    return roles


def _awaits_turn(f: Function, way: list[int], values: Container[str]) -> bool:
    """Whether a loop, its instructions from the last on, waits for one value or for its size.

    What a function says of the value, as `isnan` does, is not that value.
    """
    follows = dict(zip([*way[1:], way[0]], way, strict=True))
    decided = [at for at in way if (f.body[at].guard or "?")[0] in values]
    given = (f.body[k] for k in way if f.body[k].op.startswith("ld.param"))
    if any(x in values for i in given for x in targets(i)):
        return False
    return bool(decided) and all(_goes_on_unless_equal(f, at, follows[at], way) for at in decided)


def _goes_on_unless_equal(f: Function, at: int, then: int, way: list[int]) -> bool:
    """Whether a guard leads to `then` where two integers differ, or one is smaller."""
    name, negated = f.body[at].guard or ("", False)
    goes_on_if = (then != at + 1) != negated
    while True:
        made = [f.body[k] for k in way if name in targets(f.body[k])]
        if len(made) != 1 or made[0].guard is not None:
            return False
        parts = made[0].op.split(".")
        if parts[0] != "not":
            break
        name, goes_on_if = made[0].operands[1], not goes_on_if
    unequal = ["setp", "ne" if goes_on_if else "eq"]
    return parts[-1][0] in "usb" and (parts[:2] == unequal or parts[1] in BY_SIZE)


def _reached(
    f: Function, start: int, users: dict[str, list[int]], known: Values
) -> tuple[set[str], set[int]]:
    """The registers that get their values from a load's, and the stores of such values."""
    work = [*targets(f.body[start])]
    values, stored = set(work), set[tuple[int, str]]()
    while work:
        name = work.pop()
        for at in users.get(name, ()):
            i = f.body[at]
            kind = i.op.split(".")[0]
            slot = stack_slot(i)
            if slot or i.op.startswith("st.param"):
                to = targets(i) or [slot] if slot else _returned(f, at)
                new = [x for x in to if x not in values]
                values.update(new)
                work += new
            elif kind == "st":
                if name in " ".join(i.operands[1:]).replace(",", " ").strip("{} ").split():
                    stored.add((at, name))
            elif kind not in ("ld", "atom", "red", "call"):
                new = [t for t in targets(i) if t not in values]
                values.update(new)
                work += new
    stores = {k for k, name in stored if known.may_reach(k, name, values, start)}
    return values, {k for k in stores if not {"param", "local"} & set(f.body[k].op.split("."))}


def _returned(f: Function, store: int) -> list[str]:
    """The registers that get what a call returns, of which a store is to a parameter."""
    then = range(store + 1, len(f.body))
    call = next((at for at in then if f.body[at].op.startswith("call")), store)
    result, _, given = callee_of(f.body[call])
    if not result or address_or_none(f.body[store].operands[0])[0] not in given:
        return []
    return [x for i in f.body[call + 1 : call + 4] if result[0] in sources(i) for x in targets(i)]


class Values:
    """What a function's registers have where it is used: the optimizer gives one several values."""

    def __init__(self, f: Function) -> None:
        self.f, self.makers = f, dict[str, list[int]]()
        for at, i in enumerate(f.body):
            for name in targets(i):
                self.makers.setdefault(name, []).append(at)

    @cached_property
    def before(self) -> dict[int, list[int]]:
        """The instructions that may run just before each."""
        return predecessors_of(self.f)

    def may_reach(self, user: int, name: str, made: Container[str], read: int) -> bool:
        """Whether instruction `user` may get register `name` as it was made of what `read` reads.

        `made` are the registers that may be made of that. A copy counts, too: what it is a copy of
        may be compared with what is read.
        """
        body, makers = self.f.body, self.makers.get(name, [])
        if name not in made or len(makers) < 2:
            return True
        own = {k for k in makers if k == read or any(x in made for x in sources(body[k]))}
        own |= {k for k in makers if body[k].op.startswith("mov.") and sources(body[k])}
        stops = {k for k in makers if body[k].guard is None}
        return not own.isdisjoint(reached([user], stops, self.before))


def _loop(
    f: Function, start: int, functions: Mapping[str, Function], values: Container[str]
) -> list[int]:
    """The shortest way from an instruction back to it; empty if there is none without effects.

    It may store one of `values`, those made of the instruction's, at a place that stays the same.
    """
    before: dict[int, int] = {}
    work = [start]
    while work and start not in before:
        level, work = work, []
        for at in level:
            for then in successors_of(f, at):
                if then not in before and then < len(f.body):
                    before[then] = at
                    work.append(then)
    if start not in before:
        return []
    way = [before[start]]
    while way[-1] != start:
        way.append(before[way[-1]])
    kept, changed = {start}, {name for k in way for name in targets(f.body[k])}
    for k in reversed(way):
        i = f.body[k]
        if access_head(i) == "st" and not is_strong(i.op) and i.operands[1] in values:
            kept |= {k} - ({k} if address_or_none(i.operands[0])[0] in changed else set())
        elif changed.isdisjoint(sources(i)) and access_head(i) not in ("ld", "atom"):
            changed.difference_update(targets(i))
    return [] if any(_has_effect(f.body[k], functions) for k in way if k not in kept) else way


def _has_effect(i: Instruction, functions: Mapping[str, Function], depth: int = 0) -> bool:
    """Whether an instruction does more than wait; of a called function, whether any of its does."""
    parts = i.op.split(".")
    if parts[0] == "call":
        callee = functions.get(callee_of(i)[1])
        if callee is None or not callee.has_body or depth == _MOST_DEPTH:
            return True
        return any(
            x.op.startswith("atom") or _has_effect(x, functions, depth + 1) for x in callee.body
        )
    return parts[0] in _EFFECTS and not {"param", "local"} & set(parts) and not stack_slot(i)


_SWAP = regex(r"(_Z\d+)?atomicCAS|__\w*AtomicCAS")
"""CUDA's functions that compare and swap; `-G` code calls them."""


def callee_of(i: Instruction) -> tuple[list[str], str, list[str]]:
    """What a call returns, the function, and the arguments; empty where it has none."""
    if not i.op.startswith("call"):
        return [], "", []
    names = [re.findall(r"[$%\w@]+", x) for x in i.operands]
    result = names.pop(0) if names and i.operands[0].startswith("(") else []
    callee = names.pop(0) if names else []
    return result, "".join(callee[:1]), names[0] if names else []


def swap_of(i: Instruction) -> tuple[str, str] | None:
    """The address of a compare-and-swap, and the value that it expects there."""
    parts = i.op.split(".")
    if parts[0] == "atom" and "cas" in parts and len(i.operands) == 4:
        return i.operands[1], i.operands[2]
    _, name, given = callee_of(i)
    return (given[0], given[1]) if _SWAP.match(name) and len(given) == 3 else None


def moved_by(i: Instruction) -> tuple[Sequence[str], Sequence[str]]:
    """The names that an instruction writes, and those that it reads to that end.

    Parameters of calls and places in the stack frame are names as registers are.
    """
    parts, slot = i.op.split("."), stack_slot(i)
    if parts[0] == "call":
        result, _, given = callee_of(i)
        return result, given
    if parts[0] == "st" and len(i.operands) == 2 and ("param" in parts or slot):
        return [slot or str(address_or_none(i.operands[0])[0])], vector(i.operands[1])
    return targets(i), [slot] if slot else sources(i)


def compared_looks(
    f: Function,
    loads: Iterable[int],
    copies: Mapping[str, str],
    users: Callable[[int], Iterable[int]],
) -> set[int]:
    """Those of some loads that are compared with another look at their place, and not kept.

    What is made of one is only tested, or stored at that place. `users` gives what uses it.
    """
    where = {at: place_of(f.body[at].operands[1], copies) for at in loads}
    looks = {x: at for at in where for x in targets(f.body[at])}
    out = set[int]()
    for i in f.body:
        pair = {looks[x] for x in i.operands[1:3] if x in looks}
        if i.op.startswith(("setp.eq.", "setp.ne.")) and len(pair) == 2:
            out |= pair if len({where[at] for at in pair}) == 1 else set()
    kept = ((at, f.body[k]) for at in out for k in users(at) if f.body[k].op[:4] != "setp")
    return out - {
        at
        for at, i in kept
        if access_head(i) != "st" or place_of(i.operands[0], copies) != where[at]
    }


_POINTERS = regex("(mov|add|sub|mad|selp|cvt|cvta)$")


def pointer_stores(f: Function) -> list[int]:
    """The instructions, by index, that store 8 bytes computed of a shared variable's address."""
    work = [x for i in f.body if i.op == "cvta.shared.u64" for x in targets(i)]
    users, known, stores = users_of(f) if work else {}, set(work), set[int]()
    for name in work:
        for at in users.get(name, ()):
            i = f.body[at]
            head, *parts = i.op.split(".")
            if head == "st" or (head == "atom" and {"exch", "cas"} & set(parts)):
                stores |= (
                    {at} if name in i.operands[-1] and TYPE_BYTES.get(parts[-1]) == 8 else set()
                )
            elif _POINTERS.match(head):
                work += [x for x in targets(i) if x not in known]
                known.update(targets(i))
    return sorted(stores)
