"""Try whether a barrier at a place ends a race: the program runs with it.

Where two accesses share a loop, the text does not tell whether a barrier is missing between them or
before the next round. The debug code has the places of the source, so that a barrier can be put
there: no hint names a place that was tried and left the race.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from grader.simulator.core import bindings as c
from grader.simulator.core.bindings import core
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decode.module import decode
from grader.simulator.diagnose.barriers import BARRIER_KINDS
from grader.simulator.diagnose.kernel_code import source_lines
from grader.simulator.diagnose.places import Gap
from grader.simulator.diagnose.races import ACROSS_BLOCKS, WITHIN_WARP, Report
from grader.simulator.ptx.call_copies import original_name
from grader.simulator.ptx.model import Function, Instruction, Location, Module, root_lines

MOST_STEPS = 1 << 18
"""The warp instructions of a run that is repeated."""
MOST_TRIALS = 6
"""The places that are tried in one run's code."""

Rounds = Callable[[Machine], Raw]


class BarrierTrials:
    """Runs of one kernel's debug code with a barrier more.

    Args:
        machine: the kernel.
        module: the module that it was decoded from.
        raw: the run that found the races.
        run: runs a machine.
    """

    def __init__(self, machine: Machine, module: Module, raw: Raw, run: Rounds) -> None:
        self.machine, self.module, self.run = machine, module, run
        self.left = MOST_TRIALS if raw.ended and raw.steps <= MOST_STEPS else 0
        self.known: dict[object, bool | None] = {}
        self.stuck = _breaks_barriers(raw)

    def orders(self, gap: Gap, r: Report) -> bool | None:
        """Whether a barrier at the place of a gap ends a race; None where that was not tried.

        Args:
            gap: the gap, of two lines of one function.
            r: the report of the race.
        """
        warp, lines = r.has(WITHIN_WARP), frozenset((r.line, r.line2))
        key = gap.apart, gap.forward, gap.first, gap.then, warp, lines
        if key not in self.known:
            self.known[key] = self._try(gap, r, lines, warp=warp)
        return self.known[key]

    def _try(self, gap: Gap, r: Report, lines: frozenset[int], *, warp: bool) -> bool | None:
        if not self.left or self.stuck or r.has(ACROSS_BLOCKS) or not any(gap.apart):
            return None
        found = self._place(gap)
        if found is None:
            return None
        function, place = found
        self.left -= 1
        changed = with_barrier(function, place, warp=warp)
        module = replace(self.module, functions={**self.module.functions, function.name: changed})
        kernel = self.machine.image.functions[0].name
        image = decode(module, kernel, core().known, definedness=True)
        raw = self.run(Machine(module, image))
        at = source_lines(image)

        def races(x: Any) -> bool:
            pcs = int(x["pc"]), int(x["pc2"])
            inside = max(pcs) < len(at) and not int(x["flags"]) & ACROSS_BLOCKS
            return int(x["kind"]) == c.RACE and inside and {at[pc] for pc in pcs} == set(lines)

        if not raw.ended or _breaks_barriers(raw):
            return False
        return not any(map(races, raw.reports))

    def _place(self, gap: Gap) -> tuple[Function, int] | None:
        """The function with the place of a gap, and the index there; None where it is not known."""
        names = (original_name(f.name) for f in self.machine.image.functions)
        for name in dict.fromkeys(names):
            function = self.module.functions.get(name)
            if function is not None and (place := _place(function, gap)) is not None:
                return function, place
        return None


def _breaks_barriers(raw: Raw) -> bool:
    """Whether a run has a finding about barriers."""
    return any(int(kind) in BARRIER_KINDS for kind in raw.reports["kind"])


def _place(function: Function, gap: Gap) -> int | None:
    """The index in a function's code of the place of a barrier; None where it is not known."""
    lines = [*root_lines(i.location for i in function.body)]
    behind, before = gap.apart
    if not {gap.first, gap.then}.issubset(lines):
        return None
    if gap.forward:
        found = [k for k, line in enumerate(lines) if line == before]
        return found[0] if found and behind < before else None
    first = min(before, gap.first, gap.then)
    found = [k for k, line in enumerate(lines) if first <= line <= behind]
    return found[-1] + 1 if found and found[-1] + 1 < len(lines) else None


def with_barrier(function: Function, place: int, *, warp: bool) -> Function:
    """A function with a barrier before an instruction, which jumps to that one reach, too.

    Args:
        function: the function.
        place: the instruction's index.
        warp: whether it is a barrier of the warp.
    """
    op, operand = ("bar.warp.sync", "0xffffffff") if warp else ("bar.sync", "0")
    line = function.body[place].location
    new = Instruction(op, [operand], None, Location(line.file, line.line))
    body = [replace(i) for i in function.body]  # decoding changes instructions
    labels = {name: at + (at > place) for name, at in function.labels.items()}
    return replace(function, body=[*body[:place], new, *body[place:]], labels=labels)
