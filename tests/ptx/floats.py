"""PTX ISA, "Floating-Point Instructions": f32 and f64, every rounding, .ftz and .sat."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import get_args

from tests.ptx.case import FORMATS, Case, Oracle, case
from tests.ptx.soft import (
    F32,
    F64,
    Format,
    Real,
    Rounding,
    add,
    divide,
    flushed,
    multiply,
    negated,
    of_bits,
    root,
    to_bits,
)

MODES: tuple[Rounding, ...] = get_args(Rounding)
RELATIONS: dict[str, Callable[[Real, Real], bool]] = {
    "eq": lambda a, b: _order(a, b) == 0,
    "ne": lambda a, b: _order(a, b) in (-1, 1),
    "lt": lambda a, b: _order(a, b) == -1,
    "le": lambda a, b: _order(a, b) in (-1, 0),
    "gt": lambda a, b: _order(a, b) == 1,
    "ge": lambda a, b: _order(a, b) in (0, 1),
}
STORE = "selp.u32 %d, 1, 0, %q0;"


def _order(a: Real, b: Real) -> int | None:
    """-1, 0, 1; None when they cannot be compared."""
    if "nan" in (a.kind, b.kind):
        return None
    x, y = (
        math.copysign(math.inf, -r.negative or 1) if r.kind == "inf" else r.value for r in (a, b)
    )
    return (x > y) - (x < y)


def _comparison(test: Callable[[Real, Real], bool]) -> Callable[[Real, Real], bool]:
    return lambda a, b: _order(a, b) is None or test(a, b)


COMPARISONS: dict[str, Callable[[Real, Real], bool]] = {
    **RELATIONS,
    **{f"{name}u": _comparison(test) for name, test in RELATIONS.items()},
    "num": lambda a, b: _order(a, b) is not None,
    "nan": lambda a, b: _order(a, b) is None,
}
"""The relations, the same or unordered (.ltu, ...), and whether both are numbers."""


def fma(a: Real, b: Real, c: Real, mode: Rounding) -> Real:
    return add(multiply(a, b), c, mode)


def least(a: Real, b: Real, nan: bool = False, most: bool = False) -> Real:
    """min and max: NaN only if both are, or with .NaN if one is; -0 is below +0."""
    if "nan" in (a.kind, b.kind):
        return Real("nan") if nan or a.kind == b.kind else b if a.kind == "nan" else a
    order = _order(a, b)
    if order == 0:
        return a if a.negative != most else b
    return a if (order == -1) != most else b


def _rounded(t: str) -> list[Case]:
    f, two, three = FORMATS[t], f"{t} = {t} {t}", f"{t} = {t} {t} {t}"
    out = []
    for m in MODES:

        def on(op: Callable[..., Real], m: Rounding = m) -> Callable[..., int]:
            return lambda *bits: to_bits(op(*(of_bits(b, f) for b in bits)), f, m)

        out += [
            case(f"add.{m}.{t}", two, on(lambda a, b, m=m: add(a, b, m))),
            case(f"sub.{m}.{t}", two, on(lambda a, b, m=m: add(a, negated(b), m))),
            case(f"mul.{m}.{t}", two, on(multiply)),
            case(f"fma.{m}.{t}", three, on(lambda a, b, c, m=m: fma(a, b, c, m))),
            case(f"mad.{m}.{t}", three, on(lambda a, b, c, m=m: fma(a, b, c, m))),
            case(f"div.{m}.{t}", two, on(divide)),
            case(
                f"rcp.{m}.{t}",
                f"{t} = {t}",
                on(lambda a: divide(of_bits(f.bias << f.fraction, f), a)),
            ),
            case(f"sqrt.{m}.{t}", f"{t} = {t}", on(root)),
        ]
    return out


def _modified() -> list[Case]:
    two, three = "f32 = f32 f32", "f32 = f32 f32 f32"

    def on(op: Callable[..., Real], **how: bool) -> Oracle:
        def oracle(*bits: int) -> int | None:
            held = [of_bits(b, F32) for b in bits]
            exact = op(*(flushed(r, F32) if how.get("ftz") else r for r in held))
            return to_bits(exact, F32, ftz=bool(how.get("ftz")), sat=bool(how.get("sat")))

        return oracle

    out = []
    for suffix, how in (
        (".ftz", {"ftz": True}),
        (".sat", {"sat": True}),
        (".ftz.sat", {"ftz": True, "sat": True}),
    ):
        out += [
            case(f"add{suffix}.f32", two, on(add, **how)),
            case(f"sub{suffix}.f32", two, on(lambda a, b: add(a, negated(b)), **how)),
            case(f"mul{suffix}.f32", two, on(multiply, **how)),
            case(f"fma.rn{suffix}.f32", three, on(lambda a, b, c: fma(a, b, c, "rn"), **how)),
        ]
    out += [
        case("div.rn.ftz.f32", two, on(divide, ftz=True)),
        case("sqrt.rn.ftz.f32", "f32 = f32", on(root, ftz=True)),
        case("min.ftz.f32", two, on(least, ftz=True)),
        case("min.ftz.NaN.f32", two, on(lambda a, b: least(a, b, nan=True), ftz=True)),
        case("max.ftz.NaN.f32", two, on(lambda a, b: least(a, b, True, True), ftz=True)),
        case("max.ftz.f32", two, on(lambda a, b: least(a, b, most=True), ftz=True)),
        case("abs.ftz.f32", "f32 = f32", on(lambda a: Real(a.kind, False, abs(a.value)), ftz=True)),
        case("neg.ftz.f32", "f32 = f32", on(negated, ftz=True)),
    ]
    for name, test in COMPARISONS.items():
        out.append(
            case(
                f"setp.{name}.ftz.f32 %q0, %a, %b; {STORE}",
                "pred = f32 f32",
                lambda a, b, test=test: int(
                    test(flushed(of_bits(a, F32), F32), flushed(of_bits(b, F32), F32))
                ),
            )
        )
    return out


def _chosen(t: str, f: Format) -> list[Case]:
    two, sign = f"{t} = {t} {t}", 1 << (f.bits - 1)

    def pick(nan: bool, most: bool) -> Callable[[int, int], int]:
        return lambda a, b: to_bits(least(of_bits(a, f), of_bits(b, f), nan, most), f)

    out = [case(f"min.{t}", two, pick(False, False)), case(f"max.{t}", two, pick(False, True))]
    if t == "f32":
        out += [
            case("min.NaN.f32", two, pick(True, False)),
            case("max.NaN.f32", two, pick(True, True)),
        ]
    out += [
        case(f"abs.{t}", f"{t} = {t}", lambda a: a & ~sign),
        case(f"neg.{t}", f"{t} = {t}", lambda a: a ^ sign),
        case(f"copysign.{t}", two, lambda a, b: (a & sign) | (b & ~sign)),
        case(
            f"slct.{t}.f32",
            f"{t} = {t} {t} f32",
            lambda a, b, c: b if _order(of_bits(c, F32), Real("finite")) in (-1, None) else a,
        ),
        case(f"mov.{t}", f"{t} = {t}", lambda a: a),
    ]
    for name, test in _CLASSES.items():
        text = f"testp.{name}.{t} %q0, %a; {STORE}"
        out.append(case(text, f"pred = {t}", lambda a, test=test: int(test(of_bits(a, f), f))))
    return out


def _subnormal(a: Real, f: Format) -> bool:
    return a.kind == "finite" and a.value != 0 and abs(a.value) < Fraction(2) ** (1 - f.bias)


_CLASSES: dict[str, Callable[[Real, Format], bool]] = {
    "finite": lambda a, f: a.kind == "finite",
    "infinite": lambda a, f: a.kind == "inf",
    "number": lambda a, f: a.kind != "nan",
    "notanumber": lambda a, f: a.kind == "nan",
    "normal": lambda a, f: a.kind == "finite" and not _subnormal(a, f),  # zeros: read on a GPU
    "subnormal": _subnormal,
}


def _comparisons(t: str, f: Format) -> list[Case]:
    out = []
    for name, test in COMPARISONS.items():
        text = f"setp.{name}.{t} %q0, %a, %b; {STORE}"
        oracle = lambda a, b, test=test: int(test(of_bits(a, f), of_bits(b, f)))  # noqa: E731
        out.append(case(text, f"pred = {t} {t}", oracle))
    return out


def _approximate(name: str, f: Callable[[float], float], within: float, most: float = 64.0) -> Case:
    """Compared where the operand's size is moderate: at most `most`."""

    def oracle(bits: int) -> int | None:
        x = of_bits(bits, F32)
        if x.kind != "finite" or not 2**-20 <= abs(x.value) <= most:
            return None
        try:
            return to_bits(Real("finite", f(float(x.value)) < 0, Fraction(f(float(x.value)))), F32)
        except (ValueError, OverflowError):
            return None

    return case(name, "f32 = f32", oracle, within=within)


CASES: list[Case] = [
    *_rounded("f32"),
    *_rounded("f64"),
    *_modified(),
    *_chosen("f32", F32),
    *_chosen("f64", F64),
    *_comparisons("f32", F32),
    *_comparisons("f64", F64),
    _approximate("ex2.approx.f32", lambda x: 2.0**x, 2**-21),
    _approximate("lg2.approx.f32", math.log2, 2**-20),
    _approximate("sin.approx.f32", math.sin, 2**-20, math.pi),
    _approximate("cos.approx.f32", math.cos, 2**-20, math.pi),
    _approximate("tanh.approx.f32", math.tanh, 2**-10),
    _approximate("rsqrt.approx.f32", lambda x: 1 / math.sqrt(x), 2**-21),
    _approximate("sqrt.approx.f32", math.sqrt, 2**-21),
    _approximate("rcp.approx.f32", lambda x: 1 / x, 2**-22),
]
