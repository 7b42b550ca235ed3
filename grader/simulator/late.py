"""Perform an access late: behind accesses that follow it in the program and that nothing orders.

Where a thread pauses before an access that has been moved behind later ones, other threads see
these without it: a store that becomes visible late, a load that gives what is written after what
its thread does next. No order of blocks and warps and no old value shows that (2+2W, load
buffering, S, and a read-modify-write of the value before a late store).

Two accesses of a thread to different places may change places where the first is no acquire, the
second no release, and neither depends on the other: causality order, as the PTX manual defines it,
then differs between executions of both programs only for these two, and communication order never
relates accesses to different places. So each outcome is one of the program as it was written. What
depends on the access moves with it. A store may also pass an acquire-release fence if only loads
follow: with sequentially consistent memory, all that synchronizes with the fence is after a later
write of the thread, which the store precedes.

Accesses move within a basic block. A load moves behind a branch, too, if what it gives matters only
where that is not taken. Whether two of them have the same place is known from the run
(`overlaps`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, replace
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decode.blocks import COMPUTES
from grader.simulator.decode.dataflow import access_head, sources, targets
from grader.simulator.decode.memory import is_strong
from grader.simulator.decode.module import Image, decode
from grader.simulator.decode.operands import address_or_none
from grader.simulator.diagnose.races import ATOMIC, LATE, OTHER_ATOMIC, OTHER_STORE, STORE
from grader.simulator.edited_code import keep
from grader.simulator.order_runs import PAUSE_CHANGES
from grader.simulator.pauses import MOST_ALIKE, Traces, reads_alone
from grader.simulator.ptx.flow import successors_of
from grader.simulator.ptx.model import TYPE_BYTES, Function, Instruction, Location
from grader.simulator.schedules import CLOCKS

MOST_PASSED = 64
"""The instructions behind which an access moves, at most."""

MOST_FENCES = 8
"""The fences behind which a thread stops while another one pauses, at most."""

MOST_TRACED = 1 << 15
"""The accesses of a run that is examined for overlaps, at most."""

_CONSTANT = {"param", "const"}
_UNORDERED = {"ld": {"acquire"}, "atom": {"acquire", "acq_rel"}, "red": {"acquire", "acq_rel"}}
"""By access, the orders with which it must not move: what follows must stay behind it."""


@dataclass(frozen=True)
class Late:
    """An access of a kernel's body that moves.

    Attributes:
        access: its index.
        passed: that of the strong access that it moves behind.
        order: the indices from `access` to `passed` in the new order.
        late: how many of these, at the end, are the access and what depends on it.
    """

    access: int
    passed: int
    order: tuple[int, ...]
    late: int

    @property
    def pause(self) -> int:
        """The index of the access in the new body."""
        return self.access + len(self.order) - self.late


def late_accesses(f: Function, wanted: Container[int]) -> Iterator[Late]:
    """The moves of strong accesses behind others, both of them in `wanted`."""
    labels = set(f.labels.values())
    for at, i in enumerate(f.body):
        if at in wanted and _may_move(i):
            yield from _Move(f, at, labels).all(wanted)


def moved(
    machine: Machine, kernel: str, late: Late | None = None, ends: Collection[int] = ()
) -> Machine | None:
    """The kernel with an access moved, or as it is; other threads may run behind each fence.

    None where decoding changes the places of instructions.

    Args:
        machine: the code.
        kernel: the name of its function.
        late: the access that moves, if one does.
        ends: more instructions behind which other threads may run.
    """
    module, key = machine.module, ("moved", frozenset(ends))
    if late is None and key in machine.changed:  # of another launch
        return machine.changed[key][1]
    f = module.functions[kernel]
    ends = {*ends, *(fence for _, fence, _ in fences(f))}
    body = [replace(i, stops=True) if k in ends else i for k, i in enumerate(f.body)]
    if late is not None:
        body[late.access : late.passed + 1] = [body[k] for k in late.order]
    functions = {**module.functions, kernel: replace(f, body=body)}
    module = replace(module, functions=functions)
    image = decode(module, kernel, machine.core.known)
    if [i.op for i in body] != image.ops[: len(body)]:
        return None
    other = Machine(module, image)
    return keep(machine, key, (), other) if late is None else other


def fences(f: Function) -> list[tuple[int, int, int]]:
    """The fences and acquires of a body, each between the nearest accesses before and behind it.

    Instead of an access that is not known, itself.
    """
    labels, found = set(f.labels.values()), list[tuple[int, int, int]]()
    for at, i in enumerate(f.body):
        head, *parts = i.op.split(".")
        if head in ("fence", "membar") or not {"acquire", "acq_rel"}.isdisjoint(parts):
            first, last = at - 1, at + 1
            while first >= 0 and first + 1 not in labels and _computes(f.body[first]):
                first -= 1
            while last < len(f.body) and last not in labels and _computes(f.body[last]):
                last += 1
            before = first >= 0 and first + 1 not in labels and access_head_of(f.body[first].op)
            behind = last < len(f.body) and last not in labels and access_head_of(f.body[last].op)
            found.append((first if before else at, at, last if behind else at))
    return found


def some_fences(f: Function, image: Image, most: int) -> list[tuple[int, int, int]]:
    """Some of a kernel's fences, the first of each line before others: loops are unrolled."""
    known, rank = Counter[Location](), dict[tuple[int, int, int], int]()
    for pcs in fences(f):
        where = image.locations[pcs[1]]
        known[where] += 1
        rank[pcs] = known[where]
    return sorted(rank, key=rank.__getitem__)[:most]


