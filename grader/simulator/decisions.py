"""Whether a thread would write a place if it read it again just before: what the write depends on.

A thread reads a place, and another thread changes it before the first one writes there. That is a
mistake where the write follows from the value that was read:

- it writes what was computed of that value;
- it is a compare-and-swap whose new value was loaded from where the read said, as the next element
  of a list;
- a branch on the value led to it, and with the present value the branch goes the other way;
- it writes what was larger or smaller than the value, as a maximum or minimum in two steps does;
- the value chose an element, and the write counts on to the next one.

A branch is known where its condition is computed of the value and constants alone. Where it reads
an old value, runs show which order an access lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from grader.simulator.core.run import Machine
from grader.simulator.decode.blocks import successors
from grader.simulator.decode.control_flow import BRANCH
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.module import Image
from grader.simulator.decode.operands import address_or_none
from grader.simulator.decode.sync import BY_SIZE
from grader.simulator.diagnose.branching import block_of, decided, meetings
from grader.simulator.diagnose.messages import swap_fix
from grader.simulator.diagnose.races import ProgramOrder
from grader.simulator.edited_code import ORDERS, access_rows
from grader.simulator.ptx.model import TYPE_BYTES, Instruction, is_load

_LACKS = {
    "ld": ("acquire",),
    "st": ("release",),
    "red": ("release",),
    "atom": ("acquire", "release", "acq_rel"),
}
_HALF = {"acquire", "release"}
_FENCES = {"acquire": "after", "release": "before", "acq_rel": "before and after"}
"""The orders that an access may lack, as these are tried, and where fences do the same."""
ANY_ORDER = "relaxed and volatile accesses to different addresses become visible in any order."
TRIED = "A run with that does not read the old value."
_Operation = Callable[[int, int], int]
_COMPARE: Mapping[str, _Operation] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "lo": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "ls": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "hi": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "hs": lambda a, b: a >= b,
}  # fmt: skip
_COMPUTE: Mapping[str, _Operation] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << min(b, 64), "shr": lambda a, b: a >> min(b, 64),
    "min": min, "max": max,
}  # fmt: skip
MOST_DEPTH = 16
"""The instructions in a row of which a condition is computed, or that copy a value, at most."""


class Decisions:
    """What the writes of an image depend on, within a function."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.block_of = block_of(image.functions)
        self.conditions: dict[int, tuple[str, ...]] = {}
        self.loads: dict[tuple[int, str], frozenset[int]] = {}
        self.deciding: dict[tuple[int, int], tuple[str, ...]] = {}
        self.draws: dict[tuple[int, int], bool] = {}
        self.writers: dict[tuple[int, str], list[int]] = {}
        for pc, i in enumerate(image.instructions):
            for name in targets(i):
                self.writers.setdefault((image.owner[pc], name), []).append(pc)

    def is_undone(self, read: int, write: int, before: int, now: int) -> bool:
        """Whether a thread would not write, or not this, had it read the present value.

        Args:
            read: the program counter of the read.
            write: that of the write.
            before: the bits of the value that was read.
            now: those of the present value.
        """
        i, owner = self.image.instructions[write], self.image.owner[write]
        made_of = self._loads_before(owner, i.operands[-1])
        if ".cas." in i.op:
            return self.is_of_list(write)
        if read in made_of and i.op.partition(".")[0] in ("st", "atom"):
            return True
        if self.image.owner[read] != owner:
            return False
        if before != now and (self._is_draw(read, write) or self._is_best(read, write)):
            return True
        conditions = self._deciding(read, write) if before != now else ()
        taken = [[self._value(owner, x, read, v) for v in (before, now)] for x in conditions]
        return any(None not in pair and pair[0] != pair[1] for pair in taken)

    def _is_best(self, read: int, write: int) -> bool:
        """Whether a write was decided by a comparison by size of what it writes and what was read.

        The present value may be larger or smaller than either.
        """
        owner = self.image.owner[write]
        value = self._copied(owner, self.image.instructions[write].operands[-1])
        for at in self._tests_before(write):
            sides = [self._copied(owner, x) for x in self.image.instructions[at].operands[1:]]
            others = [x for x in sides if x != value]
            if len(others) == 1 < len(sides) and read in self._loads_before(owner, others[0]):
                return True
        return False

    def _copied(self, owner: int, name: str) -> str:
        """What a register is a copy of."""
        for _ in range(MOST_DEPTH):
            made = self.writers.get((owner, name), [])
            if len(made) != 1 or not self.image.ops[made[0]].startswith("mov."):
                break
            name = self.image.instructions[made[0]].operands[1]
        return name

    def _is_integer(self, write: int) -> bool:
        """Whether a write that `_is_best` is of an integer."""
        return all(self.image.ops[at].split(".")[-1][0] != "f" for at in self._tests_before(write))

    def _tests_before(self, write: int) -> Iterator[int]:
        """The comparisons by size that decide whether a write is executed."""
        owner, work = self.image.owner[write], [*self._conditions(write)]
        known = set(work)
        while work:
            for pc in self.writers.get((owner, work.pop()), ()):
                own = self.image.instructions[pc]
                if own.op.startswith("setp."):
                    yield from [pc] * (own.op.split(".")[1] in BY_SIZE)
                elif own.op.endswith(".pred"):
                    new = set(sources(own)) - known
                    known |= new
                    work += new

    def _is_draw(self, read: int, write: int) -> bool:
        """Whether a value chooses what is accessed, and an atomic then counts its place on."""
        if (read, write) not in self.draws:
            self.draws[read, write] = self._counts_on(read, write)
        return self.draws[read, write]

    def _counts_on(self, read: int, write: int) -> bool:
        head, *parts = self.image.ops[write].split(".")
        if head not in ("red", "atom") or not {"add", "inc", "dec"} & {*parts}:
            return False
        owner = self.image.owner[write]
        return any(
            read in self._loads_before(owner, str(base))
            for pc, i in enumerate(self.image.instructions)
            if self.image.owner[pc] == owner and pc != write
            if i.op.startswith(("ld.", "st.", "atom.", "red."))
            for base, _ in map(address_or_none, i.operands[:2])
            if base
        )

    def is_of_list(self, swap: int) -> bool:
        """Whether a compare-and-swap writes what was loaded from where its old value says."""
        owner, (*_, expected, new) = self.image.owner[swap], self.image.instructions[swap].operands
        found = self._loads_before(owner, expected)
        return any(
            not found.isdisjoint(self._loads_before(owner, str(base)))
            for pc in self._loads_before(owner, new)
            for base, _ in map(address_or_none, self.image.instructions[pc].operands[-1:])
            if base
        )

    def is_chosen(self, load: int) -> bool:
        """Whether what another load or atomic gave chooses the place that a load reads.

        A GPU reads that place after the value is known, though the memory model does not say so.
        """
        i, owner = self.image.instructions[load], self.image.owner[load]
        base, _ = address_or_none(i.operands[-1])
        made_of = self._loads_before(owner, str(base)) if base else frozenset[int]()
        return any(self.image.ops[pc].split(".")[1] not in ("param", "const") for pc in made_of)

    def fix(self, read: int, write: int, name: str) -> str:
        """How one atomic does what a read and a write do that follows from it.

        Args:
            read: the program counter of the read.
            write: that of the write.
            name: the variable that they access.

        Empty for a compare-and-swap, and where no branch on the value decides the write, which
        stores what is computed of it.
        """
        i, owner = self.image.instructions[write], self.image.owner[write]
        head, *parts = i.op.split(".")
        stores = head == "st" or "exch" in parts
        computed = stores and read in self._loads_before(owner, i.operands[-1])
        if "cas" in parts or (computed and not self.may_be_undone(read, write)):
            return ""
        first, then = (self.image.locations[pc].line for pc in (read, write))
        if stores:
            same = self._value(owner, i.operands[-1], -1, 0) is not None
            best = self._is_best(read, write)
            if best and self._is_integer(write):
                return (
                    f"Line {first} reads `{name}`, and line {then} writes it where that value "
                    "allows it: two steps, and another thread may come between. Use one atomicMin "
                    "or atomicMax, which compares and writes at once."
                )
            return swap_fix(name, first, then, same=same, computed=computed or best)
        what = f"Line {first} reads `{name}`, and line {then} changes it by an atomic"
        if self._is_draw(read, write):
            what = f"{what}: two steps, and several threads may read the same value"
            return f"{what}. Use the value that the atomic of line {then} returns instead."
        what = f"{what} where that value allows it: two steps, and another thread may come between"
        return f"{what}. Leave out the read, and test what the atomic of line {then} returns."

    def may_be_undone(self, read: int, write: int) -> bool:
        """Whether a branch on what is made of a read decides a write, other values besides or not.

        Not asked of a compare-and-swap.
        """
        i, owner = self.image.instructions[write], self.image.owner[write]
        if ".cas." in i.op or self.image.owner[read] != owner:
            return False
        return bool(self._deciding(read, write))

    def _deciding(self, read: int, write: int) -> tuple[str, ...]:
        """The predicates made of a read that decide whether a write of its function is executed."""
        if (read, write) not in self.deciding:
            conditions, owner = self._conditions(write), self.image.owner[write]
            own = (x for x in conditions if read in self._loads_before(owner, x))
            self.deciding[read, write] = tuple(own)
        return self.deciding[read, write]

    def _conditions(self, pc: int) -> tuple[str, ...]:
        """The predicates that decide if a write is executed, unless it is an atomic min or max."""
        if pc not in self.conditions:
            guard = self.image.instructions[pc].guard
            own = [guard[0]] if guard else []
            best = not {"min", "max"}.isdisjoint(self.image.ops[pc].split("."))
            self.conditions[pc] = () if best else (*self._branches_before(pc), *own)
        return self.conditions[pc]

    def _branches_before(self, pc: int) -> Iterator[str]:
        number, block = self.block_of.get(pc, (-1, -1))
        blocks = self.image.functions[number].blocks if number >= 0 else []
        after = [successors(b) for b in blocks]
        meeting = meetings(after) if blocks else []
        for k, b in enumerate(blocks):
            i = self.image.instructions[b.end.pc] if b.end.kind == BRANCH else None
            if i is not None and i.guard and block in decided(after, meeting, k):
                yield i.guard[0]

    def _loads_before(self, owner: int, name: str) -> frozenset[int]:
        """The loads and atomics whose values a register is computed from."""
        if (owner, name) not in self.loads:
            self.loads[owner, name] = frozenset(self._found_before(owner, name))
        return self.loads[owner, name]

    def _found_before(self, owner: int, name: str) -> set[int]:
        work, known, found = [name], {name}, set[int]()
        while work:
            for pc in self.writers.get((owner, work.pop()), ()):
                i = self.image.instructions[pc]
                if is_load(i):
                    found.add(pc)
                    continue
                new = set(sources(i)) - known
                known |= new
                work += new
        return found

    def _value(self, owner: int, name: str, read: int, value: int) -> int | None:
        """What an operand is where a read gives a value; None where that is not known."""
        known: dict[str, int] = {}

        def evaluated(name: str, depth: int) -> int | None:
            if name[:1] not in "%$":
                return _constant(name)
            if name in known:
                return known[name]
            made = self.writers.get((owner, name), [])
            if read in made and all(is_load(self.image.instructions[pc]) for pc in made):
                return value  # of several reads, as before a loop and at its end, it was the last
            i = self.image.instructions[made[0]] if len(made) == 1 else None
            if i is None or i.guard is not None or depth > MOST_DEPTH:
                return None
            inputs = list[int]()
            for x in i.operands[1:]:
                found = evaluated(x, depth + 1)
                if found is None:  # then the whole is not known
                    return None
                inputs.append(found)
            result = _computed(i, inputs)
            if result is not None:
                known[name] = result
            return result

        return evaluated(name, 0)


