"""The sandboxed search for the line at fault: trials of small changes of the kernel's PTX."""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.feedback.ptx_edits import Change, changes, line_at, with_slots
from grader.launch import Array, Dim3, LastStore, Launch
from grader.sandbox.launches import Arrays, unpack_launches
from grader.simulator.core import bindings as c
from grader.simulator.core.bindings import Core, core
from grader.simulator.core.memory import Loaded
from grader.simulator.core.run import Limits, Machine, Raw, flattened
from grader.simulator.decode.instructions import NotSimulated
from grader.simulator.decode.module import Image, decode, plainly
from grader.simulator.decode.operands import OperandError
from grader.simulator.ptx.model import Function, Module, PtxError
from grader.simulator.ptx.names import attributed
from grader.simulator.ptx.parser import parse

# A kernel whose instructions can be exchanged one at a time, without decoding it anew.

Row = tuple[int, tuple[int, ...]]
"""A place among the core's instructions, and what is to stand there."""


@dataclass(frozen=True)
class Patch:
    """A change as the core's arrays have it: instructions, and the blocks whose guard is turned."""

    instructions: Sequence[Row]
    turned: Sequence[int]


class Patched:
    """A kernel for trials, decoded once."""

    def __init__(self, module: Module, kernel: str, core: Core) -> None:
        """Raises NotSimulated and PtxError as decoding does."""
        held = attributed(module, kernel)
        functions = {n: with_slots(f) if f.has_body else f for n, f in held.items()}
        module = replace(module, functions=functions)
        self.core = core
        self.image = decode(module, kernel, core.known, passes=False)
        self.machine = Machine(module, self.image)
        self.functions: list[Function] = [functions[f.name] for f in self.image.functions]
        self.number = {f.name: k for k, f in enumerate(self.functions)}
        self.first = [self.image.owner.index(k) for k in range(len(self.functions))]
        self.rows: dict[int, list[int]] = defaultdict(list)
        for at, pc in enumerate(self.machine.arrays.insns["pc"].tolist()):
            self.rows[pc].append(at)
        blocks = self.machine.arrays.blocks
        self.ends = {int(pc): at for at, pc in enumerate(blocks["pc"]) if blocks["guard"][at]}

    def counters(self, change: Change) -> Iterator[int]:
        """The program counters of what a change is about."""
        return (self.first[self.number[change.function]] + at for at, _ in change.edits)

    def patch(self, change: Change) -> Patch | None:
        """A change as the arrays have it; None for one that no instruction can make."""
        operands = self.image.functions[self.number[change.function]].operands
        rows: list[Row] = []
        turned = []
        for pc, (_, i) in zip(self.counters(change), change.edits, strict=True):
            if i.op.startswith("bra"):
                turned.append(self.ends.get(pc, -1))
                continue
            try:
                codes = plainly(i, operands, self.core.known, pc)
            except (NotSimulated, OperandError, ValueError, IndexError, KeyError, TypeError):
                return None
            if len(codes) != len(self.rows[pc]):
                return None
            changed = (flattened(code, self.core) for code in codes)
            rows += zip(self.rows[pc], changed, strict=True)
        return None if -1 in turned else Patch(rows, turned)

    def with_patch(self, patch: Patch) -> Machine:
        """The kernel with one change."""
        arrays = self.machine.arrays
        insns, blocks = arrays.insns.copy(), arrays.blocks.copy()
        for at, row in patch.instructions:
            insns[at] = row
        blocks["negate"][list(patch.turned)] ^= 1
        other = copy.copy(self.machine)
        other.arrays = replace(arrays, insns=insns, blocks=blocks)
        return other


# The lines of which a small change alone makes every launch right.
#
# A launch is run again and again, each time with another change. Most changes make it no better, a
# few repair the cheapest wrong launch, and those that repair all the others too, and spoil none,
# are on the line that is at fault: nothing else is told. A kernel with two mistakes has no such
# line. The limits are numbers of trials and of instructions, never seconds, so that every machine
# tells the same.

MOST_LINES = 3
"""So many lines are told at most, as of other origins."""

