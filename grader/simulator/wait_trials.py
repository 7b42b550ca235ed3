"""Find what is wrong with waits and arrivals, by further runs.

A race or an endless wait behind an mbarrier does not show whether a barrier of the block is
missing or one of these is wrong: a wait whose result is not tested, or an arrival of a thread that
has left the barrier. A run without that, and without any finding, shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader import regex
from grader.launch import WARP_SIZE, Launch
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.memory import SHARED
from grader.simulator.diagnose.aborts import Arrivals, arrivals
from grader.simulator.diagnose.copies import GROUP_LEFT, NOT_COMMITTED, WHY_BITS
from grader.simulator.diagnose.mbarriers import constant_parities, never_awaited
from grader.simulator.diagnose.races import ACROSS_BLOCKS, IN_FLIGHT, WITHIN_WARP, Report
from grader.simulator.edited_code import (
    MOST_STEPS,
    behind,
    changed_machine,
    function_of,
    most_trials,
    with_commit,
    with_ops,
    with_other_parity,
    with_retries,
)
from grader.simulator.ptx.call_copies import original_name
from grader.simulator.ptx.model import Function, Instruction, root_lines

if TYPE_CHECKING:
    from grader.simulator.diagnose.kernel_code import KernelCode

MOST_TRIALS = 4
"""The waits, and the arrivals, that are tried."""

MOST_TRACED = 1 << 16
"""The accesses that are recorded to know which blocks came to a place."""

_WAITS = ("mbarrier.try_wait", "mbarrier.test_wait")
_COPIES, _COMMIT = ("cp.async.ca", "cp.async.cg"), "cp.async.commit_group"
_DROP, _GROUP = "mbarrier.arrive_drop", "cp.async.wait_group"
_WHERE = ("at", "bytes", "block", "thread", "phase", "space", "buffer")
_REGISTER, _NEAR = regex(r"%r\d+"), 6
"""A register of 32 bits, and how many instructions a value precedes the one that passes it by."""
_WORD, _NOBODY = 4, 1 << 62
_HARMLESS = {c.OLD_VALUE, c.EARLY_EXIT}


def arrivals_of(
    machine: Machine, code: KernelCode, launch: Launch, limits: Limits
) -> dict[int, Arrivals]:
    """By line with an atomic, which blocks came there, where they did not equally often.

    Args:
        machine: the kernel.
        code: what is read of its code.
        launch: the launch.
        limits: what one more run may take.
    """
    limits = replace(limits, trace=MOST_TRACED, only_strong=True, proof=False)
    seen = machine.run(launch, limits, count=False).accesses
    is_atomic = np.array([op.startswith(("atom", "red")) for op in code.image.ops])
    if seen is None or not seen.size or max(seen["pc"]) >= len(is_atomic):
        return {}
    return arrivals(seen[is_atomic[seen["pc"]]], code.line_of, launch.grid)


class Conflicts:
    """The accesses of one run, which show between which threads places conflict.

    Args:
        machine: the kernel.
        launch: the launch.
        limits: what one more run may take.
    """

    def __init__(self, machine: Machine, launch: Launch, limits: Limits) -> None:
        self.machine, self.launch = machine, launch
        self.limits = replace(limits, trace=MOST_TRACED, proof=False)

    @cached_property
    def accesses(self) -> NDArray[np.void]:
        """The accesses, as many as are recorded."""
        seen = self.machine.run(self.launch, self.limits, count=False).accesses
        return np.empty(0, c.ACCESS) if seen is None else seen

    def reach(self, r: Report) -> int:
        """The flag of a race between the threads farthest from each other that conflict there.

        Threads conflict that access one word with no barrier between, in the two places of a race.
        Those of two blocks count where a barrier of all blocks may order them.

        Args:
            r: the report of a race between two threads of a block.
        """
        grid = self.launch.cooperative and r.target.space == "global"
        if grid and (r.has(ACROSS_BLOCKS) or self._meet(r, block=False)):
            return ACROSS_BLOCKS
        if not r.has(WITHIN_WARP):
            return 0
        warps = prod(self.launch.block) > WARP_SIZE
        return 0 if warps and self._meet(r, block=True) else WITHIN_WARP

    def exchanged(self, r: Report) -> bool:
        """Whether a warp reads an element of a race's shared variable that another one wrote.

        Not where lanes of a warp synchronize: then warps may use the variable in parts.
        """
        ops = self.machine.image.ops
        if r.target.space != "shared" or any(op.startswith("bar.warp") for op in ops):
            return False
        start, wrote = r.address - r.target.offset, dict[tuple[int, int], int]()
        own = self.accesses[self.accesses["space"] == SHARED]
        own = own[np.argsort(own["phase"], kind="stable")]
        for at, block, thread, pc in own[["at", "block", "thread", "pc"]].tolist():
            if not start <= at < start + r.target.size:
                continue
            element, warp = (block, at // _WORD), thread // WARP_SIZE
            if not ops[pc].startswith("ld"):
                wrote[element] = warp
            elif wrote.get(element, warp) != warp:
                return True
        return False

    def _meet(self, r: Report, *, block: bool) -> bool:
        """Whether warps of one `block`, or several blocks, access one word in both places."""
        places = [self._words(pc, block=block) for pc in (r.pc, r.pc2)]
        word, *among, who = (np.concatenate(parts) for parts in zip(*places, strict=True))
        number = np.unique(word, return_inverse=True)[1]
        for column in among:  # accesses have one number at last where all of these are equal
            if column.size and column.min() < column.max():
                number = np.unique(number << 32 | column, return_inverse=True)[1]
        count = int(number.max(initial=-1)) + 1
        in_both = np.ones(count, bool)
        for own in np.split(number, [len(places[0][-1])]):
            in_both &= np.bincount(own, minlength=count) > 0
        least, most = np.full(count, _NOBODY), np.full(count, -1)
        np.minimum.at(least, number, who)
        np.maximum.at(most, number, who)
        return bool((in_both & (least < most)).any())

    def _words(self, pc: int, *, block: bool) -> tuple[NDArray[np.int64], ...]:
        """The words of each access, what else is equal where two conflict, and who accesses.

        Equal are the place between two barriers, the array, and the `block`, whose warps access.
        """
        own = self.accesses[self.accesses["pc"] == pc]
        rows = {name: own[name].astype(np.int64) for name in _WHERE}
        first = rows["at"] // _WORD
        counts = (rows["at"] + rows["bytes"] - 1) // _WORD + 1 - first
        which = np.repeat(np.arange(len(own)), counts)
        word = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        who = rows["thread"] // WARP_SIZE if block else rows["block"]
        among = rows["phase"], rows["space"], rows["buffer"], rows["block"] * block, who
        return word, *(column[which] for column in among)


class WaitTrials:
    """Runs of one kernel's debug code with other waits, arrivals and commits.

    Args:
        machine: the kernel.
        code: what is read of its code.
        run: runs a machine in the order of the findings, or in another one.
    """

    def __init__(
        self, machine: Machine, code: KernelCode, run: Callable[[Machine, int], Raw]
    ) -> None:
        self.machine, self.code, self.run = machine, code, run

    def cause(self, raw: Raw) -> str:
        """The fix of all that a run has found; empty where none is known.

        Args:
            raw: the run.
        """
        if any(map(self._is_below_zero, raw.reports)):
            return (
                "A latch is counted below 0. Initialize it with the number of all arrivals "
                "(count_down, arrive_and_wait), and use it once: it has no second phase."
            )
        ops = self.machine.image.ops
        if not any(op.startswith((*_WAITS, _GROUP)) for op in ops):
            return ""
        if set(map(int, raw.reports["kind"])) <= _HARMLESS:
            return ""
        trials = self._trials(raw) if raw.steps <= MOST_STEPS else iter(())
        clean = (text for machine, text in trials if self._is_clean(machine()))
        own = self.code.variables.tree, self.code.lines, {*self.code.line_of}
        if (known := next(clean, "")) or not any(op.startswith(_WAITS) for op in ops):
            return known
        parity = any(op.startswith(_WAITS) and ".parity" in op for op in ops)
        elsewhere = any(map(_is_elsewhere, raw.reports))
        known = next(constant_parities(*own), "") if parity else ""
        return known or ("" if elsewhere else never_awaited(*own))

    def _trials(self, raw: Raw) -> Iterator[tuple[Callable[[], Machine | None], str]]:
        """The runs to try, each with what it shows if it has no finding."""
        ops, most = self.machine.image.ops, most_trials(self.machine.image, MOST_TRIALS)
        untested = [
            pc for pc, op in enumerate(ops) if op.startswith(_WAITS) and not self._repeats(pc)
        ]
        for pc in untested[:most]:
            yield (
                partial(self._changed, with_retries, pc),
                f"Line {self._line(pc)} goes on before the phase has ended: try_wait and test_wait "
                "may return false at once. Repeat the call until it returns true. A run with that "
                "has no finding.",
            )
        for pc in [pc for pc, op in enumerate(ops) if op.startswith(_DROP)][:most]:
            yield (
                partial(with_ops, self.machine, {pc: ops[pc].replace("arrive_drop", "arrive")}),
                f"A thread leaves the barrier in line {self._line(pc)} (arrive_and_drop), and "
                f"arrives at it again later. Let it arrive without leaving in line "
                f"{self._line(pc)}, or not arrive after it. A run with the first has no finding.",
            )
        groups = [pc for pc, op in enumerate(ops) if op == _GROUP]
        for pc in groups[: most * any(_why(r) == NOT_COMMITTED for r in raw.reports)]:
            yield (
                partial(self._changed, with_commit, pc),
                f"The wait of line {self._line(pc)} covers committed copies only. Commit the "
                "copies between the last of them and this wait (__pipeline_commit(), "
                "producer_commit(), cp.async.commit_group). A run with that has no finding.",
            )
        left = {self._line(int(r["pc2"])) for r in raw.reports if _why(r) == GROUP_LEFT}
        for line, then in [*self._uncommitted(left)][:most]:
            yield (
                partial(self._committed, line),
                f"The copies of line {line} and line {then} are in one group, which the wait lets "
                f"stay in flight: no commit is between them. Commit the copies of line {line} "
                f"before line {then} (__pipeline_commit(), cp.async.commit_group). A run with that "
                "has no finding.",
            )
        for function, at, operand in [*self._parities()][:most]:
            line = [*root_lines(i.location for i in function.body)][at]
            yield (
                partial(changed_machine, self.machine, with_other_parity(function, at, operand)),
                f"Line {line} waits for the parity of another phase than the one that it needs. "
                "Exchange parity 0 and 1 in this wait. A run with that has no finding.",
            )

    def _parities(self) -> Iterator[tuple[Function, int, int]]:
        """The kernel's waits for a parity in a register, or what it passes to functions that wait.

        Each with the index of the instruction and of the operand.
        """
        functions = self.machine.module.functions
        own = functions.get(original_name(self.machine.image.functions[0].name))
        waits = {k for k, f in functions.items() if any(map(_takes_parity, f.body))}
        if own is None:
            return
        for at, i in enumerate(own.body):
            then = own.body[at + 1] if at + 1 < len(own.body) else i
            passed = i.op.startswith("st.param") and then.op.startswith("call")
            if _takes_parity(i) and _REGISTER.fullmatch(i.operands[2]):
                yield own, at, 2
            elif not passed or waits.isdisjoint(then.operands):
                continue
            elif _REGISTER.fullmatch(i.operands[-1]):
                yield own, at, -1
            elif (kept := _kept_before(own, at)) is not None:
                yield own, kept, -1

    def _is_below_zero(self, r: Any) -> bool:
        """Whether a report is that of a wait for a cuda::latch with a negative count."""
        instructions, pc = self.machine.image.instructions, int(r["pc"])
        waits = int(r["kind"]) == c.STANDSTILL and pc < len(instructions)
        return waits and bool(int(r["extra"]) >> 31) and "latch" in instructions[pc].via

    def _repeats(self, pc: int) -> bool:
        flow = self.code.flow
        return flow.values.blocks.get(pc) in flow.controlled(flow.loaded(pc))

    def _line(self, pc: int) -> int:
        """The line of an instruction, or of the only call that leads to it."""
        calls = self.code.calls.leading_to(pc, self.code.lines)
        return calls[0].line if calls else self.code.line_of[pc]

    def _changed(self, change: Callable[[Function, int], Function], pc: int) -> Machine | None:
        """The machine with a change at an instruction; None where its place is not known."""
        found = function_of(self.machine, pc)
        return found and changed_machine(self.machine, change(*found))

    def _uncommitted(self, lines: Collection[int]) -> Iterator[tuple[int, int]]:
        """Of the lines of some copies those behind which another copy is next, with its line."""
        ops = [*enumerate(self.machine.image.ops)]
        commits = self.code.calls.lines_to(pc for pc, op in ops if op == _COMMIT)
        copies = self.code.calls.lines_to(pc for pc, op in ops if op.startswith(_COPIES))
        for line in sorted(lines):
            then = min((x for x in copies | commits if x > line), default=0)
            if line not in commits and then in copies - commits:
                yield line, then

    def _committed(self, line: int) -> Machine | None:
        """The machine with a commit behind a line of the kernel; None if it has none."""
        kernel = original_name(self.machine.image.functions[0].name)
        function = self.machine.module.functions[kernel]
        lines = [*root_lines(i.location for i in function.body)]
        own = [k for k, at in enumerate(lines) if at == line]
        place = behind(function, own) if own else len(lines)
        return (
            changed_machine(self.machine, with_commit(function, place))
            if place < len(lines)
            else None
        )

    def _is_clean(self, machine: Machine | None) -> bool:
        if machine is None:
            return False
        raw = self.run(machine, 0)
        return raw.ended and set(map(int, raw.reports["kind"])) <= _HARMLESS


def _takes_parity(i: Instruction) -> bool:
    return i.op.startswith(_WAITS) and ".parity" in i.op and len(i.operands) > 2


def _kept_before(function: Function, at: int) -> int | None:
    """The index of the store of a value whose address an instruction passes to a function."""
    near = range(max(0, at - _NEAR), at)
    kept = [k for k in near if function.body[k].op.startswith(("st.u32", "st.local.u32"))]
    known = kept and _REGISTER.fullmatch(function.body[kept[-1]].operands[-1])
    return kept[-1] if known else None


def _why(r: Any) -> int:
    """Why the asynchronous copy of a race is in flight; -1 where there is none."""
    flight = int(r["kind"]) == c.RACE and int(r["flags"]) & IN_FLIGHT
    return int(r["extra"]) % (1 << WHY_BITS) if flight else -1


def _is_elsewhere(r: Any) -> bool:
    """Whether a report is a race in memory that no mbarrier of a block orders."""
    return int(r["kind"]) == c.RACE and int(r["space"]) != SHARED
