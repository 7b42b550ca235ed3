"""Decode arithmetic; look up all other instructions by name.

`mul.hi.u32` is the core's C function `ptx_mul_hi_u32`. Roundings, .ftz and .sat wrap the plain
instruction. What the simulator does not execute is refused with the feature that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod

from grader import dataclass, regex
from grader.simulator.decode.operands import OperandError, Operands
from grader.simulator.ptx.constants import integer
from grader.simulator.ptx.model import TYPE_BYTES, Instruction
from grader.simulator.ptx.operands import VIDEO

_CHOOSING = frozenset(
    ("selp", "slct", "and", "or", "xor", "not", "lop3", "bfe", "bfi", "prmt", "shl", "shr", "shf")
)
"""Instructions whose result may not depend on an operand, or on all its bits. So do `on_pairs`."""


class NotSimulated(Exception):
    """An instruction or attribute that the simulator does not execute; the text names it."""


CLUSTERS = "(thread block clusters)"
"""The end of what refuses an instruction of thread block clusters."""

_FEATURES = (
    (("wmma", "mma", "wgmma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05"), "tensor cores"),
    (("tex", "tld4", "txq", "istypep"), "textures"),
    (("suld", "sust", "sured", "suq"), "surfaces"),
    (("clusterlaunchcontrol",), "thread block clusters"),
    (("st.async", "red.async", "multimem"), "thread block clusters"),
    (("cp.async.bulk", "cp.reduce.async"), "the tensor memory accelerator"),
    (("tensormap", "prefetch.tensormap"), "the tensor memory accelerator"),
    (("mbarrier.arrive", "mbarrier.expect_tx"), "transactions of the tensor memory accelerator"),
    (("setmaxnreg",), "registers moved between warps"),
)
PERMUTATIONS = ("b32", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
"""The modes of prmt as operation.h has them; the first one, which has no name, by its type."""
_SPECIAL_REGISTER = regex(r"%(?:pm\d|current_graph|envreg|aggr_smem)")


def with_feature(refused: str) -> str:
    """Add to a refused instruction its hardware feature: "wmma.load... (tensor cores)"."""
    if refused.endswith(")"):
        return refused
    if refused.endswith(".b128"):
        return f"{refused} (128-bit values)"
    if VIDEO.match(refused):
        return f"{refused} (video instructions)"
    for names, words in _FEATURES:
        if any(refused == name or refused.startswith(f"{name}.") for name in names):
            return f"{refused} ({words})"
    return refused


_CALLS = regex(
    r"\b((?:tex|surf)[123CGRiSO]\w*|\w+_matrix_sync|(?:bmma|mma)_sync|cp_(?:reduce_)?async_bulk\w*"
    r"|memcpy_async|atomic(?:CAS|Exch)\w*)"
    r"\s*(?:<[^()]*>)?\s*\("
)
"""The functions of CUDA that become instructions which may not be simulated."""


def with_call(refused: str, text: str) -> str:
    """Name the function that a line of the source calls before the instruction that it becomes.

    "tex2D, in PTX tex.2d.v4.f32.f32 (textures)"; the instruction alone where the line has inline
    assembly, or calls no such function.
    """
    call = None if "asm" in text else _CALLS.search(text)
    return f"{call[1]}, in PTX {refused}" if call else refused


def refused_attribute(limits: Mapping[str, list[int]]) -> str:
    """The attribute of a kernel that is not simulated; empty if none."""
    clusters = prod(limits.get("reqnctapercluster", [1])) > 1
    return "__cluster_dims__ (thread block clusters)" if clusters else ""


def refused_register(operands: list[str]) -> str:
    """The special register among the operands that is not simulated; empty if none."""
    for operand in operands:
        if _SPECIAL_REGISTER.match(operand):
            words = "performance counters" if operand.startswith("%pm") else "thread block clusters"
            words = "values of the driver" if operand.startswith("%envreg") else words
            return f"{operand} ({words})"
    return ""


@dataclass(slots=True)
class Insn:
    """A machine instruction: the fields of launch.h's Insn by name.

    Attributes:
        exec: the name of the core's function.
        inner: the name of the function that `exec` wraps; else empty.
        used: the bytes of a load that are used, as a mask.
    """

    exec: str
    d: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    e: int = 0
    imm: int = 0
    size: int = 0
    count: int = 0
    space: int = 0
    width: int = 0
    flag: int = 0
    mode: int = 0
    inner: str = ""
    guard: int = 0
    negate: int = 0
    used: int = 0
    pc: int = 0


def make_insn(
    name: str,
    d: int,
    sources: Iterable[int],
    *,
    imm: int = 0,
    width: int = 0,
    flag: int = 0,
    mode: int = 0,
    inner: str = "",
) -> Insn:
    """Make an Insn with its source operands in the order a, b, c, e."""
    a, b, c, e = [*sources, 0, 0, 0, 0][:4]
    return Insn(name, d, a, b, c, e, imm, width=width, flag=flag, mode=mode, inner=inner)


Known = Callable[[str], bool]
"""Whether the core has a function of this name."""

ROUNDINGS = {"rn": 0, "rz": 1, "rm": 2, "rp": 3}
FTZ, SAT = 1, 2
TABLES = {"and": 0xC0, "or": 0xFC, "xor": 0x3C, "not": 0x0F}
"""The truth tables of bitwise instructions, as lop3 has them."""
_PARITY = 0x96
"""That of a result which depends on each of three operands."""
_PAIRS = frozenset(("f16x2", "bf16x2"))
_OF_HALVES = frozenset(("add", "sub", "mul", "fma", "neg", "abs", "min", "max"))
HALVES = ("f16", "bf16", "f16x2", "bf16x2")
_SHIFTS = {"shl", "shr"}
SOURCES = (
    dict.fromkeys(
        [
            "abs",
            "neg",
            "not",
            "cnot",
            "popc",
            "clz",
            "bfind",
            "brev",
            "rcp",
            "sqrt",
            "rsqrt",
            "sin",
            "cos",
            "lg2",
            "ex2",
            "tanh",
            "testp",
        ],
        1,
    )
    | dict.fromkeys(["mad", "fma", "madc", "mad24", "sad", "bfe", "dp4a", "dp2a", "shf", "fns"], 3)
    | {"bfi": 4}
)
"""The number of source operands of a plain instruction; 2 for those not listed."""

_TYPELESS = {"mov", "selp", "slct", "set"}


@lru_cache(maxsize=1 << 11)
def symbol(op: str, known: Known) -> str | None:
    """Find the core's function for a plain instruction, whose signs may be dropped."""
    name = op.replace(".", "_")
    if known(name):
        return name
    head, _, kind = name.rpartition("_")
    if not head or kind not in TYPE_BYTES:
        return None
    whole = kind[0] in "sub" and kind[1:].removesuffix("x2").isdigit()
    tries = [f"u{kind[1:]}", f"b{kind[1:]}"] if whole else []
    if op.split(".")[0] in _TYPELESS:
        tries.append(f"b{8 * TYPE_BYTES[kind]}")
    return next((f"{head}_{t}" for t in tries if known(f"{head}_{t}")), None)


