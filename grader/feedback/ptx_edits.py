"""Small changes of a function: one instruction that does something else, or one name's mix-up.

`-G` PTX keeps each operation of the source as an instruction of its own, with its line. A mistake
of one word in the source is therefore mostly a mistake of one instruction: the wrong comparison, a
number that is one off, the wrong variable, the wrong operator. Each change here is the opposite of
such a mistake. None is ever shown to anybody: that one of them makes the output right tells the
line, and how to write it is the student's to find out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, pairwise

from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.operands import address, place
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction, Location, whole

# What `-G` PTX tells of the source behind it: lines, variables, and what is mere addressing.

MOST_VARIABLES = 32
"""Of one type: each is tried in the place of each other."""

_SETS = frozenset(
    ("add", "sub", "mul", "div", "rem", "min", "max", "shl", "shr", "mad", "and", "or", "xor",
     "selp", "mov")
)  # fmt: skip
_MOVES_POINTERS = frozenset(("add", "sub", "shl", "mov", "cvta"))
_ACCESSES = frozenset(("ld", "st", "atom", "red"))


def line_of(i: Instruction) -> int:
    """The line of the student's file that an instruction comes from, 0 when of another file."""
    return line_at(i.location)


def line_at(at: Location) -> int:
    """The line of the student's file that a place belongs to, through inlined calls; 0 for none."""
    while at.file != 1 and at.inlined is not None:
        at = at.inlined
    return at.line if at.file == 1 else 0


def kind_of(i: Instruction) -> str:
    """The last type of an instruction: s32 of add.s32."""
    return i.op.rpartition(".")[2]


def variables(f: Function) -> Mapping[str, Sequence[str]]:
    """The registers that hold variables of the source, by type: those that are set on one line
    and used on another one, the first MOST_VARIABLES.
    """
    made: dict[str, set[int]] = defaultdict(set)
    used: dict[str, set[int]] = defaultdict(set)
    for i in f.body:
        for name in targets(i):
            made[name].add(line_of(i))
        for operand in i.operands[1:]:
            used[operand].add(line_of(i))
    held: dict[str, list[str]] = defaultdict(list)
    for name, lines in made.items():
        if name in f.registers and used[name] - lines:
            held[f.registers[name]].append(name)
    return {kind: names[:MOST_VARIABLES] for kind, names in held.items()}


def addressing(f: Function) -> frozenset[str]:
    """The 64-bit registers in which an address is put together from a base and an index's bytes:
    the compiler's work, in which no student errs.
    """
    found: set[str] = set()
    for i in reversed(f.body):
        parts = i.op.split(".")
        if parts[0] in _ACCESSES and "param" not in parts:
            found |= {place(x)[0] for x in i.operands if x.startswith("[")}
        elif parts[0] in _MOVES_POINTERS and not found.isdisjoint(targets(i)):
            found.update(x for x in i.operands[1:] if f.registers.get(x) == "b64")
    indices = {name for i in f.body if i.op.startswith("cvt.") for name in targets(i)}
    return frozenset(name for name in found if f.registers.get(name) == "b64") - indices


def with_slots(f: Function) -> Function:
    """The function with a place for one more instruction behind each that sets a whole number:
    one that moves it to itself.
    """
    body: list[Instruction] = []
    moved: list[int] = []
    addresses = addressing(f)
    for i in f.body:
        moved.append(len(body))
        body.append(i)
        names = targets(i) if i.guard is None and line_of(i) and not i.library else []
        width = f.registers.get(names[0], "") if len(names) == 1 else ""
        sets = i.op.split(".")[0] in _SETS and addresses.isdisjoint(names)
        if sets and width in ("b32", "b64"):
            body.append(Instruction(f"mov.{width}", [names[0]] * 2, None, i.location))
    moved.append(len(body))
    return replace(f, body=body, labels={label: moved[at] for label, at in f.labels.items()})


def is_slot(i: Instruction) -> bool:
    """Whether an instruction is one that `with_slots` put in."""
    return i.op in ("mov.b32", "mov.b64") and i.operands[0] == i.operands[-1]


Edit = tuple[int, Instruction]
"""The index of an instruction in its function's body, and what it is to be."""


@dataclass(frozen=True)
class Change:
    """Instructions of one function that do something else. `line` is theirs in the source; likely
    ones have a low `rank`.
    """

    function: str
    line: int
    rank: int
    edits: tuple[Edit, ...]


LINE_NAMES = 12
"""So many names of one line are exchanged with each other: a line may be as long as its file."""

