"""What a kernel is decoded to, and those of its functions that a changed module has, too.

Trials of hints decode a kernel again and again, with a barrier or a fence more. A library's code
has hundreds of functions, of which such a change leaves all but one as they are: at most their
program counters differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from grader import dataclass, replace
from grader.simulator.decode.blocks import Loop, preferred_order, successors
from grader.simulator.decode.control_flow import BRANCH, FALL, TABLE, Block, End
from grader.simulator.decode.crossings import Use
from grader.simulator.decode.dataflow import sources
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.memory import is_strong
from grader.simulator.decode.numbering import Numbered
from grader.simulator.decode.operands import ConstantBank, Operands
from grader.simulator.decode.parameters import used_parameters
from grader.simulator.decode.updates import memory_roles
from grader.simulator.ptx.model import Function, Instruction, Location, Module, PtxError

_UPDATES = frozenset({"add", "min", "max", "inc", "dec", "and", "or", "xor"})
_ENDS = ("exit", "trap", "brkpt", "call")


@dataclass
class Decoded:
    """A decoded function.

    Attributes:
        blocks: the basic blocks in the preferred order; the first is the entry.
        registers, local, params: bytes of its register file, stack frame and parameter area.
        local_offsets: the offset of each `.local` variable in the stack frame.
        operands: what resolves the operands of its instructions.
        loops, numbered: the loops whose endless repetition the core detects; its variables.
        source, roles: the function, and the roles of its accesses to memory by index.
    """

    name: str
    blocks: list[Block]
    registers: int
    local: int
    params: int
    local_offsets: dict[str, int]
    operands: Operands
    loops: list[Loop]
    numbered: Numbered
    source: Function
    roles: dict[int, int]


@dataclass(eq=False)
class Image:
    """A decoded kernel with all functions that it may call.

    Attributes:
        functions: the functions in the order of their numbers; the kernel is the first.
        constants: the constant bank.
        instructions, locations, ops, owner: by program counter, the instruction, its location and
            opcode, and the number of its function.
        parameter_bytes, local_places: the size of the parameters, the offset of each local.
        smallest: the smallest access in bytes of each state space.
        may_wait: whether blocks may wait for each other.
        exact: whether finer orders than full barriers occur, such as fences and atomics.
        sync: what the code orders accesses with: HAS_... of decode/memory.py.
        waits, runtime: whether a loop waits for a strong read; functions of the runtime it calls.
        refused: by program counter, the instructions of libraries that end a launch: not simulated.
        shadowed: the PTX types of the registers with a shadow; None without shadows.
        module: the module that it was decoded from.
        use: what its functions have that is followed.
    """

    functions: list[Decoded]
    constants: ConstantBank
    instructions: list[Instruction]
    locations: list[Location]
    ops: list[str]
    owner: list[int]
    parameter_bytes: int
    local_places: dict[str, int]
    smallest: dict[int, int]
    may_wait: bool
    exact: bool
    sync: int = 0
    waits: bool = False
    runtime: set[str] = field(default_factory=set)
    refused: dict[int, str] = field(default_factory=dict)
    shadowed: list[str] | None = None
    module: Module = field(default_factory=Module)
    use: Use | None = None


def arranged(raw: list[Block], where: dict[str, int], at: list[Location]) -> list[Block]:
    """Order the blocks, drop unreachable ones, and resolve and renumber the successors."""
    last = len(raw) - 1

    def label(name: str, end: End) -> int:
        if name in where:
            return where[name]
        raise PtxError(f"a branch to {name}, which is not a label", at[end.pc].line)

    for number, block in enumerate(raw):
        if block.end.kind == BRANCH:
            block.target = label(block.end.target, block.end)
        if block.end.kind == TABLE:
            block.table = [label(name, block.end) for name in block.end.table]
        block.next = min(number + 1, last)
    order = preferred_order(list(map(successors, raw)))
    renumber = {old: new for new, old in enumerate(order)}
    blocks = [raw[old] for old in order]
    for block in blocks:
        block.next = renumber.get(block.next, 0)
        block.target = renumber.get(block.target, 0)
        block.table = [renumber[t] for t in block.table]
    return blocks


def begin_with(image: Image, before: Image) -> None:
    """Enter in an image what code of another one refers to, and what its launch must know."""
    bank = before.constants
    image.constants = ConstantBank({**bank.places}, {**bank.known}, bank.bytes)
    image.shadowed = None if before.shadowed is None else [*before.shadowed]
    image.smallest, image.may_wait, image.exact = {**before.smallest}, before.may_wait, before.exact
    image.sync, image.waits, image.runtime = before.sync, before.waits, {*before.runtime}


def taken(image: Image, before: Image, number: int, at: int) -> Decoded:
    """Append a function of another image; its numbers in this one, and in that."""
    f, old, new = before.functions[at], before.owner.index(at), len(image.ops)
    own, by = slice(old, old + len(f.source.body)), new - old
    image.instructions += before.instructions[own]
    image.ops += before.ops[own]
    image.locations += before.locations[own]
    image.owner += [number] * len(f.source.body)
    image.refused |= {pc + by: x for pc, x in before.refused.items() if own.start <= pc < own.stop}
    if f.source.entry:
        image.parameter_bytes, image.local_places = before.parameter_bytes, before.local_places
    blocks = [_moved(block, by) for block in f.blocks] if by else f.blocks
    loops = [replace(loop, pc=loop.pc + by) for loop in f.loops] if by else f.loops
    return replace(f, blocks=blocks, loops=loops)


def _moved(block: Block, by: int) -> Block:
    insns = [
        Insn(
            x.exec, x.d, x.a, x.b, x.c, x.e, x.imm, x.size, x.count, x.space, x.width, x.flag,
            x.mode, x.inner, x.guard, x.negate, x.used, x.pc + by,
        )
        for x in block.insns
    ]  # fmt: skip
    end = block.end if block.end.kind == FALL else replace(block.end, pc=block.end.pc + by)
    return replace(block, insns=insns, end=end)


def same_functions(before: Image, functions: Sequence[Function]) -> dict[str, Function] | None:
    """Those of some functions that an image has: the very objects that it was decoded from.

    None where the image has other functions, or one with other parameters or results.
    """
    known = {f.name: f.source for f in before.functions}
    if {f.name: _signature(f) for f in functions} != {n: _signature(f) for n, f in known.items()}:
        return None
    return {f.name: known[f.name] for f in functions if known[f.name] == f}


def _signature(f: Function) -> tuple[object, ...]:
    return f.entry, f.parameters, f.results, f.library


def unaffected(
    before: Image, functions: Sequence[Function], named: Mapping[str, Function], use: Use
) -> dict[str, int]:
    """The functions of an image, with their numbers, whose code is right among others as it is.

    What is decoded of a function depends on those that it calls, and that call it, by their
    parameters, what they use of these, whether they end threads, and the roles of accesses.

    Args:
        before: the image.
        functions: the kernel and what it may call; those of the image are the same objects.
        named: all functions by name.
        use: what these have that is followed.
    """
    earlier, old = before.use, {f.name: f.source for f in before.functions}
    if earlier is None or not use.is_like(earlier) or use.crossed != earlier.crossed:
        return {}
    if not all(_acts_alike(f, old[f.name], named, old) for f in functions):
        return {}
    return {
        f.name: number
        for number, f in enumerate(before.functions)
        if named[f.name] is f.source
        and f.source.body
        and use.follows_alike(earlier, f.name)
        and memory_roles(f.source, named) == f.roles
    }


def _acts_alike(
    f: Function, other: Function, named: Mapping[str, Function], old: Mapping[str, Function]
) -> bool:
    """Whether a function is the same for those that call it as another one among other ones."""
    if f is other:
        return True
    ends = [[i.operands for i in x.body if i.op.split(".")[0] in _ENDS] for x in (f, other)]
    uses = used_parameters(f, named), used_parameters(other, old)
    return ends[0] == ends[1] and uses[0] == uses[1]


@lru_cache(maxsize=2)  # each run of a kernel asks
def blind_writes(image: Image) -> tuple[bool, ...]:
    """By program counter, whether the value that a write replaces is not used, or is expected."""
    used = {name for i in image.instructions for name in sources(i)}
    used |= {i.guard[0] for i in image.instructions if i.guard}
    return tuple(
        head in ("st", "red") or (head == "atom" and (".cas." in i.op or i.operands[0] not in used))
        for i in image.instructions
        for head in (i.op.partition(".")[0],)
    )


def draws(image: Image) -> bool:
    """Whether outputs may tell which thread came first to a place, or last, though none race.

    An atomic whose result is used tells it, an exchange or swap, a strong store, and atomics of
    several operations: of an addition and a minimum, each order leaves another value.
    """
    operations = set[str]()
    for pc, op in enumerate(image.ops):
        head, *parts = op.split(".")
        if head == "atom" and ({"exch", "cas"} & {*parts} or not blind_writes(image)[pc]):
            return True
        if head == "st" and is_strong(op) and "local" not in parts:
            return True
        operations |= _UPDATES & {*parts} if head in ("atom", "red") else set()
    return len(operations) > 1


def draws_and_changes(image: Image) -> bool:
    """Whether threads use what an atomic returns and change memory by others, too.

    Other threads may come between the two.
    """
    changes = [pc for pc, op in enumerate(image.ops) if op.startswith(("atom.", "red."))]
    return len(changes) > 1 and not all(blind_writes(image)[pc] for pc in changes)
