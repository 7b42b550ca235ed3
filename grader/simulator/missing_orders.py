"""Find which waits lack an acquire and which signals a release, by trying them.

A race of threads that signal each other does not show which side is wrong. Runs in which strong
loads acquire, or strong stores release, do: where such a run has the race no more, nor one in which
all warps run abreast, that is what is missing, and no hint says what was not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import copy
from functools import cached_property

from grader.simulator.core import bindings as c
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.memory import (
    ACQUIRE,
    HAS_ACQUIRES,
    HAS_FENCES,
    RELEASE,
    SCOPE_CTA,
    is_strong,
    scope_of,
)
from grader.simulator.diagnose.consequences import Flow
from grader.simulator.diagnose.race_messages import Missing, Pair
from grader.simulator.diagnose.races import (
    BLOCK_SCOPE,
    IN_FLIGHT,
    MIXED_SIZE,
    NO_PROXY_FENCE,
    SAME_INSTRUCTION,
    STALE_CACHE,
)
from grader.simulator.schedules import ABREAST

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
        flow: where its values go.
        lines: by program counter, the line of the source.
        run: runs a machine in the order of the races, or in another one.
    """

    def __init__(self, machine: Machine, flow: Flow, lines: Sequence[int], run: Run) -> None:
        self.machine, self.flow, self.lines, self.run = machine, flow, lines, run
        self.pairs = set[Pair]()

    def missing(self, raw: Raw) -> dict[Pair, Missing]:
        """What is missing, by race of a run."""
        pairs = self.pairs = _races(raw)
        if not pairs or raw.steps > MOST_STEPS:
            return {}
        waits, signals = self.waits_and_signals(pairs)
        deciding = [pc for pc in waits if self._decides(pc)]
        found = self._narrow(raw) or self._unordered(pairs, deciding, signals)
        return found or self._unordered(pairs, [*filter(self._is_kept, waits)], signals)

    def _narrow(self, raw: Raw) -> dict[Pair, Missing]:
        """The races that end where accesses and fences of a block's scope have the device's."""
        scoped = _races(raw, BLOCK_SCOPE)
        if not scoped:
            return {}
        insns = self.machine.arrays.insns.copy()
        rows = [row for pc in self._strong(*_HEADS) for row in self._rows[pc]]
        insns["flag"][rows] &= 0xFF ^ SCOPE_CTA
        wide = self.run(copy(self.machine.with_code(insns, self.machine.arrays.blocks)), 0)
        left = {frozenset(pair) for pair in _races(wide)} if wide.ended else set()
        ops = self.machine.image.ops
        own = (pc for pair in scoped for pc in pair if scope_of(ops[pc].split(".")))
        line = min((self.lines[pc] for pc in own), default=0)
        known = bool(line and wide.ended)
        ended = (pair for pair in self.pairs if known and frozenset(pair) not in left)
        return {pair: Missing(widens=line) for pair in ended}

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
        remain = self._left(*chosen)
        if remain != self.pairs:
            abreast = self.run(self._ordering(*chosen), ABREAST)
            remain = remain | (_races(abreast) if abreast.ended else set())
        return set(map(frozenset, remain))

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
        owner, i = self.machine.image.owner[pc], self.machine.image.instructions[pc]
        values = self.flow.after((owner, name, True) for name in targets(i))
        return bool(self.flow.controlled(values))

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
