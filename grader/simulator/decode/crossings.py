"""Which values that were never set go to other functions, and to other threads.

One function hands over arguments and results, and another uses them or not. Their shadows go with
them: see `shadow.py`. Other threads get values through memory. Structs have padding, and a copy by
words reads it. A thread of a partial tile stores elements that it never set, and a library's
exchange between threads stores them for it. Neither is a use: the place has no value then, and what
is read from there is followed to its use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from grader import dataclass, regex, replace
from grader.compile.program import Subscript
from grader.simulator.decode.blocks import COMPUTES
from grader.simulator.decode.dataflow import (
    LocalAccesses,
    copies_value,
    has_local,
    maybe_undefined,
    sources,
    targets,
)
from grader.simulator.decode.followed import Loads, may_share, moving_loads, passes_on
from grader.simulator.decode.instructions import Insn, make_insn
from grader.simulator.decode.lifetimes import Marks, without_value
from grader.simulator.decode.memory import LOCAL, PARAM, base_of, space_of
from grader.simulator.decode.numbering import Numbered
from grader.simulator.decode.operands import Operands, address_or_none, vector
from grader.simulator.decode.parameters import Uses
from grader.simulator.ptx.debug_info import LocalVariables
from grader.simulator.ptx.model import FRAME, TYPE_BYTES, Function, Instruction, Variable

_NAME = regex(r"[$%A-Za-z_][$%\w@]*")
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


_CHECKED = 8
"""A flag of what marks a store: it was checked that anything that was stored has a value."""


def _shadowed(f: Function, loads: Loads, *, follows: bool, words: bool, library: bool) -> Loads:
    """The loads of a function whose values have shadows, of the loads of values that move.

    Args:
        f: the function.
        loads: what `moving_loads` finds.
        follows: whether values are followed in the kernel.
        words: whether words that are only copied may be padding: they are followed, too.
        library: whether a library's code stores values that may have none.
    """
    followed, copied, by_pointer = loads
    followed = followed if follows else frozenset()
    if words:
        followed, copied, by_pointer = followed | copied, frozenset(), frozenset()
    if library:
        own = library_accesses(f, "ld")
        followed |= own & copied
        copied |= own
    return Loads(followed, copied - followed, by_pointer)


def library_accesses(f: Function, head: str) -> frozenset[int]:
    """The loads or stores of a library's code, by id, that may be to shared or global memory."""
    own = (i for i in f.body if (i.library or f.library) and may_share(i, head))
    at = head == "ld"
    return frozenset(id(i) for i in own if address_or_none(i.operands[at])[0] not in FRAME)


def is_stored(i: Instruction) -> bool:
    """Whether an instruction may store to shared or global memory, and not to the stack frame."""
    if not i.op.startswith("st.") or len(i.operands) != 2 or i.operands[0].startswith("[%SP"):
        return False
    return space_of(i.op.split(".")) not in (PARAM, LOCAL)


def stored_values(i: Instruction, o: Operands, *, checked: bool) -> Iterator[tuple[str, Insn]]:
    """Of each value that is stored: its name, and what marks its place in memory after the store.

    Args:
        i: the store.
        o: the operands of its function.
        checked: whether all that one statement stores, and not each value, must have a value.
    """
    parts, values = i.op.split("."), vector(i.operands[1])
    space, size = space_of(parts), TYPE_BYTES[parts[-1]]
    a, add, mode = base_of(o, i.operands[0], space)
    for k, name in enumerate(values):
        insn = Insn("shadow_stored", a=a, imm=add + k * size, size=size, mode=mode, space=space)
        insn.flag = _CHECKED * (checked or len(values) > 1)
        yield name, insn


def stores_in_library(functions: Sequence[Function]) -> bool:
    """Whether code of a library stores to memory what variables of others may hold."""
    return has_local(functions) and any(library_accesses(f, "st") for f in functions)


def computed(i: Instruction, to: list[int], parts: list[int], number: int, flag: int) -> list[Insn]:
    """The shadows of results that have no value where an operand has none.

    Args:
        i: the instruction.
        to: the results' shadows.
        parts: the operands' shadows.
        number: the number of the first operand's register.
        flag: that of a check of it.
    """
    insns = [make_insn("shadow_compute", d, (parts + parts[:1] * 3)[:4]) for d in to]
    for insn in insns:
        insn.size, insn.flag, insn.count = min(number, 0xFFFF), flag, int(i.op.startswith("redux"))
    return insns


