"""PTX ISA, "Half Precision Floating-Point Instructions": f16, bf16 and their pairs."""

from __future__ import annotations

from collections.abc import Callable

from tests.ptx.case import FORMATS, Case, case
from tests.ptx.floats import COMPARISONS, STORE, fma, least
from tests.ptx.soft import Real, add, multiply, negated, of_bits, to_bits


def _positive(a: Real) -> Real:
    return a if a.kind == "nan" or not a.negative else Real("finite")


OPERATIONS: dict[str, Callable[..., Real]] = {
    "add": add,
    "sub": lambda a, b: add(a, negated(b)),
    "mul": multiply,
    "min": least,
    "max": lambda a, b: least(a, b, most=True),
    "min.NaN": lambda a, b: least(a, b, nan=True),
    "max.NaN": lambda a, b: least(a, b, nan=True, most=True),
    "fma.rn": lambda a, b, c: fma(a, b, c, "rn"),
    "fma.rn.relu": lambda a, b, c: _positive(fma(a, b, c, "rn")),
    "neg": negated,
    "abs": lambda a: Real(a.kind, False, abs(a.value)),
}


def _cases(t: str) -> list[Case]:
    f, out = FORMATS[t], []
    for name, op in OPERATIONS.items():
        count = 3 if name.startswith("fma") else 1 if name in ("neg", "abs") else 2

        def one(*bits: int, op: Callable[..., Real] = op) -> int:
            return to_bits(op(*(of_bits(b, f) for b in bits)), f)

        def pair(*bits: int, one: Callable[..., int] = one) -> int:
            return one(*(b >> 16 for b in bits)) << 16 | one(*(b & 0xFFFF for b in bits))

        out.append(case(f"{name}.{t}", f"{t} = {' '.join([t] * count)}", one))
        out.append(case(f"{name}.{t}x2", f"{t}x2 = {' '.join([f'{t}x2'] * count)}", pair))
    for name, test in COMPARISONS.items():
        out.append(
            case(
                f"setp.{name}.{t} %q0, %a, %b; {STORE}",
                f"pred = {t} {t}",
                lambda a, b, test=test: int(test(of_bits(a, f), of_bits(b, f))),
            )
        )
        text = f"setp.{name}.{t}x2 %q0|%q1, %a, %b; selp.u32 %d, 1, 0, %q0; @%q1 add.u32 %d, %d, 2;"
        out.append(
            case(
                text,
                f"pred = {t}x2 {t}x2",
                lambda a, b, test=test: (
                    test(of_bits(a & 0xFFFF, f), of_bits(b & 0xFFFF, f))
                    + 2 * test(of_bits(a >> 16, f), of_bits(b >> 16, f))
                ),
            )
        )
    return out


CASES: list[Case] = [c for t in ("f16", "bf16") for c in _cases(t)]
