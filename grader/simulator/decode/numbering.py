"""Number the local variables whose addresses a function makes.

An address that is made of a variable has the variable's number in high bits, which keep it whatever
is computed from it and wherever it is stored. So an access through any pointer must be to the
variable that the pointer was made from, while it exists (`ptx_shadow_object`).

A variable of a loop's body has several numbers: its rounds have them in turn, and a pointer to that
of an earlier round has another number than the present one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from grader import dataclass, regex, replace
from grader.simulator.decode.indexing import Indexing, Statics, indexings
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.library_calls import Copy, copies, printed_arguments
from grader.simulator.decode.lifetimes import BEGINS, ENDS, LIVES, Life, Marks, without_value
from grader.simulator.decode.memory import GENERIC, base_of, space_of
from grader.simulator.decode.operands import Operands, address_or_none, vector
from grader.simulator.decode.parameters import COPY
from grader.simulator.decode.stack import STORE, is_scalar, scalar_copies
from grader.simulator.decode.temporaries import temporaries
from grader.simulator.ptx.debug_info import InnerArray, LocalVariable, LocalVariables
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction, Module

_NUMBER = regex(r"\d{1,9}")
_MOST_VARIABLES, _VARIABLE_SHIFT = 63, 42
"""Numbers of variables, and where an address has them: see core/machine/launch.h."""

SCALAR, AGGREGATE = 1, 2


@dataclass(frozen=True)
class Place:
    """A numbered variable, as the core has it.

    Attributes:
        first, end: its first byte in the frame, and the one behind its last.
        own: whether it is a variable of the function's own, which a library that is inlined there
            may read: SCALAR or AGGREGATE; 0 for any other.
        round, rounds: which of its numbers this is, and how many it has: several for a variable of
            a loop's body, those of the rounds in turn.
        open: whether it is a temporary object, of which the end is not known.
    """

    first: int
    end: int
    own: int
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
        indexings: by id, accesses at indices of arrays that are parts of variables.
        arrays: these arrays, numbered.
        printed: by id, calls of `printf` and what their arguments are: see library_calls.py.
        whole: by id, stores of integers that have no padding.
        copies: by id, loads of the loops of `memcpy`.
        leaving: by id, accesses at places in the frame that are in a variable in part, and the
            number of that variable.
    """

    places: list[Place] = field(default_factory=list)
    displacements: dict[int, int] = field(default_factory=dict)
    made: dict[int, int] = field(default_factory=dict)
    marks: Marks = field(default_factory=dict)
    indexings: dict[int, list[Indexing]] = field(default_factory=dict)
    arrays: dict[InnerArray, int] = field(default_factory=dict)
    printed: dict[int, int] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    copies: dict[int, Copy] = field(default_factory=dict)
    leaving: dict[int, int] = field(default_factory=dict)


def address_made(i: Instruction, rounds: int, o: Operands, pc: int) -> Insn:
    """What completes the address that an instruction makes of a variable of so many rounds."""
    return Insn("shadow_round", o.register(i.operands[0], 8), count=rounds, pc=pc)


def access_checks(i: Instruction, o: Operands, own: Numbered, *, local: bool) -> Iterator[Insn]:
    """The checks that an access stays in its variable, and in the parts of one that it indexes.

    Args:
        i: the access.
        o: the operands of its function.
        own: the numbered variables of its function.
        local: whether it may be to local memory.
    """
    parts = i.op.split(".")
    store = STORE * (parts[0] == "st")
    if local and space_of(parts) == GENERIC:
        values, where = i.operands[::-1] if store else i.operands
        (a, add, mode), number = base_of(o, where, GENERIC), own.leaving.get(id(i), 0)
        if mode == 8 and (number or not where.startswith("[%SP")):
            size = TYPE_BYTES[parts[-1]] * len(vector(values))
            yield Insn("shadow_object", a=a, b=number, imm=add, size=size, flag=store)
    for x in own.indexings.get(id(i), ()):
        limit, number = x.array.elements * x.array.stride, own.arrays[x.array]
        insn = Insn("shadow_index", a=o.source(x.register, 8), b=limit, c=number, imm=x.add)
        insn.size, insn.flag = x.bytes, x.flag
        yield insn
    if (copy := own.copies.get(id(i))) is not None:
        a, b, c, e = (o.source(x, 8) for x in (copy.to, copy.source, copy.bytes, copy.round))
        yield Insn("shadow_overlap", a=a, b=b, c=c, e=e)


