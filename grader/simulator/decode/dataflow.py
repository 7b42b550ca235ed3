"""Which instructions may reach a thread's local memory, where a function's variables lie whose
address is taken, and its arrays and structs.

In `-G` PTX they are reached through generic addresses. What a kernel's parameter points to, and
what is made of it, is no local memory; of any other address that may be, the machine asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.simulator.decode.instructions import types_of
from grader.simulator.decode.memory import GENERIC, LOCAL, space_of
from grader.simulator.decode.operands import place, vector
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction

# Registers that some path reads before any write, by a forward dataflow over a function.
#
# A local variable without an initial value is such a register in `-G` PTX: where a path does not
# assign it, the compiler writes nothing. Whether a launch takes that path, shadow.py finds out.

_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
BRANCHES = frozenset(("bra", "brx", "ret", "exit", "trap"))
_NO_TARGET = frozenset((*BRANCHES, "st", "red", "call", "bar", "barrier", "cp", "nanosleep"))


def targets(i: Instruction) -> list[str]:
    """The names that an instruction writes: one, `p|q` or the elements of a vector."""
    if not i.operands or i.operands[0].startswith("["):
        return []
    parts = i.op.split(".")
    if parts[0] in _NO_TARGET and not (parts[0] in ("bar", "barrier") and "red" in parts):
        return []
    return _NAME.findall(i.operands[0])


def sources(i: Instruction) -> list[str]:
    """The names that an instruction reads, its guard's not among them."""
    read = i.operands[1:] if targets(i) else i.operands
    return _NAME.findall(" ".join(read))


@dataclass(slots=True)
class _Block:
    """Straight-line code: the registers that it writes whatever its guards, those that it reads
    before, and where it may go on. Sets of registers are bits of a number.
    """

    first: int
    writes: int = 0
    reads: int = 0
    next: tuple[int, ...] = ()
    entered: int = 0


def unwritten(f: Function) -> frozenset[str]:
    """The registers of `f` that a path from its entry reads before any write."""
    bits = {name: 1 << k for k, name in enumerate(f.registers)}
    blocks = _blocks(f)
    for block, end in zip(blocks, [b.first for b in blocks[1:]] + [len(f.body)], strict=True):
        _scan(block, f.body[block.first : end], bits)
    if not blocks:
        return frozenset()
    blocks[0].entered = everything = _union(b.reads for b in blocks)
    work = [0]
    seen = {0}
    while work:
        block = blocks[work.pop()]
        left = block.entered & ~block.writes & everything
        for number in block.next:
            if number not in seen or left & ~blocks[number].entered:
                seen.add(number)
                blocks[number].entered |= left
                work.append(number)
    found = _union(b.reads & b.entered for b in blocks)
    return frozenset(name for name, bit in bits.items() if found & bit)


def _union(sets: Iterator[int]) -> int:
    out = 0
    for bits in sets:
        out |= bits
    return out


def _scan(block: _Block, body: Sequence[Instruction], bits: dict[str, int]) -> None:
    for i in body:
        names = sources(i)
        if i.guard is not None:
            names.append(i.guard[0])
        for name in names:
            block.reads |= bits.get(name, 0) & ~block.writes
        if i.guard is None:
            for name in targets(i):
                block.writes |= bits.get(name, 0)


def _blocks(f: Function) -> list[_Block]:
    """The basic blocks of a body, with their successors."""
    starts = {at for at in f.labels.values() if at < len(f.body)}
    ends = {at for at, i in enumerate(f.body) if i.op.split(".")[0] in BRANCHES}
    starts |= {at + 1 for at in ends if at + 1 < len(f.body)}
    blocks = [_Block(at) for at in sorted(starts | ({0} if f.body else set()))]
    number = {block.first: k for k, block in enumerate(blocks)}
    for k, block in enumerate(blocks):
        last = (blocks[k + 1].first if k + 1 < len(blocks) else len(f.body)) - 1
        after = [last + 1] if last not in ends or f.body[last].guard else []
        after += [f.labels[name] for name in _jumps(f, f.body[last]) if name in f.labels]
        block.next = tuple(number[at] for at in after if at in number)
    return blocks


def _jumps(f: Function, i: Instruction) -> list[str]:
    kind = i.op.split(".")[0]
    if kind == "bra":
        return i.operands[:1]
    return f.tables.get(i.operands[1], []) if kind == "brx" and len(i.operands) > 1 else []


# Instructions that hand a value on without looking at it.

_WHOLE = frozenset(("1", "255", "65535"))
"""Masks with which debug code keeps a bool, char or short as wide as it is."""


def carries(i: Instruction) -> bool:
    """Whether an instruction moves, selects, packs or shuffles, and uses no value that it moves."""
    parts = i.op.split(".")
    if parts[0] in ("mov", "selp", "cvta", "shfl"):
        return True
    if parts[0] == "cvt":
        return all(kind[0] in "usb" and kind != "bf16" for kind in types_of(i.op))
    return parts[0] == "and" and not _WHOLE.isdisjoint(i.operands[-1:])


# Which arguments of a call are used whatever happens: told from the callee's first instructions.
#
# What a callee does up to its first branch it always does. An argument, or a member of one, that it
# uses there, or hands on to a function that does, must have a value; of any other nothing is said.

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
    place in its own memory.
    """

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


_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
_NUMBER = re.compile(r"-?\d+")


def has_local(functions: Iterable[Function]) -> bool:
    """Whether any of the functions has variables in local memory."""
    return any(v.space == "local" for f in functions for v in f.variables)


class Depot:
    """A function's accesses to local memory, its own or its callers': `accesses`, by id, which
    instructions may be one; `loaded`, the registers that such ones give a value; `fixed`, the
    registers with an address that all lanes share; `packs`, by id, what puts a bit field in.
    """

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
    callee.
    """
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
