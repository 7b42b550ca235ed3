"""The texts that say where a barrier is missing, or why none fits, and which atomic does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from grader import dataclass, regex, replace
from grader.simulator.diagnose.places import Gap
from grader.simulator.diagnose.subscripts import elements_of, words_of
from grader.simulator.ptx.model import TYPE_BYTES

if TYPE_CHECKING:
    from grader.compile.syntax import Node, Tree

_NAMED_BARRIER = "a named barrier (bar.sync) of all threads that read or write it"
"""The fix where only some threads of a block arrive: __syncthreads() would wait forever."""
GRID_BARRIER = "a barrier of all blocks (grid.sync())"
_ACCESSES = {"RAW": ("write", "read"), "WAR": ("read", "write")}
_ATOMIC_BYTES = 4
"""The least bytes that atomicAdd and others update."""
_SWAP_LOOP = "atomicCAS in a loop"
_BY_SIGN = {"+": "atomicAdd", "-": "atomicAdd", "|": "atomicOr", "&": "atomicAnd", "^": "atomicXor"}
_BEST = {"max": "atomicMax", "min": "atomicMin"}
_OF_BLOCK = regex(r"\b(atomic\w+)_block\s*\(")
_CALLED_BEST = regex(r"(?:\w+::)*(?:f|u|ll|ull)?(max|min)[fl]?(?:<.*>)?$")


_WITHOUT_PLACE = {
    "phases": (
        "Such threads synchronize by mbarriers: access it only after the wait for the phase "
        "that hands it over, and let each thread arrive, as by arrive() or consumer_release(), "
        "after its last access."
    ),
    "waiting": (
        "No barrier fits between the branches of one `if`. Let the writer set an atomic flag "
        "after the access, and the reader wait for it before its own, each with "
        "__threadfence_block() between the two."
    ),
    "unknown": "One more barrier did not end this race in any place that was tried.",
}
"""By kind of a gap: the fix where no barrier fits."""


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
    if gap.kind == "skipped":
        line, last = gap.within
        return (
            f"`{gap.test}` in line {gap.line} leaves out the barrier of line {line} at times. Put "
            f"the barrier after line {last}, outside the `if`. A run with that does not have this "
            "race."
        )
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
    if gap.kind == "library":
        return (
            f"Line {gap.line} calls a library whose threads share this memory within one call. "
            "Give each warp or block that makes the call, and each call, memory of its own."
        )
    if gap.kind in _WITHOUT_PLACE:
        return _WITHOUT_PLACE[gap.kind]
    place = _place(gap, hazard)
    if gap.kind == "between" or (warp and gap.kind != "branch"):
        return f"Put {barrier} {place}." + " Read into a local variable first." * gap.split
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


def joined_gaps(gaps: Iterable[Gap]) -> dict[Gap, Gap]:
    """The gaps that share a place for their barrier with others, each with that place.

    Where one barrier orders the accesses of several races, all of them name its place.
    """
    every = sorted({g for g in gaps if g.kind == "between" and all(g.apart)}, key=by_place)
    out: dict[Gap, Gap] = {}
    for _, group in groupby(every, lambda g: (g.block, g.forward, g.both, g.named)):
        left = list(group)
        while left and not left[0].both:
            here = [g for g in left if not g.forward or g.apart[0] < left[0].apart[1]]
            apart = max(g.apart[0] for g in here), min(g.apart[1] for g in here)
            out |= {g: replace(g, apart=apart) for g in here}
            left = [g for g in left if g not in out]
    return out


def by_place(g: Gap) -> tuple[int, ...]:
    """The order of gaps: by the places of their barriers."""
    return g.block, g.forward, g.both, g.named, g.apart[1], g.apart[0], g.first, g.then


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


def reserve_hint(line: int, count: int) -> str:
    """The fix of an atomic in a line that adds 1; a run in which it adds `count` is right."""
    return (
        f"Line {line} reserves one element (it adds 1), but more than one are written from the "
        "index that it returns: the next addition returns one of them. Add the number of elements "
        "that are written, such as the size of the group (size(), or __popc of its mask). A run in "
        f"which line {line} adds {count} does not have this race."
    )


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
    if gap.split:
        end = _place(replace(gap, split=False), hazard)
        return f"between the read and the write in line {first}, and {end}"
    if gap.apart[0] < min(1, gap.apart[1]):
        return f"before line {gap.apart[1]}, in each iteration of the loop"
    if gap.in_line:
        return f"at the end of the body of the loop in line {first}"
    behind, before = gap.within if any(gap.within) else (then, first)
    again = f"between line {behind} and line {before}, and " if gap.both else ""
    first, then = gap.apart if any(gap.apart) else (first, then)
    return f"{again}after line {first}, before the next iteration of the loop reaches line {then}"


def update_hint(tree: Tree, line: int, name: str, kind: str, *, halves: bool) -> str:
    """The fix of an update in two steps.

    Args:
        tree: the source.
        line: the line that reads and writes.
        name: what it updates.
        kind: the type of the element in PTX, such as f32.
        halves: whether the source has floating-point types of 16 bits, to which atomics add.
    """
    what = (
        f"Line {line} reads {name}, computes and writes it back: two steps, and updates "
        "of other threads between them are lost."
    )
    size = TYPE_BYTES.get(kind, _ATOMIC_BYTES)
    if size < _ATOMIC_BYTES and not halves:
        return (
            f"{what} No atomic adds to {8 * size} bits: use elements of 32 bits (int, unsigned), "
            "and one atomic for each update."
        )
    atomic = atomic_of(tree, line) or f"atomicAdd or {_SWAP_LOOP}"
    atomic = _SWAP_LOOP if atomic in _BEST.values() and kind[:1] == "f" else atomic
    return f"{what} Use one atomic, such as {atomic}, for each update."


def check_hint(lines: tuple[int, int], name: str, best: str) -> str:
    """The fix of a write that a branch on the value read before allows.

    Args:
        lines: the line of the read, and that of the write.
        name: what they access.
        best: the atomic that does both; empty if not known.
    """
    return (
        f"Line {lines[0]} reads {name}, and line {lines[1]} writes it where that value "
        "allows it: two steps, and another thread may write it between them. Use one "
        f"atomic such as {best or 'atomicCAS'}, which compares and writes at once"
        f"{'' if best else ', and test what it returns'}."
    )


def replace_hint(lines: tuple[int, int], name: str) -> str:
    """The fix of a read, and of a write of another value; `lines` are theirs."""
    return (
        f"Line {lines[0]} reads {name}, and line {lines[1]} overwrites it: two steps, and several "
        "threads may read the same value. Use one atomicExch, which writes the new value and "
        "returns the one that it replaces."
    )


def draw_hint(read: int, add: int, before: bool, name: str) -> str:
    """The fix of a read of a counter beside an atomic that adds to it; `before`: it comes first."""
    steps = f"Line {read} reads {name}, and line {add} adds to it"
    steps = steps if before else f"Line {add} adds to {name}, and line {read} reads it"
    return (
        f"{steps}: two steps, and several threads may read the same value. Use the value "
        f"that the atomic of line {add} returns, and leave out the read."
    )


def atomic_of(tree: Tree, line: int) -> str:
    """The atomic that does what the one assignment to memory of a line does; empty if not known."""
    found = {_atomic_of(node) for node in _assignments(tree, line)}
    return found.pop() if len(found) == 1 else ""


def rewrites(tree: Tree, line: int) -> bool:
    """Whether an assignment of a line makes an element from what it was."""
    sides = ((x.part("left"), x.part("right")) for x in _assignments(tree, line))
    return any(a is not None and b is not None and words_of(a) in elements_of(b) for a, b in sides)


def best_of(tree: Tree, line: int) -> str:
    """The atomic that does what `if (value > place) place = value;` does; empty for any other."""
    found = [*_assignments(tree, line)]
    statement = found[0].parent if len(found) == 1 else None
    block = statement.parent if statement is not None else None
    if block is not None and block.kind == "compound_statement" and len(block.named) == 1:
        block = block.parent
    if block is None or block.kind != "if_statement" or block.part("alternative") is not None:
        return ""
    tests = [x for x in block.field("condition").named if x.kind == "binary_expression"]
    sign, value = found[0].part("operator"), found[0].part("right")
    if len(tests) != 1 or sign is None or sign.text != "=" or value is None:
        return ""
    return _best(tests[0], words_of(value))


def _assignments(tree: Tree, line: int) -> Iterator[Node]:
    """The assignments and increments of a line, but those of local variables where others are."""
    kinds = "assignment_expression", "update_expression"
    found = [x for x in tree.walk(*kinds) if x.line <= line <= x.last_line]
    targets = [x.part("left") or x.part("argument") for x in found]
    memory = [x is not None and x.kind != "identifier" for x in targets]
    return (x for x, own in zip(found, memory, strict=True) if own or not any(memory))


def _atomic_of(node: Node) -> str:
    """The atomic that does what an assignment does; empty if not known."""
    sign, value, target = node.part("operator"), node.part("right"), node.part("left")
    if node.kind == "update_expression" or sign is None or value is None or target is None:
        return _BY_SIGN["+"]
    if sign.text != "=":
        return _BY_SIGN.get(sign.text[:-1], _SWAP_LOOP)
    if value.kind == "identifier":
        whole = next((x for x in node.ancestors if x.kind == "function_definition"), node)
        made = [x.part("value") for x in whole.walk("init_declarator") if _declares(x, value.text)]
        value = (made[0] if len(made) == 1 else None) or value
    while value.kind == "parenthesized_expression" and value.named:
        value = value.named[0]
    if value.kind == "call_expression":
        called = _CALLED_BEST.match(words_of(value.field("function")))
        return _BEST[called[1]] if called else ""
    if value.kind == "conditional_expression":
        test = value.field("condition")
        test = test.named[0] if test.kind == "parenthesized_expression" else test
        return _best(test, words_of(value.field("consequence"))) or _SWAP_LOOP
    if value.kind != "binary_expression":
        return ""
    subtracted = value.field("operator").text == "-" and words_of(value.field("right"))
    by = _BY_SIGN.get(value.field("operator").text, _SWAP_LOOP)
    return _SWAP_LOOP if subtracted == words_of(target) else by


def _declares(node: Node, name: str) -> bool:
    declared = node.part("declarator")
    return declared is not None and declared.text == name


def _best(test: Node, value: str) -> str:
    """The atomic that leaves the value which a comparison by size prefers."""
    sign = test.field("operator").text[:1] if test.kind == "binary_expression" else ""
    sides = [words_of(test.field(side)) for side in ("left", "right")] if sign in ("<", ">") else []
    if value not in sides:
        return ""
    return _BEST["max" if (sides[0] == value) == (sign == ">") else "min"]


def scope_hint(name: str, texts: Mapping[int, str]) -> str:
    """The fix of accesses of a block's scope to what other blocks access.

    Args:
        name: what they access.
        texts: the text of each of their lines.
    """
    fixes: dict[str, list[str]] = {}
    for line, text in sorted(texts.items()):
        fixes.setdefault(wider_scope(text), []).append(f"line {line}")
    own = " and ".join(map(str, sorted(texts)))
    accesses = f"Lines {own} access" if len(texts) > 1 else f"Line {own} accesses"
    how = [f"{fix} in {' and '.join(lines)}" for fix, lines in fixes.items()]
    return (
        f"{accesses} {name} in the scope of one block, and other blocks access it, too: such an "
        f"access is atomic within its own block only. {'. '.join(how)}."
    )


def wider_scope(text: str) -> str:
    """The fix of an access in a line that has a block's scope and needs the device's."""
    if "thread_scope_block" in text:
        return "Use `cuda::thread_scope_device`"
    if len(calls := {*_OF_BLOCK.findall(text)}) == 1:
        name = calls.pop()
        return f"Call {name} instead of {name}_block"
    if "_block" in text:
        return "Call the function without `_block`"
    return "Use `.gpu`" if ".cta" in text else "Access an object of `thread_scope_device`"


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
