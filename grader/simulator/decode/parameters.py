"""Parameters: those whose address a function takes, and the parts that it uses.

PTX keeps the first ones in local memory. They are large structs that are passed by value, and the
values behind `...`. The function gets a local variable for each, copies the parameter to it first,
and uses that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from grader import regex, replace
from grader.simulator.decode.dataflow import BRANCHES, Piece, copies_value, pieces, sources, targets
from grader.simulator.decode.operands import address_or_none
from grader.simulator.ptx.model import FRAME, Function, Instruction, Location, Variable

COPY = "_local"
"""How the names of the local copies end."""

_NAME = regex(r"[$%A-Za-z_][$%\w@]*")
_PARAMETERS = regex(r"\.callprototype\s*(?:\(([^)]*)\))?\s*_\s*(?:\(([^)]*)\))?")
_VARIADIC, _VARIADIC_ALIGN, _UNSIZED = "%VAParam", 8, "[]"
"""How PTX names the parameter that is `...`, its alignment in bytes, and its size in prototypes."""

Uses = dict[tuple[str, int], set[Piece]]
"""The parts of its parameters that a function uses, by its name and the depth of calls."""

_MAX_DEPTH = 8
"""Calls within calls that are followed."""
_COPIES = ("mov", "cvt", "and", "cvta")


def with_local_copies(functions: dict[str, Function], names: Sequence[str]) -> dict[str, Function]:
    """The functions, with a local variable for each parameter whose address its function takes.

    PTX keeps such a parameter in local memory: a large struct that is passed by value, and the
    values behind `...`, of which a function has room for as many as any call passes.

    Args:
        functions: all functions by name.
        names: those that the kernel may call.
    """
    moved = dict(functions)
    variadic = [n for n in names if not moved[n].entry and _is_variadic(moved[n].parameters)]
    if variadic and any(moved[name].prototypes for name in names):
        # any of them may be called through a pointer
        moved |= _with_room(moved, names, variadic, f"{_VARIADIC}{COPY}")
    else:
        for name in variadic:
            moved |= _with_room(moved, names, [name], f"{name}{COPY}")
    for name in names:
        f = moved[name]
        own = {v.name: v for v in f.parameters} if not f.entry else {}
        moves = (i.operands[-1] for i in f.body if i.op.startswith("mov.")) if own else ()
        if taken := [own[x] for x in dict.fromkeys(moves) if x in own]:
            moved[name] = _with_copies(f, taken)
    return moved


def _is_variadic(parameters: Sequence[Variable]) -> bool:
    return any(v.name.startswith(_VARIADIC) for v in parameters)


def _is_call(i: Instruction) -> bool:
    return i.op.startswith("call") and len(i.operands) > 1


def _with_room(
    functions: Mapping[str, Function], names: Sequence[str], group: Sequence[str], nothing: str
) -> dict[str, Function]:
    """Functions with `...`, and their callers, with room for what the longest call passes.

    A call through a pointer may be one of any of them. One that passes nothing for `...` has the
    prototype of a function without: it passes the room all the same.

    Args:
        functions: all functions by name.
        names: those that the kernel may call.
        group: the functions.
        nothing: the variable of a caller that passes nothing.
    """
    out, longest = dict[str, Function](), 1
    passed = defaultdict[str, set[str]](set)
    for caller in names:
        for i in functions[caller].body:
            target = next((x for x in i.operands[:2] if x in group), "") if _is_call(i) else ""
            prototype = functions[caller].prototypes.get(i.operands[-1]) if _is_call(i) else None
            if not target and prototype is None:
                continue
            at = 1 + i.operands[0].startswith("(")
            has_values = at < len(i.operands) and i.operands[at].startswith("(")
            given = _NAME.findall(i.operands[at]) if has_values else []
            passes = len(given) == len(functions[target].parameters) if target else False
            if not passes and _UNSIZED not in (prototype or "") and given[-1:] != [nothing]:
                given.append(nothing)
                i.operands[at : at + has_values] = [f"({', '.join(given)})"]
            passed[caller].add(given[-1])
    for caller, own in passed.items():
        variables = functions[caller].variables
        longest = max([longest, *(v.bytes for v in variables if v.name in own)])
    for caller, own in passed.items():
        f = functions[caller]
        others = [v for v in f.variables if v.name not in own]
        enlarged = [Variable(x, "param", _VARIADIC_ALIGN, longest) for x in sorted(own)]
        sized = {label: _sized(text, longest) for label, text in f.prototypes.items()}
        out[caller] = replace(f, variables=others + enlarged, prototypes=sized)
    for name in group:
        f = out.get(name, functions[name])
        parameters = [*f.parameters[:-1], replace(f.parameters[-1], bytes=longest)]
        out[name] = replace(f, parameters=parameters)
    return out


def _sized(prototype: str, size: int) -> str:
    """A prototype with room for the values behind `...`."""
    if _UNSIZED in prototype:
        return prototype.replace(_UNSIZED, f"[{size}]")
    room = f".param .align {_VARIADIC_ALIGN} .b8 _[{size}]"
    match = _PARAMETERS.match(prototype)
    if match is None or match[2] is None:
        return f"{prototype.rstrip('; ')} ({room})"
    inside = f"{match[2].strip()}, {room}" if match[2].strip() else room
    return f"{prototype[: match.start(2)]}{inside}{prototype[match.end(2) :]}"


def _with_copies(f: Function, taken: Sequence[Variable]) -> Function:
    """A function that copies parameters to local variables first, and uses these."""
    names = {v.name: v.name.lstrip("%") + COPY for v in taken}
    bases = {v.name: f"%{names[v.name]}" for v in taken}
    registers, body = dict(f.registers), list[Instruction]()

    def add(op: str, *operands: str) -> None:
        body.append(Instruction(op, list(operands), None, Location(), f.library))

    for v in taken:
        base, size = bases[v.name], next(n for n in (8, 4, 2, 1) if not (v.align | v.bytes) % n)
        registers[base], kind = "b64", f"b{8 * size}"
        add("mov.u64", base, names[v.name])
        for at in range(0, v.bytes, size):
            registers[value := f"{base}_{at}"] = kind.replace("b8", "b16")
            add(f"ld.param.{kind}", value, f"[{v.name}+{at}]")
            add(f"st.local.{kind}", f"[{base}+{at}]", value)
    start = len(body)
    for i in f.body:
        uses = [names.get(x, x) for x in i.operands]
        base = address_or_none(uses[-1])[0] if i.op.startswith("ld.param") else ""
        if base in bases:
            uses[-1] = uses[-1].replace(base, bases[base], 1)
            i = replace(i, op=i.op.replace("ld.param", "ld.local", 1))
        body.append(replace(i, operands=uses))
    copies = [replace(v, name=names[v.name], space="local") for v in taken]
    labels = {label: at + start for label, at in f.labels.items()}
    return replace(
        f, variables=[*f.variables, *copies], registers=registers, body=body, labels=labels
    )


def used_arguments(
    f: Function, functions: Mapping[str, Function], known: Uses | None = None
) -> frozenset[Piece]:
    """The parts of the `.param` variables of `f` that its callees always use.

    `known` is what was found of callees before; more is added.
    """
    known = {} if known is None else known
    return frozenset(
        piece
        for i in f.body
        if (call := _call(i, functions)) is not None
        for piece in _always_used(call[0], call[1], functions, _MAX_DEPTH, known)
    )


def used_parameters(f: Function, functions: Mapping[str, Function]) -> set[Piece]:
    """The parts of its parameters that a function uses before its first branch."""
    return _ParameterUses(f).used(functions, _MAX_DEPTH, {})


def _call(i: Instruction, functions: Mapping[str, Function]) -> tuple[Function, list[str]] | None:
    """The function that an instruction calls, and its arguments; None if it calls none."""
    if not i.op.startswith("call"):
        return None
    result = any(x.startswith("(") for x in i.operands[:1])
    callee, *given = i.operands[int(result) :] or [""]
    called = functions.get(callee)
    return (called, _NAME.findall(given[0])) if called and given else None


def _always_used(
    callee: Function, given: list[str], functions: Mapping[str, Function], depth: int, known: Uses
) -> list[Piece]:
    """The parts of the arguments that the callee always uses."""
    if depth == 0 or not callee.has_body or len(given) != len(callee.parameters):
        return []
    names = {p.name: name for name, p in zip(given, callee.parameters, strict=True)}
    if (callee.name, depth) not in known:
        known[callee.name, depth] = _ParameterUses(callee).used(functions, depth, known)
    return [(names[p], at, size) for p, at, size in known[callee.name, depth]]


class _ParameterUses:
    """Follows the parameters of a function up to its first branch.

    Attributes:
        in_registers: by register, the part of a parameter that it holds.
        in_memory: by place in the function's own memory, the part of a parameter that it holds.
    """

    def __init__(self, f: Function) -> None:
        self.f = f
        self.parameters = {p.name for p in f.parameters}
        self.in_registers: dict[str, Piece] = {}
        self.in_memory: dict[Piece, Piece] = {}

    def used(self, functions: Mapping[str, Function], depth: int, known: Uses) -> set[Piece]:
        """The parts of the parameters that the function uses."""
        used: set[Piece] = set()
        for i in self.f.body:
            if i.op.split(".")[0] in BRANCHES:
                break
            read = {self.in_registers[name] for name in sources(i) if name in self.in_registers}
            if (call := _call(i, functions)) is not None:
                inner = _always_used(call[0], call[1], functions, depth - 1, known)
                used |= {self.in_memory[piece] for piece in inner if piece in self.in_memory}
                self.forget()
            elif i.op.startswith("st."):
                self.store(i)
            elif not copies_value(i) and i.guard is None:
                used |= read
            self.write(i, read)
        return used

    def forget(self) -> None:
        """Drop what another function, or a store to an unknown address, may have changed."""
        self.in_memory = {at: piece for at, piece in self.in_memory.items() if at[0] not in FRAME}

    def store(self, i: Instruction) -> None:
        """Follow a store."""
        if len(i.operands) != 2:
            return
        for name, (base, at, size) in pieces(i):
            if base not in FRAME and "param" not in i.op:
                self.forget()
                continue
            for p in [p for p in self.in_memory if p[0] == base]:
                if p[1] < at + size and at < p[1] + p[2]:
                    del self.in_memory[p]
            if name in self.in_registers and i.guard is None:
                self.in_memory[base, at, size] = self.in_registers[name]

    def write(self, i: Instruction, read: set[Piece]) -> None:
        """Enter what the targets of an instruction hold after it."""
        for name in targets(i):
            self.in_registers.pop(name, None)
            if len(read) == 1 and i.op.split(".")[0] in _COPIES and copies_value(i):
                self.in_registers[name] = next(iter(read))
        if i.op.startswith("ld.") and len(i.operands) == 2 and i.guard is None:
            for name, at in pieces(i):
                if at[0] in self.parameters and "param" in i.op:
                    self.in_registers[name] = at
                elif at in self.in_memory:
                    self.in_registers[name] = self.in_memory[at]
