"""Rewrite optimized PTX as ptxas does, so that the counters match those of the hardware.

Contraction: a product that only sums use becomes part of an fma in each of them. Source: PTX ISA,
"mul" and "add" of floating point: without a rounding modifier they may be fused. Measured on a GPU
(tests/counters/contraction.cu): ptxas does so in f32 and f64, for sums and differences in the
product's own block, and only when the product has no other use. `-G` code is never contracted.

Reductions: an atomic on global memory whose old value is not used becomes a RED, which counts as
`..._op_red` (measured on a GPU: tests/counters). Shared memory has no RED, and neither have `exch`
and `cas`: PTX ISA, "red".
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from grader.simulator.ptx.model import Function, Instruction, Module

_PRODUCTS = {
    f"mul{ftz}.{kind}": (ftz, kind) for ftz, kind in (("", "f32"), (".ftz", "f32"), ("", "f64"))
}
_REGISTER = re.compile(r"%[\w$]+")
_ENDS_BLOCK = ("bra", "brx", "ret", "exit", "trap", "call")
_REDUCTIONS = {"add", "min", "max", "inc", "dec", "and", "or", "xor"}


def contract(module: Module) -> None:
    """Fuse the products of every function of a module, in place."""
    for function in module.functions.values():
        _contract(function)


def _contract(function: Function) -> None:
    uses = Counter(r for i in function.body for o in i.operands for r in _REGISTER.findall(o))
    fused: dict[int, list[Instruction]] = {}
    for first, last in _blocks(function):
        places = _Places(function.body, first, last)
        for at in range(first, last):
            sums = _sums_of(function.body, at, places, uses)
            if sums and not any(total in fused for total in sums):
                for total in sums:
                    fused[total] = _fma(function, function.body[at], function.body[total])
                fused[at] = []
    if fused:
        _replace(function, fused)


def _blocks(function: Function) -> Iterator[tuple[int, int]]:
    """The index ranges of the basic blocks."""
    starts = set(function.labels.values())
    first = 0
    for at, instruction in enumerate(function.body):
        if at in starts and at > first:
            yield first, at
            first = at
        if instruction.op.split(".")[0] in _ENDS_BLOCK:
            yield first, at + 1
            first = at + 1
    yield first, len(function.body)


class _Places:
    """Where a basic block reads and writes each register, in order."""

    def __init__(self, body: list[Instruction], first: int, last: int) -> None:
        self.reads: dict[str, list[int]] = defaultdict(list)
        self.writes: dict[str, list[int]] = defaultdict(list)
        for at in range(first, last):
            target, *sources = body[at].operands or [""]
            self.writes[target].append(at)
            for source in dict.fromkeys(sources):
                self.reads[source].append(at)

    def reads_after(self, register: str, at: int) -> list[int]:
        """The instructions behind `at` that read a register."""
        places = self.reads.get(register, [])
        return places[bisect_right(places, at) :]

    def next_write(self, register: str, at: int) -> float:
        """The first instruction behind `at` that writes a register; infinity without one."""
        places = self.writes.get(register, [])
        index = bisect_right(places, at)
        return places[index] if index < len(places) else math.inf


def _sums_of(body: list[Instruction], at: int, places: _Places, uses: Counter[str]) -> list[int]:
    """The indices of the uses of the product at `at`; none unless all can be fused with it."""
    product = body[at]
    if product.op not in _PRODUCTS or product.guard:
        return []
    target, *factors = product.operands
    # A register that is written twice has fewer reads than other uses, and ends here.
    if len(places.reads[target]) < uses[target] - 1:
        return []
    ftz, kind = _PRODUCTS[product.op]
    sums = places.reads_after(target, at)
    if not sums or len(sums) != uses[target] - 1:
        return []
    for i in (body[later] for later in sums):
        fits = i.op in (f"add{ftz}.{kind}", f"sub{ftz}.{kind}") and not i.guard
        if not fits or i.operands.count(target) != 1:
            return []
    overwritten = min(places.next_write(factor, at) for factor in factors)
    return sums if overwritten >= sums[-1] else []


def _fma(function: Function, product: Instruction, total: Instruction) -> list[Instruction]:
    """The fma that replaces a sum, after a negation if it is a difference."""
    ftz, kind = _PRODUCTS[product.op]
    target, a, b = product.operands
    result, left, right = total.operands
    other = right if left == target else left
    made = []
    if total.op.startswith("sub"):
        negated = f"%negated{len(function.registers)}"
        function.registers[negated] = kind
        source = other if left == target else a
        operands = [negated, source]
        made.append(Instruction(f"neg{ftz}.{kind}", operands, None, total.location))
        a, other = (a, negated) if left == target else (negated, other)
    made.append(Instruction(f"fma.rn{ftz}.{kind}", [result, a, b, other], None, total.location))
    return made


def _replace(function: Function, fused: dict[int, list[Instruction]]) -> None:
    """Replace instructions by new ones; labels move along."""
    body: list[Instruction] = []
    moved = []
    for at, instruction in enumerate(function.body):
        moved.append(len(body))
        body += fused.get(at, [instruction])
    moved.append(len(body))
    function.body[:] = body
    function.labels.update({name: moved[at] for name, at in function.labels.items()})


def reduce_unused_atomics(module: Module) -> None:
    """Turn each `atom.global` whose result no instruction uses into `red.global`, in place."""
    for function in module.functions.values():
        if any(i.op.startswith("atom.") for i in function.body):
            _reduce(function)


def _reduce(function: Function) -> None:
    uses = Counter(r for i in function.body for o in i.operands for r in _REGISTER.findall(o))
    uses.update(i.guard[0] for i in function.body if i.guard)
    function.body[:] = [
        replace(i, op=f"red{i.op[4:]}", operands=i.operands[1:]) if _is_unused(i, uses) else i
        for i in function.body
    ]


def _is_unused(i: Instruction, uses: Counter[str]) -> bool:
    """Whether an instruction is an atomic on global memory whose old value is not used."""
    parts = i.op.split(".")
    if parts[0] != "atom" or "global" not in parts or not _REDUCTIONS & set(parts):
        return False
    return i.operands[:1] == ["_"] or uses[i.operands[0]] == 1
