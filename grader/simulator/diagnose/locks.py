"""Races of accesses that a lock is meant to order: what is wrong with how it is taken.

Whether fences are missing is tried before: see missing_orders.py. `plain_signals` are what it makes
atomic: the plain accesses to locks, and to what else threads wait for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from grader import dataclass, regex, replace
from grader.simulator.decode.dataflow import sources
from grader.simulator.decode.memory import is_strong
from grader.simulator.diagnose.consequences import Flow
from grader.simulator.diagnose.places import LOOPS
from grader.simulator.diagnose.race_messages import Early, Pair
from grader.simulator.diagnose.races import ACROSS_BLOCKS, ProgramOrder, Report, subject
from grader.simulator.ptx.model import is_load

if TYPE_CHECKING:
    from grader.compile.syntax import Node, Tree
    from grader.simulator.decode.module import Image
    from grader.simulator.diagnose.calls import Calls
    from grader.simulator.diagnose.places import Branches

_MOST_LETTERS = 1000
"""Of a line, the letters that are searched."""
_TAKES_LOCK = regex(
    r"\batomic(?P<swap>CAS\w*|Exch\w*)\s*\((?P<lock>[^,;]{1,80}),"
    r"(?:\s*\w+\s*,)?\s*(?:\d+u?|[A-Z_]+|true)\s*\)"
)
"""An atomic swap that sets a constant, as of a lock."""
_FREES = regex(r"\batomic(?:Exch|CAS)\w*\s*\([^;]*,\s*(?:0u?|false)\s*\)")
_PUBLISHES = regex(r"\batomicCAS|\bcompare_exchange_")
_TAKES_OBJECT = regex(r"\bcompare_exchange_\w+\s*\([^,;]{1,80},\s*(?:\d+u?|[A-Z_]+|true)\s*[,)]")
ARRIVES = regex(r"(?:mbarrier|bar|barrier)(?:\.aligned|\.cta)*\.arrive")
"""What hands data over without a value that threads read."""
_PHASES = regex(r"mbarrier\.(?:try|test)_wait")
_BARRIERS = regex(r"(?:bar|barrier)(?:\.aligned|\.cta)*\.sync")
_CONSTANT = regex(r"\s*(?:,|=(?!=))\s*(?:\d+[uU]?|[A-Z_]\w*|k[A-Z]\w*|true|false)\s*[,;)]")
"""What follows a place that a constant is written to, as to a lock that is freed."""
_ENDLESS = regex(r"\(?\s*(?:true|1)?\s*\)?")


@dataclass(frozen=True)
class Lock:
    """A swap that takes a lock.

    Attributes:
        line: its line.
        name: the expression of its address.
        repeats: whether what it returns decides whether it is repeated.
        decided: the blocks, each with its function, that what it returns decides about.
        place: the expression of what is swapped, without blanks.
    """

    line: int
    name: str
    repeats: bool
    decided: frozenset[tuple[int, int]]
    place: str


class Locks:
    """The locks of an image."""

    def __init__(self, flow: Flow, lines: Sequence[str], tree: Tree) -> None:
        self.flow, self.image, self.lines, self.tree = flow, flow.image, lines, tree

    def hint(self, r: Report, *, shared: bool = False) -> str:
        """The fix of a race of two accesses behind a lock; empty where they have none.

        Args:
            r: the report of the race, with a plain write.
            shared: whether threads of one block are behind the lock at once.
        """
        own = [lock for lock in self._taken() if lock.line <= min(r.line, r.line2)]
        for lock in own:
            if lock.name and self._is_passed(lock, r) and self._freed(lock):
                what = "goes on whatever" if lock.decided else "does not test what"
                return (
                    f"Line {lock.line} {what} atomicCAS returns: the lock may be another thread's. "
                    "Repeat the call until it returns the value of a free lock."
                )
            if lock.repeats and (freed := self._freed_instead(lock)):
                return (
                    f"Line {lock.line} takes `{lock.place}`, and line {freed[0]} frees "
                    f"`{freed[1]}`. Free the lock that was taken."
                )
            if lock.decided and self._is_freed(lock) and self._gives_up(lock.line, r):
                return (
                    f"The loop around line {lock.line} may end without the lock, and line {r.line} "
                    "is executed all the same. Execute it, and free the lock, only where the lock "
                    "was taken."
                )
        if shared or not (r.has(ACROSS_BLOCKS) and any(lock.repeats for lock in own)):
            return ""
        line = next(lock.line for lock in own if lock.repeats)
        if not any(op.startswith(("membar", "fence")) for op in self.image.ops):
            return (
                f"If the lock of line {line} is to order these accesses, it needs fences: call "
                "__threadfence() after it is taken and before it is released, with __syncthreads() "
                "between a fence and the accesses of other threads."
            )
        return (
            f"The lock of line {line} does not order these accesses. Let each thread that accesses "
            f"{subject(r)} take this lock before, and free it after its last access."
        )

    def _is_passed(self, lock: Lock, r: Report) -> bool:
        """Whether threads go on to the accesses of a race whatever a swap returns."""
        blocks = {self.flow.values.blocks.get(pc) for pc in (r.pc, r.pc2)}
        return not lock.repeats and lock.decided.isdisjoint(blocks)

    def _freed_instead(self, lock: Lock) -> tuple[int, str] | None:
        """The line and the expression of another element that is freed instead of a lock."""
        array, index, _ = lock.place.partition("[")
        if not index:
            return None
        frees = re.compile(rf"(?<![\w.]){re.escape(array)}\s*\[[^,;=]{{1,80}}\](?=\s*(?:,|=[^=]))")
        functions = self.tree.walk("function_definition")
        around = (f.last_line for f in functions if f.line <= lock.line <= f.last_line)
        lines = enumerate(self.lines[lock.line : next(around, 0)], lock.line + 1)
        places = ((n, frees.search(text.partition("//")[0][:_MOST_LETTERS])) for n, text in lines)
        found = [(n, re.sub(r"\s", "", match[0]), match) for n, match in places if match]
        if any(place == lock.place for _, place, _ in found):
            return None
        constant = (x[:2] for x in found if _CONSTANT.match(x[2].string, x[2].end()))
        return min(constant, default=None)

    def between(self, read: int, write: int) -> int:
        """The line of a lock that is taken behind the line of a read and before a write's, or 0."""
        found = (k.line for k in self._taken() if k.repeats and read <= k.line <= write)
        return next(found, 0)

    def _taken(self) -> Iterator[Lock]:
        """The swaps that may take locks."""
        places = zip(self.image.ops, self.image.locations, strict=True)
        for pc, (op, at) in enumerate(places):
            if not op.startswith("atom") or not 0 < at.line <= len(self.lines):
                continue
            if (found := _TAKES_LOCK.search(self.lines[at.line - 1][:_MOST_LETTERS])) is None:
                continue
            decided = self.flow.decided_by(pc)
            compares = found["swap"].startswith("CAS")
            name = re.sub(r"[\s&*()]", "", found["lock"]) if compares else ""
            repeats = self.flow.repeats(pc)
            place = re.sub(r"^\(?&|\s", "", found["lock"].strip())
            yield Lock(at.line, name, repeats, decided, place)

    def _freed(self, lock: Lock) -> bool:
        """Whether another line writes a lock."""
        name = re.escape(lock.name)
        frees = re.compile(
            rf"\batomicExch\w*\s*\([\s&*(]*{name}\b|\*\s*{name}\s*=[^=]|^\s*{name}\s*=[^=]"
        )
        lines = enumerate(self.lines, 1)
        return any(frees.search(text[:_MOST_LETTERS]) for n, text in lines if n > lock.line)

    def _is_freed(self, lock: Lock) -> bool:
        """Whether a later line writes a lock, or any other one frees one, of another name there."""
        base = re.sub(r"[\s&*()]", "", lock.place.partition("[")[0])
        name = rf"{re.escape(base)}\b(?:\s*\[[^\]]*\])?"
        writes = re.compile(rf"\batomic\w+\s*\([\s&*(]*{name}|(?:\*\s*|^\s*){name}\s*=[^=]")
        own = {at.line for at in self.image.locations if 0 < at.line <= len(self.lines)}
        text = {n: self.lines[n - 1][:_MOST_LETTERS] for n in own - {lock.line}}
        later = (x for n, x in text.items() if n > lock.line)
        return any(map(_FREES.search, text.values())) or any(map(writes.search, later))

    def _gives_up(self, line: int, r: Report) -> bool:
        """Whether a loop around a swap in a line ends by what the swap does not decide, too."""
        swaps = (
            call
            for call in self.tree.walk("call_expression")
            if call.line == line and _TAKES_LOCK.search(call.text)
        )
        call = next(swaps, None)
        loop = call and next((node for node in call.ancestors if node.kind in LOOPS), None)
        if call is None or loop is None:
            return False
        if any(loop.line <= n <= loop.last_line and n != line for n in (r.line, r.line2)):
            return False
        known = {name for name, _ in _set_by(loop, call)}
        return any(
            not (_TAKES_LOCK.search(part) or known & {*re.findall(r"\w+", part)})
            for part in _exits(loop)
        )


