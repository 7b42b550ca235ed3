"""Shorter ways to the same registers and memory, in straight runs of machine instructions.

What `-G` code keeps writing: a value computed into one register and moved to another; a constant
moved to a register; `setp; not; @p bra`; an element's address for each access to it. Registers
that are left unwritten by this are read by nothing. Nothing that counts, faults or is watched
goes away, only moves, negations and address arithmetic do.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.sim.effects import Registers, makes, mentions, sources
from grader.sim.flow import BRANCH, Block
from grader.sim.indexed import indexed
from grader.sim.opcode import Code
from grader.sim.operands import CONSTANTS, Constant, ConstantBank

_BANK = 3
_MOVES = {"mov_b16": 16, "mov_b32": 32, "mov_b64": 64}
_SHARED_BASE = 0x020000000000
_LONGEST_WAY = 16
"""How many instructions a move looks back for what computed its value."""


def shorten(blocks: Sequence[Block], known: Registers, constants: ConstantBank) -> None:
    """Shortens a function's blocks in place; the first is the entry."""
    held = {place | CONSTANTS: constant for constant, place in constants.places.items()}
    zero = constants.place(("bits", 4, 0, 0))
    values: dict[int, int] = {}
    for block in blocks:
        for code in block.codes:
            _make_constant(code, held, constants)
        _put_constants(block, known, values if block is blocks[0] else dict(values))
        _without_moves(block, known.brief)
        _without_negation(block, known.brief)
        block.codes = indexed(block.codes, known.brief, held, zero)


def _make_constant(code: Code, held: dict[int, Constant], constants: ConstantBank) -> None:
    """A shared variable's generic address is a constant of the launch like the variable's own."""
    what, width, symbol, add = held.get(code.a, ("", 0, "", 0))
    if code.exec == "cvta_shared_u64" and what == "symbol":
        constant = (what, width, symbol, add + _SHARED_BASE)
        code.exec, code.a = "mov_b64", constants.place(constant)
        held[code.a] = constant


def _put_constants(block: Block, known: Registers, values: dict[int, int]) -> None:
    """Registers that a move gives a constant, and that nothing else writes, are read as it.
    `values`: those of the entry block, which runs before all others; filled in."""
    passed: dict[int, int] = {}
    gone: set[int] = set()
    for n, code in enumerate(block.codes):
        for name in sources(code) or "":
            place = getattr(code, name)
            if place in values:
                setattr(code, name, values[place])
                if place in passed:
                    gone.add(passed.pop(place))
        moves = code.exec in _MOVES and not code.guard and code.d in known.settled
        if moves and code.a & _BANK == CONSTANTS:
            values[code.d] = code.a
            if code.d in known.brief:
                passed[code.d] = n
    block.codes = [code for n, code in enumerate(block.codes) if n not in gone]


def _without_moves(block: Block, brief: frozenset[int]) -> None:
    """What is computed only to be moved is computed where it is moved to."""
    out: list[Code] = []
    for code in block.codes:
        moves = code.exec in _MOVES and not code.guard and code.a in brief
        maker = _maker(out, code.a, code.d) if moves else None
        if maker is None:
            out.append(code)
        else:
            maker.d = code.d
    block.codes = out


def _maker(codes: list[Code], value: int, target: int) -> Code | None:
    """The instruction that computes `value`, when it could write `target` in its place."""
    for code in reversed(codes[-_LONGEST_WAY:]):
        if makes(code, value):
            return None if code.guard else code
        if mentions(code, target) or mentions(code, value):
            return None
    return None


def _without_negation(block: Block, brief: frozenset[int]) -> None:
    """`not.pred q, p; @q bra` branches on p, the other way round."""
    end, last = block.end, block.codes[-1] if block.codes else None
    if last is None or end.kind != BRANCH or end.guard - 1 not in brief:
        return
    if last.exec == "not_pred" and last.d == end.guard - 1 and not last.guard:
        end.guard, end.negate = last.a + 1, 1 - end.negate
        block.codes = block.codes[:-1]
