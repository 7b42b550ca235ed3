"""What a launch leaves in its outputs, and which of their elements have no value.

The optimizer may store a value where the program has none: of a struct with an unset `short` it
stores the whole word. So the `-G` code says which members of what was stored were never set. The
bytes between members have no value either, and mean nothing: the debug sections have the type that
a parameter points to.

A launch runs again with other values where it has none: what changes no output is no error.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader import replace
from grader.compile.program import Kernel
from grader.launch import Array, Launch
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.control_flow import Block
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.memory import SHARED
from grader.simulator.decode.module import Image
from grader.simulator.decode.stack import local_variables
from grader.simulator.diagnose.branching import behind_barrier
from grader.simulator.diagnose.kernel_code import source_lines
from grader.simulator.diagnose.races import COMPUTED, NO_EFFECT, PASSED_BY, Report
from grader.simulator.edited_code import changed_machine, function_of, without
from grader.simulator.ptx.model import Function, root_lines
from grader.simulator.variants import Variant

if TYPE_CHECKING:
    from grader.simulator.diagnose.kernel_code import KernelCode

Unset = Mapping[int, NDArray[np.bool_]]
"""By argument: the bytes of members that were never set."""

MOST_TRACED = 1 << 18
"""The accesses that are recorded to see whether a thread passed a barrier by."""

MOST_RETURNS = 3
"""The lines with returns of which runs show whether threads leave before they load."""

GARBAGE = (0x6EA96EA9, 0xF156F156, 1)
"""What runs give lanes for undefined values, one run each.

The first is large and positive, the second large and negative, as f16, bf16, f32, f64 and integers:
no sum absorbs them, and no minimum or maximum both. The third is the least of unsigned integers.
Sums of 32 of them, or products with 0, are no NaN in f32, so that a factor of 0 masks them.
"""

UNSET_VALUES = (*GARBAGE, 0, 0x7FF97FB0)
"""What runs give undefined bits: 0, too, which flags and counts are compared with.

