"""Run a launch in other orders than the usual one, with pauses, and with old values.

Every order of the simulator is sequentially consistent: a load gives the newest value. A GPU's
memory is weaker: PTX may allow a relaxed or volatile load to give the value before, which no order
of blocks and warps explains (core/watch/old_values.c). A kernel with such loads runs again, and
they give these old values: in the usual order, and in others whose runs show that there are some.
It is wrong where an error follows, or an output that no order gives. The loads are then tried one
by one, so that the finding names the one that matters.

A kernel with strong loads also runs with pauses (pauses.py): a thread stops between a read and a
write of one place, and all others run. It is wrong where an output then differs, and is the same in
all orders in which no warp is interrupted: what the threads do one after the other is one result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from numpy.typing import NDArray

from grader.launch import Finding, Launch, Trace
from grader.simulator.core.run import Machine, Raw
from grader.simulator.diagnose.merging import merge_findings
from grader.simulator.late import (
    Late,
    late_accesses,
    late_report,
    may_be_late,
    moved,
    overlaps,
    some_moves,
)
from grader.simulator.order_runs import How, OneRun, Runs
from grader.simulator.pauses import (
    MOST_AFTER,
    Traces,
    acts_on_reads,
    after,
    contended,
    interruption,
    lengths,
    order_for,
    some_of,
    strong_accesses,
    writes_after_reads,
)
from grader.simulator.schedules import (
    ABREAST,
    ORDER_KINDS,
    ORDER_STEPS,
    ORDERS,
    PATIENT,
    chosen_orders,
    different_outputs,
    found_in_order,
    is_mixture,
    most_steps,
    order_findings,
    output_difference,
    strong_loads,
)

OLD_SCHEDULES = (0, 6)
"""The orders that are run with old values: the usual one, that in which all run abreast, and then
the first one in which the other variant might give some."""

MORE_ORDERS = tuple(s for s in range(9, 104) if s % ORDER_KINDS not in (ABREAST, PATIENT))
"""Orders with short turns that are run with old values, where pauses show nothing."""

PAUSE_CHANGES, MOST_CHANGES = (3, 5), 7
"""After how many changes of memory by others, which begin and end with each block, short pauses end
in which loads give old values; and those before which pauses end where they give new ones."""

OLD_PAUSES = (1, 2)
"""When a thread that missed a write pauses again: at once, or after its next fence."""

FEW_STEPS = 1 << 12
"""The warp instructions of a launch that is run with such pauses, and in MORE_ORDERS."""

OLD_LOADS = 6
"""The most loads that are tried one by one."""

MOST_PAUSES = 16
"""The most instructions before which a thread pauses, each in a run of its own."""

MOST_LATE = 12
"""The most accesses that are made late, each in a run of its own."""

WHOLE_ORDERS = (1, 2, 3, 4)
"""The orders of blocks and warps in which no warp is interrupted, some of them backwards."""

MOST_DIFFERENT = 2
"""The most orders with another output that are run again for it."""

LEAST_ORDERS = 2
"""In so many other orders a launch has to end before an output tells that old values are wrong."""


class OtherOrders:
    """The runs of a launch in other orders than the usual one.

    Attributes:
        usual: the usual run.
        steps: warp instructions of the first variant in it.
        most: those that one other run may take.
        left: those that all other runs may still take.
        others: the runs in other orders so far.
        differ: the orders in which an output differs.
        paused: those of them that tell what other runs with pauses may give.
        gives_old: whether loads gave old values without a pause.
    """

    def __init__(
        self, usual: Raw, steps: int, most: int, launch: Launch, names: tuple[str, ...], runs: Runs
    ) -> None:
        self.usual, self.steps, self.most = usual, steps, most
        self.launch, self.names, self.runs = launch, names, runs
        self.others: list[Raw] = []
        self.differ: list[int] = []
        self.paused: list[Raw] = []
        self.left = most_steps(steps)
        self.gives_old = False

    def findings(
        self, trace: Trace, machines: Sequence[Machine], schedules: int
    ) -> tuple[Finding, ...]:
        """The findings of a trace and those that other orders add.

        Args:
            trace: of the usual order.
            machines: as in `chosen_orders`.
            schedules: the number of orders that are asked for; 0 for those that the kernel needs.
        """
        may_run = self.usual.steps <= ORDER_STEPS and not trace.errors
        asked: Sequence[int] = chosen_orders(machines) if may_run else ()
        if schedules:
            asked, self.left = range(1, schedules + 1), schedules * self.most
        loads = strong_loads(machines[-1].image) if may_run else frozenset[int]()
        findings, old = trace.findings, list[int]()
        for schedule in asked or (ORDERS if loads else ()):
            enough = self._affords(2 if old else 1) or schedules
            if not enough or (self.others and not asked and not old):
                break
            raw, found, may_be_old = self.runs.order(min(self.most, self.left), schedule)
            findings = merge_findings(findings, found_in_order(raw, found))
            self.left, self.others = self.left - raw.steps, [*self.others, raw]
            if raw.ended and output_difference(self.usual, raw, self.launch, self.names):
                self.differ.append(schedule)
            old += [schedule] if may_be_old else []
        if not may_run or any(f.severity == "error" for f in findings):
            return findings
        reads = self._wrong_reads(self._with_old_values(loads, old)) if loads else ()
        return findings + (reads or self._with_pauses(machines[-1], loads))

    def differences(self) -> tuple[Finding, ...]:
        """A finding for each output that differs between orders."""
        return order_findings(self.usual, self.others, self.launch, self.names)

    def outputs(self) -> dict[int, NDArray[Any]]:
        """By argument, an output that another order leaves, if one differs by more than rounding.

        The orders run the variant that finds most: here the optimized one, which the GPU runs.
        """
        for schedule in self.differ[:MOST_DIFFERENT]:
            raw = self._run(How(schedule)).raw if self._affords(1) else None
            if raw and raw.ended and (out := different_outputs(self.usual, raw, self.launch)):
                return out
        return {}

    def _with_old_values(
        self, loads: frozenset[int], schedules: Sequence[int]
    ) -> list[tuple[How, OneRun]]:
        """The orders in which some of the loads missed a write, each with its run."""
        # Whether the usual order gives loads an old value is known from such a run alone.
        orders = dict.fromkeys((*OLD_SCHEDULES, *schedules[:1]) if schedules else (0,))
        runs = self._with_reads(How(s, loads) for s in orders)
        self.gives_old = bool(runs)
        return runs

    def _with_reads(self, hows: Iterable[How]) -> list[tuple[How, OneRun]]:
        """The runs in which loads gave old values, of some that are made."""
        runs = [(how, self._run(how)) for how in hows if self._affords(1)]
        return [(how, run) for how, run in runs if run.reads]

    def _first_wrong(self, hows: Iterable[How]) -> list[tuple[How, OneRun]]:
        """The first run that is wrong, if one is, of some in which loads may give old values."""
        for how in hows:
            for pair in self._with_reads([how]):
                if self._is_wrong(pair[1]):
                    return [pair]
        return []

    def _affords(self, runs: int) -> bool:
        return self.left >= runs * self.steps

    def _run(self, how: How) -> OneRun:
        run = self.runs.one(min(self.most, self.left), how)
        self.left -= run.raw.steps
        return run

    def _with_pauses(self, machine: Machine, loads: frozenset[int]) -> tuple[Finding, ...]:
        """The findings of runs in which a thread pauses, or makes an access late and pauses.

        Args:
            machine: the optimized variant.
            loads: those that may give old values while a thread pauses.
        """
        acts, orders = acts_on_reads(machine.image), may_be_late(machine.image)
        if not (acts or orders) or not self._affords(1):
            return ()
        runs = [self._run(How(s, traced=True)) for s in OLD_SCHEDULES]
        traces = [strong_accesses(run.raw, machine.image) for run in runs]
        wanted = contended(traces)
        found = self._interrupted(machine, traces) if acts else ()
        found = found or (self._late(machine, traces, wanted) if orders else ())
        return found or (self._old_with_pauses(machine, traces, wanted, loads) if loads else ())

    def _interrupted(self, machine: Machine, traces: Traces) -> tuple[Finding, ...]:
        """The findings of runs in which a thread pauses between a read and a write of a place."""
        writes = writes_after_reads(traces)
        pauses = [(pc, short) for pc in writes for short in lengths(machine.image.ops[pc])]
        for pc, short in pauses[:MOST_PAUSES]:
            if not self._affords(1):
                break
            how = self._pause(traces, pc)
            run = self._run(replace(how, short_pause=short, traced=True))
            if run.errors:
                return found_in_order(run.raw, run.found)
            found = interruption(run.raw, machine.image) if run.raw.ended else None
            what = output_difference(self.usual, run.raw, self.launch, self.names)
            apart = [] if found is None else [found.read, *after(pc, machine.image)]
            if found and what and self._is_one_result() and not self._depends(how, apart):
                (finding,) = self.runs.explain(run.raw, found.report)
                return (replace(finding, message=f"{finding.message}; then {what}"),)
        return ()

    def _late(self, machine: Machine, traces: Traces, wanted: Sequence[int]) -> tuple[Finding, ...]:
        """The finding of an access that makes the kernel wrong where it is late."""
        for late, how, run in self._late_runs(machine, traces, wanted):
            if overlaps(run.raw, late) or not self._is_wrong(run):
                continue
            outcomes = self._outcomes_with_pauses(machine, traces, wanted)
            what = _consequence(run, outcomes, self.launch, self.names)
            apart = [late.access, late.passed, *after(late.passed, machine.image)]
            if what and len(outcomes) == 1 and not self._depends(how, apart):
                (finding,) = self.runs.explain(self.usual, late_report(traces, late, machine.image))
                return (replace(finding, message=f"{finding.message}; then {what}"),)
        return ()

    def _late_runs(
        self, machine: Machine, traces: Traces, wanted: Sequence[int]
    ) -> Iterator[tuple[Late, How, OneRun]]:
        """Moves of accesses, their runs, and how the code runs that nothing moves in."""
        kernel = machine.image.functions[0].name
        moves = late_accesses(machine.module.functions[kernel], frozenset(wanted))
        chosen, codes = some_moves(moves, machine.image, MOST_LATE), dict[Late, Machine | None]()
        ends = (0, *PAUSE_CHANGES) if self.steps <= FEW_STEPS else (0,)
        for n, late in product(ends, chosen):
            if self._affords(1) and late not in codes:
                codes[late] = moved(machine, kernel, late)
            if self._affords(1) and (code := codes[late]) is not None:
                how = replace(self._pause(traces, late.access), pause_changes=n)
                run = self._run(replace(how, pause=late.pause, traced=True, machine=code))
                yield late, how, run

    def _pause(self, traces: Traces, pc: int) -> How:
        """A pause before an instruction, in an order in which other threads can run then."""
        schedule = order_for(traces, pc, self.launch)
        return How(schedule, pause=pc, whole_turns=bool(schedule))

    def _depends(self, how: How, pauses: Sequence[int], result: Raw | None = None) -> bool:
        """Whether a pause before one of some instructions changes the outputs, or may do so.

        Then they depend on the order in which threads run. With a `result`: whether it has no value
        that these runs have not.
        """
        plain = replace(how, loads=frozenset(), old_pause=0)
        hows = [replace(plain, pause=pc) for pc in pauses]
        hows += [replace(how, new_values=True)] if result is not None else []
        ends = range(MOST_CHANGES) if how.pause_changes else (0,)
        hows = [replace(one, pause_changes=n) for one in hows for n in ends]
        if not self._affords(len(hows)):
            return True
        runs = [self._run(one).raw for one in hows]
        ended = [raw for raw in runs if raw.ended]
        if result is not None:
            return is_mixture(self.usual, result, ended, self.launch)
        return any(output_difference(self.usual, x, self.launch, self.names) for x in ended)

    def _pauses(self, machine: Machine, traces: Traces, wanted: Sequence[int]) -> list[How]:
        pauses = some_of(wanted, machine.image, MOST_PAUSES)
        return [self._pause(traces, pc) for pc in pauses]

    def _outcomes_with_pauses(
        self, machine: Machine, traces: Traces, wanted: Sequence[int]
    ) -> list[list[Raw]]:
        """The outcomes, with those of pauses where memory is sequentially consistent."""
        if not self.paused:
            hows = [How(s, whole_turns=True) for s in WHOLE_ORDERS]
            hows += self._pauses(machine, traces, wanted)
            self.paused = [self._run(how).raw for how in hows if self._affords(1)]
            self.others += self.paused
        return self._outcomes()

    def _old_with_pauses(
        self,
        machine: Machine,
        traces: Traces,
        wanted: Sequence[int],
        loads: frozenset[int],
    ) -> tuple[Finding, ...]:
        """The finding of a load whose old value, while a thread pauses, makes the kernel wrong."""
        hows = [replace(how, loads=loads) for how in self._pauses(machine, traces, wanted)]
        if self.steps <= FEW_STEPS:
            hows += [replace(how, pause_changes=n) for n in PAUSE_CHANGES for how in hows]
        given = self._with_reads(hows)
        again = [replace(how, old_pause=kind) for how, _ in given for kind in OLD_PAUSES]
        given += self._with_reads(again)
        runs = [(how, run) for how, run in given if self._is_wrong(run)]
        if not runs and (given or self.gives_old) and self.steps <= FEW_STEPS:
            runs = self._first_wrong(How(s, loads) for s in MORE_ORDERS)
        if not runs or len(self._outcomes_with_pauses(machine, traces, wanted)) != 1:
            return ()
        return self._wrong_reads(runs)

    def _is_wrong(self, run: OneRun) -> bool:
        """Whether a run has errors, or other outputs than the usual one."""
        differ = run.raw.ended and output_difference(self.usual, run.raw, self.launch, self.names)
        return bool(run.errors or differ)

    def _is_one_result(self) -> bool:
        """Whether the outputs are those of the usual order where no warp is interrupted."""
        runs = (self._run(How(s, whole_turns=True)).raw for s in WHOLE_ORDERS if self._affords(1))
        return all(
            raw.ended and not output_difference(self.usual, raw, self.launch, self.names)
            for raw in runs
        )

    def _wrong_reads(self, runs: Sequence[tuple[How, OneRun]]) -> tuple[Finding, ...]:
        """The finding of the load whose old value makes the kernel wrong, if one's does."""
        outcomes = self._outcomes()
        for how, run in self._one_by_one(runs, outcomes):
            what = run.reads and _consequence(run, outcomes, self.launch, self.names)
            if what and (run.errors or not self._depends(how, _around(run.loads), run.raw)):
                read, certain = run.reads[0], run.errors or len(outcomes) == 1
                message = f"{read.message}; with the old value, {what}"
                severity = read.severity if certain else "warning"
                return (replace(read, message=message, severity=severity),)
        return ()

    def _one_by_one(
        self, runs: Sequence[tuple[How, OneRun]], outcomes: Sequence[Sequence[Raw]]
    ) -> Iterator[tuple[How, OneRun]]:
        """Runs with old values in one load each, and after those of an order the run with all."""
        wrong = {how for how, run in runs if _consequence(run, outcomes, self.launch, self.names)}
        for how, every in sorted(runs, key=lambda run: run[0] not in wrong):
            for pc in sorted(every.loads)[:OLD_LOADS] if len(every.loads) > 1 else ():
                if self._affords(1):
                    yield how, self._run(replace(how, loads=frozenset((pc,))))
            yield how, every

    def _outcomes(self) -> list[list[Raw]]:
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


def _around(loads: Iterable[int]) -> list[int]:
    """Where a pause lets a load give an older value than it gives without."""
    return [pc for load in loads for pc in range(load, load + 1 + MOST_AFTER)]


def _consequence(
    old: OneRun, outcomes: Sequence[Sequence[Raw]], launch: Launch, names: tuple[str, ...]
) -> str:
    """What is wrong where loads gave old values; empty if nothing is known to be."""
    if old.errors:
        return f"line {old.errors[0].line} has a {old.errors[0].kind}"
    if not old.raw.ended:
        return ""
    what = [output_difference(group[0], old.raw, launch, names) for group in outcomes]
    return what[0] if what and all(what) else ""