_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)$")
_REGISTER = re.compile(r"%[a-z]+\d+$")
_SPECIAL = re.compile(r"%(tid|ctaid|ntid|nctaid)\.([xyz])$")
_NEAR = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq"}
_OTHER: Mapping[str, Sequence[str]] = {
    "add": ("sub", "mul"), "sub": ("add", "mul"), "mul": ("add", "sub", "div"),
    "div": ("rem", "mul"), "rem": ("div",), "min": ("max",), "max": ("min",),
    "and": ("or",), "or": ("and",), "shl": ("shr",), "shr": ("shl",),
}  # fmt: skip
_BITS = frozenset(("and", "or", "shl"))
_COMPUTES = frozenset(
    ("add", "sub", "mul", "div", "rem", "min", "max", "shl", "shr", "mad", "and", "or", "xor",
     "setp", "cvt", "selp")
)  # fmt: skip
_INDEX = "cvt.s64.s32"
"""What `-G` makes an array's index by."""

_ACCESSES = frozenset(("ld", "st", "atom", "red"))
_ZERO, _ONE = "0f00000000", "0f3F800000"
_BRANCH_WITHIN = 6
"""So many instructions after the constant of an `&&` or `||` its branch is looked for."""

Variables = Mapping[str, Sequence[str]]
"""Registers that hold variables of the source, by their PTX type."""


def changes(f: Function) -> Iterator[Change]:
    """Every change of a function that `with_slots` made."""
    held, addresses = variables(f), addressing(f)
    for at, i in enumerate(f.body):
        if line_of(i) and not i.library and addresses.isdisjoint(targets(i)):
            for rank, other in _of_one(i, f, held):
                yield Change(f.name, line_of(i), rank, ((at, other),))
    yield from _exchanged(f, held)
    yield from _connectives(f)


def _of_one(i: Instruction, f: Function, held: Variables) -> Iterator[tuple[int, Instruction]]:
    """What one instruction may be instead, each with its rank."""
    head = i.op.split(".")[0]
    if is_slot(i):
        for step in ("1", "-1"):
            operands = [i.operands[0], i.operands[0], step]
            yield 2, replace(i, op=f"add.s{i.op[5:]}", operands=operands)
        return
    yield from _comparisons(i, head)
    yield from ((0, other) for other in _numbers(i, head))
    yield from ((2, other) for other in _powers(i, head))
    yield from ((0, other) for other in _specials(i))
    yield from ((1, other) for other in _operators(i, head))
    yield from ((2, other) for other in _accumulations(i, f, head))
    yield from ((2, other) for other in _displaced(i, head))
    yield from ((3, other) for other in _renamed(i, f, head, held))


def _comparisons(i: Instruction, head: str) -> Iterator[tuple[int, Instruction]]:
    """The other comparisons, and the condition always or never true."""
    parts = i.op.split(".")
    if head != "setp" or parts[1] not in _NEAR:
        return
    for name in _NEAR:
        if name != parts[1] and (name != "eq" or parts[1] == "ne"):
            rank = 0 if name == _NEAR[parts[1]] else 1
            yield rank, replace(i, op=".".join(["setp", name, *parts[2:]]))
    if _REGISTER.match(i.operands[0]):
        for value in ("1", "0"):
            yield 1, replace(i, op="mov.pred", operands=[i.operands[0], value])


def _numbers(i: Instruction, head: str) -> Iterator[Instruction]:
    """A constant that is one more or one less; of floats, 0 and 1."""
    if head not in _COMPUTES and head not in ("mov", "st"):
        return
    for at, operand in enumerate(i.operands[1:], 1):
        if kind_of(i) == "f32" and operand.startswith("0f"):
            yield from (_with(i, at, value) for value in (_ZERO, _ONE) if value != operand)
        elif kind_of(i)[0] in "sub" and _INTEGER.match(operand):
            yield from (_with(i, at, str(whole(operand) + step)) for step in (1, -1))


