"""Try whether a barrier at a place ends a race: the program runs with it.

The text of a program does not tell whether a barrier is missing between two accesses or before the
next round of a loop, nor whether all threads would reach it. The debug code has the places of the
source, so that a barrier can be put there: no hint names a place that was tried and left the race.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from grader import replace
from grader.launch import WARP_SIZE
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Machine, Raw
from grader.simulator.diagnose.barrier_hints import Meeting
from grader.simulator.diagnose.barriers import breaks_barriers
from grader.simulator.diagnose.kernel_code import source_lines
from grader.simulator.diagnose.locks import ARRIVES, matching, may_be_made_strong
from grader.simulator.diagnose.places import Gap
from grader.simulator.diagnose.race_messages import Missing, Pair
from grader.simulator.diagnose.race_places import Moved
from grader.simulator.diagnose.races import (
    ACROSS_BLOCKS,
    BLOCK_SCOPE,
    IN_FLIGHT,
    STORE,
    WITHIN_WARP,
    Report,
)
from grader.simulator.edited_code import (
    BARRIERS,
    MOST_STEPS,
    WARP_BARRIER,
    changed_machine,
    function_of,
    most_trials,
    place_of_gap,
    places_in_branches,
    race_lines,
    strong,
    with_barrier,
    with_barrier_in,
    with_barriers,
    with_meeting,
    with_ops,
    without,
)
from grader.simulator.outputs import drawn_too_few, jumps_past, return_before_load
from grader.simulator.ptx.call_copies import original_name
from grader.simulator.ptx.model import Function, Instruction, root_lines
from grader.simulator.ptx.source_map import is_copy
from grader.simulator.records import Conflicts

if TYPE_CHECKING:
    from grader.simulator.diagnose.kernel_code import KernelCode

MOST_TRIALS = 10
"""The places that are tried in one run's code."""
MOST_SKIPPED, MOST_DRAWN = 3, 2
"""Of these, the places behind an `if`, and the races for which other numbers of slots are tried."""
MOST_MEETINGS, MOST_LINES = 8, 3
"""The places that are tried for the signals and waits of one run, and those of each for a race."""

Run = Callable[[Machine, int], Raw]
After = tuple[bool, set[frozenset[int]]]
"""Whether all barriers complete in a run of a trial, and the lines of the races that it has."""


