"""Parameters whose address a function takes: PTX keeps them in local memory.

They are large structs that are passed by value, and the values behind `...`. The function gets a
local variable for each, copies the parameter to it first, and uses that.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.simulator.decode.operands import address_or_none
from grader.simulator.ptx.model import Function, Instruction, Location, Variable

COPY = "_local"
"""How the names of the local copies end."""

_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
_VARIADIC, _VARIADIC_ALIGN = "%VAParam", 8
"""How PTX names the parameter that is `...`, and its alignment in bytes."""


def with_local_copies(functions: dict[str, Function], names: Sequence[str]) -> dict[str, Function]:
    """The functions, with a local variable for each parameter whose address its function takes.

    PTX keeps such a parameter in local memory: a large struct that is passed by value, and the
    values behind `...`, of which a function has room for as many as any call passes.

    Args:
        functions: all functions by name.
        names: those that the kernel may call.
    """
    moved = dict(functions)
    for name in names:
        f = moved[name]
        if not f.entry and any(v.name.startswith(_VARIADIC) for v in f.parameters):
            moved |= _with_room(moved, names, name)
    for name in names:
        f = moved[name]
        own = {v.name: v for v in f.parameters} if not f.entry else {}
        moves = (i.operands[-1] for i in f.body if i.op.startswith("mov.")) if own else ()
        if taken := [own[x] for x in dict.fromkeys(moves) if x in own]:
            moved[name] = _with_copies(f, taken)
    return moved


def _with_room(
    functions: Mapping[str, Function], names: Sequence[str], name: str
) -> dict[str, Function]:
    """A function with `...`, and its callers, with room for what the longest call passes."""
    f, out, longest = functions[name], dict[str, Function](), 1
    passed = defaultdict[str, set[str]](set)
    for caller in names:
        for i in functions[caller].body:
            if i.op.startswith("call") and name in i.operands[:2]:
                at = i.operands.index(name) + 1
                given = _NAME.findall(i.operands[at]) if at < len(i.operands) else []
                if len(given) < len(f.parameters):  # the compiler passes nothing for nothing
                    given.append(f"{name}{COPY}")
                    i.operands[at:] = [f"({', '.join(given)})"]
                passed[caller].add(given[-1])
    for caller, own in passed.items():
        variables = functions[caller].variables
        longest = max([longest, *(v.bytes for v in variables if v.name in own)])
    for caller, own in passed.items():
        others = [v for v in functions[caller].variables if v.name not in own]
        enlarged = [Variable(x, "param", _VARIADIC_ALIGN, longest) for x in sorted(own)]
        out[caller] = replace(functions[caller], variables=others + enlarged)
    f = out.get(name, f)
    parameters = [*f.parameters[:-1], replace(f.parameters[-1], bytes=longest)]
    return out | {name: replace(f, parameters=parameters)}


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
