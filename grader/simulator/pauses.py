"""Read from a trace of strong accesses where another thread's write between two accesses matters.

A thread reads a place and then writes it: it checks a flag and sets it, counts in two steps, takes
the first element of a list. Where another thread writes the place in between, the thread acts on
what is no longer so. The usual order seldom shows that: `writes_after_reads` gives the writes
before which a thread must pause for it, and `interruption` says whether, in a run with a pause,
another thread did write in between.

A compare-and-swap that fails writes nothing, an atomic whose result is used tells what was there,
and a thread that reads the place again knows it: what correct lock-free code does is no
interruption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.launch import Launch
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Raw
from grader.simulator.decisions import Decisions
from grader.simulator.decode.image import Image, blind_writes
from grader.simulator.decode.memory import SHARED, is_strong
from grader.simulator.diagnose.races import (
    ACROSS_BLOCKS,
    ATOMIC,
    OTHER_ATOMIC,
    OTHER_STORE,
    RESTORED,
    STORE,
    WITHIN_WARP,
)
from grader.simulator.ptx.model import Instruction, Location

MOST_TRACED = 1 << 14
"""The strong accesses of a launch that is examined, at most."""

MOST_ALIKE = 2
"""The accesses of one line that are tried, at most. What the first shows may be right by chance."""

MOST_SEEDS = 256
"""The orders among which one is looked for."""

LANES, _WORD = 32, (1 << 64) - 1
_MAY_KEEP = frozenset(("cas", "min", "max", "inc", "dec"))

Thread = tuple[int, int]
"""The numbers of a block and of a thread in it."""

Place = tuple[int, int, int, int]
"""A state space, a block or 0, a buffer, and an offset."""


MOST_AFTER = 4
"""The instructions behind an access before which a thread pauses, to compare."""


@dataclass(frozen=True)
class Access:
    """A strong access of a trace: who accesses what, by which instruction.

    `reads` and `changes`: it gives its thread the value that stays, or changes it. `overwrites`: it
    writes whatever is there now, or is a compare-and-swap that found what it expected. `takes`: it
    changes the place by what it found there, as one who takes a lock or a number. `value`: what was
    there before.
    """

    thread: Thread
    place: Place
    pc: int
    bytes: int
    value: int
    reads: bool
    changes: bool
    overwrites: bool
    takes: bool


Traces = Sequence[Sequence[Access]]
"""By run, its strong accesses in their order."""


def strong_accesses(raw: Raw, image: Image) -> Sequence[Access]:
    """The accesses of a run that was traced with `only_strong`; none where there are too many.

    Plain ones are among them where these were recorded, too.
    """
    if raw.accesses is None or raw.traced > MOST_TRACED:
        return []
    found = list[Access]()
    heads, blind = [op.partition(".")[0] for op in image.ops], blind_writes(image)
    names = ("block", "thread", "pc", "space", "buffer", "at", "bytes", "value", "event")
    rows = zip(*(raw.accesses[n].tolist() for n in names), strict=True)
    for block, thread, pc, space, buffer, at, size, value, event in rows:
        place = space, block if space == SHARED else 0, buffer, at
        changes = heads[pc] != "ld" and event != c.UNCHANGED
        reads = not changes and heads[pc] in ("ld", "atom")
        swaps = ".cas." in image.ops[pc]
        overwrites = blind[pc] and (changes or not swaps)
        takes = changes and heads[pc] == "atom" and (swaps or not blind[pc])
        how = reads, changes, overwrites, takes
        found.append(Access((block, thread), place, pc, size, value, *how))
    return found


_ZEROS = ("0", "0f00000000", "0d0000000000000000")
_KEEPS = {"add": _ZEROS, "or": _ZEROS, "xor": _ZEROS, "and": ("-1",)}
"""Atomics that change nothing with such operands: they read a place."""


def acts_on_reads(image: Image) -> bool:
    """Whether threads read places, or take locks, and also overwrite some, by strong accesses."""
    writes = blind_writes(image)
    return any(writes[pc] and is_strong(op) for pc, op in enumerate(image.ops)) and any(
        (reads_alone(i) and not (writes[pc] and ".cas." not in i.op))
        or (".exch." in i.op and not writes[pc])
        for pc, i in enumerate(image.instructions)
    )


def reads_alone(i: Instruction) -> bool:
    """Whether an instruction may read a place without changing it."""
    head, *parts = i.op.split(".")
    if head != "atom":
        return head == "ld" and is_strong(i.op)
    if not _MAY_KEEP.isdisjoint(parts):
        return True
    return any(i.operands[-1] in values for name, values in _KEEPS.items() if name in parts)


def writes_after_reads(traces: Traces) -> list[int]:
    """The writes of places that their threads read or took before, where others may write too.

    These are threads that change the place, or that execute such a read of it themselves. A write
    behind a read is undone by another thread's between them; one that gives back a lock or resets a
    counter comes after what others do meanwhile, who may have given up, or have come again.
    """
    return sorted({pc for trace in traces for pc in _writes_after_reads(trace)})


def _writes_after_reads(trace: Sequence[Access]) -> Iterator[int]:
    known: dict[tuple[Thread, Place], int] = {}
    pairs: dict[tuple[int, int], set[tuple[Thread, Place]]] = {}
    users: dict[tuple[Place, int], set[Thread]] = {}
    changers: dict[Place, set[Thread]] = {}
    for a in trace:
        key = a.thread, a.place
        changers.setdefault(a.place, set()).update({a.thread} if a.changes else ())
        if a.overwrites and key in known:
            pairs.setdefault((known[key], a.pc), set()).add(key)
        if a.takes or (a.reads and not a.overwrites):
            known[key] = a.pc
            users.setdefault((a.place, a.pc), set()).add(a.thread)
        else:
            known.pop(key, None)
    for (read, write), keys in pairs.items():
        if any((users[p, read] | changers[p]) - {thread} for thread, p in keys):
            yield write


def contended(traces: Traces) -> list[int]:
    """The accesses of places that several threads access and one changes.

    Where there is one such place alone, all threads see the same values of it: then only those that
    their threads come to after another look at it, or that write it after another blind write.
    """
    found: dict[int, set[Place]] = {}
    again = set[int]()
    for trace in traces:
        users: dict[Place, set[Thread]] = {}
        looks: dict[tuple[Thread, Place], int] = {}
        wrote: dict[tuple[Thread, Place], int] = {}
        places: dict[int, set[Place]] = {}
        changed = set[Place]()
        for a in trace:
            users.setdefault(a.place, set()).add(a.thread)
            places.setdefault(a.pc, set()).add(a.place)
            changed |= {a.place} if a.changes else set()
            key = a.thread, a.place
            again |= {a.pc} if looks.get(key, a.pc) != a.pc else set()
            looks |= {key: a.pc} if a.reads else {}
            if a.changes:
                blind = a.overwrites and not a.takes
                again |= {a.pc} if blind and wrote.get(key, a.pc) != a.pc else set()
                wrote |= {key: a.pc} if blind else {}
        for pc, where in places.items():
            found.setdefault(pc, set()).update(p for p in where & changed if len(users[p]) > 1)
    several = len(set().union(*found.values())) > 1
    return sorted(pc for pc, where in found.items() if where and (several or pc in again))


def changed_by_lanes(traces: Traces) -> dict[int, int]:
    """By instruction, how many lanes of a warp change one place at once that other warps read."""
    found: dict[int, int] = {}
    for trace in traces:
        lanes: dict[tuple[int, tuple[int, int], Place], set[Thread]] = {}
        readers: dict[Place, set[tuple[int, int]]] = {}
        for a in trace:
            if a.changes:
                lanes.setdefault((a.pc, _warp_of(a), a.place), set()).add(a.thread)
            elif a.reads:
                readers.setdefault(a.place, set()).add(_warp_of(a))
        for (pc, warp, place), threads in lanes.items():
            if len(threads) > 1 and readers.get(place, set()) - {warp}:
                found[pc] = max(found.get(pc, 0), len(threads))
    return found


def are_drawn_by_lanes(traces: Traces, image: Image) -> bool:
    """Whether several lanes of a warp draw numbers at one place by one instruction."""
    first: dict[tuple[int, Place, tuple[int, int]], Thread] = {}
    return any(
        first.setdefault((a.pc, a.place, _warp_of(a)), a.thread) != a.thread
        for trace in traces
        for a in trace
        if a.takes and ".cas." not in image.ops[a.pc]
    )


def some_of(pcs: Sequence[int], image: Image, most: int) -> list[int]:
    """At most so many instructions, few of each line first: an unrolled loop has many."""
    known = Counter[Location]()
    rank = {}
    for pc in pcs:
        known[image.locations[pc]] += 1
        rank[pc] = known[image.locations[pc]] > MOST_ALIKE
    return sorted(sorted(pcs, key=rank.__getitem__)[:most])


def after(pc: int, image: Image) -> range:
    """The instructions after one; some are no place of a pause, as they are part of others."""
    return range(pc + 1, min(pc + 1 + MOST_AFTER, len(image.ops)))


def before_next_read(pc: int, traces: Traces, image: Image) -> range:
    """As `after`, up to the next read of a place that the instruction writes.

    A thread that pauses behind it, as in a loop, is between a read and a write again.
    """
    places = {a.place for trace in traces for a in trace if a.pc == pc}
    reads = {a.pc for trace in traces for a in trace if a.reads and a.place in places}
    behind = after(pc, image)
    return range(behind.start, min((k + 1 for k in behind if k in reads), default=behind.stop))


def order_for(traces: Traces, pc: int, launch: Launch) -> int:
    """The order in which the first thread that executes an instruction runs before all others.

    It is 0, the usual one of the first trace, where that is so there; also where none of some
    orders is one.
    """
    first = next(iter(traces[0]), None)
    own = next((a for trace in traces for a in trace if a.pc == pc), first)
    if first is None or own is None or own.thread == first.thread:
        return 0
    return _order_from(own.thread[0], own.thread[1] // LANES, launch)


def backward_order(launch: Launch) -> int:
    """An order in which the last block and the last warp run before all others; 0 if none is."""
    return _order_from(prod(launch.grid) - 1, -(-prod(launch.block) // LANES) - 1, launch)


def _order_from(block: int, warp: int, launch: Launch) -> int:
    """The first of some orders in which a block, and a warp of it, run first; 0 if none is."""
    blocks, warps = prod(launch.grid), -(-prod(launch.block) // LANES)
    return next(
        (
            s
            for s in range(1, MOST_SEEDS)
            if _first_of(blocks, _mixed(s, 0, 0)) == block
            and _first_of(warps, _mixed(s, block, 1)) == warp
        ),
        0,
    )


def _mixed(a: int, b: int, c: int) -> int:
    """The hash of the core (machine/block.c) that makes an order of a schedule's number."""
    x = ((((a << 32 | b) + 1) * 0x9E3779B97F4A7C15) + c) & _WORD
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & _WORD
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & _WORD
    return x >> 32


