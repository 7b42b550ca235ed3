"""What recorded accesses show: wavefronts, sectors, addresses that meet, threads that conflict.

A record has one row for each lane's access. Rows of one instruction and one warp, in the order of
their threads, are a request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader import regex, replace
from grader.launch import WARP_SIZE, Launch
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.memory import GLOBAL, LOCAL, SHARED
from grader.simulator.decode.module import Image
from grader.simulator.diagnose.aborts import Arrivals, arrivals
from grader.simulator.diagnose.races import ACROSS_BLOCKS, WITHIN_WARP, Report

if TYPE_CHECKING:
    from grader.simulator.diagnose.kernel_code import KernelCode

WIDE = 16
"""Bytes of the widest load of a thread."""

_NARROW = regex(r"ld\.shared\.[fusb]32")
PAST_L1 = regex(r"ld\.(volatile|relaxed|acquire|mmio)\b|ld\.global\.c[gv]\b|cp\.async\.cg\b")
_PLACE = regex(r"\[([%$\w]+)(?:\+(-?\d+))?\]")

LINE, SECTOR, WORD = 7, 5, 2
"""Binary logarithms of bytes: a line of the L1 cache, a sector, a word of a bank."""

BANKS = 32
WIDE_BANKS = BANKS * 4 // WIDE
"""Groups of banks that an access of WIDE bytes uses whole."""
SECTOR_WORDS = 8

LINES_AT_ONCE = 4
"""Lines of the L1 cache that one wavefront reads or writes, of different banks. Source: requests
with 3, 5, 9 and 33 lines on an H200; `l1_lines` of grader/gpu/sweep.py measures the last."""

MOST_TRACED = 1 << 16
"""The accesses that are recorded to know which threads or blocks came to a place."""
_STEPS_TRACED = 16 * MOST_TRACED
"""The warp instructions of a block by then: an endless loop need not reach its limit again."""

_WHERE = ("at", "bytes", "block", "thread", "phase", "space", "buffer")
_WORD_BYTES, _NOBODY = 4, 1 << 62

ATOMIC_UNIT = 8
"""Binary logarithm of the bytes in a row whose atomics one unit of the L2 cache executes. Source:
atomics on two words on an H200 take turns up to 128 bytes apart, and from 256 bytes on do not; the
point `atomic_global_bins` of grader/gpu/sweep.py has four such rows."""


KEY_BITS = 63
"""Bits of a number that sorts as an integer of 64 bits and is not negative."""


class Record:
    """What the recorded accesses of one block show, by program counter.

    Attributes:
        complete: whether all accesses of the block were recorded.
        wavefronts: wavefronts of the L1 cache that a request to global or local memory takes, on
            average: as many as the words that meet in a bank, at least one for LINES_AT_ONCE lines.
        written: sectors that a request writes to global or local memory, on average: all of their
            bytes, and some. The L1 cache writes both through.
        same: the most lanes of a request with the same address, on average.
        operations: the atomic operations of a request on sectors, on average: lanes with the same
            address take turns, others of a sector go together.
        hottest: the share of these that the row of ATOMIC_UNIT has which has the most.
        loaded_sectors: distinct sectors of global memory that the block loads into the L1 cache.
        sector_share: bytes of distinct sectors over distinct bytes.
        read: the numbers of the buffers that are loaded or updated.
        quads: distinct aligned 16 bytes of a request to shared memory, on average.
        turns: the most of them that have the same four banks, on average.
        remainders: addresses in shared memory modulo 16, where all of them agree.
    """

    def __init__(self, image: Image, raw: Raw) -> None:
        self.quads: dict[int, float] = {}
        self.turns: dict[int, float] = {}
        self.remainders: dict[int, int] = {}
        rows = raw.accesses if raw.accesses is not None else np.zeros(0)
        self.complete = raw.traced <= len(rows)
        self.wavefronts: dict[int, float] = {}
        self.written: dict[int, tuple[float, float]] = {}
        self.operations: dict[int, float] = {}
        self.same: dict[int, float] = {}
        self.hottest: dict[int, float] = {}
        self.loaded_sectors, self.sector_share = 0, 1.0
        self.read: frozenset[int] = frozenset()
        if len(rows):
            self._fill(image, rows)

    def _fill(self, image: Image, rows: NDArray[Any]) -> None:
        heads = [op.split(".")[0] for op in image.ops] + [""]
        group = _requests(rows)
        is_atomic = np.array([head in ("atom", "red") for head in heads])[rows["pc"]]
        place = (rows["space"].astype(np.int64) << 56) | (rows["buffer"].astype(np.int64) << 40)
        address = place | rows["at"].astype(np.int64)
        is_global = rows["space"] == GLOBAL
        outside = (is_global | (rows["space"] == LOCAL)) & ~is_atomic
        for pc in np.unique(rows["pc"]).tolist():
            own = rows["pc"] == pc
            made = int(_numbered(group[own])[-1]) + 1
            if outside[own].any():
                touched = _Touched(rows[own], place[own], group[own])
                self.wavefronts[pc] = float(touched.wavefronts().sum()) / made
                if heads[pc] == "st":
                    whole, some = touched.sectors()
                    self.written[pc] = whole / made, some / made
            if (rows["space"][own] == SHARED).all():
                at = rows["at"][own].astype(np.int64)
                requests, quads = distinct_pairs(group[own], at // WIDE)
                self.quads[pc] = len(quads) / made
                turns = _most_of(_numbered(requests), quads % WIDE_BANKS, WIDE_BANKS)
                self.turns[pc] = float(turns.mean())
                if (at % WIDE == at[0] % WIDE).all():
                    self.remainders[pc] = int(at[0]) % WIDE
            if is_atomic[own].any():
                self._count_atomics(pc, group[own], address[own])
        past = np.array([past_l1(op) for op in image.ops] + [False])[rows["pc"]]
        loads = is_global & np.array([h in ("ld", "ldu", "cp") for h in heads])[rows["pc"]]
        cached = loads & ~past
        self.loaded_sectors = len(np.unique((address >> SECTOR)[cached]))
        words = len(np.unique((address >> WORD)[cached]))
        self.sector_share = SECTOR_WORDS * self.loaded_sectors / words if words else 1.0
        buffers = rows["buffer"]
        self.read = frozenset(np.unique(buffers[loads | (is_global & is_atomic)]).tolist())

    def _count_atomics(self, pc: int, group: NDArray[np.int64], address: NDArray[np.int64]) -> None:
        """Count how the atomics of one instruction meet: in an address, and in a sector."""
        lanes, many = np.unique(np.stack([group, address]), axis=1, return_counts=True)
        requests, most = _most(lanes[:1], many)
        self.same[pc] = float(most.mean())
        sectors, each = _most(np.stack([lanes[0], lanes[1] >> SECTOR]), many)
        self.operations[pc] = float(each.sum()) / len(requests.T)
        units = sectors[1] >> (ATOMIC_UNIT - SECTOR)
        total = np.bincount(np.unique(units, return_inverse=True)[1].ravel(), each)
        self.hottest[pc] = float(total.max() / total.sum())


class _Touched:
    """The words of 4 bytes that the requests of one instruction touch, each once a request.

    A word of local memory is a line, in which each lane has a bank of its own.
    """

    def __init__(
        self, rows: NDArray[Any], place: NDArray[np.int64], group: NDArray[np.int64]
    ) -> None:
        first = rows["at"].astype(np.int64) >> WORD
        last = (rows["at"].astype(np.int64) + rows["bytes"] - 1) >> WORD
        row = np.repeat(np.arange(len(rows)), last - first + 1)
        start = np.concatenate([[0], np.cumsum(last - first + 1)[:-1]])
        word = first[row] + np.arange(len(row)) - start[row]
        lane = rows["thread"][row].astype(np.int64) % WARP_SIZE
        local = rows["space"][row] == LOCAL
        word = place[row] | np.where(local, word * BANKS + lane, word)
        requests, self.word = distinct_pairs(group[row], word)
        self.request = _numbered(requests)
        self.whole = bool((rows["bytes"] >= 1 << WORD).all())

    def wavefronts(self) -> NDArray[np.float64]:
        """Return those of each request."""
        count = int(self.request[-1]) + 1
        banks = _most_of(self.request, self.word % BANKS, BANKS)
        requests, _ = distinct_pairs(self.request, self.word // BANKS)
        at_once = np.ceil(np.bincount(requests, minlength=count) / LINES_AT_ONCE)
        most: NDArray[np.float64] = np.maximum(banks, at_once)
        return most

    def sectors(self) -> tuple[int, int]:
        """Return the sectors of all requests that are touched as a whole, and in part."""
        # The words are sorted, so those of one sector of a request are next to each other.
        sectors = self.word // SECTOR_WORDS
        new = (sectors[1:] != sectors[:-1]) | (self.request[1:] != self.request[:-1])
        words = np.diff(np.flatnonzero(np.concatenate([[True], new, [True]])))
        whole = int((words == SECTOR_WORDS).sum()) if self.whole else 0
        return whole, len(words) - whole


def distinct_pairs(
    first: NDArray[np.int64], second: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct pairs of two arrays, in order; the first ones are not negative.

    Two numbers in one are sorted many times faster than columns (`np.unique` with an axis). Where
    they do not fit in one, the second ones are numbered first.
    """
    low = int(second.min())
    bits = (int(second.max()) - low).bit_length()
    if bits + int(first.max()).bit_length() >= KEY_BITS:
        values, second = np.unique(second, return_inverse=True)
        firsts, numbers = distinct_pairs(first, second.ravel())
        return firsts, values[numbers]
    keys = np.unique((first << bits) | (second - low))
    return keys >> bits, (keys & ((1 << bits) - 1)) + low