def computing(f: Function, moves: frozenset[int]) -> frozenset[int]:
    """The instructions, by id, that compute results from registers alone, and copy none.

    Not a library's differences of integers: a scan subtracts an element from a sum that has it, and
    the result does not depend on it.
    """
    own = (i for i in f.body if id(i) not in moves)
    return frozenset(id(i) for i in own if _computes(i.op, library=i.library or f.library))


def _computes(op: str, *, library: bool) -> bool:
    head, *parts = op.split(".")
    is_difference = library and head == "sub" and parts[-1][0] in "us"
    return (head in COMPUTES or head == "redux") and "cc" not in parts and not is_difference


def held_in_part(f: Function, moving: frozenset[int]) -> set[str]:
    """The registers that may be defined in part where that matters: they are moved or stored."""
    names: set[str] = set()
    for i in f.body:
        if id(i) in moving:
            names.update(targets(i), sources(i))
        elif i.op.split(".")[0] == "st" and len(i.operands) == 2:
            names.update(vector(i.operands[1]))
    return names


def moving(f: Function, in_memory: frozenset[str]) -> frozenset[int]:
    """The instructions, by id, that copy shadows.

    A mask copies those of values that come from memory. It uses any other register: there its
    operand is a variable of its own.
    """
    names = may_hold(f, in_memory, frozenset(id(i) for i in f.body if passes_on(i)))
    return frozenset(
        id(i)
        for i in f.body
        if copies_value(i) or (passes_on(i) and not names.isdisjoint(sources(i)))
    )


def may_hold(f: Function, undefined: frozenset[str], moving: frozenset[int]) -> set[str]:
    """The registers that may hold a value of the `undefined` ones, and these."""
    moves = [(targets(i), sources(i)) for i in f.body if id(i) in moving]
    names, before = set(undefined), 0
    while len(names) != before:
        before = len(names)
        for to, given in moves:
            if not names.isdisjoint(given):
                names.update(name for name in to if name in f.registers)
    return names


def holders(
    f: Function, undefined: frozenset[str], in_memory: frozenset[str], *, library: bool
) -> tuple[frozenset[int], frozenset[int], dict[str, bool]]:
    """What copies shadows, what computes them, and the registers that have one.

    Args:
        f: the function.
        undefined: the registers that a path reads before any write.
        in_memory: those with values from memory, or another function, that may have none.
        library: whether a library's code stores values that may have none.

    Returns the instructions by id, and the registers, each with whether it has the bits of lanes.
    """
    moves = moving(f, in_memory)
    computes = computing(f, moves) if library else frozenset()
    has_bits, undefined = held_in_part(f, moves), undefined | in_memory
    names = may_hold(f, undefined & f.registers.keys(), moves | computes)
    return moves, computes, {name: name in has_bits for name in sorted(names)}


@dataclass(frozen=True)
class Use:
    """What the functions of a kernel have that is followed.

    Attributes:
        has_locals: variables in local memory.
        follows: values are followed to their use.
        library: a library's code stores values, which may have none.
        copies: asynchronous copies may be of structs with padding: what they copy is followed, too.
        numbered: of the functions that make addresses of their variables, these variables.
        subscripts: those that are known to be outside their arrays.
        loads: by function, the loads from shared or global memory whose values have shadows.
        crossed: parameters and results that may be undefined.
        undefined, parameters, flows: by function, what was found of it before.
    """

    has_locals: bool
    follows: bool
    library: bool
    copies: bool
    numbered: Mapping[str, Numbered]
    subscripts: Sequence[Subscript]
    loads: Mapping[str, Loads]
    crossed: frozenset[Crossing] = frozenset()
    undefined: dict[str, frozenset[str]] = field(default_factory=dict)
    parameters: Uses = field(default_factory=dict)
    flows: dict[str, _Flow] = field(default_factory=dict)

    def is_like(self, other: Use) -> bool:
        """Whether the same is followed as in another kernel, whatever crosses calls."""
        names = ("has_locals", "follows", "library", "copies", "subscripts")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def follows_alike(self, other: Use, name: str) -> bool:
        """Whether the same is followed in a function that another kernel has, too."""
        own = self.numbered.get(name), self.loads.get(name)
        return own == (other.numbered.get(name), other.loads.get(name))

    def undefined_in(self, f: Function) -> frozenset[str]:
        """The registers of a function that a path from its entry reads before any write."""
        if f.name not in self.undefined:
            self.undefined[f.name] = maybe_undefined(f)
        return self.undefined[f.name]

    def loads_in(self, f: Function) -> Loads:
        """The loads of a function whose values have shadows."""
        return self.loads.get(f.name, Loads())

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


