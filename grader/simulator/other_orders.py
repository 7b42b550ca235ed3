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
from itertools import product
from typing import Any

from numpy.typing import NDArray

from grader import replace
from grader.launch import Finding, Trace
from grader.simulator.core.bindings import ANOTHER_WARP
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decisions import Decisions
from grader.simulator.decode.image import Image, draws_and_changes
from grader.simulator.diagnose.branching import limited_reads
from grader.simulator.diagnose.merging import is_narrow, merge_findings, with_wider_pairs
from grader.simulator.interleavings import Pauses, given_up, old_value, pauses_before
from grader.simulator.late import (
    Late,
    late_accesses,
    late_report,
    may_be_late,
    moved,
    overlaps,
    pause_ends,
    some_moves,
)
from grader.simulator.lost_updates import found_between_lanes, lost_in_lock_step, may_be_right
from grader.simulator.order_runs import (
    LANE_ORDERS,
    MOST_PAUSES,
    How,
    OneRun,
    OrderRuns,
    around,
    as_warnings,
    consequence,
)
from grader.simulator.pauses import (
    Interruption,
    acts_on_reads,
    after,
    backward_order,
    before_next_read,
    contended,
    interruption,
    some_of,
    strong_accesses,
    writes_after_reads,
)
from grader.simulator.schedules import (
    ABREAST,
    BACKWARD,
    LONG_WAITS,
    ORDER_STEPS,
    ORDERS,
    chosen_orders,
    found_in_order,
    order_findings,
    reads_clocks,
    strong_loads,
    without_outputs,
)

OLD_SCHEDULES = (0, 6)
"""The orders that are run with old values: the usual one, that in which all run abreast, and then
the first one in which the other variant might give some."""

OLD_PAUSES = (1, 2)
"""When a thread that missed a write pauses again: at once, or after its next fence."""

FEW_STEPS = 1 << 12
"""The warp instructions of a launch that is run with such pauses, and in `Pauses.more`."""

OLD_LOADS = 6
"""The most loads that are tried one by one."""

MOST_LATE = 12
"""The most accesses that are made late, each in a run of its own."""