def _set_by(loop: Node, call: Node) -> Iterator[tuple[str, Node]]:
    """The variables of a loop that a swap sets, or that are set where it has succeeded."""
    for node in loop.walk("init_declarator", "assignment_expression"):
        left, right = (
            node.part("declarator") or node.part("left"),
            node.part("value") or node.part("right"),
        )
        branch = next((up for up in node.ancestors if up.kind == "if_statement"), None)
        condition = branch and branch.part("condition")
        inside = right is not None and right.start <= call.start < right.end
        chosen = condition is not None and condition.start <= call.start < condition.end
        if left is not None and (inside or chosen):
            yield left.text, node


def _exits(loop: Node) -> Iterator[str]:
    """The conditions by which a loop ends, apart from `&&` and `||`."""
    conditions = [loop.part("condition")]
    for node in loop.walk("break_statement"):
        inner = next(up for up in node.ancestors if up.kind in (*LOOPS, "switch_statement"))
        branch = next((up for up in node.ancestors if up.kind == "if_statement"), None)
        if inner.index == loop.index and branch is not None and branch.index > loop.index:
            conditions.append(branch.part("condition"))
    for condition in conditions:
        if condition is not None and not _ENDLESS.fullmatch(condition.text):
            yield from re.split(r"&&|\|\|", condition.text)