def pause_ends(machine: Machine, *, few: bool, stops: bool) -> list[tuple[int, int | None]]:
    """When a pause ends: `pause_changes` and `pause_until` of `How`.

    Args:
        machine: the code.
        few: whether there are few steps, so that many runs can be made.
        stops: whether it ends when another thread has executed a fence, and is not done.
    """
    if stops:
        f = machine.module.functions[machine.image.functions[0].name]
        return [(0, fence) for _, fence, _ in some_fences(f, machine.image, MOST_FENCES) if few]
    return [(0, None), *((n, None) for n in PAUSE_CHANGES if few)]


def _computes(i: Instruction) -> bool:
    head, *parts = i.op.split(".")
    return head in COMPUTES or head == "mov" or (head == "ld" and not _CONSTANT.isdisjoint(parts))


def overlaps(raw: Raw, late: Late) -> bool:
    """Whether a thread accesses a place both late and by what the late access passed.

    Args:
        raw: a run of the moved code that was traced.
        late: the move.
    """
    if raw.accesses is None or raw.traced > MOST_TRACED:
        return True
    first, last = late.pause, late.passed
    rows = raw.accesses[(raw.accesses["pc"] >= late.access) & (raw.accesses["pc"] <= last)]
    names = ("block", "thread", "space", "buffer", "at", "bytes", "pc")
    bytes_of: dict[bool, set[tuple[int, ...]]] = {False: set(), True: set()}
    for *place, at, size, pc in zip(*(rows[n].tolist() for n in names), strict=True):
        bytes_of[pc >= first] |= {(*place, at + k) for k in range(size)}
    return not bytes_of[False].isdisjoint(bytes_of[True])


def _may_move(i: Instruction) -> bool:
    head, parts = access_head(i), set(i.op.split("."))
    moves = head in ("ld", "st", "atom", "red") and is_strong(i.op) and not parts & _CONSTANT
    return moves and not parts & _UNORDERED.get(head, set()) and not {"volatile", "shared"} <= parts


def may_be_late(image: Image) -> bool:
    """Whether a kernel has several strong accesses, of which one only reads, or replaces."""
    strong = [i for i in image.instructions if access_head_of(i.op) and is_strong(i.op)]
    alone = (i.op[:2] == "st" or ".exch." in i.op or reads_alone(i) for i in strong)
    return len(strong) > 1 and any(alone)


def access_head_of(op: str) -> str:
    """The first part of an opcode of an access to memory, or ""."""
    head = op.partition(".")[0]
    return head if head in ("ld", "st", "atom", "red") else ""


def some_moves(moves: Iterable[Late], image: Image, most: int) -> list[Late]:
    """At most so many moves: those of one access alone first, and few of each line."""
    known = Counter[tuple[Location, ...]]()
    every = list(moves)
    rank = dict[Late, tuple[bool, int]]()
    for late in every:
        lines = image.locations[late.access], image.locations[late.passed]
        known[lines] += 1
        rank[late] = known[lines] > MOST_ALIKE, late.late
    return sorted(every, key=rank.__getitem__)[:most]


def late_report(traces: Traces, late: Late, image: Image) -> NDArray[np.void]:
    """A report of an access that may be late, as the core makes them."""
    a = next(a for trace in traces for a in trace if a.pc == late.access)
    space, _, buffer, at = a.place
    report = np.zeros(1, c.REPORT)
    values = {
        "kind": c.OLD_VALUE, "pc": a.pc, "pc2": late.passed, "space": space, "buffer": buffer,
        "address": at, "size": a.bytes, "count": 1, "block": a.thread[0], "thread": a.thread[1],
        "block2": a.thread[0], "thread2": a.thread[1],
    }  # fmt: skip
    for name, value in values.items():
        report[name] = value
    own, other = (access_head_of(image.ops[pc]) for pc in (late.access, late.passed))
    flags = STORE * (own != "ld") | ATOMIC * (own in ("atom", "red"))
    flags |= OTHER_STORE * (other != "ld") | OTHER_ATOMIC * (other in ("atom", "red"))
    report["flags"] = flags | LATE
    return report


