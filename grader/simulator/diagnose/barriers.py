"""The findings of barriers, and of instructions that the lanes of a warp execute together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader import regex, replace
from grader.launch import Finding, OtherAccess, Severity
from grader.simulator.core import bindings as c
from grader.simulator.core.memory import GRID_REGISTERS
from grader.simulator.decode.module import Image
from grader.simulator.diagnose.kernel_code import source_lines
from grader.simulator.diagnose.races import ACROSS_BLOCKS, IN_FLIGHT, PASSED_BY, WITHIN_WARP, Report
from grader.simulator.ptx.source_map import is_copy

if TYPE_CHECKING:
    from grader.compile.syntax import Tree
    from grader.simulator.core.run import Raw
    from grader.simulator.diagnose.kernel_code import KernelCode
    from grader.simulator.diagnose.places import Branches
    from grader.simulator.diagnose.race_places import Trials

_HIDDEN_RETURN = regex(r"^[ \t]*#[ \t]*define\b.*\breturn\b|\bexit\s*;", re.MULTILINE)
"""A return that the syntax tree does not show: in a macro, or in inline asm."""

_BARRIER_CALL = regex(r"__syncthreads\w*\s*\(|[\w.:>-]*sync\s*\(")
_LOOPS = ("for_statement", "while_statement", "do_statement")
_LEFT = (*_LOOPS, "switch_statement")
"""What a break leaves."""

BARRIER_KINDS = frozenset(
    (c.DIVERGENCE, c.DEADLOCK, c.EARLY_EXIT, c.WARP_MASK, c.WARP_STUCK, c.LANE_MISSING)
) | {c.BARRIER_COUNT, c.MISUSED}
_MISSING_LANES = {
    0: "which does not execute this call",
    1: "which has returned",
    2: "which is not in the member mask",
}


_MISUSES = {
    c.SHUFFLE_WIDTH: (
        "the width of this shuffle is {}: the result is undefined",
        "Pass a power of two from 1 to 32 as the width.",
    ),
    c.MATRIX_ADDRESS: (
        "lanes of one warp pass different pointers to this matrix: the result is undefined",
        "Pass the same pointer in all lanes of the warp: compute it from the warp's index.",
    ),
    c.MATRIX_STRIDE: (
        "lanes of one warp pass different strides (ldm) of this matrix: the result is undefined",
        "Pass the same stride in all lanes of the warp.",
    ),
}
"""By the report's `extra`: what makes an instruction of a warp undefined, and the hint."""


def barrier_finding(
    r: Report, kernel: str, branches: Branches, op: str, trials: Trials | None
) -> Finding:
    """The finding of threads that do not arrive at one barrier.

    Args:
        r: the report.
        kernel: the name of the kernel.
        branches: the branches of the source.
        op: the opcode of the instruction.
        trials: what tries another place for the barrier.
    """
    tree = branches.tree
    returned, past = may_have_returned(r.line, kernel, tree), leads_past(r, tree)
    finding = _finding(r, returned=returned, past=past, op=op)
    tried = trials if finding.severity == "error" and op.startswith("bar") else None
    moved = tried.moved(r) if tried else None
    if moved is None:
        passed = r.kind in (c.DIVERGENCE, c.EARLY_EXIT) and not (past or r.has(WITHIN_WARP))
        around = branches.entered_by_some(r.line) if tried and passed else None
        return replace(finding, hint=_around_hint(r, *around, tried)) if around else finding
    return replace(
        finding,
        hint=f"Put the barrier after line {moved.last}, outside the `if` of line {moved.first}, so "
        "that all threads of the block reach it. A run with that does not have this finding.",
    )


def _around_hint(r: Report, kind: str, first: int, last: int, trials: Trials | None) -> str:
    """The fix of a barrier in a branch or loop that only some threads enter.

    Args:
        r: the report.
        kind: what it is in.
        first: the first line of that.
        last: its last line.
        trials: what tries to let all threads enter it.
    """
    reach = "Every thread that the barrier waits for must reach it, equally often."
    if kind == "loop":
        return (
            f"{reach} Threads may make different numbers of iterations of the loop of line "
            f"{first}: let all make the same number, and put a condition around the work alone."
        )
    if trials is None or not trials.completes(r, first, last):
        return f"{reach} Move it out of the branch of line {first}, which only some threads enter."
    return (
        f"{reach} Only some enter the `if` of line {first}. Let all threads of the block enter it: "
        "test its condition where elements are loaded, with 0 where there is no data, and where "
        "they are stored. A run in which all threads enter it does not have this finding."
    )


