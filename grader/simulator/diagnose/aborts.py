"""The texts of what ends a launch early: limits, endless waits, assertions and traps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grader import dataclass, regex
from grader.launch import Dim3, Finding
from grader.simulator.core import bindings as c
from grader.simulator.core.memory import GRID_BARRIER
from grader.simulator.diagnose.places import LOOPS
from grader.simulator.diagnose.races import Report, index_of
from grader.simulator.ptx.model import PtxError, TooLarge

if TYPE_CHECKING:
    from grader.simulator.diagnose.variables import SourceVariables

_TIMES = {0: "never", 1: "once", 2: "twice"}
_TRAPS = {
    1: "a call through a pointer that is not a function",
    2: "a switch jumps outside its table",
    3: "a barrier number or thread count that the hardware does not support",
    5: "more than 65,536 asynchronous copies of one warp wait to complete",
}


def not_simulated(what: str) -> Finding:
    """The finding of an instruction or attribute that is not simulated; `what` names it."""
    hint = "Run it on a GPU: grader check ... --on gpu"
    return Finding("missing-feature", "error", f"not simulated: {what}", hint=hint)


def unread_ptx(error: PtxError) -> Finding:
    """The finding of PTX that the decoder does not take. The assembler took it before."""
    if isinstance(error, TooLarge):
        hint = "Put large arrays into global memory, or load parts of them into shared memory."
        return Finding("launch-failure", "error", str(error), hint=hint)
    return not_simulated(f"PTX ({error})")


_TIMEOUTS = {
    (c.LIMIT, 0): (
        "the simulation reached its time limit while the kernel was running this line",
        "Check that the loop ends for every thread. If it does, launch fewer threads or a smaller "
        "problem.",
    ),
    (c.TIMEOUT, 0): (
        "the kernel was still running this line when it reached its limit of instructions",
        "Check that the condition of the loop becomes false for every thread. If it does, launch "
        "fewer threads or a smaller problem.",
    ),
    (c.TIMEOUT, 1): (
        "the kernel does not end: nothing that the condition of this loop depends on changes",
        "Change a variable of the condition in each pass, so that every thread leaves the loop.",
    ),
    (c.STANDSTILL, 0): (
        "deadlock: the kernel does not end: all threads that remain wait for others in loops",
        "No thread that runs can change what this loop waits for. Let all threads take locks in "
        "the same order, and every thread that others wait for arrive.",
    ),
}
"""By the report's kind and `extra`: what ended the launch, and the hint."""


_COMPARED = regex(r"\(?\s*(\w+)(?:--|\+\+)?\s*(<=?|>=?|!=)\s*([^&|?=<>,]{1,80}?)\s*\)?")
"""A comparison of a variable with a bound, as the condition of a loop."""
_WAYS_OUT = ("break_statement", "return_statement", "goto_statement")

_ATOMICS = regex(r"\batomic[A-Z]\w*\s*\(")
_LOOKS = regex(r"\batomic(?:Add|Sub|Or|Xor)(?:_\w+)?\s*\([^,;]{1,80},\s*0[uUlL]*\s*\)")
"""Atomics of a line, and those that leave what they access as it is."""

_AT_MBARRIER, _AWAITED, ALL_ARRIVED, _LANES_WAIT, _UNSTARTED = 1, 2, 4, 8, 16
_BYTES_MISSING = 1 << 31
"""In the flags and in `extra` of a STANDSTILL or LIMIT report: see core/watch/faults.c."""


