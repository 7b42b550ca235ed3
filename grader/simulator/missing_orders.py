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
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from grader.simulator.barrier_trials import EarlySignals
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.memory import (
    ACQUIRE,
    HAS_ACQUIRES,
    HAS_FENCES,
    RELEASE,
    SCOPE_CTA,
    is_strong,
    scope_of,
)
from grader.simulator.diagnose.consequences import is_load
from grader.simulator.diagnose.race_messages import Missing, Pair
from grader.simulator.diagnose.races import (
    BLOCK_SCOPE,
    IN_FLIGHT,
    MIXED_SIZE,
    NO_PROXY_FENCE,
    SAME_INSTRUCTION,
    STALE_CACHE,
    UNWAITED,
)
from grader.simulator.edited_code import most_trials, strong, with_ops
from grader.simulator.schedules import ABREAST

if TYPE_CHECKING:
    from grader.simulator.diagnose.kernel_code import KernelCode

MOST_STEPS = 1 << 19
"""The warp instructions of a run that is repeated."""
MOST_LINES = 4
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
    """

    def __init__(self, machine: Machine, code: KernelCode, run: Run) -> None:
        self.machine, self.code, self.run = machine, code, run
        self.flow, self.lines = code.flow, code.line_of
        self.pairs = set[Pair]()

    def missing(self, raw: Raw) -> dict[Pair, Missing]:
        """What is missing, by race of a run."""
        pairs = self.pairs = _races(raw)
        if not pairs or raw.steps > MOST_STEPS:
            return {}
        found = self._narrow(raw) or self._narrow_fences(pairs) or self._plain(raw)
        if found:
            return found
        signals = EarlySignals(self.machine, self.code, *self.waits_and_signals(pairs), self.run)
        early = signals.missing(pairs)
        return {**self._fences(pairs - early.keys()), **early}

    def _fences(self, pairs: set[Pair]) -> dict[Pair, Missing]:
        """The races that end where waits acquire, or signals release."""
        waits, signals = self.waits_and_signals(pairs)
        deciding = [pc for pc in waits if self._decides(pc)]
        found = self._unordered(pairs, deciding, signals)
        return found or self._unordered(pairs, [*filter(self._is_kept, waits)], signals)

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
        signals = plain_signals(self.machine, self.code, self.pairs)
        found = (
            self._with_atomics(own, raw)
            for own in signals[: most_trials(self.machine.image, MOST_LINES)]
        )
        return next((out for out in found if out), {})

    def _with_atomics(self, own: frozenset[int], raw: Raw) -> dict[Pair, Missing]:
        """The races that end where some plain accesses are atomic; fences may be missing, too."""
        ops, reported = self.machine.image.ops, [*raw.reports["kind"], c.OLD_VALUE]
        changed = with_ops(self.machine, {pc: strong(ops[pc]) for pc in own})
        after = self.run(changed, 0) if changed else raw
        left = _races(after)
        if changed is None or not after.ended or any(own & {*pair} for pair in left):
            return {}
        if not set(map(int, after.reports["kind"])).issubset(map(int, reported)):
            return {}
        reads, writes = (
            min((self.lines[pc] for pc in own if ops[pc].startswith(head)), default=0)
            for head in ("ld", "st")
        )
        plain = Missing(reads=reads, writes=writes)
        remain = self._remaining(changed, strong=True)
        out = {pair: plain for pair in self.pairs if frozenset(pair) not in remain}
        found = OrderTrials(changed, self.code, self.run).missing(after) if left else {}
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
        by_signals = left - self._left((), signals) - by_waits
        acquiring = self._lines_that(left - by_signals, waits, signals, acquire=True)
        releasing = self._lines_that(left - by_waits, signals, waits, acquire=False)
        found = {
            pair: Missing(acquiring.get(pair, 0), releasing.get(pair, 0))
            for pair in left
            if (pair in by_signals or pair in acquiring) and (pair in by_waits or pair in releasing)
        }
        remain = {one: self._remain(one, waits, signals) for one in set(found.values())}
        return {pair: one for pair, one in found.items() if frozenset(pair) not in remain[one]}

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
        return self._remaining(self._ordering(*chosen))

    def _at(self, line: int, pcs: Sequence[int]) -> list[int]:
        return [pc for pc in pcs if self.lines[pc] == line]

    def _lines_that(
        self, pairs: Collection[Pair], tried: Sequence[int], others: Sequence[int], *, acquire: bool
    ) -> dict[Pair, int]:
        """For each of some races the line nearest to it that orders it.

        Args:
            pairs: the races.
            tried: the waits, or the signals.
            others: the others of the two, which all release or acquire.
            acquire: whether waits are tried.
        """
        out: dict[Pair, int] = {}
        near = [self.lines[pair[0 if acquire else 1]] for pair in pairs]
        lines = {self.lines[pc] for pc in tried} if pairs else set()
        for line in sorted(lines, key=lambda n: min(abs(n - x) for x in near))[:MOST_LINES]:
            own = self._at(line, tried)
            left = self._left(own, others) if acquire else self._left(others, own)
            for pair in set(pairs) - left - out.keys():
                out[pair] = line
        return out

    def _left(self, waits: Iterable[int], signals: Iterable[int]) -> set[Pair]:
        """The races of a run in which some waits acquire, and some signals release.

        All of them where it does not end: that shows nothing.
        """
        raw = self.run(self._ordering(waits, signals), 0)
        return _races(raw) if raw.ended else self.pairs

    def _ordering(self, waits: Iterable[int], signals: Iterable[int]) -> Machine:
        insns = self.machine.arrays.insns.copy()
        for flag, chosen in ((ACQUIRE, waits), (RELEASE, signals)):
            rows = [row for pc in chosen for row in self._rows.get(pc, ())]
            insns["flag"][rows] |= flag
        other = copy(self.machine.with_code(insns, self.machine.arrays.blocks))
        terms = c.CLaunch.from_buffer_copy(self.machine.image_terms)
        terms.sync |= HAS_ACQUIRES | HAS_FENCES
        other.__dict__["image_terms"] = terms
        return other

    def _decides(self, pc: int) -> bool:
        """Whether a branch depends on what an instruction reads.

        Libraries hand it on through local memory, where it is not followed.
        """
        if self.machine.image.instructions[pc].via:
            return True
        return bool(self.flow.controlled(self.flow.loaded(pc)))

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
        """By program counter of an access, the rows of its machine instructions."""
        out: dict[int, list[int]] = {}
        blocks = (block for f in self.machine.image.functions for block in f.blocks)
        for row, insn in enumerate(insn for block in blocks for insn in block.insns):
            head = self.machine.image.ops[insn.pc].split(".")[0]
            if head in _HEADS and insn.exec.startswith((head, "atom", "fence")):
                out.setdefault(insn.pc, []).append(row)
        return out


def _races(raw: Raw, flags: int = 0) -> set[Pair]:
    """The races of a run that orders may end, or those with other flags."""
    races = raw.reports[raw.reports["kind"] == c.RACE]
    rows = races[races["flags"] & _OTHER == flags]
    return {(int(r["pc"]), int(r["pc2"])) for r in rows}


def plain_signals(
    machine: Machine, code: KernelCode, pairs: Iterable[Pair]
) -> list[frozenset[int]]:
    """The plain accesses to each variable that threads wait for, or take as a lock.

    Args:
        machine: the kernel.
        code: what is read of its code.
        pairs: the races of a run.
    """
    groups = list[set[int]]()
    for pair in pairs:
        near = [group for group in groups if not group.isdisjoint(pair)]
        groups = [group for group in groups if group not in near] + [set(pair).union(*near)]
    found = (_plain_of(machine, code, group) for group in groups)
    return sorted((own for own in found if own), key=min)


def _plain_of(machine: Machine, code: KernelCode, group: Collection[int]) -> frozenset[int]:
    """The plain accesses of those to one variable; none unless threads wait for it."""
    image, order = machine.image, code.order
    plain = {pc for pc in group if _is_plain(image.ops[pc])}
    stores = {pc for pc in plain if image.ops[pc].startswith("st")}
    values = {pc: code.flow.loaded(pc) for pc in group if is_load(image.instructions[pc])}
    waits = [
        pc
        for pc, own in values.items()
        if order.follows(pc, pc) and code.flow.values.blocks.get(pc) in code.flow.controlled(own)
    ]
    spins = [pc for pc in waits if pc in plain]
    swaps = [pc for pc in group if {"cas", "exch"} & {*image.ops[pc].split(".")}]
    known = spins or (stores and (waits or swaps))
    if not known and not (stores and _is_checked_twice(code, plain - stores, stores)):
        return frozenset()
    own = [v for pc in plain - stores for v in values[pc]]
    kept = {(owner, name) for owner, name, _ in own}
    used = {
        (image.owner[pc], name)
        for pc in (*stores, *swaps)
        for name in sources(image.instructions[pc])
        if not any(name in x for x in image.instructions[pc].operands if x.startswith("["))
    }
    return frozenset(plain) if kept.isdisjoint(used) else frozenset()


def _is_checked_twice(code: KernelCode, loads: Iterable[int], stores: Collection[int]) -> bool:
    """Whether stores depend on a load before a lock is taken, and on another one behind it."""
    image, order, blocks = code.image, code.order, code.flow.values.blocks

    def decides(pc: int) -> bool:
        decided = code.flow.controlled(code.flow.loaded(pc))
        return any(blocks.get(store) in decided for store in stores)

    locks = [
        pc
        for pc, op in enumerate(image.ops)
        if {"cas", "exch"} & {*op.split(".")} and order.follows(pc, pc)
    ]
    first = [(pc, lock) for pc in loads for lock in locks if order.follows(pc, lock)]
    first = [(pc, lock) for pc, lock in first if decides(pc)]
    return any(
        other != pc and _is_plain(op) and op.startswith("ld") and decides(other)
        for pc, lock in first[:1]
        for other, op in enumerate(image.ops)
        if order.follows(lock, other) and not order.follows(other, lock)
    )


def _is_plain(op: str) -> bool:
    """Whether an access may be made strong: a plain one of one element of memory."""
    head, *parts = op.split(".")
    other = {"param", "local", "const", "nc", "v2", "v4", "f16x2"}
    return head in ("ld", "st") and not is_strong(op) and other.isdisjoint(parts)
