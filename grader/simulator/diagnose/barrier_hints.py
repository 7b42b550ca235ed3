"""The texts that say where a barrier is missing, or why none fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader import dataclass
from grader.simulator.diagnose.places import Gap

if TYPE_CHECKING:
    from grader.compile.syntax import Node, Tree

_NAMED_BARRIER = "a named barrier (bar.sync) of all threads that read or write it"
"""The fix where only some threads of a block arrive: __syncthreads() would wait forever."""
GRID_BARRIER = "a barrier of all blocks (grid.sync())"
_ACCESSES = {"RAW": ("write", "read"), "WAR": ("read", "write")}


@dataclass(frozen=True)
class Meeting:
    """Where the threads of a block have to meet, since one of them signals or waits for all.

    Attributes:
        line: the line of the signal or wait.
        access: the line of the access that it is to order.
        first: the first line of the statement that a barrier is missing before, or behind.
        last: the last one.
        signals: whether it is a signal, which the barrier precedes.
        warp: whether only the lanes of a warp have to meet.
        fence: whether a fence is missing there, too.
    """

    line: int
    access: int
    first: int
    last: int
    signals: bool
    warp: bool = False
    fence: bool = False


def barrier_advice(gap: Gap, hazard: str, *, warp: bool) -> str:
    """Where the missing barrier belongs, as sentences; `warp`: between lanes of one warp."""
    barrier = "__syncwarp()" if warp else _NAMED_BARRIER if gap.named else "__syncthreads()"
    barrier, warp = (GRID_BARRIER, False) if gap.grid else (barrier, warp)
    own, other = _ACCESSES.get(hazard, ("first write", "other write"))
    if gap.first != gap.then:
        own, other = f"line {gap.first}", f"line {gap.then}"
    if gap.chosen:
        return _chosen_by_memory(gap)
    if gap.kind == "condition":
        where = ", outside the branch or loop that only some threads enter" * (
            gap.inner and not warp
        )
        return (
            f"Put {barrier} before the `if` of line {gap.line}{where}, and let the `if` test a "
            "variable that gets its value before the barrier."
        )
    if gap.kind == "branches":
        return _between_branches(gap, barrier, own, other)
    if gap.kind == "phases":
        return (
            "Such threads synchronize by mbarriers: access it only after the wait for the phase "
            "that hands it over, and let each thread arrive, as by arrive() or consumer_release(), "
            "after its last access."
        )
    if gap.kind == "waiting":
        return (
            "No barrier fits between the branches of one `if`. Let the writer set an atomic flag "
            "after the access, and the reader wait for it before its own, each with "
            "__threadfence_block() between the two."
        )
    if gap.kind == "library":
        return (
            f"Line {gap.line} calls a library whose threads share this memory within one call. "
            "Give each warp or block that makes the call, and each call, memory of its own."
        )
    if gap.kind == "unknown":
        return "No barrier in one place orders the two accesses."
    place = _place(gap, hazard)
    if gap.kind == "between" or (warp and gap.kind != "branch"):
        return f"Put {barrier} {place}."
    if warp:
        return (
            f"Put {barrier} {place}. Where only some lanes of a warp enter the branch of line "
            f"{gap.line}, end it before the barrier, and test its condition again after that."
        )
    if gap.kind == "branch":
        return (
            f"Put {barrier} {place}, but outside the branch of line {gap.line}, which only some "
            "threads enter: end it before the barrier, and test its condition again after that."
        )
    if gap.kind == "loop":
        return (
            f"Put {barrier} {place}, and let all threads make the same number of iterations of "
            f"the loop of line {gap.line}: the barrier waits for every thread of the block."
        )
    return (
        f"Put {barrier} {place}, and let all threads of the block make the call in line "
        f"{gap.line}: the barrier waits for every one of them."
    )


def _chosen_by_memory(gap: Gap) -> str:
    """The sentences about elements that values in memory choose."""
    lines = f"line {gap.first}" + f" and line {gap.then}" * (gap.first != gap.then)
    return (
        "Values in memory choose the element, so any thread of any block may access it, and no "
        f"barrier orders them. Access it in {lines} by atomics, such as a relaxed "
        "cuda::atomic_ref, or atomicAdd of 0 and atomicExch. Or read what was there before "
        "from another array than the one that you write."
    )


def _between_branches(gap: Gap, barrier: str, own: str, other: str) -> str:
    """The sentences about accesses in two branches of one statement."""
    return (
        f"Put {barrier} between two `if` statements: the first with the branch of the {own}, "
        f"the second with that of the {other}. No barrier fits between the branches of the "
        f"statement in line {gap.line}."
        + " Put another one behind both, before the next iteration of the loop."
        * gap.both
    ).replace("the line", "line")


def beside_atomic(line: int, other: int) -> str:
    """The fix of a plain write of what the atomic of another line changes at the same time."""
    return (
        f"Line {line} writes plainly what the atomic of line {other} updates meanwhile. Write it "
        f"in line {line} by an atomic, too, such as atomicExch or atomicMin, or leave this to one "
        "thread behind a barrier that all threads of the block reach."
    )


def _place(gap: Gap, hazard: str) -> str:
    """The place of the missing barrier by its lines."""
    first, then = gap.first, gap.then
    if gap.head:
        where = f" in line {then}" if gap.in_line else f", before line {then}"
        return f"at the start of the body of the loop{where}"
    if first < then and not (gap.apart[0] >= gap.apart[1] > 0):
        behind, before = gap.apart if any(gap.apart) else (first, then)
        return f"between line {behind} and line {before}"
    if first == then and gap.forward:
        what = {"RAW": "the write and the read", "WAR": "the read and the write"}
        return f"between {what.get(hazard, 'the two writes')} in line {first}"
    if gap.in_line:
        return f"at the end of the body of the loop in line {first}"
    behind, before = gap.within if any(gap.within) else (then, first)
    again = f"between line {behind} and line {before}, and " if gap.both else ""
    first, then = gap.apart if any(gap.apart) else (first, then)
    return f"{again}after line {first}, before the next iteration of the loop reaches line {then}"


Exchange = tuple[int, int]
"""The lines of two assignments, each of which makes an element from the other's."""


