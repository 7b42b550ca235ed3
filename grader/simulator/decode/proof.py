"""Show of a kernel that what one block does in shared memory, every block like it does.

The core then watches a few blocks in full, and of the others only what may differ
(`core/machine/proof.h`; the argument is in docs/simulator.md). Each register gets the most that its
values depend on, in any order of instructions: nothing that differs by block (COMMON), the place of
the thread's own local memory (OWN), the block's number (BLOCK), memory (DATA).

- No branch, guard or address depends on DATA.
- Shared and local addresses and the operands of barriers are COMMON; a generic address that is
  BLOCK must be to global memory, which the core verifies at each access.
- What orders accesses more finely than full barriers, what the analysis does not know, and values
  that are followed to their use rule a kernel out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader import dataclass
from grader.simulator.decode.blocks import COMPUTES, loop_ranges, successors
from grader.simulator.decode.control_flow import BRANCH, FALL, TABLE, Block
from grader.simulator.decode.dataflow import sources, targets
from grader.simulator.decode.memory import (
    CONST,
    FOLLOWED,
    GENERIC,
    GLOBAL,
    LOCAL,
    PARAM,
    SHARED,
    space_of,
)
from grader.simulator.decode.module import Image
from grader.simulator.decode.operands import LAUNCH_SPECIAL, WARP_SPECIAL, address_or_none
from grader.simulator.ptx.model import Instruction, Module

COMMON, OWN, BLOCK, DATA = range(4)
ASSUMED_OUTSIDE, ASSUMED_LOCAL, ASSUMED_NOT_GLOBAL = 1, 2, 4
"""What the core verifies of a generic access: see core/machine/proof.h."""

_SPECIAL = {name.partition(".")[0] for name in (*WARP_SPECIAL, *LAUNCH_SPECIAL)} - {"%ctaid"}
_TERMINATORS = frozenset(("bra", "ret", "exit", "trap", "brkpt", "bar", "barrier", "brx"))
_KNOWN = COMPUTES | _TERMINATORS | {"mov", "cvta", "ld", "ldu", "st"}
_EXCLUDED = frozenset(("cc", "volatile", "relaxed", "acquire", "release", "mmio", "red", "arrive"))
_EXCLUDED |= {"warp", "sys", "gpu"}
_ANY_MEMORY, _IS_WRITTEN = 2, 4
"""The flags of shadow_load: see decode/shadow.py."""

_FROM_SYMBOL, _FROM_ELSEWHERE = 1, 2
"""Whether an address may come from a shared or constant variable, or from a pointer."""


@dataclass(frozen=True)
class Proof:
    """What the core needs to run a kernel's launches by proof.

    Attributes:
        assumed: by program counter, ASSUMED_... of each access that has one.
        varies: the places of the predicates that depend on the block's number.
        kept: those of the instructions that feed accesses to global memory and branches; with
            them, and nothing else, a pass finds what it finds in the blocks that are not watched.
        skipped: the header of each loop that has none of them, and the block behind the loop.
    """

    assumed: dict[int, int]
    varies: frozenset[int]
    kept: frozenset[int]
    skipped: dict[int, int]


def prove(module: Module, image: Image) -> Proof | None:
    """The proof of a kernel; None where it does not hold.

    Args:
        module: the module.
        image: its kernel, decoded.
    """
    ordered = image.exact or image.may_wait or image.sync or image.waits
    if len(image.functions) > 1 or ordered or image.runtime or image.refused:
        return None
    try:
        return _Analysis(module, image).proof()
    except _NotProvenError:
        return None


class _NotProvenError(Exception):
    """An instruction that the analysis does not know, or that depends on what it must not."""


def _require(condition: object) -> None:
    if not condition:
        raise _NotProvenError


class _Analysis:
    """The levels of a kernel's registers, and where their addresses come from."""

    def __init__(self, module: Module, image: Image) -> None:
        f = image.functions[0]
        self.image, self.blocks = image, f.blocks
        self.registers, self.parameters = f.operands.registers.at, f.operands.entry
        variables = [*module.variables, *module.functions[f.name].variables]
        self.own = {v.name for v in variables if v.space in ("shared", "const")}
        self.code = [(pc, i, i.op.split(".")) for pc, i in enumerate(image.instructions)]
        self.level = dict.fromkeys(self.registers, COMMON)
        self.origin = dict.fromkeys(self.registers, 0)
        self.assumed: dict[int, int] = {}
        self.dropped: set[int] = set()

    def proof(self) -> Proof:
        """Raises _NotProvenError."""
        for _, _, parts in self.code:
            _require(parts[0] in _KNOWN and not _EXCLUDED & set(parts))
            _require(not any("cluster" in part for part in parts))
        self.propagate()
        varies = frozenset(pc for pc, i, _ in self.code if self.guard(i) == BLOCK)
        for pc, i, parts in self.code:
            _require(self.guard(i) in (COMMON, BLOCK))
            self.require_end(i, parts)
            if parts[0] in ("ld", "ldu", "st") and not self.is_parameter(i, parts):
                self.require_access(pc, i, space_of(parts))
        self.require_shadows()
        kept, skipped = _Slice(self, varies).found()
        predicates = self.image.functions[0].operands.registers.predicates
        places = frozenset(self.registers[p] for p in predicates if self.level[p] == BLOCK)
        return Proof(self.assumed, places, kept, skipped)

    def is_parameter(self, i: Instruction, parts: Sequence[str]) -> bool:
        """Whether an instruction loads a parameter of the kernel by its name."""
        return "param" in parts and address_or_none(i.operands[-1])[0] in self.parameters

    def level_of(self, name: str) -> int:
        """The level of a register, a special register, or anything else in an operand."""
        if name in self.registers:
            return self.level[name]
        special = name.partition(".")[0]
        _require(not name.startswith("%") or special == "%ctaid" or special in _SPECIAL)
        return BLOCK if special == "%ctaid" else COMMON

    def guard(self, i: Instruction) -> int:
        """The level of an instruction's guard."""
        return COMMON if i.guard is None else self.level_of(i.guard[0])

    def propagate(self) -> None:
        """Raise levels and origins until nothing changes."""
        at = self.registers
        code = [(i, parts, [n for n in targets(i) if n in at]) for _, i, parts in self.code]
        code = [one for one in code if one[2]]
        changed = True
        while changed:
            changed = False
            for i, parts, names in code:
                level, origin = self.result(i, parts)
                for n in names:
                    if level > self.level[n] or origin & ~self.origin[n]:
                        self.level[n] = max(level, self.level[n])
                        self.origin[n] |= origin
                        changed = True

    def result(self, i: Instruction, parts: Sequence[str]) -> tuple[int, int]:
        """The level and the origin of what an instruction writes."""
        if parts[0] in ("ld", "ldu"):
            return COMMON if self.is_parameter(i, parts) else DATA, _FROM_ELSEWHERE
        origin = 0
        for name in sources(i):
            if name in self.registers:
                origin |= self.origin[name]
            elif name in self.own:
                origin |= _FROM_SYMBOL
            elif len(name) > 1 and not name.startswith("%"):
                origin |= _FROM_ELSEWHERE
        levels = [self.level_of(name) for name in sources(i)]
        return self.combined(i, parts, levels), origin

    def combined(self, i: Instruction, parts: Sequence[str], levels: list[int]) -> int:
        """The level of a result of operands with these levels."""
        most = max(levels, default=COMMON)
        if parts[0] == "cvta" and "local" in parts and most <= OWN:
            return COMMON if "to" in parts else OWN
        if OWN not in levels:
            return most
        moves = parts[0] in ("mov", "add") or (parts[0] == "sub" and levels[0] == OWN)
        moves &= most == OWN and levels.count(OWN) == 1 and "{" not in "".join(i.operands)
        return OWN if moves else max(BLOCK, most)

    def require_end(self, i: Instruction, parts: Sequence[str]) -> None:
        """Require of a barrier, or a jump by a table, that all blocks have the same operands."""
        if parts[0] in ("bar", "barrier", "brx"):
            used = i.operands[:1] if parts[0] == "brx" else i.operands
            _require(all(self.level_of(n) == COMMON for n in used))

    def require_access(self, pc: int, i: Instruction, space: int) -> None:
        """Require an address that a proof allows, and note what is assumed of it."""
        base, _ = address_or_none(i.operands[0 if i.op.startswith("st") else 1])
        level, origin = self.level_of(base), self.origin.get(base, _FROM_ELSEWHERE)
        if base in self.own:
            origin = _FROM_SYMBOL
        _require(base and level != DATA)
        if space in (SHARED, LOCAL, PARAM):
            _require(level == COMMON)
            self.dropped.add(pc)
        elif space == GENERIC and level == OWN:
            self.assume(pc, ASSUMED_LOCAL)
        elif space == GENERIC and level == BLOCK:
            _require(origin != _FROM_SYMBOL)
            self.assumed[pc] = ASSUMED_OUTSIDE
        elif level == COMMON and (space == CONST or (space == GENERIC and origin == _FROM_SYMBOL)):
            self.assume(pc, ASSUMED_NOT_GLOBAL)
        else:
            _require(space in (GENERIC, GLOBAL, CONST))

    def assume(self, pc: int, what: int) -> None:
        """Note an access that reduced code lacks."""
        self.assumed[pc] = what
        self.dropped.add(pc)

    def require_shadows(self) -> None:
        """Require that whether a value is defined does not depend on values that differ."""
        for block in self.blocks:
            for insn in block.insns:
                if insn.exec in ("shadow_select", "shadow_bits"):
                    read = sources(self.image.instructions[insn.pc])
                    _require(all(self.level_of(n) == COMMON for n in read))
                elif insn.exec == "shadow_load":
                    _require(insn.flag & (_ANY_MEMORY | _IS_WRITTEN) != _ANY_MEMORY)
                elif insn.exec.startswith("ld"):
                    _require(not insn.flag & FOLLOWED)


