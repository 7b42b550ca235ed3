"""Find what is wrong with waits, arrivals and bounds, by further runs.

A race or an endless wait behind an mbarrier does not show whether a barrier of the block is
missing or one of these is wrong: a wait whose result is not tested, or an arrival of a thread that
has left the barrier. An access out of bounds does not show which comparison lets it through. A run
without that, and without any finding, shows it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from grader import regex, replace
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Machine, Raw
from grader.simulator.decode.memory import SHARED
from grader.simulator.diagnose.barriers import BARRIER_KINDS
from grader.simulator.diagnose.copies import GROUP_LEFT, NOT_COMMITTED, WHY_BITS
from grader.simulator.diagnose.locks import Signals
from grader.simulator.diagnose.mbarriers import CLEAN, constant_parities, never_awaited
from grader.simulator.diagnose.race_messages import Early, Missing, Pair
from grader.simulator.diagnose.races import IN_FLIGHT
from grader.simulator.edited_code import (
    MOST_STEPS,
    behind,
    changed_machine,
    function_of,
    most_trials,
    race_lines,
    signal_moved,
    with_instruction,
    with_ops,
)
from grader.simulator.ptx.call_copies import original_name
from grader.simulator.ptx.model import Function, Instruction, Location, root_lines

if TYPE_CHECKING:
    from grader.simulator.diagnose.kernel_code import KernelCode

MOST_TRIALS = 4
"""The waits, and the arrivals, that are tried."""
MOST_MOVED = 10
"""The places that are tried for signals."""

_KNOWN = {c.RACE, c.OLD_VALUE, c.UNDEFINED}
"""What a run of a trial may report beside the race: values are confirmed in other code."""

_BARRIERS = ("__syncwarp()", "__syncthreads()")

_WAITS = ("mbarrier.try_wait", "mbarrier.test_wait")
_COPIES, _COMMIT = ("cp.async.ca", "cp.async.cg"), "cp.async.commit_group"
_DROP, _GROUP = "mbarrier.arrive_drop", "cp.async.wait_group"
_REGISTER, _NEAR = regex(r"%r\d+"), 6
"""A register of 32 bits, and how many instructions a value precedes the one that passes it by."""
_COMPARISON, _SIGN = regex(r"setp\.[lg][te]\.[su]\d+"), regex(r"(?<![-<>])[<>]=?(?![<>=])")
_LEAVES = regex(r"\b(?:return|break|continue)\b")
_STRICT = {"<=": "<", ">=": ">", "<": "<=", ">": ">="}
"""By a comparison, what lets fewer values through; the last two where the line leaves then."""
_OPCODES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_HARMLESS = {c.OLD_VALUE, c.EARLY_EXIT}


def _bound_cause(
    machine: Machine, code: KernelCode, raw: Raw, run: Callable[[Machine, int], Raw]
) -> str:
    """The comparison that lets through one value too many; empty where none is known.

    A run with the strict comparison has no finding, and differs from the first in accesses out of
    bounds alone: a stencil, too, leaves an array by its last value, but in few threads.

    Args:
        machine: the kernel's debug code.
        code: what is read of it.
        raw: the run with these accesses.
        run: runs a machine in the order of the findings, or in another one.
    """
    counts = Counter[int]()
    for r in raw.reports[raw.reports["kind"] == c.INVALID]:
        counts[int(r["pc"])] += int(r["count"])
    if not (counts and raw.ended) or raw.steps > MOST_STEPS:
        return ""
    blocks = [block for f in machine.image.functions for block in f.blocks]
    outside = {k: counts[i.pc] for k, b in enumerate(blocks) for i in b.insns if i.pc in counts}
    last = max((code.line_of[pc] for pc in counts if pc < len(code.line_of)), default=0)
    most = most_trials(machine.image, MOST_TRIALS)
    for line, loose, ops in [*_loose(machine, code, last)][:most]:
        other = with_ops(machine, ops)
        then = run(other, 0) if other else raw
        fewer = raw.visit_lanes.astype(np.int64) - then.visit_lanes.astype(np.int64)
        alone = any(fewer[k] == count < raw.visit_lanes[k] for k, count in outside.items())
        if alone and _is_clean(then):
            return (
                f"The comparison in line {line} lets one value too many through. Write "
                f"`{_STRICT[loose]}` instead of `{loose}` there. {CLEAN}"
            )
    return ""


def _loose(
    machine: Machine, code: KernelCode, last: int
) -> Iterator[tuple[int, str, dict[int, str]]]:
    """The comparisons up to a line, the last ones first, that may let one value too many through.

    Each with its line, and by program counter its opcodes with the strict comparison. All those of
    a line are one kind, and as many as in the source.
    """
    found = defaultdict[int, dict[int, str]](dict)
    for pc, op in enumerate(machine.image.ops):
        if _COMPARISON.match(op) and 0 < code.line_of[pc] <= last:
            found[code.line_of[pc]][pc] = op
    for line, ops in sorted(found.items(), reverse=True):
        text = code.lines[line - 1]
        for loose, strict in _STRICT.items():
            kind, other = (f"setp.{_OPCODES[sign]}." for sign in (loose, strict))
            changed = {pc: op.replace(kind, other) for pc, op in ops.items() if kind in op}
            signs = [sign for sign in _SIGN.findall(text) if sign == loose]
            if changed and len(changed) == len(signs) and (len(loose) > 1 or _LEAVES.search(text)):
                yield line, loose, changed


class WaitTrials:
    """Runs of one kernel's debug code with other waits, arrivals, commits and comparisons.

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
        kinds = set(map(int, raw.reports["kind"]))
        if known := _bound_cause(self.machine, self.code, raw, self.run):
            return known
        if kinds.isdisjoint((c.RACE, c.STANDSTILL, *BARRIER_KINDS)):
            return ""
        if any(map(self._is_below_zero, raw.reports)):
            return (
                "A latch is counted below 0. Initialize it with the number of all arrivals "
                "(count_down, arrive_and_wait), and use it once: it has no second phase."
            )
        ops = self.machine.image.ops
        if not any(op.startswith((*_WAITS, _GROUP)) for op in ops):
            return ""
        trials = self._trials(raw) if raw.steps <= MOST_STEPS else iter(())
        clean = (text for machine, text in trials if self._runs_clean(machine()))
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
            pc
            for pc, op in enumerate(ops)
            if op.startswith(_WAITS) and not self.code.flow.repeats(pc)
        ]
        for pc in untested[:most]:
            yield (
                partial(self._changed, _with_retries, pc),
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
                partial(self._changed, _with_commit, pc),
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
                partial(changed_machine, self.machine, _with_other_parity(function, at, operand)),
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
            changed_machine(self.machine, _with_commit(function, place))
            if place < len(lines)
            else None
        )

    def _runs_clean(self, machine: Machine | None) -> bool:
        return machine is not None and _is_clean(self.run(machine, 0))


