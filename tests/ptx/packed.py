"""PTX ISA: modifiers of half precision, set, bytes in moves, and what works on parts of a word."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from tests.ptx.case import FORMATS, Case, Oracle, case
from tests.ptx.floats import COMPARISONS, least
from tests.ptx.halves import OPERATIONS
from tests.ptx.soft import finite, flushed, of_bits, to_bits

ONES = {"f16": 0x3C00, "bf16": 0x3F80, "u16": 0xFFFF, "s16": -1, "u32": -1, "s32": -1}


def by_halves(one: Callable[..., int | None]) -> Oracle:
    """An operation on 16 bits, on both halves of words."""

    def pair(*words: int) -> int | None:
        high, low = one(*(w >> 16 for w in words)), one(*(w & 0xFFFF for w in words))
        return None if high is None or low is None else (high & 0xFFFF) << 16 | low & 0xFFFF

    return pair


def both(name: str, t: str, count: int, one: Callable[..., int | None]) -> list[Case]:
    """The cases of an operation on a half, and on a pair of them."""
    return [
        case(f"{name}.{t}", f"{t} = {' '.join([t] * count)}", one),
        case(f"{name}.{t}x2", f"{t}x2 = {' '.join([f'{t}x2'] * count)}", by_halves(one)),
    ]


def _modified(name: str, ftz: bool, sat: bool) -> list[Case]:
    f, op = FORMATS["f16"], OPERATIONS[name]
    count = 3 if name.startswith("fma") else 1 if name in ("neg", "abs") else 2

    def one(*bits: int) -> int | None:
        held = [of_bits(b, f) for b in bits]
        exact = op(*(flushed(r, f) if ftz else r for r in held))
        return to_bits(exact, f, ftz=ftz, sat=sat)

    head, _, rest = name.partition(".NaN")
    text = f"{head}{'.ftz' * ftz}{'.NaN' * (rest != '' or name.endswith('NaN'))}{'.sat' * sat}"
    if name == "fma.rn.relu":
        text = "fma.rn.ftz.relu"
    return both(text, "f16", count, one)


def _sets(t: str) -> list[Case]:
    f, out = FORMATS[t], []
    for name, test in COMPARISONS.items():
        kinds = (t, "u16", "s16", "u32", "s32") if name in ("lt", "neu") else (t, "u32")
        for to in kinds:

            def one(a: int, b: int, to: str = to, test: Callable[..., bool] = test) -> int:
                return ONES[to] * test(of_bits(a, f), of_bits(b, f))

            out.append(case(f"set.{name}.{to}.{t}", f"{to} = {t} {t}", one))
            if to[1:] != "16":
                packed = f"{t}x2" if to == t else to
                kinds_of = f"{packed} = {t}x2 {t}x2"
                out.append(case(f"set.{name}.{packed}.{t}x2", kinds_of, by_halves(one)))
    return out


def _sets_of_others(t: str) -> list[Case]:
    """Into halves, of other types; with .ftz and a predicate."""
    one = ONES[t]
    out = [
        case(f"set.lt.{t}.{kind}", f"{t} = {kind} {kind}", lambda a, b: one * (a < b))
        for kind in ("u16", "s16", "u32", "s32", "u64", "s64")
    ]
    for kind in ("f32", "f64"):
        g, geu = FORMATS[kind], COMPARISONS["geu"]
        out.append(
            case(
                f"set.geu.{t}.{kind}",
                f"{t} = {kind} {kind}",
                lambda a, b, g=g, geu=geu: one * geu(of_bits(a, g), of_bits(b, g)),
            )
        )
    f, lt = FORMATS[t], COMPARISONS["lt"]

    def less(a: int, b: int) -> int:
        return one * lt(of_bits(a, f), of_bits(b, f))

    text = f"setp.lt.s32 %q1, %c, 0; set.lt.and.{t}x2.{t}x2 %d, %a, %b, !%q1;"
    pair = by_halves(less)
    kinds = f"{t}x2 = {t}x2 {t}x2 s32"
    return [*out, case(text, kinds, lambda a, b, c: 0 if c < 0 else pair(a, b))]


def _flushed_sets() -> list[Case]:
    f, out = FORMATS["f16"], []
    for name in ("eq", "gt", "leu"):
        test = COMPARISONS[name]

        def one(a: int, b: int, test: Callable[..., bool] = test) -> int:
            return ONES["f16"] * test(flushed(of_bits(a, f), f), flushed(of_bits(b, f), f))

        text = f"setp.{name}.ftz.f16 %q0, %a, %b; selp.b16 %d, 0x3C00, 0, %q0;"
        out += [case(text, "f16 = f16 f16", one)]
        out += [case(f"set.{name}.ftz.f16.f16", "f16 = f16 f16", one)]
        out += [case(f"set.{name}.ftz.f16x2.f16x2", "f16x2 = f16x2 f16x2", by_halves(one))]
    return out


def _near(name: str, t: str, f: Callable[[float], float], within: float) -> list[Case]:
    """An approximation, of halves of a moderate size."""
    form = FORMATS[t]

    def one(bits: int) -> int | None:
        x = of_bits(bits, form)
        if x.kind != "finite" or abs(x.value) > 14:
            return None
        return to_bits(finite(Fraction(f(float(x.value))), x.negative), form)

    return [replace(c, within=within) for c in both(name, t, 1, one)]


def _bytes() -> list[Case]:
    swap = "{ .reg .b8 %x<2>; mov.b16 {%x0, %x1}, %a; mov.b16 %d, {%x1, %x0}; }"
    four = "%x0, %x1, %x2, %x3"
    turn = f"{{ .reg .b8 %x<4>; mov.b32 {{{four}}}, %a; mov.b32 %d, {{%x3, %x2, %x1, %x0}}; }}"
    return [
        case(swap, "b16 = b16", lambda a: a >> 8 | (a & 255) << 8),
        case(turn, "b32 = b32", lambda a: int.from_bytes(a.to_bytes(4, "little"), "big")),
    ]


def _halves() -> list[Case]:
    return [
        *(
            c
            for name in ("add", "sub", "mul", "fma.rn")
            for how in ((False, True), (True, False), (True, True))
            for c in _modified(name, *how)
        ),
        *(
            c
            for name in ("min", "max", "min.NaN", "max.NaN", "neg", "abs", "fma.rn.relu")
            for c in _modified(name, True, False)
        ),
        *(c for t in ("f16", "bf16") for c in (*_sets(t), *_sets_of_others(t))),
        *_flushed_sets(),
        *_near("ex2.approx", "f16", lambda x: 2.0**x, 2**-9),
        *_near("ex2.approx.ftz", "bf16", lambda x: 2.0**x, 2**-7),
        *(c for t in ("f16", "bf16") for c in _near("tanh.approx", t, math.tanh, 2**-7)),
        *_bytes(),
    ]


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


def _pairs() -> list[Case]:
    """Integers of 16 bits in words, and the clamp at 0; modifiers stand before or after a type."""

    def on_signed(op: Callable[[int, int], int], least: int = -(1 << 15)) -> Oracle:
        return by_halves(lambda a, b: max(op(signed(a, 16), signed(b, 16)), least))

    two = "b32 = b32 b32"
    out = [case(f"add.{t}16x2", two, by_halves(lambda a, b: a + b)) for t in "us"]
    for name, op in (("min", min), ("max", max)):
        out += [
            case(f"{name}.u16x2", two, by_halves(op)),
            case(f"{name}.s16x2", two, on_signed(op)),
            case(f"{name}.s16x2.relu", two, on_signed(op, 0)),
            case(f"{name}.relu.s16x2", two, on_signed(op, 0)),
            case(f"{name}.s32.relu", "s32 = s32 s32", lambda a, b, op=op: max(op(a, b), 0)),
        ]
    return out


VIDEO: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "avrg": lambda x, y: (x + y + 1) >> 1 if x + y >= 0 else (x + y) >> 1,
    "absdiff": lambda x, y: abs(x - y),
    "min": min,
    "max": max,
}


def _video(name: str, count: int, types: str, modifier: str = "") -> Case:
    bits, op = 32 // count, VIDEO[name]
    low, top = (-(1 << bits - 1), (1 << bits - 1) - 1) if types[0] == "s" else (0, (1 << bits) - 1)

    def elements(x: int, kind: str) -> list[int]:
        out = [x >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
        return [signed(v, bits) for v in out] if kind == "s" else out

    def oracle(a: int, b: int, c: int) -> int:
        xs, ys = elements(a, types[1]), elements(b, types[2])
        results = [op(x, y) for x, y in zip(xs, ys, strict=True)]
        if modifier == ".add":
            return c + sum(results)
        if modifier == ".sat":
            results = [max(low, min(top, r)) for r in results]
        return sum((r & ((1 << bits) - 1)) << bits * k for k, r in enumerate(results))

    kinds = ".".join(f"{t}32" for t in types)
    return case(f"v{name}{count}.{kinds}{modifier}", "b32 = b32 b32 b32", oracle)


def _videos() -> list[Case]:
    out = []
    for count in (2, 4):
        out += [_video("absdiff", count, f"u{t}{t}", ".add") for t in "us"]
        for name in VIDEO:
            out += [_video(name, count, types) for types in ("uuu", "sss", "usu")]
            out += [_video(name, count, types, ".sat") for types in ("uuu", "sss", "sus")]
    return out


def _signs() -> list[Case]:
    """min and max with .xorsign.abs: of the absolute values, with the sign of the product."""

    def chosen(t: str, most: bool, nan: bool, ftz: bool) -> Callable[[int, int], int]:
        f = FORMATS[t]
        sign = 1 << (f.bits - 1)

        def one(a: int, b: int) -> int:
            sizes = [of_bits(x & ~sign, f) for x in (a, b)]
            x, y = (flushed(s, f) if ftz else s for s in sizes)
            r = least(x, y, nan, most)
            return f.nan if r.kind == "nan" else to_bits(r, f) | (a ^ b) & sign

        return one

    out = []
    for name, most in (("min", False), ("max", True)):
        for nan in (False, True):
            middle = f"{'.NaN' * nan}.xorsign.abs"
            for ftz in (False, True):
                one = chosen("f32", most, nan, ftz)
                out += [case(f"{name}{'.ftz' * ftz}{middle}.f32", "f32 = f32 f32", one)]
                one = chosen("f16", most, nan, ftz)
                out += both(f"{name}{'.ftz' * ftz}{middle}", "f16", 2, one)
            out += both(f"{name}{middle}", "bf16", 2, chosen("bf16", most, nan, False))
    return out


CASES: list[Case] = [*_halves(), *_pairs(), *_videos(), *_signs()]