class BarrierTrials:
    """Runs of one kernel's debug code with a barrier more.

    Args:
        machine: the kernel.
        plain: the same without copies of functions for their calls.
        code: what is read of its code.
        raw: the run that found the races.
        run: runs a machine in the order of the races, or in another one.
        conflicts: the accesses of one more run.
    """

    def __init__(
        self, machine: Machine, plain: Machine, code: KernelCode, raw: Raw, run: Run,
        conflicts: Conflicts,
    ) -> None:  # fmt: skip
        self.machine, self.plain, self.code, self.run = machine, plain, code, run
        self.left = (
            most_trials(machine.image, MOST_TRIALS) if raw.ended and raw.steps <= MOST_STEPS else 0
        )
        self.known, self.moves = dict[object, After | None](), dict[int, Moved | None]()
        self.skips, self.skipping = dict[int, list[Moved]](), MOST_SKIPPED
        self.outside = dict[tuple[int, int, bool], Moved | None]()
        self.returns, self.atomics = dict[tuple[int, str], int](), dict[Pair, bool]()
        self.overlaps = dict[Pair, tuple[int, int] | None]()
        self.threads = prod(conflicts.launch.block)
        self.stuck, self.raw = breaks_barriers(raw, machine.image, code), raw
        self.reach, self.exchanged = cache(conflicts.reach), cache(conflicts.exchanged)

    def orders(self, gap: Gap, r: Report) -> bool | None:
        """Whether a barrier at the place of a gap ends a race; None where that was not tried.

        Args:
            gap: the gap, of two lines of one function.
            r: the report of the race.
        """
        warp, lines = r.has(WITHIN_WARP), frozenset((r.line, r.line2))
        split = gap.split or (gap.forward and gap.first == gap.then and not any(gap.apart))
        if r.has(ACROSS_BLOCKS) or not (split or gap.in_line or any(gap.apart)):
            return None
        own = gap.kind == "branches" or gap.in_line or split
        place = gap.block, gap.forward, gap.both, gap.apart, gap.within
        key = gap if own else place, warp, split and r.pc
        if key not in self.known:
            tried = self._split(gap, r) if split else self._with_barrier(gap, warp=warp)
            changed = next(tried, None) if self.left else None
            self.known[key] = self._after(changed) if changed else None
        if (known := self.known[key]) is None:
            return None
        ends = known[0] and lines not in known[1]
        return None if self.stuck and not ends else ends

    def moved(self, r: Report) -> Moved | None:
        """Where a barrier that some threads do not reach is for all of them; None if not found.

        Args:
            r: the report of the barrier.
        """
        if r.pc not in self.moves:
            self.moves[r.pc] = next(self._moved(r.pc, r.line), None)
        return self.moves[r.pc]

    def completes(self, r: Report, first: int, last: int) -> bool:
        """Whether all threads reach a barrier where all enter the `if` statement of two lines."""
        found = function_of(self.machine, r.pc) if self.left else None
        own = jumps_past(found[0], first, last) if found else []
        return found is not None and bool(own) and self._after(without(found[0], own))[0]

    def ends_by_atomics(self, r: Report) -> bool:
        """Whether a race ends where all racing accesses to its variable are atomic."""
        if (r.pc, r.pc2) not in self.atomics:
            self.atomics[r.pc, r.pc2] = self._ends_by_atomics(r)
        return self.atomics[r.pc, r.pc2]

    def _ends_by_atomics(self, r: Report) -> bool:
        races = self.raw.reports[self.raw.reports["kind"] == c.RACE]
        own = races[np.isin(races["pc"], (r.pc, r.pc2)) & np.isin(races["pc2"], (r.pc, r.pc2))]
        same = np.isin(races["buffer"], own["buffer"]) & np.isin(races["space"], own["space"])
        pcs = {int(pc) for x in ("pc", "pc2") for pc in races[x][same]}
        ops = {pc: op for pc in pcs if may_be_made_strong(op := self.machine.image.ops[pc])}
        if not self.left or (r.pc not in ops and r.pc2 not in ops):
            return False
        changed = with_ops(self.machine, {pc: strong(op) for pc, op in ops.items()})
        raw = self.run(changed, 0) if changed else self.raw
        pairs = ({x["pc"], x["pc2"]} for x in raw.reports if x["kind"] == c.RACE)
        return raw.ended and {r.pc, r.pc2} not in pairs

    def returned(self, r: Report) -> int:
        """The line of a return but for which what a read finds would be written, or 0."""
        key = r.line, r.target.name
        if key not in self.returns:
            self.returns[key] = (
                return_before_load(self.machine, self.code, r, self.run) if self.left else 0
            )
        return self.returns[key]

    def _moved(
        self, pc: int, line: int, *, warp: bool = False, skips: bool = False
    ) -> Iterator[Moved]:
        """The `if` statements behind which a barrier was tried, with the races that end there.

        Args:
            pc: the barrier.
            line: its line.
            warp: whether it is one of the warp.
            skips: whether it is tried for rounds that leave it out: `skipping` is how often.
        """
        found = function_of(self.machine, pc)
        if found is None or not _meets(found[0].body[found[1]], warp=warp):
            return
        before = self._races(self.raw, self.machine)
        lines = [*root_lines(i.location for i in found[0].body)]
        name = "__syncwarp" if warp else "__syncthreads"
        for first, last in self.code.branches.around(line, name):
            inside = [k for k, at in enumerate(lines) if first <= at <= last]
            may_try = self.left and (self.skipping or not skips)
            if not may_try or not inside or inside[-1] + 1 == len(lines):
                return
            self.skipping -= skips
            changed = _with_barrier_moved(found[0], inside[0], inside[-1] + 1, warp=warp)
            completes, left = self._after(changed)
            if completes and left <= before:
                yield Moved(first, last, frozenset(before - left), line)

    def _after(self, changed: Function) -> After:
        """Whether all barriers complete with another function, and the lines of races in blocks."""
        self.left -= 1
        machine = changed_machine(self.plain, changed)
        raw = self.run(machine, 0)
        completes = raw.ended and not breaks_barriers(raw, machine.image, self.code)
        return completes, self._races(raw, machine)

    def _races(self, raw: Raw, machine: Machine) -> set[frozenset[int]]:
        lines, races = source_lines(machine.image), raw.reports[raw.reports["kind"] == c.RACE]
        pairs = [(int(r["pc"]), int(r["pc2"])) for r in races if not r["flags"] & ACROSS_BLOCKS]
        return {frozenset(lines[pc] for pc in pair) for pair in pairs if max(pair) < len(lines)}

    def _with_barrier(self, gap: Gap, *, warp: bool) -> Iterator[Function]:
        """The function with the place of a gap, with a barrier there, if the place is known."""
        names = (original_name(f.name) for f in self.machine.image.functions)
        for name in dict.fromkeys(names):
            function = self.plain.module.functions.get(name)
            if function is None:
                continue
            if gap.kind == "branches":
                if not warp and (places := places_in_branches(function, gap)):
                    both, end = with_barriers(function, places[:2]), places[2] + 2
                    yield with_barrier(both, end, warp=False) if gap.both else both
            elif (changed := with_barrier_in(function, gap, warp=warp)) is not None:
                yield changed

    def _split(self, gap: Gap, r: Report) -> Iterator[Function]:
        """The function with a barrier between two accesses of one line, and at the round's end."""
        warp, later = r.has(WITHIN_WARP), gap.forward or r.has(STORE)
        found = function_of(self.machine, r.pc if later else r.pc2)
        end = place_of_gap(found[0], gap) if found and not gap.forward else None
        if found and (gap.forward or end is not None):
            whole = found[0] if end is None else with_barrier(found[0], end, warp=warp)
            yield with_barrier(whole, found[1], warp=warp)

    def skipped(self, r: Report) -> Moved | None:
        """Where a barrier is for all rounds that an `if` leaves out in some, if that ends a race.

        Args:
            r: the report of the race.
        """
        key = r.line, r.line2, r.has(WITHIN_WARP)
        if key not in self.outside:
            self.outside[key] = self._outside(*key)
        return self.outside[key]

    def _outside(self, line: int, line2: int, warp: bool) -> Moved | None:
        own = enumerate(() if self.stuck else self.machine.image.instructions)
        barriers = [pc for pc, i in own if _meets(i, warp=warp)]
        lines = frozenset((line, line2))
        for pc in sorted(barriers, key=lambda pc: abs(self.code.line_of[pc] - line)):
            if pc not in self.skips:
                self.skips[pc] = [*self._moved(pc, self.code.line_of[pc], warp=warp, skips=True)]
            if moved := next((x for x in self.skips[pc] if lines in x.ended), None):
                return moved
        return None

    def overlapping(self, r: Report) -> tuple[int, int] | None:
        """The line of an atomicAdd of 1 whose elements overlap, and a number without overlaps."""
        if (r.pc, r.pc2) not in self.overlaps:
            known = self.machine, self.plain, self.code, self.raw, self.run
            may_run = self.left and len(self.overlaps) < MOST_DRAWN
            found = drawn_too_few(*known, r, (2, WARP_SIZE, self.threads)) if may_run else None
            self.overlaps[r.pc, r.pc2] = found
        return self.overlaps[r.pc, r.pc2]


