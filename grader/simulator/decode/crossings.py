"""Which arguments and results of functions may be undefined.

One function hands them over, and another uses them or not. Their shadows go with them: see
`shadow.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader import dataclass
from grader.compile.program import Subscript
from grader.simulator.decode.dataflow import LocalAccesses, maybe_undefined, targets
from grader.simulator.decode.followed import may_hold, moving, moving_loads
from grader.simulator.decode.lifetimes import Marks, without_value
from grader.simulator.decode.numbering import Numbered
from grader.simulator.decode.operands import address_or_none, vector
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.model import Function, Instruction, Variable

_NAME = re.compile(r"[$%A-Za-z_][$%\w@]*")
Crossing = tuple[str, str]
"""A parameter or a result: the names of its function and its own."""
INDIRECT: Crossing = ("", "argument")
INDIRECT_RESULT: Crossing = ("", "result")
"""Any argument, or result, of a call through an address: of any function whose address is taken."""


def crossings(f: Function, functions: Mapping[str, Function]) -> dict[int, Crossing]:
    """By id, the loads and stores of `.param` variables before and behind calls: what crosses."""
    own = {v.name: (f.name, v.name) for v in (*f.parameters, *f.results) if not f.entry}
    out: dict[int, Crossing] = {}
    given, results = list[tuple[int, str]](), dict[str, Crossing]()
    for i in f.body:
        parts = i.op.split(".")
        if parts[0] == "call":
            arguments, results = _call_values(i, functions)
            out |= {key: arguments[base] for key, base in given if base in arguments}
            given = []
        elif parts[0] in ("ld", "st") and "param" in parts and len(i.operands) == 2:
            base, _ = address_or_none(i.operands[parts[0] == "ld"])
            if base in own:
                out[id(i)] = own[base]
            elif parts[0] == "st":
                given.append((id(i), base))
            elif base in results:
                out[id(i)] = results[base]
    return out


def _call_values(
    i: Instruction, functions: Mapping[str, Function]
) -> tuple[dict[str, Crossing], dict[str, Crossing]]:
    """The arguments and the results of a call by the caller's `.param` variables."""
    operands = list(i.operands)
    results = _NAME.findall(operands.pop(0)) if operands and operands[0].startswith("(") else []
    target, *given = operands or [""]  # decoding refuses a call of nothing
    arguments = _NAME.findall(given[0]) if given and given[0].startswith("(") else []
    if target.startswith("%"):
        return dict.fromkeys(arguments, INDIRECT), dict.fromkeys(results, INDIRECT_RESULT)
    if (callee := functions.get(target)) is None or not callee.has_body:
        return {}, {}
    return (
        {a: (target, p.name) for a, p in zip(arguments, callee.parameters, strict=False)},
        {a: (target, p.name) for a, p in zip(results, callee.results, strict=False)},
    )


@dataclass(frozen=True)
class Use:
    """What the functions of a kernel have that is followed.

    Attributes:
        has_locals: variables in local memory.
        follows: `followed_loads`.
        numbered: of the functions that make addresses of their variables, these variables.
        subscripts: those that are known to be outside their arrays.
        crossed: parameters and results that may be undefined.
    """

    has_locals: bool
    follows: bool
    numbered: Mapping[str, Numbered]
    subscripts: Sequence[Subscript] = ()
    crossed: frozenset[Crossing] = frozenset()

    def handed(self, f: Function, functions: Mapping[str, Function]) -> frozenset[int]:
        """The loads and stores, by id, of arguments and results whose shadows cross a call."""
        known = crossings(f, functions) if self.crossed else {}
        return frozenset(k for k, at in known.items() if at in self.crossed or at == INDIRECT)

    def numbered_in(self, f: Function) -> Numbered:
        """The numbered variables of a function."""
        return self.numbered.get(f.name, Numbered())

    def marks_of(self, f: Function, variables: LocalVariables | None) -> Marks:
        """Where the variables of blocks of a function begin and end."""
        numbered = self.numbered.get(f.name)
        return numbered.marks if numbered is not None else without_value(f, variables)


class _Flow:
    """What a function hands over that may be undefined."""

    def __init__(self, f: Function, functions: Mapping[str, Function], use: Use) -> None:
        self.f, self.crossings = f, crossings(f, functions)
        self.undefined = maybe_undefined(f)
        local = LocalAccesses(f) if use.has_locals else None
        none: frozenset[int] = frozenset()
        loads, copied = moving_loads(f)[:2] if use.follows or local else (none, none)
        from_memory = copied | (loads if use.follows else none)
        self.in_memory = local.loaded if local else frozenset()
        self.in_memory |= {n for i in f.body if id(i) in from_memory for n in targets(i)}
        self.last: tuple[set[str] | None, set[Crossing]] = None, set()

    def given(self, found: set[Crossing]) -> set[Crossing]:
        """The arguments and results that may be undefined, where those that are `found` are."""
        taken = {n for i in self.f.body if self.crossings.get(id(i)) in found for n in targets(i)}
        if taken == self.last[0]:
            return self.last[1]
        in_memory = self.in_memory | (self.f.registers.keys() & taken)
        names = may_hold(self.f, self.undefined | in_memory, moving(self.f, in_memory))
        given = {
            self.crossings[id(i)]
            for i in self.f.body
            if id(i) in self.crossings and i.op.startswith("st")
            if not names.isdisjoint(vector(i.operands[1]))
        }
        self.last = taken, given
        return given


def with_crossings(
    use: Use, names: Sequence[str], functions: Mapping[str, Function], tables: Sequence[Variable]
) -> Use:
    """The same use with the parameters and results of the named functions that may be undefined.

    Args:
        use: what the functions have otherwise.
        names: the functions.
        functions: the functions of the module by name.
        tables: the module's variables, some of which hold addresses of functions.
    """
    found: set[Crossing] = set()
    flows = [_Flow(functions[name], functions, use) for name in names if len(names) > 1]
    addressed = [functions[name] for name in _addressed(names, functions, tables)]
    results = {(f.name, v.name) for f in addressed for v in f.results}
    parameters = {(f.name, v.name) for f in addressed for v in f.parameters}
    while more := {at for flow in flows for at in flow.given(found)} - found:
        found |= more
        if INDIRECT in found:
            found |= parameters
        if not results.isdisjoint(found):
            found |= {INDIRECT_RESULT, *results}
    return replace(use, crossed=frozenset(found - {INDIRECT}))


def _addressed(
    names: Sequence[str], functions: Mapping[str, Function], tables: Sequence[Variable]
) -> set[str]:
    """The functions that may be called through their addresses."""
    held = {name for v in tables for _, name, _ in v.relocations}
    held |= {x for n in names for i in functions[n].body if i.op[:3] == "mov" for x in i.operands}
    return held.intersection(names)
