"""Run a launch in other orders than the usual one, and with old values.

Every order of the simulator is sequentially consistent: a load gives the newest value. A GPU's
memory is weaker: PTX may allow a relaxed or volatile load to give the value before, which no order
of blocks and warps explains (core/watch/old_values.c). A kernel with such loads runs again, and
they give these old values: in the usual order, and in others whose runs show that there are some.
It is wrong where an error follows, or an output that no order gives. The loads are then tried one
by one, so that the finding names the one that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from grader import dataclass
from grader.launch import Finding, Launch, Trace
from grader.simulator.core.run import Machine, Raw
from grader.simulator.diagnose.merging import merge_findings
from grader.simulator.schedules import (
    ORDER_STEPS,
    ORDERS,
    chosen_orders,
    found_in_order,
    most_steps,
    order_findings,
    output_difference,
    strong_loads,
)

OLD_SCHEDULES = (0, 6)
"""The orders that are run with old values: the usual one, that in which all run abreast, and then
the first one in which the other variant might give some."""

OLD_LOADS = 6
"""The most loads that are tried one by one."""

LEAST_ORDERS = 2
"""In so many other orders a launch has to end before an output tells that old values are wrong."""


@dataclass(frozen=True)
class OldRun:
    """A run in which loads gave old values.

    Attributes:
        raw: the run.
        found: what was found beside them.
        reads: a finding for each load and the write that it missed.
        loads: the program counters of these loads.
    """

    raw: Raw
    found: tuple[Finding, ...]
    reads: tuple[Finding, ...]
    loads: frozenset[int]

    @property
    def errors(self) -> list[Finding]:
        """The errors that follow from the old values."""
        return [f for f in found_in_order(self.raw, self.found) if f.severity == "error"]


@dataclass(frozen=True)
class Runs:
    """How a launch is run, with so many steps.

    Attributes:
        order: in an order; returns also whether loads might give old values.
        old: in an order, and some loads give old values where they may.
    """

    order: Callable[[int, int], tuple[Raw, tuple[Finding, ...], bool]]
    old: Callable[[int, int, frozenset[int]], OldRun]


class OtherOrders:
    """The runs of a launch in other orders than the usual one.

    Attributes:
        usual: the usual run.
        steps: warp instructions of the first variant in it.
        most: those that one other run may take.
        left: those that all other runs may still take.
        others: the runs in other orders so far.
    """

    def __init__(
        self, usual: Raw, steps: int, most: int, launch: Launch, names: tuple[str, ...], runs: Runs
    ) -> None:
        self.usual, self.steps, self.most = usual, steps, most
        self.launch, self.names, self.runs = launch, names, runs
        self.others: list[Raw] = []
        self.left = most_steps(steps)

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
            old += [schedule] if may_be_old else []
        if not loads or any(f.severity == "error" for f in findings):
            return findings
        return findings + self._wrong_reads(self._with_old_values(loads, old))

    def differences(self) -> tuple[Finding, ...]:
        """A finding for each output that differs between orders."""
        return order_findings(self.usual, self.others, self.launch, self.names)

    def _with_old_values(
        self, loads: frozenset[int], schedules: Sequence[int]
    ) -> list[tuple[int, OldRun]]:
        """The orders in which some of the loads missed a write, each with its run."""
        # Whether the usual order gives loads an old value is known from such a run alone.
        orders = dict.fromkeys((*OLD_SCHEDULES, *schedules[:1]) if schedules else (0,))
        runs = [(s, self._old(s, loads)) for s in orders if self._affords(1)]
        return [(schedule, run) for schedule, run in runs if run.reads]

    def _affords(self, runs: int) -> bool:
        return self.left >= runs * self.steps

    def _old(self, schedule: int, loads: frozenset[int]) -> OldRun:
        run = self.runs.old(min(self.most, self.left), schedule, loads)
        self.left -= run.raw.steps
        return run

    def _wrong_reads(self, runs: Sequence[tuple[int, OldRun]]) -> tuple[Finding, ...]:
        """The finding of the load whose old value makes the kernel wrong, if one's does."""
        outcomes = self._outcomes()
        for run in self._one_by_one(runs, outcomes):
            if run.reads and (what := _consequence(run, outcomes, self.launch, self.names)):
                read, certain = run.reads[0], run.errors or len(outcomes) == 1
                message = f"{read.message}; with the old value, {what}"
                severity = read.severity if certain else "warning"
                return (replace(read, message=message, severity=severity),)
        return ()

    def _one_by_one(
        self, runs: Sequence[tuple[int, OldRun]], outcomes: Sequence[Sequence[Raw]]
    ) -> Iterator[OldRun]:
        """Runs with old values in one load each, and after those of an order the run with all."""
        wrong = {s for s, run in runs if _consequence(run, outcomes, self.launch, self.names)}
        for schedule, every in sorted(runs, key=lambda run: run[0] not in wrong):
            for pc in sorted(every.loads)[:OLD_LOADS] if len(every.loads) > 1 else ():
                if self._affords(1):
                    yield self._old(schedule, frozenset((pc,)))
            yield every

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


def _consequence(
    old: OldRun, outcomes: Sequence[Sequence[Raw]], launch: Launch, names: tuple[str, ...]
) -> str:
    """What is wrong where loads gave old values; empty if nothing is known to be."""
    if old.errors:
        return f"line {old.errors[0].line} has a {old.errors[0].kind}"
    if not old.raw.ended:
        return ""
    what = [output_difference(group[0], old.raw, launch, names) for group in outcomes]
    return what[0] if what and all(what) else ""
