"""Decode conversion, comparison and selection, and what does them on parts of words.

cvt, set, setp, selp, slct, and the video instructions.
"""

from __future__ import annotations

import re

from grader.simulator.decode.instructions import (
    FTZ,
    HALVES,
    Insn,
    Known,
    NotSimulated,
    make_insn,
    symbol,
    types_of,
)
from grader.simulator.decode.operands import OperandError, Operands
from grader.simulator.ptx.model import TYPE_BYTES

_TF32 = ("cvt.rna.tf32.f32", "cvt.rn.tf32.f32", "cvt.rz.tf32.f32")
_E5M2, _RELU = 1, 2
_PACKED = {f"{sign}{bits}": (bits, sign == "s") for sign in "us" for bits in (2, 4, 8, 16)}
COMPARISONS = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "equ",
    "neu",
    "ltu",
    "leu",
    "gtu",
    "geu",
    "num",
    "nan",
)
_UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_FLUSHES = 16
"""Beside a comparison of halves: .ftz."""
_BOOLEANS = {"and": 1, "or": 2, "xor": 3}


def op_slct(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode slct: a selection by sign."""
    kinds = types_of(op)
    exec_ = f"slct_b{8 * TYPE_BYTES[kinds[0]]}_{kinds[1]}"
    if not known(exec_):
        raise NotSimulated(op)
    width, (d, a, b, c) = TYPE_BYTES[kinds[0]], operands
    flag = FTZ if "ftz" in op.split(".") else 0
    refs = (o.register(d, width), o.source(a, width), o.source(b, width), o.source(c, 4))
    return [Insn("modified", *refs, flag=flag, inner=exec_)] if flag else [Insn(exec_, *refs)]


def op_selp(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode selp: a selection by predicate."""
    kind, (d, a, b, p) = op.split(".")[-1], operands
    width = TYPE_BYTES[kind]
    name = "selp_pred" if kind == "pred" else f"selp_b{8 * width}"
    target = o.register(d, width) if width else o.predicate(d)
    a, b = (b, a) if p.startswith("!") else (a, b)
    return [Insn(name, target, o.source(a, width), o.source(b, width), o.condition(p))]


def op_setp(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode setp: a comparison into predicates."""
    parts = op.split(".")
    kind = parts[-1]
    comparison = _UNSIGNED_NAMES.get(parts[1], parts[1])
    first, _, second = operands[0].partition("|")
    width = TYPE_BYTES[kind]
    insn = Insn(
        "", o.predicate(first.strip()), o.source(operands[1], width), o.source(operands[2], width)
    )
    if second and second.strip() != "_":
        insn.e, insn.flag = o.predicate(second.strip()), 1
    boolean = next((p for p in parts[2:-1] if p in _BOOLEANS), None)
    if boolean:
        insn.mode, insn.imm = _BOOLEANS[boolean], int(operands[3].startswith("!"))
        insn.c = o.condition(operands[3])
    if kind in HALVES:
        insn.width = COMPARISONS.index(comparison) | _FLUSHES * ("ftz" in parts)
        insn.exec = f"setp_{kind}"
        return [insn]
    flushes = ".ftz" if "ftz" in parts and kind == "f32" else ""
    exec_ = symbol(f"setp.{comparison}{flushes}.{kind}", known)
    if exec_ is None:
        raise NotSimulated(op)
    insn.exec = exec_
    return [insn]


def op_set(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode set: a comparison into a register; of pairs of halves, one into each half of it."""
    parts = op.split(".")
    to, kind = parts[-2:]
    if to not in _ONES:
        raise NotSimulated(op)
    test = ".".join(["setp", *parts[1:-2], kind])
    scratch, target = o.registers.scratch, o.register(operands[0], TYPE_BYTES[to])
    insns = op_setp(test, ["%scratch", *operands[1:]], _WithScratch(o), known)
    if kind.endswith("x2"):
        insns[0].exec, insns[0].d, insns[0].count = f"set_{kind}", target, _ONES[to] & 0xFFFF
        return insns
    return [*insns, Insn(f"set_b{8 * TYPE_BYTES[to]}", target, scratch, imm=_ONES[to])]


_ONES = {
    **dict.fromkeys(("u16", "s16", "u32", "s32"), 0xFFFFFFFF),
    **dict.fromkeys(("f16", "f16x2"), 0x3C00),
    **dict.fromkeys(("bf16", "bf16x2"), 0x3F80),
    "f32": 0x3F800000,
}
"""What set writes for true, by the type of its result."""


class _WithScratch(Operands):
    """Operands in which %scratch names the scratch predicate."""

    def __init__(self, o: Operands) -> None:
        super().__init__(o.registers, o.constants, o.entry, o.frame, o.local)

    def predicate(self, text: str) -> int:
        return self.registers.scratch if text == "%scratch" else super().predicate(text)


_CLASS = {"u": 0, "b": 0, "s": 1, "f": 2}


def _type_code(kind: str) -> int:
    return (3 if kind == "bf16" else _CLASS[kind[0]]) << 4 | TYPE_BYTES[kind]


def op_cvt(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode cvt: the conversion of a number."""
    parts = op.split(".")
    kinds = types_of(op)
    if is_narrow(op):
        return narrow_cvt(op, operands, o)
    if len(kinds) != 2:
        raise NotSimulated(op)
    to, source = kinds
    plain = f"cvt_{to}_{source}"
    exact = o.width(operands[0]) == TYPE_BYTES[to] and o.width(operands[1]) in (
        None,
        max(2, TYPE_BYTES[source]),
    )
    if known(plain) and _simple(parts) and exact:
        ref = o.source(operands[1], TYPE_BYTES[source])
        return [Insn(plain, o.register(operands[0], TYPE_BYTES[to]), ref)]
    rounding = next((p for p in parts if re.fullmatch(r"r[nzmp]i?", p)), "rn")
    mode = ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi").index(rounding)
    mods = ("sat" in parts) | ("ftz" in parts) << 1 | ("relu" in parts) << 2
    if to in ("f16x2", "bf16x2"):
        d, a, b = operands
        half = _type_code(to.removesuffix("x2"))
        return [
            Insn(
                "convert_pair",
                o.register(d, 4),
                o.source(a, 4),
                o.source(b, 4),
                count=half,
                mode=mode,
                imm=mods,
            )
        ]
    d, a = operands
    have_d, have_a = o.width(d), o.width(a)
    if not have_d or have_d < TYPE_BYTES[to]:
        raise OperandError(f"{op} into {d}")
    width_a = have_a or max(2, TYPE_BYTES[source])
    if width_a < TYPE_BYTES[source]:
        raise OperandError(f"{op} from {a}")
    return [
        Insn(
            "convert",
            o.register(d, have_d),
            o.source(a, width_a),
            size=_type_code(source),
            count=_type_code(to),
            flag=width_a,
            width=have_d,
            mode=mode,
            imm=mods,
        )
    ]


def _simple(parts: list[str]) -> bool:
    return not {"sat", "ftz", "rz", "rm", "rp", "relu", "rni", "rzi", "rmi", "rpi"} & set(parts)


def is_narrow(op: str) -> bool:
    """Whether a cvt has a format that other instructions lack."""
    return bool({"pack", "tf32", "e4m3x2", "e5m2x2"}.intersection(op.split(".")))


def narrow_cvt(op: str, operands: list[str], o: Operands) -> list[Insn]:
    """Decode a cvt that `is_narrow`; NotSimulated for the types of GPUs after Hopper."""
    parts = op.split(".")
    if "pack" in parts:
        return _packed(op, operands, o)
    if op in _TF32:
        d, a = operands
        return [Insn(op.replace(".", "_"), o.register(d, 4), o.source(a, 4))]
    pair = "e5m2x2" if "e5m2x2" in parts else "e4m3x2"
    flags = _E5M2 * (pair == "e5m2x2") | _RELU * ("relu" in parts)
    d, *sources = operands
    kinds = parts[-2:]
    if kinds == [pair, "f32"] and "satfinite" in parts:
        refs = (o.source(sources[0], 4), o.source(sources[1], 4))
        return [Insn("narrow_f32", o.register(d, 2), *refs, imm=flags)]
    if kinds == [pair, "f16x2"] and "satfinite" in parts:
        return [Insn("narrow_f16x2", o.register(d, 2), o.source(sources[0], 4), imm=flags)]
    if kinds == ["f16x2", pair]:
        return [Insn("widen_f16x2", o.register(d, 4), o.source(sources[0], 2), imm=flags)]
    raise NotSimulated(op)


def _packed(op: str, operands: list[str], o: Operands) -> list[Insn]:
    """Decode cvt.pack.sat: a and b become the low parts of d, below what c has there."""
    _, _, _, to, *others = op.split(".")
    bits, sign = _PACKED.get(to, (0, False))
    if others != (["s32"] if bits == 16 else ["s32", "b32"]):
        raise NotSimulated(op)
    d, a, b, c = (*operands, "0")[:4]
    refs = (o.register(d, 4), o.source(a, 4), o.source(b, 4), o.source(c, 4))
    return [Insn("pack_integers", *refs, count=bits, flag=int(sign))]


_VIDEO_OPS = ("add", "sub", "avrg", "absdiff", "min", "max", "set", "shl", "shr", "mad")
"""What video instructions do, by their mode in video.c."""

_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
_PARTS = ("", "b0", "b1", "b2", "b3", "h0", "h1")
_SECONDARY, _SCALES = ("", "add", "min", "max"), ("", "shr7", "shr15")


def _differs(name: str, flag: int, modifiers: set[str], own: dict[str, str]) -> bool:
    """Whether an H100 computes another value than the manual's definition (tests/gpu)."""
    if name == "mad":
        extra = modifiers & {"sat", *_SCALES} or any(x.startswith("-") for x in own)
        return bool("po" in modifiers or "-c" in own or (extra and flag & 3 != 3))
    is_choice = name in ("min", "max")
    return (
        (name == "shl" and "sat" in modifiers)
        or ("d" in own and (is_choice or own["d"] == "h1"))
        or (bool(modifiers & {"min", "max"}) and not (is_choice or name == "set"))
    )


def _typed(op: str) -> tuple[str, int, set[str], dict[str, str]]:
    """The operation, its flags, its modifiers, and what it selects of operands and negates.

    What `-a.b0` selects is `{"a": "b0", "-a": "negated"}`.
    """
    name, *rest = op.split(".")
    pairs = [x.split("_") for x in rest if "_" in x]
    own = {f"-{d}" if part == "negated" else d: part for d, part in pairs}
    rest = [x for x in rest if "_" not in x]
    count = 2 if name.startswith("vset") else 3
    kinds, modifiers = rest[:count], set(rest[count:])
    if {*kinds} - {"u32", "s32"} or len(kinds) < count:
        raise NotSimulated(op)
    a, b = kinds[-2:]
    signs = (a == "s32") | (b == "s32") << 1 | (count == 3 and kinds[0] == "s32") << 2
    return name[1:], signs | ("sat" in modifiers) << 3, modifiers, own


def _digits(op: str, text: str, count: int, default: str) -> int:
    """The elements that b3210 or h10 selects, the lowest first, in 3 bits each."""
    chosen = (text or default)[1:]
    if len(chosen) != count or any(int(x) >= 2 * count for x in chosen):
        raise NotSimulated(op)
    return sum(int(x) << 3 * k for k, x in enumerate(reversed(chosen)))


def _elements(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a video instruction on bytes or halves of a word."""
    name, flag, modifiers, own = _typed(op)
    count, name = int(name[-1]), name[:-1]
    compared = next((x for x in _COMPARED if x in modifiers), "")
    sums, mask = "add" in modifiers, own.pop("d", "")
    exact = name == "set" or (name == "absdiff" and flag & 7 in (0, 3))
    if (sums and not exact) or (name == "set" and mask) or "negated" in own.values():
        raise NotSimulated(op)
    if (
        len(operands) != 4
        or modifiers - {"sat", "add", compared}
        or bool(compared) != (name == "set")
    ):
        raise OperandError(f"{op} with {len(operands)} operands")
    letter = "h" if count == 2 else "b"
    if any(not x.startswith(letter) for x in (mask, *own.values()) if x):
        raise NotSimulated(op)
    a = _digits(op, own.get("a", ""), count, "h10" if count == 2 else "b3210")
    b = _digits(op, own.get("b", ""), count, "h32" if count == 2 else "b7654")
    written = sum(1 << int(x) for x in mask[1:]) if mask else (1 << count) - 1
    d, *sources = operands
    insn = make_insn("video", o.register(d, 4), [o.source(x, 4) for x in sources], flag=flag)
    insn.flag |= sums << 4
    insn.count, insn.mode = 32 // count, _VIDEO_OPS.index(name)
    insn.imm = a | b << 12 | written << 24 | _COMPARED.index(compared or "eq") << 28
    return [insn]


def _scalar(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a video instruction on one number, which is a part of each operand."""
    name, flag, modifiers, own = _typed(op)
    compared = next((x for x in _COMPARED if x in modifiers), "eq")
    second = next((x for x in _SECONDARY[1:] if x in modifiers), "")
    scale = next((x for x in _SCALES[1:] if x in modifiers), "")
    negated = {x for x in own if x.startswith("-")}
    others = modifiers - {"sat", compared, second, scale, "clamp", "wrap"}
    if others or "c" in own or _differs(name, flag, modifiers, own):
        raise NotSimulated(op)
    if (negated and name != "mad") or {own[x] for x in own if x not in negated} - {*_PARTS}:
        raise NotSimulated(op)
    parts = [_PARTS.index(own.get(x, "")) for x in "abd"]
    if not 3 <= len(operands) <= 4 or (len(operands) == 3) != (
        not second and not parts[2] and name != "mad"
    ):
        raise OperandError(f"{op} with {len(operands)} operands")
    d, a, b, c = (*operands, "0")[:4]
    refs = [o.source(x, 4) for x in (a, b, c)]
    insn = make_insn("video_scalar", o.register(d, 4), refs, flag=flag, mode=_VIDEO_OPS.index(name))
    insn.imm = parts[0] | parts[1] << 3 | parts[2] << 6 | _SECONDARY.index(second) << 9
    insn.imm |= _COMPARED.index(compared) << 11 | ("wrap" in modifiers) << 14
    insn.imm |= _SCALES.index(scale) << 15 | len(negated & {"-a", "-b"}) % 2 << 17
    return [insn]


op_vadd = op_vsub = op_vabsdiff = op_vmin = op_vmax = op_vset = op_vshl = op_vshr = op_vmad = (
    _scalar
)
op_vadd2 = op_vsub2 = op_vavrg2 = op_vabsdiff2 = op_vmin2 = op_vmax2 = op_vset2 = _elements
op_vadd4 = op_vsub4 = op_vavrg4 = op_vabsdiff4 = op_vmin4 = op_vmax4 = op_vset4 = _elements
