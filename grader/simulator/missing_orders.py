"""Find which waits lack an acquire and which signals a release, by trying them.

A race of threads that signal each other does not show which side is wrong. Runs in which strong
loads acquire, or strong stores release, do: where such a run has the race no more, nor one in which
all warps run abreast, that is what is missing, and no hint says what was not tried. Tried before
are fences of the device for those of a block, one by one, and atomics for plain accesses to what
threads wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

from grader import replace
from grader.launch import Launch
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.memory import SCOPE_CTA, is_strong, scope_of
from grader.simulator.diagnose.locks import plain_signals, publishes
from grader.simulator.diagnose.race_messages import Missing, Pair
from grader.simulator.diagnose.races import (
    BLOCK_SCOPE,
    IN_FLIGHT,
    MIXED_SIZE,
    NO_PROXY_FENCE,
    SAME_INSTRUCTION,
    STALE_CACHE,
    UNWAITED,
    WITHIN_WARP,
)
from grader.simulator.edited_code import (
    access_rows,
    most_trials,
    ordering,
    race_lines,
    strong,
    with_fences,
    with_ops,
)
from grader.simulator.schedules import ABREAST, different_outputs
from grader.simulator.wait_trials import EarlySignals

if TYPE_CHECKING:
    from grader.simulator.diagnose.kernel_code import KernelCode

MOST_STEPS = 1 << 19
"""The warp instructions of a run that is repeated."""
MOST_LINES = 6
"""Of the waits, and of the signals, the lines that are tried alone."""

_HEADS = ("ld", "st", "atom", "red", "fence", "membar")
_OTHER = BLOCK_SCOPE | IN_FLIGHT | MIXED_SIZE | NO_PROXY_FENCE | SAME_INSTRUCTION | STALE_CACHE

Run = Callable[[Machine, int], Raw]


class OrderTrials:
    """Runs of one kernel in which some of its waits acquire, and some of its signals release.

    Args:
        machine: the kernel.
        code: what is read of its code.
        run: runs a machine in the order of the races, or in another one.
        launch: the launch; atomics hide that a cooperative one lacks a barrier of the grid.
    """

    def __init__(self, machine: Machine, code: KernelCode, run: Run, launch: Launch) -> None:
        self.machine, self.code, self.run, self.launch = machine, code, run, launch
        self.flow, self.lines = code.flow, code.line_of
        self.pairs = set[Pair]()

    def missing(self, raw: Raw) -> dict[Pair, Missing]:
        """What is missing, by race of a run."""
        pairs = self.pairs = _races(raw)
        if not pairs or raw.steps > MOST_STEPS:
            return {}
        if found := self._narrow(raw) or self._narrow_fences(pairs):
            return found
        signals = EarlySignals(self.machine, self.code, *self.waits_and_signals(pairs), self.run)
        early = signals.missing(pairs)
        found = {**self._fences(pairs - early.keys(), _within_warps(raw)), **early}
        return (self._plain(raw) if found.keys() < pairs else {}) or found

    def _fences(self, pairs: set[Pair], within: set[Pair]) -> dict[Pair, Missing]:
        """The races that end where waits acquire, or signals release.

        Args:
            pairs: the races.
            within: those within a warp, whose lanes need no more than a barrier if none waits.
        """
        waits, signals = self.waits_and_signals(pairs)
        deciding = [pc for pc in waits if self._decides(pc)]
        found = self._unordered(pairs, deciding, signals)
        kept = [] if found else [*filter(self._is_kept, waits)]
        if found or kept == deciding:
            return found
        return self._unordered(pairs - within, kept, signals)

    def _narrow(self, raw: Raw) -> dict[Pair, Missing]:
        """The races that end where accesses and fences of a block's scope have the device's."""
        scoped = _races(raw, BLOCK_SCOPE)
        if not scoped:
            return {}
        wide = self.run(self._widened(self._strong(*_HEADS)), 0)
        left = {frozenset(pair) for pair in _races(wide)} if wide.ended else set()
        ops = self.machine.image.ops
        own = (pc for pair in scoped for pc in pair if scope_of(ops[pc].split(".")))
        line = min((self.lines[pc] for pc in own), default=0)
        known = bool(line and wide.ended)
        ended = (pair for pair in self.pairs if known and frozenset(pair) not in left)
        return {pair: Missing(widens=(line,)) for pair in ended}

    def _narrow_fences(self, pairs: set[Pair]) -> dict[Pair, Missing]:
        """The races that end where fences of the block are of the device: one, or all of them."""
        ops = self.machine.image.ops
        fences = [pc for pc in self._strong("fence", "membar") if scope_of(ops[pc].split("."))]
        lines = sorted({self.lines[pc] for pc in fences})
        tried: list[tuple[int, ...]] = [(line,) for line in lines[:MOST_LINES]]
        tried += [tuple(lines)] if 1 < len(lines) <= MOST_LINES else []
        out: dict[Pair, Missing] = {}
        for own in tried:
            if pairs <= out.keys():
                break
            machine = self._widened([pc for pc in fences if self.lines[pc] in own])
            remain = self._remaining(machine)
            ended = (p for p in pairs - out.keys() if frozenset(p) not in remain)
            out |= {pair: Missing(widens=own, fences=True) for pair in ended}
        return out

    def _widened(self, pcs: Iterable[int]) -> Machine:
        """The machine with the device's scope at some accesses and fences."""
        insns = self.machine.arrays.insns.copy()
        rows = [row for pc in pcs for row in self._rows[pc]]
        insns["flag"][rows] &= 0xFF ^ SCOPE_CTA
        return copy(self.machine.with_code(insns, self.machine.arrays.blocks))

    def _remaining(self, machine: Machine, *, strong: bool = False) -> set[frozenset[int]]:
        """The races of a machine in this order or where warps run abreast.

        All of them where a run does not end: that shows nothing.

        Args:
            machine: the machine.
            strong: whether those of two strong accesses do not count.
        """
        remain = set[frozenset[int]]()
        for order in (0, ABREAST):
            raw = self.run(machine, order)
            if not raw.ended:
                return set(map(frozenset, self.pairs))
            kept = (raw.reports["flags"] & UNWAITED == 0) | (not strong)
            remain |= set(map(frozenset, _races(replace(raw, reports=raw.reports[kept]))))
            if order == 0 and remain.issuperset(map(frozenset, self.pairs)):
                break
        return remain

    def _plain(self, raw: Raw) -> dict[Pair, Missing]:
        """The races that end where plain accesses to what threads wait for are atomic."""
        signals = plain_signals(self.flow, self.code.order, self.pairs)
        most = most_trials(self.machine.image, MOST_LINES)
        found = (self._with_atomics(own, raw) for own in signals[:most])
        return next((out for out in found if out), {})

    def _with_atomics(self, own: frozenset[int], raw: Raw) -> dict[Pair, Missing]:
        """The races that end where some plain accesses are atomic; fences may be missing, too."""
        ops, reported = self.machine.image.ops, [*raw.reports["kind"], c.OLD_VALUE]
        changed = with_ops(self.machine, {pc: strong(ops[pc]) for pc in own})
        if changed is None:
            return {}
        after = self.run(changed, 0)
        beside = self.run(changed, ABREAST) if self.launch.cooperative else after
        left, kinds = _races(after), set(map(int, after.reports["kind"]))
        fails = not (after.ended and beside.ended and kinds.issubset(map(int, reported)))
        if fails or any(own & {*p} for p in left) or different_outputs(after, beside, self.launch):
            return {}
        reads, writes = (
            min((self.lines[pc] for pc in own if ops[pc].startswith(head)), default=0)
            for head in ("ld", "st")
        )
        plain = Missing(reads=reads, writes=writes)
        remain = self._remaining(changed, strong=True)
        out = {pair: plain for pair in self.pairs if frozenset(pair) not in remain}
        more = OrderTrials(changed, self.code, self.run, self.launch)
        found = more.missing(after) if left else {}
        for pair, one in found.items():
            both = one if one.reads or one.writes else replace(one, reads=reads, writes=writes)
            out |= {p: both for p in self.pairs if {*p} == {*pair}}
        return out if any(own & {*pair} for pair in out) else {}

    def _unordered(
        self, pairs: set[Pair], waits: Sequence[int], signals: Sequence[int]
    ) -> dict[Pair, Missing]:
        """The races that end where waits acquire, or signals release."""
        if not waits or not signals:
            return {}
        left = pairs - self._left(waits, signals)
        if not left:
            return {}
        by_waits = left - self._left(waits, ())
        by_signals = left - self._left((), signals)
        both, swaps = by_waits & by_signals, any(map(self._publishes, signals))
        sides = (by_waits - both, by_signals) if swaps else (by_waits, by_signals - both)
        out = self._confirmed(left, *sides, waits, signals)
        if more := both - out.keys():
            sides = (more, set[Pair]()) if swaps else (set[Pair](), more)
            out |= self._confirmed(more, *sides, waits, signals)
        found = self._by_a_fence(by_signals - out.keys(), signals, acquire=False)
        return out | found | self._by_a_fence(by_waits - {*out, *found}, waits, acquire=True)

    def _by_a_fence(
        self, pairs: set[Pair], tried: Sequence[int], *, acquire: bool
    ) -> dict[Pair, Missing]:
        """The races that end by one fence, which orders all waits before it, or signals behind it.

        Args:
            pairs: the races, none of which ends by the order of one line's waits or signals.
            tried: the waits that it may follow, or the signals that it may precede.
            acquire: whether it follows waits.
        """
        out: dict[Pair, Missing] = {}
        for line in self._nearest(pairs, tried, acquire=acquire):
            left = self._left_with_fences([pc + acquire for pc in self._at(line, tried)])
            one = Missing(line * acquire, line * (not acquire), fences=True)
            known = {p: frozenset(self.lines[pc] for pc in p) for p in pairs - out.keys()}
            out |= {p: one for p, own in known.items() if left is not None and own not in left}
        return out

    def _confirmed(
        self,
        pairs: set[Pair],
        by_waits: set[Pair],
        by_signals: set[Pair],
        waits: Sequence[int],
        signals: Sequence[int],
    ) -> dict[Pair, Missing]:
        """The races that end by one line of the waits, one of the signals, or one of each.

        Args:
            pairs: the races that end by all waits and signals.
            by_waits: those that end by all waits alone.
            by_signals: those that are to end by signals alone.
            waits: the waits.
            signals: the signals.
        """
        both = pairs - by_waits - by_signals
        acquiring = self._lines_that(both, waits, signals, acquire=True)
        acquiring |= self._lines_that(by_waits, waits, (), acquire=True)
        releasing = self._lines_that(both, signals, waits, acquire=False)
        releasing |= self._lines_that(by_signals, signals, (), acquire=False)
        found = {
            pair: Missing(acquiring.get(pair, 0), releasing.get(pair, 0))
            for pair in pairs
            if (pair in by_signals or pair in acquiring) and (pair in by_waits or pair in releasing)
        }
        remain = {one: self._remain(one, waits, signals) for one in set(found.values())}
        found = {p: one for p, one in found.items() if frozenset(p) not in remain[one]}
        return self._by_one_fence(found, waits, signals)

    def _by_one_fence(
        self, found: dict[Pair, Missing], waits: Sequence[int], signals: Sequence[int]
    ) -> dict[Pair, Missing]:
        """What is missing where a fence at one of two lines is enough: it orders more than both."""
        out, lines = dict(found), self.lines
        for both in {one for one in found.values() if one.acquires and one.releases}:
            own = {pair for pair, one in found.items() if one == both}
            known = {frozenset(lines[pc] for pc in pair) for pair in own}
            alone = replace(both, fences=True)
            for one in (replace(alone, releases=0), replace(alone, acquires=0)):
                places = [pc + 1 for pc in self._at(one.acquires, waits)]
                left = self._left_with_fences([*places, *self._at(one.releases, signals)])
                if left is not None and left.isdisjoint(known):
                    out |= dict.fromkeys(own, one)
                    break
        return out

    def _left_with_fences(self, places: Sequence[int]) -> set[frozenset[int]] | None:
        """The lines of the races with fences before some instructions; None where that fails."""
        machine = with_fences(self.machine, places)
        return None if machine is None else race_lines(machine, self.run)

    def waits_and_signals(self, pairs: Iterable[Pair]) -> tuple[list[int], list[int]]:
        """The strong reads, and the strong writes, that are in no race."""
        accesses = {pc for pair in pairs for pc in pair}
        waits = [pc for pc in self._strong("ld", "atom") if pc not in accesses]
        signals = [pc for pc in self._strong("st", "atom", "red") if pc not in accesses]
        return waits, signals

    def _remain(
        self, one: Missing, waits: Sequence[int], signals: Sequence[int]
    ) -> set[frozenset[int]]:
        """The races that remain with what is missing, in this order or where warps run abreast.

        What some threads have done early in one order may order others by chance.
        """
        chosen = self._at(one.acquires, waits), self._at(one.releases, signals)
        return self._remaining(ordering(self.machine, self._rows, *chosen))

    def _at(self, line: int, pcs: Sequence[int]) -> list[int]:
        return [pc for pc in pcs if self.lines[pc] == line]

    def _lines_that(
        self, pairs: Collection[Pair], tried: Sequence[int], others: Sequence[int], *, acquire: bool
    ) -> dict[Pair, int]:
        """For each of some races the line nearest to it that orders it.

        Args:
            pairs: the races.
            tried: the waits, or the signals.
            others: those of the others of the two which release or acquire, too.
            acquire: whether waits are tried.
        """
        out: dict[Pair, int] = {}
        for line in self._nearest(pairs, tried, acquire=acquire):
            own = self._at(line, tried)
            chosen = (own, others) if acquire else (others, own)
            left = self._remaining(ordering(self.machine, self._rows, *chosen))
            out |= {p: line for p in pairs if p not in out and frozenset(p) not in left}
        return out

    def _nearest(
        self, pairs: Collection[Pair], tried: Sequence[int], *, acquire: bool
    ) -> list[int]:
        """The lines of the waits, or signals, that are nearest to some races."""
        near = {pair[0 if acquire else 1] for pair in pairs}
        found = sorted(
            (*self._distance(pc, near, acquire=acquire), self.lines[pc]) for pc in tried if near
        )
        return [*dict.fromkeys(line for *_, line in found)][:MOST_LINES]

    def _distance(self, pc: int, near: Iterable[int], *, acquire: bool) -> tuple[int, bool, int]:
        """How far a wait or signal is from accesses; what publishes by a swap is before others."""
        calls, lines = min(self.code.calls.distance(pc, access) for access in near)
        return calls, acquire or not self._publishes(pc), lines

    def _publishes(self, pc: int) -> bool:
        """Whether the line of an instruction swaps a value in."""
        line = self.code.lines[self.lines[pc] - 1 : self.lines[pc]]
        return any(map(publishes, line))

    def _left(self, waits: Iterable[int], signals: Iterable[int]) -> set[Pair]:
        """The races of a run in which some waits acquire, and some signals release.

        All of them where it does not end: that shows nothing.
        """
        raw = self.run(ordering(self.machine, self._rows, waits, signals), 0)
        return _races(raw) if raw.ended else self.pairs

    def _decides(self, pc: int) -> bool:
        """Whether a branch depends on what an instruction reads.

        Libraries hand it on through local memory, where it is not followed.
        """
        if self.machine.image.instructions[pc].via:
            return True
        return bool(self.flow.decided_by(pc))

    def _is_kept(self, pc: int) -> bool:
        """Whether what an instruction reads goes to memory, where it is not followed.

        That may be a member of an object, or the result of a function.
        """
        owner, own = self.machine.image.owner[pc], set(targets(self.machine.image.instructions[pc]))
        return any(
            self.machine.image.owner[at] == owner
            and i.op.startswith("st.")
            and not own.isdisjoint(i.operands[1:])
            for at, i in enumerate(self.machine.image.instructions)
        )

    def _strong(self, *heads: str) -> list[int]:
        """The strong accesses of some kinds, those of shared or global memory."""
        found = []
        for pc in self._rows:
            op = self.machine.image.ops[pc]
            head, *parts = op.split(".")
            fence = head in ("fence", "membar")
            if head in heads and (fence or is_strong(op)) and "local" not in parts:
                found.append(pc)
        return found

    @cached_property
    def _rows(self) -> dict[int, list[int]]:
        return access_rows(self.machine)


def _races(raw: Raw, flags: int = 0) -> set[Pair]:
    """The races of a run that orders may end, or those with other flags."""
    races = raw.reports[raw.reports["kind"] == c.RACE]
    rows = races[races["flags"] & _OTHER == flags]
    return {(int(r["pc"]), int(r["pc2"])) for r in rows}


def _within_warps(raw: Raw) -> set[Pair]:
    """The races of a run within a warp alone."""
    races = raw.reports[raw.reports["kind"] == c.RACE]
    return _races(replace(raw, reports=races[races["flags"] & WITHIN_WARP != 0]))
