"""Find loads whose values count only where what follows confirms them: a stale one is discarded.

`swap_loads` are the plain loads that begin a loop of compare-and-swaps.

`confirmed_loads` are the reads of data that a sequence lock guards: between two looks at its
number, which are compared: relaxed accesses between fences; torn values are discarded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from grader import regex
from grader.simulator.decode.dataflow import (
    access_head,
    compared_pairs,
    sources,
    targets,
    truth_of,
    uses_of,
)
from grader.simulator.decode.memory import is_fence, is_plain, observes
from grader.simulator.decode.operands import address_or_none
from grader.simulator.decode.stack import frame_registers, stack_slot, users_of
from grader.simulator.decode.sync import callee_of, moved_by, swap_of
from grader.simulator.ptx.flow import predecessors_of, reached, successors_of
from grader.simulator.ptx.model import STRONG_READS, TYPE_BYTES, Function, Instruction

_WIDTHS = {2: "16|32|64", 4: "32|64", 8: "64"}
CALCULATES = regex(
    "(add|sub|mul|mad|fma|div|rem|abs|neg|min|max|and|or|xor|not|shl|shr|shf|bfe|bfi|lop3|prmt|mov|cvt"
    "|cvta|setp|set|selp|slct|testp|copysign|sqrt|rsqrt|rcp|ex2|lg2|sin|cos|tanh|popc|clz|brev)[.]"
)
_PASSES = {n: regex(rf"mov[.]|cvt[.][us]({w})[.][us]({w})$") for n, w in _WIDTHS.items()}
"""What keeps a value of so many bytes."""
_MOST_CALLEES = 64
_ADDRESSES = regex("(add|sub|mul|mad|shl|cvt|and|or|ld)$")


def swap_loads(f: Function, functions: Mapping[str, Function]) -> list[int]:
    """The plain or volatile loads, by index, whose value only a loop of compare-and-swaps takes.

    CUDA's own example of an atomic addition of doubles begins so. A stale value makes the first
    swap fail, and the loop goes on with what that swap returned. A volatile one may be tested, too.
    """
    swaps = {at: swap for at, i in enumerate(f.body) if (swap := swap_of(i)) is not None}
    flow = ValueFlow(f, functions) if swaps else None
    return [at for at in range(len(f.body)) if flow is not None and flow.begins(at, swaps)]


class ValueFlow:
    """Where the values of a function go.

    Attributes:
        users: the instructions, by index, that read each name, or have it as their guard.
        values: what each name that is written once is: the value's number, and what is added.
    """

    def __init__(self, f: Function, functions: Mapping[str, Function]) -> None:
        self.f, self.functions, self.pure = f, functions, dict[tuple[str, re.Pattern[str]], bool]()
        self.moves = [moved_by(i) for i in f.body]
        self.users: dict[str, list[int]] = {}
        written = Counter(name for to, _ in self.moves for name in to)
        self.values: dict[str, tuple[str, int]] = {}
        self.numbers: dict[tuple[object, ...], str] = {}
        for at, (i, (to, given)) in enumerate(zip(f.body, self.moves, strict=True)):
            for name in [*given, *([i.guard[0]] if i.guard else [])]:
                self.users.setdefault(name, []).append(at)
            if len(to) == 1 and written[to[0]] == 1 and i.guard is None:
                self.values[to[0]] = self.value(i, to[0], given)

    def place(self, text: str) -> tuple[str, int]:
        """An address, or what an operand is."""
        base, add = address_or_none(text) if text.startswith("[") else (text, 0)
        root, more = self.values.get(str(base), (str(base), 0))
        return root, more + add

    def value(self, i: Instruction, name: str, given: Sequence[str]) -> tuple[str, int]:
        """What an instruction computes; two that compute the same have one number."""
        parts = i.op.split(".")
        moves = parts[0] in ("mov", "cvta", "st") or "param" in parts or stack_slot(i)
        if moves and len(given) < 2:
            return self.place(given[0] if given else i.operands[-1])
        if parts[0] == "add" and len(i.operands) > 2 and i.operands[2].isdecimal():
            root, add = self.place(i.operands[1])
            return root, add + int(i.operands[2])
        if not _ADDRESSES.match(parts[0]) or STRONG_READS & set(parts):
            return name, 0
        key = (i.op, *map(self.place, i.operands[1:]))
        return self.numbers.setdefault(key, f"#{len(self.numbers)}"), 0

    def begins(self, at: int, swaps: Mapping[int, tuple[str, str]]) -> bool:
        """Whether an instruction is a load that a loop of some of the swaps begins with."""
        i = self.f.body[at]
        parts, loaded, again = i.op.split("."), targets(i), "volatile" in i.op
        passes = _PASSES.get(TYPE_BYTES.get(parts[-1], 0))
        if parts[0] != "ld" or passes is None or not (again or is_plain(i.op)):
            return False
        place = self.place(i.operands[1])
        same = {k: value for k, (where, value) in swaps.items() if self.place(where) == place}
        copies = set.intersection(*self.copies(loaded, passes)) if same else set[str]()
        own = {k for k, value in same.items() if value in copies}
        before = self.reached(at, own) if own else set()
        loop = {k: value for k, value in same.items() if k in self.reached(k, {at})}
        results = (x for k in own & before for x in self.copies(self.moves[k][0], passes))
        repeats = own & before & loop.keys() or set().union(*results).intersection(loop.values())
        if not own & before or not (again or repeats) or self.outlives(loaded, before | own):
            return False
        used, users = self.spread(loaded, before - own, CALCULATES)
        chosen = {k for k in users if self.f.body[k].op.startswith("bra")}
        return (
            not any(name.startswith("func_retval") for name in used)
            and all(self.computes(self.f.body[k], CALCULATES) for k in users if k not in chosen)
            and (again or all(self.chooses(k, own, at) for k in chosen))
        )

    def copies(self, names: Iterable[str], passes: re.Pattern[str]) -> Iterator[set[str]]:
        """The names that get each of some values unchanged."""
        return (self.spread([x], range(len(self.f.body)), passes)[0] for x in names)

    def outlives(self, loaded: Sequence[str], known: Container[int]) -> bool:
        """Whether a loaded value has an effect elsewhere than before the first swap, and in it.

        False where its register has another value later, as the optimizer makes it.
        """
        work = [x for x in loaded if x in self.values]
        found = set(work)
        for name in work:
            for at in self.users.get(name, ()):
                i, (to, _) = self.f.body[at], self.moves[at]
                computes = self.computes(i, CALCULATES) and not i.op.startswith("call")
                if at not in known and not computes:
                    return i.op.startswith(("st", "red", "atom", "ld", "call"))
                new = [x for x in to if computes and x in self.values and x not in found]
                work += new
                found.update(new)
        return False

    def chooses(self, branch: int, ends: set[int], load: int) -> bool:
        """Whether both ways from a branch only compute, up to one of `ends`."""
        region = self.reached(branch, ends)
        return load not in region and all(
            self.computes(self.f.body[k], CALCULATES) or self.f.body[k].op.startswith(("bra", "ld"))
            for k in region - ends
        )

    def spread(
        self, names: Sequence[str], region: Container[int], heads: re.Pattern[str]
    ) -> tuple[set[str], list[int]]:
        """The names that get a value by what `computes`, and all that reads them in a region."""
        work, known, users = list(names), set(names), []
        for name in work:
            for at in self.users.get(name, ()):
                if at in region:
                    users.append(at)
                    new = self.moves[at][0] if self.computes(self.f.body[at], heads) else []
                    work += [x for x in new if x not in known]
                    known.update(new)
        return known, users

    def reached(self, start: int, ends: set[int]) -> set[int]:
        """The instructions that may run after another, up to and with the first of `ends`."""
        return reached([start], ends, self.then)

    @cached_property
    def then(self) -> dict[int, list[int]]:
        """The successors of each instruction, without the way that `while (true)` never takes."""
        never = {
            at
            for at, i in enumerate(self.f.body)
            if i.guard and not i.guard[1] and self.values.get(i.guard[0]) == ("0", 0)
        }
        ends = len(self.f.body)
        ways = ([at + 1] if at in never else successors_of(self.f, at) for at in range(ends))
        return {at: [k for k in after if k < ends] for at, after in enumerate(ways)}

    def computes(self, i: Instruction, heads: re.Pattern[str]) -> bool:
        """Whether an instruction only makes a value of its operands, by some operations."""
        parts, callee = i.op.split("."), self.functions.get(callee_of(i)[1])
        if callee is not None and (key := (callee.name, heads)) not in self.pure:
            self.pure[key] = False
            few = len(self.pure) < _MOST_CALLEES
            plain = (
                x.op.startswith(("bra", "ret")) or self.computes(x, heads) for x in callee.body
            )
            self.pure[key] = callee.has_body and few and all(plain)
        if callee is not None:
            return self.pure[callee.name, heads]
        return heads.match(i.op) is not None or "param" in parts or bool(stack_slot(i))


_MOST_LOCKS, _MOST_NAMES, _MOST_STATES, _MOST_DEPTH = 16, 64, 1 << 12, 6
_TOO_MANY = -1
_UNFENCED, _FENCED, _UNEQUAL = range(3)
"""How far a way from a load has come: to a fence, and to a second look that gave another value."""

_Known = frozenset[tuple[str, int]]


def confirmed_loads(
    f: Function, functions: Mapping[str, Function], loads: Iterable[int]
) -> Iterator[tuple[set[int], set[int], set[int]]]:
    """Those of some strong loads whose values second looks confirm, as those of a seqlock do.

    A look and a fence come before the load, a fence and a second look after it. Where the looks
    differ, no way leads to a use of the load's value. Yields loads, their looks and all fences.
    """
    if not (every := set(loads)):
        return
    looks = _Looks(f, functions)
    for comparison, pair in islice(looks.compared.items(), _MOST_LOCKS):
        inside = every & reached(pair, (), looks.before) - pair
        before = {at: looks.before_load(at, pair, every) for at in sorted(inside)}
        group = {at for at in before if before[at] is not None}
        while lost := {at for at in group if not group.issuperset(before[at] or ())}:
            group -= lost
        if group and looks.discard(group, pair, comparison):
            yield group, pair, looks.fences


class _Looks:
    """The looks of a function at places: strong loads and atomics, also in functions it calls.

    Attributes:
        users: the instructions that read each register, or have it as their guard.
        before, after: those that may run just before each, and just behind.
        every: the looks of all comparisons.
    """

    def __init__(self, f: Function, functions: Mapping[str, Function]) -> None:
        self.f, self.functions = f, functions
        self.users, self.before = users_of(f), predecessors_of(f)
        self.after = {k: [*successors_of(f, k)] for k in range(len(f.body))}
        for at, i in enumerate(f.body):
            if i.guard:
                self.users.setdefault(i.guard[0], []).append(at)
        self.every = set[int]().union(*self.compared.values())

    @cached_property
    def fences(self) -> set[int]:
        """The fences and barriers, and calls of functions with one."""
        return {at for at, i in enumerate(self.f.body) if self.has(i, is_fence)}

    @cached_property
    def compared(self) -> dict[int, set[int]]:
        """The comparisons for equality of what two looks give, with these looks.

        One of the two is also tested alone: an odd number says that a thread is writing.
        """
        if not self.fences:
            return {}
        out, tested = dict[int, set[int]](), set[int]()
        makers = {x: i for i in self.f.body for x in targets(i)}
        for k, i in enumerate(self.f.body):
            for a, b in (map(self.looks_behind, pair) for pair in compared_pairs(i, makers)):
                if i.op.startswith(("setp.eq.", "setp.ne.")) and a and b and a != b:
                    out[k] = a | b
                elif not (a and b):
                    tested |= a | b
        return {k: pair for k, pair in out.items() if pair & tested}

    @cached_property
    def made(self) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
        """By register, the instructions that make its value, and of what; looks make it alone."""
        out: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        for k, i in enumerate(self.f.body):
            look = self.has(i, observes)
            for name in self.given(k) if look else targets(i):
                computes = access_head(i) not in ("ld", "atom") and not look
                out.setdefault(name, []).append((k if look else -1, sources(i) * computes))
        return out

    def looks_behind(self, name: str) -> set[int]:
        """The looks that a register's value is computed from; none where that is much."""
        work, known, looks = [name], {name}, set[int]()
        while work and len(known) < _MOST_NAMES:
            for look, names in self.made.get(work.pop(), ()):
                looks |= {look} if look >= 0 else set()
                new = [x for x in names if x not in known]
                known.update(new)
                work += new
        return set() if work else looks

    def given(self, at: int) -> tuple[str, ...]:
        """The registers that get what a look reads."""
        i = self.f.body[at]
        if not (result := callee_of(i)[0]):
            return targets(i)
        taken = (x for x in self.f.body[at + 1 : at + 4] if result[0] in sources(x))
        return tuple(name for x in taken for name in targets(x))

    def has(self, i: Instruction, what: Callable[[str], bool], depth: int = 0) -> bool:
        """Whether an instruction is something, or calls a function with such an instruction."""
        if (callee := self.functions.get(callee_of(i)[1])) is None or depth == _MOST_DEPTH:
            return what(i.op)
        return any(self.has(x, what, depth + 1) for x in callee.body)

    @cached_property
    def readers(self) -> set[int]:
        """What may read where a plain store went: plain loads, calls, and others at the end.

        A read by another thread before that races with the store.
        """
        every = [(at, i) for at, i in enumerate(self.f.body) if at not in self.fences]
        reads = [(at, i) for at, i in every if access_head(i) in ("ld", "ret", "exit", "call")]
        return {at for at, i in reads if is_plain(i.op)}

    @cached_property
    def frame(self) -> tuple[frozenset[str], frozenset[str]]:
        """The registers with addresses in the stack frame, and what is loaded from there."""
        return frame_registers(self.f)

    def before_load(self, at: int, pair: Container[int], loads: Container[int]) -> set[int] | None:
        """The loads before which a look of a pair and a fence have to come, as before this one.

        None where they do not come before this one, on each way to it from these.
        """
        work, known, others = [(k, False) for k in self.before.get(at, ())], set(), set[int]()
        while work:
            state = k, fenced = work.pop()
            if state in known or k == at:
                continue
            known.add(state)
            if k in loads and not fenced:
                others.add(k)
            elif k == 0 or (k in self.every and k not in pair and fenced):
                return None
            elif k not in pair or not (fenced or "acquire" in self.f.body[k].op):
                work += [(then, fenced or k in self.fences) for then in self.before.get(k, ())]
        return others

    def discard(self, loads: set[int], pair: Container[int], comparison: int) -> bool:
        """Whether no use of some loads is reached before a second look, or where that differs."""
        facts: dict[int, _Known] = {}
        for k, known, _ in self.states(loads, pair, comparison):
            facts[k] = facts.get(k, known) & known
        names = {x for at in loads for x in targets(self.f.body[at])}
        stores, users = uses_of(self.f, self.users, names, self.frame, facts)
        users.add(_TOO_MANY)
        states = self.states(loads, pair, comparison, stores)
        return not any(k in users or (torn and k in self.readers) for k, _, torn in states)

    def states(
        self,
        loads: set[int],
        pair: Container[int],
        comparison: int,
        stores: Collection[int] = (),
    ) -> Iterator[tuple[int, _Known, bool]]:
        """The instructions behind some loads that run before a second look, or where that differs.

        Yields them with the truth values of registers there, and whether one of `stores`, or one
        before the second look, has run.
        """
        torn = not reached(loads, pair, self.after).isdisjoint(stores)
        work = [(k, _UNFENCED, _Known(), torn) for at in loads for k in self.after[at]]
        states = set(work)
        while work:
            k, phase, known, torn = work.pop()
            if k in loads or k >= len(self.f.body):
                continue
            torn |= k in stores
            yield (k if len(states) <= _MOST_STATES else _TOO_MANY), known, torn
            if len(states) > _MOST_STATES:
                return
            known = self.known_after(k, known, comparison if phase == _UNEQUAL else -1)
            if k in pair and (phase == _FENCED or k in self.fences):
                phase = _UNEQUAL
            elif k in self.fences and phase == _UNFENCED:
                phase = _FENCED
            new = {(next_, phase, known, torn) for next_ in self.ways(k, dict(known))} - states
            states |= new
            work += new

    def known_after(self, k: int, known: _Known, comparison: int) -> _Known:
        """The truth values that registers have behind an instruction, where two looks differ.

        `comparison` is the instruction that compares these; -1 before the second look.
        """
        i, values = self.f.body[k], dict(known)
        new = int(".ne." in i.op) if k == comparison else truth_of(i, values)
        for name in targets(i):
            values.pop(name, None)
        if new is not None and len(targets(i)) == 1 and i.guard is None:
            values[i.operands[0]] = new
        return frozenset(values.items())

    def ways(self, k: int, known: Mapping[str, int]) -> Iterable[int]:
        """What may run after an instruction, where some registers are known."""
        i = self.f.body[k]
        if i.guard is None or i.guard[0] not in known or not i.op.startswith("bra"):
            return self.after[k]
        jumps = bool(known[i.guard[0]]) != i.guard[1]
        return [self.f.labels.get(i.operands[0], k + 1) if jumps else k + 1]
