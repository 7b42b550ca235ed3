"""PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic"."""

from __future__ import annotations

from collections.abc import Callable

from tests.ptx.case import Case, case

SIGNED = ("s16", "s32", "s64")
TYPES = ("u16", "u32", "u64", *SIGNED)


def bits_of(kind: str) -> int:
    return int(kind[1:])


def clamp(x: int, kind: str) -> int:
    bits = bits_of(kind)
    low, top = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return max(low, min(top, x))


def quotient(a: int, b: int) -> int | None:
    """Towards zero; PTX leaves division by zero open."""
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int | None:
    q = quotient(a, b)
    return None if q is None else a - b * q


def low24(x: int, kind: str) -> int:
    x &= 0xFFFFFF
    return x - (1 << 24) if kind[0] == "s" and x >> 23 else x


def bfind(a: int, kind: str, shift: bool = False) -> int:
    x = ~a if a < 0 else a
    at = x.bit_length() - 1
    return -1 if at < 0 else bits_of(kind) - 1 - at if shift else at


def field(b: int, c: int, bits: int) -> tuple[int, int]:
    """Position and length: a GPU takes the low 8 bits of 32-bit forms', all of 64-bit forms'."""
    return (b & 255, c & 255) if bits == 32 else (b, min(c, 255))


def bfe(a: int, b: int, c: int, kind: str) -> int:
    """The manual's loop: bits past the field are the sign's, for .s types."""
    bits = bits_of(kind)
    pos, length = field(b, c, bits)
    raw = a & ((1 << bits) - 1)
    signed = kind[0] == "s" and length
    sign = raw >> min(pos + length - 1, bits - 1) & 1 if signed else 0
    inside = [raw >> k & 1 if k < bits else sign for k in range(pos, pos + min(length, bits))]
    out = sum(
        (inside[k] if k < length and pos + k < bits else sign) << k
        for k in range(bits)
        if k < len(inside) or sign
    )
    return out


def bfi(a: int, b: int, c: int, d: int, bits: int) -> int:
    out = b
    pos, length = field(c, d, bits)
    for k in range(length):
        if pos + k < bits:
            at = pos + k
            out = out & ~(1 << at) | (a >> k & 1) << at
    return out


def reverse(a: int, bits: int) -> int:
    return int(format(a, f"0{bits}b")[::-1], 2)


def fns(mask: int, base: int, offset: int) -> int | None:
    """The manual leaves a base past bit 31 open."""
    if base > 31:
        return None
    if offset == 0:
        return base if mask >> base & 1 else -1
    span = range(base, 32) if offset > 0 else range(base, -1, -1)
    bits = [k for k in span if mask >> k & 1]
    return bits[abs(offset) - 1] if abs(offset) <= len(bits) else -1


def bmsk(a: int, b: int, wrap: bool) -> int:
    a, b = (a & 31, b & 31) if wrap else (min(a, 32), min(b, 32))
    return ((1 << b) - 1) << a


def szext(a: int, b: int, kind: str, wrap: bool) -> int:
    n = b & 31 if wrap else min(b, 32)
    low = a & ((1 << n) - 1)
    return low - (1 << n) if kind[0] == "s" and n and low >> (n - 1) else low


def parts(x: int, bits: int, signed: bool) -> list[int]:
    out = [x >> k & ((1 << bits) - 1) for k in range(0, 32, bits)]
    return [p - (1 << bits) if signed and p >> (bits - 1) else p for p in out]


def dp4a(a: int, b: int, c: int, ta: str, tb: str) -> int:
    left, right = parts(a, 8, ta == "s32"), parts(b, 8, tb == "s32")
    return c + sum(x * y for x, y in zip(left, right, strict=True))


def dp2a(a: int, b: int, c: int, ta: str, tb: str, high: bool) -> int:
    right = parts(b, 8, tb == "s32")[2 * high :][:2]
    return c + sum(x * y for x, y in zip(parts(a, 16, ta == "s32"), right, strict=True))


def _wide(kind: str) -> str:
    return f"{kind[0]}{2 * bits_of(kind)}"


def _arithmetic(t: str) -> list[Case]:
    two, three, n = f"{t} = {t} {t}", f"{t} = {t} {t} {t}", bits_of(t)
    plain: dict[str, Callable[[int, int], int | None]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul.lo": lambda a, b: a * b,
        "mul.hi": lambda a, b: a * b >> n,
        "div": quotient,
        "rem": remainder,
        "min": min,
        "max": max,
    }
    out = [case(f"{op}.{t}", two, f) for op, f in plain.items()]
    out += [
        case(f"mad.lo.{t}", three, lambda a, b, c: a * b + c),
        case(f"mad.hi.{t}", three, lambda a, b, c: (a * b >> n) + c),
        case(f"sad.{t}", three, lambda a, b, c: c + abs(a - b)),
    ]
    if n < 64:
        w = _wide(t)
        out += [case(f"mul.wide.{t}", f"{w} = {t} {t}", lambda a, b: a * b)]
        out += [case(f"mad.wide.{t}", f"{w} = {t} {t} {w}", lambda a, b, c: a * b + c)]
    if t[0] == "s":
        out += [case(f"abs.{t}", f"{t} = {t}", abs), case(f"neg.{t}", f"{t} = {t}", lambda a: -a)]
    return out