def _endless_wait(r: Report, line: str) -> Finding:
    """The finding of a wait for a phase of an mbarrier that did not end; proven or not."""
    name = f"`{r.target.name}`" if r.target.name else "an mbarrier"
    if r.extra & _BYTES_MISSING:
        bytes_ = r.bytes - (1 << 32) if r.bytes >> 31 else r.bytes
        state = f"{abs(bytes_):,} bytes {'more than' if bytes_ < 0 else 'of those that'} it expects"
        state = f"copies have brought {state}" if bytes_ < 0 else f"no copy brings {state}"
        fix = (
            "Let the phase expect the bytes of all its copies, no more and no less "
            "(mbarrier.arrive.expect_tx, barrier_arrive_tx)."
        )
        if not bytes_:
            state = "its count is 0, so that no arrival ends a phase"
            fix = "Initialize it with the number of threads that arrive in each phase."
    else:
        state = f"{r.bytes - r.extra} of {r.bytes} arrivals of its present phase have been made"
        fix = (
            f"Check that the count of {r.bytes} which it is initialized with in line {r.line2} is "
            "the number of arrivals in each phase, that all of these threads arrive, and that the "
            "parity or token of the wait is that of the phase."
        )
        if r.flags & ALL_ARRIVED:
            state += ", and all warps that remain have arrived or wait for it"
        if r.bytes == r.extra:
            fix += " To pass before any thread has arrived, wait for parity 1."
        if r.flags & ALL_ARRIVED and 2 * r.extra <= r.bytes:
            fix = (
                f"Line {r.line2} initializes it with a count of {r.bytes}. Pass the number of "
                f"threads that arrive in each phase, which is {r.bytes - r.extra} here, or let the "
                "others arrive, too. The parity or token of a wait must be that of the phase."
            )
    proven = f"deadlock: threads wait for {name}, and no thread that runs can end the wait"
    limit = f"the simulation reached its time limit while threads waited for {name}"
    return Finding(
        "timeout",
        "error",
        f"{proven if r.kind == c.STANDSTILL else limit}: {state}",
        space="shared",
        variable=r.target.name,
        hint=pipeline_hint(line) or fix,
    )


def pipeline_hint(line: str) -> str:
    """The fix of a wait of `cuda::pipeline` that never ends, by its line's text; else empty."""
    if "producer_acquire" in line:
        return (
            "producer_acquire() waits until every consumer has released the stage. Let each thread "
            "that consumes call consumer_release() once for each consumer_wait(). One that also "
            "produces must not acquire more stages than the pipeline has before it releases one."
        )
    if "consumer_wait" in line:
        return (
            "consumer_wait() waits until every producer has committed the stage. Let each thread "
            "that produces call producer_acquire() and producer_commit() once for each stage, and "
            "not wait for more stages than are committed."
        )
    return ""


def awaits_value(r: Report) -> bool:
    """Whether a launch ended because all threads wait for values, and the report has one."""
    return r.kind == c.STANDSTILL and bool(r.flags & _AWAITED)


@dataclass(frozen=True)
class Writers:
    """What writes a variable.

    Attributes:
        lines: the lines.
        after: whether some is behind the other place of a report.
        swaps: whether all are atomics.
    """

    lines: Sequence[int]
    after: bool
    swaps: bool


def only_looks(op: str, text: str) -> bool:
    """Whether an atomic, with the text of its line, adds nothing: it looks at what is there."""
    atomic = op.startswith(("atom", "red"))
    return atomic and len(_LOOKS.findall(text)) == len(_ATOMICS.findall(text)) > 0


@dataclass(frozen=True)
class Arrivals:
    """Which blocks came to a line, where they did not equally often.

    Attributes:
        text: a sentence about those that are fewer, or that came less often.
        blocks: the blocks that came.
        by_most, by_all: whether these are more than half of all, or all.
    """

    text: str
    blocks: frozenset[Dim3]
    by_most: bool
    by_all: bool


def arrivals(accesses: NDArray[np.void], lines: Sequence[int], grid: Dim3) -> dict[int, Arrivals]:
    """By line with an atomic, which blocks came there, where they did not equally often.

    Args:
        accesses: the atomics that a run has recorded.
        lines: by program counter, the line of the source.
        grid: the blocks of the launch.
    """
    counts, blocks = dict[int, Counter[int]](), prod(grid)
    for (pc, block, _), n in Counter(accesses[["pc", "block", "thread"]].tolist()).items():
        own = counts.setdefault(lines[pc], Counter())
        own[block] = max(own[block], n)
    return {
        line: Arrivals(text, frozenset(places), 2 * len(places) > blocks, len(places) == blocks)
        for line, own in counts.items()
        if (places := [index_of(block, grid) for block in own])
        if (text := _unequal(own, grid))
    }


