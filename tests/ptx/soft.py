"""IEEE 754 in exact arithmetic: what the float instructions are measured against.

A number is a Fraction with a sign bit of its own (for zeros), an infinity, or a NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Rounding = Literal["rn", "rz", "rm", "rp"]


@dataclass(frozen=True)
class Format:
    """A binary interchange format: bits of exponent and of fraction."""

    exponent: int
    fraction: int

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def nan(self) -> int:
        return (1 << (self.bits - 1)) - 1


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)


@dataclass(frozen=True)
class Real:
    """`kind` is finite, inf or nan; `negative` matters for zeros and infinities too."""

    kind: Literal["finite", "inf", "nan"]
    negative: bool = False
    value: Fraction = Fraction(0)


NAN = Real("nan")


def of_bits(bits: int, f: Format) -> Real:
    """The number that an encoding stands for."""
    negative = bool(bits >> (f.bits - 1))
    exponent = bits >> f.fraction & ((1 << f.exponent) - 1)
    fraction = bits & ((1 << f.fraction) - 1)
    if exponent == (1 << f.exponent) - 1:
        return NAN if fraction else Real("inf", negative)
    whole = fraction | ((1 << f.fraction) if exponent else 0)
    power = max(exponent, 1) - f.bias - f.fraction
    value = Fraction(whole) * Fraction(2) ** power
    return Real("finite", negative, -value if negative else value)


def finite(value: Fraction, negative_zero: bool = False) -> Real:
    """A finite number; `negative_zero` is the sign when it is 0."""
    return Real("finite", value < 0 or (value == 0 and negative_zero), value)


def to_bits(
    x: Real, f: Format, mode: Rounding = "rn", *, ftz: bool = False, sat: bool = False
) -> int:
    """The encoding after one rounding; .sat clamps to [0, 1] with NaN as 0.

    .ftz flushes what rounds to below the smallest normal one with an exponent of any size, as
    read on an H200; the manual does not say what becomes of a result that rounds up to it.
    """
    if sat:
        x = _saturated(x)
    sign = int(x.negative) << (f.bits - 1)
    infinity = ((1 << f.exponent) - 1) << f.fraction
    if x.kind == "nan":
        return f.nan
    if x.kind == "inf":
        return sign | infinity
    size = abs(x.value)
    if size == 0:
        return sign
    exponent = _floor_log2(size)
    fine = Fraction(2) ** (exponent - f.fraction)
    if ftz and _rounded(size / fine, mode, x.negative) * fine < Fraction(2) ** (1 - f.bias):
        return sign
    power = max(exponent, 1 - f.bias) - f.fraction
    scaled = size / Fraction(2) ** power
    whole = _rounded(scaled, mode, x.negative)
    if whole >> (f.fraction + 1):
        whole, power = whole >> 1, power + 1
    biased = power + f.fraction + f.bias
    if biased >= (1 << f.exponent) - 1:
        away = mode == "rn" or mode == ("rm" if x.negative else "rp")
        return sign | (infinity if away else infinity - 1)
    if whole >> f.fraction == 0:
        return sign | whole
    return sign | biased << f.fraction | (whole & ((1 << f.fraction) - 1))


def flushed(x: Real, f: Format) -> Real:
    """A subnormal operand as the zero that .ftz takes it for."""
    tiny = x.kind == "finite" and abs(x.value) < Fraction(2) ** (1 - f.bias)
    return finite(Fraction(0), x.negative) if tiny else x


def add(a: Real, b: Real, mode: Rounding = "rn") -> Real:
    if "nan" in (a.kind, b.kind):
        return NAN
    if a.kind == "inf" or b.kind == "inf":
        if a.kind == b.kind and a.negative != b.negative:
            return NAN
        return a if a.kind == "inf" else b
    total = a.value + b.value
    if total == 0 and a.negative == b.negative:
        return finite(total, a.negative)
    return finite(total, mode == "rm")


def negated(a: Real) -> Real:
    return a if a.kind == "nan" else Real(a.kind, not a.negative, -a.value)


def multiply(a: Real, b: Real) -> Real:
    negative = a.negative != b.negative
    if "nan" in (a.kind, b.kind):
        return NAN
    if "inf" in (a.kind, b.kind):
        zero = any(x.kind == "finite" and x.value == 0 for x in (a, b))
        return NAN if zero else Real("inf", negative)
    return finite(a.value * b.value, negative)


def divide(a: Real, b: Real) -> Real:
    negative = a.negative != b.negative
    if "nan" in (a.kind, b.kind) or a.kind == b.kind == "inf":
        return NAN
    if b.kind == "inf":
        return finite(Fraction(0), negative)
    if b.value == 0:
        zero = a.kind == "finite" and a.value == 0
        return NAN if zero else Real("inf", negative)
    return Real("inf", negative) if a.kind == "inf" else finite(a.value / b.value, negative)


def root(a: Real) -> Real:
    """The square root to far more bits than any format has, inexact ones never on a tie."""
    if a.kind == "nan" or (a.negative and a.value != 0) or (a.kind == "inf" and a.negative):
        return NAN
    if a.kind == "inf" or a.value == 0:
        return a
    scale = 1 << 1400
    square = a.value * scale * scale
    whole = math.isqrt(square.numerator // square.denominator)
    exact = Fraction(whole, scale)
    return finite(exact if exact * exact == a.value else exact + Fraction(1, 4 * scale))


def _saturated(x: Real) -> Real:
    if x.kind == "nan" or x.negative or (x.kind == "finite" and x.value == 0):
        return finite(Fraction(0))
    return finite(Fraction(1)) if x.kind == "inf" or x.value > 1 else x


def _floor_log2(x: Fraction) -> int:
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def _rounded(x: Fraction, mode: Rounding, negative: bool) -> int:
    whole = x.numerator // x.denominator
    rest = x - whole
    if mode == "rn":
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1 == 1)
    else:
        up = rest > 0 and mode == ("rm" if negative else "rp")
    return whole + up
