"""What machine instructions read and write, of those that we know all about.

The passes that shorten code touch nothing else: an instruction that is not told of here may read
and write whatever its fields name.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from grader.sim.opcode import Code
from grader.sim.ptx import Function

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
    written by one instruction and read by one other, `settled` ones written by one."""

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
