"""Find where variables of a block of the source begin: there they have no value.

In `for (...) { int x; if (first) x = 5; use(x); }` each round has an x of its own, but the compiler
leaves it in the register, or the place in the stack frame, of the round before. The debug sections
give the code of each block. Its first instruction makes the variables undefined; what initializes
them comes after it. That holds where all that leads to that instruction is outside the block: else
it may be the head of an inner loop.

A register counts where it is the variable's before its block begins: the value of the round before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from grader import dataclass, regex
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.memory import LOCAL, base_of
from grader.simulator.decode.operands import Operands
from grader.simulator.ptx.debug_info import BlockVariable, LocalVariables
from grader.simulator.ptx.flow import successors_of
from grader.simulator.ptx.model import Function

_PLACE = regex(r"(?:\[%SPL?\b\+?|, %SPL?, )(\d{0,9})")
_SHARED_ADDRESS = 1
"""In the flag of a store's shadow: all lanes have one address."""
_MOST_BYTES = 1 << 10
"""The largest variable in the stack frame that counts; others would take long in each round."""
LIVES, BEGINS, ENDS, UNSET = range(4)
"""A variable exists here; another round's begins; it exists no longer; it has no value."""


@dataclass(frozen=True)
class Life:
    """What is known of a variable in the stack frame where an instruction is reached.

    Attributes:
        event: LIVES, BEGINS, ENDS or UNSET.
        offset, bytes: its place in the frame.
    """

    event: int
    offset: int
    bytes: int


Marks = dict[int, list[str | Life]]
"""By the id of an instruction: the registers that have no value from there on, and `Life`s."""


def without_value(f: Function, variables: LocalVariables | None) -> Marks:
    """Where variables of blocks begin and end, in registers and in the stack frame.

    The zeros of `int x[2] = {1}` may be stored before the code of the block: that code counts from
    the start of its basic block on. A variable is known to end where its block makes its address;
    one that a loop declares, and that ends, is marked where it begins, too.
    """
    out: Marks = {}
    frames = {v.name for v in f.variables if v.space == "local"}
    known = variables.of_blocks if variables and not f.library else ()
    own = [v for v in known if v.start in f.labels and v.end in f.labels]
    leading, accessed = (_leading(f), _accessed(f)) if own else ({}, {})
    made = _made(f) if accessed else {}
    for v in own:
        low, high = f.labels[v.start], f.labels[v.end]
        first = next((at for at in range(low, -1, -1) if at in leading), 0)
        if low >= len(f.body):
            continue
        assert variables is not None
        high = _without_join(f, leading, range(first, high), low)
        repeats = _in_loop(first, leading)
        again = repeats and not any(low <= k < high for k in leading[first])
        place, alone = (v.offset, v.bytes), _is_alone(v, frames, variables)
        exits = _exits(leading, first, low, high) if alone and high < len(f.body) else []
        near = range(v.offset, v.offset + v.bytes) if alone and (exits or again) else ()
        inside = {k for at in near for k in accessed.get(at, ())}
        alone = alone and all(first <= k < high for k in inside)
        if alone and not f.body[low].library and _is_kept(inside, made, range(first, high)):
            events = [(at, ENDS) for at in exits] + [(first, BEGINS if again else LIVES)] * repeats
            for at, event in events:
                out.setdefault(id(f.body[at]), []).append(Life(event, *place))
        if not again:
            continue
        if alone:
            out.setdefault(id(f.body[first]), []).append(Life(UNSET, *place))
        written = {name for i in f.body[first:low] for name in targets(i)}
        names = [name for name in _held(f, v, low) if not _is_shared(f, v, name, low, own)]
        out.setdefault(id(f.body[low]), []).extend(name for name in names if name not in written)
    return out


def marked(
    places: Iterable[str | Life], shadows: Mapping[str, int], o: Operands, pc: int
) -> list[Insn]:
    """The shadow instructions that make registers with shadows undefined, and for `Life`s."""
    insns, never = [], o.source("0", 0)
    for x in places:
        if isinstance(x, str):
            insns += [Insn("shadow_copy", shadows[x], never, pc=pc)] if x in shadows else []
            continue
        a, add, mode = base_of(o, f"[%SPL+{x.offset}]", LOCAL)
        unset = x.event == UNSET
        insn = Insn("shadow_store" if unset else "shadow_life", never, a, imm=add, space=LOCAL)
        insn.size, insn.mode, insn.pc = x.bytes, mode, pc
        insn.flag = _SHARED_ADDRESS if unset else x.event
        insns.append(insn)
    return insns