def _first_of(count: int, r: int) -> int:
    """Which of so many blocks or warps runs first, by the hash of an order."""
    return (count - 1 + r // 2 % count if r & 1 else r // 2) % count


@dataclass(frozen=True)
class Interruption:
    """A write that another thread's write makes wrong.

    Attributes:
        report: as the core makes them.
        read: the instruction whose value the write depends on.
        of_list: whether the write is a swap to the next element of a list.
        write: the instruction that writes.
        fix: the fix, where it is known.
    """

    report: NDArray[np.void]
    read: int
    of_list: bool
    write: int
    fix: str = ""


def interruption(raw: Raw, image: Image) -> Interruption | None:
    """The first of the `interruptions`; None without one."""
    return next(interruptions(raw, image), None)


def interruptions(
    raw: Raw, image: Image, *, in_warp: bool = False, possible: bool = False
) -> Iterator[Interruption]:
    """The writes that another thread's write makes wrong.

    The other one comes between it and its thread's read of the place that it depends on.

    Args:
        raw: the run, traced.
        image: its code.
        in_warp: whether only writes by lanes of the same warp matter.
        possible: whether also those matter that may make another write wrong, as far as the
            branches tell that lead to it.
    """
    last: dict[Place, Access] = {}
    known: dict[tuple[Thread, Place], tuple[Access, Access | None]] = {}
    decisions = Decisions(image)
    for a in strong_accesses(raw, image):
        key = a.thread, a.place
        other = last.get(a.place)
        read, newest = known.get(key, (a, other))
        between = other if a.overwrites and newest is not other else None
        if (
            between is not None
            and between.thread != a.thread
            and (not in_warp or _warp_of(between) == _warp_of(a))
            and (
                decisions.is_undone(read.pc, a.pc, read.value, a.value)
                or (possible and read.value != a.value and decisions.may_be_undone(read.pc, a.pc))
            )
        ):
            of_list = ".cas." in image.ops[a.pc]
            yield Interruption(_report(a, between, image), read.pc, of_list, a.pc)
        if a.reads and not a.overwrites:
            known[key] = a, other
        else:
            known.pop(key, None)
        if a.changes:
            last[a.place] = a


def _warp_of(a: Access) -> tuple[int, int]:
    return a.thread[0], a.thread[1] // LANES


def _report(a: Access, other: Access, image: Image) -> NDArray[np.void]:
    """A report of a lost update, as the core makes them."""
    space, _, buffer, at = a.place
    own, others = (image.ops[x.pc].partition(".")[0] != "st" for x in (a, other))
    flags = STORE | OTHER_STORE | ATOMIC * own | OTHER_ATOMIC * others
    flags |= ACROSS_BLOCKS * (a.thread[0] != other.thread[0])
    flags |= WITHIN_WARP * (_warp_of(a) == _warp_of(other))
    flags |= RESTORED * (".cas." in image.ops[a.pc])
    report = np.zeros(1, c.REPORT)
    values = {
        "kind": c.LOST_UPDATE, "flags": flags, "pc": a.pc, "pc2": other.pc, "space": space,
        "buffer": buffer, "address": at, "size": a.bytes, "count": 1,
        "block": a.thread[0], "thread": a.thread[1],
        "block2": other.thread[0], "thread2": other.thread[1],
    }  # fmt: skip
    for name, value in values.items():
        report[name] = value
    return report