@dataclass(frozen=True)
class _Addressed:
    """The variables of a function whose addresses it makes, by their first bytes.

    Attributes:
        made: the instructions that make addresses.
        own: the variables.
        places: where they are, without rounds.
        temporaries: the places of temporary objects.
        marks: where variables and temporary objects begin and end.
        leaving: by id, accesses at places in the frame that are in a variable in part, and the
            first byte of that variable.
    """

    made: list[tuple[int, Instruction]]
    own: dict[int, LocalVariable]
    places: dict[int, Place]
    temporaries: dict[int, Place]
    marks: Marks
    leaving: dict[int, int]

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
    found, library = _Addressed([], {}, {}, {}, {}, {}), all(i.library for i in f.body)
    nameless = dict[int, list[Instruction]]()
    for i in f.body:
        if (v := _left_by(i, frames[0].name, variables)) is not None:
            found.own[v.offset], found.leaving[id(i)] = v, v.offset
            found.places.setdefault(v.offset, Place(v.offset, v.offset + v.bytes, own=0))
            continue
        place = "".join(i.operands[2:])
        if i.op != "add.u64" or i.operands[1:2] != ["%SP"] or not _NUMBER.fullmatch(place):
            continue
        first = int(place)
        v = variables.largest.get((frames[0].name, first))
        if v and 0 < v.bytes <= frames[0].bytes - first:
            is_own = not i.library or (first in found.places and found.places[first].own > 0)
            is_object = not is_scalar(v) and (is_own or not (library or v.inlined))
            own = AGGREGATE if is_object else SCALAR * (is_own and is_scalar(v))
            found.own[first], found.places[first] = v, Place(first, first + v.bytes, own)
            found.made.append((first, i))
        elif v is None and variables.at(frames[0].name, first) is None:
            nameless.setdefault(first, []).append(i)
            found.made.append((first, i))
    if found.made or found.leaving:
        found.marks.update(without_value(f, variables))
    for x in temporaries(f, nameless, variables, source) if nameless and source else ():
        found.temporaries[x.first] = Place(x.first, x.end, own=0, open=True)
        for event, where in ((LIVES, x.entries), (ENDS, x.exits)):
            for at in where:
                found.marks.setdefault(id(f.body[at]), []).append(Life(event, x.first, 1))
    return found if found.places or found.temporaries else None


def _left_by(i: Instruction, frame: str, variables: LocalVariables) -> LocalVariable | None:
    """The variable that an access at a place in the frame begins in and leaves, if there is one.

    Several variables may share a place: one of them has all that is accessed.
    """
    parts = i.op.split(".")
    if i.library or parts[0] not in ("ld", "st") or len(i.operands) != 2:
        return None
    values, where = i.operands[::-1] if parts[0] == "st" else i.operands
    base, first = address_or_none(where)
    if base != "%SP" or space_of(parts) != GENERIC:
        return None
    end = first + TYPE_BYTES[parts[-1]] * len(vector(values))
    around = [v for v in variables.by_frame.get(frame, ()) if 0 <= first - v.offset < v.bytes]
    largest = max(around, key=lambda v: v.offset + v.bytes, default=None)
    return largest if largest is not None and largest.offset + largest.bytes < end else None


def _numbered(found: _Addressed, before: int, rounds: int) -> Numbered:
    """Number the variables of a function, its own first, as long as there are numbers.

    Args:
        found: its variables.
        before: how many numbers those of other functions have.
        rounds: how many numbers a variable of a loop's body has.
    """
    numbered, first_numbers = Numbered(marks=found.marks), dict[int, int]()
    counts = found.numbers(rounds)
    own_first = sorted(found.places.items(), key=lambda at: not at[1].own)
    for first, place in (*own_first, *found.temporaries.items()):
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
    left = found.leaving.items()
    numbered.leaving.update((i, first_numbers[x]) for i, x in left if x in first_numbers)
    return numbered


def _add_expressions(
    f: Function, numbered: Numbered, own: Mapping[int, LocalVariable], statics: Statics
) -> bool:
    """Add what a function's expressions do with variables, `printf` and `memcpy`, if anything.

    Args:
        f: the function.
        numbered: what is added to.
        own: its variables whose addresses it makes, by their first bytes.
        statics: the variables of the module.
    """
    own = {first: v for first, v in own.items() if first in {p.first for p in numbered.places}}
    numbered.indexings.update(() if f.library else indexings(f, own, statics))
    for indexing in numbered.indexings.values():
        for x in indexing:
            numbered.arrays.setdefault(x.array, len(numbered.arrays))
    numbered.printed.update(printed_arguments(f, statics.known))
    numbered.whole.update(scalar_copies(f, statics))
    numbered.copies.update(copies(f, statics.memcpy_lines))
    return any((numbered.indexings, numbered.printed, numbered.whole, numbered.copies))


def numbered_in(
    functions: Sequence[Function], module: Module, variables: LocalVariables | None
) -> dict[str, Numbered]:
    """The numbered variables of the functions that have any, in this order.

    Those of functions with more than there are numbers in all share numbers. Then no variable has
    several, and temporary objects have none.
    """
    out, count = dict[str, Numbered](), 0
    if variables is None:
        return out
    statics, source = Statics(module, variables), module.source
    found = {f.name: x for f in functions if (x := _addressed(f, variables, source)) is not None}
    for rounds in (4, 2, 1):
        total = sum(sum(x.numbers(rounds).values()) for x in found.values())
        if total <= _MOST_VARIABLES:
            break
    if total + sum(len(x.temporaries) for x in found.values()) > _MOST_VARIABLES:
        for x in found.values():
            x.temporaries.clear()
    for f in functions:
        own = found.get(f.name)
        numbered = _numbered(own, count, rounds) if own else Numbered()
        if _add_expressions(f, numbered, own.own if own else {}, statics) or own:
            if own is None:
                numbered.marks.update(without_value(f, variables))
            out[f.name] = numbered
            count += len(numbered.places)
    return out