def publishes(text: str) -> bool:
    """Whether a line of the source swaps a value in, unless it takes a lock so."""
    text = text[:_MOST_LETTERS]
    takes = _TAKES_LOCK.search(text) or _TAKES_OBJECT.search(text)
    return not takes and _PUBLISHES.search(text) is not None


def plain_signals(flow: Flow, order: ProgramOrder, pairs: Iterable[Pair]) -> list[frozenset[int]]:
    """The plain accesses to each variable that threads wait for, or take as a lock.

    Args:
        flow: where the values of the kernel's code go.
        order: which of its instructions follow others.
        pairs: the races of a run.
    """
    groups = list[set[int]]()
    for pair in pairs:
        near = [group for group in groups if not group.isdisjoint(pair)]
        groups = [group for group in groups if group not in near] + [set(pair).union(*near)]
    found = (_plain_of(flow, order, group) for group in groups)
    return sorted((own for own in found if own), key=min)


def _is_of_library(image: Image, pc: int) -> bool:
    """Whether a strong access is in a library's function, from which its value is not followed."""
    return bool(image.instructions[pc].via) and is_strong(image.ops[pc])


def _plain_of(flow: Flow, order: ProgramOrder, group: Collection[int]) -> frozenset[int]:
    """The plain accesses of those to one variable; none unless threads wait for it."""
    image = flow.image
    plain = {pc for pc in group if may_be_made_strong(image.ops[pc])}
    stores = {pc for pc in plain if image.ops[pc].startswith("st")}
    values = {pc: flow.loaded(pc) for pc in group if is_load(image.instructions[pc])}
    waits = [
        pc
        for pc in values
        if order.follows(pc, pc) and (_is_of_library(image, pc) or flow.repeats(pc))
    ]
    spins = [pc for pc in waits if pc in plain]
    swaps = [pc for pc in group if {"cas", "exch"} & {*image.ops[pc].split(".")}]
    known = spins or (stores and (waits or swaps))
    if not known and not (stores and _is_checked_twice(flow, order, plain - stores, stores)):
        return frozenset()
    own = [v for pc in plain - stores for v in values[pc]]
    kept = {(owner, name) for owner, name, _ in own}
    used = {
        (image.owner[pc], name)
        for pc in (*stores, *swaps)
        for name in sources(image.instructions[pc])
        if not any(name in x for x in image.instructions[pc].operands if x.startswith("["))
    }
    return frozenset(plain) if kept.isdisjoint(used) else frozenset()


