"""Which reports become findings: others explain them, or the optimizer made them.

Findings of the optimized variant alone are confirmed.

The optimizer loads ahead of a condition, of a whole vector or of a loop that may not run, and then
discards the value. Such a load reads what the program does not: it is no finding. The debug variant
does what the source says. So a finding on a load that only the optimized variant has is kept where

- the value is used whatever happens next, or
- the variants differ in how often they synchronize: then the source is not the same for both.

A store is never made up: findings of stores with stores are kept. Nor does the optimizer add a
misaligned load, at which a GPU stops whether or not its value is used.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from grader import replace
from grader.simulator.core import bindings as c
from grader.simulator.core.memory import RESERVED_BYTES
from grader.simulator.core.run import Raw
from grader.simulator.decode.blocks import reachable, successors
from grader.simulator.decode.control_flow import BARRIER, ORDERS, WARPSYNC
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.followed import copies_in_part, cuts_bytes, may_replace
from grader.simulator.decode.instructions import may_ignore
from grader.simulator.decode.module import Image
from grader.simulator.decode.operands import vector
from grader.simulator.diagnose.branching import block_of
from grader.simulator.diagnose.races import (
    ATOMIC,
    IN_LIBRARY,
    MISALIGNED,
    NEVER_WRITTEN,
    OTHER_ATOMIC,
    OTHER_STORE,
    SAME_VALUE,
    STORE,
    UNUSUAL,
    UNWAITED,
    WITHIN_WARP,
    ProgramOrder,
    Report,
)
from grader.simulator.ptx.model import (
    STRONG_READS,
    TYPE_BYTES,
    Instruction,
    function_name,
    plain_name,
)

_LOADS = ("ld", "ldu", "tex", "tld4")
_USING = frozenset(("st", "atom", "red", "bra", "brx", "bar", "barrier"))
"""Instructions with an effect beyond their own registers.

Shuffles, votes and calls are none: where a variable has no value on some path, the optimizer loads
it on all of them, and other lanes or the callee may ignore it.
"""
_UNSET = frozenset((c.UNINIT, c.UNDEFINED))
_COMBINING = frozenset(("and", "or", "xor"))
"""What a setp does with another predicate, whatever its comparison says."""

LAMBDA = "operator()"
"""The name of a lambda's function."""


def synchronizations(image: Image, raw: Raw) -> tuple[int, int, int]:
    """How many threads passed a barrier, a warp barrier and a fence in a launch."""
    out, number = [0, 0, 0], 0
    for function in image.functions:
        for block in function.blocks:
            lanes, number = int(raw.visit_lanes[number]), number + 1
            out[0] += lanes * (block.end.kind == BARRIER)
            out[1] += lanes * (block.end.kind == WARPSYNC and bool(block.end.flag & ORDERS))
            out[2] += lanes * sum(insn.exec == "fence" for insn in block.insns)
    return out[0], out[1], out[2]


