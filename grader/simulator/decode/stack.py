"""What is known of a function's stack frame: the arguments of `printf`, and numbers of variables.

The compiler stores the arguments one behind the other in the frame, where no variable of the source
is, directly before it calls `vprintf` with their address. That function reads them, and its code is
no part of the module: so the stores are the uses of what is printed.

An address that is made of a variable has the variable's number in high bits, which keep it whatever
is computed from it and wherever it is stored. So an access through any pointer must be to the
variable that the pointer was made from (`ptx_shadow_object`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from math import prod

from grader import dataclass
from grader.compile.program import Subscript
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.memory import GENERIC, PARAM, base_of, space_of
from grader.simulator.decode.operands import Operands, address_or_none, vector
from grader.simulator.decode.parameters import COPY
from grader.simulator.ptx.debug_info import InnerArray, LocalVariable, LocalVariables
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction, Module

_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
_NUMBER, _SIGNED = re.compile(r"\d{1,9}"), re.compile(r"-?\d{1,9}")
_SCALAR = re.compile(
    r"(?:(?:unsigned|signed|long|short|int|char|bool|float|double) ?)+|u?int\d+_t|size_t|.*\*"
)
_STORE = 64  # in the flag of a check of bounds, as in a report
_MOST_ADDED = 16
"""What an address is followed through at most."""
_MOST_VARIABLES, _VARIABLE_SHIFT = 63, 42
"""Numbers of variables, and where an address has them: see core/machine/launch.h."""


def local_variables(sections: Mapping[str, str]) -> LocalVariables:
    """The local variables of a module, by its debug sections: read once for all its kernels."""
    return _local_variables(tuple(sections.items()))


@lru_cache(maxsize=1)  # trials decode a dozen kernels of one module in turn
def _local_variables(sections: tuple[tuple[str, str], ...]) -> LocalVariables:
    return LocalVariables(dict(sections))


def printed_stores(f: Function, variables: LocalVariables | None) -> frozenset[int]:
    """The stores, by id, of what `printf` prints."""
    if not any(i.op.startswith("call") and "vprintf" in i.operands for i in f.body):
        return frozenset()  # as most functions; all are decoded
    frame = next((v.name for v in f.variables if v.space == "local"), "")
    printed: set[int] = set()
    stored: list[tuple[int, int]] = []
    given: dict[str, str] = {}
    offsets: dict[str, int] = {}
    starts = set(f.labels.values())
    for at, i in enumerate(f.body):
        if at in starts:
            stored.clear()
        head, *rest = i.op.split(".")
        if head == "call":
            first = offsets.get(_last_argument(given, i))
            printed.update(key for key, offset in stored if first is not None and offset >= first)
            stored.clear()
        elif head == "st" and len(i.operands) == 2:
            base, offset = address_or_none(i.operands[0])
            if "param" in rest:
                given[base] = i.operands[1]
            elif base in ("%SP", "%SPL") and not (variables and variables.at(frame, offset)):
                stored.append((id(i), offset))
        elif head == "add" and i.operands[1:2] == ["%SP"] and _NUMBER.fullmatch(i.operands[-1]):
            offsets[i.operands[0]] = int(i.operands[-1])
    return frozenset(printed)


def scalar_copies(f: Function, variables: LocalVariables | None) -> frozenset[int]:
    """The stores, by id, of integer variables of the source, or elements: they have no padding."""
    frame = next((v.name for v in f.variables if v.space == "local"), "")
    whole, out = dict[str, int](), set[int]()
    for i in f.body if frame and variables else ():
        head, size = i.op.split(".")[0], TYPE_BYTES.get(i.op.split(".")[-1], 0)
        head = head if len(i.operands) == 2 else ""
        if head == "st" and whole.get(i.operands[1]) == size:
            out.add(id(i))
            continue
        base, offset = address_or_none(i.operands[-1]) if head == "ld" else ("", 0)
        v = variables.at(frame, offset) if variables and base == "%SP" else None
        bytes_ = whole.get(i.operands[-1], 0) if head == "mov" else 0
        if v is not None and _SCALAR.fullmatch(v.kind):
            element = v.bytes // max(prod(map(int, _NUMBER.findall(v.extent))), 1)
            bytes_ = size if element == size and (offset - v.offset) % size == 0 else 0
        whole |= dict.fromkeys(targets(i), bytes_)
    return frozenset(out)


def _last_argument(given: Mapping[str, str], call: Instruction) -> str:
    """The register with the address of what `printf` prints; empty for any other call."""
    names = _NAME.findall(call.operands[-1]) if "vprintf" in call.operands else []
    return given.get(names[1], "") if len(names) == 2 else ""


@dataclass(frozen=True)
class Indexing:
    """An index of an array that is a member of a local variable, or a row.

    Attributes:
        register: the index in bytes, of 64 bits.
        add: what is added to it.
        bytes: what is accessed there.
        array: the array.
    """

    register: str
    add: int
    bytes: int
    array: InnerArray


@dataclass(frozen=True)
class Numbered:
    """The variables of a function whose addresses it makes.

    Attributes:
        places: the first byte of each in the frame, the one behind its last, and whether it is a
            scalar of the function's own, which a library that is inlined there may read.
        displacements: by id, the instructions that add a variable's place to the frame's address,
            and what they add: the number, too.
        indexings: by id, accesses at indices of arrays that are parts of these variables.
        arrays: these arrays, numbered.
    """

    places: list[tuple[int, int, bool]] = field(default_factory=list)
    displacements: dict[int, int] = field(default_factory=dict)
    indexings: dict[int, list[Indexing]] = field(default_factory=dict)
    arrays: dict[InnerArray, int] = field(default_factory=dict)


def bound_checks(i: Instruction, o: Operands, own: Numbered) -> Iterator[Insn]:
    """The checks that an access which may be to local memory stays in its variable, or in a part.

    Args:
        i: the access.
        o: the operands of its function.
        own: the numbered variables of its function.
    """
    parts = i.op.split(".")
    store = _STORE * (parts[0] == "st")
    values, where = i.operands[::-1] if store else i.operands
    a, add, mode = base_of(o, where, GENERIC)
    if space_of(parts) != GENERIC or mode != 8 or where.startswith("[%SP"):
        return
    size = TYPE_BYTES[parts[-1]] * len(vector(values))
    yield Insn("shadow_object", a=a, imm=add, size=size, flag=store)
    for x in own.indexings.get(id(i), ()):
        limit, number = x.array.elements * x.array.stride, own.arrays[x.array]
        insn = Insn("shadow_index", a=o.source(x.register, 8), b=limit, c=number, imm=x.add)
        insn.size, insn.flag = x.bytes, store
        yield insn


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


def subscript_check(i: Instruction) -> Insn:
    """The report that a watched access is executed."""
    store = i.op.startswith("st")
    size = TYPE_BYTES[i.op.split(".")[-1]] * len(vector(i.operands[1 - store]))
    return Insn("shadow_subscript", size=size, flag=_STORE * store)


def _numbered(f: Function, variables: LocalVariables, before: int) -> Numbered:
    """Number the variables of a function whose addresses it makes; none in a library's.

    A variable that the debug sections do not name has no number, nor has one after the most of a
    function. Those of functions with more in all share numbers.

    Args:
        f: the function.
        variables: the local variables of the module.
        before: how many variables of other functions have numbers.
    """
    numbered, numbers = Numbered(), dict[int, int]()
    frames = [v for v in f.variables if v.space == "local" and not v.name.endswith(COPY)]
    if len(frames) != 1 or f.library:
        return numbered
    own: dict[int, LocalVariable] = {}
    used_here = set[int]()
    for i in f.body:
        place = "".join(i.operands[2:])
        if i.op != "add.u64" or i.operands[1:2] != ["%SP"] or not _NUMBER.fullmatch(place):
            continue
        first = int(place)
        v = variables.largest.get((frames[0].name, first))
        fits = v is not None and 0 < v.bytes <= frames[0].bytes - first
        if v and fits and first not in own and len(own) < _MOST_VARIABLES:
            numbers[first] = 1 + (before + len(own)) % _MOST_VARIABLES
            own[first] = v
        if first in own:
            if not i.library:
                used_here.add(first)
            numbered.displacements[id(i)] = first + (numbers[first] << _VARIABLE_SHIFT)
    for first, v in own.items():
        is_scalar = _SCALAR.fullmatch(v.kind + v.extent) is not None
        numbered.places.append((first, first + v.bytes, is_scalar and first in used_here))
    numbered.indexings.update(_indexings(f, own, variables) if own else ())
    for found in numbered.indexings.values():
        for x in found:
            numbered.arrays.setdefault(x.array, len(numbered.arrays))
    return numbered


def numbered_in(
    functions: Sequence[Function], variables: LocalVariables | None
) -> dict[str, Numbered]:
    """The numbered variables of the functions that have any, in this order."""
    out, count = dict[str, Numbered](), 0
    if variables is None:
        return out
    for f in functions:
        if (found := _numbered(f, variables, count)).places:
            out[f.name] = found
            count += len(found.places)
    return out


def _indexings(
    f: Function, own: Mapping[int, LocalVariable], variables: LocalVariables
) -> Iterator[tuple[int, list[Indexing]]]:
    """By id, the accesses whose own expression indexes a part of a variable.

    Args:
        f: the function.
        own: its numbered variables by their first bytes.
        variables: the local variables of the module.
    """
    written = defaultdict(list)
    for i in f.body:
        for name in targets(i):
            written[name].append(i)
    once = {name: by[0] for name, by in written.items() if len(by) == 1 and by[0].guard is None}
    for i in f.body:
        parts = i.op.split(".")
        if parts[0] not in ("ld", "st") or len(i.operands) != 2 or "param" in parts:
            continue
        values, where = i.operands[::-1] if parts[0] == "st" else i.operands
        base, last = address_or_none(where)
        first, *added = _added(once, base) or [""]
        if not first or (v := own.get(int(first))) is None:
            continue
        size = TYPE_BYTES.get(parts[-1], 0) * len(vector(values))
        strides = [(more, _stride(once.get(more))) for more in added]
        if found := list(_indexed(v, strides, (last, size), variables)):
            yield id(i), found


def _added(once: Mapping[str, Instruction], name: str) -> list[str] | None:
    """What an expression adds to the frame's address, in turn; None for any other address."""
    added: list[str] = []
    while (by := once.get(name)) is not None and by.op in ("add.u64", "add.s64"):
        if len(by.operands) != 3 or len(added) == _MOST_ADDED:
            break
        _, name, more = by.operands
        added.append(more)
        if name == "%SP":
            return added[::-1] if _NUMBER.fullmatch(more) else None
    return None


