"""Dataflow over PTX functions: which values may be undefined, and which instructions use them.

A local variable without an initial value is a register that some path reads before any write
(`maybe_undefined`): where a path does not assign it, the compiler writes nothing. `shadow` adds the
instructions that detect whether a launch takes that path. Moves, selections, packing and shuffles
copy a value without using it (`copies_value`).

What a callee does up to its first branch it does always (`used_arguments`): an argument, or a
member of one, that it uses there, or passes to a function that does, must have a value.

Variables whose address is taken, arrays and structs are in local memory (`LocalAccesses`). `-G` PTX
reaches them through generic addresses. What a kernel's parameter points to is not local memory; for
any other address that may be, the core decides at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from grader import dataclass, regex
from grader.simulator.decode.instructions import types_of
from grader.simulator.decode.memory import GENERIC, LOCAL, is_strong, space_of
from grader.simulator.decode.operands import address_or_none, vector
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction

_NAME = regex(r"[$%A-Za-z_][$%\w@]*")
BRANCHES = frozenset(("bra", "brx", "ret", "exit", "trap"))
_NO_TARGET = frozenset((*BRANCHES, "st", "red", "call", "bar", "barrier", "cp", "nanosleep"))


@lru_cache(maxsize=1 << 14)  # decoding asks for the names of an instruction some twenty times
def _names(operand: str) -> tuple[str, ...]:
    return tuple(_NAME.findall(operand))


@lru_cache(maxsize=1 << 10)
def _has_target(op: str) -> bool:
    parts = op.split(".")
    return parts[0] not in _NO_TARGET or (parts[0] in ("bar", "barrier") and "red" in parts)


def targets(i: Instruction) -> tuple[str, ...]:
    """The names that an instruction writes: a register, `p|q`, or the elements of a vector."""
    return _targets(i.op, i.operands[0]) if i.operands else ()


@lru_cache(maxsize=1 << 13)
def _targets(op: str, first: str) -> tuple[str, ...]:
    return () if first.startswith("[") or not _has_target(op) else _names(first)


def sources(i: Instruction) -> tuple[str, ...]:
    """The names that an instruction reads, without its guard."""
    return _sources(i.op, *i.operands)


@lru_cache(maxsize=1 << 13)
def _sources(op: str, *operands: str) -> tuple[str, ...]:
    read = operands[1:] if operands and _targets(op, operands[0]) else operands
    return tuple(name for operand in read for name in _names(operand))


_MOST_TERMS = 8
_OPERANDS: Mapping[str, int] = {"ld": 2, "st": 2, "red": 2, "atom": 3}


def access_head(i: Instruction) -> str:
    """The first part of an opcode; empty for an access without its operands, which is refused."""
    head = i.op.partition(".")[0]
    return head if len(i.operands) >= _OPERANDS.get(head, 0) else ""


def is_sum(i: Instruction) -> bool:
    """Whether an instruction adds two addresses or numbers of 64 bits."""
    return i.op == "add.u64" and len(i.operands) == 3


def truth_of(i: Instruction, known: Mapping[str, int]) -> int | None:
    """The result of an instruction on truth values, 0 or 1; None where it is not known."""
    head, *parts = i.op.split(".")
    constants = {"0": 0, "1": 1, "-1": 1} if "pred" in parts else {"0": 0, "1": 1}
    x = [known.get(o, constants.get(o)) for o in i.operands[1:]]
    if head in ("mov", "cvt") and len(x) == 1:
        return x[0]
    if head == "vote" and x[:1] == [int("any" in parts)]:
        return x[0]
    if 0 in x and (head == "and" or (head == "mul" and parts[-1][0] in "us")):
        return 0
    if head == "or" and 1 in x and "pred" in parts:
        return 1
    if head == "selp" and len(x) == 3:
        return None if x[2] is None else x[0 if x[2] else 1]
    if None in x or not x:
        return None
    if head == "not" and parts == ["pred"]:
        return int(not x[0])
    if head in ("and", "or"):
        return int(all(x) if head == "and" else any(x))
    if head == "xor" or (head == "setp" and len(parts) == 2 and parts[0] in ("eq", "ne")):
        return int((x[0] == x[-1]) == (parts[0] == "eq"))
    return None


def compared_pairs(i: Instruction, makers: Mapping[str, Instruction]) -> list[tuple[str, str]]:
    """What a comparison compares: `(a ^ b | c) != 0` does so with `a` and `b`, and `c` and 0."""
    if not i.op.startswith("setp.") or len(i.operands) < 3:
        return []
    if i.operands[2] != "0" or not i.op.startswith(("setp.eq.", "setp.ne.")):
        return [(i.operands[1], i.operands[2])]
    work, pairs = [i.operands[1]], list[tuple[str, str]]()
    while work and len(pairs) < _MOST_TERMS:
        name = work.pop()
        op, *terms = (made.op, *made.operands[1:3]) if (made := makers.get(name)) else ("",)
        work += terms if op.startswith("or.b") else []
        if not op.startswith("or.b"):
            pairs.append((terms[0], terms[1]) if op.startswith("xor.b") else (name, "0"))
    return pairs


def leaves_out(i: Instruction, name: str, known: Mapping[str, int]) -> bool:
    """Whether an instruction's result has nothing of an operand, where truth values are known."""
    if truth_of(i, known) is not None:
        return True
    head, *rest = i.operands
    if i.op.startswith("selp.") and (chosen := known.get(rest[-1])) is not None:
        return name not in (rest[0 if chosen else 1], rest[-1])
    products = i.op.startswith("mad.") and i.op[-3] in "us"
    return products and name != rest[-1] and any(known.get(x) == 0 for x in rest[:2])


