"""What this simulator does not run, by the words that a reader of CUDA's manual knows it by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from os.path import basename

from grader.faults import LabFault
from grader.labs.expressions import evaluate_expression
from grader.simulator.ptx.model import Function, Instruction, Location, Module

# What the student called things: variables behind symbols, elements behind byte offsets.

_LENGTH = re.compile(r"\d+")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n/]+)", re.M)
_CONSTANT = re.compile(r"\b(?:const|constexpr|enum)\b[^;={]*?\b(\w+)\s*=\s*([^;,}]+)")
_DIMS = r"(?:\s*\[[^\]]*\])"
_DECLARED = re.compile(
    r"(?P<shared>__shared__\s+(?:\w+\s+){0,3}?)?(?P<type>[\w:]+(?:\s*\*)?)\s+(?:__align__\s*\([^)]*\)\s*)?"
    rf"(?P<list>\w+{_DIMS}*(?:\s*,\s*\w+{_DIMS}*)*)\s*[;,=]"
)
_ONE = re.compile(rf"(\w+)({_DIMS}*)")
TYPE_SIZES = {
    "char": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "bool": 1,
    "short": 2,
    "half": 2,
    "int": 4,
    "unsigned": 4,
    "float": 4,
    "long": 8,
    "double": 8,
    "float2": 8,
    "int2": 8,
    "float4": 16,
    "int4": 16,
    "uint32_t": 4,
    "int32_t": 4,
    "uint64_t": 8,
    "int64_t": 8,
    "size_t": 8,
    "uchar": 1,
    "uint": 4,
}


def plain_name(symbol: str) -> str:
    """A variable's own name: `_ZZ6matmulE2As` is As, `_ZN2ns1xE` is x."""
    if not symbol.startswith("_Z"):
        return symbol
    at, name = 0, symbol
    while (match := _LENGTH.search(symbol, at)) is not None:
        length, start = int(match[0]), match.end()
        fits = start + length <= len(symbol) and symbol[start : start + length].isidentifier()
        if fits and length:
            name, at = symbol[start : start + length], start + length
        else:
            at = match.end()
    return name


@dataclass(frozen=True)
class Shape:
    """A variable's extent: `dims` of elements of `element` bytes."""

    dims: tuple[int, ...]
    element: int

    def index(self, offset: int) -> str:
        """`[1][3]`, the element that a byte offset lies in; the first index may run over."""
        flat, out = offset // self.element, []
        for size in reversed(self.dims[1:]):
            flat, at = divmod(flat, max(size, 1))
            out.append(at)
        return "".join(f"[{k}]" for k in (flat, *reversed(out)))


