"""Shorten straight runs of machine instructions.

`-G` code computes the address of every array element anew (sign-extend the index, shift it by the
element's size, add the base), computes a value in one register and moves it to another, moves
constants to registers, and negates predicates before it branches. Such sequences become one
instruction each; nothing reads the registers that are no longer written. Moves, negations and
address arithmetic are removed; instructions that are counted, may fault or are observed remain.

An instruction that `_SOURCES` does not list may read and write all registers that its fields name.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain

from grader import dataclass, regex
from grader.simulator.decode.control_flow import BRANCH, Block
from grader.simulator.decode.instructions import Insn
from grader.simulator.decode.memory import STRONG_LOAD
from grader.simulator.decode.operands import CONSTANTS, Constant, ConstantBank
from grader.simulator.ptx.model import Function

_BANK = 3
"""The bits of a reference that name its bank."""

_REGISTER = regex(r"%\w+")
_WRITES_NONE = ("st", "red")
_SOURCES = tuple(
    (regex(names), fields)
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
"""The fields through which an instruction reads registers; it writes register `d` alone."""

_STORES = ("st_word", "st_word_indexed")
_ADDRESS_WINDOW = 12
"""The number of instructions before an access that are searched for its address."""

_MAX_DISPLACEMENT = 1 << 40
_ACCESSES = {"ld_word": "ld_word_indexed", "st_word": "st_word_indexed"}
_MOVES = {"mov_b16": 16, "mov_b32": 32, "mov_b64": 64}
_SHARED_BASE = 0x020000000000
_MOVE_WINDOW = 16
"""The number of instructions before a move that are searched for its value."""


@dataclass(frozen=True)
class Registers:
    """The registers of a function, by place, that few instructions of the PTX text use.

    Attributes:
        temporary: written by one instruction and read by one other.
        written_once: written by one instruction.
    """

    temporary: frozenset[int]
    written_once: frozenset[int]


@lru_cache(maxsize=1 << 13)
def _registers(operand: str) -> tuple[str, ...]:
    return tuple(_REGISTER.findall(operand))


def written_once(f: Function, at: dict[str, int]) -> frozenset[int]:
    """The places of the registers that one instruction writes; `at` maps names to places."""
    uses: Counter[str] = Counter()
    for i in f.body:
        if i.operands and i.op.split(".")[0] not in _WRITES_NONE:
            uses.update(_registers(i.operands[0]))
    return frozenset(at[name] for name, times in uses.items() if times == 1 and name in at)


def temporaries(f: Function, at: dict[str, int]) -> frozenset[int]:
    """The places of the registers that one instruction writes and one other reads.

    Args:
        f: the function.
        at: the place of each register by name.
    """
    named = (name for i in f.body for operand in i.operands for name in _registers(operand))
    uses = Counter(chain(named, (i.guard[0] for i in f.body if i.guard is not None)))
    return frozenset(at[name] for name, times in uses.items() if times == 2 and name in at)


def shorten(blocks: Sequence[Block], registers: Registers, constants: ConstantBank) -> None:
    """Shorten the blocks of a function in place; the first is the entry."""
    known = constants.known
    zero = constants.place(("bits", 4, 0, 0))
    values: ChainMap[int, int] = ChainMap()
    for block in blocks:
        for insn in block.insns:
            _make_constant(insn, constants)
        _put_constants(block, registers, values if block is blocks[0] else values.new_child())
        _without_moves(block, registers.temporary)
        _without_negation(block, registers.temporary)
        block.insns = index_accesses(block.insns, registers.temporary, known, zero)
        _number_repeated(block.insns)


def _make_constant(insn: Insn, constants: ConstantBank) -> None:
    """Turn the generic address of a shared variable into a constant of the launch."""
    kind, width, symbol, offset = constants.known.get(insn.a, ("", 0, "", 0))
    if insn.exec == "cvta_shared_u64" and kind == "symbol":
        constant = (kind, width, symbol, offset + _SHARED_BASE)
        insn.exec, insn.a = "mov_b64", constants.place(constant)


def _put_constants(block: Block, registers: Registers, values: ChainMap[int, int]) -> None:
    """Replace registers that hold a constant by that constant.

    Args:
        block: the block to change.
        registers: the registers of the function.
        values: the constants that registers hold, by place; those of the entry block, which runs
            before all others, apply to every block. The block's own are added.
    """
    copies: dict[int, int] = {}
    removed: set[int] = set()
    for n, insn in enumerate(block.insns):
        for name in sources(insn) or "":
            place = getattr(insn, name)
            if place in values:
                setattr(insn, name, values[place])
                if place in copies:
                    removed.add(copies.pop(place))
        moves = insn.exec in _MOVES and not insn.guard and insn.d in registers.written_once
        if moves and insn.a & _BANK == CONSTANTS:
            values[insn.d] = insn.a
            if insn.d in registers.temporary:
                copies[insn.d] = n
    block.insns = [insn for n, insn in enumerate(block.insns) if n not in removed]


def _without_moves(block: Block, temporary: frozenset[int]) -> None:
    """Compute a value in the register that it is moved to."""
    out: list[Insn] = []
    for insn in block.insns:
        moves = insn.exec in _MOVES and not insn.guard and insn.a in temporary
        producer = _producer(out, insn.a, insn.d) if moves else None
        if producer is None:
            out.append(insn)
        else:
            producer.d = insn.d
    block.insns = out


def _producer(insns: list[Insn], value: int, target: int) -> Insn | None:
    """The instruction that computes `value`, if it can write `target` instead."""
    for insn in reversed(insns[-_MOVE_WINDOW:]):
        if computes(insn, value):
            return None if insn.guard else insn
        if mentions(insn, target) or mentions(insn, value):
            return None
    return None


def _without_negation(block: Block, temporary: frozenset[int]) -> None:
    """Turn `not.pred q, p; @q bra` into a branch on the negated p."""
    end, last = block.end, block.insns[-1] if block.insns else None
    if last is None or end.kind != BRANCH or end.guard - 1 not in temporary:
        return
    if last.exec == "not_pred" and last.d == end.guard - 1 and not last.guard:
        end.guard, end.negate = last.a + 1, 1 - end.negate
        block.insns = block.insns[:-1]


def fuse_indices(insns: list[Insn], temporary: frozenset[int]) -> list[Insn]:
    """Replace each index computation of a block by one instruction.

    Args:
        insns: the instructions of the block.
        temporary: the registers that one instruction writes and one other reads.
    """
    out: list[Insn] = []
    for insn in insns:
        out.append(insn)
        if insn.exec == "cvta_shared_u64" and len(out) > 1:
            out[-2:] = _without_move(out[-2], insn, temporary)
        elif insn.exec == "add_u64" and len(out) > 2:
            out[-3:] = _fused_index(out[-3], out[-2], insn, temporary)
    return out


def _without_move(move: Insn, insn: Insn, temporary: frozenset[int]) -> list[Insn]:
    """Fuse mov and cvta, which make a variable's address generic."""
    direct = move.exec == "mov_b64" and move.d == insn.a and insn.a in temporary
    if not direct or move.guard or insn.guard:
        return [move, insn]
    insn.a = move.a
    return [insn]