def _unequal(counts: Counter[int], grid: Dim3) -> str:
    """The sentence about the blocks that come to a place in other numbers than most."""
    times = Counter(counts[block] for block in range(prod(grid)))
    if len(times) != 2:
        return ""
    other, usual = sorted(times, key=lambda n: (times[n], n))
    block = next(b for b in range(prod(grid)) if counts[b] == other)
    more = times[other] - 1
    who = f"Block {index_of(block, grid)}" + f" and {more} more" * bool(more)
    come = "come" if more else "comes"
    if not other:
        return f"{who} never {come} there."
    often, most = (_TIMES.get(n, f"{n} times") for n in (other, usual))
    return f"{who} {come} there {often}, the other blocks {most}."


def _standstill(r: Report, writers: Writers | None, came: Mapping[int, Arrivals]) -> Finding:
    """The finding of a loop that waits for a value which no thread changes any more.

    Args:
        r: the report.
        writers: what writes the variable, but for what the loop does; None if not known.
        came: by line, which blocks came there less often than others.
    """
    value = r.extra - (1 << 32) if r.extra >> 31 else r.extra
    name, element = f"`{r.target.name}`", f"`{r.target.element}`, which is {value}"
    what, hint = _TIMEOUTS[c.STANDSTILL, 0]
    if r.target.space == "local":
        own = f"the local variable {name} of its own thread, which is {value}"
        own = own if r.target.name else "a local variable of its own thread"
        what = f"the kernel does not end: this loop waits for {own}"
        hint = (
            "No other thread can change a local variable: change it in the loop, or wait for a "
            "variable in shared or global memory that another thread writes."
        )
    elif writers is not None and not writers.lines:
        what = (
            f"the kernel does not end: this loop waits for {element}, and no line of the kernel "
            "writes it"
        )
        hint = f"Let a thread write {name}, or leave the loop for another reason."
    else:
        what += f"; this one for {element}"
        if writers:
            *before, last = map(str, [x for x in writers.lines if x != r.line] or writers.lines)
            lines = f"lines {', '.join(before)} and {last}" if before else f"line {last}"
            there = "to that statement" if writers.lines == [r.line] else "there"
            hint = (
                f"{name} is written in {lines}, and no thread that remains comes {there}. Let a "
                "thread write what the loop waits for before it waits itself, and take locks in "
                "one order."
            )
        if writers and writers.swaps and writers.lines == [r.line]:
            hint = (
                f"No other line than {r.line} itself writes {name}. Let each thread that gets past "
                "it write there what the others wait for, as a lock is freed."
            )
        elif r.flags & _LANES_WAIT and writers is not None and not writers.after:
            hint = (  # they wait behind a barrier of blocks for the one that has arrived for all
                f"{name} is written in {lines}, and no thread that remains comes {there}. Where "
                "all blocks wait for each other, let each of them come there equally often."
            )
        elif r.flags & _LANES_WAIT:
            what += f", while other lanes of the warp wait for these in line {r.line2}"
            who = "the lanes that others wait for" if writers else "a lane that is to do so"
            hint = f"{hint} " * (writers is None) + (
                f"Let {who} pass {name} on, as a lock is freed, before line {r.line2}: lanes wait "
                "there for all lanes of the warp."
            )
    places = [(x, came[x]) for x in (writers.lines if writers else ()) if x in came]
    known = [at for x, at in places if x != r.line or not at.by_all]  # it waits in its line
    hint += next((f" {at.text}" for at in known if at.by_most or r.block in at.blocks), "")
    return _awaiting(r, what, hint)


def _awaiting(r: Report, what: str, hint: str) -> Finding:
    if r.flags & _UNSTARTED:
        what += "; some blocks have not started, and the GPU has no room for them until others end"
        hint = (
            "If a block waits for one that has not started, launch only as many blocks as are "
            f"resident at once, or let a block wait for earlier ones alone. Else: {hint}"
        )
    space, name = r.target.space, r.target.name
    return Finding("timeout", "error", what, space=space, variable=name, hint=hint)


def _always_true(r: Report, variables: SourceVariables) -> Finding | None:
    """The finding of a loop that never ends because of the type of a variable of its condition.

    One that has another way out, such as a break, is no such loop.
    """
    for loop in variables.tree.walk(*LOOPS):
        condition = loop.part("condition") if loop.line <= r.line <= loop.last_line else None
        found = _COMPARED.fullmatch(condition.text) if condition is not None else None
        if condition is None or found is None or next(loop.walk(*_WAYS_OUT), None) is not None:
            continue
        of = variables.range_of(found[1], condition.index)
        bound = variables.number(found[3])
        if of is None or bound is None or not _holds(found[2], bound, of[1], of[2]):
            continue
        text = re.sub(r"^\((.*)\)$", r"\1", condition.text.strip())
        what = f"`{found[1]}` is {of[0]}, from {of[1]:,} to {of[2]:,}, so `{text}` is always true"
        hint = f"Declare `{found[1]}` as a type that goes beyond the bound, such as int."
        return Finding("timeout", "error", f"the kernel does not end: {what}", hint=hint)
    return None