def exchange_hint(lines: Exchange, name: str) -> str:
    """The fix of an exchange of two elements that both threads of a pair make."""
    own, other = lines
    what = f"Line {own} exchanges" if own == other else f"Lines {own} and {other} exchange"
    return (
        f"{what} two elements of {name}, and several threads do so with the same elements at once. "
        "No atomic exchanges two elements: let only one thread of each pair do it, such as the one "
        "with the smaller index, and let no element be in two pairs."
    )


def exchanges(tree: Tree) -> Iterator[Exchange]:
    """The pairs of assignments of one block that make each of two elements from the other."""
    references = {_words(x) for node in tree.walk("reference_declarator") for x in node.named}
    values: dict[str, set[str]] = {}
    made: dict[int, list[tuple[str, set[str], int]]] = {}
    for node in tree.walk("init_declarator", "assignment_expression"):
        left, right = (node.part("declarator") or node.part("left")), node.part("value")
        right = right or node.part("right")
        if left is None or right is None:
            continue
        target, used = _words(left), _elements(right)
        used |= {x for name in used for x in values.get(name, ())}
        if left.kind == "identifier":
            values[target] = used
            if target not in references:
                continue
        block = next((up.index for up in node.ancestors if up.kind == "compound_statement"), 0)
        own = made.setdefault(block, [])
        yield from ((line, node.line) for x, of, line in own if x in used and target in of - {x})
        own.append((target, used, node.line))


def _elements(node: Node) -> set[str]:
    """The variables and elements in an expression, without blanks."""
    kinds = "identifier", "subscript_expression", "pointer_expression", "field_expression"
    return {_words(x) for x in node.walk(*kinds)}


def _words(node: Node) -> str:
    return "".join(node.text.split())


def meeting_hint(m: Meeting) -> str:
    """The fix of a race of threads whose block, or warp, has one thread that signals, or waits."""
    others, own = ("warps", "lanes") if m.warp else ("blocks", "threads")
    barrier = "__syncwarp()" if m.warp else "__syncthreads()"
    if m.fence:
        both = [barrier, "__threadfence_block()" if m.warp else "__threadfence()"]
        barrier = " and then ".join(both if m.signals else reversed(both))
    if m.signals:
        what = (
            f"signals other {others} while {own} of its own may not have executed line {m.access}"
        )
        fix = f"Let them all arrive first: put {barrier} before line {m.first}."
    else:
        what = f"waits for other {others} while {own} of its own go on to line {m.access}"
        fix = f"Let them all wait: put {barrier} after line {m.last}."
    return f"The thread in line {m.line} {what}. {fix} A run with that does not have this race."
