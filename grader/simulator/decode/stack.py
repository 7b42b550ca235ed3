"""What is known of a function's stack frame and loads: variables, what is read, subscripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from math import prod
from operator import or_

from grader import regex
from grader.compile.program import Subscript
from grader.simulator.decode.dataflow import access_head, sources, targets
from grader.simulator.decode.indexing import Statics
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.memory import PARAM, accessed, space_of
from grader.simulator.decode.operands import address_or_none, vector
from grader.simulator.ptx.constants import integer
from grader.simulator.ptx.debug_info import LocalVariable, LocalVariables
from grader.simulator.ptx.model import FRAME, TYPE_BYTES, Function, Instruction, Module

_NUMBER = regex(r"\d{1,9}")
_SCALAR = regex(
    r"(?:(?:unsigned|signed|long|short|int|char|bool|float|double) ?)+|u?int\d+_t|size_t|.*\*"
)
_CONSTANT = regex(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")
_ALL_BITS, _MOST_STEPS = (1 << 64) - 1, 16
ACCESSES = ("ld", "st", "atom", "red")
_MAKES_ADDRESSES = frozenset(("add", "sub", "mul", "mad", "shl", "cvt", "and", "or", "mov", "cvta"))
STORE = 64  # in the flag of a check of bounds, as in a report


def local_variables(sections: Mapping[str, str]) -> LocalVariables:
    """The local variables of a module, by its debug sections: read once for all its kernels."""
    return _local_variables(tuple(sections.items()))


@lru_cache(maxsize=1)  # trials decode a dozen kernels of one module in turn
def _local_variables(sections: tuple[tuple[str, str], ...]) -> LocalVariables:
    return LocalVariables(dict(sections))


def is_scalar(v: LocalVariable) -> bool:
    """Whether a variable is a number or a pointer."""
    return _SCALAR.fullmatch(v.kind + v.extent) is not None


def scalar_copies(f: Function, statics: Statics) -> set[int]:
    """The stores, by id, of integers: variables of the source, elements, and members.

    They have no padding. A member is one where the statement names it: a copy of the whole struct
    or union has the same code.
    """
    variables = statics.known
    frame = next((v.name for v in f.variables if v.space == "local"), "")
    whole, out = dict[str, int](), set[int]()
    for i in f.body if frame else ():
        head, size = i.op.split(".")[0], TYPE_BYTES.get(i.op.split(".")[-1], 0)
        head = head if len(i.operands) == 2 else ""
        if head == "st" and whole.get(i.operands[1]) == size:
            out.add(id(i))
            continue
        base, offset = address_or_none(i.operands[-1]) if head == "ld" else ("", 0)
        v = variables.at(frame, offset) if base == "%SP" else None
        bytes_ = whole.get(i.operands[-1], 0) if head == "mov" else 0
        if v is not None and _SCALAR.fullmatch(v.kind):
            element = v.bytes // max(prod(map(int, _NUMBER.findall(v.extent))), 1)
            bytes_ = size if element == size and (offset - v.offset) % size == 0 else 0
        elif v is not None and size:
            names = variables.scalars(v.type, offset - v.offset, size)
            bytes_ = size * statics.names_member(i.location.line, names)
        whole |= dict.fromkeys(targets(i), bytes_)
    return out


def subscripts_of(module: Module, kernel: str) -> tuple[Subscript, ...]:
    """The subscripts of a module that are outside their arrays wherever they are executed.

    One of a template is left out where another function has its line, too: it may be an instance
    that the subscript is inside in.
    """
    if not module.subscripts:
        return ()
    files = {i.location.file for i in module.functions[kernel].body if i.location.line}
    lines = [
        {i.location.line for i in f.body if i.location.file in files}
        for f in module.functions.values()
    ]
    return tuple(
        s
        for s in module.subscripts
        if not s.instances or sum(s.line in own for own in lines) == s.instances
    )


def is_watched(i: Instruction, subscripts: Sequence[Subscript]) -> bool:
    """Whether an instruction is an access in a line with a subscript outside its array."""
    parts = i.op.split(".")
    if i.via or i.library or parts[0] not in ("ld", "st", "atom", "red"):
        return False
    return space_of(parts) != PARAM and any(s.line == i.location.line for s in subscripts)


def subscript_checks(i: Instruction, subscripts: Sequence[Subscript]) -> Iterator[Insn]:
    """The report that an access in a line with a subscript outside its array is executed."""
    if not subscripts or not is_watched(i, subscripts):
        return
    store = i.op.startswith("st")
    size = TYPE_BYTES[i.op.split(".")[-1]] * len(vector(i.operands[1 - store]))
    yield Insn("shadow_subscript", size=size, flag=STORE * store)


def mark_used_bytes(functions: Sequence[Function], variables: LocalVariables | None) -> None:
    """Mark which bytes of loads the functions of a kernel use, where these are not all.

    Args:
        functions: the functions.
        variables: their local variables; None in optimized code.

    Optimized code has a program's copies in registers: what masks, shifts, permutations and
    conversions cut off there may be padding. No such byte is marked where no access is to less than
    a word, of which the watchers then know all bytes alike.
    """
    ops = {i.op for f in functions for i in f.body}
    sizes = (accessed(op.split(".")) for op in ops) if variables is None else ()
    by_bytes = any(access is not None and access[1] < 4 for access in sizes)
    for f in functions:
        _drop_dead_elements(f, variables)
        if by_bytes:
            _drop_cut_bytes(f)


def _drop_dead_elements(f: Function, variables: LocalVariables | None) -> None:
    """Mark what vector loads load and no instruction reads as unused.

    `-G` code copies a whole vector to the stack frame: elements that nothing loads there are not
    read either.
    """
    vectors = [i for i in f.body if _loads_vector(i)]
    if not vectors:
        return
    dead = _unread_in_frame(f, variables)
    read = {name for i in f.body if id(i) not in dead for name in sources(i)}
    read |= {name for i in f.body if id(i) in dead for name in dead[id(i)]}
    for i in vectors:
        size = TYPE_BYTES.get(i.op.split(".")[-1], 0)
        alive = [name in read for name in vector(i.operands[0])]
        if not all(alive) and any(alive):
            whole = (1 << size) - 1
            used = sum(whole << k * size for k, lives in enumerate(alive) if lives)
            i.used = used if i.used is None else used & i.used or i.used


def _loads_vector(i: Instruction) -> bool:
    return i.op.startswith("ld.") and "".join(i.operands[:1]).startswith("{")


def _unread_in_frame(f: Function, variables: LocalVariables | None) -> dict[int, list[str]]:
    """By id, the stores to the stack frame, with what they store that the function may load again.

    Where an address in the frame is made, only those to known variables that it is not in.
    """
    loaded: list[tuple[int, int]] = []
    stores: list[tuple[Instruction, int, int]] = []
    made: list[int] = []
    for i in f.body:
        parts = i.op.split(".")
        if not any("%SP" in x for x in i.operands):
            continue
        base, at = address_or_none(i.operands[parts[0] != "st"] if len(i.operands) == 2 else "")
        if base not in FRAME or parts[0] not in ("ld", "st"):
            if parts[0] in ("mov", "cvta") and i.operands[0] in FRAME:
                continue
            if parts[0] != "add" or i.operands[1] != "%SP" or not _CONSTANT.match(i.operands[2]):
                return {}
            made.append(integer(i.operands[2]))
            continue
        size = TYPE_BYTES.get(parts[-1], 8)
        if parts[0] == "st":
            stores.append((i, at, size))
        else:
            loaded.append((at, at + size * len(vector(i.operands[0]))))
    return {
        id(i): [
            name
            for k, name in enumerate(vector(i.operands[1]))
            if any(a < at + (k + 1) * size and at + k * size < b for a, b in loaded)
        ]
        for i, at, size in stores
        if not made or _stays_apart(f, variables, i, made)
    }


def _stays_apart(
    f: Function, variables: LocalVariables | None, store: Instruction, made: Sequence[int]
) -> bool:
    """Whether a store is to a known variable, in which no address of those `made` is."""
    frame = next((v.name for v in f.variables if v.space == "local"), "")
    at = address_or_none(store.operands[0])[1]
    size = TYPE_BYTES.get(store.op.split(".")[-1], 8) * len(vector(store.operands[1]))
    v = variables.at(frame, at) if variables is not None else None
    if v is None or at + size > v.offset + v.bytes:
        return False
    return not any(v.offset <= x <= v.offset + v.bytes for x in made)


def _drop_cut_bytes(f: Function) -> None:
    """Mark the bytes of loads that no instruction makes anything of."""
    bits = _UsedBits(f)
    for i in f.body:
        parts = i.op.split(".")
        if parts[0] != "ld" or len(i.operands) != 2:
            continue
        size, used = TYPE_BYTES.get(parts[-1], 0), 0
        names = vector(i.operands[0])
        for k, name in enumerate(names if 1 < size <= 8 else ()):
            own = bits.of(name)
            used |= sum(1 << k * size + n for n in range(size) if own >> 8 * n & 255)
            extends = parts[-1].startswith("s") and own >> 8 * size
            used |= 1 << (k + 1) * size - 1 if extends else 0
        used &= -1 if i.used is None else i.used
        if used and used != (1 << size * len(names)) - 1:
            i.used = used


class _UsedBits:
    """Which bits of a function's registers may change anything beyond registers."""

    def __init__(self, f: Function) -> None:
        self.users: dict[str, list[Instruction]] = {}
        written = Counter[str]()
        self.constants: dict[str, int] = {}
        for i in f.body:
            for name in dict.fromkeys((*sources(i), *([i.guard[0]] if i.guard else ()))):
                self.users.setdefault(name, []).append(i)
            written.update(targets(i))
            if i.op.startswith("mov.") and _CONSTANT.fullmatch(i.operands[1]):
                self.constants[i.operands[0]] = integer(i.operands[1])
        self.constants = {x: n for x, n in self.constants.items() if written[x] == 1}
        self.known: dict[str, int] = {}
        self.depth = 0

    def of(self, name: str) -> int:
        """The bits of a register that are used; those of one that its own value makes are all."""
        if name not in self.known and self.depth < _MOST_STEPS:
            self.known[name] = _ALL_BITS
            self.depth += 1
            self.known[name] = reduce(or_, (self.by(i, name) for i in self.users.get(name, ())), 0)
            self.depth -= 1
        return self.known.get(name, _ALL_BITS)

    def by(self, i: Instruction, name: str) -> int:
        """The bits of a register that an instruction uses."""
        head, kind = i.op.split(".")[0], i.op.split(".")[-1]
        plain = i.guard is None and kind[0] in "bus" and kind[1:].isdigit()
        if head == "st" and plain and len(i.operands) == 2 and name not in i.operands[0]:
            return (1 << 8 * TYPE_BYTES[kind]) - 1
        if plain and head == "prmt" and name not in i.operands[3]:
            return self.permuted(i, name)
        if not plain or len(i.operands) < 2 or i.operands[1] != name or name in i.operands[2:]:
            return _ALL_BITS
        names = vector(i.operands[0])
        each = 8 * TYPE_BYTES[kind] // len(names)
        parts = [self.of(x) & (1 << each) - 1 << k * each for k, x in enumerate(names)]
        wanted = sum(parts) if len(parts) > 1 else self.of(names[0])
        numbers = [integer(x) for x in i.operands[2:] if _CONSTANT.fullmatch(x)]
        return _bits_before(i.op.split("."), numbers, wanted, len(i.operands))

    def permuted(self, i: Instruction, name: str) -> int:
        """The bits of a register that a permutation by a constant selector uses."""
        d, a, b, selector = i.operands
        constant = _CONSTANT.fullmatch(selector)
        places = integer(selector) if constant else self.constants.get(selector)
        if places is None:
            return _ALL_BITS
        wanted, used = self.of(d), 0
        for k in range(4):
            place, own = places >> 4 * k & 15, wanted >> 8 * k & 255
            taken = 0x80 * (own > 0) if place & 8 else own
            if (a, b)[place >> 2 & 1] == name:
                used |= taken << 8 * (place & 3)
        return used


