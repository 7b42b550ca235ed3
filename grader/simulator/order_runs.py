"""How a launch is run in other orders than the usual one, and what such a run gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grader import dataclass
from grader.launch import Finding
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.pauses import MOST_TRACED
from grader.simulator.schedules import found_in_order


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
        old_pause: whether a warp pauses, again, once a load has given an old value: core/run.py.
        whole_turns: whether turns are long, so that no warp is interrupted.
        traced: whether accesses are recorded: strong ones, of moved code all.
        machine: moved code, instead of the variant's.
    """

    schedule: int = 0
    loads: frozenset[int] = frozenset()
    new_values: bool = False
    pause: int | None = None
    short_pause: bool = False
    pause_changes: int = 0
    old_pause: int = 0
    whole_turns: bool = False
    traced: bool = False
    machine: Machine | None = None

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
            old_pause=self.old_pause,
            whole_turns=self.whole_turns,
            trace=MOST_TRACED if self.traced else 0,
            only_strong=self.traced and self.machine is None,
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
