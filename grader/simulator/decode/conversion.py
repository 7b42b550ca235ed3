"""Decode conversion, comparison and selection: cvt, set, setp, selp, slct."""

from __future__ import annotations

import re

from grader.simulator.decode.instructions import (
    FTZ,
    HALVES,
    Insn,
    Known,
    NotSimulated,
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
