"""Try whether lost updates have an effect: the launch runs without them, and with others.

Some programs may lose updates. A path to a root may be shortened less than it could be, a bound
that is improved until nothing changes is improved once more, and a hint where to search need not
be the newest one. Nothing in the code tells these from a counter that loses what it counts. The
outputs do: they are the same where each thread's read and write are one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.launch import Array, Finding, Launch
from grader.simulator.core.run import Machine, Raw
from grader.simulator.late import moved
from grader.simulator.lock_step import ONE_BY_ONE
from grader.simulator.order_runs import How, OneRun, OrderRuns
from grader.simulator.pauses import (
    MOST_TRACED,
    Access,
    Place,
    Thread,
    Traces,
    some_of,
    strong_accesses,
    writes_after_reads,
)
from grader.simulator.schedules import ABREAST, same_outputs

MOST_PAUSES = 8
"""The writes before which a thread pauses, so that it loses what all others write."""

MOST_LOSS_STEPS = 1 << 23
"""The warp instructions that all these runs may take."""

LOSS_RUNS = 30
"""How many runs there are, at most."""

IN_STEP = (How(ABREAST), How(first_wins=True), How(ABREAST, first_wins=True))
"""Runs in which several threads read a place before one of them writes it."""


def may_be_right(
    runs: OrderRuns,
    errors: Sequence[Finding],
    machine: Machine,
    pause: Callable[[Traces, int], How],
) -> bool:
    """Whether there are no errors but lost updates that have no effect.

    Args:
        runs: the runs of the launch; what is found out is kept there.
        errors: the errors.
        machine: the code that runs.
        pause: a run in which a thread pauses before an instruction.
    """
    if {f.kind for f in errors} != {"lost-update"}:
        return not errors
    if not runs.harmless:
        runs.left += min(LOSS_RUNS * runs.steps, MOST_LOSS_STEPS)
        trials = LossTrials(runs.usual, machine, runs.launch, runs.run_if_any)
        runs.harmless = trials.have_no_effect(pause)
    return runs.harmless


class LossTrials:
    """Runs of a launch that show whether its lost updates have an effect.

    Args:
        usual: the usual order.
        machine: the code that runs.
        launch: the launch.
        run: runs it; None where no steps are left.
    """

    def __init__(
        self, usual: Raw, machine: Machine, launch: Launch, run: Callable[[How], OneRun | None]
    ) -> None:
        self.usual, self.machine, self.launch, self.run = usual, machine, launch, run
        self.image = machine.image

    def have_no_effect(self, pause: Callable[[Traces, int], How]) -> bool:
        """Whether no output differs between runs that lose nothing and runs that lose updates.

        Args:
            pause: a run in which a thread pauses before an instruction.
        """
        if not any(isinstance(x, Array) and x.read_back for x in self.launch.args):
            return False
        for how in ONE_BY_ONE:
            raw = self.same(replace(how, traced=True))
            if raw is None or raw.traced > MOST_TRACED or self.loses(raw):
                return False
        runs = [self.same(replace(how, traced=True)) for how in (How(), *IN_STEP)]
        traces = [strong_accesses(raw, self.image) for raw in runs if raw is not None]
        if None in runs:
            return False
        writes = some_of(writes_after_reads(traces), self.image, MOST_PAUSES)
        if not all(self.same(how) is not None for how in self.in_short_turns(writes)):
            return False
        return all(
            self.same(replace(pause(traces, pc), short_pause=short)) is not None
            for pc in writes
            for short in ((False, True) if ".cas." in self.image.ops[pc] else (False,))
        )

    def in_short_turns(self, writes: Sequence[int]) -> list[How]:
        """Runs abreast in which turns end behind each fence, with a pause before each write, too.

        Several threads are then where a lock that they took in two steps should let in one.
        """
        code = moved(self.machine, self.machine.image.functions[0].name)
        if code is None or not any(i.stops for i in code.image.instructions):
            return []
        return [How(ABREAST, pause=pc, machine=code) for pc in (None, *writes)]

    def same(self, how: How) -> Raw | None:
        """A run with the usual outputs and no other error; None where that is not so."""
        one = self.run(how)
        if one is None or not one.raw.ended or any(f.kind != "lost-update" for f in one.errors):
            return None
        return one.raw if same_outputs(self.usual, one.raw, self.launch) else None

    def loses(self, raw: Raw) -> bool:
        """Whether a thread writes a place that another one wrote since it read there."""
        last: dict[Place, Access] = {}
        known: dict[tuple[Thread, Place], Access | None] = {}
        for a in strong_accesses(raw, self.image):
            key, newest = (a.thread, a.place), last.get(a.place)
            writes = a.overwrites and not self.image.ops[a.pc].startswith("red.")
            if writes and key in known and known[key] is not newest:
                return True
            if a.reads or a.takes:
                known[key] = newest
            if a.changes:
                last[a.place] = a
                known.update({key: a} if key in known else {})
        return False
