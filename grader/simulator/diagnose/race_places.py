"""Where the barrier is missing that would order the accesses of a race, and which comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from grader import dataclass, regex, replace
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.barrier_hints import by_place, joined_gaps, reserve_hint
from grader.simulator.diagnose.places import Gap, Kind
from grader.simulator.diagnose.races import (
    ACROSS_BLOCKS,
    ATOMIC,
    IN_FLIGHT,
    OTHER_ATOMIC,
    OTHER_STORE,
    SAME_INSTRUCTION,
    SAME_VALUE,
    STORE,
    WITHIN_WARP,
    Report,
    is_atomic,
)
from grader.simulator.ptx.model import is_load

if TYPE_CHECKING:
    from grader.simulator.diagnose.kernel_code import KernelCode
    from grader.simulator.diagnose.race_messages import Missing, Pair


@dataclass(frozen=True)
class Moved:
    """Where a barrier is for all threads, as a run shows.

    Attributes:
        first, last: the lines of the `if` statement around it, which it has to be behind.
        ended: the lines of the races that the run has no more.
        line: the line of the barrier.
    """

    first: int
    last: int
    ended: frozenset[frozenset[int]]
    line: int


class Trials(Protocol):
    """What tries barriers in runs of the kernel."""

    def orders(self, gap: Gap, r: Report) -> bool | None:
        """Whether a barrier at the place of a gap ends a race; None where that was not tried."""

    def reach(self, r: Report) -> int:
        """The farthest that threads are apart which conflict in a race's two places."""

    def exchanged(self, r: Report) -> bool:
        """Whether a warp reads an element of a race's variable that another one wrote before."""

    def ends_by_atomics(self, r: Report) -> bool:
        """Whether a race ends where all racing accesses to its variable are atomic."""

    def completes(self, r: Report, first: int, last: int) -> bool:
        """Whether all threads reach a barrier where all enter the `if` statement of two lines."""

    def returned(self, r: Report) -> int:
        """The line of a return but for which what a read finds would be written, or 0."""

    def overlapping(self, r: Report) -> tuple[int, int] | None:
        """The line of an atomicAdd of 1 whose elements overlap, and a number without overlaps."""

    def skipped(self, r: Report) -> Moved | None:
        """Where a barrier is for all rounds that an `if` leaves out in some, if it ends a race."""

    def moved(self, r: Report) -> Moved | None:
        """Where a barrier that some threads do not reach is for all of them; None if not found."""


_OF_WARPS = regex(
    r"\w_sync\s*\(|[Ww]arp|WARP|\blane|tiled_partition|coalesced|active|\breturn\b|volatile|mma\b|"
    r"[%&/<]\s*\(?\s*(?:0x1f|3[12])\b|(?:>>|<<)\s*5\b"
)
"""Code that knows of warps, or that threads leave early."""

MOST_GAPS, MOST_LOOPS = 64, 3
"""The races whose places are compared, and the loops around a race whose ends are tried."""

_NO_GAP = ACROSS_BLOCKS | IN_FLIGHT | SAME_VALUE