class SignalTrials:
    """Runs of one kernel's debug code in which all threads of a block meet for a signal or wait.

    For a race of two warps of a block, the lanes of each warp meet.

    Args:
        plain: the kernel without copies of functions for their calls.
        code: what is read of its code.
        waits: the program counters of what waits for other blocks.
        signals: those of what signals other blocks.
        run: runs a machine in the order of the races, or in another one.
    """

    def __init__(
        self, plain: Machine, code: KernelCode, waits: Sequence[int], signals: Sequence[int],
        run: Run,
    ) -> None:  # fmt: skip
        self.plain, self.code, self.run = plain, code, run
        self.arrivals = matching(code.image.ops, ARRIVES)
        self.waits, self.signals = waits, [*dict.fromkeys((*signals, *self.arrivals))]
        self.left = dict[tuple[int, ...], set[frozenset[int]] | None]()

    def missing(self, raw: Raw, known: Mapping[Pair, Missing]) -> dict[Pair, Missing]:
        """What is missing, by race between two blocks, or two warps of one.

        Args:
            raw: the run that found the races.
            known: the races for which it is known. One that ends where its plain accesses are
                atomic is tried all the same: these may be data.
        """
        races = raw.reports[raw.reports["kind"] == c.RACE]
        races = races[races["flags"] & (IN_FLIGHT | BLOCK_SCOPE | WITHIN_WARP) == 0]
        across = {(int(r["pc"]), int(r["pc2"])): bool(r["flags"] & ACROSS_BLOCKS) for r in races}
        if not self.arrivals and not any(map(self._decides, self.waits)):
            across = {pair: True for pair, blocks in across.items() if blocks}
        known = {pair: one for pair, one in known.items() if not (one.reads or one.writes)}
        pairs = across.keys() - known.keys()
        if not pairs or raw.steps > MOST_STEPS or breaks_barriers(raw, self.code.image, self.code):
            return {}
        own = {p: dict.fromkeys(self._places(p, warp=not across[p])) for p in sorted(pairs)}
        found = dict.fromkeys(place for places in own.values() for place in places)
        every = sorted(found, key=lambda place: abs(place.line - place.access))
        out: dict[Pair, Missing] = {}
        lines = self.code.line_of
        most = most_trials(self.code.image, MOST_MEETINGS)
        fenced = {replace(place, fence=True): place for place in every[: most // 2]}
        own = {p: own[p] | {x: None for x, y in fenced.items() if y in own[p]} for p in own}
        for place in [*every[:most], *fenced]:
            missing = [pair for pair in pairs - out.keys() if place in own[pair]]
            if not missing or (left := self._left(place)) is None:
                continue
            ended = [pair for pair in missing if frozenset(lines[pc] for pc in pair) not in left]
            out |= dict.fromkeys(ended, Missing(meeting=place))
        return out

    def _decides(self, pc: int) -> bool:
        """Whether what an instruction reads decides anything, or may.

        A library's load leaves what it reads where its caller says, which is not followed.
        """
        own, loaded = self.code.image.owner[pc], self.code.flow.loaded(pc)
        leaves = own > 0 and all(owner == own for owner, _, _ in loaded)
        return leaves or bool(self.code.flow.decided_by(pc))

    def _places(self, pair: Pair, *, warp: bool) -> Iterator[Meeting]:
        """The places where threads may have to meet, those nearest to a race's accesses first.

        The access that came first in the run need not be the one that the program orders first.
        """
        lines = self.code.line_of
        for then, first in (pair, pair[::-1]):
            for pcs, access, signals in ((self.signals, first, True), (self.waits, then, False)):
                near = sorted(pcs, key=lambda pc: abs(lines[pc] - lines[access]))
                for line in [*dict.fromkeys(lines[pc] for pc in near)][:MOST_LINES]:
                    pc = next(pc for pc in near if lines[pc] == line)
                    for statement in self._statements(pc, access):
                        yield Meeting(line, lines[access], *statement, signals, warp)

    def _statements(self, pc: int, access: int) -> Iterator[tuple[int, int]]:
        """The lines of the statements with a signal or wait, or with a call that leads to it.

        In a function that the access is not in, that is a statement of its body; else one of the
        innermost block around both.
        """
        branches, lines = self.code.branches, self.code.line_of
        parting = self.code.calls.parting(pc, access)
        inner, outer = (parting[0].line, parting[1].line) if parting else (lines[pc], 0)
        if inner != lines[pc] and (own := branches.statement(lines[pc], 0)):
            yield own
        if both := branches.statement(inner, outer):
            yield both
        if parting is None and pc in self.arrivals:
            shared = sorted(self.code.calls.meeting_lines(pc, access))
            yield from filter(None, (branches.statement(*pair) for pair in shared))

    def _left(self, place: Meeting) -> set[frozenset[int]] | None:
        """The lines of the races of two orders in which threads meet; None where one breaks off."""
        key = place.first, place.last, place.signals, place.warp, place.fence
        if key not in self.left:
            self.left[key] = self._races_left(place)
        return self.left[key]

    def _races_left(self, place: Meeting) -> set[frozenset[int]] | None:
        names = (original_name(f.name) for f in self.code.image.functions if not is_copy(f.name))
        functions = filter(None, map(self.plain.module.functions.get, names))
        changed = next(filter(None, map(partial(with_meeting, place), functions)), None)
        if changed is None:
            return None
        machine = changed_machine(self.plain, changed)
        return race_lines(
            machine, self.run, lambda raw: not breaks_barriers(raw, machine.image, self.code)
        )


def _with_barrier_moved(function: Function, first: int, place: int, *, warp: bool) -> Function:
    """A function with one barrier before a place for all those from an instruction to there."""
    own = [k for k in range(first, place) if _meets(function.body[k], warp=warp)]
    return with_barrier(without(function, own), place, warp=warp)


def _meets(i: Instruction, *, warp: bool) -> bool:
    """Whether an instruction is a barrier of the block, or one of the warp or the call of it."""
    called = i.op.startswith("call") and any("__syncwarp" in x for x in i.operands)
    return called or i.op.startswith(WARP_BARRIER) if warp else i.op.startswith(BARRIERS)
