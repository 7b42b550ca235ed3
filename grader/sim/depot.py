"""Which instructions may reach a thread's local memory, where a function's variables lie whose
address is taken, and its arrays and structs.

In `-G` PTX they are reached through generic addresses. What a kernel's parameter points to, and
what is made of it, is no local memory; of any other address that may be, the machine asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from grader.sim.access import GENERIC, LOCAL, space_of
from grader.sim.definedness import targets
from grader.sim.operands import place
from grader.sim.ptx import TYPE_BYTES, Function, Instruction

_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
_NUMBER = re.compile(r"-?\d+")


def has_local(functions: Iterable[Function]) -> bool:
    """Whether any of the functions has variables in local memory."""
    return any(v.space == "local" for f in functions for v in f.variables)


class Depot:
    """A function's accesses to local memory, its own or its callers': `accesses`, by id, which
    instructions may be one; `loaded`, the registers that such ones give a value; `fixed`, the
    registers with an address that all lanes share; `packs`, by id, what puts a bit field in."""

    def __init__(self, f: Function) -> None:
        self.names = {v.name for v in f.variables if v.space == "local"}
        self.near = _near(f, self.names)
        self.fixed = _fixed(f, self.names)
        reached = [i for i in f.body if self._reached(i)]
        self.accesses = frozenset(map(id, reached))
        self.loaded = frozenset(n for i in reached for n in targets(i) if n in f.registers)
        self.packs = _packs(f, self.loaded)

    def _reached(self, i: Instruction) -> bool:
        """Whether an instruction may load from, or store to, local memory."""
        parts = i.op.split(".")
        if parts[0] not in ("ld", "ldu", "st") or len(i.operands) != 2 or "::cluster" in i.op:
            return False
        space = space_of(parts)
        if space == LOCAL:
            return True
        base, _ = place(i.operands[0 if parts[0] == "st" else 1])
        return space == GENERIC and (base in self.near or base in self.names)


def _near(f: Function, names: set[str]) -> set[str]:
    """The 64-bit registers that may hold the address of a local variable."""
    wide = {name for name, kind in f.registers.items() if TYPE_BYTES[kind] == 8}
    found: set[str] = set()
    handed: dict[str, set[str]] = {}
    for i in f.body:
        for name in targets(i):
            if name not in wide:
                continue
            if _given(f, i):
                found.add(name)
            for source in _NAME.findall(" ".join(i.operands[1:])):
                if source in names:
                    found.add(name)
                handed.setdefault(source, set()).add(name)
    work = list(found)
    while work:
        more = handed.get(work.pop(), set()) - found
        found |= more
        work += more
    return found


def _given(f: Function, i: Instruction) -> bool:
    """Whether an instruction gives an address that comes from elsewhere: memory, a caller, a
    callee."""
    parts = i.op.split(".")
    if parts[:2] == ["ld", "param"]:
        return not f.entry or place(i.operands[-1])[0] not in {p.name for p in f.parameters}
    return parts[0] in ("ld", "ldu", "shfl", "atom")


def _fixed(f: Function, names: set[str]) -> frozenset[str]:
    """The registers that hold one address in all lanes: what is made of a local variable's."""
    written: dict[str, list[Instruction]] = {}
    for i in f.body:
        for name in targets(i):
            written.setdefault(name, []).append(i)
    found = set(names)
    for name, by in written.items():
        if (
            len(by) == 1
            and by[0].op.split(".")[0] in ("mov", "cvta", "add")
            and by[0].guard is None
        ):
            sources = by[0].operands[1:]
            if sources and sources[0] in found and all(_NUMBER.fullmatch(x) for x in sources[1:]):
                found.add(name)
    return frozenset(found - names)


def _packs(f: Function, loaded: frozenset[str]) -> frozenset[int]:
    """What puts a bit field into the word that was loaded: an `and` with a mask, and an `or`."""
    masks = {
        i.operands[0]: i
        for i in f.body
        if i.op.startswith("and.b")
        and len(i.operands) == 3
        and i.operands[1] in loaded
        and _NUMBER.fullmatch(i.operands[2])
    }
    joined = [
        i for i in f.body if i.op.startswith("or.b") and not masks.keys().isdisjoint(i.operands)
    ]
    used = {name for i in joined for name in i.operands[1:]}
    return frozenset(map(id, [*joined, *(i for name, i in masks.items() if name in used)]))