def _accessed(f: Function) -> dict[int, list[int]]:
    """By the offset in the stack frame: the instructions that name it."""
    out: dict[int, list[int]] = {}
    for at, i in enumerate(f.body):
        for place in _PLACE.findall(", ".join(i.operands)):
            out.setdefault(int(place or 0), []).append(at)
    return out


def _made(f: Function) -> dict[int, tuple[int, ...]]:
    """By an instruction that adds to the frame's address: those that use what it makes."""
    names = {i.operands[0]: at for at, i in enumerate(f.body) if i.operands[1:2] == ["%SP"]}
    out: dict[int, list[int]] = {at: [] for at in names.values()}
    for at, i in enumerate(f.body if names else ()):
        for name in sources(i):
            if name in names:
                out[names[name]].append(at)
    return {at: tuple(by) for at, by in out.items()}


def _is_kept(inside: Iterable[int], made: Mapping[int, Sequence[int]], block: range) -> bool:
    """Whether the block makes a variable's address, and only copies of it can leave the block.

    What an inlined function returns may be built in its caller's temporary, whose address the
    caller uses: such a variable is the caller's, too.
    """
    addresses = [at for at in inside if at in made]
    return bool(addresses) and all(k in block for at in addresses for k in made[at])


def _without_join(f: Function, leading: Mapping[int, list[int]], block: range, low: int) -> int:
    """The end of a block without moves at its end where a branch around the block joins it."""
    high = block.stop
    joined = (k for k in leading if low < k < high and any(at not in block for at in leading[k]))
    join = min(joined, default=high)
    moves = all(i.op.split(".")[0] in ("mov", "bra") for i in f.body[join:high])
    return join if moves else high


def _exits(leading: Mapping[int, list[int]], first: int, low: int, high: int) -> list[int]:
    """The first instructions behind a block; none where a branch leads into its middle."""
    into = (k for k in leading if low < k < high)
    if any(not first <= at < high for k in into for at in leading[k]):
        return []
    outside = (k for k in leading if not first <= k < high)
    behind = [high] if high not in leading else []  # no branch ends the block
    return behind + [k for k in outside if any(low <= at < high for at in leading[k])]


def _leading(f: Function) -> dict[int, list[int]]:
    """By the first instruction of a basic block: those that may run before it."""
    after = [list(successors_of(f, at)) for at in range(len(f.body))]
    jumps = [at for at, then in enumerate(after) if then != [at + 1]]
    out: dict[int, list[int]] = {k: [] for at in jumps for k in (*after[at], at + 1)}
    for at, then in enumerate(after):
        for k in then:
            if k in out:
                out[k].append(at)
    return out


def _in_loop(at: int, leading: dict[int, list[int]]) -> bool:
    """Whether a branch goes back over the start of a basic block, or to it."""
    return at in leading and any(k >= at for to in leading if to <= at for k in leading[to])


def _held(f: Function, v: BlockVariable, low: int) -> Iterator[str]:
    """The registers that have a variable before its block begins, and then."""
    for start, end, name in v.registers:
        if f.labels.get(start, low) < low < f.labels.get(end, len(f.body)):
            yield name


def _is_shared(
    f: Function, v: BlockVariable, name: str, low: int, own: list[BlockVariable]
) -> bool:
    """Whether a register has another variable where a block begins."""
    return any(
        f.labels.get(start, 0) <= low <= f.labels.get(end, len(f.body))
        for x in own
        if x is not v
        for start, end, register in x.registers
        if register == name
    )


def _is_alone(v: BlockVariable, frames: set[str], variables: LocalVariables) -> bool:
    """Whether a variable is in the function's frame, at bytes that no other one has."""
    if v.frame not in frames or not 0 < v.bytes <= _MOST_BYTES:
        return False
    end = v.offset + v.bytes
    others = variables.by_frame.get(v.frame, ())
    return sum(x.offset < end and v.offset < x.offset + x.bytes for x in others) == 1
