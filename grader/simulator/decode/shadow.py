"""What is added to a function whose registers may be read before they are written.

Each register that may hold nothing yet gets a shadow, a predicate that says which lanes it is
defined in. Moves, selections, packing and shuffles carry shadows along; whatever else reads a
register is a use, and a lane that uses what nobody gave it is reported there. Then it counts as
defined, so that one mistake is told once. Stores of a vector with a defined element, stores to
local memory and arguments that a callee may leave alone are no uses: programs copy what they do
not look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from grader.simulator.decode.dataflow import (
    Depot,
    Piece,
    carries,
    handed_over,
    pieces,
    sources,
    targets,
    unwritten,
)
from grader.simulator.decode.instructions import Code, coded
from grader.simulator.decode.memory import GENERIC, LOCAL, PARAM, base_of, space_of
from grader.simulator.decode.operands import Operands, address, vector
from grader.simulator.decode.sync import SHUFFLES
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction

_REGISTER = re.compile(r"[$%A-Za-z_][$%\w@]*")
_ACCESSES = frozenset(("shadow_load", "shadow_store"))
"""What stands beside accesses to local memory; their guards are as other instructions'."""
_BYTES = 8
"""Of a shadow: one bit a lane, and where in local memory it comes from."""


def shadows(
    f: Function, o: Operands, suspects: list[str], functions: Mapping[str, Function], depots: bool
) -> Shadows | None:
    """The shadows of a function, in registers of its file; None when it needs none. The PTX
    types of those that may be undefined are added to `suspects`. `depots`: whether any function
    of the kernel has local memory.
    """
    first, depot = unwritten(f), Depot(f) if depots else None
    if not first and not (depot and depot.accesses):
        return None
    return Shadows(f, first, o, suspects, handed_over(f, functions), depot)


