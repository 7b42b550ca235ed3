"""Decode moves between registers, the warp's matrix instructions, and textures and surfaces.

The registers of a matrix, and coordinates, are copied to scratch registers, where they lie one
after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader import regex
from grader.simulator.decode.instructions import ROUNDINGS, Insn, Known, NotSimulated, make_insn
from grader.simulator.decode.memory import GLOBAL, base_of, elements, space_of
from grader.simulator.decode.operands import LANES, WARP_SPECIAL, OperandError, Operands, vector
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
        name = "not_pred" if a.startswith("!") else "mov_pred"
        return [Insn(name, o.predicate(d), o.condition(a))]
    if width == 2 and a in WARP_SPECIAL:
        return [Insn("unpack_lo_2x16", o.register(d, 2), o.source(a, 4))]
    if (have := o.width(d)) is None or have != max(width, 2):
        raise OperandError(f"{op} into {d}")
    return [Insn(f"mov_b{8 * max(width, 2)}", o.register(d, width), o.source(a, width))]


def _unpack(parts: list[str], a: str, width: int, o: Operands) -> list[Insn]:
    each = width // len(parts)
    names = {2: ("lo", "hi"), 4: ("0", "1", "2", "3")}.get(len(parts), ())
    if not names or not 1 <= each <= 4:
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


_VECTOR, _REGISTERS = 4 * LANES, 8
"""The bytes of a 32-bit register; the most registers of a matrix."""

_D, _A, _B, _C, _ADDRESS = (k * _REGISTERS * _VECTOR for k in range(5))
_WIDE_A, _WIDE_B, _WIDE_C = (k * _REGISTERS * _VECTOR for k in (1, 3, 4))
"""Where the matrices, of 64-bit registers too, and addresses lie in the scratch registers."""

_SHAPE = regex(r"m(\d+)n(\d+)k(\d+)$")
_MULTIPLICANDS = ("f16", "bf16", "tf32", "s8", "u8", "f64", "e4m3", "e5m2")
_ELEMENT_BYTES = {
    **dict.fromkeys(("s8", "u8", "e4m3", "e5m2"), 1),
    **dict.fromkeys(("f16", "bf16"), 2),
    **dict.fromkeys(("tf32", "f32", "s32"), 4),
    "f64": 8,
}
_HALF_C, _HALF_D, _WHOLE, _SATURATES = 1, 2, 4, 8
_ROLES = {"a": 0, "b": 1, "c": 2, "d": 2}
_WIDE, _TF32 = {(16, 16, 16), (32, 8, 16), (8, 32, 16)}, {(16, 16, 8)}
_WMMA = {
    "tf32": _TF32,
    "f32": _WIDE | _TF32,
    **dict.fromkeys(("f16", "bf16", "s8", "u8", "s32"), _WIDE),
    "f64": {(8, 8, 4)},
}
_MMA = {
    **dict.fromkeys(("f16", "bf16"), {(16, 8, 8), (16, 8, 16)}),
    "tf32": {(16, 8, 4), (16, 8, 8)},
    **dict.fromkeys(("s8", "u8"), {(8, 8, 16), (16, 8, 16), (16, 8, 32)}),
    **dict.fromkeys(("e4m3", "e5m2"), {(16, 8, 32)}),
    "f64": {(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)},
}
"""The shapes of wmma and mma.sync that are simulated, by the type of the elements."""


def _shape_of(op: str) -> tuple[int, int, int]:
    """The extents m, n and k of a matrix instruction. Raises NotSimulated."""
    match = next((m for p in op.split(".") if (m := _SHAPE.match(p))), None)
    if match is None:
        raise NotSimulated(op)
    return int(match[1]), int(match[2]), int(match[3])


def _gathered(o: Operands, text: str, at: int, width: int = 4) -> list[Insn]:
    """Copy the registers of a matrix, of `width` bytes, to scratch registers."""
    refs = [o.source(name, width) for name in vector(text)]
    if len(refs) > _REGISTERS:
        raise OperandError(f"{len(refs)} registers for a matrix")
    insns = []
    for k in range(0, len(refs), 4):
        four, to = refs[k : k + 4], at + k * width * LANES
        insns.append(Insn("gather", to, *_four(four), count=len(four), width=width))
    return insns


def _scattered(o: Operands, text: str, at: int, width: int = 4) -> list[Insn]:
    """Copy scratch registers to the registers of a matrix."""
    refs = [o.register(name, width) for name in vector(text)]
    insns = []
    for k in range(0, len(refs), 4):
        d, b, c, e = _four(refs[k : k + 4])
        count, of = len(refs[k : k + 4]), at + k * width * LANES
        insns.append(Insn("scatter", d, of, b, c, e, count=count, width=width))
    return insns


def _four(refs: Sequence[int]) -> tuple[int, int, int, int]:
    a, b, c, d = (*refs, 0, 0, 0)[:4]
    return a, b, c, d


def _multiplied(
    op: str, operands: list[str], o: Operands, kinds: tuple[str, str, str, str]
) -> list[Insn]:
    """Decode D = A * B + C, with the types of D, A, B and C."""
    to, left, right, added = kinds
    m, n, k = _shape_of(op)
    whole = to == "s32"
    fits = left in _MULTIPLICANDS and right in _MULTIPLICANDS
    fits &= left == right or {left, right} in ({"s8", "u8"}, {"e4m3", "e5m2"})
    sums = {"s8": {"s32"}, "u8": {"s32"}, "f16": {"f16", "f32"}, "f64": {"f64"}}.get(left, {"f32"})
    rounding = max(ROUNDINGS.get(p, 0) for p in op.split("."))
    fits &= {to, added} <= sums and (not rounding or to == "f64")
    fits &= (m, n, k) in (_WMMA if op.startswith("wmma") else _MMA).get(left, ())
    if not fits:
        raise NotSimulated(op)
    d, a, b, c = operands
    width = 8 if to == "f64" else 4
    expected = (
        m * n * _ELEMENT_BYTES[to] // (width * LANES),
        m * k * _ELEMENT_BYTES[left] // (width * LANES),
        k * n * _ELEMENT_BYTES[right] // (width * LANES),
        m * n * _ELEMENT_BYTES[added] // (width * LANES),
    )
    given = tuple(len(vector(x)) for x in (d, a, b, c))
    copies = op.startswith("wmma") and left == "f16" and given[1:3] == (_REGISTERS, _REGISTERS)
    if given[0] != expected[0] or given[3] != expected[3] or (given != expected and not copies):
        raise OperandError(f"{given} registers where {expected} are expected")
    scratch = o.registers.matrices()
    flag = _HALF_C * (added == "f16") | _HALF_D * (to == "f16") | _WHOLE * whole
    places = [scratch + at for at in ((_WIDE_A, _WIDE_B, _WIDE_C) if width == 8 else (_A, _B, _C))]
    refs = (scratch + _D, [*places, m | n << 8 | k << 16])
    if rounding:
        insn = make_insn("modified", *refs, mode=rounding, inner="mma_f64")
    else:
        insn = make_insn("mma_f64" if width == 8 else "mma", *refs)
        insn.flag = flag | _SATURATES * ("satfinite" in op.split("."))
        insn.mode = _MULTIPLICANDS.index(left) | _MULTIPLICANDS.index(right) << 4
    given_at = zip((a, b, c), places, strict=True)
    gathers = [x for text, at in given_at for x in _gathered(o, text, at, width)]
    return [*gathers, insn, *_scattered(o, d, scratch + _D, width)]


def op_mma(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode mma.sync."""
    parts = op.split(".")
    kinds = [p for p in parts if p in _ELEMENT_BYTES]
    plain_forms = parts[1] == "sync" and len(kinds) == 4
    if not plain_forms or {"row", "col"} - set(parts) or len(operands) != 4:
        raise NotSimulated(op)
    return _multiplied(op, operands, o, (kinds[0], kinds[1], kinds[2], kinds[3]))


