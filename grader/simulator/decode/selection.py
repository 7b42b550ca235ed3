"""Decode comparison and selection: set, setp, selp, slct."""

from __future__ import annotations

from grader.simulator.decode.instructions import (
    FTZ,
    HALVES,
    Insn,
    Known,
    NotSimulated,
    symbol,
    types_of,
)
from grader.simulator.decode.operands import Operands
from grader.simulator.ptx.model import TYPE_BYTES

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