def _bits_before(parts: list[str], numbers: list[int], wanted: int, operands: int) -> int:
    """The bits of an operand of which the bits `wanted` of a result are made.

    Args:
        parts: the opcode.
        numbers: the constants among the other operands.
        wanted: the bits of the result.
        operands: the number of operands.
    """
    head, kind = parts[0], parts[-1]
    width, sign = 8 * TYPE_BYTES[kind], 8 * TYPE_BYTES[kind] - 1
    if head == "mov" and operands == 2:
        return wanted
    if head == "cvt" and len(parts) == 3 and parts[1] in TYPE_BYTES and parts[1][0] in "us":
        extends = kind[0] == "s" and TYPE_BYTES[parts[-2]] > TYPE_BYTES[kind] and wanted >> width
        low = min(width, 8 * TYPE_BYTES[parts[-2]])
        return wanted & (1 << low) - 1 | (1 << sign if extends else 0)
    if len(numbers) != operands - 2 or not numbers:
        return _ALL_BITS
    if head == "and":
        return wanted & numbers[0]
    if head == "shl":
        return (wanted & (1 << width) - 1) >> min(numbers[0], width)
    if head == "shr":
        by = min(numbers[0], width)
        moved = (wanted & (1 << width) - 1) << by & (1 << width) - 1
        return moved | (1 << sign if kind[0] == "s" and wanted >> width - by else 0)
    if head == "bfe":
        by, bits = (x & 255 for x in numbers)
        field = (1 << bits) - 1 << by
        return (
            field & (1 << width) - 1 if wanted and by + bits <= width else _ALL_BITS * (wanted > 0)
        )
    return _ALL_BITS