The last is NaN in each format of 16 to 64 bits, which no factor masks: registers and shared memory
may hold one. Integers times 0 have no effect.
"""

_CARRIES = frozenset((
    "mov", "ld", "st", "cvt", "add", "sub", "mul", "mul24", "mad", "mad24", "fma", "neg", "abs",
    "min", "max", "div", "rcp", "sqrt", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh", "copysign",
    "dp4a", "dp2a", "prmt", "shf", "selp", "shfl", "mma", "wmma", "ldmatrix", "stmatrix",
    "movmatrix",
))  # fmt: skip
"""Instructions whose results change with their operands, and decide nothing."""
_UPDATES = frozenset(("add", "min", "max", "and", "or", "xor"))
"""Operations of atomics that are such instructions, too, between a load and a store."""
_READS = ("ld.", "atom.", "red.", "ldmatrix.", "wmma.")
_SPACES = ("shared", "local", "global", "const", "param")

UNSET_STEPS, UNSET_SHARE = 1 << 14, 4
"""The steps of such a run: so many, and so often those of the run that it is like."""


def unset_members(raw: Raw, image: Image, kernel: Kernel | None) -> Unset:
    """The bytes of new buffers that `-G` code stored without a value, or never, but for padding."""
    new = [b for b in raw.buffers if b.argument is not None and not b.initialized]
    masks = {b.argument: b.unwritten(raw.global_shift) for b in new if b.data.nbytes}
    if kernel is None or image.module is None or not any(m.any() for m in masks.values()):
        return {}
    members = local_variables(image.module.sections).pointed_to(kernel.symbol)
    out: dict[int, NDArray[np.bool_]] = {}
    for number, mask in masks.items():
        inside = members[number] if number is not None and number < len(members) else ()
        if number is not None and inside and mask.any():
            out[number] = mask & np.resize(np.array(inside, bool), mask.size)
    return out


def left_behind(
    launch: Launch, raw: Raw, unset: Unset
) -> tuple[dict[int, NDArray[Any]], dict[int, NDArray[np.bool_]]]:
    """The outputs by argument, and which elements of those that were new have no value.

    Args:
        launch: the launch.
        raw: the run of the optimized code.
        unset: what the `-G` code says.
    """
    outputs: dict[int, NDArray[Any]] = {}
    unwritten: dict[int, NDArray[np.bool_]] = {}
    for b in raw.buffers:
        if b.argument is None:
            continue
        array = launch.args[b.argument]
        if not isinstance(array, Array) or not array.read_back:
            continue
        outputs[b.argument] = b.data.view(array.dtype).reshape(array.shape)
        if b.initialized:
            continue
        item = np.dtype(array.dtype).itemsize
        holes: NDArray[np.bool_] = np.zeros(0, np.bool_)
        if b.data.nbytes:
            holes = np.any(b.unwritten(raw.global_shift).reshape(-1, item), axis=1)
            if b.argument in unset:
                holes = holes | np.all(unset[b.argument].reshape(-1, item), axis=1)
        unwritten[b.argument] = holes.reshape(array.shape)
    return outputs, unwritten


def run_confirmed(variant: Variant, launch: Launch, limits: Limits, optimized: Image) -> Raw:
    """Run a launch, without the reports of missing lanes whose value changes nothing.

    A reduction may read past the lanes that take part, where no lane uses the result. Reports of
    what has no value have NO_EFFECT where its value changes nothing.
    """
    begun, machine = time.thread_time(), variant.machine
    raw = run_with_passers(machine, launch, limits, count=variant.counts)
    if not raw.ended or not raw.reports.size:
        return raw
    missing = raw.reports["kind"] == c.LANE_MISSING
    if missing.any():
        runs = (replace(limits, garbage=value) for value in GARBAGE)
        if not all(_is_same(raw, machine.run(launch, x, count=False)) for x in runs):
            return raw
        raw = replace(raw, reports=raw.reports[~missing])
    unset = np.isin(raw.reports["kind"], (c.UNDEFINED, c.UNINIT))
    if not unset.any() or not _may_be_unused(raw, launch):
        return raw
    if _may_decide(machine.image, raw, optimized):
        return raw
    most = min(limits.steps, UNSET_STEPS + UNSET_SHARE * raw.steps)
    for value in UNSET_VALUES:
        left = limits.seconds - (time.thread_time() - begun)
        if left <= 0:
            return raw
        own = replace(limits, unset=value, steps=most, seconds=left)
        other = machine.run(launch, own, count=False)
        if not (_is_same(raw, other) and _may_be_unused(other, launch)):
            return raw
    reports = raw.reports.copy()
    reports["flags"][unset] |= NO_EFFECT
    return replace(raw, reports=reports)


def _is_same(raw: Raw, other: Raw) -> bool:
    """Whether another run ended, left the same memory and printed the same."""
    return (
        other.ended
        and raw.printed == other.printed
        and all(
            np.array_equal(a.data, b.data) for a, b in zip(raw.buffers, other.buffers, strict=True)
        )
    )


def _may_be_unused(raw: Raw, launch: Launch) -> bool:
    """Whether all that is wrong are uses of what has no value, which runs can give other values.

    In a library's arithmetic they cannot, nor in global memory, which other launches may read.
    """
    own = raw.reports[raw.reports["kind"] != c.OLD_VALUE]
    given = (own["kind"] == c.UNDEFINED) & (own["flags"] & COMPUTED == 0)
    given |= (own["kind"] == c.UNINIT) & (own["space"] == SHARED)
    return bool(given.all()) and any(isinstance(x, Array) and x.read_back for x in launch.args)


def _may_decide(image: Image, raw: Raw, optimized: Image) -> bool:
    """Whether what was read in memory without a value may decide anything, such as a comparison.

    What an earlier kernel left there may be the one value that a comparison looks for, which no run
    gives. Arithmetic hands a value on, and so does memory, to all loads of its state space, but to
    none of another parameter of the kernel. The optimized code says so, which is what a GPU runs;
    `-G` code keeps addresses in memory, too.
    """
    unwritten, local = raw.reports["kind"] == c.UNINIT, raw.reports["extra"] != 0
    lines = {image.locations[int(pc)].line for pc in raw.reports["pc"][unwritten]}
    places = {"shared", ""} if lines else set()
    every = {"local"} if bool((local & (raw.reports["kind"] == c.UNDEFINED)).any()) else set()
    reads = {
        pc for pc, op in enumerate(optimized.ops)
        if op.startswith(_READS)
        and ((space := _space_of(op)) in every
             or (space in places and optimized.locations[pc].line in lines))
    }  # fmt: skip
    return _is_handed_on(optimized, reads)


def _space_of(op: str) -> str:
    """The state space that an instruction accesses; empty where any may be meant."""
    parts = op.split(".")
    return next((name for name in _SPACES if name in parts), "")


def _is_handed_on(image: Image, reads: Set[int]) -> bool:
    """Whether anything but arithmetic and memory gets what some instructions read."""
    carrying: set[tuple[int, str]] = set()
    stored: set[_Place] = set()
    bases, before = _bases(image) if reads else {}, -1
    while reads and before < len(carrying) + len(stored):
        before = len(carrying) + len(stored)
        for pc, i in enumerate(image.instructions):
            op, owner = image.ops[pc], image.owner[pc]
            head, space = op.partition(".")[0], _space_of(op)
            address = " ".join(operand for operand in i.operands if operand.startswith("["))
            names = re.findall(r"[$%\w]+", address) if owner == 0 else []
            known = frozenset[str]().union(*(bases.get(x, ()) for x in names))
            place = space or "global" * bool(known), known
            is_atomic = head in ("atom", "red")
            updates = is_atomic and not _UPDATES.isdisjoint(op.split("."))
            loaded = (head == "ld" or is_atomic) and any(_may_be_same(place, x) for x in stored)
            own = {name for name in sources(i) if (owner, name) in carrying}
            if pc not in reads and not own and not (loaded and space not in ("const", "param")):
                continue
            if (head not in _CARRIES and not updates) or (head == "st" and space == "param"):
                return True
            if any(re.search(rf"{re.escape(name)}\b", address) for name in own):
                return True
            stored |= {place} if updates or head in ("st", "stmatrix") else set()
            carrying |= {(owner, name) for name in targets(i)}
    return False


_Place = tuple[str, frozenset[str]]
"""A state space, and the kernel's parameters that an address there is made of."""