def declared_shape(source: str, name: str, size: int) -> Shape | None:
    """The shape that the source declares for an array of `size` bytes; None when it cannot be
    read off with certainty (the product of its dimensions must give exactly that size).
    """
    constants = _constants(source)
    for declared in _declarations(source, name):
        dims = [_number(d, constants) for d in declared.dims]
        known = [d for d in dims if d is not None and d > 0]
        if not known or len(known) != len(dims):
            continue
        count = prod(known)
        if size and size % count == 0 and size // count in (1, 2, 4, 8, 16):
            return Shape(tuple(known), size // count)
    return None


def element_bytes(source: str, name: str) -> int:
    """Bytes of an element of the array that the source declares by this name; 0 if unknown."""
    for declared in _declarations(source, name):
        if declared.dims:
            return TYPE_SIZES.get(declared.type.split("::")[-1].strip(), 0)
    return 0


def is_one(source: str, name: str) -> bool:
    """Whether the source declares a shared variable of this name that is no array."""
    held = list(_declarations(source, name))
    return any(d.shared for d in held) and not any(d.dims for d in held)


@dataclass(frozen=True)
class _Declaration:
    type: str
    dims: tuple[str, ...]
    shared: bool


def _declarations(source: str, name: str) -> Iterator[_Declaration]:
    """What looks like a declaration of `name`, alone or among others of one type."""
    for match in _DECLARED.finditer(source):
        for own, dims in _ONE.findall(match["list"]):
            if own == name:
                lengths = tuple(re.findall(r"\[([^\]]*)\]", dims))
                yield _Declaration(match["type"], lengths, bool(match["shared"]))


def _constants(source: str) -> dict[str, int | float]:
    out: dict[str, int | float] = {}
    for pattern in (_DEFINE, _CONSTANT):
        for name, text in pattern.findall(source):
            if (value := _number(text, out)) is not None:
                out.setdefault(name, value)
    return out


def _number(text: str, constants: dict[str, int | float]) -> int | None:
    cleaned = re.sub(r"(?<=\d)[uUlL]+\b", "", text.strip().rstrip(";")).replace("/", "//")
    try:
        value = evaluate_expression(cleaned, constants)
    except (LabFault, ArithmeticError, ValueError, TypeError):
        return None
    return int(value) if value == int(value) else None


# Whose line an instruction is: the student's, even where a header's function executes it.
#
# In debug PTX `atomicAdd`, `__syncwarp` and the like are functions of their own, whose lines are
# lines of headers. Each call of one gets a copy whose instructions lie at the call, so that what is
# found in it is told at the line that the student wrote.

_INTRINSICS = re.compile(r"cuda_(?:fp|bf)\d|__nv_nvrtc|sm_\d|(?:device|math|vector)_functions")
"""Headers whose functions stand for instructions, and compute nothing of their own."""
MAX_DEPTH = 50
MAX_COPIES = 2048
OWN = 1
"""The number that the student's file gets, whichever it had in the module."""


def attributed(module: Module, kernel: str) -> dict[str, Function]:
    """The module's functions with every location in the student's file, or nowhere."""
    own = _file_of(module.functions[kernel])
    if not own:
        return dict(module.functions)
    loud = {own, 0} | {n for n, name in module.files.items() if _INTRINSICS.match(basename(name))}
    return _Attribution(module.functions, own, frozenset(loud)).functions


class _Attribution:
    def __init__(self, functions: dict[str, Function], own: int, loud: frozenset[int]) -> None:
        self.own, self.loud = own, loud
        self.copies: dict[tuple[str, int, int], str] = {}
        self.foreign = {n for n, f in functions.items() if _is_foreign(f, own)}
        self.original = functions
        self.functions: dict[str, Function] = {}
        for name, f in functions.items():
            self.functions[name] = (
                replace(f, library=any(map(self.of_library, f.body[-1:])))
                if name in self.foreign
                else self.moved(f, None, 0)
            )

    def of_library(self, i: Instruction) -> bool:
        return i.location.file not in self.loud

    def moved(self, f: Function, at: Location | None, depth: int) -> Function:
        """A copy of `f` with its instructions at `at`, or where the student wrote them."""
        body = []
        for i in f.body:
            location = at or resolved(i.location, self.own)
            operands = self.targets(i, location, depth)
            body.append(Instruction(i.op, operands, i.guard, location, self.of_library(i)))
        return replace(f, body=body)

    def targets(self, i: Instruction, at: Location, depth: int) -> list[str]:
        """The operands, a header's function among them replaced by a copy of its own."""
        if not i.op.startswith("call"):
            return i.operands
        return [self.copied(o, at, depth) if o in self.foreign else o for o in i.operands]

    def copied(self, name: str, at: Location, depth: int) -> str:
        """The name of a header's function for the calls that a place of the student's leads to."""
        key = (name, at.line, at.column)
        if (
            key in self.copies
            or depth >= MAX_DEPTH
            or len(self.copies) >= MAX_COPIES
            or not at.line
        ):
            return self.copies.get(key, name)
        self.copies[key] = new = f"{name}@{len(self.copies) + 1}"
        self.functions[new] = replace(self.moved(self.original[name], at, depth + 1), name=new)
        return new


def resolved(location: Location, own: int) -> Location:
    """The place in the student's file that this code was inlined at; no place if there is none."""
    at: Location | None = location
    while at is not None and at.file != own:
        at = at.inlined
    return Location(OWN, at.line, at.column, at.function) if at else Location()


def _is_foreign(f: Function, own: int) -> bool:
    return f.has_body and not f.entry and not any(resolved(i.location, own).line for i in f.body)


def _file_of(kernel: Function) -> int:
    """The file that a kernel's code is in, at last, where most of it is not from headers."""
    for i in kernel.body:
        at = i.location
        while at.inlined is not None:
            at = at.inlined
        if at.line:
            return at.file
    return 0


_FEATURES = (
    (("wmma", "mma", "wgmma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05"), "tensor cores"),
    (("tex", "tld4", "txq", "istypep"), "textures"),
    (("suld", "sust", "sured", "suq"), "surfaces"),
    (("mapa", "getctarank", "clusterlaunchcontrol"), "thread block clusters"),
    (("st.async", "red.async", "multimem"), "thread block clusters"),
    (("cp.async.bulk", "cp.reduce.async"), "the tensor memory accelerator"),
    (("tensormap", "prefetch.tensormap"), "the tensor memory accelerator"),
    (("mbarrier.arrive", "mbarrier.expect_tx"), "transactions of the tensor memory accelerator"),
    (("griddepcontrol",), "dependent launches"),
    (("setmaxnreg",), "registers moved between warps"),
)
_VIDEO = re.compile(r"v(?:add|sub|absdiff|min|max|shl|shr|mad|set|avrg)[24]?\.")
_REGISTER = re.compile(
    r"%(?:n?clusterid|cluster_|is_explicit_cluster|pm\d|current_graph|aggr_smem)"
)


def described(refused: str) -> str:
    """The refused instruction with what it belongs to: "wmma.load... (tensor cores)"."""
    if refused.endswith(")"):
        return refused
    if _VIDEO.match(refused):
        return f"{refused} (video instructions)"
    for names, words in _FEATURES:
        if any(refused == name or refused.startswith(f"{name}.") for name in names):
            return f"{refused} ({words})"
    return refused


def refused_attribute(limits: Mapping[str, list[int]]) -> str:
    """The attribute of a kernel that this machine does not have; "" if none."""
    clusters = prod(limits.get("reqnctapercluster", [1])) > 1
    return "__cluster_dims__ (thread block clusters)" if clusters else ""


def refused_register(operands: list[str]) -> str:
    """The special register among the operands that this machine does not have; "" if none."""
    for operand in operands:
        if _REGISTER.match(operand):
            words = "performance counters" if operand.startswith("%pm") else "thread block clusters"
            return f"{operand} ({words})"
    return ""