def _powers(i: Instruction, head: str) -> Iterator[Instruction]:
    """A power of two, or a mask of that many bits, that is the next or the last one."""
    if head not in _COMPUTES and head != "mov":
        return
    for at, operand in enumerate(i.operands[1:], 1):
        value = whole(operand) if kind_of(i)[0] in "sub" and _INTEGER.match(operand) else 0
        odd = value & 1
        if value > 2 and (value + odd) & (value + odd - 1) == 0:
            yield from (_with(i, at, str(other)) for other in (2 * value + odd, value // 2))


def _operators(i: Instruction, head: str) -> Iterator[Instruction]:
    """Another operator, or one of the two operands alone."""
    kind = kind_of(i)
    floats = kind[0] == "f"
    if len(i.operands) != 3 or head not in _OTHER or "wide" in i.op:
        return
    for name in _OTHER[head]:
        if floats and name in ("rem", "shr", *_BITS):
            continue
        form = f"b{kind[1:]}" if name in _BITS else kind.replace("b", "u")
        modifier = {"mul": "" if floats else ".lo", "div": ".rn" if floats else ""}.get(name, "")
        yield replace(i, op=f"{name}{modifier}.{form}")
    if head in ("add", "sub", "mul"):
        move = f"mov.{kind if floats else 'b' + kind[1:]}"
        yield from (replace(i, op=move, operands=[i.operands[0], i.operands[at]]) for at in (1, 2))


def _specials(i: Instruction) -> Iterator[Instruction]:
    """Another axis, and threadIdx, blockIdx, blockDim and gridDim for each other."""
    for at, operand in enumerate(i.operands[1:], 1):
        if (found := _SPECIAL.match(operand)) is not None:
            name, axis = found[1], found[2]
            yield from (_with(i, at, f"%{name}.{other}") for other in "xyz" if other != axis)
            rest = (other for other in ("tid", "ctaid", "ntid", "nctaid") if other != name)
            yield from (_with(i, at, f"%{other}.{axis}") for other in rest)


def _accumulations(i: Instruction, f: Function, head: str) -> Iterator[Instruction]:
    """`+=` for `=`."""
    if head == "mov" and kind_of(i) in ("f32", "f64") and i.operands[1] in f.registers:
        yield replace(i, op=f"add.{kind_of(i)}", operands=[*i.operands, i.operands[0]])


def _displaced(i: Instruction, head: str) -> Iterator[Instruction]:
    """The element before, and the one after."""
    if head not in ("ld", "st") or "param" in i.op or "local" in i.op:
        return
    size = TYPE_BYTES[kind_of(i)]
    at = 1 if head == "ld" else 0
    base, add = address(i.operands[at])
    yield from (_with(i, at, f"[{base}+{add + step}]") for step in (size, -size))


def _renamed(i: Instruction, f: Function, head: str, held: Variables) -> Iterator[Instruction]:
    """Another variable."""
    if head not in _COMPUTES:
        return
    for at, operand in enumerate(i.operands[1:], 1):
        alike = held.get(f.registers.get(operand, ""), ())
        if operand in alike:
            yield from (_with(i, at, other) for other in alike if other != operand)


def _exchanged(f: Function, held: Variables) -> Iterator[Change]:
    """Two variables, or two indices, exchanged wherever a line or one access of it uses them."""
    every = {name for kind in ("b32", "b64") for name in held.get(kind, ())}
    for line, places in _together(f):
        used = ((i.op, x) for i in (f.body[at] for at in places) for x in i.operands[1:])
        names = dict.fromkeys(x for op, x in used if x in every or op == _INDEX)
        for pair in combinations(islice(names, LINE_NAMES), 2):
            edits = tuple(_swapped(f, places, *pair))
            if len({f.registers.get(name) for name in pair}) == 1 and len(edits) > 1:
                yield Change(f.name, line, 2, edits)


def _together(f: Function) -> Iterator[tuple[int, Sequence[int]]]:
    """The instructions of each line, and of each access of a line that makes several."""
    lines: dict[int, list[int]] = defaultdict(list)
    for at, i in enumerate(f.body):
        if line_of(i) and not i.library and not is_slot(i):
            lines[line_of(i)].append(at)
    for line, places in lines.items():
        yield line, places
        ends = [n for n, at in enumerate(places, 1) if f.body[at].op.split(".")[0] in _ACCESSES]
        if len(ends) > 1:
            yield from ((line, places[a:b]) for a, b in pairwise([0, *ends]))


def _swapped(f: Function, places: Sequence[int], a: str, b: str) -> Iterator[Edit]:
    other = {a: b, b: a}
    for at in places:
        i = f.body[at]
        if i.op.split(".")[0] in _COMPUTES and not {a, b}.isdisjoint(i.operands[1:]):
            read = (other.get(x, x) for x in i.operands[1:])
            yield at, replace(i, operands=[i.operands[0], *read])


def _connectives(f: Function) -> Iterator[Change]:
    """`&&` for `||` and the other way round: the constant that the first condition decides for,
    and the branch that goes there.
    """
    for at, i in enumerate(f.body):
        if i.op != "mov.pred" or not _INTEGER.match(i.operands[1]) or not line_of(i):
            continue
        for then, branch in enumerate(f.body[at + 1 : at + _BRANCH_WITHIN], at + 1):
            if branch.op.startswith("bra") and branch.guard is not None:
                value = "-1" if i.operands[1] == "0" else "0"
                turned = replace(branch, guard=(branch.guard[0], not branch.guard[1]))
                yield Change(f.name, line_of(i), 0, ((at, _with(i, 1, value)), (then, turned)))
                break


def _with(i: Instruction, at: int, operand: str) -> Instruction:
    return replace(i, operands=[*i.operands[:at], operand, *i.operands[at + 1 :]])