def _stride(by: Instruction | None) -> int:
    """The bytes that an index is multiplied by where it is made; 0 when not known."""
    head, factor = (by.op.split(".")[0], by.operands[-1]) if by else ("", "")
    if head == "cvt":
        return 1
    if head not in ("shl", "mul") or not _NUMBER.fullmatch(factor):
        return 0
    return 1 << min(int(factor), 30) if head == "shl" else int(factor)


def _indexed(
    v: LocalVariable,
    added: list[tuple[str, int]],
    access: tuple[int, int],
    variables: LocalVariables,
) -> Iterator[Indexing]:
    """The indices of parts of a variable.

    Args:
        v: the variable.
        added: what is added to its address, in turn: numbers, and registers with their strides.
        access: the displacement and the bytes of the access.
        variables: the local variables of the module.
    """
    of, offset, path = (v.type, 0), 0, v.name
    found: list[tuple[str, InnerArray]] = []
    for more, stride in added:
        if _SIGNED.fullmatch(more):
            offset += int(more)
        elif stride and (array := variables.array(of, offset, stride, path)) is not None:
            of, offset, path = array.element, 0, f"{array.path}[...]"
            found.append((more, array))
        else:
            return
    last, size = access
    for k, (register, array) in enumerate(found, 1):
        is_last = k == len(found)
        if array.elements * array.stride < v.bytes:
            yield Indexing(register, offset + last if is_last else 0, size, array)
