"""Machines of a kernel's debug code with a small change, for runs that try what a hint says.

The debug code has the statements of the source in their order, so that a barrier, an atomic or a
statement in another place is a change of a few instructions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING

from grader import replace
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decode.memory import ACQUIRE, HAS_ACQUIRES, HAS_FENCES, RELEASE
from grader.simulator.decode.module import Image, decode
from grader.simulator.diagnose.kernel_code import source_lines
from grader.simulator.ptx.call_copies import original_name
from grader.simulator.ptx.model import Function, Instruction, Location, root_lines
from grader.simulator.schedules import ABREAST

if TYPE_CHECKING:
    from grader.simulator.diagnose.barrier_hints import Meeting
    from grader.simulator.diagnose.places import Gap
    from grader.simulator.diagnose.race_messages import Early

MOST_STEPS = 1 << 18
"""The warp instructions of a run that is repeated with changed code."""

MOST_DECODED = 1 << 12
"""The instructions that are decoded for the trials of one kind, beside the first one's."""

MOST_KEPT = 64
"""The machines with changed code that are kept of one machine."""

BARRIERS, WARP_BARRIER = ("bar.sync", "barrier.sync"), "bar.warp.sync"
_HEADS = ("ld", "st", "atom", "red", "fence", "membar")
_FENCE = Instruction("membar.gl", [], None, Location())
_OWN_BARRIER = "15"
ORDERS = ("volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "weak")
_SCOPES = ("cta", "cluster", "gpu", "sys")


def most_trials(image: Image, most: int) -> int:
    """How often changed code of an image may be decoded for trials: once at least.

    Args:
        image: the image.
        most: the number for small code.
    """
    return min(most, 1 + MOST_DECODED // len(image.ops))


def changed_machine(machine: Machine, *changed: Function) -> Machine:
    """A kernel's debug code with other functions in the place of those of their names.

    Each call of a function has code of its own where it has that in the machine. What was made is
    kept: a mistake shows in each launch of a kernel, where the same changes are tried.
    """
    key = tuple((f.name, *(i.op for i in f.body)) for f in changed)
    known = machine.changed.get(key)
    if known is not None and known[0] == changed:
        return known[1]
    own = tuple(replace(f, body=[replace(i) for i in f.body]) for f in changed)
    return keep(machine, key, own, _made(machine, changed))


def keep(machine: Machine, key: object, change: object, made: Machine) -> Machine:
    """Keep a machine of changed code for other launches: see `Machine.changed`.

    Args:
        machine: the machine that was changed.
        key: what to find it by.
        change: what has to be equal where it is found, too.
        made: the machine with the change.
    """
    if len(machine.changed) == MOST_KEPT:
        machine.changed.clear()
    machine.changed[key] = change, made
    return made


def _made(machine: Machine, changed: Iterable[Function]) -> Machine:
    before, has = machine.image, machine.core.known
    names = [f.name for f in before.functions]
    apart = any(original_name(name) != name for name in names)
    functions = machine.module.functions | {f.name: f for f in changed}
    module = replace(machine.module, functions=functions)
    how = {"definedness": True, "apart": apart}
    same = before if before.shadowed is not None else None
    image = decode(module, names[0], has, before=same, **how)
    if image.sync & HAS_FENCES > before.sync & HAS_FENCES:
        # volatile accesses to shared memory stay plain
        image.sync = image.sync & ~HAS_FENCES | HAS_ACQUIRES
    return Machine(module, image)


def race_lines(
    machine: Machine,
    run: Callable[[Machine, int], Raw],
    holds: Callable[[Raw], bool] = lambda raw: True,
) -> set[frozenset[int]] | None:
    """The lines of the races of a changed machine, in the usual order and where warps run abreast.

    Args:
        machine: the machine.
        run: runs it in an order.
        holds: whether a run that ended shows something.

    None where a run does not end, or does not hold.
    """
    left, lines = set[frozenset[int]](), source_lines(machine.image)
    for order in (0, ABREAST):
        raw = run(machine, order)
        if not raw.ended or not holds(raw):
            return None
        rows = raw.reports[raw.reports["kind"] == c.RACE]
        pairs = [(int(r["pc"]), int(r["pc2"])) for r in rows]
        left |= {frozenset(lines[pc] for pc in p) for p in pairs if max(p) < len(lines)}
    return left


def function_of(machine: Machine, pc: int) -> tuple[Function, int] | None:
    """The module's function with an instruction, and its index there; None where it has none."""
    image = machine.image
    number = image.owner[pc]
    name = original_name(image.functions[number].name).partition("@")[0]
    function, at = machine.module.functions.get(name), pc - image.owner.index(number)
    known = function is not None and at < len(function.body)
    same = known and function is not None and function.body[at].op == image.ops[pc]
    return (function, at) if function is not None and same else None


def with_ops(machine: Machine, ops: Mapping[int, str]) -> Machine | None:
    """A machine with other opcodes at some program counters; None where these are not known."""
    changed: dict[str, dict[int, str]] = defaultdict(dict)
    for pc, op in ops.items():
        if (found := function_of(machine, pc)) is None:
            return None
        changed[found[0].name][found[1]] = op
    functions = machine.module.functions
    edited = [
        replace(functions[name], body=[
            replace(i, op=own.get(k, i.op)) for k, i in enumerate(functions[name].body)
        ])
        for name, own in changed.items()
    ]  # fmt: skip
    return changed_machine(machine, *edited)


def with_fences(machine: Machine, places: Iterable[int]) -> Machine | None:
    """A machine with fences before some program counters; None where these are not known."""
    found = {pc: function_of(machine, pc) for pc in places}
    changed: dict[str, set[int]] = defaultdict(set)
    for known in found.values():
        if known is None:
            return None
        changed[known[0].name].add(known[1])
    edited = []
    for name, own in changed.items():
        function = machine.module.functions[name]
        for place in sorted(own, reverse=True):
            function = with_instruction(function, place, _FENCE)
        edited.append(function)
    return changed_machine(machine, *edited) if edited else None


def behind(function: Function, own: Sequence[int]) -> int:
    """The index behind a statement's instructions, or of the jump that leaves its block there.

    Args:
        function: the function.
        own: the indices of the instructions.
    """
    last = function.body[own[-1]]
    target = function.labels.get(last.operands[0], -1) if last.op == "bra.uni" else own[0]
    return own[-1] if not own[0] <= target <= own[-1] + 1 else own[-1] + 1


def strong(op: str, order: str = "relaxed") -> str:
    """The opcode of a load or store with a memory order, at the device's scope."""
    head, *parts = op.split(".")
    parts = [part for part in parts if part not in (*ORDERS, *_SCOPES)]
    return ".".join((head, order, "gpu", *parts))


def widened(op: str) -> str:
    """The opcode of an access or a fence of a block, with the device's scope."""
    wider = {"cta": "gl" if op.startswith("membar") else "gpu", "cluster": "gpu"}
    return ".".join(wider.get(part, part) for part in op.split("."))


def access_rows(machine: Machine) -> dict[int, list[int]]:
    """By program counter of an access or fence, the rows of its machine instructions."""
    out: dict[int, list[int]] = {}
    blocks = (block for f in machine.image.functions for block in f.blocks)
    for row, insn in enumerate(insn for block in blocks for insn in block.insns):
        head = machine.image.ops[insn.pc].split(".")[0]
        if head in _HEADS and insn.exec.startswith((head, "atom", "fence")):
            out.setdefault(insn.pc, []).append(row)
    return out


def ordering(
    machine: Machine,
    rows: Mapping[int, Sequence[int]],
    waits: Iterable[int],
    signals: Iterable[int],
) -> Machine:
    """A machine in which some accesses acquire, and some release.

    Args:
        machine: the machine.
        rows: by program counter of an access, the rows of its machine instructions.
        waits: the program counters of the reads.
        signals: those of the writes.
    """
    insns = machine.arrays.insns.copy()
    for flag, chosen in ((ACQUIRE, waits), (RELEASE, signals)):
        insns["flag"][[row for pc in chosen for row in rows.get(pc, ())]] |= flag
    other = copy(machine.with_code(insns, machine.arrays.blocks))
    terms = c.CLaunch.from_buffer_copy(machine.image_terms)
    terms.sync |= HAS_ACQUIRES  # not HAS_FENCES: volatile accesses to shared memory stay plain ones
    other.__dict__["image_terms"] = terms
    return other


def with_barrier(function: Function, place: int, *, warp: bool) -> Function:
    """A function with a barrier before an instruction, which jumps to that one reach, too.

    Args:
        function: the function.
        place: the instruction's index.
        warp: whether it is a barrier of the warp.
    """
    return with_instruction(function, place, _barrier(warp=warp))


def _barrier(*, warp: bool) -> Instruction:
    op, operand = (WARP_BARRIER, "0xffffffff") if warp else ("bar.sync", "0")
    return Instruction(op, [operand], None, Location())


def with_barriers(function: Function, places: Iterable[int]) -> Function:
    """A function with one barrier that threads may reach in any of some places."""
    for place in sorted(places, reverse=True):
        new = Instruction("barrier.sync", [_OWN_BARRIER], None, Location())
        function = with_instruction(function, place, new)
    return function


def without(function: Function, own: Collection[int]) -> Function:
    """A function in which some instructions do nothing."""
    body = [replace(i) for i in function.body]  # decoding changes instructions
    for k in own:
        body[k] = replace(body[k], op="nop", operands=[])
    return replace(function, body=body)


def with_statement_moved(
    function: Function, own: range, place: int, before: Sequence[Instruction]
) -> Function:
    """A function with the instructions of a statement before another place, which is behind them.

    Only what is between the two reaches the statement: other jumps to that place pass it by.

    Args:
        function: the function.
        own: the indices of the instructions.
        place: the index of the instruction that they precede then.
        before: what precedes them.
    """
    ends = {name: f"{name}$moved" for name, at in function.labels.items() if at == place}
    new = [replace(i, operands=[*i.operands]) for i in function.body]
    for i in new[own.stop : place]:
        i.operands = [ends.get(x, x) for x in i.operands]
    left = {name: f"{name}$left" for name, at in function.labels.items() if at == own.stop}
    for i in new[own.start : own.stop]:
        i.operands = [left.get(x, x) for x in i.operands]
    more = [replace(i, location=new[own.start].location) for i in before]
    body = [*new[: own.start], *new[own.stop : place], *more, *new[own.start : own.stop]]

    def moved(at: int) -> int:
        if own.start < at < own.stop:
            return at - own.stop + place + len(more)
        return at + len(more) if at >= place else at - len(own) * (at >= own.stop)

    labels = {name: moved(at) for name, at in function.labels.items()}
    labels |= dict.fromkeys(ends.values(), place - len(own))
    labels |= dict.fromkeys(left.values(), place + len(more))
    return replace(function, body=[*body, *new[place:]], labels=labels)


def with_instruction(function: Function, place: int, new: Instruction) -> Function:
    """A function with one more instruction before another one, in that one's line."""
    line = function.body[place].location
    new = replace(new, location=Location(line.file, line.line))
    body = [replace(i) for i in function.body]  # decoding changes instructions
    labels = {name: at + (at > place) for name, at in function.labels.items()}
    return replace(function, body=[*body[:place], new, *body[place:]], labels=labels)


def signal_moved(early: Early, function: Function) -> Function | None:
    """A function with a signal moved; None where it does not have its statement."""
    lines = [*root_lines(i.location for i in function.body)]
    own = [k for k, line in enumerate(lines) if early.first <= line <= early.last]
    then = [k for k, line in enumerate(lines) if early.last < line <= early.behind]
    if not own or not then or then[-1] + 1 == len(lines) or own[-1] >= then[0]:
        return None
    if own[-1] - own[0] + 1 != len(own) or any(
        function.body[k].op.startswith(BARRIERS) for k in own
    ):
        return None
    statement, place = range(own[0], own[-1] + 1), behind(function, then)
    before = [_barrier(warp="warp" in early.barrier)] * bool(early.barrier)
    return with_statement_moved(function, statement, place, before + [_FENCE] * early.fence)


def with_meeting(place: Meeting, function: Function) -> Function | None:
    """A function in which threads meet at a place; None where it does not have its statement."""
    lines = root_lines(i.location for i in function.body)
    own = [k for k, line in enumerate(lines) if place.first <= line <= place.last]
    if not own or (at := own[0] if place.signals else behind(function, own)) >= len(function.body):
        return None
    order = [_barrier(warp=place.warp), *[_FENCE] * place.fence]  # the last one comes first then
    for new in reversed(order) if place.signals else order:
        function = with_instruction(function, at, new)
    return function


def places_in_branches(function: Function, gap: Gap) -> tuple[int, ...]:
    """The end of the first branch of a gap, the start of the second, and the end of both."""
    lines = [*root_lines(i.location for i in function.body)]
    last, start = gap.apart
    first = [k for k, line in enumerate(lines) if gap.first <= line <= last]
    then = [k for k, line in enumerate(lines) if start <= line <= gap.then]
    if not first or not then or gap.first not in lines or gap.then not in lines:
        return ()
    if start == gap.line:  # with the condition, which ends in jumps
        jumps = [k for k in then[:-1] if function.body[k].op.startswith("bra")]
        then = then[then.index(jumps[-1]) + 1 :] if jumps else then
    end = [k for k, line in enumerate(lines) if gap.line <= line <= gap.within[1]][-1] + 1
    leaves = function.body[first[-1]].op.startswith("bra")
    return (first[-1] + (not leaves), then[0], end) if end < len(lines) else ()


def with_barrier_in(function: Function, gap: Gap, *, warp: bool) -> Function | None:
    """A function with barriers in the place, or both places, of a gap; None if one is not known."""
    inner = replace(gap, first=gap.then, then=gap.first, forward=True, apart=gap.within)
    for one in [gap, inner] if gap.both else [gap]:
        if (place := place_of_gap(function, one)) is None:
            return None
        function = with_barrier(function, place, warp=warp)
    return function


def place_of_gap(function: Function, gap: Gap) -> int | None:
    """The index in a function's code of the place of a barrier; None where it is not known."""
    lines = [*root_lines(i.location for i in function.body)]
    last, before = gap.apart
    if not {gap.first, gap.then}.issubset(lines):
        return None
    if gap.in_line:
        return _end_of_loop(function, lines, gap.first)
    if gap.forward or not last:
        found = [k for k, line in enumerate(lines) if line == before]
        return found[0] if found and last < before else None
    first = min(before, gap.first, gap.then)
    found = [k for k, line in enumerate(lines) if first <= line <= last]
    body = [k for k in found if lines[k] > before] or found  # a jump to the loop's head leaves it
    place = behind(function, body) if found else len(lines)
    return place if place < len(lines) else None


def _end_of_loop(function: Function, lines: Sequence[int], line: int) -> int | None:
    """The index of the jump back of the one loop that a line has; None where it has none, or more.

    Args:
        function: the function.
        lines: the lines of its instructions.
        line: the line.
    """
    back = [
        k
        for k, i in enumerate(function.body)
        if lines[k] == line and i.op.startswith("bra")
        if function.labels.get(i.operands[0], k + 1) <= k
    ]
    return back[0] if len(back) == 1 else None
