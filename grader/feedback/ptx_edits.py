"""Small changes of a PTX function, each the opposite of a mistake of one word in the source.

`-G` PTX keeps each operation of the source as an instruction of its own, with its line. A mistake
of one word is therefore mostly a mistake of one instruction: the wrong comparison, a number that is
one off, the wrong variable, the wrong operator. No change is ever shown: that one of them makes the
output right names the line, and writing the fix remains the student's work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, pairwise

from grader import dataclass, regex, replace
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.operands import address, address_or_none
from grader.simulator.ptx.constants import integer
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction, Location

MAX_VARIABLES = 32
"""The most variables of one type that are tried in place of each other."""

MAX_LINE_NAMES = 12
"""The most names of one line that are exchanged: a line may be as long as its file."""

_INTEGER = regex(r"-?(?:0[xX][0-9a-fA-F]+|\d+)$")
_REGISTER = regex(r"%[a-z]+\d+$")
_SPECIAL = regex(r"%(tid|ctaid|ntid|nctaid)\.([xyz])$")
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
"""The instruction by which `-G` code extends the index of an array."""

_ZERO, _ONE = "0f00000000", "0f3F800000"
_BRANCH_WINDOW = 6
"""The instructions after the constant of an `&&` or `||` that are searched for its branch."""
_SETS = frozenset(
    ("add", "sub", "mul", "div", "rem", "min", "max", "shl", "shr", "mad", "and", "or", "xor",
     "selp", "mov")
)  # fmt: skip
_MOVES_POINTERS = frozenset(("add", "sub", "shl", "mov", "cvta"))
_ACCESSES = frozenset(("ld", "st", "atom", "red"))

Variables = Mapping[str, Sequence[str]]
"""Registers that hold variables of the source, by their PTX type."""

Edit = tuple[int, Instruction]
"""The index of an instruction in its function's body, and its replacement."""


@dataclass(frozen=True)
class Change:
    """A change of instructions of one function.

    Attributes:
        function: the function's symbol.
        line: the source line of the instructions.
        rank: how likely the mistake is; 0 is the most likely.
        edits: the replacements.
    """

    function: str
    line: int
    rank: int
    edits: tuple[Edit, ...]


def line_of(i: Instruction) -> int:
    """The line of the student's file that an instruction comes from; 0 for another file."""
    return line_at(i.location)


def line_at(at: Location) -> int:
    """The line of the student's file that a location leads to, through inlined calls; else 0."""
    while at.file != 1 and at.inlined is not None:
        at = at.inlined
    return at.line if at.file == 1 else 0


def kind_of(i: Instruction) -> str:
    """The last type of an instruction, such as s32 of add.s32."""
    return i.op.rpartition(".")[2]


def variables(f: Function) -> Mapping[str, Sequence[str]]:
    """The registers that hold variables of the source, by type, at most MAX_VARIABLES of each.

    They are the registers that one line sets and another line uses.
    """
    set_on: dict[str, set[int]] = defaultdict(set)
    used_on: dict[str, set[int]] = defaultdict(set)
    for i in f.body:
        for name in targets(i):
            set_on[name].add(line_of(i))
        for operand in i.operands[1:]:
            used_on[operand].add(line_of(i))
    by_type: dict[str, list[str]] = defaultdict(list)
    for name, lines in set_on.items():
        if name in f.registers and used_on[name] - lines:
            by_type[f.registers[name]].append(name)
    return {kind: names[:MAX_VARIABLES] for kind, names in by_type.items()}


def addressing(f: Function) -> frozenset[str]:
    """The 64-bit registers in which the compiler adds a base and the bytes of an index.

    No mistake of a student is in these instructions.
    """
    addresses: set[str] = set()
    for i in reversed(f.body):
        parts = i.op.split(".")
        if parts[0] in _ACCESSES and "param" not in parts:
            addresses |= {address_or_none(x)[0] for x in i.operands if x.startswith("[")}
        elif parts[0] in _MOVES_POINTERS and not addresses.isdisjoint(targets(i)):
            addresses.update(x for x in i.operands[1:] if f.registers.get(x) == "b64")
    indices = {name for i in f.body if i.op.startswith("cvt.") for name in targets(i)}
    return frozenset(name for name in addresses if f.registers.get(name) == "b64") - indices


