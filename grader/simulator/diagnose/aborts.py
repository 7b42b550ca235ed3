"""The texts of what ends a launch early: limits, endless waits, assertions and traps."""

from __future__ import annotations

from grader.launch import Finding
from grader.simulator.core import bindings as c
from grader.simulator.diagnose.races import Report
from grader.simulator.ptx.model import PtxError, TooLarge

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
        "the kernel does not end: it was still running this line when it reached its limit",
        "Check that the condition of the loop becomes false for every thread.",
    ),
    (c.TIMEOUT, 1): (
        "the kernel does not end: nothing that the condition of this loop depends on changes",
        "Change a variable of the condition in each pass, so that every thread leaves the loop.",
    ),
    (c.STANDSTILL, 0): (
        "deadlock: the kernel does not end: all threads that remain wait for others in loops",
        "No thread that runs can change what this loop waits for. Let all threads take locks in "
        "the same order, and every thread that others wait for arrive: grid.sync() waits for all "
        "blocks.",
    ),
}
"""By the report's kind and `extra`: what ended the launch, and the hint."""


_AT_MBARRIER, _AWAITED, ALL_ARRIVED, _BYTES_MISSING = 1, 2, 4, 1 << 31
"""In the flags and in `extra` of a STANDSTILL or LIMIT report: see core/watch/faults.c."""


def _endless_wait(r: Report) -> Finding:
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
            "Check that the count it is initialized with is the number of arrivals in each phase, "
            "that all of these threads arrive, and that the parity or token of the wait is that of "
            "the phase."
        )
        if r.flags & ALL_ARRIVED:
            state += ", and all warps that remain have arrived or wait for it"
    proven = f"deadlock: threads wait for {name}, and no thread that runs can end the wait"
    limit = f"the simulation reached its time limit while threads waited for {name}"
    return Finding(
        "timeout",
        "error",
        f"{proven if r.kind == c.STANDSTILL else limit}: {state}",
        space="shared",
        variable=r.target.name,
        hint=fix,
    )


def abort_finding(r: Report) -> Finding:
    """The finding of what ended the launch early: a limit, an assertion or a trap."""
    if r.kind in (c.STANDSTILL, c.LIMIT) and r.flags & _AT_MBARRIER:
        return _endless_wait(r)
    if r.kind == c.STANDSTILL and r.flags & _AWAITED and r.target.element:
        what, hint = _TIMEOUTS[c.STANDSTILL, 0]
        value = r.extra - (1 << 32) if r.extra >> 31 else r.extra
        what += f"; this one for `{r.target.element}`, which is {value}"
        space, name = r.target.space, r.target.name
        return Finding("timeout", "error", what, space=space, variable=name, hint=hint)
    if timeout := _TIMEOUTS.get((r.kind, r.extra)):
        return Finding("timeout", "error", timeout[0], hint=timeout[1])
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