class _Move:
    """How far an access can move, and what moves with it."""

    def __init__(self, f: Function, at: int, labels: Container[int]) -> None:
        self.f, self.at, self.labels = f, at, labels
        self.late = [at]
        self.early = list[int]()
        self.fenced = False

    def all(self, wanted: Container[int]) -> Iterator[Late]:
        """The nearest and the farthest move, and those to between loads and stores."""
        found = list[Late]()
        for k in range(self.at + 1, min(len(self.f.body), self.at + MOST_PASSED)):
            if k in self.labels or not self.passes(k):
                break
            if self.early[-1:] == [k] and k in wanted and is_strong(self.f.body[k].op):
                found.append(Late(self.at, k, (*self.early, *self.late), len(self.late)))
        heads = [access_head_of(self.f.body[late.passed].op) for late in found]
        last = [a for a, head, then in zip(found, heads, heads[1:], strict=False) if head != then]
        yield from dict.fromkeys((*found[:1], *found[-1:], *last))

    def passes(self, k: int) -> bool:
        """Add an instruction to those that stay, or that move too; False where neither may be."""
        i = self.f.body[k]
        head, parts = i.op.partition(".")[0], set(i.op.split("."))
        if head == "bra":
            self.early.append(k)
            return self.leaves(i)
        if head == "fence":
            self.fenced = True
            first = self.f.body[self.at].op
            stays = i.op.startswith("fence.acq_rel.") and first.startswith("st.")
            self.early.append(k)
            return stays and len(self.late) == 1
        accesses = access_head(i) in ("ld", "st", "atom", "red") and not parts & _CONSTANT
        clock = any(x.startswith(CLOCKS) for x in i.operands)
        if not (accesses or _computes(i)) or clock or (accesses and parts & {"release", "acq_rel"}):
            return False
        if any(self.depends(i, self.f.body[m], accesses) for m in self.late):
            self.late.append(k)
            return not (accesses and (parts & {"acquire"} or self.fenced))
        self.early.append(k)
        return not (accesses and self.fenced and head != "ld")

    def leaves(self, i: Instruction) -> bool:
        """Whether a branch leads to where nothing uses what moves behind it, which only loads."""
        moving = [self.f.body[k] for k in self.late]
        made = {name for x in moving for name in targets(x)}
        target = self.f.labels.get(i.operands[0]) if i.guard else None
        if target is None or not made.isdisjoint(_read(i)):
            return False
        loads = all(access_head(x) in ("ld", "") or x.op.split(".")[0] in COMPUTES for x in moving)
        return loads and not _is_read(self.f, made, target)

    def depends(self, i: Instruction, on: Instruction, accesses: bool) -> bool:
        """Whether an instruction must stay behind another one, as far as the code tells."""
        if not set(targets(on)).isdisjoint(_read(i)):
            return True
        if not set(targets(i)).isdisjoint((*targets(on), *_read(on))):
            return True
        return accesses and _same_place(i, on)


def _is_read(f: Function, names: set[str], start: int) -> bool:
    """Whether an instruction from an index on may read one of some registers as they are there."""
    work = [(start, name) for name in names]
    known = set(work)
    while work:
        k, name = work.pop()
        if k >= len(f.body):
            continue
        i = f.body[k]
        if name in _read(i):
            return True
        if name not in targets(i) or i.guard:
            new = {(then, name) for then in successors_of(f, k)} - known
            known |= new
            work += new
    return False


def _read(i: Instruction) -> tuple[str, ...]:
    return (*sources(i), i.guard[0]) if i.guard else sources(i)


def _same_place(a: Instruction, b: Instruction) -> bool:
    """Whether two accesses overlap at one address register; False where they have others."""
    (base, first), (other, then) = map(_address, (a, b))
    return bool(base) and base == other and first < then + _size(b) and then < first + _size(a)


def _address(i: Instruction) -> tuple[str, int]:
    return address_or_none(next((x for x in i.operands if x.startswith("[")), ""))


def _size(i: Instruction) -> int:
    parts = i.op.split(".")
    count = next((int(p[1:]) for p in parts if p in ("v2", "v4", "v8")), 1)
    return count * TYPE_BYTES.get(parts[-1], 8)