class Confirmation:
    """Which loads of an image have a value that the program may discard."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.blocks = block_of(image.functions)
        self.decoded = sorted(self.blocks)
        self.readers: dict[int, dict[str, list[int]]] = {}
        self.after: dict[int, list[list[int]]] = {}
        self.discardable: dict[tuple[int, bool], bool] = {}

    def doubts(self, r: Report) -> bool:
        """Whether a report is about a load, or a copy, whose value may be discarded."""
        copied = r.kind == c.UNINIT  # copies are no use of what is undefined
        if copied and self.image.ops[r.pc].startswith("cp.async"):
            return True  # the debug variant follows what it copies
        loads = self._loads(r)
        return bool(loads) and all(self.is_discardable(pc, copied=copied) for pc in loads)

    def _loads(self, r: Report) -> list[int]:
        """The loads that a report accuses: each of them must be real for the report to be."""
        if r.kind == c.UNINIT or (r.kind == c.INVALID and not r.has(STORE | MISALIGNED)):
            found = [r.pc]
        elif r.kind == c.RACE:
            found = [r.pc] if not r.has(STORE | ATOMIC) else []
            found += [r.pc2] if not r.has(OTHER_STORE | OTHER_ATOMIC) else []
        else:
            found = []
        ops = self.image.ops
        parts = {pc: ops[pc].split(".") for pc in found if pc < len(ops)}
        code, unset = self.image.instructions, r.kind == c.UNINIT
        return [
            pc
            for pc, p in parts.items()
            if (p[0] in _LOADS and STRONG_READS.isdisjoint(p)) or (unset and may_replace(code[pc]))
        ]

    def is_discardable(self, pc: int, *, copied: bool = False) -> bool:
        """Whether the value of a load may have no effect; `copied`: other than to be stored."""
        key = pc, copied
        if key not in self.discardable:
            self.discardable[key] = self._is_discardable(pc, copied=copied)
        return self.discardable[key]

    def _is_discardable(self, pc: int, *, copied: bool) -> bool:
        if pc not in self.blocks:
            return True
        code, at_name = self.image.instructions, self.readers_of(self.image.owner[pc])
        if copied and copies_in_part(code[pc], lambda x: [code[k] for k in at_name.get(x, ())]):
            return True
        starts = self._elements(pc) if copied else [(pc, targets(code[pc]))]
        return not all(self._is_used(at, names, copied=copied) for at, names in starts)

    def _elements(self, pc: int) -> list[tuple[int, Sequence[str]]]:
        """What a load loads, by element: the instruction that gives it, and its register.

        Some elements may be unset where others are always used. The debug variant loads each of
        them where the program does, or follows its copy.
        """
        code, at_name = self.image.instructions, self.readers_of(self.image.owner[pc])
        found = list[tuple[int, Sequence[str]]]()
        for name in targets(code[pc]):
            users = at_name.get(name, [])
            splits = len(users) == 1 and code[users[0]].op.startswith("mov.")
            parts = targets(code[users[0]]) if splits else ()
            found += [(users[0], [x]) for x in parts] if len(parts) > 1 else [(pc, [name])]
        return found or [(pc, ())]

    def _is_used(self, pc: int, names: Sequence[str], *, copied: bool) -> bool:
        """Whether what an instruction gives registers is used whatever happens next."""
        readers, used = self._readers_of_value(pc, names, copied=copied)
        before = -1
        while before != len(used) and pc not in used:
            before = len(used)
            for at, users in reversed(readers.items()):
                if at not in used and self._always_leads(at, used & users):
                    used.add(at)
        return pc in used

    def _readers_of_value(
        self, pc: int, names: Sequence[str], *, copied: bool
    ) -> tuple[dict[int, frozenset[int]], set[int]]:
        """Who reads what a load gives registers, and what is computed from it, unchosen.

        Returns, for the load and each instruction whose result has that value, those that read it
        there; and of all these the ones that have an effect.
        """
        readers: dict[int, frozenset[int]] = {}
        work, effects = [(pc, copied)], set[int]()
        size = TYPE_BYTES.get(self.image.ops[pc].split(".")[-1], 0)
        while work:
            at, copied = work.pop()
            users = set[int]()
            for name in names if at == pc else targets(self.image.instructions[at]):
                for user in self.readers_of(self.image.owner[pc]).get(name, ()):
                    i = self.image.instructions[user]
                    head = i.op.split(".")[0]
                    guards = i.guard is not None and i.guard[0] == name
                    if not guards and (i.guard is not None or _only_passes(i)):
                        continue
                    if copied and cuts_bytes(i, size):
                        continue
                    if guards or (head in _USING and not (head == "st" and copied)):
                        effects.add(user)
                    elif head in _USING or may_ignore(i, name):
                        continue
                    elif user not in readers:
                        readers[user] = frozenset()
                        work.append((user, copied and head in ("mov", "shfl")))
                    users.add(user)
            readers[at] = frozenset(users)
        return readers, effects

    def reaches(self, load: int, store: int) -> bool:
        """Whether a store stores a value that is computed from what a load loads."""
        i = self.image.instructions[store]
        if self.image.owner[load] != self.image.owner[store] or len(i.operands) < 2:
            return False
        if not self._leads(load, store):  # optimized code may reuse the register
            return False
        readers = self.readers_of(self.image.owner[load])
        work, visited = list(targets(self.image.instructions[load])), set[str]()
        while work:
            name = work.pop()
            visited.add(name)
            for user in readers.get(name, ()):
                if user == store and name in vector(i.operands[1]):
                    return True
                work += [x for x in targets(self.image.instructions[user]) if x not in visited]
        return False

    def readers_of(self, owner: int) -> dict[str, list[int]]:
        """By register, the instructions of a function that read it."""
        if owner not in self.readers:
            by_name = defaultdict(list)
            first, count = self.image.owner.index(owner), self.image.owner.count(owner)
            for pc in range(first, first + count):
                i = self.image.instructions[pc]
                guard = [i.guard[0]] if i.guard is not None else []
                for name in dict.fromkeys([*sources(i), *guard]):
                    by_name[name].append(pc)
            self.readers[owner] = by_name
        return self.readers[owner]

    def _block_of(self, pc: int) -> tuple[int, int]:
        """The function and the block of an instruction; a later one may be decoded with it."""
        after = bisect_left(self.decoded, pc)
        return self.blocks[self.decoded[min(after, len(self.decoded) - 1)]]

    def _successors(self, number: int) -> list[list[int]]:
        """The successors of each block of a function."""
        if number not in self.after:
            self.after[number] = [successors(b) for b in self.image.functions[number].blocks]
        return self.after[number]

    def _leads(self, pc: int, other: int) -> bool:
        """Whether a way leads from an instruction to another one of its function."""
        (number, start), (_, end) = self._block_of(pc), self._block_of(other)
        after = self._successors(number)
        ways = (s for s in after[start] if end in reachable(after, s))
        return (start == end and pc < other) or any(True for _ in ways)

    def are_apart(self, pc: int, other: int) -> bool:
        """Whether two instructions of a function are in branches of which a thread takes one.

        Optimized code has a read there that the program has behind both.
        """
        same = self.image.owner[pc] == self.image.owner[other]
        return same and not (self._leads(pc, other) or self._leads(other, pc))

    def _always_leads(self, pc: int, others: set[int]) -> bool:
        """Whether every way from an instruction to the end of its function leads to another one."""
        number, start = self._block_of(pc)
        places = [(*self._block_of(other), other) for other in others]
        if any(n == number and k == start and other > pc for n, k, other in places):
            return True
        then = {k for n, k, _ in places if n == number}
        if not then:
            return False
        after = self._successors(number)
        ends = {k for k, follow in enumerate(after) if not follow}
        without = [[k for k in follow if k not in then] for follow in after]
        return ends.isdisjoint(reachable(without, start))


def _only_passes(i: Instruction) -> bool:
    """Whether an instruction hands a value to a callee or a local variable, which may ignore it.

    A comparison that is combined with another predicate may be ignored too.
    """
    head, *parts = i.op.split(".")
    if head in ("st", "call"):
        return head == "call" or not {"param", "local"}.isdisjoint(parts)
    return head == "setp" and len(i.operands) > 3 and not _COMBINING.isdisjoint(parts)


def explained(values: Confirmation, reports: list[Report], r: Report) -> Report | None:
    """A report, or None where another report explains it.

    A lost update explains that its read does not wait, a race an uninitialized read. The core
    retracts the reads of what another thread writes in the same phase. They remain where each
    such write stores what was read: no order of them gives the first value.
    In global memory, a read remains where no thread of the launch, which ran to its end, writes
    what it reads.
    """
    if r.kind in (c.LANE_MISSING, c.EARLY_EXIT):  # so a lane outside its own mask seems to others
        masks = {o.line for o in reports if o.kind == c.WARP_MASK}
        return None if r.line in masks else r
    if r.kind == c.RACE and r.has(UNWAITED):
        lost = (o.target.name for o in reports if o.kind == c.LOST_UPDATE)
        return None if r.target.name in lost else r
    if r.kind != c.UNINIT:
        return r
    code, unset = values.image.instructions, all(o.kind in _UNSET for o in reports)
    if r.extra and unset and not (r.pc < len(code) and code[r.pc].via):
        return replace(r, count=r.count + r.extra)  # the writes of its phase race with no read
    races = [
        o
        for o in reports
        if o.kind == c.RACE and o.target.name == r.target.name and not o.has(SAME_VALUE)
        if o.target.space == r.target.space and r.line in (o.line, o.line2)
    ]
    pairs = {(o.pc, o.pc2) if not o.has(STORE) else (o.pc2, o.pc) for o in races}
    writers = {write for read, write in pairs if read == r.pc}
    if writers and all(values.reaches(r.pc, write) for write in writers):
        return replace(r, count=r.count + r.extra)
    ended = all(o.kind in (*_UNSET, c.RACE) for o in reports)
    certain = not races or r.target.space == "shared" or (ended and r.has(NEVER_WRITTEN))
    return r if r.count and certain else None


def comes_too_early(r: Report, race: Report, order: ProgramOrder) -> bool:
    """Whether a read finds no value because nothing makes it wait for the write of a race."""
    if r.kind != c.UNINIT or race.kind != c.RACE or r.pc not in (race.pc, race.pc2):
        return False
    write = race.pc2 if r.pc == race.pc else race.pc
    return order.hazard(write, r.pc, "warp" if race.has(WITHIN_WARP) else "block") == "RAW"


def _source_name(symbol: str) -> str:
    """The name of a function; where it is local to another, not that one's."""
    if not symbol.startswith("_ZZ"):
        return function_name(symbol)
    return LAMBDA if "Ul" in symbol else plain_name(symbol)