TRIALS = 1500
STEPS = 30_000_000
"""How many changes are tried, and warp instructions run, in all."""

CANDIDATES = 50_000
"""So many changes of a kernel are thought of."""

CASE_STEPS = 3_000_000
"""A launch that takes more in one block is left out."""

MOST_STORES = 1 << 19
"""Stores of one launch that are written down; of one that makes more nobody is told."""

GROWTH, ROOM = 2, 200_000
"""How many times the steps of the wrong launch a trial may take, and how many more."""

CHUNK = 32
"""So many changes are tried before the limits are looked at."""


@dataclass(frozen=True)
class Due:
    """A launch and what it has to leave behind: by argument, the values and the allowed errors."""

    launch: Launch
    right: Mapping[int, tuple[NDArray[np.float64], NDArray[np.float64]]]


@dataclass(frozen=True)
class Ran:
    """What the kernel as it stands made of a launch; `raw` has what it stored."""

    due: Due
    raw: Raw
    good: bool

    @property
    def room(self) -> int:
        """The warp instructions that a block may take in a trial."""
        return GROWTH * self.raw.steps + ROOM


def wrong(raw: Raw, due: Due) -> dict[int, NDArray[np.bool_]]:
    """By argument, which elements are not within their bound, or were never written."""
    found = {}
    for b in raw.buffers:
        if b.argument is None or b.argument not in due.right:
            continue
        array = due.launch.args[b.argument]
        assert isinstance(array, Array)
        value, bound = (part.reshape(-1) for part in due.right[b.argument])
        got = b.data.view(array.dtype).astype(np.float64)
        with np.errstate(all="ignore"):
            fine = (np.abs(got - value) <= bound) | (got == value)
        if not b.initialised and got.size:
            blank = b.unwritten(raw.global_shift).reshape(got.size, -1)
            fine &= ~blank.any(axis=1)
        found[b.argument] = ~fine
    return found


def is_right(raw: Raw, due: Due) -> bool:
    """Whether a launch ended without an error and left the right values behind."""
    if not raw.ended or any(int(kind) != c.EARLY_EXIT for kind in raw.reports["kind"]):
        return False
    return not any(elements.any() for elements in wrong(raw, due).values())


class Search:
    """One kernel with its launches, those that it gets wrong first, the cheapest first of all."""

    def __init__(self, patched: Patched, dues: Sequence[Due], threads: int) -> None:
        self.patched, self.threads = patched, threads
        ran = (self.plain(due) for due in dues)
        self.given = [r for r in ran if r is not None]
        self.ran = sorted(self.given, key=lambda r: (r.good, r.raw.steps))

    def plain(self, due: Due) -> Ran | None:
        """The launch without a change; None when it takes too long."""
        limits = Limits(CASE_STEPS, trace=MOST_STORES, stores=True)
        raw = self.patched.machine.run(due.launch, limits, False)
        too_long = any(int(kind) in (c.TIMEOUT, c.LIMIT) for kind in raw.reports["kind"])
        if too_long or raw.accesses is None:
            return None
        kept = raw.accesses.copy()  # of much more room
        return Ran(due, replace(raw, accesses=kept), is_right(raw, due))

    def lines(self) -> tuple[int, ...]:
        """The lines of the changes that make every launch right, those with most such changes
        first; none when the kernel is right as it stands.
        """
        if not self.ran or self.ran[0].good:
            return ()
        wanted = sorted(self.wanted(), key=lambda change: change.rank)
        found: Counter[int] = Counter()
        spent = rank = 0
        for start in range(0, min(len(wanted), TRIALS), CHUNK):
            chunk = wanted[start : start + CHUNK]
            if spent > STEPS or (found and chunk[0].rank > rank):
                break
            for change, (repairs, steps) in zip(chunk, self.tried(chunk), strict=True):
                spent += steps
                if repairs:
                    found[change.line] += 1
                    rank = change.rank
        return tuple(line for line, _ in found.most_common(MOST_LINES))

    def wanted(self) -> list[Change]:
        """The changes of instructions that the cheapest wrong launch came to."""
        arrays, reached = self.patched.machine.arrays, set()
        for number in np.flatnonzero(self.ran[0].raw.visits[: len(arrays.blocks)]):
            block = arrays.blocks[number]
            reached.update(arrays.insns["pc"][block["first"] : block["end"]].tolist())
            reached.add(int(block["pc"]))
        made = (change for f in self.patched.functions for change in changes(f))
        every = islice(made, CANDIDATES)
        return [x for x in every if not reached.isdisjoint(self.patched.counters(x))]

    def tried(self, chunk: Sequence[Change]) -> list[tuple[bool, int]]:
        """For each change whether it makes every launch right, and the steps that it took."""
        patches = [self.patched.patch(change) for change in chunk]
        load = cache(self.loaded)  # anew after each chunk's patches, which may bring constants
        if self.threads == 1:
            return [self.trial(patch, load) for patch in patches]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(lambda patch: self.trial(patch, load), patches))

    def loaded(self, number: int) -> Loaded:
        """The memory of one of the launches."""
        return self.patched.machine.loader.load(self.ran[number].due.launch)

    def trial(self, patch: Patch | None, load: Callable[[int], Loaded]) -> tuple[bool, int]:
        if patch is None:
            return False, 0
        machine, spent = self.patched.with_patch(patch), 0
        for number, ran in enumerate(self.ran):
            limits = Limits(ran.room, first=True)
            raw = machine.run(ran.due.launch, limits, False, load(number))
            spent += raw.steps
            if not is_right(raw, ran.due):
                return False, spent
        return True, spent


