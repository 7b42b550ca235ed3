"""PTX ISA, "Data Movement and Conversion Instructions": cvt of pairs of e4m3 and e5m2, cvt.pack.

The number nearest to a value is sought among all numbers of the format.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from tests.ptx.case import FORMATS, Case, case
from tests.ptx.soft import finite, of_bits, to_bits

FRACTION = {"e4m3": 3, "e5m2": 2}
LEAST = {"e4m3": -6, "e5m2": -14}
MOST = {"e4m3": 0x7E, "e5m2": 0x7B}
NAN, HALF_NAN = 0x7F, 0x7FFF


def magnitude(code: int, kind: str) -> Fraction:
    """The value of the lower 7 bits of a finite number."""
    exponent, fraction = divmod(code & 0x7F, 1 << FRACTION[kind])
    whole = fraction + ((1 << FRACTION[kind]) if exponent else 0)
    return whole * Fraction(2) ** (max(exponent, 1) - 1 + LEAST[kind] - FRACTION[kind])


@cache
def narrowed(bits: int, source: str, kind: str, relu: bool) -> int:
    """One number of a pair: the nearest, of two the even one; the largest one where it is more."""
    x = of_bits(bits, FORMATS[source])
    if x.kind == "nan":
        return NAN
    if relu and x.negative:
        return 0
    sign = 0x80 if x.negative else 0
    if x.kind == "inf":
        return sign | MOST[kind]
    distance = {k: abs(magnitude(k, kind) - abs(x.value)) for k in range(MOST[kind] + 1)}
    return sign | min(distance, key=lambda k: (distance[k], k & 1))


def widened(code: int, kind: str, relu: bool) -> int:
    """A half from one number of a pair."""
    size = code & 0x7F
    if size > MOST[kind] and not (kind == "e5m2" and size == 0x7C):
        return HALF_NAN
    if relu and code & 0x80:
        return 0
    if size > MOST[kind]:
        return code << 8
    value = magnitude(code, kind) * (-1 if code & 0x80 else 1)
    return to_bits(finite(value, bool(code & 0x80)), FORMATS["f16"])


def from_floats(kind: str, relu: bool) -> Callable[[int, int], int]:
    return lambda a, b: narrowed(a, "f32", kind, relu) << 8 | narrowed(b, "f32", kind, relu)


def from_halves(kind: str, relu: bool) -> Callable[[int], int]:
    def oracle(a: int) -> int:
        high, low = (narrowed(x, "f16", kind, relu) for x in (a >> 16, a & 0xFFFF))
        return high << 8 | low

    return oracle


def to_halves(kind: str, relu: bool) -> Callable[[int], int]:
    return lambda a: widened(a >> 8, kind, relu) << 16 | widened(a & 255, kind, relu)


def packed(bits: int, sign: bool) -> Callable[..., int]:
    most = (1 << (bits - sign)) - 1

    def part(x: int) -> int:
        return max(-most - 1 if sign else 0, min(most, x)) & ((1 << bits) - 1)

    return lambda a, b, c=0: (c << 2 * bits | part(a) << bits | part(b)) & 0xFFFFFFFF


TYPES = [(kind, relu) for kind in FRACTION for relu in (False, True)]
CASES: list[Case] = [
    *(
        case(f"cvt.rn.satfinite{'.relu' * r}.{k}x2.f32", "u16 = f32 f32", from_floats(k, r))
        for k, r in TYPES
    ),
    *(
        case(f"cvt.rn.satfinite{'.relu' * r}.{k}x2.f16x2", "u16 = f16x2", from_halves(k, r))
        for k, r in TYPES
    ),
    *(case(f"cvt.rn{'.relu' * r}.f16x2.{k}x2", "u32 = u16", to_halves(k, r)) for k, r in TYPES),
    *(case(f"cvt.pack.sat.{s}16.s32", "u32 = s32 s32", packed(16, s == "s")) for s in "us"),
    *(
        case(f"cvt.pack.sat.{s}{n}.s32.b32", "u32 = s32 s32 u32", packed(n, s == "s"))
        for s in "us"
        for n in (8, 4, 2)
    ),
]
