"""What the recorded accesses of one block show: lines, sectors, and addresses that meet.

A record has one row for each lane's access. Rows of one instruction and one warp, in the order of
their threads, are a request.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.launch import WARP_SIZE
from grader.simulator.core.run import Raw
from grader.simulator.decode.memory import GLOBAL, LOCAL, SHARED
from grader.simulator.decode.module import Image

WIDE = 16
"""Bytes of the widest load of a thread."""

_NARROW = re.compile(r"ld\.shared\.[fusb]32")
_PLACE = re.compile(r"\[([%$\w]+)(?:\+(-?\d+))?\]")

LINE, SECTOR, WORD = 7, 5, 2
"""Binary logarithms of bytes: a line of the L1 cache, a sector, a word of local memory."""


class Record:
    """What the recorded accesses of one block show, by program counter.

    Attributes:
        complete: whether all accesses of the block were recorded.
        lines: lines that a request to global or local memory touches, on average.
        same: the most lanes of a request with the same address, on average.
        operations: the atomic operations of a request on sectors, on average: lanes with the same
            address take turns, others of a sector go together.
        hottest: the share of these that the sector has which has the most.
        loaded_sectors: distinct sectors of global memory that the block loads.
        sector_share: bytes of distinct sectors over distinct bytes.
        read: the numbers of the buffers that are loaded or updated.
        quads: distinct aligned 16 bytes of a request to shared memory, on average.
        remainders: addresses in shared memory modulo 16, where all of them agree.
    """

    def __init__(self, image: Image, raw: Raw) -> None:
        self.quads: dict[int, float] = {}
        self.remainders: dict[int, int] = {}
        rows = raw.accesses if raw.accesses is not None else np.zeros(0)
        self.complete = raw.traced <= len(rows)
        self.lines: dict[int, float] = {}
        self.operations: dict[int, float] = {}
        self.same: dict[int, float] = {}
        self.hottest: dict[int, float] = {}
        self.loaded_sectors, self.sector_share = 0, 1.0
        self.read: frozenset[int] = frozenset()
        if len(rows):
            self._fill(image, rows)

    def _fill(self, image: Image, rows: NDArray[Any]) -> None:
        heads = np.array([op.split(".")[0] for op in image.ops] + [""])[rows["pc"]]
        group = _requests(rows)
        is_atomic = np.isin(heads, ("atom", "red"))
        place = (rows["space"].astype(np.int64) << 56) | (rows["buffer"].astype(np.int64) << 40)
        address = place | rows["at"].astype(np.int64)
        is_global = rows["space"] == GLOBAL
        shift = np.where(rows["space"] == LOCAL, WORD, LINE)
        outside = (is_global | (rows["space"] == LOCAL)) & ~is_atomic
        for pc in np.unique(rows["pc"]).tolist():
            own = rows["pc"] == pc
            made = len(np.unique(group[own]))
            if outside[own].any():
                line = place[own] | (rows["at"][own].astype(np.int64) >> shift[own])
                self.lines[pc] = len(np.unique(np.stack([group[own], line]), axis=1).T) / made
            if (rows["space"][own] == SHARED).all():
                at = rows["at"][own].astype(np.int64)
                pairs = np.unique(np.stack([group[own], at // WIDE]), axis=1)
                self.quads[pc] = len(pairs.T) / made
                if (at % WIDE == at[0] % WIDE).all():
                    self.remainders[pc] = int(at[0]) % WIDE
            if is_atomic[own].any():
                self._count_atomics(pc, group[own], address[own])
        loads = is_global & np.isin(heads, ("ld", "ldu", "cp"))
        self.loaded_sectors = len(np.unique((address >> SECTOR)[loads]))
        words = len(np.unique((address >> WORD)[loads]))
        self.sector_share = 8 * self.loaded_sectors / words if words else 1.0
        buffers = rows["buffer"]
        self.read = frozenset(np.unique(buffers[loads | (is_global & is_atomic)]).tolist())

    def _count_atomics(self, pc: int, group: NDArray[np.int64], address: NDArray[np.int64]) -> None:
        """Count how the atomics of one instruction meet: in an address, and in a sector."""
        lanes, many = np.unique(np.stack([group, address]), axis=1, return_counts=True)
        requests, most = _most(lanes[:1], many)
        self.same[pc] = float(most.mean())
        sectors, each = _most(np.stack([lanes[0], lanes[1] >> SECTOR]), many)
        self.operations[pc] = float(each.sum()) / len(requests.T)
        total = np.bincount(np.unique(sectors[1], return_inverse=True)[1].ravel(), each)
        self.hottest[pc] = float(total.max() / total.sum())


def _most(keys: NDArray[np.int64], many: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the distinct columns of `keys`, and the largest of `many` of each."""
    distinct, where = np.unique(keys, axis=1, return_inverse=True)
    most = np.zeros(len(distinct.T))
    np.maximum.at(most, where.ravel(), many)
    return distinct, most


def merged_loads(image: Image, record: Record) -> dict[int, float]:
    """Return the wavefronts of a request, by program counter, of loads that ptxas makes wider.

    Four loads of 4 bytes in a row, aligned to 16 bytes, in one basic block, become one: the first
    has all wavefronts, the others have none. A load of 16 bytes takes two wavefronts or more, one
    for each 128 bytes that differ. Source: Nsight Compute's counts of tiled products on an H200,
    tests/counters/h200.json.
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
                    out[pc] = max(2.0, record.quads[pc] * WIDE / 128)
            for places in rows.values():
                out |= _merged(places, record)
    return out


def _merged(places: Mapping[int, int], record: Record) -> Iterator[tuple[int, float]]:
    for offset, pc in places.items():
        four = [places.get(offset + 4 * k) for k in range(4)]
        if record.remainders[pc] == 0 and None not in four:
            yield pc, max(2.0, record.quads[pc] * WIDE / 128)
            yield from ((other, 0.0) for other in four[1:] if other is not None)


def _requests(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Number the requests: rows of one instruction and one warp, with growing threads."""
    pc, thread = rows["pc"].astype(np.int64), rows["thread"].astype(np.int64)
    new = (pc[1:] != pc[:-1]) | (thread[1:] <= thread[:-1])
    new |= thread[1:] // WARP_SIZE != thread[:-1] // WARP_SIZE
    return np.concatenate([[0], np.cumsum(new)]).astype(np.int64)
