"""Find what is wrong with waits and arrivals, by further runs.

A race or an endless wait behind an mbarrier does not show whether a barrier of the block is
missing or one of these is wrong: a wait whose result is not tested, or an arrival of a thread that
has left the barrier. A run without that, and without any finding, shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader import regex
from grader.launch import WARP_SIZE, Finding, Launch
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Limits, Machine, Raw
from grader.simulator.decode.memory import SHARED
from grader.simulator.decode.module import Image
from grader.simulator.diagnose.aborts import Arrivals, arrivals
from grader.simulator.diagnose.copies import NOT_COMMITTED, WHY_BITS
from grader.simulator.diagnose.places import LOOPS
from grader.simulator.diagnose.races import ACROSS_BLOCKS, IN_FLIGHT, WITHIN_WARP, Report
from grader.simulator.edited_code import (
    MOST_STEPS,
    changed_machine,
    function_of,
    most_trials,
    with_commit,
    with_ops,
    with_other_parity,
    with_retries,
)
from grader.simulator.order_runs import LOOKS_IN_A_PAUSE, MOST_PAUSES, How, OrderRuns
from grader.simulator.ptx.call_copies import original_name
from grader.simulator.ptx.model import Function, Instruction, root_lines
from grader.simulator.schedules import BY_ACCESS, GIVE_UP

if TYPE_CHECKING:
    from grader.compile.syntax import Node
    from grader.simulator.diagnose.kernel_code import KernelCode

MOST_TRIALS = 4
"""The waits, and the arrivals, that are tried."""

LONG_LOOK_STEPS = 1 << 23
"""The warp instructions of all runs together in which waits give up after many looks."""

MOST_TRACED = 1 << 16
"""The accesses that are recorded to know which blocks came to a place."""

_WAITS = ("mbarrier.try_wait", "mbarrier.test_wait")
_DROP, _GROUP = "mbarrier.arrive_drop", "cp.async.wait_group"
_WAIT_NAME = regex(r"wait|try|test|parity", re.IGNORECASE)
_ASM_WAIT = regex(r"\bmbarrier\.(?:try|test)_wait\.parity\b[^;\]]*\](?:\s*,\s*(\d)\s*[;,])?")
_PARITY = regex(r"[01][uU]?|true|false")
_WHERE = ("at", "bytes", "block", "thread", "phase", "space", "buffer")
_REGISTER = regex(r"%r\d+")
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
        if grid and self._meet(r, block=False):
            return ACROSS_BLOCKS
        warps = prod(self.launch.block) > WARP_SIZE
        return 0 if warps and self._meet(r, block=True) else r.flags & WITHIN_WARP

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
        return next(clean, "") or next(self._constant_parities(), "")

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
        for pc in groups[: most * any(map(_lacks_commit, raw.reports))]:
            yield (
                partial(self._changed, with_commit, pc),
                f"The wait of line {self._line(pc)} covers committed copies only. Commit the "
                "copies between the last of them and this wait (__pipeline_commit(), "
                "producer_commit(), cp.async.commit_group). A run with that has no finding.",
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
            passed = i.op.startswith("st.param.b32") and then.op.startswith("call")
            if _takes_parity(i) and _REGISTER.fullmatch(i.operands[2]):
                yield own, at, 2
            elif passed and waits & {*then.operands} and _REGISTER.fullmatch(i.operands[-1]):
                yield own, at, -1

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

    def _is_clean(self, machine: Machine | None) -> bool:
        if machine is None:
            return False
        raw = self.run(machine, 0)
        return raw.ended and set(map(int, raw.reports["kind"])) <= _HARMLESS

    def _constant_parities(self) -> Iterator[str]:
        """What is wrong with waits for one parity in each round of a loop."""
        if not any(op.startswith(_WAITS) and ".parity" in op for op in self.machine.image.ops):
            return
        lines = {*self.code.line_of}
        for call in self.code.variables.tree.walk("call_expression"):
            name, arguments = call.part("function"), call.part("arguments")
            given = arguments.named if arguments else ()
            known = name is not None and call.line in lines and len(given) > 1
            if name is None or not known or not _WAIT_NAME.search(name.text):
                continue
            if _PARITY.fullmatch(given[-1].text) and (loop := _rounds_of(call, given[0])):
                yield _constant_parity(call, loop, given[-1].text)
        for wait in self.code.variables.tree.walk("gnu_asm_expression"):
            inputs = [x for part in wait.walk("gnu_asm_input_operand") if (x := part.part("value"))]
            text = "\n".join(self.code.lines[wait.line - 1 : wait.last_line])
            found = _ASM_WAIT.search(text) if inputs else None
            parity = (found and found[1]) or inputs[-1].text if found else ""
            if _PARITY.fullmatch(parity) and (loop := _rounds_of(wait, inputs[0])):
                yield _constant_parity(wait, loop, parity)


def _takes_parity(i: Instruction) -> bool:
    return i.op.startswith(_WAITS) and ".parity" in i.op and len(i.operands) > 2


def _lacks_commit(r: Any) -> bool:
    """Whether a report is a race with an asynchronous copy that was not committed."""
    flight = int(r["kind"]) == c.RACE and int(r["flags"]) & IN_FLIGHT
    return bool(flight) and int(r["extra"]) % (1 << WHY_BITS) == NOT_COMMITTED


def _constant_parity(wait: Node, loop: Node, parity: str) -> str:
    return (
        f"Line {wait.line} waits for parity {parity} in each round of the loop of line "
        f"{loop.line}. Phases have parity 0 and 1 in turn: wait for the parity of the round's "
        "phase, which changes from round to round."
    )


def _rounds_of(call: Node, barrier: Node) -> Node | None:
    """The loop around a wait, other than one that repeats it, whose rounds use one barrier."""
    if re.search(r"[\[+]", barrier.text):
        return None
    outputs = {x.text for out in call.walk("gnu_asm_output_operand") if (x := out.part("value"))}
    names = {*re.findall(r"[A-Za-z_]\w*", barrier.text)}
    for loop in call.ancestors:
        condition = loop.part("condition") if loop.kind in LOOPS else None
        repeats = condition is not None and (
            condition.start <= call.start < condition.end
            or not outputs.isdisjoint(re.findall(r"\w+", condition.text))
        )
        if loop.kind not in LOOPS or repeats:
            continue
        made = loop.walk("init_declarator", "assignment_expression")
        set_in = {(n.part("declarator") or n.part("left") or n).text for n in made}
        return loop if names.isdisjoint(set_in) else None
    return None


def given_up(runs: OrderRuns, image: Image, pauses: Sequence[How]) -> tuple[Finding, ...]:
    """The first wrong accesses of runs in which waits give up after many looks.

    What such a run leaves, and how it ends, may be right: it has waited for as long as it should.

    Args:
        runs: the runs of the launch.
        image: the code that runs.
        pauses: runs in which a thread pauses, who may have what others wait for.
    """
    limited, looks, left = runs.limited, runs.looks, LONG_LOOK_STEPS
    if looks <= LOOKS_IN_A_PAUSE or runs.timed:
        return ()
    for how in (*map(How, GIVE_UP), *pauses[:MOST_PAUSES]):
        if left < looks:
            break
        how = replace(how, limited=frozenset(limited), long_looks=2 * looks)
        run = runs.runs.one(left, how)
        left -= run.raw.steps
        wrong = tuple(f for f in run.errors if f.kind in BY_ACCESS)
        if wrong and not runs.harmless:
            return _with_wait(wrong, image, [*limited])
    return ()


def _with_wait(
    found: tuple[Finding, ...], image: Image, limited: Sequence[int]
) -> tuple[Finding, ...]:
    """Findings of a run in which waits gave up, of races with the only line that waits so.

    Of a lock that is given up, the finding itself says so.
    """
    lines = {image.locations[pc].line for pc in limited}
    swaps = any({"cas", "exch"} & {*image.ops[pc].split(".")} for pc in limited)
    if swaps or len(lines) > 1:
        return found
    hint = (
        "The loop around line {} may end before what it waits for, and line {} is executed all the "
        "same. Execute it only where the wait has succeeded."
    )
    where = max(lines)
    return tuple(
        replace(f, hint=hint.format(where, f.line)) if f.kind == "race" and f.line else f
        for f in found
    )
