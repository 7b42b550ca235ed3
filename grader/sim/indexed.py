"""Accesses of array elements that compute the element's address themselves.

`-G` code makes the address of `tile[i][j]` anew for each access: base + (i << m) + (j << n), the
base a constant of the launch. One instruction does it all, and where neighbouring lanes have
neighbouring indices, it need not even look at each lane's address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.sim.effects import may_write
from grader.sim.opcode import Code
from grader.sim.operands import CONSTANTS, Constant

_BANK = 3
_LONGEST_WAY = 12
"""How many instructions an access looks back for its address."""

_FARTHEST = 1 << 40
_ACCESSES = {"ld_word": "ld_word_indexed", "st_word": "st_word_indexed"}


def indexed(
    codes: Sequence[Code], brief: frozenset[int], held: Mapping[int, Constant], zero: int
) -> list[Code]:
    """The block's instructions, with the accesses whose address is a constant and one or two
    shifted indices as one each. `held` tells constants by their places; `zero` is one's."""
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
    the same until the access that `out` ends with."""
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