def _fields(t: str) -> list[Case]:
    n = bits_of(t)
    return [
        case(f"bfind.{t}", f"u32 = {t}", lambda a: bfind(a, t)),
        case(f"bfind.shiftamt.{t}", f"u32 = {t}", lambda a: bfind(a, t, True)),
        case(f"bfe.{t}", f"{t} = {t} u32 u32", lambda a, b, c: bfe(a, b, c, t), amounts=True),
        case(
            f"bfi.b{n}",
            f"b{n} = b{n} b{n} u32 u32",
            lambda a, b, c, d: bfi(a, b, c, d, n),
            amounts=True,
        ),
    ]


def _small(t: str) -> list[Case]:
    two, three = f"{t} = {t} {t}", f"{t} = {t} {t} {t}"
    out = [
        case(f"mul24.lo.{t}", two, lambda a, b: low24(a, t) * low24(b, t)),
        case(f"mul24.hi.{t}", two, lambda a, b: low24(a, t) * low24(b, t) >> 16),
        case(f"mad24.lo.{t}", three, lambda a, b, c: low24(a, t) * low24(b, t) + c),
        case(f"mad24.hi.{t}", three, lambda a, b, c: (low24(a, t) * low24(b, t) >> 16) + c),
    ]
    for mode in ("clamp", "wrap"):
        wrap = mode == "wrap"
        out += [
            case(
                f"szext.{mode}.{t}",
                f"{t} = {t} u32",
                lambda a, b, wrap=wrap: szext(a, b, t, wrap),
                amounts=True,
            )
        ]
    for u in ("u32", "s32"):
        c = "s32" if "s32" in (t, u) else "u32"
        kinds = f"{c} = {t} {u} {c}"
        out += [case(f"dp4a.{t}.{u}", kinds, lambda a, b, c, u=u: dp4a(a, b, c, t, u))]
        for high in (0, 1):
            out += [
                case(
                    f"dp2a.{'hi' if high else 'lo'}.{t}.{u}",
                    kinds,
                    lambda a, b, c, u=u, high=high: dp2a(a, b, c, t, u, bool(high)),
                )
            ]
    return out


def _carries(n: int) -> list[Case]:
    """Two words: the low one sets the carry that the high one uses."""
    u, top = f"u{n}", 1 << n
    four = f"{u} = {u} {u} {u} {u}"

    def pair(op: str) -> str:
        low = f"{op}.cc.{u} %d, %a, %b; "
        return low + f"{op}c.{u} %d, %c, %e;"

    return [
        case(pair("add"), four, lambda a, b, c, d: c + d + (a + b >> n)),
        case(pair("sub"), four, lambda a, b, c, d: c - d - (a < b)),
        case(
            f"addc.cc.{u} %d, %a, %b; sub.cc.{u} %d, %a, %b; "
            f"subc.cc.{u} %d, %c, %e; subc.{u} %d, %d, %d;",
            four,
            lambda a, b, c, d: -(c - d - (a < b) < 0),
        ),
        case(
            f"add.cc.{u} %d, %a, %b; addc.cc.{u} %d, %c, %e; addc.{u} %d, 0, 0;",
            four,
            lambda a, b, c, d: c + d + (a + b >> n) >> n,
        ),
        case(
            f"mad.lo.cc.{u} %d, %a, %b, %c; madc.hi.{u} %d, %a, %b, %e;",
            four,
            lambda a, b, c, d: (a * b >> n) + d + ((a * b % top) + c >> n),
        ),
        case(
            f"mad.hi.cc.{u} %d, %a, %b, %c; madc.lo.cc.{u} %d, %a, %b, %e; "
            f"madc.hi.cc.{u} %d, %a, %b, 0; madc.lo.{u} %d, %a, 0, %b;",
            four,
            lambda a, b, c, d: b + _third_carry(a, b, c, d, n),
        ),
    ]


def _third_carry(a: int, b: int, c: int, d: int, n: int) -> int:
    first = (a * b >> n) + c >> n
    second = a * b % (1 << n) + d + first >> n
    return (a * b >> n) + second >> n


CASES: list[Case] = [
    *(c for t in TYPES for c in _arithmetic(t)),
    *(c for t in ("u32", "s32", "u64", "s64") for c in _fields(t)),
    *(c for t in ("u32", "s32") for c in _small(t)),
    *(c for n in (32, 64) for c in _carries(n)),
    case("add.sat.s32", "s32 = s32 s32", lambda a, b: clamp(a + b, "s32")),
    case("sub.sat.s32", "s32 = s32 s32", lambda a, b: clamp(a - b, "s32")),
    case("mad.hi.sat.s32", "s32 = s32 s32 s32", lambda a, b, c: clamp((a * b >> 32) + c, "s32")),
    *(case(f"popc.b{n}", f"u32 = b{n}", int.bit_count) for n in (32, 64)),
    *(case(f"clz.b{n}", f"u32 = b{n}", lambda a, n=n: n - a.bit_length()) for n in (32, 64)),
    *(case(f"brev.b{n}", f"b{n} = b{n}", lambda a, n=n: reverse(a, n)) for n in (32, 64)),
    case("fns.b32", "u32 = u32 u32 s32", fns, amounts=True),
    case("bmsk.clamp.b32", "b32 = u32 u32", lambda a, b: bmsk(a, b, False), amounts=True),
    case("bmsk.wrap.b32", "b32 = u32 u32", lambda a, b: bmsk(a, b, True), amounts=True),
]