def op_wmma(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode wmma.load, wmma.mma and wmma.store."""
    parts = op.split(".")
    kinds = [p for p in parts if p in _ELEMENT_BYTES]
    if parts[1] == "mma":
        if len(kinds) == 2:
            kinds[1:1] = ["f16", "f16"]
        if len(kinds) != 4:
            raise NotSimulated(op)
        return _multiplied(op, operands, o, (kinds[0], kinds[1], kinds[2], kinds[3]))
    if parts[1] not in ("load", "store") or parts[2] not in _ROLES or len(kinds) != 1:
        raise NotSimulated(op)
    (m, n, k), stores = _shape_of(op), parts[1] == "store"
    is_sum = parts[2] in ("c", "d")
    of_role = ("f16", "f32", "s32", "f64") if is_sum else _MULTIPLICANDS
    if kinds[0] not in of_role or (m, n, k) not in _WMMA[kinds[0]] or stores != (parts[2] == "d"):
        raise NotSimulated(op)
    values, where = operands[:2][::-1] if stores else operands[:2]
    role, by_column = _ROLES[parts[2]], "col" in parts
    columns, rows = ((k, m), (n, k), (n, m))[role]
    stride = operands[2] if len(operands) > 2 else str(rows if by_column else columns)
    scratch, space = o.registers.matrices(), space_of(parts)
    a, add, mode = base_of(o, where, space)
    shape = m | n << 8 | k << 16 | role << 24 | by_column << 26
    refs = (scratch + _D, a, o.source(stride, 4), scratch + _ADDRESS, shape)
    size, count = _ELEMENT_BYTES[kinds[0]], len(vector(values))
    width = 8 if size == 8 else 4
    least = rows * columns * size // (width * LANES)
    if count != least and (kinds[0] != "f16" or is_sum or count != _REGISTERS):
        raise OperandError(f"{count} registers where {least} are expected")
    insn = Insn(f"wmma_{parts[1]}", *refs, imm=add, size=size, count=count, space=space, mode=mode)
    if stores:
        return [*_gathered(o, values, scratch + _D, width), insn]
    return [insn, *_scattered(o, values, scratch + _D, width)]


def op_ldmatrix(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode ldmatrix and stmatrix."""
    parts = op.split(".")
    stores = parts[0] == "stmatrix"
    values, where = operands[::-1] if stores else operands
    count = next((int(p[1]) for p in parts if p in ("x1", "x2", "x4")), 0)
    if "m8n8" not in parts or parts[-1] != "b16" or count != len(vector(values)):
        raise NotSimulated(op)
    scratch, space = o.registers.matrices(), space_of(parts)
    a, add, mode = base_of(o, where, space)
    trans = int("trans" in parts)
    refs = (scratch + _D, a, 0, scratch + _ADDRESS, trans)
    insn = Insn(parts[0], *refs, imm=add, size=16, count=count, space=space, mode=mode)
    if stores:
        return [*_gathered(o, values, scratch + _D), insn]
    return [insn, *_scattered(o, values, scratch + _D)]


op_stmatrix = op_ldmatrix


def op_movmatrix(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode movmatrix."""
    if op != "movmatrix.sync.aligned.m8n8.trans.b16":
        raise NotSimulated(op)
    return [Insn("movmatrix", o.register(operands[0], 4), o.source(operands[1], 4))]


_GEOMETRIES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1 | 4, "a2d": 2 | 4}
"""The shapes of texture and surface objects as launch.h has them; 4: with layers."""

_WHOLE_COORDINATES, _WHOLE_RESULT = 8, 16
_COMPONENTS, _OUTSIDE = "rgba", ("trap", "clamp", "zero")
_EXTENTS = ("width", "height", "depth", "array_size")
_IMAGE_OPERAND = regex(r"\[\s*([^\s,]+)\s*,\s*(\{[^}]*\}|[^\s,]+)\s*\]$")


def _located(op: str, operand: str, geometry: str, o: Operands) -> tuple[list[Insn], int, int]:
    """What copies the coordinates of `[object, {x, y}]`, where to, and the object's register."""
    match = _IMAGE_OPERAND.match(operand)
    if match is None or o.width(match[1]) != 8:
        raise NotSimulated(op)  # a texture reference, or with a sampler of its own
    if (given := len(vector(match[2]))) < int(geometry[-2]) + (geometry[0] == "a"):
        raise OperandError(f"{given} coordinates for .{geometry}")
    scratch = o.registers.matrices()
    return _gathered(o, match[2], scratch), scratch, o.register(match[1], 8)


def op_tex(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode tex and tld4."""
    parts = op.split(".")
    geometry = next((p for p in parts if p in _GEOMETRIES), "")
    gathers, (to, of) = parts[0] == "tld4", parts[-2:]
    plain_forms = set(parts[1:-2]) <= {geometry, "v4", "level", "grad", *_COMPONENTS}
    if not geometry or not plain_forms or to not in ("f32", "s32", "u32") or "|" in operands[0]:
        raise NotSimulated(op)
    if of not in ("f32", "s32") or (gathers and (geometry != "2d" or of != "f32")):
        raise NotSimulated(op)
    mode = _GEOMETRIES[geometry] | (_COMPONENTS.index(parts[1]) << 5 if gathers else 0)
    mode |= _WHOLE_COORDINATES * (of == "s32") | _WHOLE_RESULT * (to != "f32")
    copies, scratch, image = _located(op, operands[1], geometry, o)
    (d, b, c, e), width = elements(o, operands[0], 4, 4)
    insn = Insn(parts[0], d, image, b, c, e, scratch, 4, 4, GLOBAL, width, mode=mode)
    return [*copies, insn]


op_tld4 = op_tex


def op_suld(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode suld.b and sust.b."""
    parts = op.split(".")
    geometry, kind = next((p for p in parts if p in _GEOMETRIES), ""), parts[-2]
    if parts[1] != "b" or not geometry or kind not in ("b8", "b16", "b32", "b64"):
        raise NotSimulated(op)
    count = next((int(p[1:]) for p in parts if p in ("v2", "v4")), 1)
    values, where = operands if parts[0] == "suld" else operands[::-1]
    (d, b, c, e), width = elements(o, values, count, TYPE_BYTES[kind])
    copies, scratch, image = _located(op, where, geometry, o)
    insn = Insn(parts[0], d, image, b, c, e, scratch, TYPE_BYTES[kind], count, GLOBAL, width)
    insn.mode = _GEOMETRIES[geometry] | _OUTSIDE.index(parts[-1]) << 3
    return [*copies, insn]


op_sust = op_suld


def op_txq(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode the queries of an extent: txq and suq."""
    name, handle = op.split(".")[1], operands[1][1:-1].strip()
    if name not in _EXTENTS or o.width(handle) != 8:
        raise NotSimulated(op)
    to, image = o.register(operands[0], 4), o.register(handle, 8)
    return [Insn("txq", to, image, mode=_EXTENTS.index(name))]


op_suq = op_txq
