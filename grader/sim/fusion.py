"""Machine instructions that debug code always writes in a row, done as one.

`-G` code computes the address of every array element anew: sign-extend the index, shift it by the
element's size, add the base. The intermediate registers are written once and read once, so that
one instruction in place of three leaves nothing behind that is missed.
"""

from __future__ import annotations

import re
from collections import Counter

from grader.sim.opcode import Code
from grader.sim.operands import CONSTANTS
from grader.sim.ptx import Function

_REGISTER = re.compile(r"%\w+")
_BANK = 3


def passing(f: Function, at: dict[str, int]) -> frozenset[int]:
    """The registers, by their place, that one instruction writes and one reads; `at` maps names
    to places."""
    seen: Counter[str] = Counter()
    for i in f.body:
        seen.update(_REGISTER.findall(" ".join(i.operands)))
        if i.guard is not None:
            seen[i.guard[0]] += 1
    return frozenset(at[name] for name, times in seen.items() if times == 2 and name in at)


def fused(codes: list[Code], brief: frozenset[int]) -> list[Code]:
    """The block's instructions with each index computation as one; `brief` are registers that hold
    a value from one instruction to one other."""
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