def _is_checked_twice(
    flow: Flow, order: ProgramOrder, loads: Iterable[int], stores: Collection[int]
) -> bool:
    """Whether stores depend on a load before a lock is taken, and on another one behind it."""
    image, blocks = flow.image, flow.values.blocks

    def decides(pc: int) -> bool:
        return any(blocks.get(store) in flow.decided_by(pc) for store in stores)

    locks = [
        pc
        for pc, op in enumerate(image.ops)
        if {"cas", "exch"} & {*op.split(".")} and order.follows(pc, pc)
    ]
    first = [(pc, lock) for pc in loads for lock in locks if order.follows(pc, lock)]
    first = [(pc, lock) for pc, lock in first if decides(pc)]
    return any(
        other != pc and may_be_made_strong(op) and op.startswith("ld") and decides(other)
        for pc, lock in first[:1]
        for other, op in enumerate(image.ops)
        if order.follows(lock, other) and not order.follows(other, lock)
    )


def may_be_made_strong(op: str) -> bool:
    """Whether an access is a plain one of one element of memory."""
    head, *parts = op.split(".")
    other = {"param", "local", "const", "nc", "v2", "v4", "f16x2"}
    return head in ("ld", "st") and not is_strong(op) and other.isdisjoint(parts)


@dataclass(frozen=True)
class Signals:
    """What is read of a kernel's code to find signals that precede what they have to follow."""

    flow: Flow
    calls: Calls
    branches: Branches
    order: ProgramOrder
    tree: Tree

    def early(self, pair: Pair, waits: Sequence[int], signals: Sequence[int]) -> Iterator[Early]:
        """The signals that precede an access of a race in a block of statements, with no wait.

        Args:
            pair: the accesses.
            waits: the program counters of strong reads; waits for barriers are added.
            signals: those of strong writes; arrivals at barriers are added.
        """
        lines, (arrive, phases, barriers) = self.calls.lines, self._lines_of_barriers
        waited = phases | {lines[pc] for pc in waits}
        meet = waited | barriers
        for access, before in (pair, pair[::-1]):
            for signal in dict.fromkeys((*signals, *self._arriving)):
                if self.order.in_one_block(before, signal) or self.flow.repeats(signal):
                    continue  # it signals that, or is a wait
                for line, at in sorted(self.calls.meeting_lines(signal, access)):
                    early = self._early(line, at, lines[before], meet if line in arrive else waited)
                    if early is not None and line not in phases:
                        yield replace(early, arrives=line in arrive)

    @cached_property
    def _arriving(self) -> list[int]:
        return matching(self.flow.image.ops, ARRIVES)

    @cached_property
    def _lines_of_barriers(self) -> tuple[set[int], set[int], set[int]]:
        """The lines that lead to arrivals at barriers, to waits for phases, and to barriers."""
        ops, lines_to = self.flow.image.ops, self.calls.lines_to
        tests, barriers = (lines_to(matching(ops, x)) for x in (_PHASES, _BARRIERS))
        return lines_to(self._arriving), tests, barriers

    def _early(self, line: int, at: int, before: int, stops: Collection[int]) -> Early | None:
        """A signal as one that precedes an access in a block of statements, if it does.

        Args:
            line: the line of the signal.
            at: that of the access.
            before: that of the access that the other one has to follow.
            stops: the lines that must not be between.
        """
        own, other = self.branches.statement(line, at), self.branches.statement(at, line)
        if own is None or other is None or own[1] >= other[0]:
            return None
        if own[0] <= before <= own[1] or self._sets(own, other):
            return None
        if any(own[1] < x < max(other[0], at) for x in stops):
            return None
        return Early(line, at, *own, other[1])

    def _sets(self, own: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether a statement sets a variable that is used up to the end of another one.

        Args:
            own: the first and last line of the statement.
            other: those of the other one.
        """
        sets = self.tree.walk("assignment_expression", "init_declarator")
        left = (x.part("left") or x.part("declarator") for x in sets if own[0] <= x.line <= own[1])
        names = {x.text for x in left if x is not None and x.kind == "identifier"}
        used = (x for x in self.tree.walk("identifier") if own[1] < x.line <= other[1])
        return bool(names) and any(x.text in names for x in used)


def matching(ops: Sequence[str], pattern: re.Pattern[str]) -> list[int]:
    """The program counters of instructions with some opcodes."""
    return [pc for pc, op in enumerate(ops) if pattern.match(op)]