@lru_cache(maxsize=1 << 11)
def types_of(op: str) -> tuple[str, ...]:
    """The types among an opcode's modifiers."""
    return tuple(p for p in op.split(".")[1:] if p in TYPE_BYTES)


def on_pairs(op: str) -> bool:
    """Whether an instruction computes each half of a word from the same halves of its operands."""
    head, *parts = op.split(".")
    return head in _OF_HALVES and not _PAIRS.isdisjoint(parts)


def may_ignore(i: Instruction, name: str) -> bool:
    """Whether the result of an instruction may not depend on an operand.

    It does on the predicate that chooses one of two constants that differ.
    """
    head, chosen = i.op.partition(".")[0], i.operands[1:]
    if head == "selp" and chosen[-1] == name and not any(x.startswith("%") for x in chosen[:-1]):
        return chosen[0] == chosen[1]
    return head in _CHOOSING or on_pairs(i.op)


def table_of(i: Instruction) -> int | None:
    """The truth table by which bits of a result depend on the same bits of operands, or halves."""
    head = i.op.split(".")[0]
    if head == "lop3":
        return integer(i.operands[4]) & 255
    return TABLES.get(head, _PARITY if on_pairs(i.op) else None)


@lru_cache(maxsize=1 << 11)
def _widths(op: str, kind: str, count: int) -> list[int]:
    """The bytes of each source operand."""
    width, parts = TYPE_BYTES[kind], op.split(".")
    if parts[0] in _SHIFTS:
        return [width, 4]
    if parts[0] in ("mad", "madc") and "wide" in parts:
        return [width, width, 2 * width]
    if parts[0] in ("bfe", "bfi"):
        return [width, 4, 4] if parts[0] == "bfe" else [width, width, 4, 4]
    if parts[0] == "szext":
        return [width, 4]
    return [width] * count


def _target(op: str, d: str, o: Operands, kinds: Sequence[str]) -> int:
    """The register or predicate that an instruction writes."""
    width, parts = TYPE_BYTES[kinds[0]], op.split(".")
    if parts[0] == "testp" or width == 0:
        return o.predicate(d)
    if parts[0] in ("popc", "clz", "bfind"):
        width = 4
    return o.register(d, 2 * width if "wide" in parts else width)