def _fused_index(extend: Insn, shift: Insn, add: Insn, temporary: frozenset[int]) -> list[Insn]:
    """Fuse cvt, shl and add, which compute base + (index << constant)."""
    whole = [extend, shift, add]
    base = add.a if add.b == shift.d else add.b
    fits = (
        extend.exec == "cvt_s64_s32"
        and shift.exec == "shl_b64"
        and shift.a == extend.d
        and shift.b & _BANK == CONSTANTS
        and (shift.d in (add.a, add.b) and base != shift.d)
        and {extend.d, shift.d} <= temporary
        and not any(insn.guard for insn in whole)
    )
    return [Insn("fused_index", add.d, extend.a, shift.b, base, pc=add.pc)] if fits else whole


def index_accesses(
    insns: Sequence[Insn], temporary: frozenset[int], known: Mapping[int, Constant], zero: int
) -> list[Insn]:
    """Let accesses compute their own address from a constant and one or two shifted indices.

    Where neighboring lanes have neighboring indices, the core need not look at each lane's address.
    A strong load is not one of these: others may wait for its place.

    Args:
        insns: the instructions of the block.
        temporary: the registers that one instruction writes and one other reads.
        known: the constants of the bank by reference.
        zero: the reference of a constant 0.
    """
    out: list[Insn] = []
    for insn in insns:
        out.append(insn)
        if insn.exec not in _ACCESSES or insn.mode != 8 or abs(insn.imm) >= _MAX_DISPLACEMENT:
            continue
        if insn.exec == "ld_word" and insn.flag & STRONG_LOAD:
            continue
        last = _index(out, len(out) - 1, insn.a, temporary)
        if last is None:
            continue
        first = None if _constant(out[last].c) else _index(out, last, out[last].c, temporary)
        if _constant(out[last].c if first is None else out[first].c):
            _combine(out, last, first, known, zero)
    return out


