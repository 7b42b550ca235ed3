"""How a launch is run in other orders than the usual one, and what such runs give and may take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, replace
from grader.launch import Finding, Launch
from grader.simulator.core.bindings import ANOTHER_LANE, OLD_VALUE
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.pauses import MOST_AFTER, MOST_TRACED
from grader.simulator.schedules import (
    BACKWARD,
    BY_ACCESS,
    LONG_WAITS,
    SAMPLE_KINDS,
    different_outputs,
    found_in_order,
    is_mixture,
    is_patient,
    most_steps,
    output_difference,
    with_steady_outputs,
)

WHOLE_ORDERS = (1, 2, 3, 4)
"""The orders of blocks and warps in which no warp is interrupted, some of them backwards."""

LANE_ORDERS = (1, 2)
"""The orders of lanes, first to last and last to first: see core/machine/launch.h."""

MOST_DIFFERENT = 2
"""The most runs with another value of an output that may be made again for it."""

MOST_PAUSES = 16
"""The most instructions before which a thread pauses, each in a run of its own."""

LOOKS_IN_A_PAUSE = 64
"""So many looks a wait makes before it sleeps while another thread pauses: core/machine/polls.c."""

LEAST_ORDERS = 2
"""In so many other orders a launch has to end before an output tells that old values are wrong."""

PAUSE_CHANGES, MOST_CHANGES = (3, 5), 7
"""After how many changes of memory by others, which begin and end with each block, short pauses end
in which loads give old values; and those before which pauses end where they give new ones."""


@dataclass(frozen=True)
class How:
    """How the optimized variant runs once.

    Attributes:
        schedule: the order.
        loads: the loads that give old values where they may.
        new_values: whether they give new ones all the same.
        pause: the instruction before which a warp pauses.
        short_pause: whether it pauses only until another warp has changed memory and ended.
        pause_changes: after how many changes of memory by others the pause ends; 0 for no such end.
        pause_skips: how often warps come there before one pauses; with `lane_order`, their lanes.
        pause_until: the instruction that another warp has executed when the pause ends.
        pause_behind: the instruction behind which the warp pauses once more.
        restored: how often a swap's place has what it expects again when the pause before it ends.
        hurries: whether time passes fast, meanwhile, for threads that read clocks.
        limited: the reads of waits that give up after many looks, and do so in this run.
        long_looks: how many looks that takes.
        old_pause: whether a warp pauses, again, once a load has given an old value: core/run.py.
        whole_turns: whether turns are long, so that no warp is interrupted.
        lane_order: the order in which lanes of a warp run one after the other; 0: in lock step.
        first_wins: whether, of lanes that store to one place at once, the first one's value stays.
        lone: the basic blocks that this is so in; empty for all.
        traced: which accesses are recorded, as `only_strong` says; 0: none. Of moved code all are.
        machine: moved code, instead of the variant's.
    """

    schedule: int = 0
    loads: frozenset[int] = frozenset()
    new_values: bool = False
    pause: int | None = None
    short_pause: bool = False
    pause_changes: int = 0
    pause_skips: int = 0
    pause_until: int | None = None
    pause_behind: int | None = None
    restored: int = 0
    hurries: bool = False
    limited: frozenset[int] = frozenset()
    long_looks: int = 0
    old_pause: int = 0
    whole_turns: bool = False
    lane_order: int = 0
    first_wins: bool = False
    lone: tuple[int, ...] = ()
    traced: int = 0
    machine: Machine | None = None

    def behind(self, place: int | None) -> How:
        """The same run of code with one instruction more, at a program counter; None: of the same.

        `lone` stays as it is.
        """
        if place is None:
            return self

        def moved(pc: int | None) -> int | None:
            return pc if pc is None or pc < place else pc + 1

        def all_moved(pcs: frozenset[int]) -> frozenset[int]:
            return frozenset(pc + (pc >= place) for pc in pcs)

        return replace(
            self,
            loads=all_moved(self.loads),
            limited=all_moved(self.limited),
            pause=moved(self.pause),
            pause_until=moved(self.pause_until),
            pause_behind=moved(self.pause_behind),
        )

    def limits(self, limits: Limits) -> Limits:
        """What the run may take, with how it runs."""
        return replace(
            limits,
            schedule=self.schedule,
            stale=self.loads,
            gives_old=bool(self.loads) and not self.new_values,
            pause=self.pause,
            short_pause=self.short_pause,
            pause_changes=self.pause_changes,
            pause_skips=self.pause_skips,
            pause_until=self.pause_until,
            pause_behind=self.pause_behind,
            restored=self.restored,
            hurries=self.hurries,
            limited=self.limited,
            long_looks=self.long_looks,
            old_pause=self.old_pause,
            whole_turns=self.whole_turns,
            lane_order=self.lane_order,
            first_wins=self.first_wins,
            lone=self.lone,
            trace=MOST_TRACED if self.traced else 0,
            only_strong=self.traced if self.machine is None else 0,
        )


@dataclass(frozen=True)
class OneRun:
    """A run of the optimized variant, perhaps with old values.

    Attributes:
        raw: the run.
        found: what was found beside old values.
        reads: a finding for each load that gave an old value, and the write that it missed.
        loads: the program counters of these loads.
    """

    raw: Raw
    found: tuple[Finding, ...]
    reads: tuple[Finding, ...]
    loads: frozenset[int]

    @property
    def errors(self) -> list[Finding]:
        """The errors that this run shows."""
        return [f for f in found_in_order(self.raw, self.found) if f.severity == "error"]


def consequence(
    old: OneRun, outcomes: Sequence[Sequence[Raw]], launch: Launch, names: tuple[str, ...]
) -> str:
    """What is wrong where loads gave old values; empty if nothing is known to be."""
    if old.errors:
        return f"line {old.errors[0].line} has a {old.errors[0].kind}"
    if not old.raw.ended:
        return ""
    what = [output_difference(group[0], old.raw, launch, names) for group in outcomes]
    return what[0] if what and all(what) else ""


def around(loads: Iterable[int]) -> list[int]:
    """Where a pause lets a load give an older value than it gives without."""
    return [pc for load in loads for pc in range(load, load + 1 + MOST_AFTER)]


def as_warnings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Some findings, with lost updates that have no effect."""
    why = "; the outputs are the same where none is lost"
    return tuple(
        replace(f, severity="warning", message=f.message + why)
        if f.kind == "lost-update" and f.severity == "error"
        else f
        for f in findings
    )


