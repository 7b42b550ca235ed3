"""PTX ISA, "Data Movement and Conversion Instructions": cvt between all types."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import get_args

from tests.ptx.case import FORMATS, Case, case, size
from tests.ptx.integer import clamp
from tests.ptx.soft import Rounding, finite, of_bits, to_bits

MODES: tuple[Rounding, ...] = get_args(Rounding)
INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = ("f16", "f32", "f64")


def integral(x: Fraction, mode: str) -> int:
    """.rni, .rzi, .rmi, .rpi."""
    if mode == "rni":
        return round(x)
    floor = x.numerator // x.denominator
    exact = x.denominator == 1
    if mode == "rmi" or exact:
        return floor
    return floor + 1 if mode == "rpi" or x < 0 else floor


def float_to_int(source: str, to: str, mode: str) -> Callable[[int], int]:
    def oracle(bits: int) -> int:
        x, width = of_bits(bits, FORMATS[source]), 8 * size(to)
        if x.kind == "nan":
            return 1 << (width - 1) if source == "f64" or width == 64 else 0
        if x.kind == "inf":
            return clamp(-(1 << 70) if x.negative else 1 << 70, to)
        return clamp(integral(x.value, mode), to)

    return oracle


def float_to_float(
    source: str, to: str, mode: Rounding, *, sat: bool = False
) -> Callable[[int], int]:
    return lambda bits: to_bits(of_bits(bits, FORMATS[source]), FORMATS[to], mode, sat=sat)


def to_whole(source: str, mode: str) -> Callable[[int], int]:
    f = FORMATS[source]

    def oracle(bits: int) -> int:
        x = of_bits(bits, f)
        if x.kind != "finite":
            return to_bits(x, f)
        return to_bits(finite(Fraction(integral(x.value, mode)), x.negative), f)

    return oracle


def pair(t: str, mode: Rounding) -> Callable[[int, int], int]:
    one = float_to_float("f32", t, mode)
    return lambda a, b: one(a) << 16 | one(b)


CASES: list[Case] = [
    *(
        case(f"cvt.{to}.{s}", f"{to} = {s}", lambda a: a)
        for s in INTEGERS
        for to in INTEGERS
        if to != s
    ),
    *(
        case(f"cvt.sat.{to}.{s}", f"{to} = {s}", lambda a, to=to: clamp(a, to))
        for s in INTEGERS
        for to in INTEGERS
        if to != s
    ),
    *(
        case(
            f"cvt.{m}.{to}.{s}",
            f"{to} = {s}",
            lambda a, to=to, m=m: to_bits(finite(Fraction(a)), FORMATS[to], m),
        )
        for s in INTEGERS
        for to in FLOATS
        for m in (MODES if size(s) >= 4 else MODES[:1])
    ),
    *(
        case(f"cvt.{m}.{to}.{s}", f"{to} = {s}", float_to_int(s, to, m))
        for s in FLOATS
        for to in INTEGERS
        for m in ("rni", "rzi", "rmi", "rpi")
    ),
    *(
        case(f"cvt.{m}.{s}.{s}", f"{s} = {s}", to_whole(s, m))
        for s in ("f32", "f64")
        for m in ("rni", "rzi", "rmi", "rpi")
    ),
    *(case(f"cvt.{m}.f32.f64", "f32 = f64", float_to_float("f64", "f32", m)) for m in MODES),
    *(case(f"cvt.{m}.f16.f32", "f16 = f32", float_to_float("f32", "f16", m)) for m in MODES),
    *(case(f"cvt.{m}.f16.f64", "f16 = f64", float_to_float("f64", "f16", m)) for m in MODES),
    *(
        case(f"cvt.{m}.bf16.f32", "bf16 = f32", float_to_float("f32", "bf16", m))
        for m in ("rn", "rz")
    ),
    *(
        case(f"cvt.{to}.{s}", f"{to} = {s}", float_to_float(s, to, "rn"))
        for s, to in (("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64"))
    ),
    *(
        case(f"cvt.{m}.{t}x2.f32", f"{t}x2 = f32 f32", pair(t, m))
        for t in ("f16", "bf16")
        for m in ("rn", "rz")
    ),
    case("cvt.sat.f32.f32", "f32 = f32", float_to_float("f32", "f32", "rn", sat=True)),
    case("cvt.rn.sat.f32.f64", "f32 = f64", float_to_float("f64", "f32", "rn", sat=True)),
]