def with_barriers_first(
    reports: Sequence[Report], findings: Sequence[Finding], trials: Trials, code: KernelCode
) -> list[Finding]:
    """The findings of which races follow from the barriers that some threads do not reach.

    Reads of what no thread has written name the return before which it should be.

    Args:
        reports: the reports.
        findings: the finding of each.
        trials: what tries other places for these barriers.
        code: what is read of the kernel's code.
    """
    pairs = list(zip(reports, findings, strict=True))
    errors = [r for r, f in pairs if f.kind == "barrier-divergence" and f.severity == "error"]
    parted = (c.DIVERGENCE, c.EARLY_EXIT)
    first = [r.line for r, f in pairs if r in errors and r.kind in parted and not f.follows]
    moves = {r.line: moved for r in errors if (moved := trials.moved(r)) is not None}

    code_lines = zip(code.image.ops, code.line_of, strict=False)
    barriers = sorted({n for op, n in code_lines if op.startswith(("bar.sync", "barrier.sync"))})

    def placed(r: Report, f: Finding) -> Finding:
        if r.kind in BARRIER_KINDS and r.line in moves:
            return replace(f, follows=0)
        if r.kind == c.UNINIT and r.target.space == "shared" and (line := trials.returned(r)):
            return replace(f, hint=_return_hint(r, line, _last_barrier(line, code.variables.tree)))
        lines = frozenset((r.line, r.line2))
        cause = next((line for line, moved in moves.items() if lines in moved.ended), 0)
        if r.kind != c.RACE or r.has(ACROSS_BLOCKS | IN_FLIGHT):
            return f
        if cause:
            why = ". A run with that does not have this race."
        elif first and (own := [n for n in barriers if min(lines) < n < max(lines)]):
            cause = first[0]
            why = (
                f": until all threads reach it equally often, that of line {own[0]} orders nothing."
            )
        else:
            return f
        hint = f"Correct the barrier of line {cause} first{why}"
        return replace(f, follows=f.follows + 1, hint=hint)

    return [placed(r, f) for r, f in pairs]


def _return_hint(r: Report, line: int, barrier: int) -> str:
    """The fix of a read of elements whose threads return before they write them.

    Args:
        r: the report of the read.
        line: the line of the return.
        barrier: the last line that all threads have to reach; 0 if it is not known.
    """
    where = f"after line {barrier}" if barrier else "after the last barrier"
    return (
        f"Threads return in line {line} before they write their elements of `{r.target.name}`, and "
        f"line {r.line} reads these. Let all threads of the block reach the load and the barriers: "
        f"return only {where}, and store 0 where there is no data. A run in which no thread "
        f"returns in line {line} does not have this finding."
    )


def _last_barrier(line: int, tree: Tree) -> int:
    """The last line of the last barrier behind a line of its function, or of the loop around it."""
    calls = [x for x in tree.walk("call_expression") if _BARRIER_CALL.match(x.text)]
    for node in tree.walk("return_statement"):
        function = next((a for a in node.ancestors if a.kind == "function_definition"), None)
        if node.line == line and function is not None:
            own = [x for x in calls if line <= x.line <= function.last_line]
            around = [a for x in own[-1:] for a in (x, *x.ancestors) if a.index > function.index]
            last = [a.last_line for k, a in enumerate(around) if not k or a.kind in _LOOPS]
            return max(last, default=0)
    return 0