def _constant(text: str) -> int | None:
    try:
        return int(text.rstrip("Uu"), 0)
    except ValueError:
        return None


def _as_type(x: int, kind: str) -> int:
    """A number of so many bits, signed or not, as its type says."""
    bits = 8 * TYPE_BYTES.get(kind, 8)
    x &= (1 << bits) - 1
    return x - (1 << bits) if kind[:1] == "s" and x >> (bits - 1) else x


def _computed(i: Instruction, inputs: list[int]) -> int | None:
    """The result of an instruction on integers or predicates; None where it is not known."""
    head, *parts = i.op.split(".")
    kind = parts[-1] if parts else ""
    if head == "not" and kind == "pred":
        return int(not inputs[0])
    if head == "cvt" and len(parts) == 2 and kind[0] in "usb" and parts[0][0] in "usb":
        return _as_type(_as_type(inputs[0], kind), parts[0])
    if kind != "pred" and kind[:1] not in ("u", "s", "b"):
        return None
    values = [_as_type(x, kind) if kind != "pred" else x for x in inputs]
    if head == "mov" and len(values) == 1:
        return values[0]
    if head == "setp" and len(parts) == 2 and len(values) == 2 and parts[0] in _COMPARE:
        return int(_COMPARE[parts[0]](*values))
    if head in _COMPUTE and len(values) == 2 and {"lo", "hi", "cc", "sat"}.isdisjoint(parts):
        return int(_COMPUTE[head](*values))
    return None


