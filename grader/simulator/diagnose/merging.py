"""Make one list of the findings of a run, and of those of both variants.

The optimized variant has functions inlined and local variables in registers. What it shows of the
use of volatile reads, as of a sequence lock whose data a function copies, is known of the debug
variant's loads in the same lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache, reduce

import numpy as np

from grader import replace
from grader.launch import Finding
from grader.simulator.core import bindings as c
from grader.simulator.core.run import Raw
from grader.simulator.decode.dataflow import access_head, sources, targets
from grader.simulator.decode.memory import SHARED, WAITING, is_plain
from grader.simulator.decode.module import Image
from grader.simulator.decode.retries import CALCULATES, ValueFlow, swap_loads
from grader.simulator.decode.updates import data_reads, memory_roles, volatile_loads
from grader.simulator.diagnose.barrier_hints import GRID_BARRIER
from grader.simulator.diagnose.kernel_code import source_lines
from grader.simulator.diagnose.races import STORE, UNWAITED
from grader.simulator.ptx.flow import reached, successors
from grader.simulator.ptx.model import TYPE_BYTES, Function

_TESTED, _SWAPPED, _DECIDES, _SETS, _WAITS = range(5)
"""Why a read has no effect: its value is only tested, a loop of swaps confirms it, or it decides
whether an atomic is needed, or a store of a constant, or waits for a store."""
_ATOMICS = ("atom.", "red.")


def fold(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Fold findings of the same kind, place, partner and variable into one with their sum.

    One between two blocks is shown rather than one within a block, where a barrier would do. Errors
    come first, causes before what follows from them.
    """
    kept: dict[object, Finding] = {}
    for f in findings:
        partner = (f.other.line, f.other.access) if f.other else None
        key = (f.kind, f.severity, f.line, partner, f.variable, f.hazard, f.access, f.space)
        old = kept.get(key)
        shown = f if old is None or (_is_across(f) and not _is_across(old)) else old
        if old is not None:
            follows = min(old.follows, f.follows)
            shown = replace(shown, count=old.count + f.count, follows=follows)
        kept[key] = shown
    rank = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(kept.values(), key=lambda f: (rank[f.severity], f.follows, f.line)))


def unconfirmed(raw: Raw, debug: Image, optimized: Image) -> Raw:
    """A run of the debug variant without the races of reads that do not matter.

    Those are volatile reads in lines that have, in the optimized code, only loads whose value is no
    data: it is tested, whatever pointer or object it went through, or a sequence lock confirms it.
    Plain reads in lines that have only loads there which a loop of compare-and-swaps confirms. And
    volatile reads of shared memory, where they decide whether an atomic changes the place, as that
    of a maximum which is larger already, or whether a volatile store sets it, as a flag, or where
    they wait for such a store.
    """
    ops, races, tests = debug.ops, list[tuple[int, int, int]](), list[tuple[int, int, int]]()
    for k, r in enumerate(raw.reports):
        pcs, flags = (int(r["pc"]), int(r["pc2"])), int(r["flags"])
        if r["kind"] == c.RACE and flags & UNWAITED:
            races.append((k, pcs[1] if flags & STORE else pcs[0], _TESTED))
        elif r["kind"] == c.RACE:
            for pc, other in (pcs, pcs[::-1]):
                volatile = r["space"] == SHARED and _is_volatile_read(ops[pc], ops[other])
                if ops[pc].startswith("ld.") and ops[other].startswith(_ATOMICS):
                    races += [(k, pc, _SWAPPED)] if ".cas." in ops[other] else []
                    races += [(k, pc, _DECIDES)] if volatile else []
                elif volatile and ops[other].startswith("st.volatile."):
                    tests.append((k, pc, other))
                    races += [(k, pc, _WAITS)]
    if not (races or tests):
        return raw
    known, own = _lines_without_effect(optimized), source_lines(debug)
    dropped = [k for k, pc, why in races if own[pc] in known[why]]
    dropped += [k for k, pc, flag in tests if (own[pc], own[flag]) in known[_SETS]]
    return replace(raw, reports=np.delete(raw.reports, dropped)) if dropped else raw