def _finding(r: Report, *, returned: bool, past: int, op: str) -> Finding:
    """The finding of threads that do not arrive at one barrier.

    Args:
        r: the report.
        returned: whether they may have returned before.
        past: the line of a statement that leads past it in the loop around both, or 0.
        op: the opcode of the instruction.
    """
    if r.kind == c.EARLY_EXIT:
        return _early_exit(r, returned=returned, past=past, op=op)
    if r.kind == c.WARP_MASK:
        return _divergence(
            f"a thread calls this with a member mask ({r.extra:#010x}) that does not include it",
            "Set the bit of every calling thread in the mask.",
        )
    if r.kind == c.LANE_MISSING:
        return _divergence(
            f"this reads the value of lane {r.extra & 31}, {_MISSING_LANES[r.extra >> 8]}: the "
            "result is undefined, and the kernel's output depends on it",
            "Let every lane that is read execute this call and be in the mask, or read only from "
            "lanes that are: make the offset, or the width, smaller.",
        )
    if r.kind == c.MISUSED:
        what, fix = _MISUSES[r.extra]
        return _divergence(what.format(r.bytes), fix)
    other = OtherAccess(r.line2, r.thread2, r.block2, "wait")
    if r.kind == c.BARRIER_COUNT:
        return _barrier_count(r, other)
    if r.kind == c.WARP_STUCK:
        return _divergence(
            "lanes of the member mask never arrive here",
            "Move this call out of the branch, so that every lane of the mask reaches it.",
            other=other,
        )
    if r.kind == c.DEADLOCK:
        return _divergence(
            "deadlock: threads of the block wait at barriers that the others never reach",
            "Move the barrier out of the branch, so that all threads that it waits for reach it. A "
            "named barrier waits for as many threads as its count says: pass the number of those "
            "that reach it.",
            other=other,
        )
    return _at_two_places(r, other)


def _early_exit(r: Report, *, returned: bool, past: int, op: str) -> Finding:
    """The finding of threads that a barrier, or a call by a warp, does not wait for."""
    if r.has(PASSED_BY) or not returned:
        what = "barrier" if op.startswith("bar") else "call"
        reach = (
            f"reach this {what} less often than others" if r.extra else f"never reach this {what}"
        )
        fix = "Move it out of the branch or loop that only some threads enter."
        if past and what == "barrier":
            fix = (
                f"Line {past} leads past it: let all threads take that way together, by a "
                "condition that is the same for all of them, such as the result of "
                "__syncthreads_or(). If they do, move the barrier out of the branch or loop that "
                "only some threads enter."
            )
        return _divergence(
            f"some threads {reach}, though they have not returned: they pass by it",
            f"Every thread that the {what} waits for must reach it, equally often. {fix}",
        )
    if r.extra:
        return _divergence(
            "threads of one block reach this barrier a different number of times: some return "
            "after fewer iterations, and the barrier does not wait for them",
            "Let every thread make the same number of iterations, and put the condition around "
            "the work only. Without the return, the block would wait here forever.",
            severity="warning",
        )
    return _divergence(
        "some threads returned before this barrier, and it does not wait for them",
        "Return early only from threads that no later line needs.",
        severity="info",
    )


def _at_two_places(r: Report, other: OtherAccess) -> Finding:
    """The finding of threads that wait at two barriers, or at two places of one."""
    if r.has(WITHIN_WARP):
        return _divergence(
            "lanes of one warp wait at this barrier at different places: an aligned one, such as "
            "bar.sync, is undefined unless all lanes of a warp execute it together",
            "Move it out of the branch, or use barrier.sync, which is not aligned.",
            other=other,
        )
    return _divergence(
        "threads of one block wait at different barriers",
        "Move __syncthreads() out of the branch or loop that only some threads enter.",
        other=other,
    )


_OTHER_BYTES = 2
"""In the flags of a report on a barrier's count: it is that of the bytes of transactions."""
_ARRIVES = 4
"""In the flags of a report on different counts: the second is that of a bar.arrive."""