def _may_be_same(a: _Place, b: _Place) -> bool:
    """Whether two addresses may be of one memory; those of two parameters are not."""
    return (a[0] == b[0] or "" in (a[0], b[0])) and (not (a[1] and b[1]) or bool(a[1] & b[1]))


def _bases(image: Image) -> dict[str, frozenset[str]]:
    """By register of the kernel, the parameters that a pointer in it is made of.

    None where any is loaded from memory or returned by a function: it may point to anything.
    """
    kernel = f"[{image.functions[0].name}_param_"
    body = [i for pc, i in enumerate(image.instructions) if image.owner[pc] == 0]
    out: dict[str, frozenset[str]] = {}
    before = -1
    while before < (before := sum(map(len, out.values()))):
        for i in body:
            known = frozenset[str]().union(*(out.get(x, ()) for x in sources(i)))
            if i.op.startswith(("ld.", "atom.", "shfl.")):
                own = i.op.startswith("ld.param.") and i.operands[1].startswith(kernel)
                known = frozenset({i.operands[1] if own else ""} if i.op.endswith("64") else ())
            out |= {x: out.get(x, frozenset()) | known for x in targets(i)}
    return {x: known for x, known in out.items() if "" not in known}


def run_with_passers(machine: Machine, launch: Launch, limits: Limits, *, count: bool) -> Raw:
    """Run a launch; reports of early exits have PASSED_BY where the thread did not return.

    A block that lanes reach from the barrier, without a jump back, is for threads that did not
    return before. Where more lanes executed it than the barrier, a second run records whether the
    thread that left is among them.
    """
    raw = machine.run(launch, limits, count)
    exits = [k for k, r in enumerate(raw.reports) if r["kind"] == c.EARLY_EXIT]
    behind = {k: behind_barrier(machine.image, raw, int(raw.reports[k]["pc"])) for k in exits}
    if not raw.ended or not any(known.executed for known in behind.values()):
        return raw
    seen = machine.run(launch, replace(limits, trace=MOST_TRACED), count=False).accesses
    assert seen is not None
    reports = raw.reports.copy()
    for k in exits:
        r = reports[k]
        own = seen[(seen["block"] == r["block"]) & (seen["thread"] == r["thread"])]
        passed = behind[k].by_all or not behind[k].executed.isdisjoint(own["pc"].tolist())
        r["flags"] |= PASSED_BY * passed
    return replace(raw, reports=reports)


