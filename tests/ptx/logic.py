"""PTX ISA, "Logic and Shift Instructions", "Comparison and Selection Instructions", and moves."""

from __future__ import annotations

import operator
from collections.abc import Callable

from tests.ptx.case import Case, case
from tests.ptx.integer import TYPES

BITWISE: dict[str, Callable[[int, int], int]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
STORE = "selp.u32 %d, 1, 0, %q0;"


def lop3(a: int, b: int, c: int, table: int) -> int:
    out = 0
    for k in range(32):
        index = (a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)
        out |= (table >> index & 1) << k
    return out


def prmt(a: int, b: int, selectors: list[int]) -> int:
    data, out = (b << 32 | a).to_bytes(8, "little"), []
    for s in selectors:
        byte = data[s & 7]
        out.append((0xFF if byte & 0x80 else 0) if s & 8 else byte)
    return int.from_bytes(bytes(out), "little")


PRMT: dict[str, Callable[[int], list[int]]] = {
    "": lambda c: [c >> 4 * k & 15 for k in range(4)],
    ".f4e": lambda c: [((c & 3) + k) & 7 for k in range(4)],
    ".b4e": lambda c: [((c & 3) - k) & 7 for k in range(4)],
    ".rc8": lambda c: [c & 3] * 4,
    ".ecl": lambda c: [max(k, c & 3) for k in range(4)],
    ".ecr": lambda c: [min(k, c & 3) for k in range(4)],
    ".rc16": lambda c: [2 * (c & 1) + k % 2 for k in range(4)],
}


def funnel(a: int, b: int, c: int, left: bool, wrap: bool) -> int:
    n = c & 31 if wrap else min(c, 32)
    both = b << 32 | a
    return (both << n >> 32) if left else both >> n


def shifted(a: int, b: int, op: str, bits: int) -> int:
    """Amounts past the width give all sign bits, or zeros."""
    b = min(b, bits)
    return a << b if op == "shl" else a >> b


def _comparisons(t: str) -> list[Case]:
    out = []
    for name, f in COMPARE.items():
        out.append(
            case(
                f"setp.{name}.{t} %q0, %a, %b; {STORE}",
                f"pred = {t} {t}",
                lambda a, b, f=f: f(a, b),
            )
        )
    for boolean, g in BITWISE.items():
        text = f"setp.ne.{t} %q2, %c, 0; setp.lt.{boolean}.{t} %q0|%q1, %a, %b, !%q2; "
        text += "selp.u32 %w0, 1, 0, %q0; selp.u32 %d, 2, 0, %q1; or.b32 %d, %d, %w0;"
        out.append(
            case(
                text,
                f"pred = {t} {t} {t}",
                lambda a, b, c, g=g: g(int(a < b), int(c == 0)) | g(int(a >= b), int(c == 0)) << 1,
            )
        )
    out.append(case(f"set.lt.u32.{t}", f"u32 = {t} {t}", lambda a, b: -(a < b)))
    out.append(case(f"set.ge.f32.{t}", f"f32 = {t} {t}", lambda a, b: 0x3F800000 * (a >= b)))
    if t[0] == "u":
        for unsigned, plain in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
            f = COMPARE[plain]
            text = f"setp.{unsigned}.{t} %q0, %a, %b; {STORE}"
            out.append(case(text, f"pred = {t} {t}", lambda a, b, f=f: f(a, b)))
    return out


def _selections(n: int) -> list[Case]:
    b = f"b{n}"
    return [
        case(
            f"setp.lt.s32 %q0, %c, 0; selp.{b} %d, %a, %b, %q0;",
            f"{b} = {b} {b} s32",
            lambda x, y, c: x if c < 0 else y,
        ),
        case(f"slct.{b}.s32", f"{b} = {b} {b} s32", lambda x, y, c: x if c >= 0 else y),
        case(f"mov.{b}", f"{b} = {b}", lambda x: x),
        case(
            f"setp.eq.u{n} %q0, %a, %b; @!%q0 mov.{b} %a, %b; mov.{b} %d, %a;",
            f"{b} = {b} {b}",
            lambda x, y: y,
        ),
        case(f"not.{b}", f"{b} = {b}", lambda x: ~x),
        case(f"cnot.{b}", f"{b} = {b}", lambda x: x == 0),
        *(case(f"{op}.{b}", f"{b} = {b} {b}", f) for op, f in BITWISE.items()),
        *(
            case(
                f"{op}.{t}{n}",
                f"{t}{n} = {t}{n} u32",
                lambda x, y, op=op: shifted(x, y, op, n),
                amounts=True,
            )
            for op, t in (("shl", "b"), ("shr", "u"), ("shr", "s"))
        ),
    ]


def _predicates() -> list[Case]:
    head = "setp.lt.s32 %q1, %a, 0; setp.gt.s32 %q2, %b, 0; "
    return [
        *(
            case(
                f"{head}{op}.pred %q0, %q1, %q2; {STORE}",
                "pred = s32 s32",
                lambda a, b, f=f: f(a < 0, b > 0),
            )
            for op, f in BITWISE.items()
        ),
        case(f"{head}not.pred %q0, %q1; {STORE}", "pred = s32 s32", lambda a, b: a >= 0),
        case(f"{head}mov.pred %q0, %q2; {STORE}", "pred = s32 s32", lambda a, b: b > 0),
    ]


def _packing() -> list[Case]:
    return [
        case("mov.b32 %d, {%a, %b};", "b32 = b16 b16", lambda a, b: b << 16 | a),
        case("mov.b64 %d, {%a, %b};", "b64 = b32 b32", lambda a, b: b << 32 | a),
        case(
            "mov.b64 %d, {%a, %b, %c, %e};",
            "b64 = b16 b16 b16 b16",
            lambda a, b, c, d: d << 48 | c << 32 | b << 16 | a,
        ),
        case("mov.b32 {%h0, %h1}, %a; mov.b16 %d, %h0;", "b16 = b32", lambda a: a),
        case("mov.b32 {%h0, %h1}, %a; mov.b16 %d, %h1;", "b16 = b32", lambda a: a >> 16),
        case("mov.b64 {%w0, %w1}, %a; mov.b32 %d, %w0;", "b32 = b64", lambda a: a),
        case(
            "mov.b64 {%w0, _}, %a; mov.b64 {_, %w1}, %a; sub.u32 %d, %w1, %w0;",
            "b32 = b64",
            lambda a: (a >> 32) - a,
        ),
        case(
            "mov.b64 {%h0, %h1, %h2, %h3}, %a; mov.b64 %d, {%h3, %h2, %h1, %h0};",
            "b64 = b64",
            lambda a: sum((a >> 16 * k & 0xFFFF) << (48 - 16 * k) for k in range(4)),
        ),
    ]


def _places() -> list[Case]:
    """Generic addresses keep their space; a global pointer is in no other."""
    inside = "cvta.to.global.u64 %l0, %p1; cvta.global.u64 %l1, %l0; "
    out = [
        case(f"{inside}isspacep.{space} %q0, %l1; {STORE}", "pred = u32", lambda a, yes=yes: yes)
        for space, yes in (("global", 1), ("shared", 0), ("local", 0), ("const", 0))
    ]
    for space in ("shared", "local"):
        text = f".{space} .align 8 .b8 held[16]; mov.u64 %l0, held; cvta.{space}.u64 %l1, %l0; "
        text += f"isspacep.{space} %q0, %l1; cvta.to.{space}.u64 %l2, %l1; sub.u64 %l3, %l2, %l0; "
        text += "cvt.u32.u64 %w0, %l3; selp.u32 %d, 1, %w0, %q0; add.u32 %d, %d, %w0;"
        out.append(case(text, "pred = u32", lambda a: 1))
    return out


CASES: list[Case] = [
    *(c for t in TYPES for c in _comparisons(t)),
    *(c for n in (16, 32, 64) for c in _selections(n)),
    *_predicates(),
    *_packing(),
    *_places(),
    *(
        case(
            f"lop3.b32 %d, %a, %b, %c, {table};",
            "b32 = b32 b32 b32",
            lambda a, b, c, table=table: lop3(a, b, c, table),
        )
        for table in (0x00, 0x80, 0xFE, 0x96, 0xE8, 0x3C, 0x6B, 0xFF)
    ),
    *(
        case(
            f"shf.{side}.{mode}.b32",
            "b32 = b32 b32 u32",
            lambda a, b, c, side=side, mode=mode: funnel(a, b, c, side == "l", mode == "wrap"),
            amounts=True,
        )
        for side in "lr"
        for mode in ("wrap", "clamp")
    ),
    *(
        case(f"prmt.b32{mode}", "b32 = b32 b32 b32", lambda a, b, c, f=f: prmt(a, b, f(c)))
        for mode, f in PRMT.items()
    ),
    *(
        case(
            f"min.relu.{t}" if op is min else f"max.relu.{t}",
            f"{t} = {t} {t}",
            lambda a, b, op=op: max(op(a, b), 0),
        )
        for t in ("s32",)
        for op in (min, max)
    ),
]
