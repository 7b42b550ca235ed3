"""Decode memory instructions: ld, st, parameters and hints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from grader import regex, replace
from grader.simulator.decode.instructions import Insn, Known, NotSimulated
from grader.simulator.decode.operands import OperandError, Operands, address, vector
from grader.simulator.ptx.model import STRONG_READS, TYPE_BYTES, Function

SPACES = {"global": 1, "shared": 2, "local": 3, "const": 4, "param": 5}
GENERIC, GLOBAL, SHARED, LOCAL, CONST, PARAM = range(6)
SIGN, VOLATILE, ACQUIRE, RELEASE, RELAXED, SCOPE_CTA = 1, 2, 4, 8, 16, 32
STRONG_LOAD = VOLATILE | ACQUIRE | RELAXED
DATA_READ, WAITING = 64, 128
FOLLOWED = 64
FOLLOWS_OLD = 2 << 16
FENCE_SC = 1
NONCOHERENT = SCOPE_CTA
HAS_FENCES, HAS_BLOCK_SCOPE, HAS_ACQUIRES, HAS_NONCOHERENT = 1, 2, 4, 8
HAS_UPDATES, HAS_CHECKS, HAS_TESTS = 16, 32, 64
HAS_ORDERS = HAS_FENCES | HAS_BLOCK_SCOPE | HAS_ACQUIRES
_STRONG = {
    "volatile": VOLATILE,
    "relaxed": RELAXED,
    "acquire": ACQUIRE,
    "release": RELEASE,
    "mmio": VOLATILE,
}
_COMPUTES = {"mov", "cvt", "cvta", "add", "mul", "shl"}
_NAME = regex(r"[\w%$]+")
_PARTS = {"byte": 1, "stored": 1, "half": 2}
"""The bytes of what `and.byte.b64` and others point to: see ptx/source_map.py."""


def observes(op: str) -> bool:
    """Whether an instruction may read what another thread is writing: PTX's strong reads."""
    head, *parts = op.split(".")
    return head == "atom" or (head == "ld" and not STRONG_READS.isdisjoint(parts))


def is_strong(op: str) -> bool:
    """Whether an access is an atomic, volatile, or has a memory order."""
    head, *parts = op.split(".")
    return head in ("atom", "red") or not _STRONG.keys().isdisjoint(parts)


def is_plain(op: str) -> bool:
    """Whether an access has no memory order, is not volatile, and not one of parameters."""
    return {*STRONG_READS, "param", "const"}.isdisjoint(op.split("."))


def space_of(parts: list[str]) -> int:
    """The state space of an instruction; GENERIC when it names none.

    The shared memory of a cluster of one block is the block's.
    """
    for part in parts[1:]:
        space, _, _ = part.partition("::")
        if space in SPACES:
            return SPACES[space]
    return GENERIC


def scope_of(parts: list[str]) -> int:
    """The flag of an instruction that orders nothing beyond its block; else 0.

    A launch without clusters has clusters of one block.
    """
    return SCOPE_CTA if {"cta", "cluster"} & set(parts) else 0


def _shape(parts: list[str]) -> tuple[str, int]:
    """The type and the number of elements of an access."""
    kind = parts[-1]
    if kind not in TYPE_BYTES or kind == "pred":
        raise OperandError(f"{'.'.join(parts)}: unknown type")
    count = next((int(p[1:]) for p in parts if p in ("v2", "v4", "v8")), 1)
    if count > 4 or kind == "b128":
        raise NotSimulated(".".join(parts))
    return kind, count


def is_noncoherent(parts: list[str]) -> bool:
    """Whether an instruction reads through a cache that does not see what the kernel writes."""
    return "nc" in parts or parts[0] in ("tex", "tld4")


_MATRIX_PARTS = {"f16": 2, "bf16": 2, "s8": 1, "u8": 1, "f64": 8}