def _constant(place: int) -> bool:
    return place & _BANK == CONSTANTS


def _combine(
    out: list[Insn], last: int, first: int | None, known: Mapping[int, Constant], zero: int
) -> None:
    """Combine the access that `out` ends with and its index computations in one instruction."""
    insn, near, far = out[-1], out[last], None if first is None else out[first]
    shifts = _shift(known, near), 0 if far is None else _shift(known, far)
    if None in shifts:
        return
    outer, inner = shifts[1] or 0, shifts[0] or 0
    insn.exec, insn.e = _ACCESSES[insn.exec], insn.a
    insn.a, insn.b = near.a, zero if far is None else far.a
    insn.c = near.c if far is None else far.c
    insn.imm = insn.imm << 16 | outer << 8 | inner
    for n in (last, first):
        if n is not None:
            del out[n]


def _shift(known: Mapping[int, Constant], insn: Insn) -> int | None:
    """The constant by which an index computation shifts; None when it is not known."""
    kind, _, value, _ = known.get(insn.b, ("", 0, 0, 0))
    return value if kind == "bits" and isinstance(value, int) and value < 32 else None


def _index(out: Sequence[Insn], end: int, place: int, temporary: frozenset[int]) -> int | None:
    """The position before `end` of the index computation that writes `place`.

    Returns None unless its operands keep their values until the access that `out` ends with.
    """
    if place not in temporary:
        return None
    for n in range(end - 1, max(end - _ADDRESS_WINDOW, -1), -1):
        insn = out[n]
        if insn.exec == "fused_index" and insn.d == place:
            kept = all(not may_write(c, p) for c in out[n + 1 : -1] for p in (insn.a, insn.c))
            return n if kept and not insn.guard else None
        if may_write(insn, place):
            return None
    return None


def _number_repeated(insns: Sequence[Insn]) -> None:
    """Number the loads of a block through a register that keeps its value, as in unrolled loops.

    The core looks at the addresses of such loads once.
    """
    by_register: dict[int, list[Insn]] = {}
    groups: list[list[Insn]] = []
    for insn in insns:
        if insn.exec == "ld_word" and not insn.flag & STRONG_LOAD:
            same = by_register.setdefault(insn.a, [])
            same += [insn] if not same or same[0].space == insn.space else []
        known, stores = sources(insn) is not None, insn.exec in _STORES
        written = ((insn.e,) if stores else (insn.d, insn.e)) if known else [*by_register]
        groups += [by_register.pop(place) for place in written if place in by_register]
    repeated = (g for g in (*groups, *by_register.values()) if len(g) > 1)
    for number, group in enumerate(repeated, 1):
        for insn in group:
            insn.exec, insn.e = "ld_word_repeated", number


def sources(insn: Insn) -> str | None:
    """The fields that name the registers that an instruction reads; None when not known."""
    return _sources(insn.exec)


@lru_cache(maxsize=1 << 11)
def _sources(name: str) -> str | None:
    return next((fields for names, fields in _SOURCES if names.fullmatch(name)), None)


def computes(insn: Insn, place: int) -> bool:
    """Whether a listed instruction writes this register."""
    return insn.d == place and insn.exec not in _STORES and sources(insn) is not None


def may_write(insn: Insn, place: int) -> bool:
    """Whether an instruction may write this register."""
    if insn.exec in _STORES:
        return place == insn.e
    if sources(insn) is not None:
        return place in (insn.d, insn.e)
    return mentions(insn, place)


def mentions(insn: Insn, place: int) -> bool:
    """Whether an instruction names this register, its guard included."""
    return place in (insn.d, insn.a, insn.b, insn.c, insn.e, insn.guard - 1)