def order_fix(
    machine: Machine, is_right: Callable[[Collection[int], Collection[int]], bool]
) -> str:
    """The fix of a read of an old value: the order that an access lacks; empty if none is found.

    Args:
        machine: the kernel's optimized code.
        is_right: whether no old value makes the kernel wrong where the accesses at some program
            counters acquire, and those at others release.
    """
    image, kinds = machine.image, dict[tuple[str, int], list[int]]()
    of_cuda = set[int]()
    for pc in access_rows(machine):
        head, *parts = image.ops[pc].split(".")
        line, has_order = image.locations[pc].line, not {*ORDERS}.isdisjoint(parts)
        if head in ("atom", "red") and not has_order:
            of_cuda.add(line)
        elif head not in _LACKS or {"relaxed", "volatile", *_HALF}.isdisjoint(parts):
            continue
        for order in _LACKS[head] if _HALF.isdisjoint(parts) else _LACKS[head][2:]:
            kinds.setdefault((order, line), []).append(pc)
    for (order, line), own in sorted(kinds.items(), key=lambda item: [*_FENCES].index(item[0][0])):
        if is_right(own * (order != "release"), own * (order != "acquire")):
            if narrow := _narrow_fence(image, own, -1 if order == "release" else 1):
                return f"{narrow} {ANY_ORDER} {TRIED}"
            how = f"Put `__threadfence();` {_FENCES[order]} the atomic in line {line}"
            if line not in of_cuda:
                how = f"Use `memory_order_{order}` in line {line}, or put `__threadfence();`"
                how = f"{how} {_FENCES[order]} it"
            return f"{how}: {ANY_ORDER} {TRIED}"
    return ""