def frame_registers(f: Function) -> tuple[frozenset[str], frozenset[str]]:
    """The registers with addresses in a function's stack frame, and what is loaded from there.

    None where an address goes anywhere else: others may then read what the function stores there.
    """
    nowhere = frozenset[str](), frozenset[str]()
    names, before = set(FRAME), 0
    while before != len(names):
        before = len(names)
        for i in f.body:
            if access_head(i) in ACCESSES or names.isdisjoint(sources(i)):
                continue
            if i.op.split(".")[0] not in _MAKES_ADDRESSES:
                return nowhere
            names.update(targets(i))
    written = (x for i in f.body if access_head(i) in ACCESSES[1:] for x in i.operands[1:])
    if any(not names.isdisjoint(vector(x)) for x in written):
        return nowhere
    loads = (i for i in f.body if access_head(i) == "ld")
    own = (i for i in loads if address_or_none(i.operands[1])[0] in names)
    return frozenset(names), frozenset(name for i in own for name in targets(i))


def users_of(f: Function) -> dict[str, list[int]]:
    """The instructions that read each register, and each place in the stack frame."""
    users: dict[str, list[int]] = {}
    for at, i in enumerate(f.body):
        slot = stack_slot(i) if i.op.startswith("ld") else ""
        for name in [*sources(i), *([slot] if slot else [])]:
            users.setdefault(name, []).append(at)
    return users


def stack_slot(i: Instruction) -> str:
    """The place in the function's own stack frame that a load or store accesses, or ""."""
    if i.op.split(".")[0] not in ("ld", "st") or len(i.operands) != 2:
        return ""
    where = i.operands[0 if i.op.startswith("st") else 1]
    return where if where.strip("[ ]").partition("+")[0] in FRAME else ""


def copies_of(f: Function, at: int, users: Mapping[str, list[int]]) -> set[str]:
    """The registers and places in the stack frame that get what an instruction gives, unchanged."""
    work = [*targets(f.body[at])]
    copies = set(work)
    for name in work:
        for i in (f.body[k] for k in users.get(name, ())):
            slot = stack_slot(i)
            moves = slot or i.op.startswith("mov.")
            new = [x for x in targets(i) or [slot] if moves and x and x not in copies]
            copies.update(new)
            work += new
    return copies
