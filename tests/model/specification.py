"""Data races by the PTX manual's memory consistency model, computed the slow way.

The input is one execution: its operations in the order in which they were performed. Every
relation of the manual is computed as it is written there, over all pairs of operations:

    program order, morally strong, observation order, release and acquire patterns,
    synchronizes, base causality order, causality order, data race.

Fence-SC order is known only as far as the execution shows it: a fence.sc F1 precedes a fence.sc F2
when F1 is before a write that was observed by a read that is before F2; the other order would
contradict causality.

There are three deliberate departures. One is `TICKET`. CUDA's own example of a last block draws a
ticket with an atomic and reads what all blocks wrote after __syncthreads(), without a fence. An
atomic that draws a ticket, and states no order, and the arrival at a barrier of all threads after
it count as an acquire pattern, and the arrival as a fence.sc.

An mbarrier is an object in shared memory: an arrival is a read-modify-write of it, which releases
unless it is relaxed; expect_tx and complete_tx are relaxed. A test_wait or try_wait is a read of
it that acquires, unless it is relaxed, when it returns true; then it synchronizes with arrivals of
completed phases alone, and with what follows the test: the test itself needs an object that was
initialized before. One that returns false synchronizes with nothing. A second departure:
cp.async.mbarrier.arrive, which is to order the copies alone, releases like any arrival.

A third: volatile accesses to shared memory are weak in code without fences, but for loads that a
loop repeats until their value allows to leave. These do not race with volatile stores of the place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations


class Kind(Enum):
    """What an operation does."""

    READ = "read"
    WRITE = "write"
    UPDATE = "read-modify-write"
    FENCE = "fence"
    ARRIVE = "arrive at a barrier"
    LEAVE = "leave a barrier"
    WARP_SYNC = "bar.warp.sync"


@dataclass(frozen=True)
class Operation:
    """One operation of one thread.

    Attributes:
        kind: what it does.
        thread: (block, thread).
        memory: the state space and buffer of a memory operation.
        first, size: its bytes there.
        strong: whether it is strong; fences are.
        narrow: whether its scope is the block.
        acquires, releases: its memory order.
        sc: whether a fence is sequentially consistent.
        ticket: whether it is an atomic that draws a ticket.
        group: the barrier and which of its uses, or which bar.warp.sync.
        phase: of an operation on an mbarrier: how many phases were complete before it.
        waits: whether it tests an mbarrier.
        passes: whether such a test returns true.
        volatile: whether it is volatile.
        awaits: whether it is a load that a loop repeats until its value allows to leave.
        text: the instruction.
    """

    kind: Kind
    thread: tuple[int, int]
    memory: object = None
    first: int = 0
    size: int = 0
    strong: bool = False
    narrow: bool = False
    acquires: bool = False
    releases: bool = False
    sc: bool = False
    ticket: bool = False
    group: object = None
    phase: int = 0
    waits: bool = False
    passes: bool = False
    volatile: bool = False
    awaits: bool = False
    text: str = ""

    @property
    def reads(self) -> bool:
        """Whether it reads memory."""
        return self.kind in (Kind.READ, Kind.UPDATE)

    @property
    def writes(self) -> bool:
        """Whether it writes memory."""
        return self.kind in (Kind.WRITE, Kind.UPDATE)

    @property
    def in_memory(self) -> bool:
        """Whether it is a memory operation."""
        return self.reads or self.writes


def overlap(a: Operation, b: Operation) -> bool:
    """Whether two memory operations have a byte in common."""
    return a.memory == b.memory and a.first < b.first + b.size and b.first < a.first + a.size


def overlap_completely(a: Operation, b: Operation) -> bool:
    """Whether two memory operations have the same bytes."""
    return (a.memory, a.first, a.size) == (b.memory, b.first, b.size)


def morally_strong(a: Operation, b: Operation) -> bool:
    """Whether two operations are morally strong relative to each other."""
    if a.in_memory and b.in_memory and not overlap_completely(a, b):
        return False
    same_block = a.thread[0] == b.thread[0]
    scopes = same_block or not (a.narrow or b.narrow)
    return a.thread == b.thread or (a.strong and b.strong and scopes)


def awaits_store(a: Operation, b: Operation) -> bool:
    """Whether one is a volatile load that waits, and the other a volatile store that is weak."""
    pairs = ((a, b), (b, a))
    return overlap_completely(a, b) and any(
        load.awaits and load.kind is Kind.READ and store.kind is Kind.WRITE and store.volatile
        for load, store in pairs
    )


class Execution:
    """The relations over the operations of one execution, as sets of pairs of indices."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.ops = operations
        self.count = len(operations)
        self.observed = self._observation_order()
        self.after = [0] * self.count  # bit j of after[i]: i precedes j in base causality order
        for i, j in self._pairs():
            if operations[i].thread == operations[j].thread:
                self.after[i] |= 1 << j
        for i, j in (*self._barriers(), *self._patterns()):
            self.after[i] |= 1 << j
        self._close()
        while self._add_fence_order():
            self._close()

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return combinations(range(self.count), 2)

    def _observation_order(self) -> set[tuple[int, int]]:
        """W precedes R when R reads W's value, or that of an atomic that W precedes."""
        ops = self.ops
        seen: set[tuple[int, int]] = set()
        last: dict[tuple[object, int], int] = {}
        for j, op in enumerate(ops):
            cells = [(op.memory, b) for b in range(op.first, op.first + op.size)]
            if op.reads:
                (source, *others) = {last.get(cell) for cell in cells}
                if source is not None and not others and morally_strong(ops[source], op):
                    seen.add((source, j))
                    if ops[source].kind is Kind.UPDATE:
                        seen |= {(w, j) for w, z in seen if z == source}
            if op.writes:
                last |= dict.fromkeys(cells, j)
        return seen

    def _barriers(self) -> Iterator[tuple[int, int]]:
        """An arrival synchronizes with all who leave; at bar.warp.sync each lane does both."""
        for i, a in enumerate(self.ops):
            for j, b in enumerate(self.ops):
                if a.group is None or a.group != b.group or i == j:
                    continue
                if a.kind is Kind.ARRIVE and b.kind is Kind.LEAVE:
                    yield i, j
                if a.kind is b.kind is Kind.WARP_SYNC:
                    yield i, j

    def _releases(self, write: int) -> Iterator[int]:
        """The first operations of the release patterns that end with a write."""
        w = self.ops[write]
        if not w.strong:
            return
        for i, a in enumerate(self.ops[: write + 1]):
            if a.thread == w.thread and (
                a.kind is Kind.FENCE or (a.releases and a.writes and overlap_completely(a, w))
            ):
                yield i

    def _acquires(self, read: int) -> Iterator[int]:
        """The last operations of the acquire patterns that begin with a read."""
        r = self.ops[read]
        if not r.strong:
            return
        for j in range(read, self.count):
            b = self.ops[j]
            if b.thread != r.thread:
                continue
            at_place = b.acquires and b.reads and overlap_completely(b, r)
            if b.waits and j != read:
                continue  # a wait acquires what it waited for, not what an arrival before it read
            if b.kind is Kind.FENCE or at_place or self._ends_ticket(r, b):
                yield j

    def _ends_ticket(self, read: Operation, then: Operation) -> bool:
        return read.ticket and then.kind is Kind.ARRIVE and then.sc

    def _patterns(self) -> Iterator[tuple[int, int]]:
        """A release pattern synchronizes with an acquire pattern that observes its write."""
        for write, read in self.observed:
            if not self._completed(write, read):
                continue
            for first in self._releases(write):
                for last in self._acquires(read):
                    if self.ops[first].thread != self.ops[last].thread and self._strong_ends(
                        first, last
                    ):
                        yield from ((first, j) for j in self._ordered_by(last))

    def _ordered_by(self, last: int) -> list[int]:
        """The first operations that follow what the end of an acquire pattern synchronizes with.

        That is the end itself, or what comes after a test of an mbarrier.
        """
        b = self.ops[last]
        if not b.waits:
            return [last]
        then = (j for j in range(last + 1, self.count) if self.ops[j].thread == b.thread)
        return [j for j in [next(then, None)] if j is not None]

    def _completed(self, write: int, read: int) -> bool:
        """Whether a read is no test of an mbarrier, or one that waited for the write's phase."""
        w, r = self.ops[write], self.ops[read]
        return not r.waits or (r.passes and w.phase < r.phase)

    def _strong_ends(self, first: int, last: int) -> bool:
        a, b = self.ops[first], self.ops[last]
        same_block = a.thread[0] == b.thread[0]
        return same_block or not (a.narrow or b.narrow)

    def _close(self) -> None:
        """Make base causality order transitive."""
        for k in range(self.count):
            for i in range(self.count):
                if self.after[i] >> k & 1:
                    self.after[i] |= self.after[k]

    def _add_fence_order(self) -> bool:
        """Add what fence-SC order is forced to be; whether there was anything to add."""
        fences = [i for i, op in enumerate(self.ops) if op.sc and op.kind is Kind.FENCE]
        ends = [j for j, op in enumerate(self.ops) if op.sc]
        new = False
        for write, read in self.observed:
            if not self._completed(write, read):
                continue
            for f1 in fences:
                if not self.after[f1] >> write & 1:
                    continue
                for f2 in ends:
                    if self.ops[f2].kind is Kind.ARRIVE and not (
                        self.ops[read].ticket and self.ops[read].thread == self.ops[f2].thread
                    ):
                        continue
                    forced = self.after[read] >> f2 & 1 and self._strong_ends(f1, f2)
                    if forced and f1 != f2 and not self.after[f1] >> f2 & 1:
                        self.after[f1] |= 1 << f2
                        new = True
        return new

    def precedes(self, i: int, j: int) -> bool:
        """Whether i precedes j in causality order."""
        if self.after[i] >> j & 1:
            return True
        return any(w == i and self.after[z] >> j & 1 for w, z in self.observed)

    def races(self) -> list[tuple[Operation, Operation]]:
        """The pairs of operations that race."""
        out = []
        for i, j in self._pairs():
            a, b = self.ops[i], self.ops[j]
            conflict = (a.writes or b.writes) and a.in_memory and b.in_memory and overlap(a, b)
            if not conflict or a.thread == b.thread or morally_strong(a, b) or awaits_store(a, b):
                continue
            if not self.precedes(i, j) and not self.precedes(j, i):
                out.append((a, b))
        return out