def use_of(
    functions: Sequence[Function],
    variables: LocalVariables | None,
    numbered: Mapping[str, Numbered],
    subscripts: Sequence[Subscript],
    source: str,
) -> Use:
    """What the functions of a kernel have; nothing is followed without their `variables`.

    Words may be padding where functions load integers only to copy them, and a type has padding.
    """
    has_locals = has_local(functions)
    moving = {f.name: moving_loads(f) for f in functions} if variables is not None else {}
    padded = variables is not None and variables.may_have_padding(source)
    words = padded and any(loads.copied for loads in moving.values())
    library = variables is not None and stores_in_library(functions)
    copies = padded and any(map(_copies, functions))
    follows = words or library or copies or any(loads.followed for loads in moving.values())
    how = {"follows": follows, "words": words, "library": library}
    known = moving if follows or has_locals else {}
    loads = {f.name: _shadowed(f, known[f.name], **how) for f in functions if known}
    return Use(has_locals, follows, library, copies, numbered, subscripts, loads)


def _copies(f: Function) -> bool:
    """Whether a function has asynchronous copies."""
    return any(i.op.startswith("cp.async.") for i in f.body)


class _Flow:
    """What a function hands over that may be undefined."""

    def __init__(self, f: Function, functions: Mapping[str, Function], use: Use) -> None:
        self.f, self.use, known = f, use, crossings(f, functions)
        self.crossing = [(i, known[id(i)]) for i in f.body if id(i) in known]
        self.undefined = use.undefined_in(f)
        local = LocalAccesses(f) if use.has_locals else None
        loads = use.loads_in(f)
        from_memory = loads.copied | loads.followed
        self.in_memory = local.loaded if local else frozenset()
        self.in_memory |= {n for i in f.body if id(i) in from_memory for n in targets(i)}
        self.known: dict[frozenset[str], set[Crossing]] = {}

    def given(self, found: set[Crossing]) -> set[Crossing]:
        """The arguments and results that may be undefined, where those that are `found` are."""
        taken = frozenset(n for i, at in self.crossing if at in found for n in targets(i))
        if taken in self.known:
            return self.known[taken]
        in_memory = self.in_memory | (self.f.registers.keys() & taken)
        moves = moving(self.f, in_memory)
        passing = moves | computing(self.f, moves) if self.use.library else moves
        names = may_hold(self.f, self.undefined | in_memory, passing)
        given = {
            at
            for i, at in self.crossing
            if i.op.startswith("st")
            if not names.isdisjoint(vector(i.operands[1]))
        }
        self.known[taken] = given
        return given


def with_crossings(
    use: Use,
    names: Sequence[str],
    functions: Mapping[str, Function],
    tables: Sequence[Variable],
    before: Use | None = None,
) -> Use:
    """The same use with the parameters and results of the named functions that may be undefined.

    Args:
        use: what the functions have otherwise.
        names: the functions.
        functions: the functions of the module by name.
        tables: the module's variables, some of which hold addresses of functions.
        before: that of a kernel with the same functions but for what they do.
    """
    found: set[Crossing] = set()
    known = before.flows if before is not None and use.is_like(before) else {}
    for name in names if len(names) > 1 else ():
        f, flow = functions[name], known.get(name)
        same = flow is not None and flow.f is f and use.follows_alike(flow.use, name)
        use.flows[name] = flow if flow is not None and same else _Flow(f, functions, use)
    flows = use.flows.values()
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