def _holds(sign: str, bound: int, least: int, most: int) -> bool:
    """Whether all values from the least to the most compare so with a bound.

    Those of 32 bits and more are compared with 0 alone: the bound may be converted.
    """
    if most >= 1 << 31:
        return sign == ">=" and least == bound == 0
    return {
        "<": most < bound, "<=": most <= bound, ">": least > bound, ">=": least >= bound,
        "!=": not least <= bound <= most,
    }[sign]  # fmt: skip


def _ended_wait(r: Report) -> Finding:
    """The finding of a limit that ended a loop which may wait for a value."""
    what, hint = _TIMEOUTS[r.kind, 0]
    if not r.target.element or r.line != r.line2:
        return Finding("timeout", "error", what, hint=hint)
    value = r.bytes - (1 << 32) if r.bytes >> 31 else r.bytes
    return Finding(
        "timeout",
        "error",
        f"{what}, which last read {r.target.space} `{r.target.element}`: {value}",
        space=r.target.space,
        variable=r.target.name,
        hint=f"Check that another thread changes `{r.target.name}` so that the loop ends. {hint}",
    )


def abort_finding(
    r: Report, writers: Writers | None, variables: SourceVariables, came: Mapping[int, Arrivals]
) -> Finding:
    """The finding of what ended the launch early: a limit, an assertion or a trap.

    Args:
        r: the report.
        writers: of a value that is waited for, what writes it; None if not known.
        variables: those of the source.
        came: by line, which blocks came there less often than others.
    """
    line = "".join(variables.source.split("\n")[r.line - 1 : r.line])
    if r.kind in (c.STANDSTILL, c.LIMIT) and r.flags & _AT_MBARRIER:
        return _endless_wait(r, line)
    if r.kind in (c.TIMEOUT, c.LIMIT) and (finding := _always_true(r, variables)):
        return finding
    if awaits_value(r) and r.target.name == GRID_BARRIER:
        return Finding(
            "timeout",
            "error",
            "deadlock: the kernel does not end: threads wait at this barrier of the grid, and "
            "others never reach it",
            variable=GRID_BARRIER,
            hint=(came[r.line].text.replace("there", "here") + " " if r.line in came else "")
            + "Let all threads of all blocks call it equally often: give a loop around it the "
            "same number of rounds in all threads, move it out of a branch that only some enter, "
            "and return after it. A thread that waits in a loop for what others do after the "
            "barrier never reaches it, either.",
        )
    if awaits_value(r) and (r.target.element or r.target.space == "local"):
        return _standstill(r, writers, came)
    if r.kind in (c.LIMIT, c.TIMEOUT) and r.flags & _AWAITED:
        return _ended_wait(r)
    if timeout := _TIMEOUTS.get((r.kind, r.extra)):
        return Finding("timeout", "error", timeout[0], hint=pipeline_hint(line) or timeout[1])
    if r.kind == c.ASSERTION:
        condition = f"`{r.target.element}` " if r.target.element else ""
        return Finding(
            "launch-failure",
            "error",
            f"assertion {condition}failed (cudaErrorAssert)",
            hint="Find out why the condition is false: the assertion aborted the launch here.",
        )
    if r.kind == c.TRAPPED and r.target.element:
        return not_simulated(r.target.element)
    if r.kind == c.TRAPPED and r.target.space == "grid":
        return Finding(
            "launch-failure",
            "error",
            "grid.sync() waits for the other blocks, but this launch is not cooperative",
            hint="Write `cooperative: true` beside the grid in LAUNCH.yaml or lab.yaml, or end the "
            "kernel there and do the rest in a second launch.",
        )
    what = _TRAPS.get(r.extra, "the kernel executed a trap instruction")
    return Finding(
        "launch-failure", "error", what, hint="Correct this line: it aborted the launch."
    )