def _numbered(sorted_values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the values of a sorted array from 0, equal ones alike."""
    new = sorted_values[1:] != sorted_values[:-1]
    return np.concatenate([[0], np.cumsum(new)]).astype(np.int64)


def past_l1(op: str) -> bool:
    """Whether an instruction loads from the L2 cache, whatever the L1 cache has.

    Source: the PTX manual, "Cache Operators" and "Memory Consistency Model": volatile and strong
    loads see what other multiprocessors write, and their L1 caches are not coherent.
    """
    return PAST_L1.search(op) is not None


def _most_of(request: NDArray[np.int64], bank: NDArray[np.int64], banks: int) -> NDArray[np.int64]:
    """Return, for each request by number, the most rows that it has of one bank."""
    count = int(request[-1]) + 1
    rows = np.bincount(request * banks + bank, minlength=count * banks)
    most: NDArray[np.int64] = rows.reshape(count, banks).max(axis=1)
    return most


def _most(keys: NDArray[np.int64], many: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the distinct columns of `keys`, and the largest of `many` of each."""
    distinct, where = np.unique(keys, axis=1, return_inverse=True)
    most = np.zeros(len(distinct.T))
    np.maximum.at(most, where.ravel(), many)
    return distinct, most


def merged_loads(image: Image, record: Record) -> dict[int, float]:
    """Return the wavefronts of a request, by program counter, of loads that ptxas makes wider.

    Four loads of 4 bytes in a row, aligned to 16 bytes, in one basic block, become one: the first
    has all wavefronts, the others have none. A load of 16 bytes takes two wavefronts or more: as
    many as the different 16 bytes that have the same four banks. Source: Nsight Compute's counts of
    tiled products on an H200, tests/counters/h200.json.
    """
    out: dict[int, float] = {}
    for function in image.functions:
        for block in function.blocks:
            rows: dict[str, dict[int, int]] = defaultdict(dict)
            for pc in sorted({insn.pc for insn in block.insns}):
                op, operands = image.ops[pc], image.instructions[pc].operands
                place = _PLACE.fullmatch(operands[1]) if len(operands) > 1 else None
                if _NARROW.fullmatch(op) and place and pc in record.remainders:
                    rows[place[1]][int(place[2] or 0)] = pc
                elif op.startswith("ld.shared.v4") and record.quads.get(pc, WARP_SIZE) < WARP_SIZE:
                    out[pc] = max(2.0, record.turns[pc])
            for places in rows.values():
                out |= _merged(places, record)
    return out


def _merged(places: Mapping[int, int], record: Record) -> Iterator[tuple[int, float]]:
    for offset, pc in places.items():
        four = [places.get(offset + 4 * k) for k in range(4)]
        if record.remainders[pc] == 0 and None not in four:
            yield pc, max(2.0, record.turns[pc])
            yield from ((other, 0.0) for other in four[1:] if other is not None)


def _requests(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Number the requests: rows of one instruction and one warp, with growing threads."""
    pc, thread = rows["pc"].astype(np.int64), rows["thread"].astype(np.int64)
    new = (pc[1:] != pc[:-1]) | (thread[1:] <= thread[:-1])
    new |= thread[1:] // WARP_SIZE != thread[:-1] // WARP_SIZE
    return np.concatenate([[0], np.cumsum(new)]).astype(np.int64)


def arrivals_of(
    machine: Machine, code: KernelCode, launch: Launch, limits: Limits
) -> dict[int, Arrivals]:
    """By line with an atomic, which blocks came there, where they did not equally often.

    Args:
        machine: the kernel.
        code: what is read of its code.
        launch: the launch.
        limits: what one more run may take.
    """
    limits = replace(limits, trace=MOST_TRACED, only_strong=True, proof=False)
    seen = machine.run(launch, limits, count=False).accesses
    is_atomic = np.array([op.startswith(("atom", "red")) for op in code.image.ops])
    if seen is None or not seen.size or max(seen["pc"]) >= len(is_atomic):
        return {}
    return arrivals(seen[is_atomic[seen["pc"]]], code.line_of, launch.grid)


class Conflicts:
    """The accesses of one run, which show between which threads places conflict.

    Args:
        machine: the kernel.
        launch: the launch.
        limits: what one more run may take.
    """

    def __init__(self, machine: Machine, launch: Launch, limits: Limits) -> None:
        self.machine, self.launch = machine, launch
        most = min(limits.steps, _STEPS_TRACED)
        self.limits = replace(limits, trace=MOST_TRACED, steps=most, proof=False)

    @cached_property
    def accesses(self) -> NDArray[np.void]:
        """The accesses, as many as are recorded."""
        seen = self.machine.run(self.launch, self.limits, count=False).accesses
        return np.empty(0, c.ACCESS) if seen is None else seen

    def reach(self, r: Report) -> int:
        """The flag of a race between the threads farthest from each other that conflict there.

        Threads conflict that access one word with no barrier between, in the two places of a race.
        Those of two blocks count where a barrier of all blocks may order them.

        Args:
            r: the report of a race between two threads of a block.
        """
        grid = self.launch.cooperative and r.target.space == "global"
        if grid and (r.has(ACROSS_BLOCKS) or self._meet(r, block=False)):
            return ACROSS_BLOCKS
        if not r.has(WITHIN_WARP):
            return 0
        warps = prod(self.launch.block) > WARP_SIZE
        return 0 if warps and self._meet(r, block=True) else WITHIN_WARP

    def exchanged(self, r: Report) -> bool:
        """Whether a warp reads an element of a race's shared variable that another one wrote.

        Not where lanes of a warp synchronize: then warps may use the variable in parts.
        """
        ops = self.machine.image.ops
        if r.target.space != "shared" or any(op.startswith("bar.warp") for op in ops):
            return False
        start, wrote = r.address - r.target.offset, dict[tuple[int, int], int]()
        own = self.accesses[self.accesses["space"] == SHARED]
        own = own[np.argsort(own["phase"], kind="stable")]
        for at, block, thread, pc in own[["at", "block", "thread", "pc"]].tolist():
            if not start <= at < start + r.target.size:
                continue
            element, warp = (block, at // _WORD_BYTES), thread // WARP_SIZE
            if not ops[pc].startswith("ld"):
                wrote[element] = warp
            elif wrote.get(element, warp) != warp:
                return True
        return False

    def _meet(self, r: Report, *, block: bool) -> bool:
        """Whether warps of one `block`, or several blocks, access one word in both places."""
        places = [self._words(pc, block=block) for pc in (r.pc, r.pc2)]
        word, *among, who = (np.concatenate(parts) for parts in zip(*places, strict=True))
        number = np.unique(word, return_inverse=True)[1]
        for column in among:  # accesses have one number at last where all of these are equal
            if column.size and column.min() < column.max():
                number = np.unique(number << 32 | column, return_inverse=True)[1]
        count = int(number.max(initial=-1)) + 1
        in_both = np.ones(count, bool)
        for own in np.split(number, [len(places[0][-1])]):
            in_both &= np.bincount(own, minlength=count) > 0
        least, most = np.full(count, _NOBODY), np.full(count, -1)
        np.minimum.at(least, number, who)
        np.maximum.at(most, number, who)
        return bool((in_both & (least < most)).any())

    def _words(self, pc: int, *, block: bool) -> tuple[NDArray[np.int64], ...]:
        """The words of each access, what else is equal where two conflict, and who accesses.

        Equal are the place between two barriers, the array, and the `block`, whose warps access.
        """
        own = self.accesses[self.accesses["pc"] == pc]
        rows = {name: own[name].astype(np.int64) for name in _WHERE}
        first = rows["at"] // _WORD_BYTES
        counts = (rows["at"] + rows["bytes"] - 1) // _WORD_BYTES + 1 - first
        which = np.repeat(np.arange(len(own)), counts)
        word = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        who = rows["thread"] // WARP_SIZE if block else rows["block"]
        among = rows["phase"], rows["space"], rows["buffer"], rows["block"] * block, who
        return word, *(column[which] for column in among)
