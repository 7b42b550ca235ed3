"""Find the plain loads that begin a loop of compare-and-swaps: `swap_loads`.

CUDA's own example of an atomic addition of doubles begins so. A stale value makes the first swap
fail, and the loop goes on with what that swap returned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from grader.simulator.decode.dataflow import targets
from grader.simulator.decode.operands import address_or_none
from grader.simulator.decode.sync import (
    callee_of,
    moved_by,
    stack_slot,
    successors_of,
    swap_of,
)
from grader.simulator.ptx.model import STRONG_READS, TYPE_BYTES, Function, Instruction

_WIDTHS = {2: "16|32|64", 4: "32|64", 8: "64"}
_CALCULATES = re.compile(
    "(add|sub|mul|mad|fma|div|rem|abs|neg|min|max|and|or|xor|not|shl|shr|shf|bfe|bfi|lop3|prmt|mov|cvt"
    "|cvta|setp|set|selp|slct|testp|copysign|sqrt|rsqrt|rcp|ex2|lg2|sin|cos|tanh|popc|clz|brev)[.]"
)
_PASSES = {n: re.compile(rf"mov[.]|cvt[.][us]({w})[.][us]({w})$") for n, w in _WIDTHS.items()}
"""What keeps a value of so many bytes."""
_MOST_CALLEES = 64
_ADDRESSES = re.compile("(add|sub|mul|mad|shl|cvt|and|or|ld)$")


def swap_loads(f: Function, functions: Mapping[str, Function]) -> list[int]:
    """The plain loads, by index, whose value only a loop of compare-and-swaps takes.

    CUDA's own example of an atomic addition of doubles begins so. A stale value makes the first
    swap fail, and the loop goes on with what that swap returned.
    """
    swaps = {at: swap for at, i in enumerate(f.body) if (swap := swap_of(i)) is not None}
    flow = _Flow(f, functions) if swaps else None
    return [at for at in range(len(f.body)) if flow is not None and flow.begins(at, swaps)]


class _Flow:
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
        """Whether an instruction is a plain load that a loop of some of the swaps begins with."""
        i = self.f.body[at]
        parts, loaded = i.op.split("."), targets(i)
        plain = parts[0] == "ld" and not {*STRONG_READS, "param", "const"} & set(parts)
        if not plain or len(loaded) != 1 or len(i.operands) != 2:
            return False
        place = self.place(i.operands[1])
        same = {k: value for k, (where, value) in swaps.items() if self.place(where) == place}
        passes = _PASSES.get(TYPE_BYTES.get(parts[-1], 0))
        if passes is None or not same:
            return False
        copies, _ = self.spread(loaded, range(len(self.f.body)), passes)
        own = {k for k, value in same.items() if value in copies}
        before = self.reached(at, own) if own else set()
        if not any(k in self.reached(k, {at}) for k in own & before):
            return False
        if self.outlives(loaded, before | own):
            return False
        used, users = self.spread(loaded, before - own, _CALCULATES)
        chosen = {k for k in users if self.f.body[k].op.startswith("bra")}
        return (
            not any(name.startswith("func_retval") for name in used)
            and all(self.computes(self.f.body[k], _CALCULATES) for k in users if k not in chosen)
            and all(self.chooses(k, own, at) for k in chosen)
        )

    def outlives(self, loaded: Sequence[str], known: Container[int]) -> bool:
        """Whether a loaded value has an effect elsewhere than before the first swap, and in it.

        False where its register has another value later, as the optimizer makes it.
        """
        work = [x for x in loaded if x in self.values]
        found = set(work)
        for name in work:
            for at in self.users.get(name, ()):
                i, (to, _) = self.f.body[at], self.moves[at]
                computes = self.computes(i, _CALCULATES) and not i.op.startswith("call")
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
            self.computes(self.f.body[k], _CALCULATES)
            or self.f.body[k].op.startswith(("bra", "ld"))
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
        work, found = [start], set[int]()
        while work:
            for then in self.after(work.pop()):
                if then < len(self.f.body) and then not in found:
                    found.add(then)
                    work += [then] if then not in ends else []
        return found

    def after(self, at: int) -> Iterable[int]:
        """The successors of an instruction, without the way that `while (true)` never takes."""
        guard = self.f.body[at].guard
        never = guard and not guard[1] and self.values.get(guard[0]) == ("0", 0)
        return [at + 1] if never else successors_of(self.f, at)

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
