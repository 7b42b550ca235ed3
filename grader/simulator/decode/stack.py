"""What is known of a function's stack frame: its variables, what is read there, subscripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod

from grader.compile.program import Subscript
from grader.simulator.decode.dataflow import access_head, sources, targets
from grader.simulator.decode.indexing import Statics
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.memory import PARAM, space_of
from grader.simulator.decode.operands import address_or_none, vector
from grader.simulator.ptx.debug_info import LocalVariable, LocalVariables
from grader.simulator.ptx.model import FRAME, TYPE_BYTES, Function, Instruction, Module

_NUMBER = re.compile(r"\d{1,9}")
_SCALAR = re.compile(
    r"(?:(?:unsigned|signed|long|short|int|char|bool|float|double) ?)+|u?int\d+_t|size_t|.*\*"
)
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


def drop_dead_elements(f: Function) -> None:
    """Mark what vector loads load and no instruction reads as unused.

    `-G` code copies a whole vector to the stack frame: elements that nothing loads there are not
    read either.
    """
    vectors = [i for i in f.body if i.used is None and _loads_vector(i)]
    if not vectors:
        return
    dead = _unread_in_frame(f)
    read = {name for i in f.body if id(i) not in dead for name in sources(i)}
    read |= {name for i in f.body if id(i) in dead for name in dead[id(i)]}
    for i in vectors:
        size = TYPE_BYTES.get(i.op.split(".")[-1], 0)
        alive = [name in read for name in vector(i.operands[0])]
        if not all(alive) and any(alive):
            whole = (1 << size) - 1
            i.used = sum(whole << k * size for k, lives in enumerate(alive) if lives)


def _loads_vector(i: Instruction) -> bool:
    return i.op.startswith("ld.") and "".join(i.operands[:1]).startswith("{")


def _unread_in_frame(f: Function) -> dict[int, list[str]]:
    """By id, the stores to the stack frame, with what they store that the function may load again.

    Empty where an address in the frame is used otherwise than by loads and stores.
    """
    loaded: list[tuple[int, int]] = []
    stores: list[tuple[Instruction, int, int]] = []
    for i in f.body:
        parts = i.op.split(".")
        if not any("%SP" in x for x in i.operands):
            continue
        base, at = address_or_none(i.operands[parts[0] != "st"] if len(i.operands) == 2 else "")
        if base not in FRAME or parts[0] not in ("ld", "st"):
            if parts[0] in ("mov", "cvta") and i.operands[0] in FRAME:
                continue
            return {}
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
    }


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