def between_threads(machine: Machine, read: int, write: int) -> str:
    """What orders a read behind a write of another thread, whose code does not lead to the read.

    Args:
        machine: the kernel's optimized code.
        read: the program counter of the read.
        write: that of the write.

    Returns where orders belong; empty where one thread executes the two.
    """
    if ProgramOrder(machine.image).follows(write, read):
        return ""
    lines = [machine.image.locations[pc].line for pc in (write, read)]
    return (
        f"Order line {lines[0]} before the flag by which its thread tells of the write "
        "(`memory_order_release`, or `__threadfence();` before it), and line "
        f"{lines[1]} behind the read of that flag (`memory_order_acquire`, or `__threadfence();` "
        f"after it): {ANY_ORDER}"
    )


def _narrow_fence(image: Image, accesses: Iterable[int], step: int) -> str:
    """The fix of a fence of a block's scope that is before (-1) or behind (1) some accesses."""
    for pc in accesses:
        head, _, kind = image.ops[(k := pc + step)].partition(".")
        while 0 < k + step < len(image.ops) and head not in (*_LACKS, "fence", "membar", "bra"):
            head, _, kind = image.ops[(k := k + step)].partition(".")
        if head in ("fence", "membar") and "cta" in kind:
            line = image.locations[k].line
            return f"Use `__threadfence()` in line {line}, whose fence orders its block alone:"
    return ""