# Who stored a wrong element last: the line, the thread and its block.


def first_stores(image: Image, ran: Ran) -> dict[int, LastStore]:
    """By argument, what last stored its first wrong element; nothing for one never written."""
    due, raw, rows = ran.due, ran.raw, ran.raw.accesses
    if rows is None or raw.traced > MOST_STORES:
        return {}
    found = {}
    missed = {index: elements for index, elements in wrong(raw, due).items() if elements.any()}
    for number, b in enumerate(raw.buffers):
        if b.argument is None or b.argument not in missed:
            continue
        array = due.launch.args[b.argument]
        assert isinstance(array, Array)
        first, size = int(np.argmax(missed[b.argument])), np.dtype(array.dtype).itemsize
        at = rows["at"].astype(np.int64)
        inside = (at < (first + 1) * size) & (at + rows["bytes"] > first * size)
        hits = np.flatnonzero(inside & (rows["buffer"] == number))
        if hits.size:
            last = rows[hits[-1]]
            line = line_at(image.locations[int(last["pc"])])
            block = _unravel(int(last["block"]), due.launch.grid)
            thread = _unravel(int(last["thread"]), due.launch.block)
            found[b.argument] = LastStore(first, line, block, thread)
    return found


def _unravel(number: int, dims: Dim3) -> Dim3:
    return number % dims[0], number // dims[0] % dims[1], number // dims[0] // dims[1]


STORES = 6
"""Of so many wrong launches it is told who stored the first wrong element, in their order."""


def run(request: Any, arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, Any], Arrays]:
    """The lines at fault, and by launch and argument who stored the first wrong element."""
    dues = []
    for k, launch in enumerate(unpack_launches(request["launches"], arrays)):
        indices = request["right"][k]
        due = {i: (arrays[f"{k}.value.{i}"], arrays[f"{k}.bound.{i}"]) for i in indices}
        dues.append(Due(launch, due))
    try:
        patched = Patched(parse(request["ptx"]), request["kernel"], core())
        search = Search(patched, dues, request["threads"])
        lines = search.lines()
        wrong = [ran for ran in search.given if not ran.good][:STORES]
        stored = [
            [ran.due.launch.name, index, asdict(who)]
            for ran in wrong
            for index, who in first_stores(patched.image, ran).items()
        ]
    except (NotSimulated, PtxError):  # told by the run that every case had before
        return {"lines": [], "stored": []}, {}
    return {"lines": list(lines), "stored": stored}, {}