def _barrier_count(r: Report, other: OtherAccess) -> Finding:
    """The finding of a named barrier whose threads do not match its count."""
    if r.flags & _ARRIVES:
        other = replace(other, access="arrive")
    if r.flags & 1:
        return _divergence(
            f"threads use one barrier with different counts: {r.bytes} and {r.extra}",
            "Pass the same number of threads in every bar.sync and bar.arrive of one barrier: the "
            "threads that wait and those that only arrive.",
            other=other,
        )
    if r.flags & _OTHER_BYTES:
        name = f"`{r.target.name}`" if r.target.name else "an mbarrier"
        made = _divergence(
            f"the bulk copies that {name} tracks bring {r.bytes:,} bytes, and its phases expect "
            f"{r.extra:,}: a phase ends before its copies do, or never",
            "Let each phase expect the bytes of all its copies, no more and no less "
            "(mbarrier.arrive.expect_tx, barrier_arrive_tx).",
        )
        return replace(made, variable=r.target.name, space=r.target.space)
    return _divergence(
        f"{r.extra} arrivals at a barrier that counts {r.bytes}: which threads it releases is not "
        "defined",
        f"Let {r.bytes} threads use the barrier, and none arrive again before it completes; use "
        "another barrier number for the others, or correct the count.",
    )


def _divergence(
    what: str, fix: str, *, severity: Severity = "error", other: OtherAccess | None = None
) -> Finding:
    access = "wait" if other else ""
    return Finding("barrier-divergence", severity, what, other=other, access=access, hint=fix)


def is_legal_ptx(image: Image, r: Report) -> bool:
    """Whether a shuffle's mask is no width of CUDA's: PTX takes others in inline assembly."""
    widths = r.kind == c.MISUSED and r.extra == c.SHUFFLE_WIDTH
    return widths and "__shfl" not in image.functions[image.owner[r.pc]].name


def syncs_grid(image: Image, pc: int) -> bool:
    """Whether a trap is that of a library which finds no barrier of the grid, if there is none."""
    reads = any(k[2] in GRID_REGISTERS for k in image.constants.places)
    function = image.functions[image.owner[pc]].name
    return reads and (bool(image.instructions[pc].via) or is_copy(function))


def leads_past(r: Report, tree: Tree) -> int:
    """The line of a statement that leads past a barrier in the loop around both, or 0.

    That is a break, or a continue before the barrier: of several, the last one before it.
    """
    lines = []
    for node in [*tree.walk("break_statement"), *tree.walk("continue_statement")]:
        loop = next((a for a in node.ancestors if a.kind in _LEFT), None)
        around = loop is not None and loop.kind in _LOOPS and loop.line <= r.line <= loop.last_line
        guarded = around and any(a.kind == "if_statement" for a in node.ancestors)
        if guarded and (node.line <= r.line or node.kind == "break_statement"):
            lines.append(node.line)
    return max((n for n in lines if n <= r.line), default=min(lines, default=0))


def breaks_barriers(raw: Raw, image: Image, code: KernelCode) -> bool:
    """Whether a run has a finding about barriers, other than that threads returned before one.

    Args:
        raw: the run, with PASSED_BY where a thread did not return.
        image: what ran.
        code: what is read of the kernel's code.
    """
    lines, kernel = source_lines(image), image.functions[0].name
    kinds = BARRIER_KINDS - {c.LANE_MISSING}  # which no barrier changes

    def breaks(r: Any) -> bool:
        if int(r["kind"]) != c.EARLY_EXIT or r["extra"] or r["flags"] & PASSED_BY:
            return int(r["kind"]) in kinds
        return not may_have_returned(lines[r["pc"]], kernel, code.variables.tree)

    return any(map(breaks, raw.reports))


def may_have_returned(line: int, kernel: str, tree: Tree) -> bool:
    """Whether a return of a kernel may precede the barrier of a line.

    Else threads that left passed it by.
    """
    source = tree.data.decode()
    if _HIDDEN_RETURN.search(source):
        return True
    name = kernel.partition("<")[0]
    launched = rf"__global__.*\b{re.escape(name) * (name in source)}\s*\("
    for node in tree.walk("return_statement"):
        around = [a for a in node.ancestors if a.kind == "function_definition"]
        kernels = [a for a in around if re.search(launched, a.text.partition("{")[0], re.S)]
        if kernels and not node.named:
            inside = kernels[0].line <= line <= kernels[0].last_line
            before = [node, *(a for a in node.ancestors if a.kind in _LOOPS)]
            if not inside or any(a.line <= line for a in before):
                return True
    return False