class OtherOrders(OrderRuns):
    """The runs of a launch that show what the usual order does not.

    Attributes:
        gives_old: whether loads gave old values without a pause.
        given: the runs with pauses in which they did.
        codes: the kernel with accesses moved, and with none.
    """

    gives_old = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.codes = dict[Late | None, Machine | None]()
        self.given: list[tuple[How, OneRun]] = []

    def findings(
        self, trace: Trace, machines: Sequence[Machine], schedules: int
    ) -> tuple[Finding, ...]:
        """The findings of a trace and those that other orders add.

        Args:
            trace: of the usual order.
            machines: as in `chosen_orders`.
            schedules: the number of orders that are asked for; 0 for those that the kernel needs.
        """
        self.machine, image = machines[-1], machines[-1].image
        may_run = self.usual.steps <= ORDER_STEPS
        may_run = may_run and self._may_be_right(trace.errors)
        asked: Sequence[int] = chosen_orders(machines, self.usual.observed) if may_run else ()
        if schedules:
            asked, self.left = range(1, schedules + 1), max(schedules, 2) * self.most
        loads = strong_loads(image) if may_run else frozenset[int]()
        findings, old = trace.findings, list[int]()
        self.timed = reads_clocks(image)
        self.limited = limited_reads(image) if asked and image.waits else {}
        beside = ORDERS if loads and {*asked} <= {BACKWARD} else ()
        for schedule in dict.fromkeys((*asked, *beside)):
            enough = self.affords(2 if old else 1) or schedules
            if not (enough and (old or schedule in (ABREAST, *asked))):
                break
            raw, found, may_be_old = self.order(schedule)
            findings = merge_findings(findings, found)
            self.others.append(raw)
            self.note(raw, schedule)
            old += [schedule] if may_be_old else []
        if may_run and not (image.waits or any(f.severity == "error" for f in findings)):
            findings += self.races_of_lanes()
        for schedule in LONG_WAITS if asked and self.timed else ():
            if self.affords(1):
                findings = merge_findings(findings, self.order(schedule)[1])
        errors = [f for f in findings if f.severity == "error"]
        differ = any(found - self.forests for _, found in self.differ)
        if may_run and not differ and self._may_be_right(errors):
            findings = as_warnings(findings)
        if trace.errors and not asked:
            return self._with_wider_pairs(findings, machines)
        if not may_run or any(f.severity == "error" for f in findings):
            return findings
        reads = self._wrong_reads(self._with_old_values(loads, old)) if loads else ()
        more = reads or self._with_pauses(machines[-1], loads)
        wrong = {f.variable for f in more if f.severity == "error"}  # its updates are lost so
        kept = (f for f in findings if f.kind != "lost-update" or f.variable not in wrong)
        return (*kept, *more)

    def _with_wider_pairs(
        self, findings: tuple[Finding, ...], machines: Sequence[Machine]
    ) -> tuple[Finding, ...]:
        """The findings, those of two threads of a block as of two blocks where these race too.

        In the usual order a block may have waited for what another one did by chance. In a
        cooperative launch the barrier of all blocks ends both races.
        """
        may_run = self.launch.cooperative and self.usual.steps <= ORDER_STEPS
        orders = chosen_orders(machines) if may_run else ()
        for schedule in orders:
            if not self.affords(1) or not any(map(is_narrow, findings)):
                break
            findings = with_wider_pairs(findings, self.order(schedule)[1])
        return findings

    def differences(self) -> tuple[Finding, ...]:
        """A finding for each output that differs between orders."""
        return order_findings(self.usual, self.others, self.launch, self.names)

    def outputs(self) -> dict[int, NDArray[Any]]:
        """By argument, an output that another order leaves, if one differs by more than rounding.

        The orders run the variant that finds most: here the optimized one, which the GPU runs.
        """
        for schedule, differ in self.differ:
            if differ - self.kept.keys() and self.affords(1):
                self.keep(self.run(How(schedule)).raw)
        return self.kept

    def _with_old_values(
        self, loads: frozenset[int], schedules: Sequence[int]
    ) -> list[tuple[How, OneRun]]:
        """The orders in which some of the loads missed a write, each with its run."""
        for x in () if self.timed or not self.affords(len(LANE_ORDERS)) else LANE_ORDERS:
            self.keep(self.run(How(whole_turns=True, lane_order=x)).raw)  # lanes read unordered
        # Whether the usual order gives loads an old value is known from such a run alone.
        orders = dict.fromkeys((*OLD_SCHEDULES, *schedules[:1]) if schedules else (0,))
        self.gives_old = bool(runs := self._with_reads(How(s, loads) for s in orders))
        return runs

    def _with_reads(self, hows: Iterable[How]) -> list[tuple[How, OneRun]]:
        """The runs in which loads gave old values, of some that are made."""
        return [(how, r) for how in hows if self.affords(1) and (r := self.run(how)).reads]

    def _first_wrong(self, hows: Iterable[How]) -> list[tuple[How, OneRun]]:
        """The first run that is wrong, if one is, of some in which loads may give old values."""
        for how in hows:
            for pair in self._with_reads([how]):
                if found := [*self._certain(*pair)]:
                    return found
        return []

    def _with_pauses(self, machine: Machine, loads: frozenset[int]) -> tuple[Finding, ...]:
        """The findings of runs in which a thread pauses, or makes an access late and pauses.

        Args:
            machine: the optimized variant.
            loads: those that may give old values while a thread pauses.
        """
        acts, orders = acts_on_reads(machine.image), may_be_late(machine.image)
        tells = self.usual.observed & ANOTHER_WARP or draws_and_changes(machine.image)
        if not (acts or orders or tells) or not self.affords(1):
            return ()
        hows = [How(s, traced=True) for s in OLD_SCHEDULES]
        hows += [How(backward_order(self.launch), whole_turns=True, traced=True)]
        runs = [self.run(how) for how in hows]
        traces = [strong_accesses(run.raw, machine.image) for run in runs]
        wanted, writes = contended(traces), writes_after_reads(traces)
        code, usual = machine.image, runs[0].raw
        ask = (usual, code, self.run, without_outputs(self.launch, self.forests), self.names)
        if acts and not self.timed and (lost := lost_in_lock_step(*ask)):
            return self._with_fix(usual, machine.image, *lost)
        pauses = Pauses(traces, machine, self.launch)
        found = self._interrupted(machine, pauses, writes) if acts else ()
        tried = some_of(wanted, machine.image, MOST_PAUSES)
        found = found or self._paused(pauses.from_both_ends(tried))
        if not found and (split := pauses.between_sections(self)):
            return self._with_fix(split[0], code, *split[1:])
        few = self.usual.steps <= FEW_STEPS and not (self.timed or self.limited)
        found = found or self._paused(pauses.in_the_middle(wanted) if few else ())
        found = found or given_up(self, code, [pauses.before(pc) for pc in writes])
        found = found or (self._late(machine, pauses, wanted) if orders else ())
        found = found or found_between_lanes(self, code, traces, pauses.before)
        found = found or (self._old_with_pauses(pauses, wanted, loads) if loads else ())
        found = found or (self._late(machine, pauses, wanted, stops=True) if orders else ())
        again = loads and self.usual.steps <= FEW_STEPS and not found
        return found or (self._old_with_pauses(pauses, wanted, loads, again=True) if again else ())

    def _interrupted(
        self, machine: Machine, pauses: Pauses, writes: Sequence[int]
    ) -> tuple[Finding, ...]:
        """The findings of runs in which a thread pauses between a read and a write of a place."""
        for pc, pause in pauses_before(writes, machine.image, self.timed):
            if not self.affords(1):
                break
            how = pauses.before(pc)
            paused = replace(pause, schedule=how.schedule, whole_turns=how.whole_turns)
            run = self.run(replace(paused, traced=True))
            found = interruption(run.raw, machine.image)
            errors = not self._may_be_right(run.errors)
            if errors and not (found and found.of_list):
                return found_in_order(run.raw, run.found)
            self.keep(run.raw)
            # A pause takes time, so that outputs may differ where clocks are read.
            what = consequence(run, [] if self.timed else [[self.usual]], self.launch, self.names)
            if not (found and what):
                continue
            apart = [found.read, *before_next_read(pc, pauses.traces, machine.image)]
            if errors or (self.is_one_result() and not self.depends(how, apart)):
                return self._with_fix(run.raw, machine.image, found, what)
        return ()

    def _paused(self, hows: Iterable[How]) -> tuple[Finding, ...]:
        """The first errors of some runs in which a thread pauses."""
        for how in hows:
            if not self.affords(1):
                break
            run = self.run(how)
            if not self._may_be_right(run.errors):
                return found_in_order(run.raw, run.found)
            self.paused.append(run.raw)
            self.keep(run.raw)
        return ()

    def _late(
        self, machine: Machine, pauses: Pauses, wanted: Sequence[int], *, stops: bool = False
    ) -> tuple[Finding, ...]:
        """The finding of an access that makes the kernel wrong where it is late."""
        for late, how, run in self._late_runs(machine, pauses, wanted, stops):
            if overlaps(run.raw, late) or not self.is_wrong(run):
                continue
            if not self.judges_all() and not self.is_wrong(run):
                continue
            what = self.consequence(run)
            apart = [late.access, late.passed, *after(late.passed, machine.image)]
            if run.errors:
                certain = not any(self.run(replace(how, pause=pc)).errors for pc in apart)
            else:
                certain = bool(what) and not self.depends(how, apart)
            if what and certain:
                report = late_report(pauses.traces, late, machine.image)
                return self._explained(self.usual, report, what)
        return ()

    def _explained(self, raw: Raw, report: NDArray[Any], what: str) -> tuple[Finding, ...]:
        (finding,) = self.runs.explain(raw, report)
        return (replace(finding, message=f"{finding.message}; then {what}"),)

    def _with_fix(
        self, raw: Raw, image: Image, lost: Interruption, what: str
    ) -> tuple[Finding, ...]:
        """The finding of a lost update; with both of its accesses in one step, nothing is lost."""
        (finding,) = self._explained(raw, lost.report, what)
        fix = lost.fix or Decisions(image).fix(lost.read, lost.write, finding.variable or "")
        return (replace(finding, hint=fix or finding.hint),)

    def _late_runs(
        self, machine: Machine, pauses: Pauses, wanted: Sequence[int], stops: bool
    ) -> Iterator[tuple[Late, How, OneRun]]:
        """Moves of accesses, their runs, and how the code runs that nothing moves in."""
        f = machine.module.functions[machine.image.functions[0].name]
        chosen = some_moves(late_accesses(f, frozenset(wanted)), machine.image, MOST_LATE)
        ends = pause_ends(machine, few=self.usual.steps <= FEW_STEPS, stops=stops)
        for (n, pc), late in product(ends, chosen):
            code = self._moved(machine, late) if self.affords(1) else None
            for how in pauses.at(late.access) if code is not None else ():
                how = replace(how, pause_changes=n, pause_until=pc, machine=self._moved(machine))
                run = self.run(replace(how, pause=late.pause, traced=True, machine=code))
                yield late, how, run

    def _moved(self, machine: Machine, late: Late | None = None) -> Machine | None:
        if late not in self.codes:
            self.codes[late] = moved(machine, machine.image.functions[0].name, late)
        return self.codes[late]

    def _may_be_right(self, errors: Sequence[Finding]) -> bool:
        """Whether there are no errors but lost updates that have no effect."""
        return may_be_right(self, errors, self.machine)

    def _old_with_pauses(
        self, pauses: Pauses, wanted: Sequence[int], loads: frozenset[int], *, again: bool = False
    ) -> tuple[Finding, ...]:
        """The finding of a load whose old value, while a thread pauses, makes the kernel wrong.

        Args:
            pauses: the pauses of the launch.
            wanted: the accesses before which threads pause.
            loads: those that may give old values.
            again: whether other threads pause, too, and some of them twice.
        """
        few = self.usual.steps <= FEW_STEPS
        first = (
            pauses.more_of_old_values(wanted) if again else pauses.of_old_values(wanted, few=few)
        )
        given = self._with_reads(replace(how, loads=loads) for how in first)
        then = [replace(how, old_pause=kind) for how, _ in given for kind in OLD_PAUSES]
        self.given += given
        for how, run in self.given if again else ():
            then += [] if how.pause_changes else pauses.twice(how, run.loads, wanted)
        given += self._with_reads(then)
        runs = [(how, run) for how, run in given if self.is_wrong(run)]
        if not (self.given or self.gives_old):
            return ()
        if runs and not self.judges_all():
            runs = [pair for how, run in runs for pair in self._certain(how, run)]
        if not runs and few:
            self.judges_all()
            same = self._moved(self.machine)
            more = pauses.around_fences(wanted) if again else pauses.more()
            runs = self._first_wrong(replace(how, loads=loads, machine=same) for how in more)
        return self._wrong_reads(runs)

    def _certain(self, how: How, run: OneRun) -> Iterator[tuple[How, OneRun]]:
        """A wrong run; where outputs vary, of loads whose place no other load chose."""
        if run.errors or (self.judges_all() and self.is_wrong(run)):
            yield how, run
        elif self.is_wrong(run):
            decisions = Decisions(self.machine.image)
            how = replace(how, loads=frozenset(x for x in how.loads if not decisions.is_chosen(x)))
            yield from (pair for pair in self._with_reads([how]) if self.is_wrong(pair[1]))

    def _wrong_reads(self, runs: Sequence[tuple[How, OneRun]]) -> tuple[Finding, ...]:
        """The finding of the load whose old value makes the kernel wrong, if one's does."""
        for how, run in self._one_by_one(runs):
            what = run.reads and self.consequence(run)
            if what and (run.errors or not self.depends(how, around(run.loads), run.raw)):
                certain = bool(run.errors) or self.compared or len(self.outcomes()) == 1
                every = [(replace(how, loads=run.loads), run), *runs]
                return (old_value(self, self.machine, run, every, what, certain=certain),)
        return ()

    def _one_by_one(self, runs: Sequence[tuple[How, OneRun]]) -> Iterator[tuple[How, OneRun]]:
        """Runs with old values in one load each, and after those of an order the run with all."""
        wrong = {how for how, run in runs if self.consequence(run)}
        for how, every in sorted(runs, key=lambda run: run[0] not in wrong):
            for pc in sorted(every.loads)[:OLD_LOADS] if len(every.loads) > 1 else ():
                if self.affords(1):
                    yield how, self.run(replace(how, loads=frozenset((pc,))))
            yield how, every
