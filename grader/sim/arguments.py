"""Which arguments of a call are used whatever happens: told from the callee's first instructions.

What a callee does up to its first branch it always does. An argument, or a member of one, that it
uses there, or hands on to a function that does, must have a value; of any other nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from grader.sim.definedness import BRANCHES, sources, targets
from grader.sim.moves import carries
from grader.sim.operands import place, vector
from grader.sim.ptx import TYPE_BYTES, Function, Instruction

Piece = tuple[str, int, int]
"""A part of a variable that one register holds: its name, or a register's that holds its address;
the offset, and the bytes."""

_DEPTH = 8
"""Calls within calls that are looked into."""
_COPIES = ("mov", "cvt", "and", "cvta")
_STACK = ("%SP", "%SPL")
_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")


def pieces(i: Instruction) -> Iterator[tuple[str, Piece]]:
    """What a load or store moves: registers, and their places in memory."""
    parts = i.op.split(".")
    values, where = i.operands[::-1] if parts[0] == "st" else i.operands
    base, at = place(where)
    size = TYPE_BYTES.get(parts[-1], 0)
    for k, name in enumerate(vector(values)):
        yield name, (base, at + k * size, size)


def handed_over(f: Function, functions: Mapping[str, Function]) -> frozenset[Piece]:
    """The parts of the `.param` variables of `f` that a function that it calls is sure to use."""
    return frozenset(
        piece
        for i in f.body
        if (call := _call(i, functions)) is not None
        for piece in _of_use(call[0], call[1], functions, _DEPTH)
    )


def _call(i: Instruction, functions: Mapping[str, Function]) -> tuple[Function, list[str]] | None:
    """The function that an instruction calls and the variables that it gives it."""
    if not i.op.startswith("call"):
        return None
    result = any(x.startswith("(") for x in i.operands[:1])
    callee, *given = i.operands[int(result) :] or [""]
    called = functions.get(callee)
    return (called, _NAME.findall(given[0])) if called and given else None


def _of_use(
    callee: Function, given: list[str], functions: Mapping[str, Function], depth: int
) -> list[Piece]:
    """Those parts of the given variables that the callee uses."""
    if depth == 0 or not callee.has_body or len(given) != len(callee.parameters):
        return []
    names = {p.name: name for name, p in zip(given, callee.parameters, strict=True)}
    return [(names[p], at, size) for p, at, size in _Reading(callee).used(functions, depth)]


class _Reading:
    """A function up to its first branch: which part of a parameter a register holds, and which a
    place in its own memory."""

    def __init__(self, f: Function) -> None:
        self.f = f
        self.parameters = {p.name for p in f.parameters}
        self.held: dict[str, Piece] = {}
        self.kept: dict[Piece, Piece] = {}

    def used(self, functions: Mapping[str, Function], depth: int) -> set[Piece]:
        """The parts of its parameters that it uses."""
        used: set[Piece] = set()
        for i in self.f.body:
            if i.op.split(".")[0] in BRANCHES:
                break
            read = {self.held[name] for name in sources(i) if name in self.held}
            if (call := _call(i, functions)) is not None:
                inner = _of_use(call[0], call[1], functions, depth - 1)
                used |= {self.kept[piece] for piece in inner if piece in self.kept}
                self.forget()
            elif i.op.startswith("st."):
                self.store(i)
            elif not carries(i) and i.guard is None:
                used |= read
            self.write(i, read)
        return used

    def forget(self) -> None:
        """What another function, or a store to who knows where, may have changed."""
        self.kept = {at: piece for at, piece in self.kept.items() if at[0] not in _STACK}

    def store(self, i: Instruction) -> None:
        if len(i.operands) != 2:
            return
        for name, (base, at, size) in pieces(i):
            if base not in _STACK and "param" not in i.op:
                self.forget()
                continue
            for p in [p for p in self.kept if p[0] == base]:
                if p[1] < at + size and at < p[1] + p[2]:
                    del self.kept[p]
            if name in self.held and i.guard is None:
                self.kept[base, at, size] = self.held[name]

    def write(self, i: Instruction, read: set[Piece]) -> None:
        """What an instruction's targets hold after it."""
        for name in targets(i):
            self.held.pop(name, None)
            if len(read) == 1 and i.op.split(".")[0] in _COPIES and carries(i):
                self.held[name] = next(iter(read))
        if i.op.startswith("ld.") and len(i.operands) == 2 and i.guard is None:
            for name, at in pieces(i):
                if at[0] in self.parameters and "param" in i.op:
                    self.held[name] = at
                elif at in self.kept:
                    self.held[name] = self.kept[at]