class EarlySignals:
    """Runs of one kernel's debug code in which a signal follows an access that it preceded.

    Args:
        machine: the kernel.
        code: what is read of its code.
        waits: the program counters of what waits for other threads.
        signals: those of what signals other threads.
        run: runs a machine in the order of the races, or in another one.
    """

    def __init__(
        self, machine: Machine, code: KernelCode, waits: Sequence[int], signals: Sequence[int],
        run: Callable[[Machine, int], Raw],
    ) -> None:  # fmt: skip
        self.machine, self.code, self.run = machine, code, run
        self.waits, self.signals = waits, signals
        parts = code.flow, code.calls, code.branches, code.order, code.variables.tree
        self.before = Signals(*parts)

    def missing(self, pairs: Iterable[Pair]) -> dict[Pair, Missing]:
        """What is missing, by race: a signal behind the access of the thread that signals."""
        lines, out = self.code.line_of, dict[Pair, Missing]()
        left: dict[Early, set[frozenset[int]] | None] = {}
        most = most_trials(self.machine.image, MOST_MOVED)
        for pair in sorted(pairs):
            own = frozenset(lines[pc] for pc in pair)
            found = {*self.before.early(pair, self.waits, self.signals)}
            near = sorted(found, key=lambda e: (e.access - e.line, e.line))
            fences = (False,), (False, True)  # an arrival needs none
            every = [replace(e, fence=fence) for e in near for fence in fences[not e.arrives]]
            last = [e for e in every if e.arrives or e.fence]
            tried = every + [replace(e, barrier=b) for e in last for b in _BARRIERS]
            for early in tried:
                if early not in left and len(left) < most:
                    left[early] = self._left(early)
                remain = left.get(early)
                if remain is not None and own not in remain:
                    out[pair] = Missing(early=early)
                    break
        return {p: Missing(early=self._joined(p, one.early, out, left)) for p, one in out.items()}

    def _joined(
        self, pair: Pair, own: Early | None, found: Mapping[Pair, Missing],
        left: Mapping[Early, set[frozenset[int]] | None],
    ) -> Early | None:  # fmt: skip
        """A race's signal, behind the last access that it has to follow for any of the races."""
        lines = frozenset(self.code.line_of[pc] for pc in pair)
        others = [x.early for x in found.values() if x.early and own and x.early.line == own.line]
        fit = [e for e in others if lines not in (left[e] or ())]
        last = max(fit, key=lambda e: e.behind, default=own)
        return own and last and replace(last, access=own.access)

    def _left(self, early: Early) -> set[frozenset[int]] | None:
        """The lines of the races of two orders with a signal moved; None where that fails."""
        changed = next(filter(None, map(partial(signal_moved, early), self._functions())), None)
        if changed is None:
            return None
        machine = changed_machine(self.machine, changed)
        return race_lines(machine, self.run, lambda raw: {*map(int, raw.reports["kind"])} <= _KNOWN)

    def _functions(self) -> list[Function]:
        """The module's functions that the kernel has."""
        names = {original_name(f.name) for f in self.machine.image.functions}
        return [f for name, f in self.machine.module.functions.items() if name in names]


def _is_clean(raw: Raw) -> bool:
    """Whether a run ended without a finding that a fix is for."""
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


def _with_retries(function: Function, at: int) -> Function:
    """A function that repeats an instruction until the predicate in its first operand holds."""
    wait, label = function.body[at], f"$retry{at}"
    jump = Instruction("bra", [label], (wait.operands[0], True), Location())
    new = with_instruction(function, at + 1, jump)
    return replace(new, labels=new.labels | {label: at})


def _with_other_parity(function: Function, at: int, operand: int) -> Function:
    """A function in which an instruction gets an operand with its lowest bit changed."""
    value = function.body[at].operands[operand]
    new = Instruction("xor.b32", [value, value, "1"], None, Location())
    return with_instruction(with_instruction(function, at + 1, new), at, new)


def _with_commit(function: Function, at: int) -> Function:
    """A function that commits asynchronous copies before an instruction."""
    commit = Instruction("cp.async.commit_group", [], None, Location())
    return with_instruction(function, at, commit)
