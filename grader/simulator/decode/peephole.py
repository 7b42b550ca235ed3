"""Shorter ways to the same registers and memory, in straight runs of machine instructions.

What `-G` code keeps writing: a value computed into one register and moved to another; a constant
moved to a register; `setp; not; @p bra`; an element's address for each access to it. Registers
that are left unwritten by this are read by nothing. Nothing that counts, faults or is watched
goes away, only moves, negations and address arithmetic do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.simulator.decode.control_flow import BRANCH, Block
from grader.simulator.decode.instructions import Code
from grader.simulator.decode.operands import CONSTANTS, Constant, ConstantBank
from grader.simulator.ptx.model import Function

# What machine instructions read and write, of those that we know all about.
#
# The passes that shorten code touch nothing else: an instruction that is not told of here may read
# and write whatever its fields name.

_REGISTER = re.compile(r"%\w+")
_WRITES_NONE = ("st", "red")
_SOURCES = tuple(
    (re.compile(names), fields)
    for names, fields in (
        (r"mov_b(16|32|64)|cvta_\w+|neg_[sf]\d+|not_b\d+", "a"),
        (r"cvt_(s64_s32|u64_u32|u32_u64|f32_s32|f64_f32)|ld_word", "a"),
        (r"(add|sub|mul|mul_lo|mul_wide|div|rem|and|or|xor|min|max|shl|shr)_[bsuf]\d+", "ab"),
        (r"setp_(eq|ne|lt|le|gt|ge)_[bsuf]\d+", "ab"),
        (r"(mad_lo|mad_wide|fma)_[suf]\d+", "abc"),
        (r"fused_index", "ac"),
        (r"st_word", "ad"),
        (r"ld_word_indexed", "abc"),
        (r"st_word_indexed", "abcd"),
    )
)
"""The fields that an instruction reads registers by, of those that we know all about."""

_STORES = ("st_word", "st_word_indexed")


@dataclass(frozen=True)
class Registers:
    """What the PTX text tells of a function's registers, by their places: `brief` ones are
    written by one instruction and read by one other, `settled` ones written by one.
    """

    brief: frozenset[int]
    settled: frozenset[int]


def settled(f: Function, at: dict[str, int]) -> frozenset[int]:
    """The registers that one instruction of the text writes; `at` maps names to places."""
    seen: Counter[str] = Counter()
    for i in f.body:
        if i.operands and i.op.split(".")[0] not in _WRITES_NONE:
            seen.update(_REGISTER.findall(i.operands[0]))
    return frozenset(at[name] for name, times in seen.items() if times == 1 and name in at)


def sources(code: Code) -> str | None:
    """The fields that hold the registers it reads; None when that is not known."""
    return next((fields for names, fields in _SOURCES if names.fullmatch(code.exec)), None)


def makes(code: Code, place: int) -> bool:
    """Whether an instruction that we know all about writes this register."""
    return code.d == place and code.exec not in _STORES and sources(code) is not None


def may_write(code: Code, place: int) -> bool:
    """Whether an instruction may write this register."""
    if code.exec in _STORES:
        return place == code.e
    if sources(code) is not None:
        return place in (code.d, code.e)
    return mentions(code, place)


def mentions(code: Code, place: int) -> bool:
    """Whether an instruction names this register, its guard included."""
    return place in (code.d, code.a, code.b, code.c, code.e, code.guard - 1)


# Accesses of array elements that compute the element's address themselves.
#
# `-G` code makes the address of `tile[i][j]` anew for each access: base + (i << m) + (j << n), the
# base a constant of the launch. One instruction does it all, and where neighbouring lanes have
# neighbouring indices, it need not even look at each lane's address.

_BANK = 3
_LONGEST_WAY = 12
"""How many instructions an access looks back for its address."""

_FARTHEST = 1 << 40
_ACCESSES = {"ld_word": "ld_word_indexed", "st_word": "st_word_indexed"}


def indexed(
    codes: Sequence[Code], brief: frozenset[int], held: Mapping[int, Constant], zero: int
) -> list[Code]:
    """The block's instructions, with the accesses whose address is a constant and one or two
    shifted indices as one each. `held` tells constants by their places; `zero` is one's.
    """
    out: list[Code] = []
    for code in codes:
        out.append(code)
        if code.exec not in _ACCESSES or code.mode != 8 or abs(code.imm) >= _FARTHEST:
            continue
        last = _index(out, len(out) - 1, code.a, brief)
        if last is None:
            continue
        first = None if _constant(out[last].c) else _index(out, last, out[last].c, brief)
        if _constant(out[last].c if first is None else out[first].c):
            _become(out, last, first, held, zero)
    return out


def _constant(place: int) -> bool:
    return place & _BANK == CONSTANTS


def _become(
    out: list[Code], last: int, first: int | None, held: Mapping[int, Constant], zero: int
) -> None:
    """Makes one of the access that `out` ends with and of its index computations."""
    code, near, far = out[-1], out[last], None if first is None else out[first]
    shifts = _shift(held, near), 0 if far is None else _shift(held, far)
    if None in shifts:
        return
    outer, inner = shifts[1] or 0, shifts[0] or 0
    code.exec, code.e = _ACCESSES[code.exec], code.a
    code.a, code.b = near.a, zero if far is None else far.a
    code.c = near.c if far is None else far.c
    code.imm = code.imm << 16 | outer << 8 | inner
    for n in (last, first):
        if n is not None:
            del out[n]


def _shift(held: Mapping[int, Constant], code: Code) -> int | None:
    what, _, value, _ = held.get(code.b, ("", 0, 0, 0))
    return value if what == "bits" and isinstance(value, int) and value < 32 else None


def _index(out: Sequence[Code], end: int, place: int, brief: frozenset[int]) -> int | None:
    """Which instruction before `end` is the index computation that makes `place`, its operands
    the same until the access that `out` ends with.
    """
    if place not in brief:
        return None
    for n in range(end - 1, max(end - _LONGEST_WAY, -1), -1):
        code = out[n]
        if code.exec == "fused_index" and code.d == place:
            kept = all(not may_write(c, p) for c in out[n + 1 : -1] for p in (code.a, code.c))
            return n if kept and not code.guard else None
        if may_write(code, place):
            return None
    return None


# Machine instructions that debug code always writes in a row, done as one.
#
# `-G` code computes the address of every array element anew: sign-extend the index, shift it by the
# element's size, add the base. The intermediate registers are written once and read once, so that
# one instruction in place of three leaves nothing behind that is missed.

_REGISTER = re.compile(r"%\w+")
_BANK = 3


def passing(f: Function, at: dict[str, int]) -> frozenset[int]:
    """The registers, by their place, that one instruction writes and one reads; `at` maps names
    to places.
    """
    seen: Counter[str] = Counter()
    for i in f.body:
        seen.update(_REGISTER.findall(" ".join(i.operands)))
        if i.guard is not None:
            seen[i.guard[0]] += 1
    return frozenset(at[name] for name, times in seen.items() if times == 2 and name in at)


def fused(codes: list[Code], brief: frozenset[int]) -> list[Code]:
    """The block's instructions with each index computation as one; `brief` are registers that hold
    a value from one instruction to one other.
    """
    out: list[Code] = []
    for code in codes:
        out.append(code)
        if code.exec == "cvta_shared_u64" and len(out) > 1:
            out[-2:] = _without_move(out[-2], code, brief)
        elif code.exec == "add_u64" and len(out) > 2:
            out[-3:] = _indexed(out[-3], out[-2], code, brief)
    return out


def _without_move(move: Code, code: Code, brief: frozenset[int]) -> list[Code]:
    """A variable's address made generic: mov, cvta."""
    direct = move.exec == "mov_b64" and move.d == code.a and code.a in brief
    if not direct or move.guard or code.guard:
        return [move, code]
    code.a = move.a
    return [code]


def _indexed(extend: Code, shift: Code, add: Code, brief: frozenset[int]) -> list[Code]:
    """base + (index << constant), the index sign-extended: cvt, shl, add."""
    whole = [extend, shift, add]
    base = add.a if add.b == shift.d else add.b
    fits = (
        extend.exec == "cvt_s64_s32"
        and shift.exec == "shl_b64"
        and shift.a == extend.d
        and shift.b & _BANK == CONSTANTS
        and (shift.d in (add.a, add.b) and base != shift.d)
        and {extend.d, shift.d} <= brief
        and not any(code.guard for code in whole)
    )
    return [Code("fused_index", add.d, extend.a, shift.b, base, pc=add.pc)] if fits else whole


_BANK = 3
_MOVES = {"mov_b16": 16, "mov_b32": 32, "mov_b64": 64}
_SHARED_BASE = 0x020000000000
_PEEPHOLE_LONGEST_WAY = 16
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
    `values`: those of the entry block, which runs before all others; filled in.
    """
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
    for code in reversed(codes[-_PEEPHOLE_LONGEST_WAY:]):
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