def insert_slots(f: Function) -> Function:
    """Insert, after each instruction that sets an integer, a slot for one more instruction.

    A slot is a move of the register to itself.
    """
    body: list[Instruction] = []
    moved: list[int] = []
    addresses = addressing(f)
    for i in f.body:
        moved.append(len(body))
        body.append(i)
        names = targets(i) if i.guard is None and line_of(i) and not i.library else ()
        width = f.registers.get(names[0], "") if len(names) == 1 else ""
        sets = i.op.split(".")[0] in _SETS and addresses.isdisjoint(names)
        if sets and width in ("b32", "b64"):
            body.append(Instruction(f"mov.{width}", [names[0]] * 2, None, i.location))
    moved.append(len(body))
    return replace(f, body=body, labels={label: moved[at] for label, at in f.labels.items()})


def is_slot(i: Instruction) -> bool:
    """Whether `insert_slots` inserted an instruction."""
    return i.op in ("mov.b32", "mov.b64") and i.operands[0] == i.operands[-1]


def list_changes(f: Function) -> Iterator[Change]:
    """Every change of a function with slots."""
    held, addresses = variables(f), addressing(f)
    for at, i in enumerate(f.body):
        if line_of(i) and not i.library and addresses.isdisjoint(targets(i)):
            for rank, other in _replacements(i, f, held):
                yield Change(f.name, line_of(i), rank, ((at, other),))
    yield from _exchanges(f, held)
    yield from _other_connectives(f)


def _replacements(
    i: Instruction, f: Function, held: Variables
) -> Iterator[tuple[int, Instruction]]:
    """The replacements of one instruction, each with its rank."""
    head = i.op.split(".")[0]
    if is_slot(i):
        for step in ("1", "-1"):
            operands = [i.operands[0], i.operands[0], step]
            yield 2, replace(i, op=f"add.s{i.op[5:]}", operands=operands)
        return
    yield from _other_comparisons(i, head)
    yield from ((0, other) for other in _other_constants(i, head))
    yield from ((2, other) for other in _other_powers_of_two(i, head))
    yield from ((0, other) for other in _other_special_registers(i))
    yield from ((1, other) for other in _other_operators(i, head))
    yield from ((2, other) for other in _accumulate(i, f, head))
    yield from ((2, other) for other in _neighboring_elements(i, head))
    yield from ((3, other) for other in _other_variables(i, f, head, held))


def _other_comparisons(i: Instruction, head: str) -> Iterator[tuple[int, Instruction]]:
    """Every other comparison; a condition that is always or never true."""
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


def _other_constants(i: Instruction, head: str) -> Iterator[Instruction]:
    """A constant that is one larger or smaller; of floats, 0 and 1."""
    if head not in _COMPUTES and head not in ("mov", "st"):
        return
    for at, operand in enumerate(i.operands[1:], 1):
        if kind_of(i) == "f32" and operand.startswith("0f"):
            yield from (_with_operand(i, at, value) for value in (_ZERO, _ONE) if value != operand)
        elif kind_of(i)[0] in "sub" and _INTEGER.match(operand):
            yield from (_with_operand(i, at, str(integer(operand) + step)) for step in (1, -1))