def returned_by(image: Image, pc: int) -> str:
    """The function whose result an instruction uses; empty if that is none, or not certain."""
    wanted, behind = set(sources(image.instructions[pc])), 0
    for k in range(pc - 1, -1, -1):
        i = image.instructions[k]
        if image.owner[k] != image.owner[pc]:
            break
        if behind and i.op.startswith("call"):
            return _source_name(i.operands[1].partition("@")[0]) if len(i.operands) > 1 else ""
        if i.op.startswith("ld.param") and "retval" in i.operands[1]:
            behind += not wanted.isdisjoint(targets(i))
        wanted -= set(targets(i))
    return ""


def without_strays(reports: list[Report]) -> list[Report]:
    """The reports without those of stray accesses of which the local array is known as well."""
    arrays = [r for r in reports if r.kind == c.INVALID and r.target.space == "local"]
    known = {r.pc for r in arrays if r.target.size}
    return [r for r in reports if r not in arrays or r.target.size or r.pc not in known]


def without_library_races(
    reports: list[Report], image: Image, reserved: int | None
) -> list[Report]:
    """The reports without races of a library in the shared memory that the system reserves.

    Tiles of more than a warp exchange values there. Their barriers order less than the manual asks
    for, and no change of the student's code can order more.

    Args:
        reports: the reports.
        image: the decoded kernel.
        reserved: the offset of that memory in the window of shared memory; None if there is none.
    """
    if reserved is None:
        return reports

    def is_library_race(r: Report) -> bool:
        inside = r.target.space == "shared" and reserved <= r.address < reserved + RESERVED_BYTES
        racing = inside and r.kind in (c.RACE, c.LOST_UPDATE)
        return racing and all(image.instructions[pc].via for pc in (r.pc, r.pc2))

    return [r for r in reports if not is_library_race(r)]


def without_library_elements(reports: list[Report]) -> list[Report]:
    """The reports without those of elements and members that a library uses without a value.

    Libraries compute with all items of a thread, and their callers ignore the results of some.
    """
    return [
        r
        for r in reports
        if r.kind != c.UNDEFINED or not r.has(IN_LIBRARY) or r.target.name == r.target.element != ""
    ]


def without_warp_level(reports: list[Report]) -> list[Report]:
    """The reports with races within a warp as races of the block, where warps race too.

    The lanes of a warp then need the same barrier as the warps.
    """
    if not any(r.kind == c.RACE and not r.has(UNUSUAL) for r in reports):
        return reports
    return [replace(r, flags=r.flags & ~WITHIN_WARP) if r.kind == c.RACE else r for r in reports]