class _Slice:
    """What feeds accesses to global memory, branches and barriers."""

    def __init__(self, analysis: _Analysis, varies: frozenset[int]) -> None:
        self.blocks, self.registers, self.varies = analysis.blocks, analysis.registers, varies
        self.accesses = {
            pc
            for pc, i, parts in analysis.code
            if parts[0] in ("ld", "ldu", "st")
            and pc not in analysis.dropped
            and not analysis.is_parameter(i, parts)
        }
        self.writers: dict[str, list[int]] = {}
        self.instructions = analysis.image.instructions
        for pc, i, _ in analysis.code:
            for name in targets(i):
                self.writers.setdefault(name, []).append(pc)
        self.pc_of = {id(i): pc for pc, i, _ in analysis.code}

    def found(self) -> tuple[frozenset[int], dict[int, int]]:
        """The program counters that are kept, and the loops that are skipped."""
        loops = dict(self.loops())
        while True:
            inside = {k for first, (last, _) in loops.items() for k in range(first, last + 1)}
            kept, needed = self.fed(b for k, b in enumerate(self.blocks) if k not in inside)
            writes = [
                first
                for first, (last, _) in loops.items()
                if any(not needed.isdisjoint(targets(i)) for i in self.within(first, last))
            ]
            if not writes:
                return frozenset(kept), {first: behind for first, (_, behind) in loops.items()}
            for first in writes:
                del loops[first]

    def within(self, first: int, last: int) -> Iterator[Instruction]:
        """The instructions of some blocks."""
        for block in self.blocks[first : last + 1]:
            yield from block.code

    def loops(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """The loops that a slice may skip: the first block, the last, and the one behind.

        No access of such a loop is kept, all blocks execute it alike, and all lanes go on to one
        place.
        """
        tables = {to for b in self.blocks if b.end.kind == TABLE for to in b.table}
        for first, last, _ in loop_ranges(self.blocks):
            inside = range(first, last + 1)
            plain = all(self.blocks[k].end.kind in (FALL, BRANCH) for k in inside)
            pcs = {self.pc_of[id(i)] for i in self.within(first, last)}
            edges = [(k, to) for k, b in enumerate(self.blocks) for to in successors(b)]
            entered = {to for k, to in edges if k not in inside and to in inside}
            left = {to for k, to in edges if k in inside and to not in inside}
            if not plain or entered != {first} or first in tables or first == 0:
                continue
            if len(left) == 1 and min(left) > last and not pcs & (self.accesses | self.varies):
                yield first, (last, min(left))

    def fed_by(self, i: Instruction) -> list[str]:
        """What an access needs to be announced: its address. Its values are used for nothing."""
        return [address_or_none(i.operands[0 if i.op.startswith("st") else 1])[0]]

    def fed(self, blocks: Iterator[Block]) -> tuple[set[int], set[str]]:
        """What some blocks' ends and kept accesses are computed by, and the registers for it."""
        kept: set[int] = set()
        work: list[str] = []
        for block in blocks:
            for i in block.code:
                pc, head = self.pc_of[id(i)], i.op.split(".")[0]
                ends, varies = head in _TERMINATORS, pc in self.varies
                if not ends and not varies and pc not in self.accesses:
                    continue
                if not ends:
                    kept.add(pc)
                work += self.fed_by(i) if head in ("ld", "ldu", "st") else sources(i)
                work += [i.guard[0]] if i.guard is not None else []
        needed = set(work)
        while work:
            for pc in self.writers.get(work.pop(), ()):
                if pc in kept:
                    continue
                kept.add(pc)
                i = self.instructions[pc]
                read = {*sources(i), *([i.guard[0]] if i.guard else ())} & self.registers.keys()
                work += read - needed
                needed |= read
        return kept, needed