def _is_volatile_read(op: str, other: str) -> bool:
    """Whether an access is a volatile load of as many bytes as another one."""
    size, same = (TYPE_BYTES.get(x.rpartition(".")[2], 0) for x in (op, other))
    return op.startswith("ld.volatile.") and size == same


@lru_cache(maxsize=2)
def _lines_without_effect(optimized: Image) -> tuple[frozenset[object], ...]:
    """By why a read has no effect, the lines that have such loads, and no others of their kind.

    With the line of the store, where they decide on one.
    """
    names = [d.name.partition("@")[0] for d in optimized.functions]  # copies have the same body
    functions = {name: optimized.module.functions[name] for name in names}
    lines = source_lines(optimized)
    found, spoiled = ([set[object]() for _ in range(5)] for _ in range(2))
    sets = set[tuple[int, int]]()
    for number, name in enumerate(names):
        first, f = optimized.owner.index(number), functions[name]
        line = lines[first : first + len(f.body)]
        volatile, kept = set(volatile_loads(f)), data_reads(f, functions)
        decides = dict(_deciding(f, functions, volatile - kept))
        stores = {k for k, i in enumerate(f.body) if i.op.startswith("st.")}
        on_atomics = {at for at, decided in decides.items() if decided - stores}
        begins = set(swap_loads(f, functions))
        plain = {at for at, i in enumerate(f.body) if access_head(i) == "ld" and is_plain(i.op)}
        waits = {at for at, role in memory_roles(f, functions).items() if role & WAITING}
        for why, own, others in (
            (_TESTED, volatile, kept),
            (_SWAPPED, begins, plain - begins),
            (_DECIDES, on_atomics, volatile - decides.keys()),
            (_WAITS, volatile & waits, volatile - waits),
        ):
            found[why] |= {line[at] for at in own}
            spoiled[why] |= {line[at] for at in others}
        sets |= {(line[at], line[k]) for at, decided in decides.items() for k in decided & stores}
    found[_SETS] |= {pair for pair in sets if pair[0] not in spoiled[_DECIDES]}
    return tuple(frozenset(x - y) for x, y in zip(found, spoiled, strict=True))


def _deciding(
    f: Function, functions: Mapping[str, Function], loads: Collection[int]
) -> Iterator[tuple[int, set[int]]]:
    """Those of some loads whose value is only tested, with what they decide on.

    That are atomics and volatile stores that change the same place: to a constant, as of a flag.
    """
    if not loads:
        return
    flow, then, body = ValueFlow(f, functions), successors(f), f.body
    changes = {
        k: flow.place(next((x for x in i.operands if x.startswith("[")), ""))
        for k, i in enumerate(body)
        if access_head(i) in ("atom", "red")
        or (i.op.startswith("st.volatile.") and flow.place(i.operands[-1])[0].isdecimal())
    }
    for at in loads:
        place = flow.place(body[at].operands[1])
        same = {k for k, x in changes.items() if x == place}
        names, readers = flow.spread(targets(body[at]), range(len(body)), CALCULATES)
        data = (k for k in readers if not names.isdisjoint(sources(body[k])))
        if not all(CALCULATES.match(body[k].op) for k in data):
            continue
        decided = set[int]()
        for k in (k for k in readers if (guard := body[k].guard) and guard[0] in names):
            ways = [({n} | reached([n], {at}, then)) & same for n in then[k]]
            both = ways[0] & ways[-1]
            decided |= {k} if k in same else (ways[0] | ways[-1]) - both
        if decided:
            yield at, decided


def _is_across(f: Finding) -> bool:
    return f.other is not None and f.other.block != f.block


def is_narrow(f: Finding) -> bool:
    """Whether a finding is a race between two threads of a block for global memory."""
    return f.kind == "race" and f.space == "global" and f.other is not None and not _is_across(f)