class Shadows:
    """The instructions beside those of one function."""

    def __init__(
        self,
        f: Function,
        first: frozenset[str],
        o: Operands,
        suspects: list[str],
        handed: frozenset[Piece],
        depot: Depot | None,
    ) -> None:
        self.o, self.handed, self.library = o, handed, f.library
        self.reached = depot.accesses if depot else frozenset()
        self.fixed = depot.fixed if depot else frozenset()
        self.moves = frozenset(id(i) for i in f.body if carries(i)) | (
            depot.packs if depot else frozenset()
        )
        self.true = o.source("1", 0)
        self.at: dict[str, int] = {}
        self.number: dict[str, int] = {}
        for name in sorted(
            _reached(f, first | (depot.loaded if depot else frozenset()), self.moves)
        ):
            self.at[name] = o.registers.more(_BYTES)
            self.number[name] = len(suspects)
            suspects.append(f.registers[name])
        self.scratch = o.registers.more(_BYTES)

    def before(self, i: Instruction, pc: int) -> list[Code]:
        """The checks of what `i` uses, and the shadows of what it writes; they run before it."""
        written = [name for name in targets(i) if name in self.at]
        moves = id(i) in self.moves
        used = [] if moves else [n for n in dict.fromkeys(sources(i)) if n in self.at]
        codes = list(self.checks(i, used))
        if id(i) in self.reached:
            codes += self.accessed(i)
        else:
            codes += self.carried(i, written) if moves else self.given(written)
        for code in codes:
            code.flag |= (i.library or self.library) and code.exec == "shadow_check"
        if i.guard is not None:
            guard, negate = self.o.predicate(i.guard[0]) + 1, int(i.guard[1])
            for code in codes:
                if code.exec in _ACCESSES:
                    code.guard, code.negate = guard, negate
                else:
                    code.imm = guard | negate << 32
            if i.guard[0] in self.at:
                codes.insert(0, self.check(i.guard[0]))
        for code in codes:
            code.pc = pc
        return codes

    def checks(self, i: Instruction, used: list[str]) -> Iterator[Code]:
        """A check of each register that `i` uses; what a store may copy unseen is left out."""
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
            yield from (self.check(v) for v, p in pieces(i) if v in self.at and p in self.handed)
            return
        if space == LOCAL or any(v not in self.at for v in values):
            return
        if len(values) == 1:
            code = self.check(values[0])
        else:
            shadow = [self.at[v] for v in values]
            yield self.any(self.scratch, shadow)
            code = self.check(values[0])
            code.a = self.scratch
        if space == GENERIC:
            code.c, code.mode = self.address(i.operands[0])
        yield code

    def address(self, text: str) -> tuple[int, int]:
        """The register that holds a store's generic address, and 8, its bytes; or 0, 0."""
        base, _ = address(text)
        return (self.o.registers.at[base], 8) if self.o.registers.width.get(base) == 8 else (0, 0)

    def check(self, name: str) -> Code:
        return Code("shadow_check", a=self.at[name], b=self.number[name])

    def given(self, written: list[str]) -> list[Code]:
        return [Code("shadow_copy", self.at[name], self.true) for name in written]

    def carried(self, i: Instruction, written: list[str]) -> list[Code]:
        """The shadows of what a moving instruction writes, made from its sources' ones."""
        head = i.op.split(".")[0]
        if head == "selp":
            a, b, p = i.operands[1:4]
            chosen = [self.check(p)] if p in self.at else []
            at = self.o.predicate(p)
            return chosen + [
                Code("shadow_select", self.at[d], self.of(a), self.of(b), at) for d in written
            ]
        if head == "shfl":
            return self.shuffled(i, written)
        given = i.operands[1:] if head == "or" else vector(i.operands[1])
        parts = [self.of(v) for v in given]
        return [self.any(self.at[d], parts) for d in written]

    def accessed(self, i: Instruction) -> Iterator[Code]:
        """The shadow of local memory beside a load from it, or a store to it."""
        parts = i.op.split(".")
        load = parts[0] != "st"
        values, where = i.operands if load else i.operands[::-1]
        base, _ = address(where)
        a, add, mode = base_of(self.o, where, space_of(parts))
        size = TYPE_BYTES[parts[-1]]
        for k, name in enumerate(vector(values)):
            if load and name not in self.at:
                continue
            yield Code(
                "shadow_load" if load else "shadow_store",
                self.of(name),
                a,
                imm=add + k * size,
                size=size,
                space=space_of(parts),
                mode=mode,
                flag=int(base in self.fixed),
            )

    def any(self, d: int, parts: list[int]) -> Code:
        """Defined where one of up to four parts is: what is made of them may be used in part."""
        return coded("shadow_any", d, (parts + parts[:1] * 3)[:4])

    def shuffled(self, i: Instruction, written: list[str]) -> list[Code]:
        """A lane is as defined as the lane that it reads; the second target, whether there is
        such a lane, always is.
        """
        lane, clamp = i.operands[2:4]
        codes = [self.check(n) for n in (lane, clamp) if n in self.at]
        value, *inside = targets(i)
        codes += self.given([n for n in inside if n in self.at])
        if value in self.at:
            refs = (self.of(i.operands[1]), self.o.source(lane, 4), self.o.source(clamp, 4))
            mode = SHUFFLES.index(next(p for p in i.op.split(".") if p in SHUFFLES))
            codes.append(Code("shadow_shuffle", self.at[value], *refs, mode=mode))
        return codes

    def of(self, text: str) -> int:
        """The shadow of an operand; what has none is defined in all lanes."""
        return self.at.get(text, self.true)


def _reached(f: Function, first: frozenset[str], moving: frozenset[int]) -> set[str]:
    """The registers that the value of one of `first` may be handed on to, and these."""
    moves = [(targets(i), sources(i)) for i in f.body if id(i) in moving]
    found, before = set(first), 0
    while len(found) != before:
        before = len(found)
        for to, given in moves:
            if not found.isdisjoint(given):
                found.update(name for name in to if name in f.registers)
    return found