def _other_powers_of_two(i: Instruction, head: str) -> Iterator[Instruction]:
    """The next larger and smaller power of two, or mask of that many bits."""
    if head not in _COMPUTES and head != "mov":
        return
    for at, operand in enumerate(i.operands[1:], 1):
        value = integer(operand) if kind_of(i)[0] in "sub" and _INTEGER.match(operand) else 0
        odd = value & 1
        if value > 2 and (value + odd) & (value + odd - 1) == 0:
            yield from (_with_operand(i, at, str(other)) for other in (2 * value + odd, value // 2))


def _other_operators(i: Instruction, head: str) -> Iterator[Instruction]:
    """Another operator; one of the two operands alone."""
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


def _other_special_registers(i: Instruction) -> Iterator[Instruction]:
    """Another axis; threadIdx, blockIdx, blockDim and gridDim in place of each other."""
    for at, operand in enumerate(i.operands[1:], 1):
        if (match := _SPECIAL.match(operand)) is not None:
            name, axis = match[1], match[2]
            yield from (
                _with_operand(i, at, f"%{name}.{other}") for other in "xyz" if other != axis
            )
            rest = (other for other in ("tid", "ctaid", "ntid", "nctaid") if other != name)
            yield from (_with_operand(i, at, f"%{other}.{axis}") for other in rest)


def _accumulate(i: Instruction, f: Function, head: str) -> Iterator[Instruction]:
    """`+=` in place of `=`."""
    if head == "mov" and kind_of(i) in ("f32", "f64") and i.operands[1] in f.registers:
        yield replace(i, op=f"add.{kind_of(i)}", operands=[*i.operands, i.operands[0]])


def _neighboring_elements(i: Instruction, head: str) -> Iterator[Instruction]:
    """The element before or after."""
    if head not in ("ld", "st") or "param" in i.op or "local" in i.op:
        return
    size = TYPE_BYTES[kind_of(i)]
    at = 1 if head == "ld" else 0
    base, add = address(i.operands[at])
    yield from (_with_operand(i, at, f"[{base}+{add + step}]") for step in (size, -size))


def _other_variables(
    i: Instruction, f: Function, head: str, held: Variables
) -> Iterator[Instruction]:
    """Another variable of the same type."""
    if head not in _COMPUTES:
        return
    for at, operand in enumerate(i.operands[1:], 1):
        alike = held.get(f.registers.get(operand, ""), ())
        if operand in alike:
            yield from (_with_operand(i, at, other) for other in alike if other != operand)


def _exchanges(f: Function, held: Variables) -> Iterator[Change]:
    """Two variables, or two indices, exchanged in a line or in one access of it."""
    every = {name for kind in ("b32", "b64") for name in held.get(kind, ())}
    for line, places in _groups(f):
        used = ((i.op, x) for i in (f.body[at] for at in places) for x in i.operands[1:])
        names = dict.fromkeys(x for op, x in used if x in every or op == _INDEX)
        for pair in combinations(islice(names, MAX_LINE_NAMES), 2):
            edits = tuple(_swapped(f, places, *pair))
            if len({f.registers.get(name) for name in pair}) == 1 and len(edits) > 1:
                yield Change(f.name, line, 2, edits)


def _groups(f: Function) -> Iterator[tuple[int, Sequence[int]]]:
    """The instructions of each line, and of each access of a line with several."""
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
    """The edits that exchange two operands."""
    other = {a: b, b: a}
    for at in places:
        i = f.body[at]
        if i.op.split(".")[0] in _COMPUTES and not {a, b}.isdisjoint(i.operands[1:]):
            read = (other.get(x, x) for x in i.operands[1:])
            yield at, replace(i, operands=[i.operands[0], *read])


def _other_connectives(f: Function) -> Iterator[Change]:
    """`&&` in place of `||`, and the other way round.

    The change is to the constant that the first condition decides for and to the branch there.
    """
    for at, i in enumerate(f.body):
        if i.op != "mov.pred" or not _INTEGER.match(i.operands[1]) or not line_of(i):
            continue
        for then, branch in enumerate(f.body[at + 1 : at + _BRANCH_WINDOW], at + 1):
            if branch.op.startswith("bra") and branch.guard is not None:
                value = "-1" if i.operands[1] == "0" else "0"
                turned = replace(branch, guard=(branch.guard[0], not branch.guard[1]))
                yield Change(
                    f.name, line_of(i), 0, ((at, _with_operand(i, 1, value)), (then, turned))
                )
                break


def _with_operand(i: Instruction, at: int, operand: str) -> Instruction:
    return replace(i, operands=[*i.operands[:at], operand, *i.operands[at + 1 :]])
