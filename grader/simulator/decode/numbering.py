"""Number the local variables whose addresses a function makes.

An address that is made of a variable has the variable's number in high bits, which keep it whatever
is computed from it and wherever it is stored. So an access through any pointer must be to the
variable that the pointer was made from, while it exists (`ptx_shadow_object`).

A variable of a loop's body has several numbers: its rounds have them in turn, and a pointer to that
of an earlier round has another number than the present one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from grader import dataclass
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.lifetimes import BEGINS, ENDS, LIVES, Life, Marks, without_value
from grader.simulator.decode.memory import GENERIC, base_of, space_of
from grader.simulator.decode.operands import Operands, address_or_none, vector
from grader.simulator.decode.parameters import COPY
from grader.simulator.decode.stack import STORE, is_scalar
from grader.simulator.decode.temporaries import temporaries
from grader.simulator.ptx.debug_info import InnerArray, LocalVariable, LocalVariables
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction

_NUMBER, _SIGNED = re.compile(r"\d{1,9}"), re.compile(r"-?\d{1,9}")
_MOST_ADDED = 16
"""What an address is followed through at most."""
_MOST_VARIABLES, _VARIABLE_SHIFT = 63, 42
"""Numbers of variables, and where an address has them: see core/machine/launch.h."""


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
class Place:
    """A numbered variable, as the core has it.

    Attributes:
        first, end: its first byte in the frame, and the one behind its last.
        own: whether it is a scalar of the function's own, which a library that is inlined there
            may read.
        round, rounds: which of its numbers this is, and how many it has: several for a variable of
            a loop's body, those of the rounds in turn.
        open: whether it is a temporary object, of which the end is not known.
    """

    first: int
    end: int
    own: bool
    round: int = 0
    rounds: int = 1
    open: bool = False


@dataclass(frozen=True)
class Numbered:
    """The variables of a function whose addresses it makes.

    Attributes:
        places: the variables.
        displacements: by id, the instructions that add a variable's place to the frame's address,
            and what they add: the number, too.
        made: by id, those of them whose result depends on the round, and of how many.
        marks: where variables of blocks begin and end.
        indexings: by id, accesses at indices of arrays that are parts of these variables.
        arrays: these arrays, numbered.
    """

    places: list[Place] = field(default_factory=list)
    displacements: dict[int, int] = field(default_factory=dict)
    made: dict[int, int] = field(default_factory=dict)
    marks: Marks = field(default_factory=dict)
    indexings: dict[int, list[Indexing]] = field(default_factory=dict)
    arrays: dict[InnerArray, int] = field(default_factory=dict)


def address_made(i: Instruction, rounds: int, o: Operands, pc: int) -> Insn:
    """What completes the address that an instruction makes of a variable of so many rounds."""
    return Insn("shadow_round", o.register(i.operands[0], 8), count=rounds, pc=pc)


def bound_checks(i: Instruction, o: Operands, own: Numbered) -> Iterator[Insn]:
    """The checks that an access which may be to local memory stays in its variable, or in a part.

    Args:
        i: the access.
        o: the operands of its function.
        own: the numbered variables of its function.
    """
    parts = i.op.split(".")
    store = STORE * (parts[0] == "st")
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


@dataclass(frozen=True)
class _Addressed:
    """The variables of a function whose addresses it makes, by their first bytes.

    Attributes:
        made: the instructions that make addresses.
        own: the variables.
        places: where they are, without rounds.
        temporaries: the places of temporary objects.
        marks: where variables and temporary objects begin and end.
    """

    made: list[tuple[int, Instruction]]
    own: dict[int, LocalVariable]
    places: dict[int, Place]
    temporaries: dict[int, Place]
    marks: Marks

    def numbers(self, rounds: int) -> dict[int, int]:
        """How many numbers each place has, where one in a loop's body has so many."""
        lives = (x for marks in self.marks.values() for x in marks if isinstance(x, Life))
        begin = {x.offset for x in lives if x.event == BEGINS}
        return {first: rounds if first in begin else 1 for first in self.places}


