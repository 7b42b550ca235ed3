"""Give each call of a function a copy of its own, or put the function's body in its place.

With copies an instruction has one chain of calls that leads to it, and the order of two
instructions is that of their calls. Only runs that found something in a function with several calls
need this.

With its body in place of a call, what a function copies for its caller is in one piece of code with
what the caller does before and after it. That is for an analysis of the caller, and not executed.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader import dataclass, regex, replace
from grader.simulator.ptx.model import Function, Instruction

MOST_COPIES = 64
MOST_INSTRUCTIONS = 20_000
"""The copies that are made of the functions of a kernel, and the instructions that these have."""

MOST_INLINED = 2000
"""The instructions that a caller may have with the bodies of what it calls."""

MOST_BEFORE = 32
"""Among so many instructions before a call are those that store its arguments."""

_NAME = regex(r"[%$A-Za-z_][\w$@%]*")
_OTHER = ("call", "bar", "barrier", "brx", "exit", "trap", "membar", "fence")

_MARK = "$call"


def with_a_copy_for_each_call(functions: dict[str, Function], kernel: str) -> dict[str, Function]:
    """The functions of a kernel, each called in one place.

    Functions that call themselves, and calls through an address, stay as they are; so do the last
    ones where there would be too many copies.
    """
    made, called, work = dict(functions), {kernel}, [kernel]
    path: dict[str, frozenset[str]] = {kernel: frozenset((kernel,))}
    copies = room = 0
    while work:
        name = work.pop(0)
        body = []
        for i in made[name].body:
            callee = next((x for x in i.operands[:2] if _is_defined(made, x)), None)
            if not i.op.startswith("call") or callee is None or callee in path[name]:
                body.append(i)
                continue
            own, size = callee, len(made[callee].body)
            if callee in called and copies < MOST_COPIES and room + size <= MOST_INSTRUCTIONS:
                copies, room = copies + 1, room + size
                own = f"{callee}{_MARK}{copies}"
                body_of_copy = [replace(x) for x in functions[callee].body]
                made[own] = replace(made[callee], name=own, body=body_of_copy)
            if own not in called:
                path[own] = path[name] | {callee}
                work.append(own)
            called.add(own)
            body.append(replace(i, operands=[own if x == callee else x for x in i.operands]))
        made[name] = replace(made[name], body=body)
    return made


def original_name(name: str) -> str:
    """The name of the function that a copy for a call was made of, or the name itself."""
    return name.partition(_MARK)[0]


def _is_defined(functions: dict[str, Function], name: str) -> bool:
    return name in functions and functions[name].has_body and not functions[name].entry


@dataclass(frozen=True)
class Inlined:
    """A function with the bodies of some that it calls.

    Attributes:
        f: the function.
        places: of each instruction: the function that it is of, and its index there.
    """

    f: Function
    places: tuple[tuple[str, int], ...]


def with_bodies(f: Function, functions: Mapping[str, Function]) -> Inlined:
    """A function with the bodies of those that it calls, if they have no result and call none."""
    body, places, labels = list[Instruction](), list[tuple[str, int]](), dict[str, int]()
    starts = dict[int, int]()
    for at, i in enumerate(f.body):
        starts[at] = len(body)
        callee = _callee(i, functions)
        arguments = _arguments(f, at, callee) if callee is not None else None
        if callee is None or arguments is None or len(body) + len(callee.body) > MOST_INLINED:
            body.append(i)
            places.append((f.name, at))
            continue
        mark = f"@{at}"
        for k, inner in enumerate(callee.body[:-1]):
            body.append(_moved(inner, callee, arguments, mark))
            places.append((callee.name, k))
        inside = ((label, index) for label, index in callee.labels.items())
        labels |= {label + mark: starts[at] + min(k, len(callee.body) - 1) for label, k in inside}
    starts[len(f.body)] = len(body)
    labels |= {label: starts[at] for label, at in f.labels.items()}
    return Inlined(replace(f, body=body, labels=labels), tuple(places))


def _callee(i: Instruction, functions: Mapping[str, Function]) -> Function | None:
    """The function that an instruction calls, if its body can be put there."""
    if not i.op.startswith("call") or i.guard is not None or i.operands[0].startswith("("):
        return None
    g = functions.get(i.operands[0])
    if g is None or not g.has_body or g.results or not g.body or g.body[-1].op != "ret":
        return None
    heads = [x.op.split(".")[0] for x in g.body]
    return g if heads.count("ret") == 1 and not set(heads).intersection(_OTHER) else None


def _arguments(f: Function, at: int, g: Function) -> dict[str, str] | None:
    """What a call gives for each parameter; None where that is not known."""
    names = _NAME.findall(f.body[at].operands[-1]) if len(f.body[at].operands) > 1 else []
    stored = {
        x.operands[0].strip("[]").removesuffix("+0"): x.operands[1]
        for x in f.body[max(0, at - MOST_BEFORE) : at]
        if x.op.startswith("st.param")
    }
    if len(names) != len(g.parameters) or not stored.keys() >= set(names):
        return None
    return {p.name: stored[name] for p, name in zip(g.parameters, names, strict=True)}


def _moved(i: Instruction, g: Function, arguments: Mapping[str, str], mark: str) -> Instruction:
    """An instruction of a function at a call: with names of its own, and the call's arguments."""

    def renamed(operand: str) -> str:
        return _NAME.sub(lambda m: m[0] + mark if own(m[0]) else m[0], operand)

    def own(name: str) -> bool:
        return name in g.registers or name in g.labels

    where = i.operands[-1].strip("[]").removesuffix("+0") if i.operands else ""
    if i.op.startswith("ld.param") and where in arguments:
        kind = i.op.rpartition(".")[2]
        return replace(i, op=f"mov.{kind}", operands=[renamed(i.operands[0]), arguments[where]])
    guard = (renamed(i.guard[0]), i.guard[1]) if i.guard else None
    return replace(i, operands=[renamed(x) for x in i.operands], guard=guard)
