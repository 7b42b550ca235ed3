"""Rewrite optimized PTX as ptxas does, so that the counters match those of the hardware.

Contraction: a product that only sums use becomes part of an fma in each of them. Source: PTX ISA,
"mul" and "add" of floating point: without a rounding modifier they may be fused. Measured on a GPU
(tests/counters/contraction.cu): ptxas does so in f32 and f64, for sums and differences in the
product's own block, and only when the product has no other use. `-G` code is never contracted.

Reductions: an atomic on global memory whose old value is not used becomes a RED, which counts as
`..._op_red` (measured on a GPU: tests/counters). Shared memory has no RED, and neither have `exch`
and `cas`: PTX ISA, "red".

Loads: a weak load of an address that was loaded before is dropped, when between the two nothing may
write the state space and nothing orders accesses. Votes, shuffles and reads of the clock are
between them in vain. Read from the machine code that ptxas 13.0 makes for sm_90, one instruction of
each kind between two equal loads.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator

from grader import regex, replace
from grader.simulator.ptx.model import STRONG_READS, Function, Instruction, Module

_PRODUCTS = {
    f"mul{ftz}.{kind}": (ftz, kind) for ftz, kind in (("", "f32"), (".ftz", "f32"), ("", "f64"))
}
_REGISTER = regex(r"%[\w$]+")
_ENDS_BLOCK = ("bra", "brx", "ret", "exit", "trap", "call")
_SPACES = ("global", "shared")
_WRITES = frozenset(("st", "atom", "red", "cp", "stmatrix", "wmma"))
_ORDERS = frozenset(("bar", "barrier", "membar", "fence", "mbarrier", "call", "discard"))
_WITHOUT_RESULT = frozenset(("st", "red", "cp", "prefetch", "stmatrix"))
_REDUCTIONS = {"add", "min", "max", "inc", "dec", "and", "or", "xor"}


def assembled(module: Module) -> Module:
    """The module with all changes of the assembler, made in place."""
    contract(module)
    reduce_unused_atomics(module)
    merge_loads(module)
    return module


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


def merge_loads(module: Module) -> None:
    """Drop loads of what a register holds already, in place."""
    for function in module.functions.values():
        made: dict[int, list[Instruction]] = {}
        for first, last in _blocks(function):
            known = _Loads()
            for at in range(first, last):
                i = function.body[at]
                earlier = known.like(i)
                moves = _moves(function, earlier, i) if earlier else []
                if moves:
                    made[at] = moves
                known.follow(i, is_kept=not moves)
        if made:
            _replace(function, made)


def _moves(function: Function, earlier: Instruction, i: Instruction) -> list[Instruction]:
    """The moves that replace a load; none where its registers have other types."""
    pairs = [_REGISTER.findall(load.operands[0]) for load in (i, earlier)]
    kinds = [[function.registers.get(name, "") for name in names] for names in pairs]
    if kinds[0] != kinds[1] or not all(kind[1:] in ("16", "32", "64") for kind in kinds[0]):
        return []
    return [
        replace(i, op=f"mov.b{kind[1:]}", operands=[to, source], used=None)
        for to, source, kind in zip(*pairs, kinds[0], strict=True)
    ]


_Load = tuple[str, str, int | None]
"""The opcode of a load, its address, and the bytes that the program uses."""


class _Loads:
    """The loads of a basic block whose registers still hold what memory does."""

    def __init__(self) -> None:
        self._loads: dict[str, dict[_Load, Instruction]] = {space: {} for space in _SPACES}
        self._users: dict[str, set[tuple[str, _Load]]] = defaultdict(set)

    def like(self, i: Instruction) -> Instruction | None:
        """The earlier load of the same bytes, for an unguarded weak load."""
        space = _space_of_weak_load(i)
        return self._loads[space].get((i.op, i.operands[1], i.used)) if space else None

    def follow(self, i: Instruction, *, is_kept: bool) -> None:
        """Take an instruction into account, and keep it if it is a load that `is_kept`."""
        for space in _changed_spaces(i):
            self._loads[space].clear()
        if i.op.split(".")[0] not in _WITHOUT_RESULT:
            for register in _REGISTER.findall("".join(i.operands[:1])):
                for space, load in self._users.pop(register, ()):
                    self._loads[space].pop(load, None)
        registers = [set(_REGISTER.findall(operand)) for operand in i.operands[:2]]
        space = _space_of_weak_load(i)
        if not space or not is_kept or registers[0] & registers[1]:
            return
        load = (i.op, i.operands[1], i.used)
        self._loads[space][load] = i
        for register in registers[0] | registers[1]:
            self._users[register].add((space, load))


def _space_of_weak_load(i: Instruction) -> str:
    parts = i.op.split(".")
    if parts[0] != "ld" or i.guard or not STRONG_READS.isdisjoint(parts):
        return ""
    return next((space for space in _SPACES if space in parts), "")


def _changed_spaces(i: Instruction) -> tuple[str, ...]:
    """The state spaces whose contents an instruction may change or make visible."""
    parts = i.op.split(".")
    if parts[0] in _ORDERS or "acquire" in parts:
        return _SPACES
    strong = parts[0] == "ld" and not STRONG_READS.isdisjoint(parts)
    if not strong and parts[0] not in _WRITES:
        return ()
    own = tuple(space for space in _SPACES if space in parts)
    return own if own or "local" in parts or "param" in parts else _SPACES