def _addressed(f: Function, variables: LocalVariables, source: str) -> _Addressed | None:
    """The variables of a function whose addresses it makes; None in a library's.

    A variable that the debug sections do not name has no number, but for temporary objects.
    """
    frames = [v for v in f.variables if v.space == "local" and not v.name.endswith(COPY)]
    if len(frames) != 1 or f.library:
        return None
    found = _Addressed([], {}, {}, {}, {})
    nameless = dict[int, list[Instruction]]()
    for i in f.body:
        place = "".join(i.operands[2:])
        if i.op != "add.u64" or i.operands[1:2] != ["%SP"] or not _NUMBER.fullmatch(place):
            continue
        first = int(place)
        v = variables.largest.get((frames[0].name, first))
        if v and 0 < v.bytes <= frames[0].bytes - first:
            is_own = not i.library or (first in found.places and found.places[first].own)
            own = is_own and is_scalar(v)
            found.own[first], found.places[first] = v, Place(first, first + v.bytes, own)
            found.made.append((first, i))
        elif v is None and variables.at(frames[0].name, first) is None:
            nameless.setdefault(first, []).append(i)
            found.made.append((first, i))
    if found.made:
        found.marks.update(without_value(f, variables))
    for x in temporaries(f, nameless, variables, source) if nameless and source else ():
        found.temporaries[x.first] = Place(x.first, x.end, own=False, open=True)
        for event, where in ((LIVES, x.entries), (ENDS, x.exits)):
            for at in where:
                found.marks.setdefault(id(f.body[at]), []).append(Life(event, x.first, 1))
    return found if found.places or found.temporaries else None


def _numbered(
    f: Function, found: _Addressed, variables: LocalVariables, before: int, rounds: int
) -> Numbered:
    """Number the variables of a function; none after the most of a function has a number.

    Args:
        f: the function.
        found: its variables.
        variables: the local variables of the module.
        before: how many numbers those of other functions have.
        rounds: how many numbers a variable of a loop's body has.
    """
    numbered, first_numbers = Numbered(marks=found.marks), dict[int, int]()
    counts = found.numbers(rounds)
    places = found.places | found.temporaries
    for first, place in places.items():
        count = counts.get(first, 1)
        if len(numbered.places) + count > _MOST_VARIABLES:
            continue
        first_numbers[first] = 1 + (before + len(numbered.places)) % _MOST_VARIABLES
        numbered.places.extend(replace(place, round=k, rounds=count) for k in range(count))
    for first, i in found.made:
        if first in first_numbers:
            numbered.displacements[id(i)] = first + (first_numbers[first] << _VARIABLE_SHIFT)
            if counts.get(first, 1) > 1:
                numbered.made[id(i)] = counts[first]
    known = {first: v for first, v in found.own.items() if first in first_numbers}
    numbered.indexings.update(_indexings(f, known, variables) if known else ())
    for indexing in numbered.indexings.values():
        for x in indexing:
            numbered.arrays.setdefault(x.array, len(numbered.arrays))
    return numbered


def numbered_in(
    functions: Sequence[Function], variables: LocalVariables | None, source: str
) -> dict[str, Numbered]:
    """The numbered variables of the functions that have any, in this order.

    Those of functions with more than there are numbers in all share numbers. Then no variable has
    several, and temporary objects have none.
    """
    out, count = dict[str, Numbered](), 0
    if variables is None:
        return out
    found = {f.name: x for f in functions if (x := _addressed(f, variables, source)) is not None}
    for rounds in (4, 2, 1):
        total = sum(sum(x.numbers(rounds).values()) for x in found.values())
        if total <= _MOST_VARIABLES:
            break
    if total + sum(len(x.temporaries) for x in found.values()) > _MOST_VARIABLES:
        for x in found.values():
            x.temporaries.clear()
    for f in functions:
        if f.name in found:
            numbered = _numbered(f, found[f.name], variables, count, rounds)
            out[f.name] = numbered
            count += len(numbered.places)
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