def accessed(parts: list[str]) -> tuple[int, int] | None:
    """The state space of a load, a store or an atomic, and the bytes of its smallest part."""
    if parts[0] in ("ld", "st", "atom", "red"):
        return space_of(parts), TYPE_BYTES.get(parts[-1], 4)
    if parts[0] == "and" and parts[1] in _PARTS:
        return GENERIC, _PARTS[parts[1]]
    if parts[0] in ("suld", "sust"):
        return GLOBAL, next((TYPE_BYTES[p] for p in parts if p in TYPE_BYTES), 4)
    if parts[0] in ("ldmatrix", "stmatrix"):
        return SHARED, 2 if "trans" in parts else 4
    if parts[0] == "wmma" and "mma" not in parts[1:]:
        return space_of(parts), _MATRIX_PARTS.get(parts[-1], 4)
    return None


def base_of(o: Operands, text: str, space: int) -> tuple[int, int, int]:
    """The reference of an address, its displacement, and the bytes of its register."""
    base, add = address(text)
    if base == "":
        return o.source("0", 8), add, 8
    width = o.width(base)
    if width is None:
        return o.source(base, 8), add, 8
    if width not in (4, 8):
        raise OperandError(f"{base} of {width} bytes as an address")
    return o.register(base, width), add, width


def elements(o: Operands, text: str, count: int, stores: int) -> tuple[list[int], int]:
    """The references of the elements, and the bytes of their registers."""
    names = vector(text)
    if len(names) != count:
        raise OperandError(f"{text} for {count} elements")
    widths = {w for n in names if (w := o.width(n)) is not None}
    if len(widths) > 1 or widths & {0}:
        raise OperandError(f"elements of different widths in {text}")
    width = max(2, widths.pop() if widths else stores)
    if width < stores:
        raise OperandError(f"{text} is narrower than {stores} bytes")
    refs = [o.source(n, width) if n != "_" else o.registers.sink for n in names]
    return refs + [0] * (4 - len(refs)), width


def use_bytes(insn: Insn, used: int) -> None:
    """Make a load read only some of its bytes: bit k of `used` stands for byte k."""
    whole = (1 << insn.size * insn.count) - 1
    if used & whole != whole:
        insn.exec, insn.used = "ld_used", used & whole


