"""Races of updates in two steps: a read and then a write of one element, which one atomic would do.

No barrier and no signal between the two accesses helps where each of the threads updates what the
others update. What the code does with the value that it reads tells: it stores what it computes
from it, or it stores where a branch on it says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from grader import regex, replace
from grader.launch import Dim3, Finding
from grader.simulator.core import bindings as c
from grader.simulator.decode.operands import address_or_none, vector
from grader.simulator.decode.stack import stack_slot
from grader.simulator.diagnose.barrier_hints import (
    best_of,
    check_hint,
    draw_hint,
    replace_hint,
    rewrites,
    scope_hint,
    update_hint,
)
from grader.simulator.diagnose.calls import Calls
from grader.simulator.diagnose.consequences import Flow, Value, addressed
from grader.simulator.diagnose.locks import Locks
from grader.simulator.diagnose.messages import swap_fix
from grader.simulator.diagnose.places import Gap
from grader.simulator.diagnose.races import (
    ACROSS_BLOCKS,
    BLOCK_SCOPE,
    MIXED_SIZE,
    OTHER_STORE,
    SAME_VALUE,
    STALE_CACHE,
    STORE,
    UNWAITED,
    WITHIN_WARP,
    ProgramOrder,
    Report,
    both_ends,
    is_atomic,
    plain_ends,
    subject,
    written_twice,
)
from grader.simulator.diagnose.subscripts import (
    Exchange,
    elements_in,
    exchange_hint,
    exchanges,
    in_sequence,
    pointees_in,
)
from grader.simulator.ptx.model import TYPE_BYTES, Instruction, is_load

if TYPE_CHECKING:
    from grader.compile.syntax import Tree

_MOST_LETTERS = 1000
"""Of a line, the letters that are searched."""
_HALVES = regex(r"\b(?:__)?(?:nv_)?(?:half|bfloat16)2?\b")
"""Of a type of 16 bits that atomicAdd takes."""
_CAST = regex(r"\*\s*\(\s*volatile[^()]{1,80}\)\s*&\s*")
"""An access through the address of an element, cast to a pointer to volatile."""
_WORD = 4
"""The bytes of the smallest type that atomicExch takes."""
_MEMBER = regex(r"(?:\.|->)\s*([A-Za-z_]\w*)\s*(?:(?:[-+*/%|&^]|<<|>>)?=(?!=)|\+\+|--)")
"""A member that a line writes."""


class TwoSteps:
    """The updates in two steps of an image, and the locks that may be around them."""

    def __init__(self, flow: Flow, lines: Sequence[str], tree: Tree) -> None:
        self.flow, self.image, self.lines = flow, flow.image, lines
        self.locks, self.tree = Locks(flow, lines, tree), tree

    def hint(
        self, r: Report, gap: Gap | None, reports: Sequence[Report], grid: Dim3, order: ProgramOrder
    ) -> str:
        """The fix of a race with an update in two steps; empty where it has none.

        Args:
            r: the report of the race.
            gap: where a barrier is missing; None where none can help.
            reports: all reports of the run.
            grid: the blocks of the launch.
            order: the order of the instructions.
        """
        name = subject(r)
        across, stores = r.has(ACROSS_BLOCKS), [pc for pc, is_store in plain_ends(r) if is_store]
        if r.has(BLOCK_SCOPE):
            narrow = [pc for pc, _ in both_ends(r) if ".cta" in self.image.ops[pc]]
            texts = {line: self._text(line) for line in {self._line(pc, r) for pc in narrow}}
            return scope_hint(name, texts) if texts else ""
        if r.has(STALE_CACHE | MIXED_SIZE):
            return ""
        twice = written_twice(reports, r.target.name)
        ordered = gap is not None and gap.kind != "unknown"
        if not across and (ordered or r.has(SAME_VALUE)):
            twice = {pc for pc in twice if not order.follows(pc, pc)}
        replaced = self._replaced(r, twice, order)
        if r.has(UNWAITED):
            return replaced
        if stores and not is_atomic(r) and (known := self._locked(r, reports)):
            return known
        if (lines := self._exchange(r, reports, order)) and not is_atomic(r):
            return exchange_hint(lines, name)
        beside = self._beside_atomics(reports)
        updates = [pc for pc in (*stores, *self._written_back(r, beside)) if self._updates(pc)]
        updates += [pc for pc in stores if pc in twice and self._kept_between(pc, r, reports)]
        # a barrier orders a store of another value, which an atomic would leave as it is
        other = (gap is not None or across) and len(stores) == 2 and not {*stores} <= {*updates}
        if not other and not (beside | twice).isdisjoint(updates):
            return self._update(updates[0], name)
        every = reports if across and is_atomic(r) else [r] if across or gap is None else []
        tests = filter(None, (self._check(x) for x in every if {*stores} & {x.pc, x.pc2}))
        if not (gap and gap.grid and twice.isdisjoint(stores)) and (lines := next(tests, None)):
            best = best_of(self.tree, lines[1]) if self._type(stores[0])[0] != "f" else ""
            return check_hint(lines, name, best)
        if replaced:
            return replaced
        if drawn := self._drawn(r, reports, order):
            return draw_hint(*drawn, name)
        outside = r.target.space == "global" and prod(grid) > 1 and not r.has(SAME_VALUE)
        early = across or r.has(WITHIN_WARP) if is_atomic(r) else across and other and updates
        if (sets := [pc for pc in stores if pc not in updates]) and outside and early:
            return (
                f"Line {self._line(sets[0], r)} sets {name} while other threads, also of other "
                "blocks, may update it. Set it before the launch, or behind a barrier of all "
                "blocks (grid.sync()) after which none updates it before the next one."
            )
        return ""

    def with_swap(self, r: Report, finding: Finding) -> Finding:
        """A finding; of a lost update that a branch on the value read decides, with its fix."""
        swaps = ".cas." in self.image.ops[r.pc] if r.kind == c.LOST_UPDATE else True
        reads = [] if swaps else [x for x in self._updates(r.pc) if self._decides(x, r.pc)]
        if len(reads) != 1:
            return finding
        lines = self.image.locations[reads[0]].line, r.line
        return replace(finding, hint=swap_fix(r.target.name, *lines, same=False, computed=True))

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """The lines of the source that exchange two elements."""
        return [*exchanges(self.tree)]

    def _exchange(
        self, r: Report, reports: Sequence[Report], order: ProgramOrder
    ) -> Exchange | None:
        """The lines by which several threads exchange elements of a race's variable at once."""
        stores = {self._line(pc, r) for pc, is_store in plain_ends(r) if is_store}
        own = [lines for lines in self.exchanges if stores <= {*lines}] if stores else []
        both = {
            frozenset((x.line, x.line2))
            for x in reports
            if x.kind == c.RACE and x.target.name == r.target.name
            if x.has(STORE) and x.has(OTHER_STORE)
            if x.has(ACROSS_BLOCKS) or not order.follows(x.pc, x.pc)
        }
        return next((lines for lines in own if any(pair <= {*lines} for pair in both)), None)

    def _update(self, store: int, name: str) -> str:
        """What is wrong with an update in two steps, and the fix."""
        line, text = self.image.locations[store].line, self._text(self.image.locations[store].line)
        members = {m for m in _MEMBER.findall(text) if self._is_bit_field(m)}
        if members:
            return (
                f"Line {line} writes the bit-field `{min(members)}`: it reads the whole word, and "
                "writes it back, so that what other threads write to other bit-fields of the word "
                "in between is lost. Give each thread a word of its own, or change the word by "
                "atomicOr and atomicAnd."
            )
        halves = any(map(_HALVES.search, self.lines))
        return update_hint(self.tree, line, name, self._type(store), halves=halves)

    def _type(self, store: int) -> str:
        """The type that a store writes, such as f32."""
        return self.image.ops[store].split(".")[-1]

    def _is_bit_field(self, member: str) -> bool:
        """Whether the source declares a bit-field of a name."""
        declared = re.compile(rf"\b{re.escape(member)}\s*:\s*\w+\s*[;,]")
        return any(declared.search(text[:_MOST_LETTERS]) for text in self.lines)

    def swapped(self, r: Report, order: ProgramOrder, calls: Calls) -> tuple[str, bool] | None:
        """The fix of a race of a plain read with the swap that confirms its value.

        Args:
            r: the report of the race.
            order: the order of the instructions.
            calls: the calls that lead to them.

        Returns:
            The fix, and whether the value is used without the swap; None for any other race.
        """
        reads, swaps = plain_ends(r), [pc for pc, atomic in both_ends(r) if atomic]
        if len(reads) != 1 or reads[0][1] or not swaps or ".cas." not in self.image.ops[swaps[0]]:
            return None
        (read, _), swap = reads[0], swaps[0]
        if not self.image.ops[read].startswith("ld."):
            return None
        owner, expected = self.image.owner[swap], self.image.instructions[swap].operands[-2]
        values = self.flow.loaded(read)
        if not any((owner, expected) == (number, name) for number, name, _ in values):
            return None
        name, line = subject(r), self._line(read, r)
        if not any(map(order.in_loop, self._swaps_of(values))):
            return (
                f"atomicCAS changes nothing where another thread has written {name} since line "
                f"{line} read it. Repeat it with the value that it returned until it returns the "
                "value that you passed, or use one other atomic.",
                True,
            )
        places = calls.parting(read, swap)
        if places is not None and order.share_a_loop(places[0].pc, places[1].pc):
            return (
                f"Line {line} reads {name} plainly in each round of the loop of atomicCAS: it may "
                "get the same old value in every round. Go on with the value that atomicCAS "
                "returned, or read it through a pointer to volatile.",
                True,
            )
        used = self._is_used(values, self.image.owner[read])
        what = "is used otherwise, too" if used else "is tested before"
        load = "through a pointer to volatile, or " * ("volatile" not in self.image.ops[read])
        return (
            f"atomicCAS confirms the value that line {line} reads, but the value {what}: a plain "
            "read beside an atomic is a data race and may give an old value. "
            f"Read it {load}by a load of cuda::atomic_ref.",
            used,
        )

    def _swaps_of(self, values: Collection[Value]) -> set[int]:
        """The compare-and-swaps that take some values."""
        readers = (self.flow.values.readers_of(owner).get(name, ()) for owner, name, _ in values)
        return {pc for found in readers for pc in found if ".cas." in self.image.ops[pc]}

    def _is_used(self, values: Collection[Value], owner: int) -> bool:
        """Whether any value is stored or an address, or in an atomic but for swaps.

        A store to the function's own stack frame, as of a union, is none. Also whether a caller of
        the function that reads, the `owner`, does anything with what it returns.
        """
        for number, name, inner in values:
            if inner and name.startswith("func_retval") and not self.flow.calls_of[number]:
                return True
            returned = inner and number != owner
            for pc in self.flow.values.readers_of(number).get(name, ()):
                i, (head, *parts) = self.image.instructions[pc], self.image.ops[pc].split(".")
                writes = head in ("st", "red", "atom") and "cas" not in parts and not stack_slot(i)
                gives = head == "call" and f"({name})" == i.operands[0]
                acts = writes or (returned and not gives and head not in ("mov", "cvt"))
                if "param" not in parts and (acts or name in addressed(self.image, pc)):
                    return True
        return False

    def _text(self, line: int) -> str:
        return self.lines[line - 1][:_MOST_LETTERS] if 0 < line <= len(self.lines) else ""

    def _line(self, pc: int, r: Report) -> int:
        return r.line if pc == r.pc else r.line2

    def _updates(self, store: int) -> set[int]:
        """The loads of the element that a store overwrites with what is computed from them."""
        i = self.image.instructions[store]
        readers = self.flow.values.readers_of(self.image.owner[store])
        base, _ = address_or_none(i.operands[0])
        return {
            pc
            for pc in readers.get(base, ())
            if is_load(self.image.instructions[pc])
            and _place(self.image.instructions[pc]) == i.operands[0]
            and self._makes(pc, store)
        }

    def _makes(self, load: int, store: int) -> bool:
        """Whether a store writes what is computed, also by a function, from what a load gives."""
        owner, stored = self.image.owner[store], self.image.instructions[store].operands[1]
        if owner != self.image.owner[load] or self.flow.values.reaches(load, store):
            return owner == self.image.owner[load]
        made = self.flow.loaded(load)
        return any((owner, name, True) in made for name in vector(stored))

    def _kept_between(self, store: int, r: Report, reports: Sequence[Report]) -> bool:
        """Whether a store writes what is made of a read of the element that its own line names.

        The read is one that races with stores of other threads.
        """
        races = (x for x in reports if x.kind == c.RACE and x.target.name == r.target.name)
        ends = {
            (pc, self._line(pc, x)) for x in races for pc, writes in plain_ends(x) if not writes
        }
        text, name = self._text(self._line(store, r)), r.target.name
        own = elements_in(text, name) if name else set[str]()
        return rewrites(self.tree, self._line(store, r)) or any(
            not own.isdisjoint(elements_in(self._text(line), name)) and self._makes(pc, store)
            for pc, line in ends
        )

    def _beside_atomics(self, reports: Sequence[Report]) -> set[int]:
        """The stores that race with atomics."""
        races = (r for r in reports if r.kind == c.RACE and is_atomic(r))
        return {pc for r in races for pc, is_store in plain_ends(r) if is_store}

    def _written_back(self, r: Report, stores: Collection[int]) -> list[int]:
        """Those of some stores that update what a race reads."""
        reads = {pc for pc, is_store in plain_ends(r) if not is_store}
        return [pc for pc in sorted(stores) if not reads.isdisjoint(self._updates(pc))]

    def _check(self, r: Report) -> tuple[int, int] | None:
        """The lines of a read and a write of one element that a branch on its value decides."""
        accesses = plain_ends(r)
        if len(accesses) < 2 or accesses[0][1] == accesses[1][1] or not r.target.name:
            return None
        (read, _), (write, _) = sorted(accesses, key=lambda access: access[1])
        lines = self._line(read, r), self._line(write, r)
        texts = [self._text(line) for line in lines]
        used = [elements_in(text, r.target.name) for text in texts]
        if r.target.element == r.target.name or self.image.owner[read] == self.image.owner[write]:
            used = [
                own | pointees_in(text, r.target.name)
                for own, text in zip(used, texts, strict=True)
            ]
        if used[0].isdisjoint(used[1]):
            return None
        return lines if self._decides(read, write) else None

    def _replaced(self, r: Report, twice: Collection[int], order: ProgramOrder) -> str:
        """The fix of a read of an element whose value is used, and a store of another value to it.

        That is one of those, `twice`, that meet stores of other threads.
        """
        ends = sorted(plain_ends(r), key=lambda end: end[1])
        if [is_store for _, is_store in ends] != [False, True] or not (
            ends[1][0] in twice or r.has(UNWAITED)
        ):
            return ""
        (read, _), (store, _) = ends
        lines, values = (self._line(read, r), self._line(store, r)), self.flow.loaded(read)
        if lines[0] > lines[1] or not order.follows(read, store) or self._makes(read, store):
            return ""
        name, texts = r.target.name, [_CAST.sub("", self._text(line)) for line in lines]
        own = [elements_in(text, name) | pointees_in(text, name) for text in texts if name]
        same, size = own and not own[0].isdisjoint(own[1]), TYPE_BYTES.get(self._type(store), 0)
        used = self._is_used(values, self.image.owner[read]) or self.flow.decided_by(read)
        return replace_hint(lines, subject(r)) if same and size >= _WORD and used else ""

    def _drawn(
        self, r: Report, reports: Sequence[Report], order: ProgramOrder
    ) -> tuple[int, int, bool] | None:
        """The lines of a plain read, whose value is an index or stored, and of an addition.

        Also whether the read comes first. If not, the value must be an index at which several
        threads store, in a statement behind that of the addition. None where what the addition
        returns is used so: then it is that which draws.
        """
        (read, atomic), (other, is_atomic) = both_ends(r)
        if atomic:
            read, other, atomic, is_atomic = other, read, is_atomic, atomic
        if atomic or not is_atomic or not is_load(self.image.instructions[read]):
            return None
        adds = re.search(r"\.(?:add|inc|dec)\.", self.image.ops[other])
        lines = self._line(read, r), self._line(other, r)
        drawn, values = (self.flow.loaded(pc) for pc in (other, read))
        if not adds or self._is_used(drawn, self.image.owner[other]):
            return None
        if lines[0] <= lines[1] and order.follows(read, other):
            used = self._is_used(values, self.image.owner[read])
            return (*lines, True) if used else None
        names = {(owner, name) for owner, name, _ in values}
        met = {x.pc for x in reports if x.kind == c.RACE and x.pc == x.pc2 and x.has(STORE)}
        meet = any(not names.isdisjoint(self.flow.addressed(pc)) for pc in met)
        return (*lines, False) if meet and in_sequence(self.tree, *lines[::-1]) else None

    def _locked(self, r: Report, reports: Sequence[Report]) -> str:
        """The fix of a race of accesses of which a lock is meant to order one at least."""
        if (lines := self._check(r)) and (lock := self.locks.between(*lines)):
            return (
                f"Line {lines[0]} reads {subject(r)} before line {lock} takes the lock, and line "
                f"{lines[1]} writes it where that value allows it: another thread may write it in "
                f"between. Take the lock before line {lines[0]}."
            )
        near = {x.pc for x in reports if x.pc == x.pc2 and not x.has(ACROSS_BLOCKS)} & {r.pc, r.pc2}
        return self.locks.hint(r, shared=any(map(self._updates, near)))

    def _decides(self, load: int, then: int) -> bool:
        """Whether branches on what an instruction loads decide who executes another one."""
        return self.flow.values.blocks.get(then) in self.flow.decided_by(load)


def _place(load: Instruction) -> str:
    return next((x for x in load.operands if x.startswith("[")), "")