def uses_of(
    f: Function,
    users: Mapping[str, Sequence[int]],
    names: Iterable[str],
    frame: tuple[frozenset[str], frozenset[str]],
    facts: Mapping[int, Iterable[tuple[str, int]]],
) -> tuple[set[int], set[int]]:
    """The plain stores of what is computed of some registers, and what else uses any of it.

    Args:
        f: the function.
        users: the instructions that read each register, or have it as their guard.
        names: the registers.
        frame: the registers with addresses in the stack frame, and what is loaded from there.
        facts: by the instructions that may run, the truth values of registers: `leaves_out`.
    """
    made, stores, others = set(names), set[int](), set[int]()
    work = [*made]
    while work:
        name = work.pop()
        for at in (k for k in users.get(name, ()) if k in facts):
            i = f.body[at]
            head, where = access_head(i), address_or_none("".join(i.operands[:1]))[0]
            kept = head == "st" and where in frame[0] - {name}
            if not kept and (head in ("ld", "st", "atom", "red") or name not in sources(i)):
                plain = head == "st" and name in i.operands[1:] and not is_strong(i.op)
                (stores if plain else others).add(at)
                continue
            if not kept and leaves_out(i, name, dict(facts.get(at, ()))):
                continue
            to = frame[1] if kept else frozenset(targets(i))
            others |= set() if kept or to else {at}
            work += (new := to - made)
            made |= new
    return stores, others


def place_of(operand: str, copies: Mapping[str, str]) -> str:
    """An address as text, with the register that others are copies of."""
    base, plus, add = operand.strip("[] ").partition("+")
    for _ in range(len(copies)):
        if base not in copies:
            break
        base = copies[base]
    return base + plus + add


def are_apart(a: str, b: str) -> bool:
    """Whether two places are known and differ: variables, or parameters with constant offsets."""
    return a != b and "%" not in a + b


@dataclass(slots=True)
class _Block:
    """A basic block; sets of registers are bits of a number.

    Attributes:
        first: the index of its first instruction.
        writes: the registers that it writes without a guard.
        reads: the registers that it reads before.
        next: the numbers of its successors.
        entered: the registers that may be undefined at its entry.
    """

    first: int
    writes: int = 0
    reads: int = 0
    next: tuple[int, ...] = ()
    entered: int = 0


def maybe_undefined(f: Function) -> frozenset[str]:
    """The registers of a function that a path from its entry reads before any write."""
    bits = {name: 1 << k for k, name in enumerate(f.registers)}
    blocks = _blocks(f)
    for block, end in zip(blocks, [b.first for b in blocks[1:]] + [len(f.body)], strict=True):
        _scan(block, f.body[block.first : end], bits)
    if not blocks:
        return frozenset()
    blocks[0].entered = everything = _union(b.reads for b in blocks)
    work = [0]
    visited = {0}
    while work:
        block = blocks[work.pop()]
        left = block.entered & ~block.writes & everything
        for number in block.next:
            if number not in visited or left & ~blocks[number].entered:
                visited.add(number)
                blocks[number].entered |= left
                work.append(number)
    undefined = _union(b.reads & b.entered for b in blocks)
    return frozenset(name for name, bit in bits.items() if undefined & bit)


def library_registers(f: Function) -> frozenset[str]:
    """The registers that are variables of a library: only its code writes them."""
    if f.library:
        return frozenset(f.registers)
    by_library = {name for i in f.body if i.library for name in targets(i)}
    return frozenset(by_library.difference(n for i in f.body if not i.library for n in targets(i)))


def _union(sets: Iterator[int]) -> int:
    out = 0
    for bits in sets:
        out |= bits
    return out


def _scan(block: _Block, body: Sequence[Instruction], bits: dict[str, int]) -> None:
    for i in body:
        names = sources(i) if i.guard is None else (*sources(i), i.guard[0])
        for name in names:
            block.reads |= bits.get(name, 0) & ~block.writes
        if i.guard is None:
            for name in targets(i):
                block.writes |= bits.get(name, 0)


