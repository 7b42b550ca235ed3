"""Decode moves between registers: mov, packing, cvta and cvt."""

from __future__ import annotations

import re

from grader.simulator.decode.instructions import Insn, Known, NotSimulated, make_insn, types_of
from grader.simulator.decode.operands import OperandError, Operands, vector
from grader.simulator.ptx.model import TYPE_BYTES


_HIGH, _WHOLE, _TIMER = 1, 2, 4
_CLOCKS = {
    "%clock": 0,
    "%clock_hi": _HIGH,
    "%clock64": _WHOLE,
    "%globaltimer": _TIMER | _WHOLE,
    "%globaltimer_lo": _TIMER,
    "%globaltimer_hi": _TIMER | _HIGH,
}
"""The special registers that measure time, and what of it: clock.c."""


def op_mov(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a move, or the packing or unpacking of a vector."""
    d, a = operands
    width = TYPE_BYTES[op.split(".")[-1]]
    if d.startswith("{"):
        return _unpack(vector(d), a, width, o)
    if a.startswith("{"):
        parts = vector(a)
        refs = [o.source(p, width // len(parts)) for p in parts]
        name = f"pack_{len(parts)}x{8 * width // len(parts)}"
        if not known(name):
            raise NotSimulated(f"{op} of {len(parts)} elements")
        return [make_insn(name, o.register(d, width), refs)]
    if (clock := _CLOCKS.get(a)) is not None:
        name = "mov_clock64" if width == 8 else "mov_clock32"
        return [Insn(name, o.register(d, 8 if width == 8 else 4), mode=clock)]
    if a in o.local:
        if width not in (4, 8):
            raise OperandError(f"{op} of an address")
        zero = o.source("0", width)
        return [Insn(f"local_address_b{8 * width}", o.register(d, width), zero, imm=o.local[a])]
    if width == 0:
        return [Insn("mov_pred", o.predicate(d), o.source(a, 0))]
    if (have := o.width(d)) is None or have != max(width, 2):
        raise OperandError(f"{op} into {d}")
    return [Insn(f"mov_b{8 * max(width, 2)}", o.register(d, width), o.source(a, width))]


def _unpack(parts: list[str], a: str, width: int, o: Operands) -> list[Insn]:
    each = width // len(parts)
    names = {2: ("lo", "hi"), 4: ("0", "1", "2", "3")}.get(len(parts), ())
    if not names or each not in (2, 4):
        raise NotSimulated(f"mov into {len(parts)} elements")
    source = o.source(a, width)
    insns = [
        Insn(f"unpack_{n}_{len(parts)}x{8 * each}", o.register(p, each), source)
        for n, p in zip(names, parts, strict=True)
        if p != "_"
    ]
    insns.sort(key=lambda insn: insn.d == source)
    return insns


def op_cvta(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode cvta: the conversion of an address."""
    parts, (d, a) = op.split("."), operands
    space = next(
        p
        for p in parts[1:]
        if p.partition("::")[0] in ("global", "shared", "local", "const", "param")
    )
    space = space.partition("::")[0]
    width = TYPE_BYTES[parts[-1]]
    if space in ("global", "const"):
        return [Insn(f"mov_b{8 * width}", o.register(d, width), o.source(a, width))]
    if width != 8:
        raise NotSimulated(f"{op} (32-bit generic addresses)")
    return [
        Insn(f"cvta{'_to' if 'to' in parts else ''}_{space}_u64", o.register(d, 8), o.source(a, 8))
    ]


_CLASS = {"u": 0, "b": 0, "s": 1, "f": 2}


def _type_code(kind: str) -> int:
    return (3 if kind == "bf16" else _CLASS[kind[0]]) << 4 | TYPE_BYTES[kind]


def op_cvt(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode cvt: the conversion of a number."""
    parts = op.split(".")
    kinds = types_of(op)
    if len(kinds) == 1 and "pack" in parts or len(kinds) != 2 or "e4m3x2" in op or "e5m2x2" in op:
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