@lru_cache(maxsize=1 << 11)
def _meaning(op: str, known: Known) -> tuple[str, int, int]:
    """The core's function for an opcode, its flags, and its rounding. Raises NotSimulated."""
    parts = op.split(".")
    kinds = types_of(op)
    if not kinds:
        raise NotSimulated(op)
    floats = kinds[-1] in ("f32", "f64", *HALVES)
    flag = (FTZ if "ftz" in parts else 0) | (SAT if "sat" in parts and floats else 0)
    mode = next((ROUNDINGS[p] for p in parts if p in ROUNDINGS), 0)
    if parts[-1] == "relu":
        parts[-2:] = "relu", kinds[-1]
    name = ".".join(p for p in parts if p not in ROUNDINGS)
    name_in_core = symbol(name, known)
    if name_in_core is None or (mode and not floats):
        name = ".".join(p for p in name.split(".") if p not in ("ftz", "sat"))
        name_in_core = symbol(name, known) if flag or "ftz" in parts else name_in_core
    else:
        flag = 0 if "ftz" in name_in_core.split("_") or "sat" in name_in_core.split("_") else flag
    if name_in_core is None:
        raise NotSimulated(op)
    return name_in_core, flag, mode


def plain(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode an instruction with a destination and sources by its name. Raises NotSimulated."""
    name, flag, mode = _meaning(op, known)
    kinds = types_of(op)
    width = TYPE_BYTES[kinds[0]]
    d, *sources = operands
    if len(sources) != (count := SOURCES.get(op.partition(".")[0], 2)):
        raise OperandError(f"{op} with {len(operands)} operands")
    widths = _widths(op, kinds[-1], count)
    before, sources = _inverted(sources, o) if kinds[-1] == "pred" else ([], sources)
    refs = [o.source(s, w) for s, w in zip(sources, widths, strict=True)]
    target = _target(op, d, o, kinds)
    if kinds[-1] in HALVES:
        return [make_insn(name, target, refs, width=width, flag=flag)]
    if mode or flag:
        return [make_insn("modified", target, refs, width=width, flag=flag, mode=mode, inner=name)]
    return [*before, make_insn(name, target, refs, width=width)]


def _inverted(predicates: list[str], o: Operands) -> tuple[list[Insn], list[str]]:
    """The instructions that invert the sources `!%p`, and the sources to read then."""
    insns = []
    for k, text in enumerate(predicates):
        if text.startswith("!"):
            name = text.lstrip("! ") + "@not"
            at = o.registers.allocate(4)
            o.registers.at[name], o.registers.width[name] = at, 0
            o.registers.predicates.add(name)
            insns.append(make_insn("not_pred", at, [o.condition(text)]))
            predicates = [*predicates[:k], name, *predicates[k + 1 :]]
    return insns, predicates


def op_lop3(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode lop3: an arbitrary function of three operands, which may also be compared with 0."""
    parts = op.split(".")
    d, a, b, c, table, *more = operands
    result, _, compared = (x.strip() for x in d.partition("|"))
    to = o.registers.allocate(128) if result == "_" else o.register(result, 4)
    sources = [o.source(x, 4) for x in (a, b, c)]
    insns = [make_insn("lop3_b32", to, sources, imm=int(table, 0) & 255)]
    if len(parts) == 2:
        return insns
    (p,) = more
    before, names = _inverted([p], o)
    target, other = o.predicate(compared), o.condition(names[0])
    held = o.registers.allocate(4)
    return [
        *before,
        *insns,
        make_insn("setp_ne_u32", held, [to, o.source("0", 4)]),
        make_insn(f"{parts[1]}_pred", target, [held, other]),
    ]


def op_prmt(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode prmt: a permutation of bytes."""
    mode = op.split(".")[-1]
    d, a, b, c = operands
    return [
        make_insn(
            "prmt_b32",
            o.register(d, 4),
            [o.source(x, 4) for x in (a, b, c)],
            mode=PERMUTATIONS.index(mode),
        )
    ]


def op_mad(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode mad: a multiply-add."""
    if types_of(op)[-1] in ("f32", "f64"):
        return plain(op.replace("mad", "fma", 1), operands, o, known)
    return _with_carry(op, operands, o, known)


def _with_carry(op: str, operands: list[str], o: Operands, known: Known) -> list[Insn]:
    """Decode an integer instruction that may read or write the carry."""
    insns = plain(op, operands, o, known)
    if "cc" in op.split(".") or op.split(".")[0] in ("addc", "subc", "madc"):
        insns[0].e = o.registers.carry
    return insns


op_add = op_sub = op_addc = op_subc = op_madc = _with_carry