def op_ld(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a load; `.stored`: with which a store of libcu++ to a part of a word begins."""
    insns = _move(op, operands[0], operands[1], o, "ld")
    insns[0].exec = "ld_stored" if ".stored." in op else insns[0].exec
    return insns


def op_ldu(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a load through the uniform cache."""
    return _move(op, operands[0], operands[1], o, "ld")


def op_st(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode a store."""
    if "async" in op.split("."):
        raise NotSimulated(op)
    return _move(op, operands[1], operands[0], o, "st")


def _move(op: str, values: str, where: str, o: Operands, what: str) -> list[Insn]:
    parts = op.split(".")
    kind, count = _shape(parts)
    size, space = TYPE_BYTES[kind], space_of(parts)
    if what == "ld" and any(o.width(v) is None and v != "_" for v in vector(values)):
        raise OperandError(f"{op} into {values}")
    (d, b, c, e), width = elements(o, values, count, size)
    base, add = address(where)
    signed = SIGN if kind[0] == "s" else 0
    if space == PARAM and base in o.entry and what == "ld":
        return _entry_parameter(
            o, [d, b, c, e][:count], o.entry[base] + add, size, width, bool(signed)
        )
    if space == PARAM and base in o.frame.places:
        at = o.frame.places[base] + add
        if at < 0 or at + size * count > o.frame.bytes:
            raise OperandError(f"{where} is outside its parameter")
        insn = Insn(f"{what}_param", d, 0, b, c, e, imm=at, size=size, count=count, width=width)
        insn.flag = signed
        return [insn]
    a, add, mode = base_of(o, where, space)
    strength = sum({_STRONG[p] for p in parts if p in _STRONG}) | scope_of(parts)
    strength |= NONCOHERENT if "nc" in parts else 0
    word = size == 4 and count == 1 and width == 4
    return [
        Insn(
            f"{what}_word" if word else what,
            d,
            a,
            b,
            c,
            e,
            imm=add,
            size=size,
            count=count,
            space=space,
            width=width,
            flag=signed | strength,
            mode=mode,
        )
    ]


def _entry_parameter(
    o: Operands, targets: list[int], at: int, size: int, width: int, signed: bool
) -> list[Insn]:
    """Decode the load of a kernel's parameter, which is a constant of the launch."""
    insns = []
    for k, d in enumerate(targets):
        what = f"param{'s' if signed else ''}{size}"
        insns.append(
            Insn(f"mov_b{8 * width}", d, o.constants.place((what, width, "", at + k * size)))
        )
    return insns


def parameter_value(data: bytes, what: str, at: int) -> int:
    """The value of a constant ("param4", ...) or ("params2", ...). Raises OperandError."""
    signed, size = what[5] == "s", int(re.sub(r"\D", "", what))
    if at < 0 or at + size > len(data):
        raise OperandError(f"a parameter is read at byte {at} of {len(data)}")
    return int.from_bytes(data[at : at + size], "little", signed=signed)


def without_effect(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode what changes no result: a prefetch, a cache policy, or the order of two launches."""
    if "tensormap" in op:
        raise NotSimulated(op)
    return [Insn("nop")]


op_prefetch = op_prefetchu = op_applypriority = op_discard = op_pmevent = without_effect
op_createpolicy = op_griddepcontrol = without_effect


def op_barrier(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode the arrival at the barrier of a cluster of one block, for which its threads wait."""
    return [Insn("nop")]


def op_mapa(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode mapa: the address in the only block of a cluster; 0 for another rank."""
    d, a, rank = operands
    width = TYPE_BYTES[op.split(".")[-1]]
    own = o.registers.allocate(4)
    return [
        Insn("setp_eq_u32", own, o.source(rank, 4), o.source("0", 4)),
        Insn(
            f"selp_b{8 * width}",
            o.register(d, width),
            o.source(a, width),
            o.source("0", width),
            own,
        ),
    ]


def op_getctarank(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode getctarank: the rank of the only block of a cluster."""
    return [Insn("mov_b32", o.register(operands[0], 4), o.source("0", 4))]


def op_nanosleep(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode nanosleep."""
    return [Insn("nanosleep", a=o.source(operands[0], 4))]


def op_isspacep(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode isspacep: whether a generic address is in a state space."""
    space = op.split(".")[1].partition("::")[0]
    if space not in SPACES:
        raise NotSimulated(op)
    return [Insn(f"isspacep_{space}", o.predicate(operands[0]), o.source(operands[1], 8))]


def op_activemask(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode activemask."""
    return [Insn("activemask_b32", o.register(operands[0], 4))]


def op_nop(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode nop."""
    return [Insn("nop")]


def is_fence(op: str) -> bool:
    """Whether an instruction is a fence, or a barrier of the block."""
    return op.startswith(("membar", "fence")) or (op.startswith("bar") and "warp" not in op)


def has_fences(f: Function, functions: Mapping[str, Function]) -> bool:
    """Whether a function, or one that it calls, has a fence."""
    called = (functions.get(x) for i in f.body if i.op.startswith("call") for x in i.operands)
    bodies = [f.body, *(x.body for x in called if x is not None)]
    return any(i.op.startswith(("membar", "fence")) for body in bodies for i in body)


def without_narrow_fences(f: Function) -> Function:
    """A function without the fences that order nothing for other blocks."""
    narrow = {id(i) for i in f.body if i.op.startswith(("membar", "fence")) and ".cta" in i.op}
    body = [replace(i, op="nop", operands=[]) if id(i) in narrow else i for i in f.body]
    return replace(f, body=body) if narrow else f


def reloads(f: Function) -> Iterator[int]:
    """The plain loads of what the instructions just before have stored, by index in the body.

    So is `a = b = 0` read without optimization. Another thread's write races with such a load only
    where it races with the store, so that the store alone shows what is wrong.
    """
    starts, stored = set(f.labels.values()), ("", "")
    for at, i in enumerate(f.body):
        head, _, kind = i.op.partition(".")
        if at in starts or i.guard is not None:
            stored = "", ""
        if head == "st" and is_plain(i.op) and i.guard is None:
            stored = kind, i.operands[0]
        elif head == "ld" and stored == (kind, i.operands[1]):
            yield at
        elif head not in _COMPUTES:
            stored = "", ""
        if i.operands and head != "st" and i.operands[0] in _NAME.findall(stored[1]):
            stored = "", ""