@dataclass(frozen=True)
class Runs:
    """How a launch is run, with so many steps.

    Attributes:
        order: in an order; returns also whether loads might give old values.
        one: with the optimized variant alone.
        explain: the findings of a report of such a run.
    """

    order: Callable[[int, int], tuple[Raw, tuple[Finding, ...], bool]]
    one: Callable[[int, How], OneRun]
    explain: Callable[[Raw, NDArray[np.void]], tuple[Finding, ...]]


class OrderRuns:
    """The runs of a launch in other orders than the usual one.

    Attributes:
        usual: the usual run.
        steps: warp instructions of the first variant in it.
        most: those that one other run may take.
        left: those that all other runs may still take.
        timed: whether the kernel reads clocks.
        limited: the reads of waits that give up, each with the number of looks.
        harmless: whether lost updates have no effect.
        forests: the arguments that these may change, as orders do, where they shorten paths.
        others: the runs in other orders so far.
        differ: the orders in which outputs differ, and which arguments these are.
        kept: by argument, an output of the optimized variant that differs from the usual one.
        paused: the runs with pauses alone.
        late_writes: by a write that loads missed, the run in which it is late.
        compared: whether these, and some of whole turns, are among the others.
        agree: how many of the others are known to leave the usual outputs; -1: one does not.
        judged: the launch, with the outputs alone by which a run is wrong.
    """

    timed = harmless = compared = False
    agree = 0
    forests = frozenset[int]()

    def __init__(
        self, usual: Raw, steps: int, most: int, launch: Launch, names: tuple[str, ...], runs: Runs
    ) -> None:
        self.usual, self.steps, self.most = usual, steps, most
        self.launch, self.names, self.runs = launch, names, runs
        self.judged = launch
        self.others: list[Raw] = []
        self.paused: list[Raw] = []
        self.late_writes: dict[int, Raw] = {}
        self.limited: Mapping[int, int] = {}
        self.differ: list[tuple[int, frozenset[int]]] = []
        self.kept: dict[int, NDArray[Any]] = {}
        self.left = most_steps(steps)

    @property
    def looks(self) -> int:
        """After how many looks the last wait has given up."""
        return max(self.limited.values(), default=0)

    def order(self, schedule: int) -> tuple[Raw, tuple[Finding, ...], bool]:
        """Run in an order: the run, what is found, and whether loads might give old values."""
        raw, found, may_be_old = self.runs.order(self.most_of_next, schedule)
        self.left -= raw.steps
        return raw, found_in_order(raw, self.counted(found, How(schedule))), may_be_old

    def races_of_lanes(self) -> tuple[Finding, ...]:
        """The races of lanes that follow atomics by what others observed alone."""
        if not (self.usual.observed & ANOTHER_LANE and self.affords(1)):
            return ()
        run = self.run(How(BACKWARD, lane_order=LANE_ORDERS[-1]))
        return tuple(f for f in run.errors if f.kind == "race")

    def counted(self, found: tuple[Finding, ...], how: How) -> tuple[Finding, ...]:
        """The findings of a run that count, which a watchdog may have ended."""
        if not self.timed:
            waited = self.looks > LOOKS_IN_A_PAUSE and is_patient(how.schedule)
            return tuple(f for f in found if not waited or f.kind != "launch-failure")
        gave_up = how.hurries or is_patient(how.schedule)
        ends = frozenset({"launch-failure"} | ({"timeout"} if gave_up else set[str]()))
        ends |= SAMPLE_KINDS - BY_ACCESS if how.schedule in LONG_WAITS else frozenset[str]()
        return tuple(f for f in found if f.kind not in ends)

    def note(self, raw: Raw, schedule: int) -> None:
        """Keep the order of a run if an output differs in it, and did so in few runs before."""
        outputs = different_outputs(self.usual, raw, self.launch) if raw.ended else {}
        known = [index for _, differ in self.differ for index in differ]
        if any(known.count(index) < MOST_DIFFERENT for index in outputs):
            self.differ.append((schedule, frozenset(outputs)))

    def keep(self, raw: Raw) -> None:
        """Keep the outputs of a run of the optimized variant that differ."""
        if raw.ended:
            self.kept = different_outputs(self.usual, raw, self.launch) | self.kept

    @property
    def most_of_next(self) -> int:
        """The warp instructions of the next run: one that does not end leaves some for others."""
        share = max(self.left // 2, self.steps + self.steps // 4)
        return min(self.most, self.left, share)

    def affords(self, runs: int) -> bool:
        """Whether so many runs can be made."""
        return self.left >= runs * self.steps

    def run(self, how: How) -> OneRun:
        """Run the optimized variant."""
        run = self.runs.one(self.most_of_next, how)
        self.left -= run.raw.steps
        found = self.counted(run.found, how)
        return replace(run, found=as_warnings(found) if self.harmless else found)

    def run_if_any(self, how: How) -> OneRun | None:
        """Run the optimized variant; None where no steps are left."""
        return self.run(how) if self.affords(1) else None

    def is_wrong(self, run: OneRun) -> bool:
        """Whether a run has errors, or other outputs than the usual one."""
        differ = run.raw.ended and output_difference(self.usual, run.raw, self.judged, self.names)
        return bool(run.errors or differ)

    def is_one_result(self) -> bool:
        """Whether the outputs are those of the usual order where no warp is interrupted."""
        runs = (self.run(How(s, whole_turns=True)).raw for s in WHOLE_ORDERS if self.affords(1))
        return all(
            raw.ended and not output_difference(self.usual, raw, self.launch, self.names)
            for raw in runs
        )

    def depends(self, how: How, pauses: Sequence[int], result: Raw | None = None) -> bool:
        """Whether a pause before one of some instructions changes the outputs, or may do so.

        Then they depend on the order in which threads run. With a `result`: whether it has no value
        that these runs have not.
        """
        plain = replace(how, loads=frozenset(), old_pause=0)
        hows = [replace(plain, pause=pc) for pc in pauses]
        hows += [replace(how, new_values=True)] if result is not None else []
        ends = range(MOST_CHANGES) if how.pause_changes else (0,)
        hows = [replace(one, pause_changes=n) for one in hows for n in ends]
        if not self.affords(len(hows)):
            return True
        runs = [self.run(one).raw for one in hows]
        ended = [raw for raw in runs if raw.ended]
        if result is not None:
            return is_mixture(self.usual, result, ended, self.judged)
        return any(output_difference(self.usual, x, self.judged, self.names) for x in ended)

    def judges_all(self) -> bool:
        """Whether all outputs are the same in the orders, and pauses, of consistent memory.

        Else those that differ are not judged from here on.
        """
        if not self.compared:
            hows = [How(s, whole_turns=True) for s in WHOLE_ORDERS]
            hows += [How(whole_turns=True, lane_order=x) for x in LANE_ORDERS]
            self.others += [self.run(how).raw for how in hows if self.affords(1)] + self.paused
            self.compared = True
            ended = [raw for raw in self.others if raw.ended]
            runs = [self.usual, *ended] if len(ended) >= LEAST_ORDERS else []
            self.judged = with_steady_outputs(self.launch, runs)
        while 0 <= self.agree < len(self.others):
            raw = self.others[self.agree]
            differ = raw.ended and output_difference(self.usual, raw, self.launch, self.names)
            self.agree = -1 if differ else self.agree + 1
        return self.agree >= 0 and sum(raw.ended for raw in self.others) >= LEAST_ORDERS

    def consequence(self, run: OneRun) -> str:
        """What is wrong with a run; empty if nothing is known to be."""
        depends = not run.errors and self._depends_on_writes(run)
        outcomes = [] if depends else [[self.usual]] if self.compared else self.outcomes()
        return consequence(run, outcomes, self.judged, self.names)

    def _depends_on_writes(self, run: OneRun) -> bool:
        """Whether a pause before a write that a load missed changes the outputs that are judged.

        Then an old value may give what that order, or one between, gives too.
        """
        missed = {int(r["pc2"]) for r in run.raw.reports if r["kind"] == OLD_VALUE}
        for pc in sorted(missed - self.late_writes.keys()):
            if self.affords(1):
                self.late_writes[pc] = self.run(How(pause=pc)).raw
        late = [self.late_writes[pc] for pc in missed & self.late_writes.keys()]
        judges = self.judged, self.names
        return any(x.ended and output_difference(self.usual, x, *judges) for x in late)

    def outcomes(self) -> list[list[Raw]]:
        """The runs that ended, by their outputs; none where they do not show all outcomes.

        One that came once is a sign of others that did not.
        """
        groups: list[list[Raw]] = []
        ended = [raw for raw in self.others if raw.ended]
        for raw in (self.usual, *ended):
            known = [g for g in groups if not output_difference(g[0], raw, self.launch, self.names)]
            if known:
                known[0].append(raw)
            else:
                groups.append([raw])
        return groups if len(ended) >= LEAST_ORDERS and all(len(g) > 1 for g in groups) else []