def return_before_load(
    machine: Machine, code: KernelCode, r: Report, run: Callable[[Machine, int], Raw]
) -> int:
    """The line of a return but for which what a read finds would be written; 0 if none is known.

    Args:
        machine: the kernel's debug code.
        code: what is read of its code.
        r: the report of a read of shared memory that no thread has written.
        run: runs a machine in an order.
    """
    function = machine.module.functions.get(machine.image.functions[0].name)
    if function is None:
        return 0
    lines = [*root_lines(i.location for i in function.body)]
    leaves = {node.line for node in code.variables.tree.walk("return_statement")}
    jumps = {k: lines[k] for k in jumps_to_end(function) if lines[k] in leaves}
    for line in sorted({line for line in jumps.values() if line < r.line})[:MOST_RETURNS]:
        own = [k for k, at in jumps.items() if at == line]
        raw = run(changed_machine(machine, without(function, own)), 0)
        unset = raw.reports["kind"] == c.UNINIT
        if raw.ended and r.pc not in raw.reports["pc"][unset]:
            return line
    return 0


def drawn_too_few(
    machine: Machine, plain: Machine, code: KernelCode, raw: Raw,
    run: Callable[[Machine, int], Raw], r: Report, counts: Sequence[int],
) -> tuple[int, int] | None:  # fmt: skip
    """The line of an atomicAdd of 1 that reserves too few elements, and a number that is enough.

    Args:
        machine: the kernel.
        plain: the same without copies of functions for their calls.
        code: what is read of its code.
        raw: the run with the race.
        run: runs a machine in the order of the race, or in another one.
        r: the report of a race of two stores.
        counts: the numbers to try.
    """
    before = _visits(machine, raw)
    kinds, lines = {*raw.reports["kind"].tolist()}, {r.line, r.line2}
    blocks = enumerate(_blocks(machine))
    at = {pc: k for k, b in blocks for pc in (*(i.pc for i in b.insns), b.end.pc)}
    lanes = raw.visit_lanes.tolist()
    stores = sum(lanes[at[pc]] for pc in {r.pc, r.pc2} if pc in at)
    for pc, i in enumerate(machine.image.instructions):
        draws = i.op.startswith("call") and any("atomicAdd" in x for x in i.operands[1:2])
        found = function_of(machine, pc) if draws else None
        if found is None or pc not in at or lanes[at[pc]] >= stores:
            continue
        for count in counts:
            if (changed := _with_addend(*found, count)) is None:
                break
            other = changed_machine(plain, changed)
            then, own = run(other, 0), source_lines(other.image)
            pairs = [x[["pc", "pc2"]].tolist() for x in then.reports if x["kind"] == c.RACE]
            left = [{*own[a : a + 1], *own[b : b + 1]} for a, b in pairs]
            same = _visits(other, then) == before and {*then.reports["kind"].tolist()} <= kinds
            if same and lines not in left:
                return code.line_of[pc], count
    return None


def _visits(machine: Machine, raw: Raw) -> Counter[int]:
    """How often lanes come to each line that begins a basic block."""
    own, found = source_lines(machine.image), Counter[int]()
    for block, lanes in zip(_blocks(machine), raw.visit_lanes.tolist(), strict=False):
        if block.insns:
            found[own[block.insns[0].pc]] += lanes
    return found


def _blocks(machine: Machine) -> list[Block]:
    return [block for f in machine.image.functions for block in f.blocks]


def _with_addend(function: Function, call: int, addend: int) -> Function | None:
    """A function in which a call of atomicAdd adds more than 1; None if it adds something else."""
    given = [k for k in range(call) if function.body[k].op.startswith("st.param")][-1:]
    if not given or function.body[given[0]].operands[-1] != "1":
        return None
    body = [replace(i, operands=[*i.operands]) for i in function.body]
    body[given[0]].operands[-1] = str(addend)
    return replace(function, body=body)


def jumps_past(function: Function, first: int, last: int) -> list[int]:
    """The indices of the jumps by which threads pass an `if` statement by.

    Args:
        function: the function.
        first: the line of the condition.
        last: the last line of the statement.
    """
    lines, body = [*root_lines(i.location for i in function.body)], function.body
    inside = [k for k, line in enumerate(lines) if first <= line <= last]
    heads = (k for k in inside if lines[k] == first and body[k].op.startswith("bra"))
    ends = ((k, function.labels.get(body[k].operands[0], 0)) for k in heads)
    return [k for k, end in ends if end > inside[-1]]


def jumps_to_end(function: Function) -> list[int]:
    """The indices of the jumps to the end of a function."""
    body, labels = function.body, function.labels
    ends = {k for k, i in enumerate(body) if i.op == "ret"}
    return [k for k, i in enumerate(body) if i.op == "bra.uni" and labels[i.operands[0]] in ends]
