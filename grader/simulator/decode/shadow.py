"""Add the instructions that detect reads of undefined registers and local variables.

Each register that may be undefined gets a shadow, a predicate that holds the lanes in which it is
defined. Moves, selections, packing and shuffles copy shadows. Any other instruction that reads the
register is a use, and a lane that uses an undefined value is reported there. The register then
counts as defined, so that each mistake is reported once.

Not uses are a store of a vector with a defined element, a store to local memory, and an argument
that a callee may ignore: programs copy values that they never use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from grader.simulator.decode.dataflow import (
    LocalAccesses,
    Piece,
    copies_value,
    maybe_undefined,
    pieces,
    sources,
    targets,
    used_arguments,
)
from grader.simulator.decode.instructions import Insn, make_insn
from grader.simulator.decode.memory import GENERIC, LOCAL, PARAM, base_of, space_of
from grader.simulator.decode.operands import Operands, address, vector
from grader.simulator.decode.sync import SHUFFLES
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction

_REGISTER = re.compile(r"[$%A-Za-z_][$%\w@]*")
_ACCESSES = frozenset(("shadow_load", "shadow_store"))
"""The instructions that accompany accesses to local memory; they have guards of their own."""

_BYTES = 8
"""The size of a shadow: one bit a lane, and the place in local memory that it comes from."""


def make_shadows(
    f: Function,
    o: Operands,
    shadowed: list[str],
    functions: Mapping[str, Function],
    has_locals: bool,
) -> Shadows | None:
    """The shadows of a function, in registers of its file.

    Args:
        f: the function.
        o: its operands.
        shadowed: the PTX types of all registers with a shadow; those of this function are added.
        functions: the functions of the kernel by name.
        has_locals: whether any function of the kernel has variables in local memory.

    Returns None when the function needs no shadows.
    """
    undefined, local = maybe_undefined(f), LocalAccesses(f) if has_locals else None
    if not undefined and not (local and local.accesses):
        return None
    return Shadows(f, undefined, o, shadowed, used_arguments(f, functions), local)


class Shadows:
    """Makes the shadow instructions of one function."""

    def __init__(
        self,
        f: Function,
        undefined: frozenset[str],
        o: Operands,
        shadowed: list[str],
        used_arguments: frozenset[Piece],
        local: LocalAccesses | None,
    ) -> None:
        self.o, self.used_arguments, self.library = o, used_arguments, f.library
        self.accesses = local.accesses if local else frozenset()
        self.uniform = local.uniform if local else frozenset()
        self.moves = frozenset(id(i) for i in f.body if copies_value(i)) | (
            local.packs if local else frozenset()
        )
        self.true = o.source("1", 0)
        self.at: dict[str, int] = {}
        self.number: dict[str, int] = {}
        undefined |= local.loaded if local else frozenset()
        for name in sorted(_may_hold(f, undefined, self.moves)):
            self.at[name] = o.registers.allocate(_BYTES)
            self.number[name] = len(shadowed)
            shadowed.append(f.registers[name])
        self.scratch = o.registers.allocate(_BYTES)

    def before(self, i: Instruction, pc: int) -> list[Insn]:
        """The checks of what `i` uses and the shadows of what it writes, which run before it."""
        written = [name for name in targets(i) if name in self.at]
        moves = id(i) in self.moves
        used = [] if moves else [n for n in dict.fromkeys(sources(i)) if n in self.at]
        insns = list(self.checks(i, used))
        if id(i) in self.accesses:
            insns += self.local_access(i)
        else:
            insns += self.copied(i, written) if moves else self.defined(written)
        for insn in insns:
            insn.flag |= (i.library or self.library) and insn.exec == "shadow_check"
        if i.guard is not None:
            guard, negate = self.o.predicate(i.guard[0]) + 1, int(i.guard[1])
            for insn in insns:
                if insn.exec in _ACCESSES:
                    insn.guard, insn.negate = guard, negate
                else:
                    insn.imm = guard | negate << 32
            if i.guard[0] in self.at:
                insns.insert(0, self.check(i.guard[0]))
        for insn in insns:
            insn.pc = pc
        return insns

    def checks(self, i: Instruction, used: list[str]) -> Iterator[Insn]:
        """A check of each register that `i` uses, except for what a store only copies."""
        parts = i.op.split(".")
        if parts[0] == "call":
            used = [name for name in used if name == i.operands[0]]
        if parts[0] != "st" or len(i.operands) != 2:
            yield from map(self.check, used)
            return
        where = [n for n in _REGISTER.findall(i.operands[0]) if n in self.at]
        yield from map(self.check, where)
        values = vector(i.operands[1])
        space = space_of(parts)
        if space == PARAM:
            yield from (
                self.check(v) for v, p in pieces(i) if v in self.at and p in self.used_arguments
            )
            return
        if space == LOCAL or any(v not in self.at for v in values):
            return
        if len(values) == 1:
            insn = self.check(values[0])
        else:
            shadow = [self.at[v] for v in values]
            yield self.any(self.scratch, shadow)
            insn = self.check(values[0])
            insn.a = self.scratch
        if space == GENERIC:
            insn.c, insn.mode = self.address(i.operands[0])
        yield insn

    def address(self, text: str) -> tuple[int, int]:
        """The register with a store's generic address and its 8 bytes; (0, 0) if there is none."""
        base, _ = address(text)
        return (self.o.registers.at[base], 8) if self.o.registers.width.get(base) == 8 else (0, 0)

    def check(self, name: str) -> Insn:
        """The check that a register is defined."""
        return Insn("shadow_check", a=self.at[name], b=self.number[name])

    def defined(self, written: list[str]) -> list[Insn]:
        """The shadows of registers that an instruction defines in all its lanes."""
        return [Insn("shadow_copy", self.at[name], self.true) for name in written]

    def copied(self, i: Instruction, written: list[str]) -> list[Insn]:
        """The shadows of what a moving instruction writes, from those of its sources."""
        head = i.op.split(".")[0]
        if head == "selp":
            a, b, p = i.operands[1:4]
            chosen = [self.check(p)] if p in self.at else []
            at = self.o.predicate(p)
            return chosen + [
                Insn("shadow_select", self.at[d], self.of(a), self.of(b), at) for d in written
            ]
        if head == "shfl":
            return self.shuffled(i, written)
        given = i.operands[1:] if head == "or" else vector(i.operands[1])
        parts = [self.of(v) for v in given]
        return [self.any(self.at[d], parts) for d in written]

    def local_access(self, i: Instruction) -> Iterator[Insn]:
        """The shadow instructions of a load from local memory, or a store to it."""
        parts = i.op.split(".")
        load = parts[0] != "st"
        values, where = i.operands if load else i.operands[::-1]
        base, _ = address(where)
        a, add, mode = base_of(self.o, where, space_of(parts))
        size = TYPE_BYTES[parts[-1]]
        for k, name in enumerate(vector(values)):
            if load and name not in self.at:
                continue
            yield Insn(
                "shadow_load" if load else "shadow_store",
                self.of(name),
                a,
                imm=add + k * size,
                size=size,
                space=space_of(parts),
                mode=mode,
                flag=int(base in self.uniform),
            )

    def any(self, d: int, parts: list[int]) -> Insn:
        """Defined where one of up to four parts is: the whole may be used in part."""
        return make_insn("shadow_any", d, (parts + parts[:1] * 3)[:4])

    def shuffled(self, i: Instruction, written: list[str]) -> list[Insn]:
        """The shadows of a shuffle: a lane is as defined as the lane that it reads.

        The second target, whether there is such a lane, is always defined.
        """
        lane, clamp = i.operands[2:4]
        insns = [self.check(n) for n in (lane, clamp) if n in self.at]
        value, *inside = targets(i)
        insns += self.defined([n for n in inside if n in self.at])
        if value in self.at:
            refs = (self.of(i.operands[1]), self.o.source(lane, 4), self.o.source(clamp, 4))
            mode = SHUFFLES.index(next(p for p in i.op.split(".") if p in SHUFFLES))
            insns.append(Insn("shadow_shuffle", self.at[value], *refs, mode=mode))
        return insns

    def of(self, text: str) -> int:
        """The shadow of an operand; an operand without one is defined in all lanes."""
        return self.at.get(text, self.true)


def _may_hold(f: Function, undefined: frozenset[str], moving: frozenset[int]) -> set[str]:
    """The registers that may hold a value of the `undefined` ones, and these."""
    moves = [(targets(i), sources(i)) for i in f.body if id(i) in moving]
    names, before = set(undefined), 0
    while len(names) != before:
        before = len(names)
        for to, given in moves:
            if not names.isdisjoint(given):
                names.update(name for name in to if name in f.registers)
    return names