def _blocks(f: Function) -> list[_Block]:
    """The basic blocks of a function with their successors."""
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
    """The labels that a branch may go to."""
    kind = i.op.split(".")[0]
    if kind == "bra":
        return i.operands[:1]
    return f.tables.get(i.operands[1], []) if kind == "brx" and len(i.operands) > 1 else []


WHOLE: Mapping[str, int] = {"1": 1, "255": 1, "65535": 2}
"""The masks with which `-G` code limits a bool, char or short to its own width, and its bytes."""


def copies_value(i: Instruction) -> bool:
    """Whether an instruction moves, selects, packs or shuffles values without using them."""
    return _copies_value(i.op, i.operands[-1] if i.operands else "")


@lru_cache(maxsize=1 << 13)
def _copies_value(op: str, last: str) -> bool:
    head = op.split(".")[0]
    if head in ("mov", "selp", "cvta", "shfl"):
        return True
    if head == "cvt":
        return all(kind[0] in "usb" and kind != "bf16" for kind in types_of(op))
    return head == "and" and last in WHOLE


Piece = tuple[str, int, int]
"""A part of a variable that one register holds: the variable's name, or the register with its
address; the offset in bytes; the size in bytes."""


def pieces(i: Instruction) -> Iterator[tuple[str, Piece]]:
    """The registers that a load or store moves, each with its place in memory."""
    parts = i.op.split(".")
    values, where = i.operands[::-1] if parts[0] == "st" else i.operands
    base, at = address_or_none(where)
    size = TYPE_BYTES.get(parts[-1], 0)
    for k, name in enumerate(vector(values)):
        yield name, (base, at + k * size, size)


_NUMBER = regex(r"-?\d+")


def has_local(functions: Iterable[Function]) -> bool:
    """Whether any of the functions has variables in local memory."""
    return any(v.space == "local" for f in functions for v in f.variables)


class LocalAccesses:
    """The accesses of a function to local memory, its own or its callers'.

    Attributes:
        accesses: by id, the instructions that may access local memory.
        loaded: the registers that such instructions load.
        uniform: the registers with an address that all lanes share.
    """

    def __init__(self, f: Function) -> None:
        self.names = {v.name for v in f.variables if v.space == "local"}
        self.pointers = local_pointers(f, self.names)
        self.uniform = _uniform(f, self.names)
        accesses = [i for i in f.body if self._may_access(i)]
        self.accesses = frozenset(map(id, accesses))
        self.loaded = frozenset(n for i in accesses for n in targets(i) if n in f.registers)

    def _may_access(self, i: Instruction) -> bool:
        """Whether an instruction may load from, or store to, local memory."""
        parts = i.op.split(".")
        if parts[0] not in ("ld", "ldu", "st") or len(i.operands) != 2 or "::cluster" in i.op:
            return False
        space = space_of(parts)
        if space == LOCAL:
            return True
        base, _ = address_or_none(i.operands[0 if parts[0] == "st" else 1])
        return space == GENERIC and (base in self.pointers or base in self.names)


def local_pointers(f: Function, names: set[str]) -> set[str]:
    """The 64-bit registers that may hold the address of a local variable.

    It is one of the `names`, or the address comes from memory, a caller or a callee.
    """
    wide = {name for name, kind in f.registers.items() if TYPE_BYTES[kind] == 8}
    pointers: set[str] = set()
    derived: dict[str, set[str]] = {}
    for i in f.body:
        for name in targets(i):
            if name not in wide:
                continue
            if _from_elsewhere(f, i):
                pointers.add(name)
            for source in _NAME.findall(" ".join(i.operands[1:])):
                if source in names:
                    pointers.add(name)
                derived.setdefault(source, set()).add(name)
    work = list(pointers)
    while work:
        more = derived.get(work.pop(), set()) - pointers
        pointers |= more
        work += more
    return pointers


def _from_elsewhere(f: Function, i: Instruction) -> bool:
    """Whether an instruction yields an address from memory, a caller or a callee."""
    parts = i.op.split(".")
    if parts[:2] == ["ld", "param"]:
        return not f.entry or address_or_none(i.operands[-1])[0] not in {
            p.name for p in f.parameters
        }
    return parts[0] in ("ld", "ldu", "shfl", "atom")


def _uniform(f: Function, names: set[str]) -> frozenset[str]:
    """The registers that hold the same local address in all lanes."""
    written: dict[str, list[Instruction]] = {}
    for i in f.body:
        for name in targets(i):
            written.setdefault(name, []).append(i)
    uniform = set(names)
    for name, by in written.items():
        if (
            len(by) == 1
            and by[0].op.split(".")[0] in ("mov", "cvta", "add")
            and by[0].guard is None
        ):
            sources = by[0].operands[1:]
            if sources and sources[0] in uniform and all(_NUMBER.fullmatch(x) for x in sources[1:]):
                uniform.add(name)
    return frozenset(uniform - names)
