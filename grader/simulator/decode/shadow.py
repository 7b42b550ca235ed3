"""Add the instructions that detect reads of undefined registers, local variables and memory.

Each register that may be undefined gets a shadow: the lanes in which it is defined, and the defined
bits of the other lanes. Moves, selections, packing, shuffles and masks copy shadows. Any other
instruction that reads the register is a use, and a lane that uses an undefined bit is reported
there. The register then counts as defined, so that each mistake is reported once.

Not uses are a store that copies, and an argument or a result that the other function may ignore.
What a store leaves undefined in memory counts as never written. The shadow of an argument or a
result goes to the other function with it, behind it in the parameter area (`Frame.shadows`).
A library may compute with what was never set, and not use the result: in its code that is no
finding. What it returns so, and what it is given, is.

A load from shared or global memory reads what it loads, except for those of `Loads.followed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grader import regex
from grader.simulator.decode.control_flow import MATRIX, SHUFFLES
from grader.simulator.decode.crossings import Use, computed, holders, is_stored, stored_values
from grader.simulator.decode.dataflow import (
    LocalAccesses,
    Piece,
    library_registers,
    pieces,
    sources,
    targets,
)
from grader.simulator.decode.followed import (
    copy_groups,
    mark_followed,
    masks_bits,
    using_stores,
)
from grader.simulator.decode.instructions import PERMUTATIONS, Insn, make_insn, table_of, types_of
from grader.simulator.decode.library_calls import printed_stores
from grader.simulator.decode.lifetimes import marked
from grader.simulator.decode.memory import GENERIC, LOCAL, PARAM, base_of, space_of
from grader.simulator.decode.numbering import access_checks, address_made
from grader.simulator.decode.operands import OperandError, Operands, address, vector
from grader.simulator.decode.parameters import used_arguments
from grader.simulator.decode.stack import subscript_checks
from grader.simulator.decode.sync import ATOMICS
from grader.simulator.ptx.constants import integer
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction

_REGISTER = regex(r"[$%A-Za-z_][$%\w@]*")
_GUARDED = frozenset(f"shadow_{n}" for n in ("load", "store", "stored", "take", "give", "bits"))
_GUARDED |= frozenset(f"shadow_{n}" for n in ("pack", "unpack", "object", "index", "subscript"))
_GUARDED |= {"shadow_overlap"}
"""The shadow instructions with guards of their own; the others have it among their operands."""

_TABLE, _LEFT, _RIGHT, _RIGHT_SIGNED, _FIELD, _FIELD_SIGNED, _INSERT, _CONVERT, _PERMUTE = range(9)
"""The modes of shadow_bits."""

_BYTES = 16
_BITS_BYTES = 8 + 8 * 32
"""The size of a shadow: the lanes, and where the value comes from. One with the bits of each lane
begins at an odd multiple of 8, any other at an even one."""
_LIBRARY, _IN_PART, _OWN, _ADDRESS, _OF_OBJECT = 1, 2, 4, 8, 1
"""The flags of a check: code of a library; values that are defined in part are only copied; the
register is a variable of a library; it is an address. What follows a store has the first three.
What is handed over has the third, and the last one: it is a part of an object."""
_SHARED_ADDRESS, _ANY_MEMORY, _IS_WRITTEN, _BY_LIBRARY, _WHOLE, _ATOMIC = 1, 2, 4, 8, 16, 32
"""The flags of a load: an address that all lanes share; shared and global memory are looked at, of
which another watcher has found that it was written; code of a library; a value must not have bytes
that were written and others that never were; an atomic."""


def make_shadows(
    f: Function,
    o: Operands,
    shadowed: list[str],
    functions: Mapping[str, Function],
    variables: LocalVariables | None,
    use: Use,
) -> Shadows | None:
    """The shadows of a function, in registers of its file.

    Args:
        f: the function.
        o: its operands.
        shadowed: the PTX types of all registers with a shadow; those of this function are added.
        functions: the functions of the kernel by name.
        variables: the local variables of the module.
        use: what the functions of the kernel have.

    Returns None when the function needs no shadows.
    """
    undefined, local = use.undefined_in(f), LocalAccesses(f) if use.has_locals else None
    handed, own = use.handed(f, functions), f.name in use.numbered or (local and local.accesses)
    if not (undefined or own or use.follows or handed or use.subscripts):
        return None
    more = used_arguments(f, functions, use.parameters), local, handed, variables
    return Shadows(f, undefined, o, shadowed, *more, use)


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
        handed: frozenset[int],
        variables: LocalVariables | None,
        use: Use,
    ) -> None:
        self.o, self.used_arguments, self.library = o, used_arguments, f.library
        self.accesses = local.accesses if local else frozenset()
        self.uniform = local.uniform if local else frozenset()
        self.follows, self.follows_copies = use.follows, use.copies
        self.followed, self.copied_words, self.by_pointer = use.loads_in(f)
        in_memory = local.loaded if local else frozenset()
        self.from_memory = self.followed | self.copied_words
        self.handed, self.own = handed, library_registers(f)
        loads = self.from_memory | handed
        in_memory |= {n for i in f.body if id(i) in loads for n in targets(i)}
        self.true = o.source("1", 0)
        self.at, self.number = dict[str, int](), dict[str, int]()
        self.moves, self.computing, names = holders(f, undefined, in_memory, library=use.library)
        for name, has_bits in names.items():
            self.at[name] = self.allocate(bits=has_bits)
            self.number[name] = len(shadowed)
            shadowed.append(f.registers[name])
        self.scratch, self.own_variables = self.allocate(bits=False), use.numbered_in(f)
        self.copies, self.using = copy_groups(f, self.at), using_stores(f)
        self.checked = self.accesses if use.numbered else frozenset()
        self.using |= self.own_variables.whole
        self.subscripts, self.printed = use.subscripts, printed_stores(f, variables)
        self.marks = use.marks_of(f, variables)

    def allocate(self, *, bits: bool) -> int:
        """The place of a new shadow."""
        registers = self.o.registers
        registers.allocate(-registers.bytes % 16 + 8 * bits)
        return registers.allocate(_BITS_BYTES if bits else _BYTES)

    def before(self, i: Instruction, pc: int) -> list[Insn]:
        """The checks of what `i` uses and the shadows of what it writes."""
        written, moves = [n for n in targets(i) if n in self.at], id(i) in self.moves
        used = [] if moves else [n for n in dict.fromkeys(sources(i)) if n in self.at]
        computes = bool(used) and id(i) in self.computing
        insns = [] if computes else [*self.checks(i, used)]
        insns += access_checks(i, self.o, self.own_variables, local=id(i) in self.checked)
        insns += subscript_checks(i, self.subscripts)
        if computes:
            to, parts = ([self.at[name] for name in names] for names in (written, used))
            insns += computed(i, to, parts, self.number[used[0]], _OWN * (used[0] in self.own))
        elif id(i) in self.accesses or id(i) in self.from_memory:
            insns += self.local_access(i)
        elif id(i) in self.handed:
            insns += self.handed_over(i)
        else:
            insns += self.copied(i, written) if moves else self.defined(written)
        marks = marked(self.marks.get(id(i), ()), self.at, self.o, pc)
        return marks + self.guarded(i, insns, pc)

    def around(self, i: Instruction, insns: list[Insn], pc: int) -> list[Insn]:
        """The machine instructions of `i`, with the shadow instructions that run after it."""
        own = self.own_variables
        for insn in insns:
            if (place := own.displacements.get(id(i))) is not None:
                insn.b = self.o.source(str(place), 8)
            mark_followed(insn, id(i) in self.followed, copies=self.follows_copies)
            if insn.exec == "call_vprintf" and (known := own.printed.get(id(i))) is not None:
                insn.imm, insn.flag = known, 1
        if (made := own.made.get(id(i))) is not None:
            insns.append(address_made(i, made, self.o, pc))
        if not is_stored(i):
            return insns
        how = _LIBRARY * (i.library or self.library) | _IN_PART * (id(i) not in self.using)
        checked = id(i) in self.copies or id(i) in self.printed
        after = []
        for name, insn in stored_values(i, self.o, checked=checked):
            if name in self.at or self.follows:
                insn.d, insn.b = self.of(name), self.number.get(name, 0)
                insn.flag |= how | _OWN * (name in self.own)
                after.append(insn)
        return insns + self.guarded(i, after, pc)

    def guarded(self, i: Instruction, insns: list[Insn], pc: int) -> list[Insn]:
        """Give shadow instructions the guard and the place of the one that they accompany."""
        for insn in insns:
            if insn.exec in ("shadow_check", "shadow_compute"):
                own = i.op.split(".")[0] in MATRIX  # whatever library function executes it
                insn.flag |= _LIBRARY * (not own and (i.library or self.library))
        if i.guard is not None:
            guard, negate = self.o.predicate(i.guard[0]) + 1, int(i.guard[1])
            for insn in insns:
                if insn.exec in _GUARDED:
                    insn.guard, insn.negate = guard, negate
                else:
                    insn.imm = guard | negate << 32
            if i.guard[0] in self.at and not all(x.exec == "shadow_stored" for x in insns):
                insns.insert(0, self.check(i.guard[0]))
        for insn in insns:
            insn.pc = pc
        return insns

    def checks(self, i: Instruction, used: list[str]) -> Iterator[Insn]:
        """A check of each register that `i` uses, except for what a store only copies."""
        parts = i.op.split(".")
        where = {n for x in i.operands if x.startswith("[") for n in _REGISTER.findall(x)}
        if parts[0] == "call":
            used = [name for name in used if name == i.operands[0]]
        if parts[0] != "st" or len(i.operands) != 2:
            yield from (self.check(n, _ADDRESS * (n in where)) for n in used)
            return
        yield from (self.check(n, _ADDRESS) for n in sorted(where.intersection(self.at)))
        space, values = space_of(parts), vector(i.operands[1])
        if id(i) in self.printed:
            yield from map(self.check, filter(self.at.__contains__, values))
        elif space == PARAM:
            own = not (self.computing and (i.library or self.library))
            given = [x for x in pieces(i) if own and x[0] in self.at]
            yield from (self.check(v, _IN_PART, p[2]) for v, p in given if p in self.used_arguments)
        elif space != LOCAL:
            yield from self.stored(i, self.copies.get(id(i), values), space)

    def stored(self, i: Instruction, values: list[str], space: int) -> Iterator[Insn]:
        """The check that a vector's store, or the last one of several, copies anything defined."""
        if len(values) < 2 or any(v not in self.at for v in values):
            return
        size = TYPE_BYTES[i.op.split(".")[-1]]
        insn = self.check(values[0])
        yield self.any([self.at[v] for v in values[:4]], size)
        for k in range(4, len(values), 3):
            parts = [self.scratch, *(self.at[v] for v in values[k : k + 3])]
            yield self.any(parts, size)
        insn.a, insn.flag, insn.count = self.scratch, 0, 0
        if space == GENERIC:
            insn.c, insn.mode = self.address(i.operands[0])
        yield insn

    def address(self, text: str) -> tuple[int, int]:
        """The register with a store's generic address and its 8 bytes; (0, 0) if there is none."""
        base, _ = address(text)
        return (self.o.registers.at[base], 8) if self.o.registers.width.get(base) == 8 else (0, 0)

    def check(self, name: str, flag: int = 0, size: int = 0) -> Insn:
        """The check that a register is defined; with _IN_PART: a part of its first bytes."""
        insn = Insn("shadow_check", self.o.registers.at[name], self.at[name], self.number[name])
        insn.flag, insn.size, insn.count = flag | _OWN * (name in self.own), size, 1
        insn.width = self.o.registers.width[name]
        return insn

    def defined(self, written: list[str]) -> list[Insn]:
        """The shadows of registers that an instruction defines in all its lanes."""
        return [Insn("shadow_copy", self.at[name], self.true) for name in written]

    def copied(self, i: Instruction, written: list[str]) -> list[Insn]:
        """The shadows of what a moving instruction writes, from those of its sources."""
        head = i.op.split(".")[0]
        if head == "selp":
            a, b, p = i.operands[1:4]
            a, b, p = (b, a, p.lstrip("! ")) if p.startswith("!") else (a, b, p)
            at, to = self.o.condition(p), [self.at[d] for d in written]
            insns = [Insn("shadow_select", d, self.of(a), self.of(b), at) for d in to]
            if p in self.at and self.computing:
                return insns + computed(i, to, [*to, self.at[p]], self.number[p], 0)
            return [self.check(p), *insns] if p in self.at else insns
        if head == "shfl":
            return self.shuffled(i, written)
        if masks_bits(i) or head in ("cvt", "and"):
            by = [x for x in i.operands[2:] if head in ("shl", "shr") and x in self.at]
            return [*map(self.check, by), *(self.masked(i, head, d) for d in written)]
        return self.moved(i, written)

    def moved(self, i: Instruction, written: list[str]) -> list[Insn]:
        """The shadows of a move, which may pack or unpack registers."""
        to, given = vector(i.operands[0]), vector(i.operands[1])
        width = TYPE_BYTES[i.op.split(".")[-1]]
        if not written:
            return []
        if len(given) > 1:
            parts, each = [self.of(v) for v in given], width // len(given)
            insn = make_insn("shadow_pack", self.at[to[0]], parts, width=each)
            insn.count = len(given)
            return [insn]
        source = self.of(given[0])
        if len(to) == 1:
            given_to = int(i.library and given[0] not in self.own)
            return [Insn("shadow_copy", self.at[d], source, flag=given_to) for d in written]
        each = width // len(to)
        targeted = [(self.at[d], k) for k, d in enumerate(to) if d in self.at]
        targeted.sort(key=lambda part: part[0] == source)
        return [Insn("shadow_unpack", d, source, size=k, width=each) for d, k in targeted]

    def masked(self, i: Instruction, head: str, d: str) -> Insn:
        """The shadow of a result whose bits come from known bits of the operands."""
        kinds, (a, *others) = types_of(i.op), i.operands[1:]
        width = TYPE_BYTES[kinds[-1]]
        insn = Insn("shadow_bits", self.at[d], width=width)
        refs, shadows = [self.value(a, width)], [self.of(a), self.true, self.true]
        if head == "cvt":
            insn.mode, insn.size, insn.count = _CONVERT, TYPE_BYTES[kinds[0]], kinds[-1][0] == "s"
        elif (table := table_of(i)) is not None:
            inputs = [x for x in others if x in self.o.registers.at or head != "lop3"][:2]
            inputs = others[:2] if head == "lop3" else inputs
            refs += [self.value(x, width) for x in inputs]
            shadows[1 : 1 + len(inputs)] = [self.of(x) for x in inputs]
            insn.flag = table
        elif head == "prmt":
            refs += [self.value(x, width) for x in others]
            shadows[1:] = [self.of(x) for x in others]
            insn.mode, insn.flag = _PERMUTE, PERMUTATIONS.index(i.op.split(".")[-1])
        elif head == "bfi":
            shadows[1] = self.of(others[0])
            insn.mode, insn.size, insn.count = _INSERT, *(integer(x) & 255 for x in others[1:])
        else:
            insn.flag = others[0] in self.o.registers.at  # a shift by a register
            refs += [self.value(others[0], 4)] * insn.flag
            numbers = [] if insn.flag else [integer(x) & 0xFFFF for x in others]
            signed = kinds[-1][0] == "s"
            modes = {"shl": _LEFT, "shr": _RIGHT + signed, "bfe": _FIELD + signed}
            insn.mode, (insn.size, insn.count) = modes[head], [*numbers, 0, 0][:2]
        insn.a, insn.b, insn.c = (refs + refs[:1] * 2)[:3]
        insn.e, insn.imm = shadows[0], shadows[1] | shadows[2] << 32
        return insn

    def value(self, text: str, width: int) -> int:
        """The reference of an operand's value; that of its register whatever its width."""
        at = self.o.registers.at.get(text)
        return self.o.source(text, width) if at is None else at

    def local_access(self, i: Instruction) -> Iterator[Insn]:
        """The shadow instructions of a load from local memory, or a store to it."""
        parts = i.op.split(".")
        load = parts[0] != "st"
        values, where = i.operands[:2] if load else i.operands[::-1]
        base, _ = address(where)
        a, add, mode = base_of(self.o, where, space_of(parts))
        size, key = TYPE_BYTES[parts[-1]], id(i)
        flag = _SHARED_ADDRESS * (base in self.uniform) | _ANY_MEMORY * (key in self.from_memory)
        flag |= _IS_WRITTEN * (key in self.copied_words) | _WHOLE * (key in self.by_pointer)
        flag |= _BY_LIBRARY * (i.library or self.library)
        for k, name in enumerate(vector(values)):
            if load and name not in self.at:
                continue
            insn = Insn("shadow_load" if load else "shadow_store", self.of(name), a, flag=flag)
            insn.imm, insn.size, insn.mode, insn.space = add + k * size, size, mode, space_of(parts)
            insn.width = self.o.registers.width.get(name, size)
            if parts[0] == "atom":
                insn.flag |= _ATOMIC
                insn.e = next(ATOMICS.index(p) for p in parts if p in ATOMICS)
                insn.b = self.o.source(i.operands[2], insn.width)
            yield insn

    def handed_over(self, i: Instruction) -> Iterator[Insn]:
        """The shadow instructions of a load or store of an argument or a result."""
        load = i.op.startswith("ld")
        values, where = i.operands if load else i.operands[::-1]
        (base, at), frame = address(where), self.o.frame
        place, bytes_ = frame.places[base], frame.sizes[base]
        at += place + frame.shadow(bytes_)
        size, names = TYPE_BYTES[i.op.split(".")[-1]], vector(values)
        if at < place or at + size * len(names) > frame.bytes:
            raise OperandError(f"{where} is outside its parameter")
        for k, name in enumerate(names):
            if load and name not in self.at:
                continue
            insn = Insn("shadow_take" if load else "shadow_give", self.of(name), imm=at + k * size)
            insn.size, insn.width = size, self.o.registers.width.get(name, size)
            insn.b, insn.flag = place + frame.origin(bytes_), _OWN * (name in self.own)
            insn.flag |= _OF_OBJECT * (size * len(names) < bytes_)
            yield insn

    def any(self, parts: list[int], size: int) -> Insn:
        """Whether any of up to four parts of `size` bytes is defined, in the scratch shadow."""
        insn = make_insn("shadow_any", self.scratch, (parts + parts[:1] * 3)[:4])
        insn.size = size
        return insn

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
