"""What `-G` PTX tells of the source behind it: lines, variables, and what is mere addressing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.sim.definedness import targets
from grader.sim.operands import place
from grader.sim.ptx import Function, Instruction, Location

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
    and used on another one, the first MOST_VARIABLES."""
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
    the compiler's work, in which no student errs."""
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
    one that moves it to itself."""
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