def with_wider_pairs(
    findings: tuple[Finding, ...], others: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """The findings, races of two threads of a block as of two blocks where another run has such.

    Args:
        findings: the findings.
        others: those of the other run.
    """
    wide = {_place_of(f): f for f in reversed(others) if f.kind == "race" and _is_across(f)}
    return tuple(
        replace(
            w,
            count=f.count,
            severity=f.severity,
            follows=f.follows,
            hint=f.hint if GRID_BARRIER in f.hint else w.hint,
        )
        if is_narrow(f) and (w := wide.get(_place_of(f)))
        else f
        for f in findings
    )


def _place_of(f: Finding) -> tuple[object, ...]:
    """The lines, the variable and the hazard of a race."""
    return f.line, f.other and f.other.line, f.variable, f.hazard


def with_calls_of(findings: tuple[Finding, ...], apart: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings of a run as the run of code with a copy for each call shows them.

    Args:
        findings: the findings.
        apart: those of the other run. One that it does not have stays as it is.
    """
    known = {_place(f): f for f in reversed(apart)}
    same = ((f, known.get(_place(f), f)) for f in findings)
    return fold(replace(new, severity=f.severity, count=f.count) for f, new in same)


def _place(f: Finding) -> tuple[object, ...]:
    lines = frozenset((f.line, f.other.line if f.other else f.line))
    return f.kind, f.variable, f.space, lines


def merge_findings(debug: tuple[Finding, ...], other: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The debug variant's findings, and those that only the other variant has.

    Where the debug variant names the variable that a line accesses, the other knows no more. The
    compiler puts a trap without a line where it proves such an error. A misaligned access to a
    local variable is a warning in the debug variant, and an error where the other one has it too.
    """
    misaligned = [f for f in other if _is_misaligned(f)]
    debug = reduce(_with_severity, misaligned, debug)
    debug, other = _without_repeated(debug, other), _without_repeated(other, debug)
    known = {(f.kind, f.severity, f.variable) for f in debug}
    named = {(f.kind, f.line) for f in debug if f.variable}
    if any(f.severity == "error" for f in debug):
        named.add(("launch-failure", 0))
    new = (f for f in other if (f.kind, f.severity, f.variable) not in known)
    kept = [f for f in new if f.variable or (f.kind, f.line) not in named]
    kept = [f for f in kept if f not in misaligned or _same_access(debug, f) is None]
    return debug + tuple(_after(debug, f) for f in kept)


def _without_repeated(
    findings: tuple[Finding, ...], others: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """The findings of a variant without warnings of reads that are errors in the other one."""
    errors = {(f.kind, f.line) for f in others if f.severity == "error"}
    return tuple(
        f
        for f in findings
        if (f.kind, f.line) not in errors
        or (f.kind, f.severity) != ("uninitialized-read", "warning")
    )


def _is_misaligned(f: Finding) -> bool:
    """Whether a finding is a misaligned access to a local variable."""
    return f.space == "local" and f.message.startswith("misaligned")


def _same_access(debug: tuple[Finding, ...], f: Finding) -> Finding | None:
    """The debug variant's finding of a misaligned access of the other one; None if it has none.

    The optimizer moves an access, but not far: the nearest one of this kind is it.
    """
    same = [d for d in debug if _is_misaligned(d) and d.access == f.access]
    return min(same, key=lambda d: abs(d.line - f.line), default=None)


def _with_severity(debug: tuple[Finding, ...], f: Finding) -> tuple[Finding, ...]:
    """The debug variant's findings, with a misaligned access as severe as the other one's."""
    same = _same_access(debug, f) if f.severity == "error" else None
    return tuple(replace(d, severity="error") if d is same else d for d in debug)


def _after(debug: tuple[Finding, ...], f: Finding) -> Finding:
    """A finding that only the other variant has: what is unset there has another value.

    A launch that it alone ends early is no cause of an error that both have. Where a barrier is
    missing, the optimizer may give the thread that stores a value, and does not load it, a way of
    its own: the threads of its warp then come to a call apart, which follows from the race.
    """
    kinds = {known.kind for known in debug if known.severity == "error"}
    unset = "uninitialized-read" in kinds and f.kind != "uninitialized-read"
    follows = unset or (bool(kinds) and f.kind == "launch-failure")
    follows |= "race" in kinds and f.kind == "barrier-divergence"
    return replace(f, follows=f.follows + 1) if follows else f