class RacePlaces:
    """The places of the races of one run.

    Args:
        code: the kernel.
        reports: the reports of the run.
        trials: what tries barriers for the races; None where none are tried.
    """

    def __init__(
        self, code: KernelCode, reports: Sequence[Report] = (), trials: Trials | None = None
    ) -> None:
        self.code, self.order, self.reports, self.trials = code, code.order, reports, trials
        self.contended = frozenset(
            (r.pc, bool(r.has(SAME_VALUE))) for r in reports if self._is_contended(r)
        )
        """The stores by which several threads write one element at once, which no barrier can
        order, each with whether the threads store the same value."""

    def _is_contended(self, r: Report) -> bool:
        same = r.kind == c.RACE and r.has(STORE) and r.has(OTHER_STORE) and r.pc == r.pc2
        if not same or r.has(ACROSS_BLOCKS):
            return False
        return r.has(SAME_INSTRUCTION) or not self.order.follows(r.pc, r.pc)

    def gap(self, r: Report) -> Gap | None:
        """Where a barrier is missing; None where no barrier can help.

        Args:
            r: the report, with the access that the program orders first as partner.
        """
        gap = self._gap(r)
        return gap and self._joined.get(gap, gap)

    def overlap_hint(self, r: Report) -> str:
        """The fix of stores to more elements than an atomic hands out; empty where it has none."""
        stores = self.trials is not None and r.has(STORE) and r.has(OTHER_STORE)
        found = self.trials.overlapping(r) if self.trials and stores else None
        return reserve_hint(*found) if found and not is_atomic(r) else ""

    @cached_property
    def _joined(self) -> dict[Gap, Gap]:
        """The gaps of the run's races that one barrier fills, with its place."""
        races = [r for r in self.reports if r.kind == c.RACE and not r.has(_NO_GAP)]
        gaps = [(r, self._gap(r)) for r in (self.ordered(r)[0] for r in races[:MOST_GAPS])]
        return joined_gaps(gap for _, gap in gaps if gap is not None) | dict(self._shared(gaps))

    def _shared(self, gaps: Iterable[tuple[Report, Gap | None]]) -> Iterator[tuple[Gap, Gap]]:
        """The gaps without a place behind their first line, with that of another one that ends it.

        Args:
            gaps: the races, each with its gap.
        """
        own = [(r, gap) for r, gap in gaps if gap is not None]
        filled = {gap for r, gap in own if self._is_filled(gap, r)}
        ends = sorted(filled, key=lambda g: (not g.apart[0], *by_place(g)))
        for r, gap in own:
            if (gap.kind == "unknown" or not gap.apart[0]) and (
                other := next((g for g in ends if self._is_filled(g, r)), None)
            ):
                yield gap, other

    @cached_property
    def _in_time(self) -> frozenset[tuple[int, int]]:
        """The accesses of the races within a warp, as they followed each other in the run."""
        races = (r for r in self.reports if r.kind == c.RACE and r.has(WITHIN_WARP))
        return frozenset((r.pc2, r.pc) for r in races)

    def _widened(self, r: Report) -> Report:
        """A race within a warp as one of the block, where other warps conflict in its places."""
        if not r.has(WITHIN_WARP) or r.has(_NO_GAP):
            return r
        other = replace(r, flags=r.flags & ~WITHIN_WARP)
        if self._reach(r):  # the two places are of one warp; others may use the array in turn
            fits = self._is_exchanged(r, other) or self._is_of_the_block(other)
            return other if fits else r
        gap = self._gap(other)
        return r if gap is None or gap.kind == "unknown" else other

    def _is_exchanged(self, r: Report, other: Report) -> bool:
        """Whether warps exchange elements of a race's array, and a barrier of the block ends it.

        Args:
            r: the race, within a warp.
            other: the same as one of the block.
        """
        if self.trials is None or self._reach(r) == ACROSS_BLOCKS or not self.trials.exchanged(r):
            return False
        gap = self._gap(other)
        return gap is not None and gap.forward and self._is_filled(gap, other)

    def _is_of_the_block(self, r: Report) -> bool:
        """Whether a barrier of the block ends a race, in a function that is not for one warp.

        Args:
            r: the race within a warp, as one of the block.
        """
        functions = self.code.variables.tree.walk("function_definition")
        around = next((f for f in functions if f.line <= r.line <= f.last_line), None)
        if self.trials is None or around is None or _OF_WARPS.search(around.text):
            return False
        return self._is_filled(self._gap(r), r)

    def without_barriers(self, missing: Mapping[Pair, Missing]) -> dict[Pair, Missing]:
        """What races lack, but for those that a barrier alone ends.

        Atomics would only hide these, and a signal that moves with a barrier has no part in them.

        Args:
            missing: by race, what makes its accesses ordered.
        """
        races = {(r.pc, r.pc2): r for r in self.reports if r.kind == c.RACE}
        return {
            pair: one
            for pair, one in missing.items()
            if not (one.is_plain or (one.early and one.early.barrier and one.early.fence))
            or pair not in races
            or not self._ends_by_barrier(races[pair])
        }

    def _ends_by_barrier(self, r: Report) -> bool:
        """Whether a run with a barrier in one or two places does not have a race of a block."""
        if self.trials is None or r.has(_NO_GAP):
            return False
        r, _ = self.ordered(r)
        return self._is_filled(self.gap(r), r)

    def _is_filled(self, gap: Gap | None, r: Report) -> bool:
        """Whether a run with a barrier between two lines does not have a race."""
        if self.trials is None or gap is None or gap.kind not in ("between", "skipped"):
            return False
        if gap.kind == "skipped":
            return self._skipped(gap, r) == gap
        return bool(self.trials.orders(gap, r))

    def _skipped(self, gap: Gap, r: Report) -> Gap | None:
        """The gap, with the `if` that leaves out a barrier which ends its race in other rounds."""
        if self.trials is None or (moved := self.trials.skipped(r)) is None:
            return None
        branches, within = self.code.branches, (moved.line, moved.last)
        test = branches.condition(moved.first, moved.last)
        own = replace(gap, kind="skipped", line=moved.first, within=within, test=test)
        return replace(own, apart=(0, 0))

    def _reach(self, r: Report) -> int:
        """The flag of a race between the threads farthest from each other that conflict there."""
        own = r.flags & (WITHIN_WARP | ACROSS_BLOCKS)
        if self.trials is None or own == ACROSS_BLOCKS:
            return own
        return self.trials.reach(self._seen(r))

    def _seen(self, r: Report) -> Report:
        """A race as one of two warps, where another report has it for two warps of a block."""
        seen = frozenset((r.pc, r.pc2)) in self._of_warps
        return replace(r, flags=r.flags & ~WITHIN_WARP) if seen else r

    @cached_property
    def _of_warps(self) -> frozenset[frozenset[int]]:
        """The places of the run's races between warps of a block."""
        races = (r for r in self.reports if r.kind == c.RACE)
        apart = (r for r in races if not r.has(WITHIN_WARP | ACROSS_BLOCKS))
        return frozenset(frozenset((r.pc, r.pc2)) for r in apart)

    def _gap(self, r: Report) -> Gap | None:
        gap = self._lines_apart(r)
        if gap is None or gap.kind == "unknown":
            return gap
        apart = self.trials.reach(self._seen(r)) if self.trials else 0
        if apart == ACROSS_BLOCKS:  # of a cooperative launch
            return self.code.branches.placed(replace(gap, grid=True), r.target.name, library=False)
        instructions = self.code.image.instructions
        calls = all(pc < len(instructions) and instructions[pc].via for pc in (r.pc, r.pc2))
        library = calls and r.target.space == "shared"  # its own; a caller's elements are global
        placed = self.code.branches.placed(gap, r.target.name, library=library)
        if placed.kind in ("branches", "waiting") and self._has_mbarriers:
            return replace(placed, kind="phases")
        if placed.kind == "condition" and self.trials and self._is_chosen(r):
            return replace(placed, chosen=self.trials.ends_by_atomics(r))
        return self._tried(placed, r)

    def _is_chosen(self, r: Report) -> bool:
        """Whether values in memory choose the element of global memory that a race is for."""
        if r.target.space != "global" or r.has(ATOMIC | OTHER_ATOMIC):
            return False
        flow, image = self.code.flow, self.code.image
        loads = (
            pc
            for pc, i in enumerate(image.instructions)
            if is_load(i) and not i.op.startswith("ld.param")
        )
        names = flow.effects({value for pc in loads for value in flow.loaded(pc)})[0]
        return any(not flow.addressed(pc).isdisjoint(names) for pc in (r.pc, r.pc2))

    @cached_property
    def _has_mbarriers(self) -> bool:
        return any(op.startswith("mbarrier.") for op in self.code.image.ops)

    def _tried(self, gap: Gap, r: Report) -> Gap:
        """The gap, or the end of the round, where a barrier there alone ends the race."""
        if self.trials is None or gap.named or gap.kind == "library":
            return gap
        if skipped := self._skipped(gap, r):
            return skipped
        if gap.kind in ("branches", "waiting") and self.order.share_a_loop(r.pc, r.pc2):
            end = self.code.branches.end_of_round(gap, r.target.name)
            if self.trials.orders(end, r):
                return end
        if gap.kind == "waiting":
            return gap
        if gap.kind == "branches":
            twice = replace(gap, both=True)
            if self.trials.orders(gap, r) is not False:
                return gap
            return twice if self.trials.orders(twice, r) else replace(gap, kind="waiting")
        again = not gap.forward or self.order.share_a_loop(r.pc, r.pc2)
        if gap.kind != "between" and not (again and (gap.both or gap.forward)):
            return gap
        places = self._rounds(gap, r.target.name) if again else iter(())
        first = () if gap.both or gap.kind != "between" else (gap,)
        tried = ((place, self.trials.orders(place, r)) for place in chain(first, places))
        ends = dict[Gap, bool | None]()
        for place, ended in tried:
            if ended:
                some = gap.kind == "branch" and place.both and r.has(WITHIN_WARP)
                return replace(place, kind=gap.kind, line=gap.line) if some else place
            ends[place] = ended
        return replace(gap, kind="unknown") if ends.get(gap) is False else gap

    def _rounds(self, gap: Gap, name: str) -> Iterator[Gap]:
        """The places at the ends of rounds of the loops around a gap, and before its second line.

        Args:
            gap: the gap.
            name: the variable that both lines access.
        """
        branches, plain = self.code.branches, Gap(gap.first, gap.then, forward=False)
        back = plain
        if gap.both or gap.forward:
            yield branches.placed(plain, name, library=False)
        if gap.both:
            own = replace(gap, first=gap.then, then=gap.first, forward=True, both=False)
            yield replace(own, apart=gap.within, within=(0, 0))
            yield gap
        elif gap.forward and gap.first != gap.then:
            back = branches.end_of_round(replace(plain, first=gap.then, then=gap.first), name)
            yield back
            yield replace(back, both=True, within=gap.apart)
        yield from (branches.end_of_round(back, name, k) for k in range(1, MOST_LOOPS))
        end = branches.end_of_round(plain, name)
        if not end.in_line:
            yield replace(end, apart=(0, end.apart[1]))
        if gap.first == gap.then:
            yield replace(end, split=True)

    def _lines_apart(self, r: Report) -> Gap | None:
        """The lines that a barrier is missing between; None where no barrier can help."""
        write = r.pc if r.has(STORE) else r.pc2
        if (write, False) in self.contended or (
            r.line == r.line2 and (write, True) in self.contended
        ):
            return None
        if not (r.has(STORE) and r.has(OTHER_STORE)) or self.order.follows(r.pc2, r.pc):
            return self._between(r, r.pc2, r.pc)
        if self.order.follows(r.pc, r.pc2):
            return replace(self._between(r, r.pc, r.pc2), both=False)
        return None

    def _between(self, r: Report, first: int, then: int) -> Gap:
        """The gap between two instructions: in the function in which the calls to them part."""
        lines = (r.line2, r.line) if first == r.pc2 else (r.line, r.line2)
        at = first, then
        if (places := self.code.calls.parting(first, then)) is not None:
            lines, at = (places[0].line, places[1].line), (places[0].pc, places[1].pc)
        forward = at[1] > at[0] or not self.order.share_a_loop(*at)
        both = not forward and lines[0] != lines[1] and self.order.follows(then, first)
        if both and r.has(WITHIN_WARP):  # the lanes of a warp run in step
            both = (then, first) in self._in_time
        lost = forward and at[1] < at[0] and lines[1] <= lines[0]
        once = at[1] < at[0] and self.code.branches.end_of_round(Gap(*lines, False), "").block < 0
        if (lost or once) and (call := self._repeated(first, then)):
            lines, forward, lost = (call, call), False, False
        kind: Kind = "unknown" if lost else "between"
        return Gap(*lines, forward, self.order.has_partial_barriers, both, kind)

    def _repeated(self, first: int, then: int) -> int:
        """The line of the innermost call in a loop that leads to two instructions, or 0."""
        calls = self.code.calls.around(first, then)
        return next((x.line for x in calls if self.order.share_a_loop(x.pc, x.pc)), 0)

    def ordered(self, r: Report) -> tuple[Report, str]:
        """The report with the access that the program orders first as partner, and the hazard."""
        r = self._widened(r)
        if r.has(STORE) and r.has(OTHER_STORE):
            used = r.pc < len(ops := self.code.image.ops) and ops[r.pc].startswith("mbarrier.")
            used = used and not ops[r.pc].startswith("mbarrier.in")  # init, inval
            return replace(r, flags=r.flags | ATOMIC * used), "WAW"
        write, read = (r.pc, r.pc2) if r.has(STORE) else (r.pc2, r.pc)
        # the defaults for an asynchronous copy that is not waited for
        hazard = "RAW" if not r.has(STORE) or r.has(OTHER_STORE) else "WAR"
        if not r.has(IN_FLIGHT):
            hazard = self.order.hazard(write, read, "warp" if r.has(WITHIN_WARP) else "block")
            if r.has(ACROSS_BLOCKS) and hazard == "RAW" and not self.code.image.may_wait:
                hazard = self.order.hazard(write, read, "none")
        return (r if r.has(STORE) == (hazard == "WAR") else r.swapped()), hazard
